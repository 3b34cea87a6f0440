"""``runner report NAME --gate``: stored runs before a gate again, or before another one; costs nothing."""

from __future__ import annotations

import json
from collections.abc import Sequence
from dataclasses import asdict, replace
from pathlib import Path
from typing import Any

from runner.config import home
from runner.config.composition import compose
from runner.config.gate_rules import problems_of
from runner.config.schema import Gate
from runner.config.validation import wrong_values
from runner.errors import ConfigurationError, ExitCode
from runner.findings import GateReport, GateWord
from runner.records import RunResult, RunStatus
from runner.sweeps.exporting import as_sweep
from runner.sweeps.gating import Gating
from runner.sweeps.launch import exit_code
from runner.sweeps.outcome import SweepOutcome, outcome_of

_FINISH = "was interrupted, so that no gate can be decided; the same command as before finishes it"


def report_gate(outcome: SweepOutcome, words: Sequence[str], *, folder: Path | None, uri: str | None) -> int:
    """Decides, prints a line a check and the sentence, writes the three files where a folder is given.

    ``words`` are overrides that say the gate (``gate=default``, ``gate.undecided=pass``, ``experiment=NAME``); without
    any it is the one that the runs were launched with. A baseline that is named by a name or tag is the newest older
    than these runs. Returns the exit code that a launch with these runs and this gate ends with.
    Raises ConfigurationError where there is no gate, or it names what the runs do not have.
    """
    decided = _decided(outcome, words, folder=folder, uri=uri)
    _show(decided)
    return int(exit_code(decided))


def decided_gate(runs: Sequence[RunResult], words: Sequence[str], *, uri: str | None) -> GateReport:
    """What ``runner.gate`` returns: the same, without files and printing. Raises ConfigurationError."""
    report = _decided(outcome_of(as_sweep(runs)), words, folder=None, uri=uri).gate
    assert report is not None
    return report


def _decided(outcome: SweepOutcome, words: Sequence[str], *, folder: Path | None, uri: str | None) -> SweepOutcome:
    result = outcome.result
    if any(status is RunStatus.INTERRUPTED for status in (result.status, *(run.status for run in result.runs))):
        raise ConfigurationError(f"gate: {result.name} {_FINISH}")
    if not result.runs:
        raise ConfigurationError("gate: there is no run to decide about")
    gate, configured = _said(words) if words else (_launched_with(result.runs), None)
    judges = list(dict.fromkeys(name for run in result.runs for record in run.records for name in record.scores))
    problems = list(problems_of(gate, judges))
    if problems:
        raise ConfigurationError(problems)
    gating = Gating.of(gate, home(), folder, uri=uri or configured, before=result.started_at)
    if not gating.wanted:
        what = "says none" if words else "were launched without one"
        remedy = "add one: report NAME --gate gate=default 'gate.thresholds=[{metric: grounding/mean, at_least: 4}]'"
        raise ConfigurationError(f"gate: {' '.join(words) or 'these runs'} {what}; {remedy}")
    return gating.judged(replace(outcome, notes=()))


def _show(decided: SweepOutcome) -> None:
    from runner.report.text import plain

    assert decided.gate is not None
    for check in decided.gate.checks:
        print(plain(f"{check.word.value.ljust(max(map(len, GateWord)))}  {check.sentence}", single_line=True))
    print(plain(decided.gate.sentence, single_line=True))
    for note in decided.notes:
        print(note)
    if exit_code(decided) is ExitCode.INCOMPLETE:
        print("some answers, verdicts or jobs failed, which counts for more than the gate (exit code 3)")


def _said(words: Sequence[str]) -> tuple[Gate, str | None]:
    composed = compose(words, multirun=True)
    if composed.problems:
        raise ConfigurationError(composed.problems)
    config = composed.jobs[0].config
    wrong = [problem for problem in wrong_values(asdict(config)) if problem.where.startswith("gate.")]
    if wrong:
        raise ConfigurationError(wrong)
    return config.gate, config.tracking.uri


def _launched_with(runs: Sequence[RunResult]) -> Gate:
    """The gate in the configuration that was kept with the newest of the runs; none where nothing was kept."""
    for run in sorted(runs, key=lambda run: run.finished_at, reverse=True):
        try:
            described: dict[str, Any] = json.loads(
                (home() / "jobs" / run.job_key / "job.json").read_text(encoding="utf-8")
            )
        except FileNotFoundError:
            continue
        return _gate(str(described.get("config", "")))
    return Gate()


def _gate(text: str) -> Gate:
    from omegaconf import DictConfig, OmegaConf

    written = OmegaConf.create(text)
    if not isinstance(written, DictConfig) or "gate" not in written:
        return Gate()
    found = OmegaConf.to_object(OmegaConf.merge(OmegaConf.structured(Gate), written.gate))
    assert isinstance(found, Gate)
    return found
