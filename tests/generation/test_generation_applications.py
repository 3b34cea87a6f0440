"""A user's own application as the generator: what reaches it, what comes back, and every way in which it can fail."""

from __future__ import annotations

import asyncio
import json
import threading
from collections.abc import Iterator
from decimal import Decimal
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from runner.calls import calling, open_door
from runner.config.schema import Budget, Calls, Endpoint, Generator, Price, Prompt
from runner.errors import BudgetReached, ConfigurationError
from runner.generation import open_generator
from runner.generation.http_application import fill
from runner.generation.returned import Unusable, read, select
from runner.records import Answer, AnswerStatus, Chunk, Question, Reason, Retrieved
from tests.fakes.model_server import ModelServer

pytestmark = pytest.mark.usefixtures("home")
QUESTION = Question("q1", "When is it?", reference="Monday", gold=("d1",), metadata={"tag": "x"})
PASSAGES = (Retrieved(Chunk("c1", "d1", 0, "It is Monday."), 1, 1.0),)
PRICES = (Price(model="m", input=1.0, output=2.0),)


def write(text: str, name: str = "own_app.py") -> None:
    Path(name).write_text(text, encoding="utf-8")


def answers(
    generator: Generator,
    questions: tuple[Question, ...] = (QUESTION,),
    *,
    retrieved: tuple[Retrieved, ...] = (),
    cap: float | None = None,
    **calls: Any,
) -> list[Answer]:
    async def work() -> list[Answer]:
        limits = Calls(**{"retries": 0, **calls})
        async with open_door(limits, Budget(cap), PRICES, home=Path("home")) as door:
            opened = open_generator(generator, Prompt(id="p"), door, limits, retrieves=bool(retrieved))
            assert opened is not None

            async def one(question: Question) -> Answer:
                with calling(run="r", question=question.id, deadline=60):
                    return await opened.answer(question, retrieved)

            return list(await asyncio.gather(*(one(question) for question in questions)))

    return asyncio.run(work())


def from_callable(text: str, **values: Any) -> Answer:
    write(text)
    return answers(Generator(kind="callable", target="own_app:answer", model="", settings=values))[0]


# --- callable -------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("prefix", ["", "async "])
def test_a_function_is_given_what_it_names_and_no_secrets_of_the_question(prefix: str) -> None:
    given = from_callable(
        f"{prefix}def answer(text, settings, question, contexts):\n"
        "    assert question.reference is None and question.gold == () and contexts == []\n"
        "    return {'answer': f' {text} {question.id} {question.metadata[\"tag\"]} {settings[\"k\"]} ',\n"
        "            'contexts': ['a', 'b']}\n",
        k=3,
    )
    assert (given.status, given.text, given.contexts) == (AnswerStatus.ANSWERED, "When is it? q1 x 3", ("a", "b"))
    assert given.calls == ()


def test_what_is_retrieved_reaches_it_and_stands_as_contexts_where_it_returns_none() -> None:
    write("def answer(text, contexts): return contexts[0].upper()\n")
    generator = Generator(kind="callable", target="own_app:answer", model="")
    (given,) = answers(generator, retrieved=PASSAGES)
    assert (given.text, given.contexts) == ("IT IS MONDAY.", ("It is Monday.",))
    write("def answer(text): return text\n")
    with pytest.raises(ConfigurationError, match="would never reach it"):
        answers(generator, retrieved=PASSAGES)


@pytest.mark.parametrize(
    ("body", "reason", "said"),
    [
        ("return None", Reason.MALFORMED, "nothing"),
        ("return 7", Reason.MALFORMED, "int"),
        ("return {'text': 'x'}", Reason.MALFORMED, "there is: text"),
        ("return {'answer': 'x', 'contexts': 'y'}", Reason.MALFORMED, "contexts"),
        ("return {'answer': 'x', 'contexts': [1]}", Reason.MALFORMED, "int"),
        ("return {'answer': 'x', 'usage': {'input_tokens': -1}}", Reason.MALFORMED, "input_tokens=-1"),
        ("return ' '", Reason.EMPTY, "empty"),
        ("raise ValueError('no luck')", Reason.APPLICATION, "ValueError: no luck (own_app.py line 3)"),
        ("raise SystemExit(2)", Reason.APPLICATION, "SystemExit"),
        ("raise StopIteration", Reason.APPLICATION, "StopIteration"),
        ("raise TimeoutError", Reason.TIMEOUT, "TimeoutError"),
        ("raise ConnectionResetError", Reason.CONNECTION, "ConnectionResetError"),
    ],
)
def test_every_failure_is_a_failed_answer_with_its_reason(body: str, reason: str, said: str) -> None:
    given = from_callable(f"import os\ndef answer(text):\n    {body}\n")
    assert (given.status, given.reason) == (AnswerStatus.FAILED, reason)
    assert said in given.detail


