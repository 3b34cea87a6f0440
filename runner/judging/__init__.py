"""From an answer to its scores: rubric to prompt and schema, reply to verdict, verdicts to score."""

from __future__ import annotations

from runner.judging.combining import combine_panel, panel_problems
from runner.judging.lint import RubricProblem, lint_rubric
from runner.judging.opening import AnswerJudge, judge_problems, open_judge
from runner.judging.rubrics import instructions_path, instructions_text, rubric_hash, rubric_name, rubric_text

__all__ = [
    "AnswerJudge",
    "RubricProblem",
    "combine_panel",
    "instructions_path",
    "instructions_text",
    "judge_problems",
    "lint_rubric",
    "open_judge",
    "panel_problems",
    "rubric_hash",
    "rubric_name",
    "rubric_text",
]
