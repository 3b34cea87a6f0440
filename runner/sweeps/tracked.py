"""Tells the tracking store about a sweep: what each job is, its records as they come, and how it ended."""

from __future__ import annotations

import hashlib
import json
import subprocess
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from runner.config import Job, choices
from runner.config.schema import Tracking
from runner.records import Record, RunResult, RunStatus, RunSummary
from runner.report.leaderboard import leaderboard_text
from runner.sweeps.comparisons import comparison_files, comparison_metrics
from runner.sweeps.gating import files as gate_files
from runner.sweeps.keeping import IN_HOME
from runner.sweeps.outcome import SweepOutcome
from runner.sweeps.output import RunOutput
from runner.sweeps.parts import Data
from runner.sweeps.versioned_texts import VersionedTexts
from runner.sweeps.warnings import NOT_COMPARABLE, local_judges
from runner.tracking import Tracker, TrackingReport, open_tracking, sweep_plots

HASH_DIGITS = 16
"""Of a rubric's hash in a param; the feedbacks carry as many."""


class TrackedSweep:
    """One parent run with its children, behind the few moments that a sweep knows."""

    def __init__(
        self, tracker: Tracker, parent: str, data: Data, *, settings: Tracking, ends_parent: bool = True
    ) -> None:
        self._tracker = tracker
        self.parent = parent
        self.store = "" if settings.kind == "none" else f"{settings.experiment} in {settings.uri or IN_HOME}"
        """Which store and experiment this is; empty without tracking."""
        self._ends_parent = ends_parent
        self._data = data
        self._runs: dict[str, str] = {}
        self._report = TrackingReport()
        self._texts = VersionedTexts()

    @classmethod
    def open(
        cls, jobs: Sequence[Job], data: Data, home: Path, *, sweep_id: str, duplicates: Mapping[str, str]
    ) -> TrackedSweep:
        """Opens the store and begins the parent run. Raises TrackingUnavailable where the store does not answer."""
        first = jobs[0]
        tracker = open_tracking(first.config.tracking, home)
        definition = {
            "jobs": [{"key": job.key, "name": job.name, "overrides": list(job.overrides)} for job in jobs],
            "duplicates": dict(duplicates),
        }
        tags = {"runner.sweep_id": sweep_id, "runner.experiment": first.config.name}
        commit = git_commit()
        if commit:
            tags["runner.git_commit"] = commit
        artifacts = {"sweep.json": json.dumps(definition, ensure_ascii=False, indent=2)}
        parent = tracker.start_sweep(first.config.name, sweep_id, tags, artifacts)
        return cls(tracker, parent, data, settings=first.config.tracking)

    @classmethod
    def rejoin(
        cls, jobs: Sequence[Job], data: Data, home: Path, *, parent: str, ends_parent: bool = True
    ) -> TrackedSweep:
        """Goes on with a parent run that was begun before, or elsewhere."""
        settings = jobs[0].config.tracking
        return cls(open_tracking(settings, home), parent, data, settings=settings, ends_parent=ends_parent)

    def let_go(self) -> None:
        """Lets go of the store without ending the parent run."""
        self._tracker.hand_over(self.parent)
        self._report = self._tracker.close()

    @property
    def notes(self) -> tuple[str, ...]:
        """What the user should know about the store, for example what could not be written."""
        spooled = self._report.spooled
        waiting = f"{spooled} entries wait on disk for the tracking store: python -m runner report --sync"
        return (*self._report.problems, *([waiting] if spooled else []))

    def start_job(self, job: Job) -> None:
        """Begins the child run of one job."""
        questions = self._data.questions(job.config)
        digest = hashlib.sha256(repr([(q.id, q.text, q.reference, q.gold) for q in questions]).encode()).hexdigest()
        self._runs[job.key] = self._tracker.start_run(
            self.parent,
            job.name,
            job.key,
            _choices(job),
            tuple(job.overrides),
            {"config/config.yaml": job.resolved_yaml, "config/overrides.txt": "\n".join(job.overrides)},
            {name: self._texts.rubric(judge.rubric) for name, judge in job.config.judges.items()},
            (job.config.questions.name, digest[:32], len(questions)),
            knowledge_base=self._knowledge_base(job),
            prompt=self._texts.prompt(job.config.prompt) if job.config.generator.kind == "model" else None,
        )

    def _knowledge_base(self, job: Job) -> tuple[str, str, int] | None:
        documents = self._data.documents(job.config)
        if not documents:
            return None
        digest = hashlib.sha256(repr([(document.id, document.text) for document in documents]).encode()).hexdigest()
        return job.config.knowledge_base.name, digest[:32], len(documents)

    def log_record(self, job: Job, record: Record) -> None:
        """Hands over one finished question; does not wait for the store."""
        if job.key in self._runs:
            self._tracker.log_record(self._runs[job.key], record)

    def finish_job(self, job: Job, result: RunResult, summary: RunSummary, output: RunOutput) -> None:
        """Ends the child run of one job with its numbers and files."""
        if job.key not in self._runs:
            return
        files: dict[str, Path | str] = {"stats.json": output.stats_path, "records.jsonl": output.records_path}
        self._tracker.finish_run(self._runs[job.key], result, summary, files)

    def finish(self, outcome: SweepOutcome, files: Mapping[str, Path | str]) -> None:
        """Ends the parent run with the leaderboard and these files, and waits until everything is written."""
        result, summaries, plan = outcome.result, outcome.summaries, outcome.plan
        metrics: dict[str, float] = {"jobs/all": float(len(result.runs))}
        metrics["jobs/complete"] = float(sum(run.status is RunStatus.COMPLETE for run in result.runs))
        spend = [summaries[run.job_key].new_cost for run in result.runs]
        if all(cost is not None for cost in spend):
            metrics["cost/new_usd"] = float(sum(cost for cost in spend if cost is not None))
        if plan is not None and plan.cost is not None:
            for name in ("low", "expected", "high"):
                metrics[f"plan/{name}_usd"] = float(getattr(plan.cost, name))
        if outcome.gate is not None:
            metrics["gate/passed"] = float(outcome.gate.passed)
            files = {**gate_files(outcome.gate), **files}
        table = leaderboard_text([(run, summaries[run.job_key]) for run in result.runs])
        if self._ends_parent:
            metrics |= comparison_metrics(outcome.comparisons)
            whole = {"leaderboard.txt": table, **comparison_files(outcome.comparisons), **files}
            if not self._runs:
                # The jobs ended in other processes, so that this tracker has not seen what to draw.
                whole = {**sweep_plots([(run, summaries[run.job_key]) for run in result.runs]), **whole}
            if outcome.repeats is not None:
                self._tracker.mark_again(self.parent, result.name, outcome.repeats.tracking_run)
            self._tracker.finish_sweep(self.parent, result.status, metrics, whole)
        self._report = self._tracker.close()


def _choices(job: Job) -> dict[str, Any]:
    """The choices as they become params, with the hash of each rubric's text, which its version may have changed, and
    a word of caution where a judge is a small local model."""
    from runner.judging import rubric_hash

    chosen = choices(job.config)
    hashes = {
        f"judges.{name}.rubric_hash": rubric_hash(judge.rubric)[:HASH_DIGITS]
        for name, judge in job.config.judges.items()
        if f"judges.{name}.rubric" in chosen
    }
    return {**chosen, **hashes, **{f"judges.{name}.note": NOT_COMPARABLE for name in local_judges(job.config)}}


def git_commit() -> str:
    """The commit of the working directory; empty where it is not a git checkout."""
    try:
        done = subprocess.run(
            ["git", "rev-parse", "HEAD"],
            capture_output=True,
            text=True,
            timeout=5,
            check=False,
            stdin=subprocess.DEVNULL,
        )
    except (OSError, subprocess.TimeoutExpired):
        return ""
    return done.stdout.strip() if done.returncode == 0 else ""
