"""The workflow in ``docs/github_actions.md``: its shell lines run as they stand, in two checkouts' worth of files."""

from __future__ import annotations

import os
import re
import subprocess
import sys
from pathlib import Path
from typing import Any
from xml.etree import ElementTree

import pytest
import yaml

from runner.errors import ExitCode

CHECKOUT = Path(__file__).resolve().parents[2]
BLOCKS = re.findall(
    r"^```yaml\n# (\S+)\n(.*?)^```$", (CHECKOUT / "docs/github_actions.md").read_text(encoding="utf-8"), re.M | re.S
)
FILES = dict(BLOCKS)
WORKFLOW = ".github/workflows/judge.yaml"
EXPERIMENT = "conf/experiment/pull_request.yaml"


class Runner:
    """Runs the steps of a job as GitHub does: each in a shell that stops at the first failure."""

    def __init__(self, folder: Path) -> None:
        self.summary = folder / "summary.md"
        self.environment = {
            **os.environ,
            "PATH": f"{Path(sys.executable).parent}{os.pathsep}{os.environ['PATH']}",
            "PYTHONPATH": str(CHECKOUT),
            "GITHUB_STEP_SUMMARY": str(self.summary),
        }
        self.environment.pop("RUNNER_HOME")
        self.job = yaml.safe_load(FILES[WORKFLOW])["jobs"]

    def run(self, job: str) -> list[tuple[str, int, str]]:
        """(first words, exit code, output) of each shell step; after a failure only those with ``always()``."""
        ended: list[tuple[str, int, str]] = []
        steps: list[dict[str, Any]] = self.job[job]["steps"]
        for step in steps:
            line = step.get("run", "")
            failed = any(code for _, code, _ in ended)
            if not line or line.startswith("pip ") or (failed and step.get("if") != "always()"):
                continue
            done = subprocess.run(
                ["bash", "-e", "-o", "pipefail", "-c", line],
                env=self.environment,
                capture_output=True,
                text=True,
                stdin=subprocess.DEVNULL,
                check=False,
            )
            ended.append((step["name"], done.returncode, " ".join((done.stdout + done.stderr).split())))
        return ended


@pytest.mark.usefixtures("home")
def test_the_steps_of_the_example_judge_main_and_then_a_pull_request(tmp_path: Path) -> None:
    assert set(FILES) == {WORKFLOW, EXPERIMENT}
    experiment = Path(EXPERIMENT)
    experiment.parent.mkdir(parents=True)
    experiment.write_text(FILES[EXPERIMENT], encoding="utf-8")
    runner = Runner(tmp_path)

    assert [(name, code) for name, code, _ in runner.run("baseline")] == [("Judge main", ExitCode.DONE)]

    steps = runner.run("gate")
    assert [(name, code) for name, code, _ in steps] == [
        ("Look first", 0),
        ("Judge the pull request", 0),
        ("Summary", 0),
    ]
    assert "gate passed: 7 checks" in steps[1][2]
    assert "gate passed: 7 checks" in runner.summary.read_text(encoding="utf-8")
    root = ElementTree.parse("outputs/gate/gate.xml").getroot()
    assert (root.attrib["tests"], root.attrib["failures"]) == ("7", "0")

    text = experiment.read_text(encoding="utf-8")
    worse = text.replace("name: pull_request\n", "name: pull_request\nretriever: {top_k: 1}\n")
    experiment.write_text(worse.replace("at_least: 0.5", "at_least: 0.99"), encoding="utf-8")
    runner.summary.unlink()
    steps = runner.run("gate")
    assert [(name, code) for name, code, _ in steps][1:] == [
        ("Judge the pull request", ExitCode.GATE_FAILED),
        ("Summary", 0),
    ]
    assert "gate failed: pull_request: topicality/pass_rate is" in steps[1][2]
    assert "❌ failed | pull_request" in runner.summary.read_text(encoding="utf-8").replace("\\_", "_")