@pytest.mark.parametrize(
    "text",
    [
        "import time\ndef answer(text): time.sleep(30)\n",
        "import asyncio\nasync def answer(text): await asyncio.sleep(30)\n",
    ],
)
def test_a_function_that_hangs_is_given_up_and_does_not_hold_the_process(text: str) -> None:
    write(text)
    generator = Generator(kind="callable", target="own_app:answer", model="", timeout_s=0.05)
    (given,) = answers(generator)
    assert (given.status, given.reason) == (AnswerStatus.FAILED, Reason.TIMEOUT)


def test_no_more_run_at_once_than_there_are_places() -> None:
    write(
        "import threading, time\nlock = threading.Lock()\nnow = most = 0\n"
        "def answer(text):\n    global now, most\n    with lock:\n        now += 1\n        most = max(most, now)\n"
        "    time.sleep(0.02)\n    with lock:\n        now -= 1\n    return str(most)\n"
    )
    asked = tuple(Question(f"q{n}", "Q") for n in range(9))
    given = answers(Generator(kind="callable", target="own_app:answer", model=""), asked, concurrency=3)
    assert max(int(one.text) for one in given) == 3


def test_a_changed_module_is_imported_again() -> None:
    assert from_callable("def answer(text): return 'one'\n").text == "one"
    assert from_callable("def answer(text): return 'two'\n").text == "two"


CLIENT = """
{0}def answer(text, client, model):
    said = [{1}client.chat.completions.create(model=model, max_tokens=9, messages=[{{"role": "user", "content": text}}])
            for _ in range(2)]
    return said[0].choices[0].message.content
"""


@pytest.mark.parametrize(("prefix", "wait"), [("", ""), ("async ", "await ")])
def test_calls_with_our_client_are_paid_once_and_stand_in_the_answer(
    prefix: str, wait: str, model_server: ModelServer
) -> None:
    write(CLIENT.format(prefix, wait))
    place = Endpoint("openai_compatible", model_server.base_url, None)
    generator = Generator(kind="callable", target="own_app:answer", model="m", endpoint=place)
    (first,) = answers(generator)
    assert first.status is AnswerStatus.ANSWERED
    assert [call.stage for call in first.calls] == ["generate", "generate"]
    tokens = model_server.tokens()
    assert sum(call.new_cost or 0 for call in first.calls) == Decimal(tokens.input + 2 * tokens.output) / 1_000_000
    # Equal requests within one question are two calls, also when they are replayed.
    assert model_server.count() == 2
    (second,) = answers(generator)
    assert model_server.count() == 2
    assert [call.key for call in second.calls] == [call.key for call in first.calls]
    assert all(call.from_ledger for call in second.calls)


def test_the_budget_ends_the_run_also_where_the_application_hides_its_error(model_server: ModelServer) -> None:
    write(
        "def answer(text, client, model):\n    try:\n        client.chat.completions.create(model=model, max_tokens=9,"
        " messages=[{'role': 'user', 'content': text}])\n    except Exception as error:\n"
        "        raise KeyError('hidden') from error\n"
    )
    place = Endpoint("openai_compatible", model_server.base_url, None)
    with pytest.raises(BudgetReached):
        answers(Generator(kind="callable", target="own_app:answer", model="m", endpoint=place), cap=0)
    assert model_server.count() == 0


def test_usage_that_it_reports_is_priced_and_its_own_price_wins() -> None:
    told = "def answer(text): return {'answer': 'x', 'usage': {'model': 'm', 'input_tokens': 10, 'output_tokens': 5%s}}"
    assert from_callable(told % "").calls[0].total_cost == Decimal("0.00002")
    assert from_callable(told % ", 'cost_usd': '0.5'").calls[0].new_cost == Decimal("0.5")


