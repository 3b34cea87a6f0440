"""The report in a browser: in a sandboxed frame, with 5,000 questions, on a phone, by keyboard, light and dark."""

from __future__ import annotations

import html
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from runner.records import RunResult, RunStatus, SweepResult
from runner.report.html import Reproduction, render_report
from runner.statistics import compare_sweep
from runner.statistics.biases import bias_readings
from runner.sweeps.figures import summarised
from tests.fakes.records import failed_record, full_record, full_run
from tests.fakes.runs import make_record, make_run
from tests.mlflow_pages import FLAGS, browser_path

pytestmark = [
    pytest.mark.browser,
    pytest.mark.timeout(300),
    pytest.mark.skipif(browser_path() is None, reason="Chromium is not installed"),
]

MANY = 5_000
EVIL = "<script>window.pwned = 1</script><img src=x onerror='window.pwned = 1'>"
CONTRAST = """(selector) => {
  const parse = (color) => color.match(/[\\d.]+/g).map(Number);
  const light = ([r, g, b]) => [r, g, b].map((v) => v / 255)
    .map((v) => (v <= 0.04045 ? v / 12.92 : ((v + 0.055) / 1.055) ** 2.4))
    .reduce((sum, v, at) => sum + v * [0.2126, 0.7152, 0.0722][at], 0);
  const back = (element) => {
    for (let at = element; at; at = at.parentElement) {
      const color = parse(getComputedStyle(at).backgroundColor);
      if (color.length === 3 || color[3] > 0) return color;
    }
    return [255, 255, 255];
  };
  return [...document.querySelectorAll(selector)].slice(0, 20).map((element) => {
    const [a, b] = [light(parse(getComputedStyle(element).color)), light(back(element))].sort((x, y) => y - x);
    return (a + 0.05) / (b + 0.05);
  });
}"""
"""Contrast ratios of the text of elements against what lies behind it (WCAG 2.2)."""


@pytest.fixture(scope="module")
def browser() -> Iterator[Any]:
    from playwright.sync_api import sync_playwright

    with sync_playwright() as playwright:
        opened = playwright.chromium.launch(executable_path=browser_path(), args=list(FLAGS))
        yield opened
        opened.close()


def report(*runs: RunResult, compared: bool = False) -> str:
    sweep = SweepResult("s", "a sweep", runs, RunStatus.COMPLETE)
    comparisons = [compare_sweep(runs, "grounding")] if compared else []
    biases = [bias_readings(runs, "grounding")] if compared else []
    reproduction = Reproduction(("python -m runner -m retriever.top_k=1,3",), {"python": "3.11"}, "abc")
    summaries = {run.job_key: summarised(run) for run in runs}
    return render_report(sweep, summaries, comparisons, biases=biases, reproduction=reproduction)


def many() -> tuple[RunResult, ...]:
    """Two runs of 5,000 questions; the second does better on every other one, and one answer of it is evil."""
    first = [make_record(f"q{k}", {"grounding": 2.0}, text=f"The fee is {k} euro.") for k in range(MANY)]
    second = [
        make_record(f"q{k}", {"grounding": 2.0 + 3 * (k % 2)}, text=EVIL if k == 7 else f"The fee is {k} dollars.")
        for k in range(MANY)
    ]
    return make_run("old", first), make_run("new", second)


def small() -> str:
    records = [full_record(k, answer=f"Rule {k} costs {200 + k} euro.", blame="hallucinated") for k in range(30)]
    other = [replace(one, answer=replace(one.answer, text="It costs nothing.")) for one in records]
    return report(
        full_run("top_k=1", [*records, failed_record(30)]),
        full_run("top_k=3", [*other, failed_record(30)]),
        compared=True,
    )


