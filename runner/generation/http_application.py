"""An HTTP service of the user's as the generator: a JSON body from a template, the answer by its path in the reply."""

from __future__ import annotations

import os
import re
from collections.abc import Mapping
from copy import deepcopy
from typing import TYPE_CHECKING, Any

from runner.calls.outcomes import LONGEST_WAIT_S, retry_after
from runner.config.schema import Calls, Generator
from runner.errors import ConfigurationError, Problem
from runner.generation.application import Application, NoAnswer
from runner.generation.replies import decoded, parsed
from runner.generation.returned import select
from runner.importing import loaded
from runner.records import Question, Reason, http_reason
from runner.text.surrogates import without_surrogates_within

if TYPE_CHECKING:
    import httpx2

    from runner.calls import Door

_PLACE = re.compile(r"\{(question|id)\}")
_WHOLE = re.compile(r"^\{(settings|contexts)\}$")
_AGAIN = frozenset({408, 409, 425, 429})
_SHOWN = 200
"""Characters of a reply that a message shows."""


class HttpApplication(Application):
    """Posts each question to ``generator.url``; 429, 5xx, timeouts and cut connections are tried again."""

    timeouts_again = True

    def __init__(self, generator: Generator, door: Door, calls: Calls) -> None:
        """Raises ConfigurationError where a header's variable is not set; nothing is sent."""
        super().__init__(generator.url, generator, door, calls)
        missing = [name for name in generator.headers_env.values() if not os.environ.get(name)]
        if missing:
            problem = "is not set, and generator.headers_env names it"
            raise ConfigurationError([Problem(name, problem, "export it or write it into .env") for name in missing])
        self._headers = {header: os.environ[name] for header, name in generator.headers_env.items()}
        door.redacted("", *self._headers.values())
        self._client: httpx2.AsyncClient | None = None

    async def ask(self, question: Question, contexts: tuple[str, ...]) -> Any:
        """Answer, contexts and usage as the reply holds them."""
        import httpx2

        generator = self._generator
        body = without_surrogates_within(fill(generator.request, question, contexts, generator.settings))
        try:
            client = self._client or await self._open()
            response = await client.post(generator.url, json=body, headers=self._headers)
        except httpx2.TimeoutException as error:
            raise NoAnswer(Reason.TIMEOUT, f"{self._name} gave no answer in time ({error})", again=True) from None
        except httpx2.HTTPError as error:
            detail = f"{self._name} cannot be reached ({error or type(error).__name__})"
            raise NoAnswer(Reason.CONNECTION, detail, again=True) from None
        status = response.status_code
        if not 200 <= status < 300:
            wait = retry_after(response.headers)
            again = (status in _AGAIN or status >= 500) and (wait is None or wait <= LONGEST_WAIT_S)
            said = f"{self._name} answered {status}: {response.text[:_SHOWN]}"
            raise NoAnswer(http_reason(status), said, again=again, wait_s=wait)
        return self._read(decoded(response.content, response.charset_encoding))

    def _read(self, text: str) -> Any:
        generator = self._generator
        if not generator.answer_path and generator.contexts_path is None and generator.usage_path is None:
            return text
        told = parsed(text)
        found: dict[str, Any] = {"answer": select(told, generator.answer_path)}
        if generator.contexts_path is not None:
            contexts = select(told, generator.contexts_path)
            found["contexts"] = [contexts] if isinstance(contexts, str) else contexts
        if generator.usage_path is not None:
            found["usage"] = select(told, generator.usage_path)
        return found

    async def _open(self) -> httpx2.AsyncClient:
        await loaded("runner.calls.http")
        import httpx2

        from runner.calls.http import PooledTransport

        if self._client is None:
            # Redirects are not followed: the headers may hold a key that is meant for this address alone.
            self._client = httpx2.AsyncClient(
                transport=PooledTransport(self._generator.url), timeout=None, follow_redirects=False, trust_env=False
            )
            self._door.closes_with(self._client.aclose)
        return self._client


def fill(template: Any, question: Question, contexts: tuple[str, ...], settings: Mapping[str, Any]) -> Any:
    """The request body: ``{question}`` and ``{id}`` put into texts in one pass, all other braces stay."""
    if isinstance(template, Mapping):
        return {key: fill(value, question, contexts, settings) for key, value in template.items()}
    if isinstance(template, (list, tuple)):
        return [fill(value, question, contexts, settings) for value in template]
    if not isinstance(template, str):
        return template
    whole = _WHOLE.match(template)
    if whole is not None:
        return list(contexts) if whole.group(1) == "contexts" else deepcopy(dict(settings))
    values = {"question": question.text, "id": question.id}
    return _PLACE.sub(lambda place: values[place.group(1)], template)
