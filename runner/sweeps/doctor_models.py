"""The doctor's look at models: key, server, price, weights, and what is known of what they take. Nothing is paid."""

from __future__ import annotations

import importlib.util
import json
import os
import urllib.error
import urllib.request
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from runner.calls.lessons import Lesson, Lessons
from runner.calls.prices import known, table_version
from runner.config.schema import Config, Endpoint, Price
from runner.errors import ConfigurationError
from runner.sweeps.health import Finding, fail, ok, warn

TIMEOUT_S = 5.0
_MOST_BYTES = 4_000_000
_SHOWN = 5
_DEFAULT_URL = "https://api.openai.com/v1"


@dataclass(frozen=True)
class ServedModel:
    """One model that the configuration asks, wherever it is used."""

    model: str
    endpoint: Endpoint
    chat: bool
    prices: tuple[Price, ...]

    @property
    def base_url(self) -> str:
        """Where it is; empty for a server whose address is missing."""
        default = _DEFAULT_URL if self.endpoint.provider == "openai" else ""
        return (self.endpoint.base_url or os.environ.get("OPENAI_BASE_URL") or default).rstrip("/")

    @property
    def embedded(self) -> bool:
        return self.endpoint.provider == "embedded"


def served_models(configs: Sequence[Config]) -> list[ServedModel]:
    """Every model that the jobs ask, each once."""
    found: dict[tuple[Any, ...], ServedModel] = {}
    for config in configs:
        for model, endpoint, chat in _asked(config):
            key = (endpoint.provider, endpoint.base_url, endpoint.api_key_env, endpoint.api, model)
            found.setdefault(key, ServedModel(model, endpoint, chat, tuple(config.prices)))
    return list(found.values())


def _asked(config: Config) -> Iterator[tuple[str, Endpoint, bool]]:
    if config.retriever.kind in ("dense", "hybrid") and config.embedder.kind == "openai":
        yield config.embedder.model, config.embedder.endpoint, False
    if config.generator.kind == "model":
        yield config.generator.model, config.generator.endpoint, True
    if config.generator.kind != "none":
        for judge in config.judges.values():
            if judge.kind == "model":
                yield judge.model, judge.endpoint, True


def model_findings(models: Sequence[ServedModel], home: Path) -> Iterator[Finding]:
    """Key, server, price or weights of each model; nothing is paid, no key is shown."""
    keyless = set()
    lessons = Lessons(home).read()
    for name in dict.fromkeys(model.endpoint.api_key_env for model in models if not model.embedded):
        if name is None:
            continue
        if os.environ.get(name):
            yield ok(f"key {name}", "is set")
        else:
            keyless.add(name)
            yield fail(f"key {name}", "is not set", "put it into the environment or into a file .env here")
    servers: dict[tuple[str, str | None], _Listing] = {}
    for model in models:
        if model.embedded:
            yield _weights(model.model)
            continue
        place = (model.base_url, model.endpoint.api_key_env)
        if place not in servers and model.endpoint.api_key_env not in keyless and model.base_url:
            servers[place] = _listing(*place)
            yield servers[place].finding
        yield from _listed(model, servers.get(place))
        yield _priced(model)
        lesson = lessons.get((model.endpoint.provider, model.model, model.base_url))
        if lesson is not None:
            yield ok(f"takes {model.model}", described(lesson))


def described(lesson: Lesson) -> str:
    """What is known of a model, and since when."""
    said = [f"{name} {found}" for name, found in lesson.found.items()] or [f"refuses {', '.join(lesson.refuses)}"]
    return f"{', '.join(said)} (since {lesson.learned_at[:10]}, {lesson.learned_from})"


def _weights(name: str) -> Finding:
    from runner.calls.embedded import find, installed

    if importlib.util.find_spec("xllamacpp") is None:
        return fail(f"model {name}", "needs xllamacpp", "pip install 'rag-judge-runner[local]'")
    try:
        find(name)
        path = installed(name)
    except ConfigurationError as error:
        return fail(f"model {name}", str(error))
    if path is None:
        return warn(f"model {name}", "its weights are not here yet", f"python -m runner models pull {name}")
    return ok(f"model {name}", f"weights verified in {path}; free")


def _priced(model: ServedModel) -> Finding:
    if known(model.endpoint.provider, model.model, model.prices):
        own = any(price.model == model.model for price in model.prices)
        return ok(f"price {model.model}", "known, from your list" if own else f"known, from {table_version()}")
    remedy = "write it to conf/prices/NAME.yaml and add prices=NAME, or the spend stays unknown"
    return warn(f"price {model.model}", "unknown", remedy)


@dataclass(frozen=True)
class _Listing:
    finding: Finding
    names: tuple[str, ...] | None = None
    """``None``: the server does not say."""


def _listed(model: ServedModel, server: _Listing | None) -> Iterator[Finding]:
    if server is None or server.names is None:
        return
    if model.model in server.names:
        yield ok(f"model {model.model}", "is on the server's list")
        return
    others = ", ".join(server.names[:_SHOWN]) + (", …" if len(server.names) > _SHOWN else "")
    what = f"is not on the server's list{f' ({others})' if others else ''}"
    yield warn(f"model {model.model}", what, "check the name, or pull the model there")


class _NoRedirect(urllib.request.HTTPRedirectHandler):
    """A key must not follow to another server."""

    def redirect_request(self, *_: Any) -> None:
        return None


def _listing(base_url: str, api_key_env: str | None) -> _Listing:
    what = f"server {base_url}"
    request = urllib.request.Request(f"{base_url}/models", headers={"Accept": "application/json"})  # noqa: S310
    if api_key_env is not None:
        request.add_unredirected_header("Authorization", f"Bearer {os.environ.get(api_key_env, '')}")
    # Calls of a run do not go through a proxy of the environment, so this look does not either.
    opener = urllib.request.build_opener(urllib.request.ProxyHandler({}), _NoRedirect)
    try:
        with opener.open(request, timeout=TIMEOUT_S) as answer:
            names = _names(answer.read(_MOST_BYTES))
    except urllib.error.HTTPError as answer:
        return _Listing(_refusal(what, answer.code, api_key_env))
    except (OSError, ValueError) as error:
        reason = getattr(error, "reason", error)
        return _Listing(fail(what, f"does not answer ({reason})", "start it, or correct endpoint.base_url"))
    return _Listing(ok(what, "answers"), names)


def _refusal(what: str, code: int, api_key_env: str | None) -> Finding:
    if code in (401, 403):
        remedy = f"check the key in {api_key_env}" if api_key_env else "name its key's variable as api_key_env"
        return fail(what, f"refuses us (HTTP {code})", remedy)
    if code >= 500:
        return fail(what, f"answers with HTTP {code}", "look at the server, or try again later")
    return warn(what, f"answers, but has no list of models (HTTP {code})", "doctor --probe asks the models themselves")


def _names(content: bytes) -> tuple[str, ...] | None:
    try:
        listed = json.loads(content)["data"]
        return tuple(sorted(str(entry["id"]) for entry in listed))
    except (ValueError, KeyError, TypeError):
        return None
