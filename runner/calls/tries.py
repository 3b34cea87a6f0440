"""One try of a call: what goes out, what came of it, and how that is written into the ledger."""

from __future__ import annotations

import json
import time
from collections.abc import Mapping
from dataclasses import dataclass, field
from datetime import UTC, datetime
from decimal import Decimal
from typing import Any

from runner.calls import prices
from runner.calls.asks import Ask, WireReply
from runner.calls.bodies import body_for_wire
from runner.calls.capabilities import Capabilities
from runner.calls.keys import canonical_json
from runner.calls.ledger import Attempt
from runner.calls.purse import Hold
from runner.calls.redaction import Redactor
from runner.calls.replies import read_reply
from runner.calls.retries import Kind, Outcome
from runner.config.schema import Calls, Price
from runner.records import Reason, Usage

_NOTHING = Decimal(0)
_ASKED_AGAIN = (408, 409, 425, 429)
"""Besides 5xx: answers of a moment, never replayed."""


@dataclass(frozen=True, slots=True)
class Rules:
    """What holds for all calls of a door."""

    settings: Calls
    overrides: tuple[Price, ...]
    metadata: Mapping[str, str]
    sweep: str
    offline: bool = False
    """No call is made; what the ledger does not hold raises NotInLedger."""


@dataclass(frozen=True, slots=True)
class Sent:
    """What goes out."""

    content: bytes
    """JSON in UTF-8: no tokenizer makes more tokens of it than it has bytes."""
    changes: str
    """JSON: how it differs from what was meant."""
    limit: int | None
    """Output tokens."""

    @property
    def size(self) -> int:
        """Bytes."""
        return len(self.content)


@dataclass(slots=True)
class Try:
    """One try, from its preparation to its end."""

    ask: Ask
    number: int
    sent: Sent
    hold: Hold
    doubled: bool
    """Whether the limit is twice the one that was meant."""
    started_at: datetime | None = None
    """``None`` until the request went out."""
    _clock: float = field(default=0.0, repr=False)

    def start(self) -> None:
        self.started_at = datetime.now(UTC)
        self._clock = time.monotonic()

    @property
    def latency_s(self) -> float:
        return round(time.monotonic() - self._clock, 6)


@dataclass(frozen=True, slots=True)
class Result:
    """What came of one try."""

    outcome: Outcome
    reply: WireReply | None
    told: Any
    """The parsed body."""
    usage: Usage | None
    latency_s: float


def prepare(ask: Ask, limit: int | None, metadata: Mapping[str, str], capabilities: Capabilities) -> Sent:
    """What goes out for a request: a user's own as it is, ours as the model takes it."""
    body, changes = ask.body, "{}"
    if ask.adaptable and limit is not None:
        wanted = body_for_wire(ask.body, limit=limit, metadata=metadata, path=ask.path)
        body, left_out = capabilities.adapt(ask.endpoint.provider, ask.model, wanted, server=ask.endpoint.base_url)
        differs: dict[str, Any] = {}
        if left_out:
            differs["left_out"] = left_out
        if limit != ask.limit:
            differs["limit"] = limit
        if differs:
            changes = json.dumps(differs, sort_keys=True)
    return Sent(_json_bytes(body), changes, limit)


def _json_bytes(body: Mapping[str, Any]) -> bytes:
    try:
        return json.dumps(body, ensure_ascii=False).encode()
    except UnicodeEncodeError:  # half of a surrogate pair, which JSON can escape and UTF-8 cannot hold
        return json.dumps(body).encode()


def request_row(ask: Ask) -> dict[str, Any]:
    """The ledger's row of a request."""
    return {
        "key": ask.key,
        "identity": ask.endpoint.identity,
        "path": ask.path,
        "body": canonical_json(ask.body),
        "repeat_index": ask.repeat,
        "reask_index": ask.reask,
        "occurrence_index": ask.occurrence,
        "asked_at": datetime.now(UTC).isoformat(timespec="microseconds"),
    }