def test_five_thousand_questions_in_a_sandboxed_frame_without_storage(browser: Any) -> None:
    page = browser.new_page()
    requests: list[str] = []
    errors: list[str] = []
    page.on("request", lambda request: requests.append(request.url))
    page.on("pageerror", lambda error: errors.append(str(error)))
    framed = (
        f'<iframe sandbox="allow-scripts" width="1200" height="800" srcdoc="{html.escape(report(*many()))}"></iframe>'
    )
    page.set_content(framed)
    frame = page.frame_locator("iframe")
    status = frame.get_by_role("status")
    status.get_by_text("5,000 of 5,000 questions").wait_for()
    rows = frame.locator("#list > details")
    assert rows.count() == 50, "only what is looked at is in the page"

    frame.get_by_label("Show").select_option("turns")
    status.get_by_text("2,500 of 5,000 questions").wait_for()
    frame.get_by_label("Order").select_option("spread")
    frame.get_by_role("button", name="Next").click()
    frame.get_by_text("page 2 of 50").wait_for()
    frame.get_by_label("Show").select_option("all")
    frame.get_by_label("Find").fill("q4321 ")
    status.get_by_text("1 of 5,000 questions").wait_for()
    rows.first.locator("summary").click()
    marks = frame.locator("#list mark")
    marks.first.wait_for()
    assert marks.all_text_contents() == ["dollars"]

    frame.get_by_label("Find").fill("pwned")
    status.get_by_text("1 of 5,000 questions").wait_for()
    rows.first.locator("summary").click()
    frame.locator("#list .answer").get_by_text("<script>", exact=False).wait_for()
    inner = page.frames[1]
    assert inner.evaluate("window.pwned") is None
    assert errors == []
    assert [address for address in requests if not address.startswith(("about:", "data:"))] == []
    page.close()


def test_a_script_that_is_not_ours_does_not_run_even_if_it_were_in_the_page(browser: Any, tmp_path: Path) -> None:
    path = tmp_path / "report.html"
    path.write_text(small().replace("</main>", "<script>window.pwned = 1</script></main>"), encoding="utf-8")
    page = browser.new_page()
    page.goto(path.as_uri())
    page.locator("#list > details").first.wait_for()
    assert page.evaluate("window.pwned") is None
    page.close()


def test_it_is_usable_on_a_phone_and_by_keyboard(browser: Any, tmp_path: Path) -> None:
    path = tmp_path / "report.html"
    path.write_text(small(), encoding="utf-8")
    page = browser.new_page(viewport={"width": 360, "height": 740})
    page.goto(path.as_uri())
    page.locator("#list > details").first.wait_for()
    assert page.evaluate("document.documentElement.scrollWidth") <= 360
    page.keyboard.press("Tab")
    assert page.evaluate("document.activeElement.textContent") == "Skip to the report"
    page.keyboard.press("Enter")
    assert page.evaluate("document.activeElement.id") == "main"
    page.locator("#list summary").first.focus()
    page.keyboard.press("Enter")
    page.locator("#list .side").first.wait_for()
    assert page.locator("#list .side").count() == 2
    small_targets = page.evaluate(
        "[...document.querySelectorAll('button, input, select')].filter((one) => one.offsetHeight < 40).length"
    )
    assert small_targets == 0
    page.close()


@pytest.mark.parametrize("scheme", ["light", "dark"])
def test_every_text_stands_out_from_its_ground(browser: Any, tmp_path: Path, scheme: str) -> None:
    path = tmp_path / "report.html"
    path.write_text(small(), encoding="utf-8")
    page = browser.new_page(color_scheme=scheme)
    page.goto(path.as_uri())
    page.locator("#list summary").first.click()
    dark = page.evaluate("getComputedStyle(document.body).backgroundColor") == "rgb(15, 19, 24)"
    assert dark == (scheme == "dark")
    for selector in (
        "p",
        "small",
        "caption",
        "th",
        "td",
        "a",
        "mark",
        ".tone",
        ".verdicts dd",
        "label",
        "dt",
        ".warnings",
    ):
        ratios = page.evaluate(CONTRAST, selector)
        assert all(ratio >= 4.5 for ratio in ratios), (selector, ratios)
    page.close()
