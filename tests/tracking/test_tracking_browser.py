"""The MLflow UI as a person sees it, in headless Chromium, on the store of a sweep over ``top_k`` and two rubrics."""

from __future__ import annotations

import os
import signal
import sqlite3
import subprocess
import sys
from collections.abc import Iterator
from dataclasses import dataclass
from datetime import UTC, datetime
from pathlib import Path

import pytest

from runner.config import schema
from runner.records import RunStatus
from runner.tracking import open_tracking
from runner.tracking.ui import free_port
from tests.fakes.records import full_record, full_run, full_summary
from tests.mlflow_pages import ROOT, Pages, browser_path, opened, sweep
from tests.tracking.conftest import start

pytestmark = [
    pytest.mark.browser,
    pytest.mark.timeout(600),
    pytest.mark.skipif(browser_path() is None, reason="Chromium is not installed"),
]


@dataclass(frozen=True)
class Site:
    """A running UI and the store under it."""

    home: Path
    pages: Pages


@pytest.fixture(scope="module")
def site(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Site]:
    """A sweep by the command line, a run with prices, and the verb ``ui`` on them."""
    work = tmp_path_factory.mktemp("browser")
    home = work / "home"
    environment = {name: value for name, value in os.environ.items() if not name.startswith(("OPENAI_", "RUNNER_"))}
    rubrics = "rubric@judges.topicality.rubric=topicality_v1,topicality_v2"
    sweep(home, work, environment, "retriever.top_k=1,3", rubrics)
    priced = open_tracking(schema.Tracking(kind="mlflow", experiment="priced"), home)
    parent = priced.start_sweep("priced", "s", {}, {})
    run_id = start(priced, parent, "priced", 1)
    records = [full_record(1, price="0.00123", start=datetime.now(UTC))]  # the page shows recent traces only
    priced.log_record(run_id, records[0])
    priced.finish_run(run_id, full_run("priced", records), full_summary(records), {})
    priced.finish_sweep(parent, RunStatus.COMPLETE, {}, {})
    assert priced.close().problems == ()

    command = [sys.executable, "-m", "runner", "ui", "--no-browser", "--port", str(free_port())]
    environment |= {"RUNNER_HOME": str(home), "PYTHONPATH": str(ROOT)}
    verb = subprocess.Popen(command, cwd=work, env=environment, stdout=subprocess.PIPE, text=True)
    assert verb.stdout is not None
    landing = next(word for word in verb.stdout.readline().split() if word.startswith("http"))
    address, _, page = landing.partition("/#")
    assert page == "/experiments/2/evaluation-runs"
    try:
        with opened(address) as pages:
            yield Site(home, pages)
            assert pages.strangers == [], pages.strangers
    finally:
        verb.send_signal(signal.SIGINT)
        assert verb.wait(30) == 0
    left = subprocess.run(["ps", "-eo", "args"], capture_output=True, text=True, check=True).stdout
    assert str(home / "mlflow.db") not in left


def trace_of(home: Path, experiment: str) -> tuple[str, str]:
    """An experiment's id and one of its traces."""
    connection = sqlite3.connect(home / "mlflow.db")
    query = """select experiment_id, request_id from trace_info join experiments using (experiment_id)
        where name = ? limit 1"""
    found = connection.execute(query, [experiment]).fetchone()
    connection.close()
    return str(found[0]), str(found[1])


def test_the_runs_page_lists_the_sweep_with_its_children_and_the_means_first(site: Site) -> None:
    site.pages.open_runs()
    names = site.pages.run_names()
    assert names[0] == "top_k"
    assert len(names) == 5
    assert sum("top_k=1" in name for name in names) == sum("top_k=3" in name for name in names) == 2
    columns = site.pages.columns()
    first = next(place for place, column in enumerate(columns) if "/" in column)
    assert columns[first : first + 2] == ["grounding/mean", "topicality/mean"]
    assert "academic_faq" in site.pages.page.get_by_role("row").nth(2).inner_text()


def test_no_name_of_a_run_and_no_name_of_a_score_is_cut_on_the_runs_page(site: Site) -> None:
    site.pages.open_runs()
    cut = "elements => elements.filter(e => e.scrollWidth > e.clientWidth).map(e => e.innerText)"
    assert site.pages.page.locator("#run-name-cell").evaluate_all(cut) == []
    scores = site.pages.page.get_by_role("columnheader").filter(has_text="/").locator("span, div")
    assert scores.count() > 20
    assert [name for name in scores.evaluate_all(cut) if name.endswith(("/mean", "/pass_rate", "/scored"))] == []


