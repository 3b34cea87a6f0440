"""Everything goes wrong at once, at the real door: each call ends with an answer or a reason, all money is found."""

from __future__ import annotations

import asyncio
import sqlite3
from collections import Counter
from dataclasses import dataclass
from decimal import Decimal
from pathlib import Path
from typing import Any

import pytest

from runner.calls import ChatRequest, Door, Reply, Spent, open_door
from runner.config.schema import Budget, Calls, Endpoint, Price
from runner.errors import BudgetReached, ConfigurationError, JobStopped, SweepStopped
from tests.fakes.model_server import ModelServer, Tokens, fault
from tests.fakes.replies import Shape

GENERATOR, JUDGE = "gpt-4o-mini", "gpt-4o"
RATES = {GENERATOR: (Decimal("0.15e-6"), Decimal("0.60e-6")), JUDGE: (Decimal("2.50e-6"), Decimal("10e-6"))}
QUESTIONS = 100
SEED = 1
"""One with which each fault happens."""
SCHEMA = {
    "type": "object",
    "properties": {"reasoning": {"type": "string"}, "score": {"type": "integer", "enum": [1, 2, 3, 4, 5]}},
    "required": ["reasoning", "score"],
    "additionalProperties": False,
}


@dataclass
class Ended:
    """What became of all calls of one run."""

    replies: list[Reply]
    raised: list[BaseException]
    spent: Spent


def settings(**more: Any) -> Calls:
    return Calls(**({"concurrency": 32, "attempt_timeout_s": 3.0, "retries": 4} | more))


async def question(door: Door, endpoint: Any, number: int) -> list[Reply]:
    """One answer, then two verdicts about it."""
    context = f"Rule {number} says that form {number} is due in week {number}. Everything else is open."
    asked = f"Context:\n{context}\n\nQuestion: When is form {number} due?"
    answer = await door.chat(ChatRequest(endpoint, GENERATOR, ({"role": "user", "content": asked},), 200, 0.0))
    verdicts = []
    for judge in ("grounding", "topicality"):
        prompt = f"Judge the {judge}.\n<context>{context}</context>\n<answer>{answer.text}</answer>"
        request = ChatRequest(
            endpoint, JUDGE, ({"role": "user", "content": prompt},), 300, 0.0, schema_name="verdict", schema=SCHEMA
        )
        verdicts.append(door.chat(request))
    return [answer, *await asyncio.gather(*verdicts)]


def run(
    server: ModelServer, home: Path, calls: Calls | None = None, cap: float | None = None, questions: int = QUESTIONS
) -> Ended:
    async def main() -> Ended:
        async with open_door(calls or settings(), Budget(cap), [], home=home, sweep="one") as door:
            endpoint = door.endpoint(Endpoint(base_url=server.base_url), JUDGE)
            ended = await asyncio.gather(
                *(question(door, endpoint, number) for number in range(questions)), return_exceptions=True
            )
            replies = [reply for part in ended if not isinstance(part, BaseException) for reply in part]
            return Ended(replies, [part for part in ended if isinstance(part, BaseException)], door.spent())

    return asyncio.run(main())


def by_hand(server: ModelServer) -> Decimal:
    """What the server billed for answers that it could deliver, at the published prices."""
    total = Decimal(0)
    for model, (given, made) in RATES.items():
        billed = server.tokens(model)
        total += billed.input * given + billed.output * made
    return total


def attempts(home: Path, columns: str, where: str = "1") -> list[Any]:
    with sqlite3.connect(home / "ledger.db") as connection:
        return connection.execute(f"select {columns} from attempts where {where}").fetchall()


