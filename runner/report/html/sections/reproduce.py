"""How to get the same numbers again: commands, keys and hashes, versions."""

from __future__ import annotations

import hashlib

from runner.records import RunResult
from runner.report.html.given import ReportInput
from runner.report.html.parts import Section, table


def reproduce(given: ReportInput) -> Section:
    runs = given.sweep.runs
    jobs = table(
        "Jobs: the key is the hash of everything that can change a score",
        ("job", "key", "question set", "overrides"),
        [[given.names[run.job_key], run.job_key, _questions(run), " ".join(run.overrides)] for run in runs],
        texts=4,
    )
    rubrics = {
        (name, score.rubric, score.rubric_hash, score.model)
        for run in runs
        for record in run.records
        for name, score in record.scores.items()
    }
    judged = table(
        "Judges: rubric, the hash of its text, and the model that really answered",
        ("judge", "rubric", "hash", "model"),
        [list(one) for one in sorted(rubrics)],
        texts=4,
    )
    found = given.reproduction
    versions = table(
        "What wrote this report", ("package", "version"), [[name, one] for name, one in found.versions.items()], texts=2
    )
    said = [f"Git commit of the working directory: {found.commit}"] if found.commit else []
    if given.sweep.duplicates:
        said.append(
            "Dropped as duplicates: "
            + "; ".join(f"{dropped} is the same as {kept}" for dropped, kept in given.sweep.duplicates.items())
        )
    return Section(
        "reproduce",
        "Reproduce",
        template="reproduce.html",
        paragraphs=tuple(said),
        tables=tuple(one for one in (jobs, judged, versions) if one.rows),
        more={"commands": found.commands},
    )


def _questions(run: RunResult) -> str:
    """The digest that the question set has in MLflow too, and how many questions it is of."""
    asked = [(one.id, one.text, one.reference, one.gold) for one in (record.question for record in run.records)]
    return f"{hashlib.sha256(repr(asked).encode()).hexdigest()[:32]} ({len(asked)} questions)" if asked else ""