@pytest.mark.parametrize(
    ("target", "text", "said"),
    [
        ("own_app", "", "module:function"),
        ("no_such_module_here:answer", "", "there is no module"),
        ("own_app:missing", "", "has no missing"),
        ("own_app:answer", "answer = 7", "not a function"),
        ("own_app:answer", "class answer: pass", "a class"),
        ("own_app:answer", "def answer(): pass", "takes no question"),
        ("own_app:answer", "def answer(text, database): pass", "needs database"),
        ("own_app:answer", "import os\n1 / 0", "ZeroDivisionError: division by zero (own_app.py line 2)"),
        ("own_app:answer", "import no_such_module_here", "No module named"),
        ("own_app:answer", "raise SystemExit", "SystemExit"),
        ("own_app:answer", "def answer(text, client): pass", "generator.model"),
        ("__import__('os').system('x'):y", "", "module:function"),
    ],
)
def test_what_cannot_be_used_is_said_before_anything_runs(target: str, text: str, said: str) -> None:
    write(text)
    with pytest.raises(ConfigurationError) as caught:
        answers(Generator(kind="callable", target=target, model=""))
    assert said in str(caught.value)


# --- http -----------------------------------------------------------------------------------------------------------


class _Service:
    """Answers with what is queued and keeps what it was asked."""

    def __init__(self) -> None:
        self.asked: list[tuple[dict[str, str], Any]] = []
        self.queue: list[tuple[int, str | bytes, dict[str, str]]] = []
        service = self

        class Handler(BaseHTTPRequestHandler):
            def do_POST(self) -> None:
                body = json.loads(self.rfile.read(int(self.headers["Content-Length"])))
                service.asked.append((dict(self.headers), body))
                status, text, headers = service.queue.pop(0)
                self.send_response(status)
                for name, value in headers.items():
                    self.send_header(name, value)
                sent = text.encode() if isinstance(text, str) else text
                self.send_header("Content-Length", str(len(sent)))
                self.end_headers()
                self.wfile.write(sent)

            def log_message(self, format: str, *arguments: object) -> None:
                return

        self.server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
        self.url = f"http://127.0.0.1:{self.server.server_port}/answer"


@pytest.fixture
def service() -> Iterator[_Service]:
    made = _Service()
    thread = threading.Thread(target=made.server.serve_forever, kwargs={"poll_interval": 0.01}, daemon=True)
    thread.start()
    yield made
    made.server.shutdown()
    made.server.server_close()


def by_http(service: _Service, **values: Any) -> Generator:
    return Generator(
        kind="http", url=service.url, model="", request={"q": ["{id}: {question}"], "s": "{settings}"}, **values
    )


