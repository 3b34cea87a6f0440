"""From an answer to its scores: rubric to prompt, reply to verdict, verdicts to score, and what a score is worth."""

from __future__ import annotations

from runner.judging.blame import Abstention, Blame, abstention_of, blame_of, diagnosed, diagnosis_metrics
from runner.judging.combining import combine_panel, panel_problems
from runner.judging.control_cases import (
    Control,
    ControlCase,
    Sample,
    control_cases,
    draw,
    is_complete,
    may_be_drawn,
    unanswerable_drawn,
)
from runner.judging.control_table import ControlReport, control_requests, run_controls
from runner.judging.lint import RubricProblem, lint_rubric
from runner.judging.opening import AnswerJudge, judge_problems, open_judge
from runner.judging.rubrics import instructions_path, instructions_text, rubric_hash, rubric_name, rubric_text
from runner.judging.versions import check_versions

__all__ = [
    "Abstention",
    "AnswerJudge",
    "Blame",
    "Control",
    "ControlCase",
    "ControlReport",
    "RubricProblem",
    "Sample",
    "abstention_of",
    "blame_of",
    "check_versions",
    "combine_panel",
    "control_cases",
    "control_requests",
    "diagnosed",
    "diagnosis_metrics",
    "draw",
    "instructions_path",
    "instructions_text",
    "is_complete",
    "judge_problems",
    "lint_rubric",
    "may_be_drawn",
    "open_judge",
    "panel_problems",
    "rubric_hash",
    "rubric_name",
    "rubric_text",
    "run_controls",
    "unanswerable_drawn",
]
