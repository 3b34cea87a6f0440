"""The attempts of one call: the one owner of retries. Each ends as a row of the ledger before anybody sees it."""

from __future__ import annotations

import asyncio
import json
import random
import time
from collections.abc import Mapping
from dataclasses import dataclass
from datetime import UTC, datetime
from decimal import Decimal
from typing import Any

from runner.calls import prices, retries
from runner.calls.asks import Ask, Landed, WireReply
from runner.calls.bodies import body_for_wire
from runner.calls.capabilities import Capabilities
from runner.calls.flights import Flight, Flights
from runner.calls.keys import canonical_json
from runner.calls.ledger import Attempt, Ledger, now
from runner.calls.limits import Limiters
from runner.calls.purse import DEFAULT_OUTPUT_LIMIT, Hold, Purse
from runner.calls.replies import parsed, read_reply
from runner.calls.retries import Kind, Outcome
from runner.calls.redaction import Redactor
from runner.calls.usage import usage_of
from runner.config.schema import Calls, Price
from runner.errors import JobStopped, RunnerError, SweepStopped
from runner.records import Reason, Usage

_MOST_DROPPED = 6
"""So many parameters may be refused one after the other before the call counts as failed."""

_NOTHING = Decimal(0)


@dataclass(frozen=True, slots=True)
class Rules:
    """What holds for all calls of a door."""

    settings: Calls
    overrides: tuple[Price, ...]
    metadata: Mapping[str, str]
    sweep: str
    offline: bool = False
    """No call is made; what the ledger does not hold raises NotInLedger."""


@dataclass(slots=True)
class _Plan:
    """How the next attempt of a flight is made."""

    limit: int | None
    number: int
    retried: int = 0
    dropped: int = 0


@dataclass(frozen=True, slots=True)
class _Sent:
    """What went out."""

    body: Mapping[str, Any]
    size: int
    changes: str
    limit: int | None


@dataclass(frozen=True, slots=True)
class _Result:
    """What came of one attempt."""

    outcome: Outcome
    reply: WireReply | None
    told: Any
    started_at: datetime
    latency_s: float


