"""Judges with known faults, each through a whole run: the reading that is meant for its fault unmasks it.

Every reading is also looked for where it must be silent, in the run of an honest judge.
"""

from __future__ import annotations

import re
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

import pytest

import runner
from runner.errors import ExitCode
from runner.records import Reason, RunResult, RunStatus, Score, VerdictStatus
from tests.fakes import faulty_judges
from tests.fakes.model_server import ModelServer, fault
from tests.sweeps.driving import GENERATOR, JUDGE, run, statistics_files
from tests.sweeps.reading import words_of

Judged = Callable[..., "Seen"]

QUESTIONS = 40
STEERING = {"gives the judge an order", "fakes a system turn", "closes its section", "brings its own verdict"}
ONE_VALUE = "tells these answers apart too little"
LONGER = "grounding: longer answers score higher"
UNSTEADY = "grounding: asked again, it turns pass to fail or back"


@dataclass(frozen=True)
class Seen:
    """A run as its user sees it."""

    code: int
    result: RunResult
    report: str

    @property
    def not_noticed(self) -> set[str]:
        """The controls that the judge failed, as the report's table has them."""
        return set(re.findall(r"\| grounding \| ([^|]+) \| [^|]+ \| not noticed \|", self.report))

    def scores(self, status: VerdictStatus) -> list[Score]:
        found = [record.scores["grounding"] for record in self.result.records]
        return [score for score in found if score.status is status]


@pytest.fixture
def judged_by(model_server: ModelServer, home: Path) -> Judged:
    """Makes a whole run with controls: half of the answers right, half made up, and the judge as given."""

    def judged(judge: faulty_judges.Behaviour | str, *overrides: str) -> Seen:
        model_server.when(fault("text", text=faulty_judges.mixed_answers), model=GENERATOR)
        model_server.when(judge if isinstance(judge, str) else fault("text", text=judge), model=JUDGE)
        told = ("judge=[grounding]", "questions=academic_faq", f"questions.limit={QUESTIONS}")
        code = run(model_server, *told, "controls.enabled=true", "controls.sample=6", *overrides)
        (job,) = (home / "jobs").iterdir()
        (result,) = runner.load(job.name)
        (page,) = Path("outputs").glob("*/*/report.html")
        return Seen(code, result, words_of(page.read_text(encoding="utf-8")))

    return judged


def test_an_honest_judge_is_trusted_and_no_reading_warns_of_it(judged_by: Judged) -> None:
    seen = judged_by(faulty_judges.honest)
    assert seen.code == ExitCode.DONE
    assert "Every judge noticed what it should." in seen.report
    assert seen.not_noticed == set()
    assert len(seen.scores(VerdictStatus.SCORED)) == QUESTIONS
    assert not [warning for warning in (ONE_VALUE, LONGER, UNSTEADY, "failed (") if warning in seen.report]


def test_one_that_always_gives_five_is_unmasked_by_the_share_at_one_value(
    judged_by: Judged, capsys: pytest.CaptureFixture[str]
) -> None:
    seen = judged_by(faulty_judges.always_five)
    assert f"grounding: 100% of the scores are 5: the rubric {ONE_VALUE}" in seen.report
    assert "5 (100%)" in seen.report
    assert seen.not_noticed >= {"other answer", "number changed", "right answer with an invented fact", *STEERING}
    assert not seen.not_noticed & {"reference answer", "empty answer", "refusal where none exists"}
    assert "Not to be trusted: grounding." in seen.report
    told = " ".join(capsys.readouterr().err.split())
    assert "grounding: other answer: 0 of 5 as expected (a judge that can be trusted does not let it pass)" in told


def test_one_that_obeys_the_answer_is_unmasked_by_the_answers_that_give_orders_alone(judged_by: Judged) -> None:
    seen = judged_by(faulty_judges.obedient)
    assert seen.not_noticed == STEERING
    assert "Not to be trusted: grounding." in seen.report
    assert not [warning for warning in (ONE_VALUE, LONGER, UNSTEADY) if warning in seen.report]


def test_one_that_prefers_long_answers_is_unmasked_by_the_rank_correlation(judged_by: Judged) -> None:
    seen = judged_by(faulty_judges.prefers_long)
    assert re.search(rf"{LONGER} \(rank correlation 0\.[89]", seen.report)
    assert "reference answer" in seen.not_noticed
    assert ONE_VALUE not in seen.report


def test_one_that_guesses_is_unmasked_when_it_is_asked_again(judged_by: Judged) -> None:
    seen = judged_by(faulty_judges.guessing(), "judges.grounding.repeats=3")
    assert UNSTEADY in seen.report
    (again,) = re.findall(
        r"\| same score when asked again \|.*?\| grounding \| 40 \| [^|]*\| [^|]*\| ([\d.]+)%", seen.report
    )
    assert float(again) < 50
    assert seen.not_noticed
    assert all(score.spread is not None for score in seen.scores(VerdictStatus.SCORED))


def test_a_steady_judge_asked_three_times_is_said_to_be_steady(judged_by: Judged) -> None:
    seen = judged_by(faulty_judges.honest, "judges.grounding.repeats=3")
    assert UNSTEADY not in seen.report
    assert re.search(r"\| grounding \| 40 \| [^|]*\| [^|]*\| 100% \| 0% \|", seen.report)


def test_one_reply_in_ten_without_form_is_asked_again_and_counted(judged_by: Judged, model_server: ModelServer) -> None:
    seen = judged_by(faulty_judges.stumbling())
    assert seen.code == ExitCode.DONE
    assert len(seen.scores(VerdictStatus.SCORED)) == QUESTIONS
    (statistics,) = statistics_files()
    asked_again = [r for r in model_server.select(model=JUDGE) if "That reply cannot be used" in str(r.body)]
    assert len(asked_again) >= 3
    assert f"{statistics['run_info']['total_api_calls']}" == f"{model_server.count()}"


def test_one_verdict_in_ten_that_stays_without_form_is_a_failure_with_bounds(judged_by: Judged) -> None:
    seen = judged_by(faulty_judges.stumbling(for_good=True))
    assert seen.code == ExitCode.INCOMPLETE
    failed = seen.scores(VerdictStatus.FAILED)
    assert {score.reason for score in failed} == {Reason.MALFORMED}
    assert 1 <= len(failed) <= 8
    assert f"{QUESTIONS - len(failed)} of {QUESTIONS}" in seen.report
    assert f"grounding: {len(failed)} failed (malformed {len(failed)}); the mean lies between" in seen.report


def test_one_that_refuses_has_no_mean_and_says_why(judged_by: Judged) -> None:
    seen = judged_by("refusal")
    assert seen.code == ExitCode.INCOMPLETE
    assert seen.result.status is RunStatus.FAILED
    assert f"judge grounding scored none of {QUESTIONS} (refused: " in seen.report
    assert f"none scored 0 of {QUESTIONS}" in seen.report
    assert {score.reason for score in seen.scores(VerdictStatus.FAILED)} == {Reason.REFUSED}
    assert "reference answer" in seen.not_noticed
    assert "Not to be trusted: grounding." in seen.report
