"""Launches, resumes and summarises the jobs of a sweep. Nothing heavy is imported until a name is used."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from runner.sweeps.launch import launch, run_jobs
    from runner.sweeps.stored import load

__all__ = ["launch", "load", "run_jobs"]

_WHERE = {"launch": "runner.sweeps.launch", "run_jobs": "runner.sweeps.launch", "load": "runner.sweeps.stored"}


def __getattr__(name: str) -> Any:
    if name not in _WHERE:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    from importlib import import_module

    module = import_module(_WHERE[name])
    return getattr(module, name)
