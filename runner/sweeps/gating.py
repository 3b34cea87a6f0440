"""Puts a launch before its gates, and writes what came out for machines and for a pull request."""

from __future__ import annotations

import dataclasses
import json
import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from xml.etree import ElementTree

from runner.config import Job
from runner.config.schema import Gate
from runner.errors import ConfigurationError, Problem, TrackingUnavailable
from runner.findings import GateCheck, GateReport, GateWord
from runner.records import RunResult, RunStatus
from runner.report.text import plain
from runner.sweeps.outcome import SweepOutcome
from runner.sweeps.stored import load_one

JSON, JUNIT, MARKDOWN = "gate.json", "gate.xml", "gate.md"
_NOT_XML = re.compile("[^\t\n\x20-\ud7ff\ue000-\ufffd\U00010000-\U0010ffff]")
_MARKS = {GateWord.PASSED: "✅", GateWord.FAILED: "❌", GateWord.UNDECIDED: "❔"}


@dataclass(frozen=True, slots=True)
class Gating:
    """The gates of one launch, with the baseline as it was before the launch began."""

    gate: Gate
    baseline: RunResult | None
    folder: Path | None
    """Where the files go; ``None``: nowhere."""

    @classmethod
    def open(cls, jobs: Sequence[Job], home: Path, folder: Path | None) -> Gating:
        """Reads the baseline. Raises ConfigurationError, before anything is paid, where there is no such run."""
        config = jobs[0].config
        return cls.of(config.gate, home, folder, uri=config.tracking.uri)

    @classmethod
    def of(cls, gate: Gate, home: Path, folder: Path | None, *, uri: str | None = None, before: str = "") -> Gating:
        """The same for a gate alone. ``before``: of several runs of the baseline's name, the newest older than this."""
        if gate.baseline.run is None:
            return cls(gate, None, folder)
        try:
            found = load_one(home, gate.baseline.run, uri=uri, before=before)
        except (ConfigurationError, TrackingUnavailable) as error:
            raise ConfigurationError(
                [Problem("gate.baseline.run", str(error), "run the baseline first, or set it to null")]
            ) from error
        return cls(gate, found, folder)

    @property
    def wanted(self) -> bool:
        """Whether there is anything to decide."""
        return bool(self.gate.thresholds) or self.gate.minimum_scored_share is not None or self.baseline is not None

    def judged(self, outcome: SweepOutcome) -> SweepOutcome:
        """The outcome with its gates decided and their files written; as it was where there is no gate."""
        result = outcome.result
        if not self.wanted or not result.runs or result.status is RunStatus.INTERRUPTED:
            return outcome
        from runner.statistics.gates import Judged, judge_gates

        jobs = [Judged(run, outcome.summaries[run.job_key]) for run in result.runs]
        report = judge_gates(self.gate, jobs, self.baseline)
        problem = "" if self.folder is None else write_files(report, self.folder)
        notes = (*outcome.notes, problem) if problem else outcome.notes
        return replace(outcome, gate=report, notes=notes)


def write_files(report: GateReport, folder: Path) -> str:
    """Writes ``gate.json``, ``gate.xml`` and ``gate.md``; returns the problem, empty where there is none."""
    try:
        folder.mkdir(parents=True, exist_ok=True)
        for name, content in files(report).items():
            (folder / name).write_text(content, encoding="utf-8", errors="backslashreplace")
    except OSError as error:
        return f"{folder}: the gate's files cannot be written ({error.strerror}); the exit code stands"
    return ""


def files(report: GateReport) -> Mapping[str, str]:
    """File name → content."""
    return {JSON: as_json(report), JUNIT: as_junit(report), MARKDOWN: as_markdown(report)}


def as_json(report: GateReport) -> str:
    """Everything: the outcome, its sentence, every check."""
    content = {
        "passed": report.passed,
        "sentence": report.sentence,
        "undecided_passes": report.undecided_passes,
        "checks": [dataclasses.asdict(check) for check in report.checks],
    }
    return json.dumps(content, ensure_ascii=False, indent=2) + "\n"


def as_junit(report: GateReport) -> str:
    """JUnit XML: a suite a job, a test case a check. Undecided is a failure, or skipped where it passes."""
    stopping = set(report.stopping)
    root = ElementTree.Element("testsuites", name="gate")
    _count(root, report.checks, len(stopping))
    for key in dict.fromkeys(check.job_key for check in report.checks):
        checks = [check for check in report.checks if check.job_key == key]
        suite = ElementTree.SubElement(root, "testsuite", name=_xml(checks[0].job))
        _count(suite, checks, sum(check in stopping for check in checks))
        for check in checks:
            case = ElementTree.SubElement(suite, "testcase", name=_xml(check.gate), classname=_xml(check.job))
            if check.word is not GateWord.PASSED:
                kind = "failure" if check in stopping else "skipped"
                ElementTree.SubElement(case, kind, message=_xml(check.sentence), type=check.word.value)
    ElementTree.indent(root)
    return ElementTree.tostring(root, encoding="unicode", xml_declaration=True) + "\n"


def _count(element: ElementTree.Element, checks: Sequence[GateCheck], failures: int) -> None:
    undecided = sum(check.word is not GateWord.PASSED for check in checks)
    element.set("tests", str(len(checks)))
    element.set("failures", str(failures))
    element.set("errors", "0")
    element.set("skipped", str(undecided - failures))


def as_markdown(report: GateReport) -> str:
    """A summary for a pull request; a failing check stands above those that passed."""
    order = [GateWord.FAILED, GateWord.UNDECIDED, GateWord.PASSED]
    mark = "✅" if report.passed else "❌"
    lines = [f"### {mark} {_cell(report.sentence)}", "", "| | job | gate | found |", "|---|---|---|---|"]
    for check in sorted(report.checks, key=lambda check: order.index(check.word)):
        found = check.sentence.removeprefix(f"{check.job}: ")
        cells = (f"{_MARKS[check.word]} {check.word.value}", *map(_cell, (check.job, check.gate, found)))
        lines.append(f"| {' | '.join(cells)} |")
    return "\n".join(lines) + "\n"


def _cell(text: str) -> str:
    """A text that stays in its cell and is shown as it is: names may hold anything."""
    shown = plain(text, single_line=True)
    return re.sub(r"([\\`*_\[\]<>|#@~])", r"\\\1", shown)


def _xml(text: str) -> str:
    return _NOT_XML.sub("�", text)
