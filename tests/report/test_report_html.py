"""The HTML report: the verdict first, hostile texts kept as texts, nothing asked of anybody, usable without a mouse."""

from __future__ import annotations

import json
import re
from collections.abc import Sequence
from dataclasses import replace
from decimal import Decimal
from html.parser import HTMLParser
from typing import Any

import pytest

from runner.records import ControlRow, RunResult, RunStatus, SweepResult
from runner.report.html import PlannedSpend, Reproduction, render_report
from runner.report.html import data as report_data
from runner.statistics import compare_sweep
from runner.statistics.biases import bias_readings
from runner.sweeps.figures import summarised
from tests.fakes.records import failed_record, full_record, full_run
from tests.fakes.runs import make_record, make_run

HOSTILE = "</script><script>window.pwned=1</script><img src=x onerror=window.pwned=1> \x1b[31mred\x1b[0m \u202egnp.exe"
JUDGES = ("grounding", "topicality")


def a_sweep(*runs: RunResult, **fields: Any) -> SweepResult:
    return SweepResult("a1b2c3", "two prompts", runs, RunStatus.COMPLETE, finished_at="2026-11-30T08:00:00", **fields)


def rendered(sweep: SweepResult, compared: Sequence[str] = (), **given: Any) -> str:
    comparisons = [compare_sweep(sweep.runs, metric) for metric in compared]
    return render_report(sweep, {run.job_key: summarised(run) for run in sweep.runs}, comparisons, **given)


def two_runs(questions: int = 12) -> tuple[RunResult, RunResult]:
    first = [
        make_record(f"q{k}", {"grounding": 2.0 + k % 2}, [f"d{k}"], text=f"It costs {k} dollars.")
        for k in range(questions)
    ]
    second = [
        make_record(f"q{k}", {"grounding": 4.0 + k % 2}, [f"d{k}"], text=f"It costs {k} euros.")
        for k in range(questions)
    ]
    return make_run("old", first), make_run("new", second)


class Page(HTMLParser):
    """What of a page matters here."""

    def __init__(self, text: str) -> None:
        super().__init__()
        self.elements: list[tuple[str, dict[str, str | None]]] = []
        self.texts: list[tuple[tuple[str, ...], str]] = []
        self._open: list[str] = []
        self.feed(text)

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.elements.append((tag, dict(attrs)))
        if tag not in ("meta", "link", "input", "img", "br"):
            self._open.append(tag)

    def handle_startendtag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.elements.append((tag, dict(attrs)))

    def handle_endtag(self, tag: str) -> None:
        assert self._open.pop() == tag, "every element ends where it should"

    def handle_data(self, data: str) -> None:
        self.texts.append((tuple(self._open), data))

    def all(self, tag: str) -> list[dict[str, str | None]]:
        return [attributes for name, attributes in self.elements if name == tag]

    def text(self, tag: str) -> str:
        return "".join(data for where, data in self.texts if tag in where)

    @property
    def data(self) -> dict[str, Any]:
        place = next(at for at, (name, given) in enumerate(self.elements) if name == "script" and given.get("id"))
        number = sum(name == "script" for name, _ in self.elements[:place])
        scripts = [data for where, data in self.texts if where[-1:] == ("script",)]
        loaded: dict[str, Any] = json.loads(scripts[number])
        return loaded


def test_the_verdict_comes_first_and_the_whole_story_follows() -> None:
    old, new = two_runs()
    page = Page(rendered(a_sweep(old, new), ["grounding"]))
    assert page.text("h1").strip() == compare_sweep((old, new), "grounding").pairs[0].sentence
    headings = page.text("h2")
    places = [headings.index(name) for name in ("Leaderboard", "Comparison", "Worst questions", "All questions")]
    assert places == sorted(places)
    assert "worse" in page.text("table")


