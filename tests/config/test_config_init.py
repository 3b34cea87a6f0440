"""``runner init`` gives something that works at once, and overwrites nothing."""

from __future__ import annotations

from pathlib import Path

import pytest

from runner.cli import main
from runner.config import prepare
from runner.config.init import copy_example, example_files

pytestmark = pytest.mark.usefixtures("home")


def test_the_example_can_be_launched_where_it_was_copied() -> None:
    assert main(["init"]) == 0
    jobs = prepare(["experiment=first", "stack=extractive"], multirun=True)
    assert [job.name for job in jobs] == ["top_k=1", "top_k=3"]
    assert list(jobs[0].config.judges) == ["grounding", "topicality", "plain_language"]
    assert set(jobs[0].sources) == {"knowledge_base.path", "questions.path"}


def test_it_can_be_copied_twice(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    folder = tmp_path / "mine"
    assert set(copy_example(folder)) == set(example_files())
    assert main(["init", str(folder)]) == 0
    assert "all files were there already" in capsys.readouterr().out


def test_nothing_is_overwritten(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    folder = tmp_path / "mine"
    (folder / "conf/rubric").mkdir(parents=True)
    (folder / "questions.csv").write_text("my own", encoding="utf-8")
    (folder / "conf/rubric/plain_language_v1.yaml").write_text("my own", encoding="utf-8")
    assert main(["init", str(folder)]) == 1
    error = capsys.readouterr().err
    assert "2 problems" in error
    assert "questions.csv: is there already, with other content" in error
    assert sorted(file.name for file in folder.rglob("*") if file.is_file()) == [
        "plain_language_v1.yaml",
        "questions.csv",
    ]
    assert (folder / "questions.csv").read_text(encoding="utf-8") == "my own"


def test_what_must_not_be_committed_is_ignored_and_editors_find_their_schemas() -> None:
    files = example_files()
    assert {".env", ".runner/", "outputs/"} <= set(files[Path(".gitignore")].decode().split())
    assert Path("conf/.schema/rubric.json") in files
    assert b"OPENAI_API_KEY=\n" in files[Path(".env.example")]
