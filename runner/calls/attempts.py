"""The attempts of one call: the one owner of retries. Each is a row of the ledger, on disk, before anybody sees it."""

from __future__ import annotations

import asyncio
import random
from dataclasses import dataclass
from datetime import UTC, datetime
from decimal import Decimal
from typing import Any

from runner.calls import retries
from runner.calls.asks import Ask, Landed, WireReply
from runner.calls.capabilities import Capabilities
from runner.calls.events import summary_of
from runner.calls.flights import Flight, Flights, fresh
from runner.calls.ledger import Attempt, Found, Ledger
from runner.calls.limits import Limiter, Limiters
from runner.calls.purse import Purse
from runner.calls.redaction import Redactor
from runner.calls.replies import parsed
from runner.calls.requests import ModelEndpoint
from runner.calls.retries import Kind, Outcome
from runner.calls.totals import Totals
from runner.calls.tries import Result, Rules, Scribe, Try, cost_of, prepare, request_row
from runner.calls.usage import usage_of
from runner.errors import JobStopped, RunnerError, StorageError, SweepStopped
from runner.records import Reason

_MOST_DROPPED = 6
"""So many parameters may be refused one after the other before the call counts as failed."""

_RETRIES_OF_THE_ILLEGIBLE = 1
"""An answer that is no JSON may have been paid for, and the next one will hardly be any better."""

_EMBEDDED_CONCURRENCY = 1
"""An embedded server takes one request after the other; what waits should not use up its attempt's time."""

_NOTHING = Decimal(0)


@dataclass(slots=True)
class _Plan:
    """How the next try of a flight is made."""

    number: int
    doubled: bool
    retried: int = 0
    dropped: int = 0


