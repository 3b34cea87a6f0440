"""The door: what is paid is paid once, replayed exactly, and every failure has its reason."""

from __future__ import annotations

import asyncio
import json
import time
from dataclasses import replace
from decimal import Decimal
from pathlib import Path

import pytest

from runner.calls import Door, Reply, calling, collect_calls, request_key
from runner.config.schema import Endpoint, Price
from runner.errors import BudgetReached, ConfigurationError, JobStopped, NotInLedger, SweepStopped
from tests.calls.calls_helpers import KEY, MODEL, SCHEMA, ask, endpoint, rows, with_door
from tests.fakes.model_server import ModelServer, fault


@pytest.fixture(autouse=True)
def key(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("OPENAI_API_KEY", KEY)


def test_a_call_is_paid_once_and_replayed_exactly(model_server: ModelServer, home: Path) -> None:
    async def work(door: Door) -> tuple[Reply, Reply, Decimal]:
        request = ask(endpoint(door, model_server), schema_name="verdict", schema=SCHEMA)
        return await door.chat(request), await door.chat(request), door.new_spend

    first, again, spent = with_door(home, work)
    later, _, nothing = with_door(home, work)
    assert model_server.count() == 1
    assert first.ok
    assert not first.call.from_ledger
    billed = model_server.tokens()
    by_hand = billed.input * Decimal("0.15e-6") + billed.output * Decimal("0.60e-6")
    assert first.call.new_cost == first.call.total_cost == spent == by_hand
    for replay in (again, later):
        assert replay.call == replace(first.call, from_ledger=True, new_cost=Decimal(0))
        assert (replay.text, replay.status, replay.logprobs) == (first.text, first.status, first.logprobs)
    assert nothing == 0


def test_a_replay_needs_no_server_and_no_client(home: Path) -> None:
    """Offline, with the server gone; the ledger alone answers."""
    with ModelServer() as server:
        address = server.base_url
        first = with_door(home, lambda door: door.chat(ask(endpoint(door, server))))

    async def work(door: Door) -> Reply:
        return await door.chat(ask(door.endpoint(Endpoint(base_url=address), MODEL)))

    assert with_door(home, work).text == first.text


def test_equal_requests_in_flight_are_one_call(home: Path) -> None:
    async def work(door: Door) -> list[Reply]:
        where = endpoint(door, server)
        return list(await asyncio.gather(*(door.chat(ask(where)) for _ in range(20))))

    with ModelServer(latency_s=0.1) as server:
        replies = with_door(home, work)
        assert server.count() == 1
    assert len({reply.text for reply in replies}) == 1
    assert [reply.call.from_ledger for reply in replies].count(False) == 1
    assert sum(reply.call.new_cost or 0 for reply in replies) == replies[0].call.total_cost


def test_repeats_and_reasks_are_calls_of_their_own(model_server: ModelServer, home: Path) -> None:
    async def work(door: Door) -> None:
        request = ask(endpoint(door, model_server))
        for one in (request, replace(request, repeat=1), replace(request, repeat=2), replace(request, reask=1)):
            await door.chat(one)

    with_door(home, work)
    with_door(home, work)
    assert model_server.count() == 4


def test_the_question_and_the_key_are_no_part_of_the_call(
    model_server: ModelServer, home: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    async def work(door: Door) -> None:
        for question in ("a", "b"):
            with calling(stage="judge", run="job", question=question):
                await door.chat(ask(endpoint(door, model_server)))

    with_door(home, work)
    monkeypatch.setenv("OPENAI_API_KEY", "sk-another-key-123456")
    with_door(home, work, metadata={"team": "tags"})
    assert model_server.count() == 1
    assert rows(home, "stage, run, question") == [("judge", "job", "a")]


@pytest.mark.parametrize(
    ("kind", "reason"),
    [
        ("refusal", "refused"),
        ("content_filter", "content_filter"),
        ("content_filter_400", "content_filter"),
        ("empty", "empty"),
        ("context_length", "http_400"),
        ("bad_request", "http_400"),
    ],
)
def test_a_received_failure_is_kept_and_replayed(kind: str, reason: str, model_server: ModelServer, home: Path) -> None:
    model_server.when(kind)

    def once(**settings: bool) -> Reply:
        return with_door(home, lambda door: door.chat(ask(endpoint(door, model_server))), **settings)

    first, again = once(), once()
    assert (first.status, first.reason, first.call.status) == ("failed", reason, reason)
    assert first.detail
    assert model_server.count() == 1
    assert again == replace(first, call=replace(first.call, from_ledger=True, new_cost=Decimal(0)))
    assert once(retry_failed=True).reason == reason
    assert model_server.count() == 2


@pytest.mark.parametrize(
    ("kind", "reason", "attempts"),
    [
        ("server_error", "http_500", 3),
        ("rate_limited", "http_429", 3),
        ("cut", "connection", 3),
        # What is no JSON may have been paid for: one more try is all that it gets.
        ("not_json", "malformed", 2),
    ],
)
def test_a_failure_of_the_moment_is_asked_again_on_the_next_run(
    kind: str, reason: str, attempts: int, model_server: ModelServer, home: Path
) -> None:
    model_server.when(fault(kind, headers={"retry-after-ms": "1"}), times=attempts)

    def once() -> Reply:
        return with_door(home, lambda door: door.chat(ask(endpoint(door, model_server))), retries=2)

    failed = once()
    assert (failed.reason, failed.call.attempts) == (reason, attempts)
    assert failed.call.total_cost == 0
    good = once()
    assert good.ok
    assert good.call.attempts == attempts + 1
    assert not good.call.from_ledger
    assert once().call.from_ledger
    assert [number for (number,) in rows(home, "number")] == list(range(1, attempts + 2))


def test_a_truncated_reply_is_asked_once_more_at_twice_the_limit(model_server: ModelServer, home: Path) -> None:
    model_server.queue("truncated")
    reply = with_door(home, lambda door: door.chat(ask(endpoint(door, model_server), max_tokens=64)))
    assert reply.ok
    assert reply.call.attempts == 2
    assert [request.body.get("max_tokens") for request in model_server.requests] == [64, 128]
    billed = model_server.tokens()
    assert reply.call.usage is not None
    assert (reply.call.usage.input_tokens, reply.call.usage.output_tokens) == (billed.input, billed.output)


def test_a_reply_that_stays_truncated_fails_with_its_text(model_server: ModelServer, home: Path) -> None:
    model_server.when("truncated")
    reply = with_door(home, lambda door: door.chat(ask(endpoint(door, model_server))))
    assert (reply.status, reply.reason) == ("failed", "truncated")
    assert reply.text
    assert model_server.count() == 2


def test_truncated_and_no_larger_limit_taken_is_truncated(model_server: ModelServer, home: Path) -> None:
    model_server.queue("truncated", "bad_request")

    def once() -> Reply:
        return with_door(home, lambda door: door.chat(ask(endpoint(door, model_server))))

    first = once()
    assert (first.reason, bool(first.text)) == ("truncated", True)
    assert once().reason == "truncated"
    assert model_server.count() == 2


def test_an_interrupted_doubling_goes_on_at_twice_the_limit(model_server: ModelServer, home: Path) -> None:
    model_server.queue("truncated", "server_error")

    def once() -> Reply:
        return with_door(home, lambda door: door.chat(ask(endpoint(door, model_server), max_tokens=64)), retries=0)

    assert once().reason == "http_500"
    assert once().ok
    assert [request.body.get("max_tokens") for request in model_server.requests] == [64, 128, 128]


def test_what_a_model_refuses_is_left_out_and_said(home: Path) -> None:
    with ModelServer(refuses={MODEL: ["temperature"]}) as server:

        async def work(door: Door) -> list[Reply]:
            where = endpoint(door, server)
            return [await door.chat(ask(where, text)) for text in ("one", "two")]

        replies = with_door(home, work)
        assert server.count(fault="refused_parameter") == 1
        assert server.count() == 3
        assert [reply.call.requested for reply in replies] == [{"temperature": "refused"}] * 2
        # The key is that of the request as it was meant.
        again = with_door(home, work)
        assert server.count() == 3
    assert [reply.call.key for reply in again] == [reply.call.key for reply in replies]
    assert [reply.call.requested for reply in again] == [{"temperature": "refused"}] * 2


def test_provider_tags_are_sent_but_no_part_of_the_key(model_server: ModelServer, home: Path) -> None:
    with_door(home, lambda door: door.chat(ask(endpoint(door, model_server))), metadata={"team": "a"})
    with_door(home, lambda door: door.chat(ask(endpoint(door, model_server))), metadata={"team": "b"})
    assert [request.body["metadata"] for request in model_server.requests] == [{"team": "a"}]


def test_the_responses_api_gives_the_same(model_server: ModelServer, home: Path) -> None:
    async def work(door: Door) -> Reply:
        where = endpoint(door, model_server, api="responses")
        return await door.chat(ask(where, schema_name="verdict", schema=SCHEMA, seed=3))

    reply = with_door(home, work)
    assert reply.ok
    assert 1 <= json.loads(reply.text)["score"] <= 5
    (request,) = model_server.requests
    assert request.path.endswith("/responses")
    assert "max_tokens" not in request.body
    assert request.body["max_output_tokens"] == 100
    assert reply.call.usage is not None
    assert reply.call.usage.output_tokens == model_server.tokens().output
    assert with_door(home, work).call.from_ledger


def test_log_probabilities_come_with_their_alternatives(model_server: ModelServer, home: Path) -> None:
    reply = with_door(home, lambda door: door.chat(ask(endpoint(door, model_server), top_logprobs=3)))
    assert reply.logprobs
    assert all(choice.alternatives for choice in reply.logprobs)
    again = with_door(home, lambda door: door.chat(ask(endpoint(door, model_server), top_logprobs=3)))
    assert again.logprobs == reply.logprobs


def test_calls_are_collected_with_their_stage(model_server: ModelServer, home: Path) -> None:
    async def work(door: Door) -> list[str]:
        where = endpoint(door, model_server)
        with collect_calls() as outer, calling(stage="generate"):
            await door.chat(ask(where, "one"))
            with collect_calls() as inner, calling(stage="judge"):
                await asyncio.gather(door.chat(ask(where, "two")), door.chat(ask(where, "three")))
        assert len(inner) == 2
        return [call.stage for call in outer]

    assert with_door(home, work) == ["generate", "judge", "judge"]


@pytest.mark.parametrize("kind", ["unauthorized", "forbidden", "insufficient_quota"])
def test_no_quota_and_a_bad_key_end_all_that_wait_at_once(kind: str, home: Path) -> None:
    async def work(door: Door) -> list[BaseException | Reply]:
        where = endpoint(door, server)
        asked = (door.chat(ask(where, str(number))) for number in range(50))
        ended = await asyncio.gather(*asked, return_exceptions=True)
        with pytest.raises(SweepStopped):
            await door.chat(ask(where, "afterwards"))
        return list(ended)

    with ModelServer(latency_s=0.05) as server:
        server.when(kind)
        ended = with_door(home, work, concurrency=4)
        assert server.count() <= 4
    assert {type(one) for one in ended} == {SweepStopped}
    assert KEY not in str(ended[0])


def test_a_stop_keeps_what_is_on_the_wire(home: Path) -> None:
    """It is paid for: it lands in the ledger, although those who waited have heard of the stop already."""

    async def work(door: Door) -> float:
        where = endpoint(door, server)
        slow = asyncio.create_task(door.chat(ask(where, "slow")))
        while server.count() == 0:
            await asyncio.sleep(0.01)
        server.queue("unauthorized")
        began = time.monotonic()
        with pytest.raises(SweepStopped):
            await door.chat(ask(where, "bad"))
        with pytest.raises(SweepStopped):
            await slow
        return time.monotonic() - began

    with ModelServer() as server:
        server.queue(fault("latency", seconds=1.0))
        assert with_door(home, work) < 0.9
    assert sorted(rows(home, "status")) == [("http_401",), ("ok",)]


def test_an_unknown_model_is_asked_for_once(home: Path) -> None:
    async def work(door: Door) -> None:
        bad = endpoint(door, server, "gpt-4o")
        for text in ("one", "two"):
            with pytest.raises(JobStopped, match="gpt-4o"):
                await door.chat(ask(bad, text, model="gpt-4o"))
        assert (await door.chat(ask(bad))).ok

    with ModelServer(models=[MODEL]) as server:
        with_door(home, work)
        assert server.count(model="gpt-4o") == 1


def test_a_hung_call_costs_its_own_attempts_and_nothing_else(home: Path) -> None:
    async def work(door: Door) -> Reply:
        return await door.chat(ask(endpoint(door, server)))

    with ModelServer() as server:
        server.queue("hang", times=2)
        reply = with_door(home, work, attempt_timeout_s=0.3, retries=1)
    assert (reply.reason, reply.call.attempts) == ("timeout", 2)
    assert rows(home, "status, possibly_paid, response") == [("timeout", 1, None)] * 2


def test_the_deadline_of_a_question_ends_all_its_calls(home: Path) -> None:
    async def work(door: Door) -> tuple[list[Reply], Reply]:
        where = endpoint(door, server)
        other = asyncio.create_task(door.chat(ask(where, "other")))
        with calling(question="q", deadline=0.3):
            late = await asyncio.gather(*(door.chat(ask(where, f"hangs {number}")) for number in range(3)))
        return list(late), await other

    with ModelServer() as server:
        server.when("hang", contains="hangs")
        late, other = with_door(home, work)
    assert other.ok
    assert {(reply.reason, reply.call.status) for reply in late} == {("timeout", "timeout")}
    assert all("question_deadline_s" in reply.detail for reply in late)
    assert rows(home, "status, possibly_paid", "question = 'q'") == [("timeout", 1)] * 3


def test_a_deadline_does_not_take_the_call_from_others(home: Path) -> None:
    async def work(door: Door) -> tuple[Reply, Reply]:
        where = endpoint(door, server)

        async def hurried() -> Reply:
            with calling(question="q", deadline=0.1):
                return await door.chat(ask(where))

        late, patient = await asyncio.gather(hurried(), door.chat(ask(where)))
        return late, patient

    with ModelServer(latency_s=0.6) as server:
        late, patient = with_door(home, work)
        assert server.count() == 1
    assert (late.reason, patient.ok) == ("timeout", True)


def test_a_cancelled_waiter_leaves_a_landing_call_alone(home: Path) -> None:
    """Ctrl-C: what is on the wire is paid for, and gets a moment to land before the door closes."""

    async def work(door: Door) -> None:
        task = asyncio.create_task(door.chat(ask(endpoint(door, server))))
        while server.count() == 0:
            await asyncio.sleep(0.01)
        task.cancel()
        with pytest.raises(asyncio.CancelledError):
            await task

    with ModelServer(latency_s=0.2) as server:
        with_door(home, work)
        assert with_door(home, lambda door: door.chat(ask(endpoint(door, server)))).call.from_ledger
        assert server.count() == 1


def test_a_call_that_never_lands_is_written_as_possibly_paid(home: Path) -> None:
    async def work(door: Door) -> None:
        task = asyncio.create_task(door.chat(ask(endpoint(door, server))))
        while server.count() == 0:
            await asyncio.sleep(0.01)
        task.cancel()

    with ModelServer() as server:
        server.when("hang")
        with_door(home, work)
    assert rows(home, "status, possibly_paid") == [("interrupted", 1)]
    assert rows(home, "key", table="claims") == []


def test_a_missing_key_is_one_sentence_before_anything_else(
    home: Path, monkeypatch: pytest.MonkeyPatch, model_server: ModelServer
) -> None:
    monkeypatch.delenv("OPENAI_API_KEY")

    async def work(door: Door) -> None:
        with pytest.raises(ConfigurationError, match=r"OPENAI_API_KEY.*not set"):
            endpoint(door, model_server)
        assert endpoint(door, model_server, api_key_env=None, provider="openai_compatible").api_key_env is None

    with_door(home, work)
    assert model_server.count() == 0


def test_the_base_url_of_the_environment_is_honoured(
    home: Path, monkeypatch: pytest.MonkeyPatch, model_server: ModelServer
) -> None:
    monkeypatch.setenv("OPENAI_BASE_URL", model_server.base_url + "/")

    async def work(door: Door) -> Reply:
        return await door.chat(ask(door.endpoint(Endpoint(), MODEL)))

    assert with_door(home, work).ok
    assert model_server.count() == 1


def test_a_server_without_a_key_gets_none_of_ours(home: Path, model_server: ModelServer) -> None:
    async def work(door: Door) -> Reply:
        where = endpoint(door, model_server, provider="openai_compatible", api_key_env=None)
        return await door.chat(ask(where))

    assert with_door(home, work, prices=[Price(MODEL, 1.0)]).ok
    assert KEY not in str(model_server.requests[0].headers)


def test_keys_never_reach_the_ledger(home: Path) -> None:
    with ModelServer() as server:
        server.queue(fault("server_error", body={"error": {"message": f"bad key {KEY} in header"}}), "forbidden")

        async def work(door: Door) -> None:
            with pytest.raises(SweepStopped) as stopped:
                await door.chat(ask(endpoint(door, server)))
            assert KEY not in str(stopped.value)

        with_door(home, work)
    stored = b"".join(path.read_bytes() for path in home.iterdir() if path.is_file())
    assert b"http_500" in stored
    assert KEY.encode() not in stored
    assert b"Bearer" not in stored


def test_an_offline_door_answers_from_the_ledger_alone(home: Path, model_server: ModelServer) -> None:
    from runner.calls import open_door
    from runner.config.schema import Budget, Calls

    with_door(home, lambda door: door.chat(ask(endpoint(door, model_server))))

    async def main() -> None:
        async with open_door(Calls(), Budget(), [], home=home, offline=True) as door:
            where = endpoint(door, model_server)
            assert (await door.chat(ask(where))).call.from_ledger
            with pytest.raises(NotInLedger):
                await door.chat(ask(where, "something new"))
            keys = [request_key(ask(where)), request_key(ask(where, "something new"))]
            assert door.held(keys) == {keys[0]}

    asyncio.run(main())
    assert model_server.count() == 1


def test_a_cap_holds_at_any_number_of_calls_in_flight(home: Path) -> None:
    async def work(door: Door) -> tuple[int, Decimal]:
        where = endpoint(door, server)
        ended = await asyncio.gather(*(door.chat(ask(where, str(n))) for n in range(60)), return_exceptions=True)
        assert all(isinstance(one, BudgetReached | Reply) for one in ended)
        return sum(isinstance(one, Reply) for one in ended), door.new_spend

    with ModelServer(latency_s=0.02) as server:
        made, spent = with_door(home, work, cap=0.0003, concurrency=32)
        assert made == server.count()
    assert 0 < made < 60
    assert spent <= Decimal("0.0003")
    paid = sum(Decimal(cost) for (cost,) in rows(home, "total_cost"))
    assert paid == spent


def test_which_text_a_version_has_is_remembered(home: Path) -> None:
    async def work(door: Door) -> None:
        assert door.remember_text("rubric", "grounding", "1", "old") is None
        assert door.remember_text("rubric", "grounding", "1", "old") is None
        assert door.remember_text("rubric", "grounding", "2", "other") is None
        assert door.remember_text("rubric", "grounding", "1", "new") == "old"
        assert door.remember_text("rubric", "grounding", "1", "new", replace=True) == "old"
        assert door.remember_text("rubric", "grounding", "1", "new") is None

    with_door(home, work)


def test_a_reply_without_a_usage_has_an_unknown_price(model_server: ModelServer, home: Path) -> None:
    """Never 0: nobody knows what it cost (symptom 49); the cap counts it at its worst case."""
    model_server.when("no_usage")

    async def work(door: Door) -> tuple[Reply, tuple[str, ...], Decimal]:
        reply = await door.chat(ask(endpoint(door, model_server)))
        return reply, door.spent().unknown_prices, door.spent().possibly_paid

    reply, unknown, possibly = with_door(home, work)
    assert (reply.ok, reply.call.usage, reply.call.total_cost, reply.call.new_cost) == (True, None, None, None)
    assert unknown == (MODEL,)
    assert possibly > 0
    again = with_door(home, work)
    assert (again[0].call.total_cost, again[0].call.new_cost) == (None, 0)
