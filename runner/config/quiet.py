"""The flag ``--quiet``: no progress and no notes on the way, only what came out and what went wrong.

It goes on through the environment, so that jobs in other processes keep to it too.
"""

from __future__ import annotations

import contextlib
import os
from collections.abc import Iterator, Sequence

FLAG = "--quiet"
VARIABLE = "RUNNER_QUIET"


def without_flag(line: Sequence[str]) -> list[str]:
    """The rest of a command line."""
    return [word for word in line if word != FLAG]


def wanted() -> bool:
    """Whether this process was asked to be quiet."""
    return os.environ.get(VARIABLE, "") not in ("", "0", "false")


@contextlib.contextmanager
def kept_to(line: Sequence[str]) -> Iterator[None]:
    """Quiet inside the block where the line says so, in this process and those that it starts."""
    if FLAG not in line or wanted():
        yield
        return
    before = os.environ.get(VARIABLE)
    os.environ[VARIABLE] = "1"
    try:
        yield
    finally:
        if before is None:
            del os.environ[VARIABLE]
        else:
            os.environ[VARIABLE] = before