def test_comparing_two_runs_shows_one_question_with_both_answers_and_both_rationales(site: Site) -> None:
    site.pages.open_runs()
    names = [name for name in site.pages.run_names() if "top_k=1" in name]
    site.pages.compare(names[0], names[0].replace("top_k=1", "top_k=3"))
    shown = site.pages.open_question("q02")
    assert "A bachelor's degree takes 120 credit hours." in shown
    assert "Graduating students need a grade point average (GPA) of 2.0" in shown
    assert shown.count("grounding 5: Weakest statement:") == 2


def test_a_fresh_browser_shows_scores_beside_the_answers_and_no_assistant(site: Site) -> None:
    browser = site.pages.page.context.browser
    page = browser.new_context(viewport={"width": 1600, "height": 900}).new_page()
    fresh = Pages(page, site.pages.address)
    fresh.open_runs()
    fresh.compare(*(name for name in fresh.run_names() if "topicality_v2" in name))
    page.get_by_text("[q02]").first.wait_for()
    header = page.get_by_role("columnheader")
    group = header.filter(has_text="Assessments").bounding_box()
    judge = header.filter(has_text="AVG").filter(has_text="grounding").bounding_box()
    assert group is not None
    assert judge is not None
    assert judge["x"] + judge["width"] <= 1600
    assert abs(group["x"] - judge["x"]) < 2, "the heading of the scores stands over them"
    assert not header.filter(has_text="Trace ID").is_visible()
    assert page.locator("button[data-assistant-ui=true]").is_visible(), "closed, and there to be opened"
    page.context.close()


def test_a_trace_shows_the_chunks_and_what_each_call_cost(site: Site) -> None:
    experiment, trace = trace_of(site.home, "priced")
    site.pages.open_trace(experiment, trace)
    page = site.pages.page
    page.get_by_text("$0.00123").first.wait_for()
    assert page.get_by_text("$0.00123").count() >= 4
    page.get_by_text("retrieve", exact=True).first.click()
    page.get_by_text("Rule 1. The rules of the house").first.wait_for()
    assert page.get_by_text("0.900 gold, doc1").count() > 0


def runs_of(home: Path, experiment: str) -> dict[str, str]:
    """Run ids by name."""
    connection = sqlite3.connect(home / "mlflow.db")
    query = "select runs.name, run_uuid from runs join experiments using (experiment_id) where experiments.name = ?"
    found = connection.execute(query, [experiment]).fetchall()
    connection.close()
    return {str(name): str(run_id) for name, run_id in found}


def test_the_report_opens_in_the_artifact_pane_and_the_plots_beside_it(site: Site) -> None:
    parent = runs_of(site.home, "top_k")["top_k"]
    site.pages.open_artifact("1", parent, "report.html")
    assert "Leaderboard" in site.pages.frame_text()
    site.pages.open_artifact("1", parent, "plots", "score_by_top_k.svg")
    picture = site.pages.page.locator("img[src^='blob:'], img[src*='score_by_top_k']").first
    picture.wait_for()
    assert picture.evaluate("image => image.decode().then(() => image.naturalWidth)") > 300


def test_parallel_coordinates_choose_what_was_swept_and_a_mean(site: Site) -> None:
    jobs = [run_id for name, run_id in runs_of(site.home, "top_k").items() if "top_k=" in name]
    assert len(jobs) == 4
    site.pages.open_coordinates("1", jobs)
    page = site.pages.page
    page.get_by_text("Run details").first.wait_for()
    for axis in ("retriever.top_k", "judges.topicality.rubric", "grounding/mean"):
        page.locator("svg text", has_text=axis).first.wait_for()


def test_question_sets_are_under_datasets(site: Site) -> None:
    page = site.pages.page
    page.goto(f"{site.pages.address}/#/experiments/1/datasets")
    page.get_by_text("academic_faq").first.click()
    page.get_by_text("How many credit hours do I need to graduate?").first.wait_for()


def test_the_prompt_page_shows_both_versions_of_the_rubric(site: Site) -> None:
    site.pages.open_prompt("rubric.topicality")
    shown = site.pages.page.inner_text("body")
    assert "Version 1" in shown
    assert "Version 2" in shown
    assert "topicality@" in shown


def test_the_experiments_own_prompts_page_lists_its_rubrics(site: Site) -> None:
    page = site.pages.page
    page.goto(f"{site.pages.address}/#/experiments/1/prompts")
    page.get_by_text("rubric.topicality", exact=True).first.wait_for()
    assert "Create your first prompt" not in page.inner_text("body")


def test_the_run_page_says_the_rubrics_own_version(site: Site) -> None:
    jobs = runs_of(site.home, "top_k")
    for version in (1, 2):
        run_id = next(run_id for name, run_id in jobs.items() if f"topicality_v{version}" in name)
        page = site.pages.page
        page.goto(f"{site.pages.address}/#/experiments/1/runs/{run_id}")
        page.get_by_text(f"rubric.topicality (v{version})").first.wait_for()
