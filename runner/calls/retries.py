"""What to do after one attempt: go on, wait and try again, drop a parameter, fail, end the job or end the sweep.

The one owner of retries: SDK clients are made with ``max_retries=0``. Rules follow the OpenAI SDK 3.57 (408, 409, 429
and 5xx are worth a retry; ``x-should-retry`` decides where the server sends it; ``retry-after-ms``, ``retry-after`` in
seconds or as a date, up to 120 s) and add what no waiting cures.
"""

from __future__ import annotations

import random
from collections.abc import Mapping
from typing import Any

from runner.calls.outcomes import LONGEST_WAIT_S, Kind, Outcome, retry_after
from runner.calls.refusals import Asked, of_error, parsed, plain, status_inside
from runner.records import Reason

__all__ = ["LONGEST_WAIT_S", "OK", "Kind", "Outcome", "backoff", "classify", "retry_after"]

_FIRST_WAIT_S = 0.5
_LONGEST_BACKOFF_S = 8.0
OK = Outcome(Kind.OK)

# Exceptions go by the names of their classes, so that no HTTP client has to be imported; these are the names in httpx,
# httpx2, openai, aiohttp and the standard library. The first line that fits counts.
_NO_CONNECTION_IN_TIME = frozenset({"ConnectTimeout", "PoolTimeout", "ConnectionTimeoutError"})
_NO_ANSWER_IN_TIME = frozenset({"TimeoutException", "TimeoutError", "APITimeoutError"})
_IMPOSSIBLE = frozenset({"UnsupportedProtocol", "InvalidURL", "LocalProtocolError"})
_NO_CONNECTION = frozenset({"ConnectError", "ProxyError", "ConnectionRefusedError", "gaierror", "ClientConnectorError"})
_CUT = frozenset(
    {"TransportError", "DecodingError", "StreamError", "ConnectionError", "OSError", "IncompleteReadError"}
    | {"APIConnectionError", "ClientConnectionError", "ClientPayloadError"}
)


def classify(
    status: int | None = None,
    headers: Mapping[str, str] | None = None,
    body: bytes = b"",
    *,
    error: BaseException | None = None,
    told: Any = None,
    model: str = "",
    api_key_env: str | None = None,
    base_url: str = "",
) -> Outcome:
    """Judge one attempt by its HTTP answer, or by the exception (``error``) where none came.

    ``told``: the parsed body, where it has been parsed already. The last three are only for the sentences. An exception
    that no transport raises is raised again: it is a fault of ours, not of the wire.
    """
    asked = Asked(model, base_url, api_key_env)
    if error is not None:
        return _of_exception(error, asked)
    if status is None:
        raise TypeError("classify needs a status or an error")
    headers = headers or {}
    told = parsed(body) if told is None else told
    if 200 <= status < 300:
        if not isinstance(told, Mapping):
            detail = f"the server answered {status} with something that is not JSON"
            if body.lstrip()[:1] == b"<":
                detail = (
                    f"{base_url or 'the server'} answered {status} with a web page instead of JSON: check "
                    "endpoint.base_url (it usually ends in /v1), and whether a proxy stands in between"
                )
            return Outcome(Kind.RETRY, Reason.MALFORMED, detail, retry_after(headers), possibly_paid=True)
        inside = status_inside(told)
        if inside is None:
            return OK
        status = inside
    return of_error(status, headers, told, body, asked)


def backoff(attempt: int, outcome: Outcome, rng: random.Random) -> float:
    """Seconds to wait before the next attempt; ``attempt`` is 0 after the first one.

    What the server asked for is waited for in full, and up to a tenth longer so that not all come back together;
    otherwise 0.5 s doubled with every attempt to at most 8 s, less up to a quarter.
    """
    if outcome.retry_after_s is not None:
        return min(outcome.retry_after_s * (1 + 0.1 * rng.random()), LONGEST_WAIT_S)
    # The exponent is bounded because 2.0 ** 2000 overflows.
    return min(_FIRST_WAIT_S * 2.0 ** min(attempt, 10), _LONGEST_BACKOFF_S) * (1 - 0.25 * rng.random())


def _of_exception(error: BaseException, asked: Asked) -> Outcome:
    response = getattr(error, "response", None)
    if isinstance(getattr(response, "status_code", None), int):
        assert response is not None
        return of_error(
            response.status_code, response.headers, parsed(response.content), bytes(response.content), asked
        )
    names = {kind.__name__ for kind in type(error).__mro__}
    if "APIConnectionError" in names and "APITimeoutError" not in names and isinstance(error.__cause__, Exception):
        return _of_exception(error.__cause__, asked)
    server, why = asked.base_url or "the server", plain(str(error)) or type(error).__name__
    if names & _NO_CONNECTION_IN_TIME:
        outcome = Outcome(Kind.RETRY, Reason.TIMEOUT, f"no connection to {server} in time")
    elif names & _NO_ANSWER_IN_TIME:
        outcome = Outcome(Kind.RETRY, Reason.TIMEOUT, f"no answer from {server} in time", possibly_paid=True)
    elif names & _IMPOSSIBLE:
        detail = f"{server} cannot be called ({why}): check endpoint.base_url"
        outcome = Outcome(Kind.STOP_JOB, Reason.CONNECTION, detail)
    elif names & _NO_CONNECTION:
        outcome = Outcome(Kind.RETRY, Reason.CONNECTION, f"{server} cannot be reached ({why})")
    elif names & _CUT:
        detail = f"the connection to {server} ended before the answer was complete ({why})"
        outcome = Outcome(Kind.RETRY, Reason.CONNECTION, detail, possibly_paid=True)
    else:
        raise error
    return outcome
