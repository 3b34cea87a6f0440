"""OpenAI embeddings through langchain-openai and the door: counted, priced, stored, and never paid twice."""

from __future__ import annotations

import asyncio
from decimal import Decimal
from pathlib import Path

import numpy as np
import pytest

from runner.calls import open_door
from runner.config.schema import Budget, Calls, Endpoint, Price
from runner.config.schema import Embedder as EmbedderConfig
from runner.errors import BudgetReached, ConfigurationError, JobStopped, RunnerError
from runner.knowledge import Embedded, open_embedder
from tests.fakes.answers import tokens
from tests.fakes.model_server import ModelServer, fault

MODEL = "text-embedding-3-small"
PRICES = (Price(MODEL, input=0.02),)
TEXTS = [f"text number {number}" for number in range(10)]


def cfg(server: ModelServer) -> EmbedderConfig:
    endpoint = Endpoint("openai_compatible", server.base_url, None)
    return EmbedderConfig("openai", MODEL, endpoint, batch_size=4)


async def embed(
    server: ModelServer, home: Path, texts: list[str], budget: float | None = None, retries: int = 1
) -> Embedded:
    async with open_door(Calls(retries=retries), Budget(budget), PRICES, home=home) as door:
        return await open_embedder(cfg(server), door, home).embed(texts)


def test_batches_tokens_and_money_by_hand(home: Path, model_server: ModelServer) -> None:
    embedded = asyncio.run(embed(model_server, home, TEXTS))
    assert model_server.count(path="/embeddings") == 3
    assert embedded.vectors.dtype == np.float32
    assert len({vector.tobytes() for vector in embedded.vectors}) == len(TEXTS)
    calls = [call for of_text in embedded.calls for call in of_text]
    billed = sum(tokens(len(text)) for text in TEXTS)
    assert len({call.key for call in calls}) == 3
    assert {(call.stage, call.from_ledger) for call in calls} == {("embed", False)}
    assert sum(call.usage.input_tokens for call in calls if call.usage) == billed
    assert sum((call.new_cost or Decimal(0) for call in calls), Decimal(0)) == billed * Decimal("0.02") / 1_000_000

    again = asyncio.run(embed(model_server, home, TEXTS))
    assert model_server.count(path="/embeddings") == 3
    assert np.array_equal(again.vectors, embedded.vectors)
    replayed = [call for of_text in again.calls for call in of_text]
    assert [call.total_cost for call in replayed] == [call.total_cost for call in calls]
    assert sum((call.new_cost or Decimal(0) for call in replayed), Decimal(0)) == 0

    more = asyncio.run(embed(model_server, home, [*TEXTS, "one new text"]))
    assert model_server.count(path="/embeddings") == 4
    assert len(more.vectors) == 11


def test_texts_go_out_as_text_and_not_as_token_numbers(home: Path, model_server: ModelServer) -> None:
    asyncio.run(embed(model_server, home, ["one", "two"]))
    (request,) = (request for request in model_server.requests if request.path.endswith("/embeddings"))
    assert request.body["input"] == ["one", "two"]
    assert request.body["model"] == MODEL


def test_a_cap_stops_before_the_wire_and_says_so(home: Path, model_server: ModelServer) -> None:
    with pytest.raises(BudgetReached):
        asyncio.run(embed(model_server, home, TEXTS, budget=0))
    assert model_server.count(path="/embeddings") == 0


def test_a_server_that_fails_for_good_stops_the_job_with_a_sentence(home: Path, model_server: ModelServer) -> None:
    model_server.when(fault("server_error"), probability=1.0)
    with pytest.raises(RunnerError) as caught:
        asyncio.run(embed(model_server, home, ["one"], retries=0))
    assert isinstance(caught.value, JobStopped)
    assert MODEL in str(caught.value)


def test_a_missing_key_is_one_sentence_before_anything_is_asked(home: Path) -> None:
    async def opened() -> None:
        async with open_door(Calls(), Budget(), PRICES, home=home) as door:
            open_embedder(EmbedderConfig("openai", MODEL), door, home)

    with pytest.raises(ConfigurationError, match="OPENAI_API_KEY"):
        asyncio.run(opened())
