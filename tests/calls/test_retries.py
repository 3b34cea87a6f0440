"""Every way in which an attempt can end is judged once: what to do, why, for how long to wait, what to tell people."""

from __future__ import annotations

import asyncio
import json
import random
from collections.abc import Callable
from datetime import UTC, datetime, timedelta
from email.utils import format_datetime
from typing import Any

import httpx
import httpx2
import openai
import pytest
from hypothesis import given
from hypothesis import strategies as st

from runner.calls.retries import Kind, Outcome, backoff, classify, retry_after
from tests.fakes.faults import fault, http_answer
from tests.fakes.model_server import ModelServer

SECRET = "sk-proj-ABCDEFGHIJKLMNOP"


def judge(status: int, error: Any = None, headers: dict[str, str] | None = None) -> Outcome:
    body = b"" if error is None else json.dumps({"error": error}).encode()
    return classify(status, headers or {}, body, model="gpt-x", api_key_env="OPENAI_API_KEY", base_url="http://host/v1")


def answered(kind: str, **values: Any) -> Outcome:
    made = http_answer(fault(kind, **values), "gpt-x")
    assert made is not None
    return classify(made[0], made[2], json.dumps(made[1]).encode(), model="gpt-x", api_key_env="OPENAI_API_KEY")


@pytest.mark.parametrize(
    ("kind", "expected", "reason"),
    [
        ("rate_limited", Kind.RETRY, "http_429"),
        ("insufficient_quota", Kind.STOP_SWEEP, "http_429"),
        ("server_error", Kind.RETRY, "http_500"),
        ("unauthorized", Kind.STOP_SWEEP, "http_401"),
        ("forbidden", Kind.STOP_SWEEP, "http_403"),
        ("model_not_found", Kind.STOP_JOB, "http_404"),
        ("content_filter_400", Kind.FAIL, "content_filter"),
        ("context_length", Kind.FAIL, "http_400"),
        ("bad_request", Kind.FAIL, "http_400"),
    ],
)
def test_what_providers_answer(kind: str, expected: Kind, reason: str) -> None:
    outcome = answered(kind)
    assert (outcome.kind, outcome.reason) == (expected, reason)
    assert outcome.detail
    assert "\n" not in outcome.detail
    assert "sk-" not in outcome.detail


@pytest.mark.parametrize("status", [408, 409, 425, 429, 500, 502, 503, 504, 520])
def test_worth_a_retry(status: int) -> None:
    outcome = judge(status)
    assert (outcome.kind, outcome.reason, outcome.possibly_paid) == (Kind.RETRY, f"http_{status}", False)
    assert outcome.slow_down is (status == 429)


@pytest.mark.parametrize("status", [301, 405, 410, 413, 415, 418, 501])
def test_not_worth_a_retry(status: int) -> None:
    outcome = judge(status)
    assert (outcome.kind, outcome.reason) == (Kind.FAIL, f"http_{status}")


def test_the_servers_own_word_on_retrying_counts() -> None:
    assert judge(500, headers={"x-should-retry": "false"}).kind is Kind.FAIL
    assert judge(400, headers={"x-should-retry": "true"}).kind is Kind.RETRY
    assert judge(401, headers={"x-should-retry": "true"}).kind is Kind.STOP_SWEEP


@pytest.mark.parametrize(
    ("status", "error"),
    [
        (429, {"code": "insufficient_quota", "message": "You exceeded your current quota"}),
        (429, {"type": "insufficient_quota", "code": None, "message": "quota"}),
        (400, {"code": "billing_hard_limit_reached", "message": "Billing hard limit has been reached"}),
        (402, {"message": "Insufficient Balance"}),
    ],
)
def test_no_quota_stops_the_sweep_with_one_sentence(status: int, error: dict[str, Any]) -> None:
    outcome = judge(status, error)
    assert outcome.kind is Kind.STOP_SWEEP
    assert "add credit or use another key" in outcome.detail


