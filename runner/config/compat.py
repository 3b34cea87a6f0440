"""The differences between Hydra 1.3 and 1.4 that touch us, and the inner parts of Hydra that we lean on."""

from __future__ import annotations

import contextlib
from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from hydra.core.override_parser.types import Override
    from omegaconf import DictConfig


def version_arguments() -> dict[str, Any]:
    """``version_base``, which 1.3 warns about when it is missing and 1.4 warns about when it is given."""
    from hydra import __version__

    major, minor = (int(part) for part in __version__.split(".")[:2])
    return {"version_base": "1.3"} if (major, minor) < (1, 4) else {}


@contextlib.contextmanager
def without_second_check() -> Iterator[None]:
    """Keeps Hydra's sweeper from composing every job once more to see whether it can be: 0.16 s of CPU a job."""
    from hydra.plugins.sweeper import Sweeper

    check = Sweeper.validate_batch_is_legal
    Sweeper.validate_batch_is_legal = lambda self, batch: None
    try:
        yield
    finally:
        Sweeper.validate_batch_is_legal = check


def apply_overrides(overrides: Sequence[Override], node: DictConfig) -> bool:
    """Sets values in a composed configuration as Hydra does after merging files, with the same errors.

    False where this Hydra has no such function; nothing is set then.
    """
    from hydra._internal.config_loader_impl import ConfigLoaderImpl

    apply = getattr(ConfigLoaderImpl, "_apply_overrides_to_config", None)
    if apply is None:
        return False
    apply(list(overrides), node)
    return True
