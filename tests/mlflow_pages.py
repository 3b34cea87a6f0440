"""Walks through the pages of the MLflow UI in Chromium, as a person would; for browser tests and screenshots."""

from __future__ import annotations

import contextlib
import json
import re
import shutil
import subprocess
import sys
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any
from urllib.parse import quote

ROOT = Path(__file__).parents[1]
BROWSERS = ("chromium", "chromium-browser", "google-chrome", "chrome")
FLAGS = (
    "--no-sandbox",
    "--disable-gpu",
    "--disable-quic",
    "--no-first-run",
    "--disable-background-networking",
    "--disable-component-update",
    "--disable-sync",
)
PATIENCE_MS = 60_000
SETTLE_MS = 1500
SETTLE_ROUNDS = 8


def browser_path() -> str | None:
    """Where Chromium is; ``None`` where there is none."""
    return next((path for name in BROWSERS if (path := shutil.which(name))), None)


def sweep(home: Path, work: Path, environment: Mapping[str, str], *overrides: str) -> None:
    """A sweep without weights and network into a home; seconds."""
    done = subprocess.run(
        [sys.executable, "-m", "runner", "-m", "experiment=top_k", "stack=extractive", *overrides],
        cwd=work,
        env={**environment, "RUNNER_HOME": str(home), "PYTHONPATH": str(ROOT)},
        check=False,
        capture_output=True,
        text=True,
        timeout=300,
    )
    assert done.returncode == 0, done.stdout + done.stderr


@contextlib.contextmanager
def opened(address: str, width: int = 1680, height: int = 1000) -> Iterator[Pages]:
    """A browser on the UI; every request that leaves the machine is an error."""
    from playwright.sync_api import sync_playwright

    with sync_playwright() as playwright:
        browser = playwright.chromium.launch(executable_path=browser_path(), args=list(FLAGS))
        context = browser.new_context(viewport={"width": width, "height": height})
        page = context.new_page()
        page.set_default_timeout(PATIENCE_MS)
        pages = Pages(page, address)
        page.on("request", lambda request: pages.requests.append(request.url))
        try:
            yield pages
        finally:
            browser.close()


class Pages:
    """The UI with one experiment open."""

    def __init__(self, page: Any, address: str) -> None:
        self.page = page
        self.address = address
        self.requests: list[str] = []

    @property
    def strangers(self) -> list[str]:
        """Requests that went somewhere else than to the UI's own server."""
        own = (self.address, "data:", "blob:")
        return [url for url in self.requests if not url.startswith(own)]

    def open_runs(self, experiment: str = "1") -> None:
        """The page "Evaluation runs"."""
        self.page.goto(f"{self.address}/#/experiments/{experiment}/evaluation-runs")
        self.page.get_by_role("row").nth(1).wait_for()

    def run_names(self) -> list[str]:
        """The runs in the order of the page: each parent, then its children."""
        return list(self.page.locator("#run-name-cell").all_inner_texts())

    def columns(self) -> list[str]:
        return list(self.page.get_by_role("columnheader").all_inner_texts())

    def compare(self, first: str, second: str) -> None:
        """Select two runs and press Actions, Compare."""
        for name in (first, second):
            cell = self.page.locator("#run-name-cell").filter(has_text=re.compile(f"^{re.escape(name)}$"))
            row = self.page.get_by_role("row").filter(has=cell)
            row.locator("input[type=checkbox]").click()
        self.page.get_by_role("button", name="Actions").first.click()
        self.page.get_by_role("menuitem", name="Compare").click()
        self.page.get_by_text("Comparing").first.wait_for()

    def open_question(self, question_id: str) -> str:
        """On the compare page: both answers to one question side by side. Returns what is to be read there."""
        self.page.get_by_text(f"[{question_id}]").first.click()
        dialog = self.page.get_by_role("dialog")
        dialog.get_by_text("verdicts").nth(1).wait_for()
        return str(dialog.inner_text())

    def open_trace(self, experiment: str, trace_id: str) -> None:
        self.page.goto(f"{self.address}/#/experiments/{experiment}/traces?selectedEvaluationId={trace_id}")
        self.page.get_by_text("retrieve", exact=True).first.wait_for()

    def open_prompt(self, name: str) -> None:
        self.page.goto(f"{self.address}/#/prompts/{name}")
        self.page.get_by_text("Version 1").first.wait_for()

    def open_artifact(self, experiment: str, run_id: str, *path: str) -> None:
        """An artifact in its viewer; ``path``: folders, then the file."""
        self.page.goto(f"{self.address}/#/experiments/{experiment}/runs/{run_id}/artifacts")
        for name in path:
            self.page.get_by_text(name, exact=True).first.click()

    def frame_text(self) -> str:
        """What stands in the sandboxed frame in which an HTML artifact is shown."""
        body = self.page.frame_locator("iframe").locator("body")
        body.locator("h1").wait_for()
        return str(body.inner_text())

    def open_coordinates(self, experiment: str, runs: Sequence[str]) -> None:
        """The page that compares any number of runs, with its parallel coordinates."""
        chosen, of = (quote(json.dumps(value)) for value in (list(runs), [experiment]))
        self.page.goto(f"{self.address}/#/compare-runs?runs={chosen}&experiments={of}")
        self.page.get_by_text("Parallel Coordinates Plot").first.wait_for()

    def picture(self, path: Path) -> None:
        """Take a screenshot once nothing moves: no new request for a while (the pages never go fully quiet)."""
        for _ in range(SETTLE_ROUNDS):
            before = len(self.requests)
            self.page.wait_for_timeout(SETTLE_MS)
            if len(self.requests) == before:
                break
        path.parent.mkdir(parents=True, exist_ok=True)
        self.page.screenshot(path=str(path))
