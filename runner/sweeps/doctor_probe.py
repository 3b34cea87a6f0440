"""The doctor's cheap calls: what a model takes, asked once, written down for every later run, and what that cost."""

from __future__ import annotations

import asyncio
import json
from collections.abc import AsyncIterator, Iterator, Mapping, Sequence
from dataclasses import replace
from decimal import Decimal
from pathlib import Path

from runner.calls import ChatRequest, Door, ModelEndpoint, Reply, calling, collect_calls, open_door
from runner.calls.lessons import PROBE, Lesson, Lessons
from runner.calls.prices import show as dollars
from runner.config.schema import Config
from runner.errors import RunnerError
from runner.records import Call, Stage
from runner.sweeps.doctor_models import ServedModel
from runner.sweeps.health import Finding, fail, ok

PROBE_TOKENS = 256
"""Enough for a model that thinks before it answers; a plain one stops after ten."""
SHORT = 8
"""The dimension that an embedding model is asked for."""
_SCHEMA = {
    "type": "object",
    "properties": {"ok": {"type": "boolean"}},
    "required": ["ok"],
    "additionalProperties": False,
}
_LIMITS = ("max_tokens", "max_completion_tokens")


def probe_findings(models: Sequence[ServedModel], config: Config, home: Path) -> Iterator[Finding]:
    """Asks every model once what it takes and keeps that in the home, so that no run has to find it out.

    Chat models get one call, and one more for each parameter they refuse (that is not paid); embedding models two.
    """
    yield from asyncio.run(_probe_all(models, config, home))


async def _probe_all(models: Sequence[ServedModel], config: Config, home: Path) -> list[Finding]:
    lessons = Lessons(home)
    for model in models:
        # Asked with everything again: what it refused once it may take today.
        lessons.forget(model.endpoint.provider, model.model, model.base_url)
    calls = replace(config.calls, retries=0)
    found: list[Finding] = []
    async with open_door(calls, config.budget, config.prices, home=home, metadata=config.metadata) as door:
        async for finding in _each(door, models, lessons):
            found.append(finding)
        if models:
            found.append(ok("probes", f"cost {dollars(door.whole_new_spend)} together, in the ledger"))
    return found


async def _each(door: Door, models: Sequence[ServedModel], lessons: Lessons) -> AsyncIterator[Finding]:
    for model in models:
        what = f"probe {model.model}"
        try:
            endpoint = door.endpoint(model.endpoint, model.model)
            yield await (_chat if model.chat else _embedding)(door, endpoint, model, lessons)
        except RunnerError as error:
            yield fail(what, str(error))


async def _chat(door: Door, endpoint: ModelEndpoint, model: ServedModel, lessons: Lessons) -> Finding:
    request = ChatRequest(
        endpoint=endpoint,
        model=model.model,
        messages=({"role": "user", "content": 'Reply with the JSON object {"ok": true} and nothing else.'},),
        max_tokens=PROBE_TOKENS,
        temperature=0.0,
        schema_name="probe",
        schema=_SCHEMA,
        top_logprobs=2,
    )
    reply = await door.chat(request, again=True)
    what, cost = f"probe {model.model}", f"cost {dollars(reply.call.new_cost)}"
    if not reply.ok:
        return fail(what, f"{reply.reason}: {reply.detail} ({cost})", "see the reason; nothing else was tried")
    refused = door.refused(endpoint, model.model)
    responses = endpoint.api == "responses"
    schema = "text" if responses else "response_format"
    left_out = {*reply.call.requested, *refused}
    limit = _LIMITS[1] if _LIMITS[0] in refused else _LIMITS[0]
    found = {
        "temperature": "refused" if "temperature" in left_out else "taken",
        "schema": "refused" if schema in left_out else _followed(reply),
        "logprobs": "refused" if "logprobs" in left_out else "given" if reply.logprobs else "not given",
        "limit": f"is called {'max_output_tokens' if responses else limit}",
    }
    # The Responses API has one name for the limit, which says nothing about the two of the other API.
    asked = ("temperature", schema, "logprobs", "top_logprobs", *([] if responses else [limit]))
    taken = [name for name in asked if name not in left_out]
    return _kept(what, endpoint, model, lessons, (sorted(refused), taken, found, cost))


async def _embedding(door: Door, endpoint: ModelEndpoint, model: ServedModel, lessons: Lessons) -> Finding:
    from openai import OpenAIError

    client = door.async_openai_client(endpoint)
    what = f"probe {model.model}"
    with calling(stage=Stage.EMBED), collect_calls() as calls:
        try:
            whole = await client.embeddings.create(model=model.model, input="probe", encoding_format="float")
            dimension = len(whole.data[0].embedding)
        except (OpenAIError, IndexError, TypeError, AttributeError) as error:
            return fail(what, f"{_reason(error)} ({_cost(calls)})", "is it an embedding model?")
        try:
            short = await client.embeddings.create(
                model=model.model, input="probe", encoding_format="float", dimensions=SHORT
            )
            takes = len(short.data[0].embedding) == SHORT
            said = "taken" if takes else "taken, but not followed"
        except (OpenAIError, IndexError, TypeError, AttributeError):
            takes, said = False, "refused"
    found = {"dimension": str(dimension), "dimensions": said}
    refused, taken = ([], ["dimensions"]) if takes else (["dimensions"], [])
    return _kept(what, endpoint, model, lessons, (refused, taken, found, _cost(calls)))


def _kept(
    what: str,
    endpoint: ModelEndpoint,
    model: ServedModel,
    lessons: Lessons,
    seen: tuple[Sequence[str], Sequence[str], Mapping[str, str], str],
) -> Finding:
    """Writes the entry; what is known of the embedded server holds for this version of it alone and is not kept."""
    refused, taken, found, cost = seen
    said = ", ".join(f"{name} {word}" for name, word in found.items())
    if endpoint.provider == "embedded":
        return ok(what, f"{said} ({cost})")
    lesson = Lesson(
        endpoint.provider, endpoint.base_url, model.model, tuple(refused), tuple(taken), dict(found), "", PROBE
    )
    kept = f"kept in {lessons.path}" if lessons.write(lesson) else f"{lessons.path} cannot be written"
    return ok(what, f"{said} ({cost}; {kept})")


def _followed(reply: Reply) -> str:
    try:
        value = json.loads(reply.text)
    except ValueError:
        return "taken, but not followed"
    return "followed" if isinstance(value, dict) and "ok" in value else "taken, but not followed"


def _cost(calls: Sequence[Call]) -> str:
    costs = [call.new_cost for call in calls]
    unknown = any(cost is None for cost in costs)
    return f"cost {dollars(None if unknown else sum((cost for cost in costs if cost is not None), Decimal(0)))}"


def _reason(error: BaseException) -> str:
    """What the door said, where it was the door: the SDK hides it behind an error of its own."""
    cause: BaseException | None = error
    while cause is not None:
        if isinstance(cause, RunnerError):
            return str(cause)
        cause = cause.__cause__ or cause.__context__
    return str(error) or type(error).__name__
