"""``runner doctor``: a line for everything, a remedy for what is wrong, no key shown and nothing paid unless asked."""

from __future__ import annotations

import json
import threading
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import ClassVar

import pytest

from runner.cli import main
from runner.errors import ExitCode
from tests.fakes.model_server import ModelServer
from tests.sweeps.driving import GENERATOR, JUDGE, arguments, run

pytestmark = pytest.mark.usefixtures("home")

NOWHERE = "http://127.0.0.1:9/v1"
"""The discard port: nobody listens."""


def doctor(capsys: pytest.CaptureFixture[str], *line: str) -> tuple[int, dict[str, str]]:
    """The exit code, and what was looked at → the word and what was found."""
    code = main(["doctor", *line])
    shown = capsys.readouterr().out.splitlines()
    found = {}
    for entry in shown:
        word, _, rest = entry.partition(" ")
        assert word in ("ok", "warn", "fail"), entry
        what, _, text = rest.strip().partition(": ")
        found[what] = f"{word} {text}"
    assert len(found) == len(shown)
    return code, found


def test_a_configuration_without_models_is_well(capsys: pytest.CaptureFixture[str], home: Path) -> None:
    code, found = doctor(capsys, "stack=extractive", "tracking=none")
    assert code == ExitCode.DONE
    for what in ("python", "packages", "home", "outputs", "configuration", "ledger", "tracking", "embedder minilm"):
        assert found[what].startswith("ok "), what
    assert not home.exists(), "looking leaves nothing behind"


def test_models_are_looked_up_and_nothing_is_paid(
    model_server: ModelServer, capsys: pytest.CaptureFixture[str]
) -> None:
    model_server.models = [GENERATOR, "other"]
    code, found = doctor(capsys, *arguments(model_server, "prices=none"))
    assert code == ExitCode.DONE
    assert found[f"server {model_server.base_url}"] == "ok answers"
    assert found[f"model {GENERATOR}"].startswith("ok ")
    assert found[f"model {JUDGE}"].startswith("warn is not on the server's list (answerer, other)")
    assert found[f"price {GENERATOR}"].startswith("warn unknown; write it to conf/prices/NAME.yaml")
    _, found = doctor(capsys, *arguments(model_server))
    assert found[f"price {GENERATOR}"] == "ok known, from your list"
    assert model_server.count(path="/chat/completions") == 0


def test_what_is_wrong_fails_with_a_remedy_and_without_the_key(
    capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch, home: Path
) -> None:
    code, found = doctor(capsys, "stack=openai", "retriever=bm25", "tracking.uri=http://127.0.0.1:9")
    assert code == ExitCode.BAD_CONFIGURATION
    assert found["key OPENAI_API_KEY"].startswith("fail is not set; put it into the environment")
    assert found["configuration"].startswith("ok "), "the missing key is said once"
    assert found["tracking"].startswith("fail http://127.0.0.1:9 does not answer")

    monkeypatch.setenv("OPENAI_API_KEY", "sk-very-secret-0123456789")
    home.write_text("a file where the folder should be", encoding="utf-8")
    address = (f"judge_defaults.endpoint.base_url={NOWHERE}", f"generator.endpoint.base_url={NOWHERE}")
    code, found = doctor(capsys, "stack=openai", "retriever=bm25", "tracking=none", "retriever.top_k=0", *address)
    assert code == ExitCode.BAD_CONFIGURATION
    assert found["key OPENAI_API_KEY"] == "ok is set"
    assert found[f"server {NOWHERE}"].startswith("fail does not answer")
    assert found["configuration"].startswith("fail retriever.top_k")
    assert found["home"].startswith("fail ")
    assert found["home"].endswith("choose another place with RUNNER_HOME")
    assert not any("very-secret" in text for text in found.values())


class Guarded(BaseHTTPRequestHandler):
    """Refuses every key, and would send who asks on to another server."""

    status = 401
    seen: ClassVar[list[str]] = []

    def do_GET(self) -> None:
        self.seen.append(self.path)
        self.send_response(self.status)
        self.send_header("Location", "/elsewhere")
        self.send_header("Content-Length", "0")
        self.end_headers()

    def log_message(self, *_: object) -> None:
        pass


