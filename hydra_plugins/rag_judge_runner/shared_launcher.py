"""The launcher ``shared``: hands all jobs of a sweep to one process. Imports nothing of the runner until it launches.

Hydra imports this module at every start of every Hydra application of the environment, outside ``sys.modules``:
nothing heavy may be imported here, and postponed annotations would break the dataclass.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, Optional

from hydra.core.config_store import ConfigStore
from hydra.core.utils import JobReturn
from hydra.plugins.launcher import Launcher
from hydra.types import HydraContext, TaskFunction
from omegaconf import DictConfig


@dataclass
class SharedLauncherConfig:
    _target_: str = "hydra_plugins.rag_judge_runner.shared_launcher.SharedLauncher"


ConfigStore.instance().store(
    group="hydra/launcher", name="shared", node=SharedLauncherConfig, provider="rag-judge-runner"
)


class SharedLauncher(Launcher):  # type: ignore[misc]  # Hydra is not followed by the type checker
    """Forwards to ``runner.sweeps.launcher``, which composes, checks and runs all jobs together."""

    def __init__(self) -> None:
        self.config: Optional[DictConfig] = None  # noqa: UP045 - read by Hydra without postponed annotations
        self.hydra_context: Any = None
        self.task_function: Any = None

    def setup(self, *, hydra_context: HydraContext, task_function: TaskFunction, config: DictConfig) -> None:
        self.config = config
        self.hydra_context = hydra_context
        self.task_function = task_function

    def launch(self, job_overrides: Sequence[Sequence[str]], initial_job_idx: int) -> Sequence[JobReturn]:
        from runner.sweeps.launcher import launch_together

        return launch_together(self.config, job_overrides)
