"""The door and the embedded server: started at the first call the ledger does not hold, in no question's time."""

from __future__ import annotations

import asyncio
from pathlib import Path
from typing import Any

import pytest

from runner.calls import ChatRequest, Door, ModelEndpoint, Reply, calling
from runner.config.schema import Endpoint
from runner.errors import JobStopped
from tests.calls.calls_helpers import ask, with_door
from tests.fakes.model_server import ModelServer

LOCAL = "qwen2.5-coder-0.5b-instruct"


class FakeServers:
    """Stands for ``EmbeddedServers``: its models are at the fake model server."""

    started: list[str]
    closed: int
    base: str
    takes_s: float
    fails: bool

    def __init__(self, *, api_key: str = "") -> None:
        self.api_key = api_key

    def identity(self, model: str) -> str:
        return f"embedded:weights-of-{model}:runtime-1"

    async def base_url(self, model: str) -> str:
        if self.fails:
            raise JobStopped("the server does not start")
        if model not in self.started:
            await asyncio.sleep(self.takes_s)
            type(self).started.append(model)
        return self.base

    def close(self) -> None:
        type(self).closed += 1


@pytest.fixture
def servers(model_server: ModelServer, monkeypatch: pytest.MonkeyPatch) -> type[FakeServers]:
    class Fresh(FakeServers):
        started: list[str] = []  # noqa: RUF012
        closed, base, takes_s, fails = 0, model_server.base_url, 0.0, False

    monkeypatch.setattr("runner.calls.embedded.EmbeddedServers", Fresh)
    return Fresh


def local(door: Door) -> ModelEndpoint:
    return door.endpoint(Endpoint(provider="embedded", api_key_env=None), LOCAL)


def question(door: Door, text: str = "When?", **more: Any) -> ChatRequest:
    return ask(local(door), text, model=LOCAL, **more)


def test_it_is_not_started_for_what_the_ledger_holds(
    servers: type[FakeServers], model_server: ModelServer, home: Path
) -> None:
    first = with_door(home, lambda door: door.chat(question(door)))
    assert first.ok
    assert servers.started == [LOCAL]
    servers.started.clear()
    # Another port, the same weights and runtime: the same call.
    servers.base = "http://127.0.0.1:9/v1"
    again = with_door(home, lambda door: door.chat(question(door)))
    assert again.call.from_ledger
    assert (servers.started, servers.closed) == ([], 2)
    assert model_server.count() == 1


def test_it_costs_nothing_and_is_always_under_the_cap(servers: type[FakeServers], home: Path) -> None:
    reply = with_door(home, lambda door: door.chat(question(door)), cap=0)
    assert reply.ok
    assert reply.call.total_cost == 0
    assert servers.started == [LOCAL]


def test_it_is_given_one_request_after_the_other_and_its_own_key(
    servers: type[FakeServers], model_server: ModelServer, home: Path
) -> None:
    model_server.latency_s = 0.02

    async def work(door: Door) -> list[Reply]:
        return list(await asyncio.gather(*(door.chat(question(door, str(number))) for number in range(5))))

    assert all(reply.ok for reply in with_door(home, work, concurrency=8))
    assert model_server.in_flight_max == 1
    sent = {request.headers["Authorization"] for request in model_server.requests}
    assert len(sent) == 1
    assert len(sent.pop()) > 30


def test_no_deadline_runs_while_it_is_fetched_and_started(servers: type[FakeServers], home: Path) -> None:
    servers.takes_s = 1.7

    async def work(door: Door) -> Reply:
        with calling(question="q", deadline=1.5):
            return await door.chat(question(door))

    assert with_door(home, work, attempt_timeout_s=1.5).ok


def test_a_server_that_does_not_start_ends_the_job(servers: type[FakeServers], home: Path) -> None:
    servers.fails = True

    async def work(door: Door) -> None:
        with pytest.raises(JobStopped, match="does not start"):
            await door.chat(question(door))

    with_door(home, work)


def test_clients_for_other_code_reach_it_too(servers: type[FakeServers], home: Path) -> None:
    async def work(door: Door) -> str:
        client = door.async_openai_client(local(door))
        reply = await client.chat.completions.create(model=LOCAL, messages=[{"role": "user", "content": "When?"}])
        return str(reply.choices[0].message.content)

    assert with_door(home, work) == with_door(home, work) != ""
    assert servers.started == [LOCAL]