def test_a_refused_key_names_the_variable_and_not_the_key() -> None:
    outcome = judge(401, {"code": "invalid_api_key", "message": f"Incorrect API key provided: {SECRET}."})
    assert "OPENAI_API_KEY" in outcome.detail
    assert "ABC" not in outcome.detail


def test_no_secret_survives_in_a_detail() -> None:
    outcome = judge(500, {"message": f"bad header Authorization: Bearer {SECRET} for {SECRET}"})
    assert "ABC" not in outcome.detail
    assert "***" in outcome.detail


def test_unknown_models_end_the_job_whatever_the_server_calls_it() -> None:
    for status, error in [
        (404, {"code": "model_not_found", "message": "The model `x` does not exist"}),
        (403, {"code": "model_not_found", "message": "Project `p` does not have access to model `x`"}),
        (404, {"message": 'model "x" not found, try pulling it first', "type": "api_error", "code": None}),
        (404, {"message": "The model `x` does not exist.", "type": "NotFoundError", "code": 404}),
        (404, "model 'x' not found"),
    ]:
        outcome = judge(status, error)
        assert outcome.kind is Kind.STOP_JOB
        assert "gpt-x" in outcome.detail
    assert "base_url" in classify(404, {}, b"404 page not found").detail


def refusal(message: str, code: str | None = "unsupported_value", param: str | None = None) -> Outcome:
    return judge(400, {"message": message, "type": "invalid_request_error", "param": param, "code": code})


@pytest.mark.parametrize("name", ["temperature", "top_p", "max_tokens", "logprobs", "response_format", "seed"])
def test_refused_parameters_are_named(name: str) -> None:
    for code in ("unsupported_value", "unsupported_parameter"):
        outcome = answered("refused_parameter", parameter=name, code=code)
        assert (outcome.kind, outcome.parameter, outcome.reason) == (Kind.DROP_PARAMETER, name, "http_400")


@pytest.mark.parametrize(
    ("message", "code", "param", "parameter"),
    [
        ("Unsupported value: 'temperature' does not support 0 here.", "unsupported_value", None, "temperature"),
        (
            "Unsupported parameter: 'max_tokens' is not supported. Use 'max_completion_tokens' instead.",
            "unsupported_parameter",
            None,
            "max_tokens",
        ),
        ("Unrecognized request argument supplied: max_completion_tokens", None, None, "max_completion_tokens"),
        ("Invalid parameter: 'response_format' is not supported here.", None, "response_format", "response_format"),
        ("This response_format type is unavailable now", None, None, "response_format"),
        ("Unsupported parameter: 'text.format'", "unsupported_parameter", "text.format", "text"),
        ("logprobs is not supported by this model", None, None, "logprobs"),
        ("top_logprobs: Extra inputs are not permitted", None, None, "top_logprobs"),
    ],
)  # fmt: skip
def test_refusals_in_the_words_of_many_servers(
    message: str, code: str | None, param: str | None, parameter: str
) -> None:
    outcome = refusal(message, code, param)
    assert (outcome.kind, outcome.parameter) == (Kind.DROP_PARAMETER, parameter)


@pytest.mark.parametrize(
    ("message", "code", "param"),
    [
        ("Invalid schema for response_format 'verdict': required", "invalid_json_schema", "response_format"),
        ("Invalid 'temperature': decimal above maximum value. Expected <= 2", "decimal_above_max_value", "temperature"),
        ("Unsupported value: 'messages' does not support 'system'", "unsupported_value", "messages[0].role"),
        ("'n' is not supported", "unsupported_parameter", "n"),
        ("Something else", None, None),
    ],
)  # fmt: skip
def test_what_cannot_be_dropped_fails(message: str, code: str | None, param: str | None) -> None:
    outcome = refusal(message, code, param)
    assert (outcome.kind, outcome.reason) == (Kind.FAIL, "http_400")
    assert message[:20] in outcome.detail


# -- waiting


def date(seconds: float) -> str:
    return format_datetime(datetime.now(UTC) + timedelta(seconds=seconds), usegmt=True)