class Attempts:
    """Makes the attempts of flights."""

    def __init__(
        self,
        rules: Rules,
        ledger: Ledger,
        purse: Purse,
        redactor: Redactor,
        totals: Totals,
        *,
        capabilities: Capabilities,
    ) -> None:
        self._rules = rules
        self._ledger = ledger
        self._purse = purse
        self._totals = totals
        self._limiters = Limiters(rules.settings.concurrency)
        self._local_limiters = Limiters(_EMBEDDED_CONCURRENCY)
        self._capabilities = capabilities
        self._scribe = Scribe(rules, redactor)
        self._random = random.Random()
        self._unknown_models: dict[tuple[str, str], str] = {}
        self.flights = Flights(ledger, rules.sweep, self.make)

    async def make(self, flight: Flight) -> Landed:
        """Ask until there is an answer, or no more sense in asking. Raises what ends the job or the sweep."""
        plan = _Plan(number=len(flight.found), doubled=_was_cut(flight.found) and flight.ask.adaptable)
        landed = False
        try:
            while True:
                self._check(flight.ask)
                plan.number += 1
                result, attempt, wait_s = await self._try(flight, plan)
                if wait_s is None:
                    landed = True
                    return self._end(flight, result, attempt)
                await asyncio.sleep(wait_s)
        finally:
            if not landed and self._ledger.failed is None:
                self._ledger.land_soon(None, None, release=flight.ask.key)

    def _check(self, ask: Ask) -> None:
        if self.flights.stopped is not None:
            raise fresh(self.flights.stopped)
        unknown = self._unknown_models.get((ask.endpoint.base_url, ask.model))
        if unknown is not None:
            raise JobStopped(unknown)

    async def _try(self, flight: Flight, plan: _Plan) -> tuple[Result, Attempt, float | None]:
        """One try: money set aside, a place among the calls under way, the request, its row on disk.

        Returns with it the seconds until the next try; ``None``: there is none, and the claim is given back.
        """
        ask = flight.ask
        limit = ask.limit * 2 if plan.doubled and ask.limit is not None else ask.limit
        refused = self._refused(ask)
        sent = prepare(ask, limit, self._rules.metadata, self._capabilities)
        await ask.wire.ready()
        local = ask.endpoint.provider == "embedded"
        limiter = (self._local_limiters if local else self._limiters).for_model(ask.endpoint, ask.model)
        hold = await self._purse.hold(
            ask.endpoint.provider, ask.model, input_bytes=sent.size, limit=sent.limit, at=datetime.now(UTC)
        )
        one = Try(ask, plan.number, sent, hold, plan.doubled)
        attempt: Attempt | None = None
        try:
            # About four bytes make a token; what is reserved of the minute is put right afterwards.
            async with limiter.slot(sent.size // 4 + (sent.limit or 0)) as slot:
                self._check(ask)
                if self._refused(ask) != refused:
                    # Learned from another call while this one waited for its place.
                    one.sent = prepare(ask, limit, self._rules.metadata, self._capabilities)
                self._start(one)
                flight.on_wire = True
                result = await self._send(one)
                if result.usage is not None:
                    slot.used(result.usage.input_tokens + result.usage.output_tokens)
                _tell(limiter, result)
                attempt = self._scribe.received(one, result, will_adapt=self._will_adapt(plan, ask, result.outcome))
                self._end_others(ask, result.outcome, attempt)
                wait_s = self._wait_for_next(flight, plan, result.outcome, attempt)
                self._note(flight, attempt)
                self._purse.settle(hold, cost_of(attempt))
                # The place is kept until the reply is on disk: whenever the process is killed, no more than the
                # allowed number of calls can have been paid for in vain.
                await self._ledger.land(attempt, _first_row(flight, attempt), release=wait_s is None)
            return result, attempt, wait_s
        except asyncio.CancelledError:
            if attempt is None:
                self._give_up(flight, one)
            raise
        finally:
            flight.on_wire = False
            self._purse.settle(hold, _NOTHING if one.started_at is None else None)

    def refused(self, endpoint: ModelEndpoint, model: str) -> frozenset[str]:
        """The parameters that this model refuses, as far as that is known by now."""
        return self._capabilities.refused(endpoint.provider, model, server=endpoint.base_url)

    def _refused(self, ask: Ask) -> frozenset[str]:
        return self.refused(ask.endpoint, ask.model)

    def _start(self, one: Try) -> None:
        one.start()
        try:
            self._ledger.going_out(self._scribe.going_out(one))
        except StorageError:
            one.started_at = None  # so nothing goes out
            raise

    async def _send(self, one: Try) -> Result:
        ask = one.ask
        try:
            async with asyncio.timeout(self._rules.settings.attempt_timeout_s):
                reply = await ask.wire.send(ask.path, one.sent.content)
        except Exception as error:
            if isinstance(error, RunnerError):
                raise
            outcome = retries.classify(
                error=error, model=ask.model, api_key_env=ask.endpoint.api_key_env, base_url=ask.endpoint.base_url
            )
            return Result(outcome, None, None, None, one.latency_s)
        latency_s = one.latency_s
        streamed = not ask.adaptable and ask.body.get("stream") is True and reply.status == 200
        told = summary_of(reply.body) if streamed else parsed(reply.body)
        outcome = retries.OK if streamed else self._judge(ask, reply, told)
        return Result(outcome, reply, told, usage_of(ask.api, told), latency_s)

    @staticmethod
    def _judge(ask: Ask, reply: WireReply, told: Any) -> Outcome:
        if 200 <= reply.status < 300 and not ask.api:
            return retries.OK  # what a user's own request of another kind is answered with need not be JSON
        return retries.classify(
            reply.status,
            reply.headers,
            reply.body,
            told=told,
            model=ask.model,
            api_key_env=ask.endpoint.api_key_env,
            base_url=ask.endpoint.base_url,
        )

    # --- what it means -------------------------------------------------------------------------------------------

    def _wait_for_next(self, flight: Flight, plan: _Plan, outcome: Outcome, attempt: Attempt) -> float | None:
        """Seconds to wait before the next try; ``None``: there is none."""
        ask = flight.ask
        if self.flights.stopped is not None:
            return None
        if self._will_adapt(plan, ask, outcome):
            plan.dropped += 1
            self._capabilities.refuse(ask.endpoint.provider, ask.model, outcome.parameter, server=ask.endpoint.base_url)
            return 0.0
        if flight.abandoned:
            return None
        if outcome.kind is Kind.OK and attempt.status == Reason.TRUNCATED and not attempt.replayed:
            plan.doubled = True
            return 0.0
        retries_allowed = self._rules.settings.retries
        if outcome.reason == Reason.MALFORMED:
            retries_allowed = min(retries_allowed, _RETRIES_OF_THE_ILLEGIBLE)
        if outcome.kind is Kind.RETRY and plan.retried < retries_allowed:
            plan.retried += 1
            return retries.backoff(plan.retried - 1, outcome, self._random)
        return None

    @staticmethod
    def _will_adapt(plan: _Plan, ask: Ask, outcome: Outcome) -> bool:
        return outcome.kind is Kind.DROP_PARAMETER and ask.adaptable and plan.dropped < _MOST_DROPPED

    def _end(self, flight: Flight, result: Result, attempt: Attempt) -> Landed:
        kind = result.outcome.kind
        if kind is Kind.STOP_SWEEP:
            raise SweepStopped(attempt.detail)
        if kind is Kind.STOP_JOB:
            raise JobStopped(attempt.detail)
        body = None if result.reply is None else result.reply.body
        if attempt.replayed or (kind is Kind.OK and not flight.ask.replayable):
            return flight.so_far("", "", body)
        return flight.so_far(attempt.status, attempt.detail, body)

    def _end_others(self, ask: Ask, outcome: Outcome, attempt: Attempt) -> None:
        """What ends the sweep or the job ends it now: while the row goes to the disk, nobody else is let out."""
        if outcome.kind is Kind.STOP_SWEEP:
            self.flights.stop(SweepStopped(attempt.detail))
        elif outcome.kind is Kind.STOP_JOB:
            self._unknown_models[ask.endpoint.base_url, ask.model] = attempt.detail

    def _note(self, flight: Flight, attempt: Attempt) -> None:
        flight.new.append(attempt)
        self._totals.add_attempt(attempt)

    def _give_up(self, flight: Flight, one: Try) -> None:
        """The flight is being cancelled; where the request is out, nobody will read its answer."""
        if one.started_at is None or self._ledger.failed is not None:
            return
        attempt = self._scribe.given_up(one, flight.cancelled_for)
        self._note(flight, attempt)
        self._ledger.land_soon(attempt, _first_row(flight, attempt), release=None)


def _tell(limiter: Limiter, result: Result) -> None:
    """Let the limiter know how the server took a request."""
    if result.reply is not None:
        limiter.learn(result.reply.headers)
    if result.outcome.slow_down:
        limiter.slowed(result.outcome.retry_after_s)
    elif result.outcome.kind is Kind.OK:
        limiter.recovered()


def _first_row(flight: Flight, attempt: Attempt) -> dict[str, object] | None:
    """The request goes with the first attempt of each flight: of an earlier one, killed, there may be no more than
    the attempts."""
    return request_row(flight.ask) if attempt is flight.new[0] else None


def _was_cut(found: Found) -> bool:
    """An earlier launch got a truncated reply, and its try at twice the limit never came to an end."""
    return any(attempt.status == Reason.TRUNCATED and not attempt.replayed for attempt in found)