def test_a_single_run_says_its_means_with_their_denominators() -> None:
    records = [full_record(k, JUDGES, failing=JUDGES[:1] if k == 0 else ()) for k in range(4)]
    run = full_run("only", [*records, failed_record(4, JUDGES)], RunStatus.INCOMPLETE)
    page = Page(rendered(replace(a_sweep(run), status=RunStatus.INCOMPLETE)))
    head = page.text("h1")
    assert "4 of 5 questions answered" in head
    assert "3 of 5 scored" in head
    assert "incomplete" in page.text("header")


def test_hostile_texts_stay_texts_wherever_they_stand() -> None:
    record = full_record(1, JUDGES, answer=HOSTILE, text=HOSTILE)
    scores = {name: replace(score, rationale=HOSTILE, value=1.0, passed=False) for name, score in record.scores.items()}
    chunk = replace(record.retrieved[0], chunk=replace(record.retrieved[0].chunk, text=HOSTILE, source=HOSTILE))
    question = replace(record.question, id=HOSTILE, reference=HOSTILE)
    record = replace(record, scores=scores, retrieved=(chunk,), question=question, blame=HOSTILE)
    control = ControlRow("grounding", "other_answer", HOSTILE, 3, 1, passed=False, example=HOSTILE)
    run = full_run(HOSTILE, [record], RunStatus.FAILED, overrides=(HOSTILE,), controls=(control,))
    run = replace(run, reason=HOSTILE)
    sweep = replace(a_sweep(run), name=HOSTILE, id=HOSTILE, duplicates={HOSTILE: HOSTILE}, status=RunStatus.FAILED)
    text = rendered(sweep, reproduction=Reproduction((HOSTILE,), {HOSTILE: HOSTILE}, HOSTILE), notes=[HOSTILE])
    page = Page(text)
    assert [attributes for attributes in page.all("img") if attributes] == []
    assert len(page.all("script")) == 2, "the data and our own script"
    assert not any(name.startswith("on") for _, attributes in page.elements for name in attributes)
    assert not re.search("[\x00-\x08\x0b-\x1f\x7f-\x9f\u200e\u200f\u202a-\u202e\u2066-\u2069]", text)
    assert "␛[31mred" in page.text("main")
    assert "<U+202E>gnp.exe" in page.data["texts"][page.data["questions"][0][1]]


def test_the_page_asks_nobody_and_keeps_nothing() -> None:
    text = rendered(a_sweep(*two_runs()), ["grounding"])
    page = Page(text)
    policy = next(one["content"] for one in page.all("meta") if one.get("http-equiv"))
    assert policy is not None
    assert policy.startswith("default-src 'none'")
    assert "'unsafe-inline'" not in policy.split("script-src")[1]
    addresses = [value for _, given in page.elements for name, value in given.items() if name in ("src", "href")]
    assert all(address and address.startswith(("#", "data:")) for address in addresses)
    outside = ("http:", "https:", "url(", "@import", "fetch(", "XMLHttp", "Storage", "cookie", "innerHTML", "eval(")
    assert [word for word in outside if word in text] == []


def test_it_can_be_read_without_eyes_and_without_a_mouse() -> None:
    old, new = two_runs()
    page = Page(rendered(a_sweep(old, new), ["grounding"], biases=[bias_readings((old, new), "grounding")]))
    tables = page.all("table")
    assert len(tables) == len(page.all("caption")) > 4
    assert all(header.get("scope") in ("col", "row") for header in page.all("th"))
    regions = [given for given in page.all("div") if given.get("role") == "region"]
    assert len(regions) == len(tables)
    assert all(given.get("tabindex") == "0" for given in regions), "what scrolls takes the focus"
    identifiers = [given["id"] for _, given in page.elements if given.get("id")]
    assert len(identifiers) == len(set(identifiers))
    named = [given["aria-labelledby"] for _, given in page.elements if given.get("aria-labelledby")]
    assert set(named) <= set(identifiers)
    assert {"header", "nav", "main", "footer"} <= {name for name, _ in page.elements}
    controls = {given.get("id") for given in page.all("input") + page.all("select")}
    assert controls == {given.get("for") for given in page.all("label")}
    assert page.all("html")[0]["lang"] == "en"
    links = [given["href"] for given in page.all("nav") + page.all("a") if given.get("href")]
    assert all(link and link[1:] in identifiers for link in links)