@pytest.mark.parametrize(
    ("headers", "expected"),
    [
        ({}, None),
        ({"retry-after": "7"}, 7.0),
        ({"Retry-After": "1.5"}, 1.5),
        ({"retry-after-ms": "250"}, 0.25),
        ({"retry-after-ms": "250", "retry-after": "9"}, 0.25),
        ({"retry-after-ms": "soon", "retry-after": "9"}, 9.0),
        ({"retry-after": "-3"}, 0.0),
        ({"retry-after": "inf"}, None),
        ({"retry-after": "nan"}, None),
        ({"retry-after": "in a while"}, None),
        ({"retry-after": ""}, None),
        ({"retry-after": "Mon, 99 Zzz 2026 00:00:00 GMT"}, None),
    ],
)
def test_retry_after_in_all_forms(headers: dict[str, str], expected: float | None) -> None:
    assert retry_after(headers) == expected
    assert retry_after(httpx2.Headers(headers)) == expected
    assert retry_after(httpx.Headers(headers)) == expected


def test_retry_after_as_a_date() -> None:
    assert retry_after({"retry-after": date(30)}) == pytest.approx(30, abs=2)
    assert retry_after({"retry-after": date(-30)}) == 0


def test_a_wait_above_two_minutes_is_not_waited_for() -> None:
    assert judge(429, headers={"retry-after": "120"}).retry_after_s == 120
    outcome = judge(429, headers={"retry-after": "3600"})
    assert (outcome.kind, outcome.reason, outcome.slow_down) == (Kind.FAIL, "http_429", True)
    assert "3600 s" in outcome.detail


@given(st.integers(0, 5000), st.integers(0, 1000))
def test_backoff_grows_to_a_ceiling(attempt: int, seed: int) -> None:
    full = min(0.5 * 2 ** min(attempt, 10), 8.0)
    assert full * 0.75 <= backoff(attempt, judge(500), random.Random(seed)) <= full


@given(st.floats(0, 120), st.integers(0, 50))
def test_backoff_waits_at_least_as_long_as_the_server_asked(seconds: float, attempt: int) -> None:
    outcome = Outcome(Kind.RETRY, retry_after_s=seconds)
    assert seconds <= backoff(attempt, outcome, random.Random(1)) <= min(120.0, seconds * 1.1 + 1e-9)


# -- a 200 that is none


def test_a_real_reply_is_ok() -> None:
    for body in (b'{"choices": [{}]}', b'{"output": [], "error": null}', b'{"data": []}', b"{}"):
        assert classify(200, {}, body) == Outcome(Kind.OK)


def test_a_page_instead_of_json_is_tried_again_and_possibly_paid() -> None:
    for body in (b"<html>Bad gateway</html>", b'{"choices": [', b"", b"[1]", b"\xff\xfe"):
        outcome = classify(200, {}, body)
        assert (outcome.kind, outcome.reason, outcome.possibly_paid) == (Kind.RETRY, "malformed", True)
    page = classify(200, {}, b"<html>Log in</html>", base_url="http://proxy.example")
    assert "http://proxy.example answered 200 with a web page" in page.detail
    assert "endpoint.base_url" in page.detail


def test_an_error_inside_a_200() -> None:
    gateway = b'{"error": {"message": "slow down", "code": 429}}'
    assert classify(200, {}, gateway).slow_down
    failed = (
        b'{"object": "response", "status": "failed", "output": [], "error": {"code": "server_error", "message": "x"}}'
    )
    assert (classify(200, {}, failed).kind, classify(200, {}, failed).reason) == (Kind.RETRY, "http_500")
    filtered = b'{"error": {"code": "content_filter", "message": "x"}}'
    assert classify(200, {}, filtered).reason == "content_filter"


# -- exceptions


