"""What the judges that ask a model have in common: how they open, ask side by side, and come to a score."""

from __future__ import annotations

import asyncio
from collections.abc import Coroutine, Iterable, Sequence
from typing import TYPE_CHECKING, Any

from runner.calls.requests import Reply
from runner.config.schema import Judge
from runner.errors import JobStopped
from runner.judging.combining import combine_verdicts, not_applicable
from runner.judging.rubrics import rubric_hash
from runner.records import Call, Reason, Score, Verdict

if TYPE_CHECKING:
    from runner.calls import Door


class AskingJudge:
    """A judge by one rubric with one model behind the door."""

    def __init__(self, name: str, judge: Judge, door: Door) -> None:
        self.name = name
        self.rubric_hash = rubric_hash(judge.rubric)
        self.inputs = tuple(judge.rubric.inputs)
        self._judge = judge
        self._door = door
        self._endpoint = door.endpoint(judge.endpoint, judge.model)

    def _combined(self, verdicts: Sequence[Verdict]) -> Score:
        judge = self._judge
        return combine_verdicts(
            self.name, judge.rubric, verdicts, how=judge.combine, model=judge.model, content_hash=self.rubric_hash
        )

    def _not_applicable(self, reason: Reason, detail: str) -> Score:
        judge = self._judge
        return not_applicable(self.name, judge.rubric, reason, detail, model=judge.model, content_hash=self.rubric_hash)


def worth_asking_again(door: Door, calls: Iterable[Call]) -> bool:
    """Whether an unreadable verdict is to be asked for anew: ``calls.retry_failed``, and all of it is an old one.

    The door itself asks again what failed; a reply that came and could not be read is a good one to it.
    """
    return door.retry_failed and all(call.from_ledger for call in calls)


def check_log_probabilities(name: str, judge: Judge, reply: Reply) -> None:
    """Ends the job where the model has refused log probabilities: no further call of this judge could be read."""
    if not {"top_logprobs", "logprobs"}.isdisjoint(reply.call.requested):
        raise JobStopped(
            f"judges.{name}: {judge.model} gives no log probabilities, which scoring={judge.scoring} needs; "
            f"say judges.{name}.scoring=verdict"
        )


async def side_by_side(coroutines: Iterable[Coroutine[Any, Any, Any]]) -> list[Any]:
    """Runs them together. All of them end, since what is on the wire is paid for; then the first error is raised."""
    outcomes = await asyncio.gather(*coroutines, return_exceptions=True)
    for outcome in outcomes:
        if isinstance(outcome, BaseException):
            raise outcome
    return list(outcomes)
