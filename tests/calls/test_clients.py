"""Clients for other code: a user's own calls and langchain's are in the same ledger, limits and budget."""

from __future__ import annotations

import asyncio
from concurrent.futures import ThreadPoolExecutor
from decimal import Decimal
from pathlib import Path
from typing import Any

import openai
import pytest

from runner.calls import Door, calling, collect_calls
from runner.errors import BudgetReached, RunnerError, SweepStopped
from runner.records import Call
from tests.calls.calls_helpers import KEY, MODEL, ask, endpoint, rows, with_door
from tests.fakes.model_server import ModelServer, fault

ASK: dict[str, Any] = {"model": MODEL, "messages": [{"role": "user", "content": "When is it due?"}], "max_tokens": 50}


@pytest.fixture(autouse=True)
def key(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("OPENAI_API_KEY", KEY)


def test_async_client_is_paid_once_and_replayed(model_server: ModelServer, home: Path) -> None:
    async def work(door: Door) -> tuple[str, list[Call], Decimal]:
        client = door.async_openai_client(endpoint(door, model_server))
        assert KEY not in repr(vars(client))
        with calling(stage="generate", run="job", question="q"), collect_calls() as calls:
            reply = await client.chat.completions.create(**ASK)
        return str(reply.choices[0].message.content), calls, door.new_spend

    first = with_door(home, work)
    again = with_door(home, work)
    assert model_server.count() == 1
    assert model_server.requests[0].headers["Authorization"] == f"Bearer {KEY}"
    assert first[0] == again[0]
    assert (first[1][0].stage, first[1][0].total_cost, first[2]) == ("generate", first[2], first[2])
    assert first[2] > 0
    assert (again[1][0].total_cost, again[1][0].new_cost, again[2]) == (first[2], 0, 0)
    assert rows(home, "run, question") == [("job", "q")]


def test_sync_client_works_in_threads(model_server: ModelServer, home: Path) -> None:
    async def work(door: Door) -> list[Call]:
        with calling(stage="generate", question="q"), collect_calls() as calls:
            client = door.openai_client(endpoint(door, model_server))

            def one(number: int) -> str:
                asked = ASK | {"messages": [{"role": "user", "content": str(number)}]}
                return str(client.chat.completions.create(**asked).choices[0].message.content)

            def many() -> list[str]:
                # Threads of the user's own, which know nothing of context variables.
                with ThreadPoolExecutor(4) as pool:
                    return list(pool.map(one, range(8)))

            assert len(await asyncio.to_thread(many)) == 8
        return calls

    calls = with_door(home, work)
    assert [(call.stage, call.status) for call in calls] == [("generate", "ok")] * 8
    assert rows(home, "distinct question") == [("q",)]


def test_sync_client_in_the_event_loop_is_told_so(model_server: ModelServer, home: Path) -> None:
    async def work(door: Door) -> None:
        with pytest.raises(RunnerError, match="to_thread"):
            door.openai_client(endpoint(door, model_server)).chat.completions.create(**ASK)

    with_door(home, work)


def test_an_async_client_works_in_another_event_loop(model_server: ModelServer, home: Path) -> None:
    async def work(door: Door) -> str:
        client = door.async_openai_client(endpoint(door, model_server))

        async def elsewhere() -> str:
            return str((await client.chat.completions.create(**ASK)).choices[0].message.content)

        return await asyncio.to_thread(lambda: asyncio.run(elsewhere()))

    assert with_door(home, work)


def test_equal_requests_within_a_question_are_calls_of_their_own(model_server: ModelServer, home: Path) -> None:
    """A user's application that samples three answers wants three; the next question may share the first."""

    async def work(door: Door) -> None:
        client = door.async_openai_client(endpoint(door, model_server))
        for question in ("a", "b"):
            with calling(question=question):
                for _ in range(3):
                    await client.chat.completions.create(**ASK)

    with_door(home, work)
    assert model_server.count() == 3
    with_door(home, work)
    assert model_server.count() == 3


def test_streams_are_replayed_and_their_usage_is_known(model_server: ModelServer, home: Path) -> None:
    async def work(door: Door) -> tuple[list[str], list[Call]]:
        client = door.async_openai_client(endpoint(door, model_server))
        with collect_calls() as calls:
            stream = await client.chat.completions.create(**ASK, stream=True)
            # Code that did not ask for the usage expects a choice in every event.
            pieces = [event.choices[0].delta.content or "" async for event in stream]
        return pieces, calls

    pieces, (call,) = with_door(home, work)
    again, (replay,) = with_door(home, work)
    assert pieces == again
    assert "".join(pieces)
    assert model_server.count() == 1
    assert call.usage is not None
    assert call.usage.output_tokens == model_server.tokens().output
    assert replay.usage == call.usage


def test_the_responses_api_and_its_parsing(model_server: ModelServer, home: Path) -> None:
    async def work(door: Door) -> str:
        client = door.async_openai_client(endpoint(door, model_server))
        return str((await client.responses.create(model=MODEL, input="When?", max_output_tokens=50)).output_text)

    assert with_door(home, work) == with_door(home, work) != ""
    assert model_server.count() == 1


def test_embeddings_are_priced_but_not_kept(model_server: ModelServer, home: Path) -> None:
    async def work(door: Door) -> Call:
        client = door.async_openai_client(endpoint(door, model_server))
        with collect_calls() as calls:
            vectors = await client.embeddings.create(model="text-embedding-3-small", input=["one", "two"])
        assert len(vectors.data) == 2
        return calls[0]

    first, again = with_door(home, work), with_door(home, work)
    assert model_server.count() == 2
    assert first.usage is not None
    assert first.usage.input_tokens * 2 == model_server.tokens().input
    assert first.total_cost == again.total_cost == first.usage.input_tokens * Decimal("0.02e-6")
    assert rows(home, "response") == [(None,), (None,)]


def test_langchain_embeds_through_the_door(model_server: ModelServer, home: Path) -> None:
    async def work(door: Door) -> list[Call]:
        from langchain_openai import OpenAIEmbeddings
        from pydantic import SecretStr

        where = endpoint(door, model_server)
        embeddings = OpenAIEmbeddings(
            model="text-embedding-3-small",
            base_url=where.base_url,
            api_key=SecretStr("not-needed"),
            http_client=door.http_client(where),
            http_async_client=door.async_http_client(where),
            check_embedding_ctx_length=False,
            max_retries=0,
        )
        with collect_calls() as calls:
            assert len(await embeddings.aembed_documents(["one", "two"])) == 2
            assert len(await asyncio.to_thread(embeddings.embed_query, "three")) == 256
        return calls

    assert [call.status for call in with_door(home, work)] == ["ok", "ok"]
    assert model_server.requests[0].headers["Authorization"] == f"Bearer {KEY}"


def test_clients_of_the_older_httpx(model_server: ModelServer, home: Path) -> None:
    async def work(door: Door) -> None:
        where = endpoint(door, model_server)
        synchronous, asynchronous = door.legacy_http_clients(where)
        url = where.base_url + "/chat/completions"
        assert (await asynchronous.post(url, json=ASK)).json()["choices"]
        assert (await asyncio.to_thread(synchronous.post, url, json=ASK)).json()["choices"]

    with_door(home, work)
    assert model_server.count() == 1


def test_a_user_sees_the_errors_that_the_sdk_has_for_them(home: Path) -> None:
    async def work(door: Door) -> None:
        client = door.async_openai_client(endpoint(door, server))
        with pytest.raises(openai.RateLimitError):
            await client.chat.completions.create(**ASK)
        with pytest.raises(openai.BadRequestError):
            await client.chat.completions.create(**ASK, seed=1)
        with pytest.raises(openai.APITimeoutError):
            await client.chat.completions.create(**ASK, seed=2)
        with pytest.raises(openai.APIConnectionError):
            await client.chat.completions.create(**ASK, seed=3)
        with pytest.raises(SweepStopped):
            await client.chat.completions.create(**ASK, seed=4)

    with ModelServer() as server:
        limited = fault("rate_limited", retry_after_ms="1")
        server.queue(limited, limited, "bad_request", "hang", "hang", "cut", "cut", "insufficient_quota")
        with_door(home, work, retries=1, attempt_timeout_s=0.5)
        # One owner of retries: two tries each, whatever the SDK would like.
        assert server.count() == 8


def test_a_users_own_request_goes_out_as_it_is(home: Path) -> None:
    """Nothing is dropped or doubled behind the back of their code."""

    async def work(door: Door) -> None:
        client = door.async_openai_client(endpoint(door, server))
        assert (await client.chat.completions.create(**ASK)).choices[0].finish_reason == "length"
        with pytest.raises(openai.BadRequestError):
            await client.chat.completions.create(**ASK, temperature=0.5)

    with ModelServer(refuses={MODEL: ["temperature"]}) as server:
        server.queue("truncated")
        with_door(home, work)
        assert server.count() == 2


def test_a_users_own_calls_are_under_the_cap(model_server: ModelServer, home: Path) -> None:
    async def work(door: Door) -> None:
        client = door.async_openai_client(endpoint(door, model_server))
        with pytest.raises(BudgetReached):
            await client.chat.completions.create(**ASK)

    with_door(home, work, cap=0)
    assert model_server.count() == 0


def test_a_list_of_models_is_no_call(model_server: ModelServer, home: Path) -> None:
    async def work(door: Door) -> list[str]:
        with collect_calls() as calls:
            names = [model.id async for model in door.async_openai_client(endpoint(door, model_server)).models.list()]
        assert calls == []
        return names

    assert MODEL in with_door(home, work)


def test_own_and_foreign_requests_share_their_limits(home: Path) -> None:
    async def work(door: Door) -> None:
        where = endpoint(door, server)
        client = door.async_openai_client(where)
        foreign = (client.chat.completions.create(**ASK, seed=number) for number in range(6))
        own = (door.chat(ask(where, str(number))) for number in range(6))
        await asyncio.gather(*foreign, *own)

    with ModelServer(latency_s=0.05) as server:
        with_door(home, work, concurrency=3)
        assert server.in_flight_max == 3
