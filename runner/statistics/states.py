"""What a score is to the denominators: asked or not, scored, not applicable, failed, or of an answer that is missing.

A judge does not apply by design (it abstains, there is no reference, no context): that says nothing about the run, and
the question is left out. An answer that never came is the run's own, so it stays in the bounds: to leave it out would
let a run win by saying nothing. Must stay light: every run is summarised with it.
"""

from __future__ import annotations

from runner.records import AnswerStatus, Reason, Record, Score, VerdictStatus

NOT_ASKED, SCORED, NOT_APPLICABLE, FAILED, NO_ANSWER = range(5)
"""From FAILED on a score is open: it could have been any value of the scale."""


def state_of(record: Record, score: Score | None) -> int:
    """The state of one judge's score on a record; a record without a score of the judge counts as failed."""
    if score is not None and score.status == VerdictStatus.SCORED and score.value is not None:
        return SCORED
    if record.answer.status == AnswerStatus.FAILED or (score is not None and score.reason == Reason.NO_ANSWER):
        return NO_ANSWER
    if score is not None and score.status == VerdictStatus.NOT_APPLICABLE:
        return NOT_APPLICABLE
    return FAILED
