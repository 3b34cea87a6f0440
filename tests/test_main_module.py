"""``python -m runner`` by a Python that has not everything."""

from __future__ import annotations

import runpy

import pytest


def failing(name: str, monkeypatch: pytest.MonkeyPatch) -> None:
    def main() -> int:
        raise ModuleNotFoundError(f"No module named {name!r}", name=name)

    monkeypatch.setattr("runner.cli.main", main)


def test_a_python_without_the_dependencies_ended_in_a_traceback(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    failing("omegaconf", monkeypatch)
    with pytest.raises(SystemExit) as ended:
        runpy.run_module("runner", run_name="__main__")
    assert ended.value.code == 1
    said = capsys.readouterr().err
    assert said.startswith("runner's dependencies are not installed for this Python (")
    assert "has no omegaconf): activate the environment (source .venv/bin/activate) or run make demo" in said


def test_a_missing_module_of_the_users_own_is_not_taken_for_one_of_ours(monkeypatch: pytest.MonkeyPatch) -> None:
    failing("my_application", monkeypatch)
    with pytest.raises(ModuleNotFoundError, match="my_application"):
        runpy.run_module("runner", run_name="__main__")
