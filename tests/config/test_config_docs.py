"""Commands that the documentation and the shipped files show can be typed as they stand."""

from __future__ import annotations

import re
import shlex
from pathlib import Path

import pytest

from runner.cli import VERBS
from runner.config import compose, compose_one, shipped_conf
from runner.config.arguments import parse_arguments
from runner.config.paths import GROUPS
from runner.judging import lint_rubric

pytestmark = pytest.mark.usefixtures("home")

ROOT = Path(__file__).resolve().parent.parent.parent
DOCUMENTS = [
    ROOT / "docs/configuration.md",
    ROOT / "docs/recorded_answers.md",
    ROOT / "experiments/own_application/README.md",
    *sorted(shipped_conf().rglob("*.yaml")),
]


def commands(text: str) -> list[list[str]]:
    """The arguments of every ``python -m runner`` that begins a line and takes overrides, continued lines joined."""
    joined = re.sub(r"\\\n[ #]*", "", text)
    found = re.findall(r"^[#\s]*python -m runner(?: (.*))?$", joined, re.MULTILINE)
    lines = [shlex.split(line, comments=True) for line in found]
    return [line for line in lines if not (line and line[0] in VERBS and not VERBS[line[0]].takes_overrides)]


CASES = [(file, line) for file in DOCUMENTS for line in commands(file.read_text(encoding="utf-8"))]


def test_there_is_something_to_try() -> None:
    assert len(CASES) > 20


@pytest.mark.parametrize(("file", "line"), CASES, ids=[f"{file.name}-{index}" for index, (file, _) in enumerate(CASES)])
def test_a_command_that_is_shown_composes(file: Path, line: list[str]) -> None:
    # In YAML comments an explanation may follow after several spaces; it holds no "=".
    line = [word for word in line if "=" in word or word.startswith("-")]
    arguments = parse_arguments(line)
    composed = compose(arguments.overrides, multirun=arguments.multirun)
    assert composed.problems == (), file
    assert composed.jobs


def test_every_option_that_the_readme_names_is_there() -> None:
    for group, row in re.findall(
        r"^\| `(\w+)` \|(.*)$", (ROOT / "README.md").read_text(encoding="utf-8"), re.MULTILINE
    ):
        if group not in GROUPS or group == "machine":
            continue
        shipped = {file.stem for file in (shipped_conf() / group).glob("*.yaml")}
        named = set(re.findall(r"`(\w+)`", row.rpartition("|")[0].rpartition("|")[2]))
        assert named == shipped, group


def test_a_readme_command_after_its_own_cd_was_no_longer_there() -> None:
    text = (ROOT / "README.md").read_text(encoding="utf-8")
    assert re.findall(r"\.venv/bin/(?!activate)\S+", text) == []
    assert text.index("source .venv/bin/activate") < text.index("runner init my_project")


def test_the_rubric_of_the_readme_was_criticised_by_the_lint() -> None:
    (written,) = re.findall(r"# conf/rubric/tone_v1.yaml\n(.*?)```", (ROOT / "README.md").read_text("utf-8"), re.DOTALL)
    file = Path("conf/rubric/tone_v1.yaml")
    file.parent.mkdir(parents=True)
    file.write_text(written, encoding="utf-8")
    job = compose_one(["judge=grounding", "rubric@judges.grounding.rubric=tone_v1"])
    rubric = job.config.judges["grounding"].rubric
    assert rubric.id == "tone"
    assert not [said for said in lint_rubric(rubric) if "nothing about" in str(said)]