@pytest.mark.parametrize("http", [httpx, httpx2])
@pytest.mark.parametrize(
    ("name", "kind", "reason", "paid"),
    [
        ("ReadTimeout", Kind.RETRY, "timeout", True),
        ("WriteTimeout", Kind.RETRY, "timeout", True),
        ("ConnectTimeout", Kind.RETRY, "timeout", False),
        ("PoolTimeout", Kind.RETRY, "timeout", False),
        ("ConnectError", Kind.RETRY, "connection", False),
        ("RemoteProtocolError", Kind.RETRY, "connection", True),
        ("ReadError", Kind.RETRY, "connection", True),
        ("DecodingError", Kind.RETRY, "connection", True),
        ("UnsupportedProtocol", Kind.STOP_JOB, "connection", False),
    ],
)
def test_what_the_transport_raises(http: Any, name: str, kind: Kind, reason: str, paid: bool) -> None:
    outcome = classify(error=getattr(http, name)("it broke"), base_url="http://host/v1")
    assert (outcome.kind, outcome.reason, outcome.possibly_paid) == (kind, reason, paid)
    assert "http://host/v1" in outcome.detail


def test_what_the_standard_library_raises() -> None:
    for error in (TimeoutError(), openai.APITimeoutError(request=httpx2.Request("POST", "http://host"))):
        assert (classify(error=error).reason, classify(error=error).possibly_paid) == ("timeout", True)
    assert not classify(error=ConnectionRefusedError()).possibly_paid
    assert classify(error=ConnectionResetError()).possibly_paid


def test_our_own_faults_are_not_called_a_connection() -> None:
    for error in (KeyError("x"), AttributeError(), asyncio.CancelledError(), KeyboardInterrupt()):
        with pytest.raises(type(error)):
            classify(error=error)
    with pytest.raises(TypeError):
        classify()


@pytest.mark.parametrize(
    ("kind", "expected"),
    [
        ("cut", ("connection", True)),
        ("refuse_connection", ("connection", True)),
        ("hang", ("timeout", True)),
        ("rate_limited", ("http_429", False)),
    ],
)
def test_through_a_real_connection_and_the_sdk(
    model_server: ModelServer, kind: str, expected: tuple[str, bool]
) -> None:
    def by_sdk() -> None:
        client = openai.OpenAI(base_url=model_server.base_url, api_key="sk-fake", max_retries=0, timeout=0.3)
        client.chat.completions.create(model="m", messages=[{"role": "user", "content": "x"}])

    def by_httpx() -> None:
        url = model_server.base_url + "/chat/completions"
        httpx2.post(url, json={"model": "m", "messages": []}, timeout=0.3).raise_for_status()

    calls: list[Callable[[], None]] = [by_sdk, by_httpx]
    for call in calls:
        model_server.queue(kind)
        with pytest.raises(Exception) as caught:  # noqa: PT011 - which one depends on the client
            call()
        outcome = classify(error=caught.value)
        assert outcome.kind is Kind.RETRY
        assert (outcome.reason, outcome.possibly_paid) == expected


def test_nobody_listens() -> None:
    with pytest.raises(httpx2.ConnectError) as caught:
        httpx2.get("http://127.0.0.1:9/v1")
    assert (classify(error=caught.value).reason, classify(error=caught.value).possibly_paid) == ("connection", False)


@given(st.integers(100, 599), st.binary(max_size=60), st.dictionaries(st.text(max_size=15), st.text(max_size=15)))
def test_fuzz_bytes(status: int, body: bytes, headers: dict[str, str]) -> None:
    assert isinstance(classify(status, headers, body), Outcome)


JSON = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats() | st.text(max_size=5),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=5), inner, max_size=3),
    max_leaves=6,
)
ERROR_NAMES = st.sampled_from(["error", "message", "code", "type", "param", "detail", "choices", "data", "status"])


@given(
    st.sampled_from([200, 400, 403, 404, 422, 429, 500]),
    st.dictionaries(ERROR_NAMES, JSON | st.dictionaries(ERROR_NAMES, JSON)),
    st.dictionaries(st.sampled_from(["retry-after", "retry-after-ms", "x-should-retry"]), st.text(max_size=9)),
)
def test_fuzz_error_objects(status: int, told: dict[str, Any], headers: dict[str, str]) -> None:
    outcome = classify(status, headers, json.dumps(told).encode())
    assert isinstance(outcome, Outcome)
    assert outcome.kind is Kind.OK or outcome.detail
