"""The door: every model call of every part leaves through here, is paid once, and stands in the ledger."""

from __future__ import annotations

import secrets
import uuid
from collections.abc import AsyncIterator, Awaitable, Callable, Collection, Mapping, Sequence
from contextlib import AsyncExitStack, asynccontextmanager
from datetime import UTC, datetime
from decimal import Decimal
from pathlib import Path
from typing import TYPE_CHECKING, Any

from runner.calls import endpoints
from runner.calls.asks import Ask, Landed
from runner.calls.bodies import APIS, body_as_meant, path_of
from runner.calls.context import current
from runner.calls.core import Core
from runner.calls.deadlines import clock
from runner.calls.history import History, answered, history
from runner.calls.keys import call_key
from runner.calls.prices import Priced, price
from runner.calls.replies import Reading, parsed, read_reply
from runner.calls.requests import ChatRequest, ModelEndpoint, Reply
from runner.calls.totals import Spent
from runner.calls.tries import Rules
from runner.calls.wires import Address, SdkWire, api_key
from runner.config.schema import Budget, Calls, Endpoint, Price
from runner.records import Call, Usage

if TYPE_CHECKING:
    import httpx
    import httpx2
    import openai

    from runner.calls.embedded import EmbeddedServers
    from runner.calls.entrance import Entrance


class Door:
    """What ``open_door`` gives: asks models, through the ledger."""

    def __init__(self, core: Core) -> None:
        self._core = core
        self._wires: dict[tuple[str, str | None], SdkWire] = {}
        self._transports: dict[str, httpx2.AsyncBaseTransport] = {}
        self._servers: EmbeddedServers | None = None
        self._exits = AsyncExitStack()

    # --- asking ------------------------------------------------------------------------------------------------

    def endpoint(self, endpoint: Endpoint, model: str) -> ModelEndpoint:
        """Where this model is served, checked as far as that goes without a call.

        Raises ConfigurationError for a missing key (where calls are made) or address, and for a model of unknown price
        under a cap.
        """
        if endpoint.provider == "embedded":
            found = endpoints.embedded(endpoint, model, self._embedded().identity(model))
        else:
            found = endpoints.resolve(endpoint, model, needs_key=not self.offline)
            self._core.redactor.learn(api_key(found))
        self._core.purse.cap.check_models([(found.provider, model)], self._core.rules.overrides)
        return found

    async def chat(self, request: ChatRequest, *, again: bool = False) -> Reply:
        """Ask a chat model, or replay what it said. Never raises for what a model or its server does wrong.

        ``again``: ask although the ledger has a reply (once in the life of this door). Raises SweepStopped,
        JobStopped, BudgetReached and StorageError.
        """
        path = path_of(request)
        body = body_as_meant(request)
        key = call_key(request.endpoint.identity, path, body, repeat=request.repeat, reask=request.reask)
        ask = Ask(
            key=key,
            endpoint=request.endpoint,
            path=path,
            api=APIS[path],
            model=request.model,
            body=body,
            context=current(),
            wire=self._wire(request.endpoint),
            limit=request.max_tokens,
            adaptable=True,
            repeat=request.repeat,
            reask=request.reask,
        )
        landed, call = await self._core.call(ask, again=again)
        return _reply(ask.api, landed, call)

    def _wire(self, endpoint: ModelEndpoint) -> SdkWire:
        place = (endpoint.base_url, endpoint.api_key_env)
        wire = self._wires.get(place)
        if wire is None:
            wire = self._wires[place] = SdkWire(lambda: self._address(endpoint))
            self._exits.push_async_callback(wire.close)
        return wire

    async def _address(self, endpoint: ModelEndpoint) -> Address:
        """Where the server is now; starts the embedded one where it is meant."""
        if endpoint.provider != "embedded":
            return Address(endpoint.base_url, api_key(endpoint))
        servers = self._embedded()
        with clock.standing_still():
            base_url = await servers.base_url(endpoint.base_url.removeprefix(endpoints.EMBEDDED))
        return Address(base_url, servers.api_key)

    def _embedded(self) -> EmbeddedServers:
        if self._servers is None:
            from runner.calls.embedded import EmbeddedServers

            # Other users of the machine can reach loopback, too.
            key = secrets.token_hex(16)
            self._core.redactor.learn(key)
            self._servers = EmbeddedServers(api_key=key)
            self._exits.callback(self._servers.close)
        return self._servers

    # --- clients for other code ----------------------------------------------------------------------------------

    def async_openai_client(self, endpoint: ModelEndpoint) -> openai.AsyncOpenAI:
        """An SDK client whose calls are in the same ledger, limits and budget. It holds no key."""
        from runner.calls import clients

        return clients.async_openai_client(self._entrance(endpoint), endpoint)

    def openai_client(self, endpoint: ModelEndpoint) -> openai.OpenAI:
        """The same for synchronous code, which must run in a thread."""
        from runner.calls import clients

        return clients.openai_client(self._entrance(endpoint), endpoint)

    def async_http_client(self, endpoint: ModelEndpoint) -> httpx2.AsyncClient:
        """An HTTP client for libraries that make their own SDK client (``http_async_client`` of langchain-openai).

        Whatever key they send is replaced by the endpoint's own.
        """
        from runner.calls import clients

        return clients.async_http_client(self._entrance(endpoint))

    def http_client(self, endpoint: ModelEndpoint) -> httpx2.Client:
        """The same for synchronous code, which must run in a thread."""
        from runner.calls import clients

        return clients.http_client(self._entrance(endpoint))

    def legacy_http_clients(self, endpoint: ModelEndpoint) -> tuple[httpx.Client, httpx.AsyncClient]:
        """The same for code that speaks the older ``httpx``: (synchronous, asynchronous)."""
        from runner.calls import clients

        return clients.legacy_clients(self._entrance(endpoint))

    def client_base_url(self, endpoint: ModelEndpoint) -> str:
        """The base URL for an SDK client that is made around one of these HTTP clients."""
        from runner.calls import clients

        return clients.local_base(endpoint)

    def _entrance(self, endpoint: ModelEndpoint) -> Entrance:
        from runner.calls.entrance import Entrance

        return Entrance(
            self._core, endpoint, lambda: self._address(endpoint), self._transport, self.client_base_url(endpoint)
        )

    def _transport(self, base_url: str) -> httpx2.AsyncBaseTransport:
        """The connections to a server, shared by all clients; only ever used in the door's own event loop."""
        from runner.calls.http import PooledTransport

        transport = self._transports.get(base_url)
        if transport is None:
            transport = self._transports[base_url] = PooledTransport(base_url)
            self._exits.push_async_callback(transport.aclose)
        return transport

    # --- for a user's own application ----------------------------------------------------------------------------

    def closes_with(self, close: Callable[[], Awaitable[object]]) -> None:
        """Await this when the door is closed, after what is under way has ended."""
        self._exits.push_async_callback(close)

    def redacted(self, text: str, *secrets_of_caller: str) -> str:
        """The text without the keys that this door knows, and without these from now on."""
        for secret in secrets_of_caller:
            self._core.redactor.learn(secret)
        return self._core.redactor.text(text)

    def priced(self, provider: str, model: str, usage: Usage) -> Priced:
        """What this usage costs now by the prices of this door."""
        return price(provider, model, usage, at=datetime.now(UTC), overrides=self._core.rules.overrides)

    # --- looking -------------------------------------------------------------------------------------------------

    @property
    def retry_failed(self) -> bool:
        """Whether what failed before is to be asked again (``calls.retry_failed``)."""
        return self._core.rules.settings.retry_failed

    @property
    def offline(self) -> bool:
        """Whether this door makes no call, and only answers from the ledger."""
        return self._core.rules.offline

    @property
    def new_spend(self) -> Decimal:
        """US dollars paid through this door so far, as far as prices are known."""
        return self._core.totals.new_cost

    @property
    def whole_new_spend(self) -> Decimal | None:
        """The same where every price is known; ``None`` where one is not."""
        return self._core.totals.new_cost if self._core.totals.all_priced else None

    def spent(self) -> Spent:
        """Calls, tokens and money so far."""
        return self._core.totals.spent()

    def held(self, keys: Collection[str]) -> set[str]:
        """Those keys that the ledger answers without a call."""
        return self._core.ledger.held(keys)

    def refused(self, endpoint: ModelEndpoint, model: str) -> frozenset[str]:
        """The parameters that this model is known to refuse, or was seen to through this door."""
        return self._core.attempts.refused(endpoint, model)

    def history(self) -> Mapping[tuple[str, str], History]:
        """(stage, model) → what its replies have come to so far."""
        return history(self._core.ledger)

    def answered(self) -> Mapping[tuple[str, str, str], int]:
        """(stage, model, question) → how many different calls the ledger answers."""
        return answered(self._core.ledger)

    def remember_text(self, kind: str, name: str, version: str, text: str, *, replace: bool = False) -> str | None:
        """Note which text a version of a rubric or prompt has; returns the other text that it had before, if any."""
        return self._core.ledger.remember_text(kind, name, version, text, replace=replace)

    def text_versions(self, kind: str, name: str) -> frozenset[str]:
        """The versions of a rubric or prompt whose text is noted."""
        return self._core.ledger.text_versions(kind, name)

    async def close(self) -> None:
        """End what is under way and let go of clients, servers and the ledger."""
        try:
            await self._core.close()
        finally:
            await self._exits.aclose()