class Attempts:
    """Makes the attempts of flights."""

    def __init__(
        self, rules: Rules, ledger: Ledger, limiters: Limiters, purse: Purse, capabilities: Capabilities,
        redactor: Redactor,
    ) -> None:  # fmt: skip
        self._rules = rules
        self._ledger = ledger
        self._limiters = limiters
        self._purse = purse
        self._capabilities = capabilities
        self._redactor = redactor
        self._random = random.Random()
        self._unknown_models: dict[tuple[str, str], str] = {}
        self.flights: Flights | None = None

    async def make(self, flight: Flight) -> Landed:
        """Ask until there is an answer or no more sense in asking. Raises what ends the job or the sweep."""
        ask = flight.ask
        plan = _Plan(ask.limit, len(flight.found))
        if _cut_short(flight.found) and ask.adaptable and ask.limit is not None:
            plan.limit = ask.limit * 2
        landed = False
        try:
            while True:
                self._check(ask)
                plan.number += 1
                result, attempt, hold = await self._attempt(flight, plan)
                go_on, wait_s = self._next(flight, plan, result, attempt)
                if self.flights is not None and self.flights.stopped is not None:
                    go_on = False
                flight.new.append(attempt)
                await self._land(ask, attempt, hold, release=not go_on)
                if not go_on:
                    landed = True
                    return self._end(flight, result, attempt)
                if wait_s:
                    await asyncio.sleep(wait_s)
        finally:
            if not landed:
                self._give_back(ask)

    def _check(self, ask: Ask) -> None:
        if self.flights is not None and self.flights.stopped is not None:
            raise self.flights.stopped
        unknown = self._unknown_models.get((ask.endpoint.base_url, ask.model))
        if unknown is not None:
            raise JobStopped(unknown)

    # --- one attempt -------------------------------------------------------------------------------------------

    async def _attempt(self, flight: Flight, plan: _Plan) -> tuple[_Result, Attempt, Hold]:
        ask = flight.ask
        sent = self._prepare(ask, plan)
        limiter = self._limiters.for_model(ask.endpoint, ask.model)
        hold = await self._purse.hold(
            ask.endpoint.provider, ask.model, input_bytes=sent.size, limit=sent.limit, at=datetime.now(UTC)
        )
        result: _Result | None = None
        started: tuple[datetime, float] | None = None
        try:
            async with limiter.slot(sent.size // 4 + (sent.limit or 0)) as slot:
                self._check(ask)
                started = (datetime.now(UTC), time.monotonic())
                flight.on_wire = True
                try:
                    result = await self._send(ask, sent, started)
                finally:
                    flight.on_wire = False
                usage = usage_of(ask.api, result.told) if result.reply is not None else None
                if usage is not None:
                    slot.used(usage.input_tokens + usage.output_tokens)
            if result.reply is not None:
                limiter.learn(result.reply.headers)
            if result.outcome.slow_down:
                limiter.slowed(result.outcome.retry_after_s)
            elif result.outcome.kind is Kind.OK:
                limiter.recovered()
            return result, self._row(flight, plan, sent, result, usage, hold), hold
        except asyncio.CancelledError:
            self._given_up(flight, plan, sent, hold, started)
            raise
        finally:
            if result is None:
                self._purse.settle(hold, _NOTHING if started is None else None)

    def _prepare(self, ask: Ask, plan: _Plan) -> _Sent:
        if not ask.adaptable or plan.limit is None:
            return _Sent(ask.body, len(canonical_json(ask.body)), "{}", ask.limit)
        wanted = body_for_wire(ask.body, limit=plan.limit, metadata=self._rules.metadata, path=ask.path)
        body, left_out = self._capabilities.adapt(
            ask.endpoint.provider, ask.model, wanted, server=ask.endpoint.base_url
        )
        changes: dict[str, Any] = {}
        if left_out:
            changes["left_out"] = left_out
        if plan.limit != ask.limit:
            changes["limit"] = plan.limit
        size = len(json.dumps(body, ensure_ascii=False).encode("utf-8", "surrogatepass"))
        return _Sent(body, size, json.dumps(changes, sort_keys=True) if changes else "{}", plan.limit)

    async def _send(self, ask: Ask, sent: _Sent, started: tuple[datetime, float]) -> _Result:
        reply: WireReply | None = None
        told: Any = None
        try:
            async with asyncio.timeout(self._rules.settings.attempt_timeout_s):
                reply = await ask.wire.send(ask.path, sent.body)
        except Exception as error:
            if isinstance(error, RunnerError):
                raise
            outcome = retries.classify(
                error=error, model=ask.model, api_key_env=ask.endpoint.api_key_env, base_url=ask.endpoint.base_url
            )
        else:
            told = parsed(reply.body)
            outcome = self._judge(ask, reply)
        return _Result(outcome, reply, told, started[0], round(time.monotonic() - started[1], 6))

    @staticmethod
    def _judge(ask: Ask, reply: WireReply) -> Outcome:
        if reply.status == 200 and not ask.adaptable and "json" not in reply.headers.get("content-type", "json"):
            return retries.OK  # a stream of events, or whatever a user's own request is answered with
        return retries.classify(
            reply.status, reply.headers, reply.body,
            model=ask.model, api_key_env=ask.endpoint.api_key_env, base_url=ask.endpoint.base_url,
        )  # fmt: skip

    # --- what it means -----------------------------------------------------------------------------------------

    def _next(self, flight: Flight, plan: _Plan, result: _Result, attempt: Attempt) -> tuple[bool, float]:
        """Whether to make another attempt, and after how many seconds."""
        ask, outcome = flight.ask, result.outcome
        if outcome.kind is Kind.OK:
            if attempt.status == Reason.TRUNCATED and not attempt.replayed:
                plan.limit = (ask.limit or 0) * 2
                return not flight.abandoned, 0.0
            return False, 0.0
        if outcome.kind is Kind.DROP_PARAMETER and ask.adaptable and plan.dropped < _MOST_DROPPED:
            plan.dropped += 1
            self._capabilities.refuse(
                ask.endpoint.provider, ask.model, outcome.parameter, server=ask.endpoint.base_url
            )
            return True, 0.0
        if outcome.kind is Kind.RETRY and plan.retried < self._rules.settings.retries and not flight.abandoned:
            wait_s = retries.backoff(plan.retried, outcome, self._random)
            plan.retried += 1
            return True, wait_s
        return False, 0.0

    def _end(self, flight: Flight, result: _Result, attempt: Attempt) -> Landed:
        outcome = result.outcome
        if outcome.kind is Kind.STOP_SWEEP:
            stopped = SweepStopped(attempt.detail)
            if self.flights is not None:
                self.flights.stop(stopped)
            raise stopped
        if outcome.kind is Kind.STOP_JOB:
            self._unknown_models[flight.ask.endpoint.base_url, flight.ask.model] = attempt.detail
            raise JobStopped(attempt.detail)
        reason = "" if attempt.replayed else attempt.status
        return flight.so_far(reason, "" if attempt.replayed else attempt.detail)

    # --- the ledger --------------------------------------------------------------------------------------------

    def _row(
        self, flight: Flight, plan: _Plan, sent: _Sent, result: _Result, usage: Usage | None, hold: Hold
    ) -> Attempt:
        ask, outcome, reply = flight.ask, result.outcome, result.reply
        status, detail, model = outcome.reason, outcome.detail, ""
        replayed = outcome.kind in (Kind.FAIL, Kind.DROP_PARAMETER) and reply is not None
        if outcome.kind is Kind.DROP_PARAMETER and ask.adaptable and plan.dropped < _MOST_DROPPED:
            replayed = False
        if reply is not None and reply.status in (429, 408, 409) or reply is not None and reply.status >= 500:
            replayed = False
        if outcome.kind is Kind.OK:
            status, detail, replayed = "ok", "", True
            if ask.api in ("chat", "responses") and ask.adaptable:
                reading = read_reply(ask.api, result.told)
                status, detail, model = reading.reason or "ok", reading.detail, reading.model
            elif isinstance(result.told, Mapping) and isinstance(result.told.get("model"), str):
                model = result.told["model"]
            if status == Reason.TRUNCATED and ask.adaptable and plan.limit == ask.limit:
                replayed = False
        return self._make_row(
            flight, plan, sent, hold, status=status, detail=detail, model=model, usage=usage, reply=reply,
            replayed=replayed and ask.replayable, started_at=result.started_at, latency_s=result.latency_s,
            possibly_paid=usage is None and (outcome.possibly_paid or outcome.kind is Kind.OK),
        )  # fmt: skip

    def _make_row(
        self, flight: Flight, plan: _Plan, sent: _Sent, hold: Hold, *, status: str, detail: str, model: str,
        usage: Usage | None, reply: WireReply | None, replayed: bool, started_at: datetime, latency_s: float,
        possibly_paid: bool,
    ) -> Attempt:  # fmt: skip
        ask = flight.ask
        priced = prices.Priced(None, None, None, "")
        if usage is not None:
            priced = prices.price(
                ask.endpoint.provider, model or ask.model, usage,
                at=started_at, overrides=self._rules.overrides, asked=ask.model,
            )  # fmt: skip
        keep = reply is not None and (ask.replayable or reply.status != 200)
        return Attempt(
            key=ask.key,
            number=plan.number,
            status=status,
            replayed=replayed,
            possibly_paid=possibly_paid,
            http_status=None if reply is None else reply.status,
            stage=ask.context.stage,
            run=ask.context.run,
            question=ask.context.question,
            sweep=self._rules.sweep,
            provider=ask.endpoint.provider,
            asked_model=ask.model,
            model=model or ask.model,
            usage=usage,
            input_cost=priced.input_cost,
            output_cost=priced.output_cost,
            total_cost=priced.total_cost,
            worst_case=hold.worst,
            price_source=priced.source,
            started_at=started_at.isoformat(timespec="microseconds"),
            latency_s=latency_s,
            request_bytes=sent.size,
            sent=sent.changes,
            provider_request_id="" if reply is None else str(reply.headers.get("x-request-id") or "")[:200],
            detail=self._redactor.text(detail),
            response=self._redactor.body(reply.body) if keep and reply is not None else None,
        )

    async def _land(self, ask: Ask, attempt: Attempt, hold: Hold, *, release: bool) -> None:
        if attempt.usage is not None:
            cost = attempt.total_cost
        else:
            cost = None if attempt.possibly_paid else _NOTHING
        self._purse.settle(hold, cost)
        await self._ledger.land(attempt, self._request_row(ask) if attempt.number == 1 else None, release=release)

    def _given_up(
        self, flight: Flight, plan: _Plan, sent: _Sent, hold: Hold, started: tuple[datetime, float] | None
    ) -> None:
        """The flight is being cancelled while a request may be under way: nobody will read its answer."""
        if started is None or self._ledger.failed is not None:
            return
        detail = "the call was given up before its answer came"
        attempt = self._make_row(
            flight, plan, sent, hold, status=flight.cancelled_for, detail=detail, model="", usage=None, reply=None,
            replayed=False, started_at=started[0], latency_s=round(time.monotonic() - started[1], 6),
            possibly_paid=True,
        )  # fmt: skip
        flight.new.append(attempt)
        self._ledger.land_soon(
            attempt, self._request_row(flight.ask) if attempt.number == 1 else None, release=flight.ask.key
        )

    def _give_back(self, ask: Ask) -> None:
        if self._ledger.failed is None:
            self._ledger.land_soon(None, None, release=ask.key)

    @staticmethod
    def _request_row(ask: Ask) -> dict[str, Any]:
        return {
            "key": ask.key,
            "identity": ask.endpoint.identity,
            "path": ask.path,
            "body": canonical_json(ask.body),
            "repeat_index": ask.repeat,
            "reask_index": ask.reask,
            "occurrence_index": ask.occurrence,
            "asked_at": now(),
        }


def _cut_short(found: tuple[Attempt, ...]) -> bool:
    """The first reply was truncated, and the attempt at twice the limit never came to an end."""
    return any(attempt.status == Reason.TRUNCATED and not attempt.replayed for attempt in found)


__all__ = ["DEFAULT_OUTPUT_LIMIT", "Attempts", "Rules"]
