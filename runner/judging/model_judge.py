"""A judge that is a model: asks with the rubric, reads the reply, asks once more where it cannot be read."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

from runner.calls import calling
from runner.calls.requests import ChatRequest, Reply
from runner.config.schema import Judge
from runner.judging.asking import AskingJudge, check_log_probabilities, side_by_side, worth_asking_again
from runner.judging.inputs import Missing, gather
from runner.judging.modes import Mode, ProbabilityWeighted, StatedVerdict
from runner.judging.prompts import judge_messages, reask_messages
from runner.judging.replies import Unreadable
from runner.judging.schemas import reply_schema
from runner.records import Answer, Question, Retrieved, Score, Stage, Verdict, VerdictStatus

if TYPE_CHECKING:
    from runner.calls import Door


class ModelJudge(AskingJudge):
    """Scores answers by one rubric with one model; ``repeats`` independent verdicts come down to one score."""

    def __init__(self, name: str, judge: Judge, door: Door) -> None:
        super().__init__(name, judge, door)
        self._mode: Mode = ProbabilityWeighted() if judge.scoring == "probability" else StatedVerdict()

    def requests(self, question: Question, retrieved: tuple[Retrieved, ...], answer: Answer) -> tuple[ChatRequest, ...]:
        """What the model would be asked about this answer, without any re-ask; nothing is sent."""
        inputs = gather(self._judge.rubric, question, retrieved, answer)
        if isinstance(inputs, Missing):
            return ()
        judge = self._judge
        first = ChatRequest(
            endpoint=self._endpoint,
            model=judge.model,
            messages=judge_messages(judge.rubric, inputs.texts, reasoning=self._mode.reasoning),
            max_tokens=judge.max_tokens,
            temperature=judge.temperature,
            schema_name=f"{judge.rubric.id}_verdict".replace(".", "_")[:64],
            schema=reply_schema(judge.rubric.scale, reasoning=self._mode.reasoning),
            top_logprobs=self._mode.top_logprobs,
        )
        return tuple(replace(first, repeat=repeat) for repeat in range(judge.repeats))

    async def score(self, question: Question, retrieved: tuple[Retrieved, ...], answer: Answer) -> Score:
        """The score of one answer; failures are in its status. Only errors that end the run are raised."""
        inputs = gather(self._judge.rubric, question, retrieved, answer)
        if isinstance(inputs, Missing):
            return self._not_applicable(inputs.reason, inputs.detail)
        with calling(stage=Stage.JUDGE):
            verdicts = await side_by_side(
                self._verdict(request) for request in self.requests(question, retrieved, answer)
            )
        return self._combined(verdicts)

    async def _verdict(self, request: ChatRequest) -> Verdict:
        verdict, unreadable = await self._asked(request, again=False)
        if unreadable and worth_asking_again(self._door, verdict.calls):
            verdict, _ = await self._asked(request, again=True)
        return verdict

    async def _asked(self, request: ChatRequest, *, again: bool) -> tuple[Verdict, Unreadable | None]:
        """The verdict, with one further question where the reply cannot be read; the problem where that did not help.

        ``again``: ask the model although the ledger has its replies.
        """
        first = await self._door.chat(request, again=again)
        verdict, problem = self._read(request, (first,))
        if problem is None:
            return verdict, None
        reask = replace(request, messages=reask_messages(request.messages, first.text, problem.detail), reask=1)
        second = await self._door.chat(reask, again=again)
        return self._read(request, (first, second))

    def _read(self, request: ChatRequest, replies: tuple[Reply, ...]) -> tuple[Verdict, Unreadable | None]:
        """The verdict of the last reply, and the problem where one more question may help."""
        reply = replies[-1]
        calls = tuple(each.call for each in replies)
        verdict = Verdict(status=VerdictStatus.FAILED, raw=reply.text, repeat=request.repeat, calls=calls)
        if not reply.ok:
            return replace(verdict, reason=reply.reason, detail=reply.detail), None
        check_log_probabilities(self.name, self._judge, reply)
        reading = self._mode.read(self._judge.rubric, reply)
        if isinstance(reading, Unreadable):
            return replace(verdict, reason=reading.reason, detail=reading.detail), reading
        return (
            replace(
                verdict,
                status=VerdictStatus.SCORED,
                score=reading.score,
                label=reading.label,
                reasoning=reading.reasoning,
            ),
            None,
        )
