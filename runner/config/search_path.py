"""Where Hydra looks for configuration: the user's own folder first, then what ships.

The plugin is registered by the process that runs us, and not installed in ``hydra_plugins``, where it would act on
every Hydra application of the environment.
"""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

from runner.config.paths import shipped_conf, user_conf

if TYPE_CHECKING:
    from hydra.core.config_loader import ConfigLoader


@dataclass(frozen=True, slots=True)
class ConfigSource:
    """Which configuration to compose: the shipped one and the user's, unless a flag says otherwise."""

    primary: str = "config"
    """Name of the primary configuration (``--config-name``)."""
    main: Path | None = None
    """``--config-path``: takes the place of the shipped folder and switches the user's own folder off."""
    extra: Path | None = None
    """``--config-dir``: found before everything else."""

    def folders(self) -> tuple[tuple[str, Path], ...]:
        """(provider, folder) of what is looked through before the main folder, first wins."""
        found: list[tuple[str, Path]] = []
        if self.extra is not None:
            found.append(("--config-dir", self.extra))
        mine = user_conf() if self.main is None else None
        if mine is not None:
            found.append(("your conf", mine))
        return tuple(found)

    def all_folders(self) -> tuple[Path, ...]:
        """All folders with configuration files, in the order in which they are looked through."""
        return (*(folder for _, folder in self.folders()), self.main or shipped_conf())


_active = ConfigSource()


def active_source() -> ConfigSource:
    """The source that the command line chose, or the usual one."""
    return _active


def activate(source: ConfigSource) -> None:
    """Makes the source the one that every composition of this process uses, and registers what Hydra needs."""
    global _active  # noqa: PLW0603 - Hydra makes the plugin object itself and hands nothing to it
    _active = source
    _register()


@contextmanager
def config_loader(source: ConfigSource | None = None) -> Iterator[ConfigLoader]:
    """Hydra's loader for the source (default: the active one), also while another Hydra application runs."""
    from hydra import initialize_config_dir
    from hydra.core.global_hydra import GlobalHydra

    from runner.config.compat import version_arguments

    before = _active
    activate(source or before)
    # A launcher's worker process runs inside a Hydra application of its own, and Hydra allows one at a time.
    running = GlobalHydra.instance().hydra
    GlobalHydra.instance().clear()
    try:
        main = str((_active.main or shipped_conf()).resolve())
        with initialize_config_dir(config_dir=main, job_name="runner", **version_arguments()):
            yield GlobalHydra.instance().config_loader()
    finally:
        if running is not None:
            GlobalHydra.instance().clear()
            GlobalHydra.instance().initialize(running)
        activate(before)


def _register() -> None:
    from hydra.core.config_search_path import ConfigSearchPath
    from hydra.core.config_store import ConfigStore
    from hydra.core.plugins import Plugins
    from hydra.plugins.search_path_plugin import SearchPathPlugin

    from runner.config.schema import Config

    if any(plugin.__name__ == "RunnerSearchPath" for plugin in Plugins.instance().discover(SearchPathPlugin)):
        return
    ConfigStore.instance().store(name="schema", node=Config, provider="runner")

    class RunnerSearchPath(SearchPathPlugin):  # type: ignore[misc]
        def manipulate_search_path(self, search_path: ConfigSearchPath) -> None:
            for provider, folder in _active.folders():
                search_path.prepend(provider=provider, path=f"file://{folder}", anchor="main")

    Plugins.instance().register(RunnerSearchPath)