@pytest.mark.parametrize(
    ("status", "said"),
    [
        (401, "fail refuses us (HTTP 401); check the key in OUR_KEY"),
        (302, "warn answers, but has no list of models (HTTP 302)"),
        (404, "warn answers, but has no list of models (HTTP 404)"),
        (503, "fail answers with HTTP 503"),
    ],
)
def test_what_a_server_says_without_a_list(
    status: int, said: str, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("OUR_KEY", "sk-very-secret-0123456789")
    monkeypatch.setattr(Guarded, "status", status)
    monkeypatch.setattr(Guarded, "seen", [])
    with ThreadingHTTPServer(("127.0.0.1", 0), Guarded) as server:
        threading.Thread(target=server.serve_forever, daemon=True).start()
        base_url = f"http://127.0.0.1:{server.server_port}/v1"
        line = ("stack=openai_compatible", f"endpoint.base_url={base_url}", "endpoint.api_key_env=OUR_KEY",
                "generator.model=a", "judge_defaults.model=a", "tracking=none", "retriever=bm25")  # fmt: skip
        _, found = doctor(capsys, *line)
        server.shutdown()
    assert found[f"server {base_url}"].startswith(said)
    assert Guarded.seen == ["/v1/models"], "asked once, and nothing follows a redirect with a key"


def test_a_probe_asks_each_model_once_and_says_what_it_takes(capsys: pytest.CaptureFixture[str]) -> None:
    with ModelServer(refuses={JUDGE: ["temperature", "max_tokens", "logprobs"]}) as server:
        code, found = doctor(capsys, "--probe", *arguments(server))
        assert code == ExitCode.DONE
        assert found[f"probe {GENERATOR}"].startswith("ok temperature taken, schema ")
        assert "limit is called max_tokens (cost $" in found[f"probe {GENERATOR}"]
        judge = found[f"probe {JUDGE}"]
        assert "temperature refused" in judge
        assert "logprobs refused" in judge
        assert "limit is called max_completion_tokens" in judge
        assert server.count(path="/chat/completions", model=GENERATOR) == 1


def test_probes_whose_price_nobody_knows_have_not_cost_nothing_together(capsys: pytest.CaptureFixture[str]) -> None:
    with ModelServer() as server:
        code, found = doctor(capsys, "--probe", *arguments(server, "generator.model=homemade", "prices=[]"))
    assert code == ExitCode.DONE
    assert "(cost unknown" in found["probe homemade"]
    assert found["probes"].startswith("ok cost unknown together")


def test_a_sweep_has_all_its_models_looked_at(model_server: ModelServer, capsys: pytest.CaptureFixture[str]) -> None:
    _, found = doctor(capsys, "-m", *arguments(model_server, "generator.model=one,two", "judge=[grounding]"))
    assert {"price one", "price two", f"price {JUDGE}"} <= set(found)


REFUSES = {JUDGE: ["temperature", "max_tokens"]}


def refused(server: ModelServer) -> int:
    return sum(entry.status == 400 for entry in server.requests)


def test_no_run_pays_a_400_for_what_a_probe_found_out(capsys: pytest.CaptureFixture[str], home: Path) -> None:
    with ModelServer(refuses=REFUSES) as server:
        code, found = doctor(capsys, "--probe", *arguments(server))
        assert code == ExitCode.DONE
        assert f"kept in {home / 'capabilities.json'}" in found[f"probe {JUDGE}"]
        assert found["probes"].startswith("ok cost $")
        asked = refused(server)
        assert asked == 2, "one refusal for each parameter, none of them paid"
        assert run(server, "questions.limit=2", "judge=[topicality]") == ExitCode.DONE
        assert refused(server) == asked
        capsys.readouterr()
        _, found = doctor(capsys, *arguments(server))
        assert found[f"takes {JUDGE}"].startswith("ok temperature refused, schema followed, ")
        assert ", limit is called max_completion_tokens (since 20" in found[f"takes {JUDGE}"]
    # A probe looks at everything again: what was refused may be taken now.
    with ModelServer() as server:
        Path(home / "capabilities.json").write_text(
            (home / "capabilities.json").read_text(encoding="utf-8").replace(_place(home), server.base_url),
            encoding="utf-8",
        )
        _, found = doctor(capsys, *arguments(server))
        assert f"takes {JUDGE}" in found
        _, found = doctor(capsys, "--probe", *arguments(server))
        assert found[f"probe {JUDGE}"].startswith("ok temperature taken, ")


def _place(home: Path) -> str:
    entries = json.loads((home / "capabilities.json").read_text(encoding="utf-8"))
    return str(entries[0]["server"])


def test_what_one_run_learned_from_a_400_the_next_one_knows(home: Path) -> None:
    with ModelServer(refuses=REFUSES) as server:
        line = ("judge=[topicality]", "calls.concurrency=1")
        assert run(server, "questions.limit=1", *line) == ExitCode.DONE
        assert refused(server) == 2
        assert run(server, "questions.limit=3", *line) == ExitCode.DONE
        assert refused(server) == 2
        other = ("calls.capabilities=[{model: grader, takes: [temperature]}]", "questions.limit=4")
        assert run(server, *line, *other) == ExitCode.DONE
        assert refused(server) == 3, "the configuration says it, so it is sent until the server refuses it"


def test_a_capability_that_nothing_knows_is_refused_before_anything_is_paid(
    model_server: ModelServer, capsys: pytest.CaptureFixture[str]
) -> None:
    said = "calls.capabilities=[{model: a, refuses: [temprature]}, {model: b, refuses: [seed], takes: [seed]}]"
    assert run(model_server, said) == ExitCode.BAD_CONFIGURATION
    shown = capsys.readouterr().err
    assert "did you mean temperature?" in shown
    assert "b cannot both take and refuse seed" in shown
    assert model_server.requests == []


EMBEDDINGS = ("retriever=dense", "embedder=openai_compatible", "embedder.model=vectors", "generator=extractive",
              "judge=[topicality]", "judge_defaults.kind=evidence")  # fmt: skip


@pytest.mark.parametrize(("refuses", "said"), [({}, "taken"), ({"vectors": ["dimensions"]}, "refused")])
def test_a_probe_says_the_dimension_of_an_embedding_model(
    refuses: dict[str, list[str]], said: str, capsys: pytest.CaptureFixture[str], home: Path
) -> None:
    with ModelServer(dimensions=48, refuses=refuses) as server:
        line = [*arguments(server, *EMBEDDINGS), "prices=vectors"]
        Path("conf/prices/vectors.yaml").write_text(
            "# @package _global_\nprices:\n  - {model: vectors, input: 0.02}\n", encoding="utf-8"
        )
        line.remove("prices=test")
        code, found = doctor(capsys, "--probe", *line)
        assert code == ExitCode.DONE, found
        assert found["price vectors"] == "ok known, from your list"
        assert found["probe vectors"].startswith(f"ok dimension 48, dimensions {said} (cost $0.0000")
        assert server.count(path="/embeddings") == 2
        assert server.count(path="/chat/completions") == 0
        _, found = doctor(capsys, *line)
        assert found["takes vectors"].startswith(f"ok dimension 48, dimensions {said} (since ")


def test_an_embedding_model_that_is_none_fails_with_what_the_server_said(capsys: pytest.CaptureFixture[str]) -> None:
    with ModelServer(models=["answerer"]) as server:
        code, found = doctor(capsys, "--probe", *arguments(server, *EMBEDDINGS))
        assert code == ExitCode.BAD_CONFIGURATION
        assert found["probe vectors"].startswith("fail ")
        assert "does not have vectors for this key (404): check the model's name" in found["probe vectors"]
        assert server.count(path="/embeddings") == 1


def test_a_probe_through_the_responses_api_says_nothing_about_the_limits_of_the_other(
    model_server: ModelServer, capsys: pytest.CaptureFixture[str], home: Path
) -> None:
    _, found = doctor(capsys, "--probe", *arguments(model_server, "endpoint.api=responses", "judge=[topicality]"))
    assert "schema followed" in found[f"probe {JUDGE}"]
    assert "limit is called max_output_tokens" in found[f"probe {JUDGE}"]
    entries = json.loads((home / "capabilities.json").read_text(encoding="utf-8"))
    assert [entry["model"] for entry in entries] == [GENERATOR, JUDGE]
    assert not any("max_tokens" in entry["takes"] for entry in entries)