def test_the_worst_question_shows_both_answers_with_the_words_that_differ() -> None:
    page = Page(rendered(a_sweep(*two_runs(3)), ["grounding"]))
    marks = "".join(data + "|" for where, data in page.texts if "mark" in where)
    assert marks.startswith("euros|dollars|")
    assert "It costs " not in marks


def test_every_section_that_has_something_to_say_says_it() -> None:
    records = [full_record(k, JUDGES, blame="hallucinated", abstention="wrong_refusal") for k in range(3)]
    control = ControlRow("grounding", "other_answer", "a low score", 4, 1, passed=False, example="question 1 got 5")
    run = full_run("only", records, controls=(control,), overrides=("retriever.top_k=3",))
    planned = PlannedSpend(Decimal("0.1"), Decimal("0.2"), Decimal("0.3"), 9, 9)
    reproduction = Reproduction(("python -m runner retriever.top_k=3",), {"python": "3.11"}, "abc")
    page = Page(rendered(a_sweep(run), planned=planned, reproduction=reproduction))
    main = page.text("main")
    for said in (
        "hallucinated",
        "refused although there is an answer",
        "Not to be trusted: grounding.",
        "question 1 got 5",
        "Planned: 9 distinct calls, $0.1000 to $0.3000 (expected $0.2000). Made: 9 calls for $0.0090.",
        "python -m runner retriever.top_k=3",
        "key-only",
        "grounding@1",
    ):
        assert said in main
    bare = Page(rendered(a_sweep(make_run("bare", [make_record("q", {"grounding": 5.0})]))))
    sections = {given.get("id") for given in bare.all("section")}
    assert not sections & {"controls", "blame", "abstention", "biases", "worst", "comparison"}


def test_an_unknown_price_is_never_shown_as_free() -> None:
    run = full_run("only", [full_record(1, JUDGES, price=None)])
    main = Page(rendered(a_sweep(run), planned=PlannedSpend(None, None, None, 3, 3, ("model-a",)))).text("main")
    assert "$0" not in main
    assert "No price is known for model-a" in main


def test_the_data_hold_every_text_once_and_every_question_of_every_job() -> None:
    old, new = two_runs(5)
    data = Page(rendered(a_sweep(old, new))).data
    assert data["jobs"] == ["old", "new"]
    assert [row[0] for row in data["questions"]] == [f"q{k}" for k in range(5)]
    assert len(data["texts"]) == len(set(data["texts"]))
    answers = [[data["texts"][job[0]] for job in row[3]] for row in data["questions"]]
    assert answers[3] == ["It costs 3 dollars.", "It costs 3 euros."]
    assert data["questions"][1][3][1][3][0][:4] == [5.0, "5", 1, "scored"]


def test_a_question_that_a_job_was_not_asked_has_no_place_there() -> None:
    old, new = two_runs(3)
    data = Page(rendered(a_sweep(old, replace(new, records=new.records[:2])))).data
    assert data["questions"][2][3][1] is None


def test_long_answers_are_cut_with_a_word_and_the_page_stays_small(monkeypatch: pytest.MonkeyPatch) -> None:
    long = "word " * 20_000
    run = make_run("only", [make_record(f"q{k}", {"grounding": 1.0}, text=f"{k} {long}") for k in range(5)])
    data = Page(rendered(a_sweep(run))).data
    assert sum(len(text) for text in data["texts"]) < 5 * 21_000
    assert any("more characters in records.jsonl" in text for text in data["texts"])
    monkeypatch.setattr(report_data, "MOST_CHARACTERS", 6_000)
    assert sum(len(text) for text in Page(rendered(a_sweep(run))).data["texts"]) < 6_600


def test_runs_of_one_name_are_told_apart() -> None:
    old, new = two_runs(2)
    data = Page(rendered(a_sweep(old, replace(new, name="old")))).data
    assert data["jobs"] == ["old [key-old]", "old [key-new]"]
