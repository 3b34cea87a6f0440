"""``python -m tests.screenshots``: makes the pictures of the README from a sweep without weights and network."""

from __future__ import annotations

import contextlib
import os
import shutil
import sqlite3
import subprocess
import sys
import tempfile
from collections.abc import Iterator
from pathlib import Path

from runner.tracking.ui import free_port, serving
from tests.fakes.model_server import ModelServer
from tests.mlflow_pages import ROOT, browser_path, opened, sweep
from tests.sweeps.driving import arguments

IMAGES = ROOT / "docs" / "images"
FOLDER = Path(tempfile.gettempdir()) / "my-evaluation"
"""The report's page shows where it lies: a name that a reader may take for one of their own."""
SWEEP = (
    "name=retrievers",
    "retriever=dense,bm25",
    "retriever.top_k=1,3",
    "knowledge_base=academic_faq_paragraphs",
    "~judges.grounding",
    "~judges.topicality",
    "+judge@judges.reference_match=reference_match",
    "+judge@judges.coverage=coverage",
)
"""Answers that differ, and judges that compare with the reference: they tell a wrong sentence of the documents from a
right one, which its grounding does not."""
QUESTION = "q01"
"""To which ``bm25`` finds the deadline of other applicants."""
RUBRICS = ("name=rubrics", "questions.limit=3", "rubric@judges.topicality.rubric=topicality_v1,topicality_v2")


def main() -> int:
    """Make the pictures; returns the exit code."""
    if browser_path() is None:
        print("Chromium is not installed (apt-get install chromium): no pictures were made.", file=sys.stderr)
        return 1
    with _folder() as scratch:
        home = scratch / "home"
        sweep(home, scratch, os.environ, *SWEEP)
        _priced(home, scratch)
        sweep(home, scratch, os.environ, "retriever.top_k=3", *RUBRICS)
        with serving(home, free_port()) as address, opened(address, width=1900, height=900) as pages:
            pages.open_runs()
            pages.picture(IMAGES / "runs.png")
            children = [name for name in pages.run_names() if "top_k=" in name]
            pages.compare(*(name for name in children if "top_k=1" in name))
            pages.picture(IMAGES / "compare.png")
            pages.open_question(QUESTION)
            pages.picture(IMAGES / "question.png")
            pages.open_trace(*_trace(home, "priced"))
            pages.page.get_by_text("retrieve", exact=True).first.click()
            pages.picture(IMAGES / "trace.png")
            pages.open_artifact("1", _parent(home), "report.html")
            pages.frame_text()
            pages.picture(IMAGES / "report.png")
            pages.open_prompt("rubric.topicality")
            pages.picture(IMAGES / "rubric.png")
    print(f"pictures: {IMAGES}")
    return 0


@contextlib.contextmanager
def _folder() -> Iterator[Path]:
    """The folder, made for this and gone afterwards. Raises: FileExistsError, as it may be somebody's."""
    FOLDER.mkdir()
    try:
        yield FOLDER
    finally:
        shutil.rmtree(FOLDER)


def _priced(home: Path, work: Path) -> None:
    """One run that costs something, with the models of the tests' own server: a trace with tokens and dollars."""
    with ModelServer(latency_s=0.4) as server, contextlib.chdir(work):
        line = arguments(server, "tracking=mlflow", "name=priced", "questions=academic_faq_demo", "questions.limit=3")
        done = subprocess.run(
            [sys.executable, "-m", "runner", *line],
            env={**os.environ, "RUNNER_HOME": str(home), "PYTHONPATH": str(ROOT)},
            check=False,
            capture_output=True,
            text=True,
            timeout=300,
        )
    assert done.returncode == 0, done.stdout + done.stderr


def _trace(home: Path, experiment: str) -> tuple[str, str]:
    """The experiment's id, and the trace of the question in it."""
    ask = f"""from trace_info join experiments using (experiment_id)
        where name = '{experiment}' and client_request_id = '{QUESTION}'"""
    return _one(home, f"select experiment_id {ask}"), _one(home, f"select request_id {ask}")


def _parent(home: Path) -> str:
    sweeps = "select run_uuid from tags join runs using (run_uuid) where key = 'runner.kind' and value = 'sweep'"
    return _one(home, f"{sweeps} and name = 'retrievers'")


def _one(home: Path, query: str) -> str:
    connection = sqlite3.connect(home / "mlflow.db")
    try:
        return str(connection.execute(query).fetchone()[0])
    finally:
        connection.close()


if __name__ == "__main__":
    sys.exit(main())