@pytest.fixture(autouse=True)
def key(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("OPENAI_API_KEY", "sk-fake-0123456789abcdef")


@pytest.fixture
def troubled() -> Any:
    """5 % 429, 2 % 500, 1 % cut, 1 % hang, 1 % malformed, and some cached and reasoning tokens."""
    with ModelServer(seed=SEED, shape=Shape(reasoning_tokens=3)) as server:
        server.when(fault("rate_limited", retry_after_ms="20"), probability=0.05)
        server.when("server_error", probability=0.02)
        server.when("cut", probability=0.01)
        server.when("hang", probability=0.01)
        server.when("malformed", probability=0.01, model=JUDGE)
        yield server


def test_every_call_ends_and_every_token_is_found(troubled: ModelServer, home: Path) -> None:
    ended = run(troubled, home)
    assert ended.raised == []
    assert len(ended.replies) == 3 * QUESTIONS
    assert all(reply.ok or (reply.reason and reply.detail) for reply in ended.replies)
    seen = Counter(request.fault for request in troubled.requests)
    assert min(seen[kind] for kind in ("rate_limited", "server_error", "cut", "hang", "malformed")) > 0, seen
    # Every request that reached the server is a row; nothing was asked twice that had an answer.
    assert len(attempts(home, "number")) == troubled.count()
    lost = troubled.count(fault="cut") + troubled.count(fault="hang")
    refused = troubled.count(fault="rate_limited") + troubled.count(fault="server_error")
    assert troubled.count() == troubled.unique() + lost + refused
    assert len(attempts(home, "worst_case", "possibly_paid")) == lost
    # Tokens and money, to the last digit.
    billed = troubled.tokens()
    assert Tokens(ended.spent.usage.input_tokens, ended.spent.usage.output_tokens) == billed
    assert ended.spent.new_cost == by_hand(troubled) == sum(reply.call.new_cost or 0 for reply in ended.replies)
    assert ended.spent.possibly_paid == sum(
        Decimal(worst) for (worst,) in attempts(home, "worst_case", "possibly_paid")
    )
    assert ended.spent.possibly_paid > 0


def test_the_same_again_costs_nothing_and_says_the_same(troubled: ModelServer, home: Path) -> None:
    first = run(troubled, home, questions=30)
    made = troubled.count()
    # A call that failed for good (all retries used up) is asked again; the others are not.
    failed = [reply for reply in first.replies if reply.reason in ("timeout", "connection", "http_429", "http_500")]
    again = run(troubled, home, questions=30)
    assert failed or troubled.count() == made
    if not failed:
        assert [(r.text, r.reason, r.call.total_cost) for r in again.replies] == [
            (r.text, r.reason, r.call.total_cost) for r in first.replies
        ]
        assert again.spent.new_cost == 0
        assert again.spent.total_cost == first.spent.total_cost
        assert {reply.call.from_ledger for reply in again.replies} == {True}


def test_a_server_that_always_fails_costs_nothing_and_says_why(home: Path) -> None:
    with ModelServer() as server:
        server.when(fault("server_error", headers={"retry-after-ms": "1"}))
        ended = run(server, home, settings(retries=2), questions=3)
        assert {reply.reason for reply in ended.replies} == {"http_500"}
        assert {reply.call.attempts for reply in ended.replies} == {3}
        assert (ended.spent.new_cost, ended.spent.possibly_paid, server.tokens()) == (0, 0, Tokens(0, 0))


def test_a_hung_call_costs_its_own_deadline_and_holds_nothing_up(home: Path) -> None:
    with ModelServer() as server:
        server.when("hang", contains="form 7 is due")
        ended = run(server, home, settings(attempt_timeout_s=3.0, retries=0), questions=12)
    failed = [reply for reply in ended.replies if not reply.ok]
    assert {reply.reason for reply in failed} == {"timeout"}
    assert len(failed) == 3
    assert max(reply.call.latency_s for reply in ended.replies if reply.ok) < 3.0


@pytest.mark.parametrize(("kind", "word"), [("insufficient_quota", "credit"), ("unauthorized", "OPENAI_API_KEY")])
def test_no_quota_and_a_bad_key_stop_the_sweep_at_once(home: Path, kind: str, word: str) -> None:
    with ModelServer(latency_s=0.02) as server:
        server.when(kind)
        ended = run(server, home)
        assert ended.replies == []
        assert {type(error) for error in ended.raised} == {SweepStopped}
        assert word in str(ended.raised[0])
        # Those that were on their way, and none after the first answer.
        assert server.count() <= 32


def test_an_unknown_model_ends_only_its_job(home: Path) -> None:
    with ModelServer(models=[GENERATOR]) as server:
        ended = run(server, home)
        assert {type(error) for error in ended.raised} == {JobStopped}
        assert JUDGE in str(ended.raised[0])
        assert server.count(model=GENERATOR) == QUESTIONS
        assert server.count(model=JUDGE) <= 32


def test_refused_parameters_are_learned_once(home: Path) -> None:
    with ModelServer(refuses={JUDGE: ["temperature", "max_tokens"]}) as server:
        one = run(server, home, settings(concurrency=1), questions=5)
        assert all(reply.ok for reply in one.replies)
        assert server.count(fault="refused_parameter") == 2
        judged = [reply.call for reply in one.replies if reply.call.model == JUDGE]
        assert {tuple(call.requested.items()) for call in judged} == {(("temperature", "refused"),)}


def test_a_cap_of_half_the_cost_is_kept_and_the_rest_is_paid_later(home: Path, tmp_path: Path) -> None:
    with ModelServer(latency_s=0.005) as server:
        whole = run(server, tmp_path / "free", questions=40).spent.new_cost
        unique = server.unique()
    with ModelServer(latency_s=0.005) as server:
        half = run(server, home, cap=float(whole / 2), questions=40)
        assert {type(error) for error in half.raised} == {BudgetReached}
        assert by_hand(server) == half.spent.new_cost
        assert whole / 4 < half.spent.new_cost <= whole / 2
        rest = run(server, home, cap=float(whole * 2), questions=40)
        assert rest.raised == []
        assert (server.count(), server.unique()) == (unique, unique)
        assert half.spent.new_cost + rest.spent.new_cost == whole == by_hand(server)


@pytest.mark.parametrize("retries", [0, 1])
def test_lost_calls_count_against_the_cap_at_their_worst_case(home: Path, retries: int) -> None:
    with ModelServer() as server:
        server.when("cut")
        ended = run(server, home, settings(retries=retries), cap=0.002, questions=30)
        assert BudgetReached in {type(error) for error in ended.raised}
        worst = sum(Decimal(amount) for (amount,) in attempts(home, "worst_case", "possibly_paid"))
        assert Decimal("0.0015") < worst <= Decimal("0.002")
        assert ended.spent.possibly_paid == worst
        assert len(attempts(home, "number")) == server.count() == server.count(fault="cut")


def test_money_of_a_call_that_the_budget_ends_half_way_is_not_forgotten(home: Path) -> None:
    with ModelServer() as server:
        server.queue("truncated", times=100)
        ended = run(server, home, cap=0.0003, questions=1)
        assert {type(error) for error in ended.raised} == {BudgetReached}
        assert server.tokens().output > 0
        assert ended.spent.new_cost == by_hand(server)


def test_zero_budget_makes_no_call(home: Path) -> None:
    with ModelServer() as server:
        ended = run(server, home, cap=0.0, questions=3)
        assert {type(error) for error in ended.raised} == {BudgetReached}
        assert server.requests == []


def test_a_cap_with_an_unknown_price_is_refused_before_any_call(model_server: ModelServer, home: Path) -> None:
    async def main(prices: list[Price]) -> None:
        async with open_door(settings(), Budget(1.0), prices, home=home) as door:
            door.endpoint(Endpoint("openai_compatible", model_server.base_url, None), "llama3")

    with pytest.raises(ConfigurationError, match="llama3"):
        asyncio.run(main([]))
    asyncio.run(main([Price("llama3", 0.1, output=0.1)]))
    assert model_server.requests == []