class Scribe:
    """Writes down what came of a try."""

    def __init__(self, rules: Rules, redactor: Redactor) -> None:
        self._rules = rules
        self._redactor = redactor

    def received(self, one: Try, result: Result, *, will_adapt: bool) -> Attempt:
        """A try that came to its end. ``will_adapt``: it is going to be made again without the refused parameter."""
        ask, outcome, reply = one.ask, result.outcome, result.reply
        status, detail, model = outcome.reason, outcome.detail, _model_of(result.told)
        if outcome.kind is Kind.OK:
            status, detail = "ok", ""
            if ask.api in ("chat", "responses") and ask.adaptable:
                reading = read_reply(ask.api, result.told)
                status, detail = reading.reason or "ok", reading.detail
            replayed = not (status == Reason.TRUNCATED and ask.adaptable and not one.doubled)
        else:
            lasting = reply is not None and reply.status < 500 and reply.status not in _ASKED_AGAIN
            replayed = lasting and outcome.kind in (Kind.FAIL, Kind.DROP_PARAMETER) and not will_adapt
            if replayed and one.doubled:
                # What the call came to is the cut reply before this try.
                status, detail = Reason.TRUNCATED, f"the reply was cut off, and twice the limit was refused: {detail}"
        unpriced = result.usage is None
        return self._attempt(
            one,
            status=status,
            detail=detail,
            model=model,
            reply=reply,
            usage=result.usage,
            latency_s=result.latency_s,
            replayed=replayed and ask.replayable,
            possibly_paid=unpriced and (outcome.possibly_paid or outcome.kind is Kind.OK),
        )

    def given_up(self, one: Try, reason: str) -> Attempt:
        """A try whose answer nobody waits for any more."""
        return self._unanswered(one, reason, "the call was given up before its answer came", one.latency_s)

    def going_out(self, one: Try) -> Attempt:
        """What is to be known of a try whose process dies while it is on the wire."""
        return self._unanswered(one, Reason.INTERRUPTED, "the process ended before the answer came", 0.0)

    def _unanswered(self, one: Try, status: str, detail: str, latency_s: float) -> Attempt:
        return self._attempt(
            one,
            status=status,
            detail=detail,
            model="",
            reply=None,
            usage=None,
            latency_s=latency_s,
            replayed=False,
            possibly_paid=True,
        )

    def _attempt(
        self,
        one: Try,
        *,
        status: str,
        detail: str,
        model: str,
        reply: WireReply | None,
        usage: Usage | None,
        latency_s: float,
        replayed: bool,
        possibly_paid: bool,
    ) -> Attempt:
        ask, started_at = one.ask, one.started_at or datetime.now(UTC)
        model = model or ask.model
        priced = prices.Priced(None, None, None, "")
        if usage is not None:
            priced = prices.price(
                ask.endpoint.provider,
                model,
                usage,
                at=started_at,
                overrides=self._rules.overrides,
                asked=ask.model,
            )
        # A reply that is not replayed (vectors) is kept elsewhere; what a failure said is always kept.
        kept = reply if reply is not None and (ask.replayable or reply.status != 200) else None
        return Attempt(
            key=ask.key,
            number=one.number,
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
            model=model,
            usage=usage,
            input_cost=priced.input_cost,
            output_cost=priced.output_cost,
            total_cost=priced.total_cost,
            worst_case=one.hold.worst,
            price_source=priced.source,
            started_at=started_at.isoformat(timespec="microseconds"),
            latency_s=latency_s,
            request_bytes=one.sent.size,
            sent=one.sent.changes,
            provider_request_id="" if reply is None else str(reply.headers.get("x-request-id") or "")[:200],
            detail=self._redactor.text(detail),
            response=None if kept is None else self._redactor.body(kept.body),
        )


def cost_of(attempt: Attempt) -> Decimal | None:
    """What an attempt counts against the cap; ``None``: its worst case."""
    if attempt.usage is not None:
        return attempt.total_cost
    return None if attempt.possibly_paid else _NOTHING


def _model_of(told: Any) -> str:
    model = told.get("model") if isinstance(told, Mapping) else None
    return model if isinstance(model, str) else ""