@asynccontextmanager
async def open_door(
    calls: Calls,
    budget: Budget,
    prices: Sequence[Price],
    *,
    home: Path,
    metadata: Mapping[str, str] | None = None,
    sweep: str | None = None,
    offline: bool = False,
) -> AsyncIterator[Door]:
    """The door of one sweep, open inside the block.

    ``metadata``: tags for the provider's dashboard, no part of any key. ``sweep``: its id; processes that give the
    same one share its cap. ``offline``: no call is made; what the ledger does not hold raises NotInLedger.
    Raises ConfigurationError and StorageError.
    """
    rules = Rules(calls, tuple(prices), dict(metadata or {}), sweep or uuid.uuid4().hex, offline=offline)
    door = Door(Core(rules, budget, home, shared=sweep is not None))
    try:
        yield door
    finally:
        await door.close()


def _reply(api: str, landed: Landed, call: Call) -> Reply:
    final = landed.final
    received = landed.received
    reading = Reading("", "", "", "")
    if received is not None and received.response is not None and received.http_status == 200:
        told: Any = parsed(received.response)
        reading = read_reply(api, told)
    if landed.reason or final is None:
        return Reply("failed", reading.text, landed.reason, landed.detail, call)
    if final.status != "ok":
        return Reply("failed", reading.text, final.status, final.detail, call, reading.logprobs)
    return Reply("ok", reading.text, "", "", call, reading.logprobs)