def test_a_service_is_asked_by_the_template_and_read_by_the_paths(
    service: _Service, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("OWN_SECRET", "Token abcdefgh")
    reply = {"data": {"answer": "Monday"}, "docs": [{"t": "a"}, {"t": "b"}], "meta": {"cost_usd": 0.25}}
    service.queue.append((200, json.dumps(reply), {}))
    generator = by_http(
        service,
        settings={"k": 2},
        headers_env={"Authorization": "OWN_SECRET"},
        answer_path="data.answer",
        contexts_path="docs.*.t",
        usage_path="meta",
    )
    (given,) = answers(generator)
    assert (given.text, given.contexts, given.calls[0].total_cost) == ("Monday", ("a", "b"), Decimal("0.25"))
    ((headers, body),) = service.asked
    assert headers["Authorization"] == "Token abcdefgh"
    assert body == {"q": ["q1: When is it?"], "s": {"k": 2}}


@pytest.mark.parametrize(
    ("status", "text", "reason", "said"),
    [
        (404, "gone Token abcdefgh", "http_404", "gone ***"),
        (500, "oh", "http_500", "500"),
        (200, "<html>", Reason.MALFORMED, "not JSON"),
        (200, '{"answers": 1}', Reason.MALFORMED, "the reply holds: answers"),
        (200, '{"answer": {}}', Reason.MALFORMED, "an object"),
        (200, '{"answer": ""}', Reason.EMPTY, "empty"),
    ],
)
def test_a_service_that_fails_says_how_and_keeps_its_key(
    status: int, text: str, reason: str, said: str, service: _Service, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("OWN_SECRET", "Token abcdefgh")
    service.queue.append((status, text, {}))
    (given,) = answers(by_http(service, headers_env={"Authorization": "OWN_SECRET"}))
    assert (given.status, given.reason) == (AnswerStatus.FAILED, reason)
    assert said in given.detail
    assert "abcdefgh" not in given.detail


def test_busy_is_asked_again_as_the_service_wishes_and_refused_is_not(service: _Service) -> None:
    service.queue += [(429, "", {"retry-after-ms": "1"}), (503, "", {"Retry-After": "0"}), (200, '{"answer": "x"}', {})]
    assert answers(by_http(service), retries=2)[0].text == "x"
    assert len(service.asked) == 3
    service.queue.append((400, "", {}))
    assert answers(by_http(service), retries=2)[0].reason == "http_400"
    assert len(service.asked) == 4


def test_nobody_there_is_a_failed_connection(service: _Service) -> None:
    generator = by_http(service)
    service.server.server_close()
    generator.url = generator.url.replace("127.0.0.1", "127.0.0.2")
    assert answers(generator)[0].reason == Reason.CONNECTION


def test_a_header_whose_variable_is_missing_is_refused(service: _Service) -> None:
    with pytest.raises(ConfigurationError, match="NOT_THERE"):
        answers(by_http(service, headers_env={"X": "NOT_THERE"}))


# --- command --------------------------------------------------------------------------------------------------------


def by_command(text: str, **values: Any) -> Generator:
    write(text, "program.py")
    return Generator(kind="command", command=["python", "program.py"], model="", **values)


def test_a_program_reads_and_writes_json() -> None:
    text = (
        "import json, sys\nasked = json.load(sys.stdin)\n"
        "print(json.dumps({'answer': json.dumps(asked, sort_keys=True), 'contexts': ['é']}))\n"
    )
    (given,) = answers(by_command(text, settings={"k": [1]}))
    assert json.loads(given.text) == {"contexts": [], "id": "q1", "question": "When is it?", "settings": {"k": [1]}}
    assert given.contexts == ("é",)


@pytest.mark.parametrize(
    ("text", "reason", "said"),
    [
        ("import sys; sys.exit('no index')", Reason.APPLICATION, "exit code 1: no index"),
        ("print('hello')", Reason.MALFORMED, "not JSON: hello"),
        ("pass", Reason.EMPTY, "nothing"),
        ("import time; time.sleep(30)", Reason.TIMEOUT, "no answer within"),
    ],
)
def test_a_program_that_fails_says_how(text: str, reason: str, said: str) -> None:
    (given,) = answers(by_command(text, timeout_s=0.3 if reason == Reason.TIMEOUT else 20))
    assert (given.status, given.reason) == (AnswerStatus.FAILED, reason)
    assert said in given.detail


def test_a_program_that_is_not_there_is_said_before() -> None:
    with pytest.raises(ConfigurationError, match="no program no-such-program-here"):
        answers(Generator(kind="command", command=["no-such-program-here"], model=""))


# --- the pieces -----------------------------------------------------------------------------------------------------

_JSON = st.recursive(
    st.none() | st.booleans() | st.integers() | st.text(max_size=5),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=5), inner, max_size=3),
    max_leaves=8,
)


@settings(max_examples=60, deadline=None)
@given(_JSON)
def test_whatever_is_returned_is_read_or_refused_with_a_sentence(told: Any) -> None:
    usable = isinstance(told, str) or (isinstance(told, dict) and isinstance(told.get("answer"), str))
    if isinstance(told, str) and told.strip():
        assert read(told, 0.0).text == told.strip()
    elif not usable or isinstance(told, str):
        with pytest.raises(Unusable, match="returned") as caught:
            read(told, 0.0)
        assert caught.value.reason in (Reason.MALFORMED, Reason.EMPTY)


@settings(max_examples=60, deadline=None)
@given(_JSON, st.text(max_size=20))
def test_a_template_keeps_its_shape_and_a_question_is_never_a_template(template: Any, text: str) -> None:
    question = Question("{settings}", text)
    filled = fill({"a": template, "b": "<{question}|{id}>"}, question, (), {})
    assert filled["b"] == f"<{text}|{{settings}}>"
    if "{" not in json.dumps(template):
        assert filled["a"] == template


def test_paths_lead_through_objects_and_lists() -> None:
    told = {"a": [{"b": 1}, {"b": 2}], "c": {"x": {"b": 3}}}
    assert select(told, "a.*.b") == [1, 2]
    assert select(told, "a.1.b") == 2
    assert select(told, "c.*.b") == [3]
    assert select(told, "") == told
    with pytest.raises(Unusable, match=r"at a\.5 \(a holds: a list\)"):
        select(told, "a.5.b")
