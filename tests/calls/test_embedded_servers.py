"""The model servers: started once and late, known by their own name, and gone when the runner is gone."""

from __future__ import annotations

import asyncio
import http.client
import importlib.metadata
import json
import os
import signal
import subprocess
import sys
import time
import urllib.parse
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from runner.calls.embedded import EmbeddedServers
from runner.errors import ConfigurationError, JobStopped

MODEL = "qwen2.5-coder-0.5b-instruct"
OTHER = "qwen2.5-coder-1.5b-instruct"
ROOT = Path(__file__).resolve().parents[2]
FAKE = Path(__file__).with_name("fake_embedded_child.py")
posix_only = pytest.mark.skipif(os.name != "posix", reason="signals of POSIX")


class Made:
    """Servers with a fake child; ``starts`` says how many children there were."""

    def __init__(self, folder: Path) -> None:
        self.weights = folder / "weights.gguf"
        self.weights.touch()
        self.opened: list[EmbeddedServers] = []

    def servers(self, behaviour: str = "counts", **settings: Any) -> EmbeddedServers:
        command = (sys.executable, str(FAKE), behaviour)
        settings = {"api_key": "sesame", **settings}
        servers = EmbeddedServers(command=command, locate=lambda _: self.weights, **settings)
        self.opened.append(servers)
        return servers

    @property
    def starts(self) -> list[str]:
        return self.weights.read_text(encoding="utf-8").split()


@pytest.fixture
def made(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Made]:
    real = importlib.metadata.version
    monkeypatch.setattr(importlib.metadata, "version", lambda name: "1.2.3" if name == "xllamacpp" else real(name))
    made = Made(tmp_path)
    yield made
    for servers in made.opened:
        servers.close()


def ask(base_url: str, path: str = "/v1/models", key: str = "sesame") -> tuple[int, dict[str, Any]]:
    address = urllib.parse.urlsplit(base_url)
    connection = http.client.HTTPConnection(address.hostname or "", address.port, timeout=10)
    try:
        connection.request("GET", path, headers={"Authorization": f"Bearer {key}"})
        response = connection.getresponse()
        return response.status, json.loads(response.read()) if response.status == 200 else {}
    finally:
        connection.close()


def crash(base_url: str) -> None:
    with pytest.raises((http.client.HTTPException, OSError)):
        ask(base_url, "/crash")


def gone(pid: int, within_s: float = 20.0) -> bool:
    ends = time.monotonic() + within_s
    while time.monotonic() < ends:
        try:
            state = Path(f"/proc/{pid}/stat").read_text(encoding="utf-8").rpartition(")")[2].split()[0]
        except OSError:
            return True
        if state == "Z":  # ended; whoever adopted it has not looked yet
            return True
        time.sleep(0.05)
    return False


def test_nothing_starts_before_it_is_asked_for(made: Made) -> None:
    servers = made.servers()
    servers.identity(MODEL)
    assert made.starts == []


def test_many_askers_share_one_server(made: Made) -> None:
    servers = made.servers()

    async def main() -> set[str]:
        return set(await asyncio.gather(*(servers.base_url(MODEL) for _ in range(20))))

    first = asyncio.run(main())
    again = asyncio.run(main())  # another event loop, as in two sweeps of one process
    assert first == again
    assert len(first) == 1
    assert first.pop().startswith("http://127.0.0.1:")
    assert made.starts == [MODEL]


def test_each_model_has_its_own_server(made: Made) -> None:
    servers = made.servers()

    async def main() -> list[str]:
        return await asyncio.gather(servers.base_url(MODEL), servers.base_url(OTHER))

    addresses = asyncio.run(main())
    assert [ask(address)[1]["data"][0]["id"] for address in addresses] == [MODEL, OTHER]
    assert sorted(made.starts) == [MODEL, OTHER]


def test_a_waiter_that_gives_up_does_not_stop_the_others(made: Made) -> None:
    servers = made.servers()

    async def main() -> str:
        impatient = asyncio.create_task(servers.base_url(MODEL))
        patient = asyncio.create_task(servers.base_url(MODEL))
        await asyncio.sleep(0)
        impatient.cancel()
        return await patient

    assert ask(asyncio.run(main()))[0] == 200
    assert made.starts == [MODEL]


def test_threads_wait_passively_and_the_key_is_asked_for(made: Made) -> None:
    base_url = asyncio.run(made.servers(threads=3).base_url(MODEL))
    status, body = ask(base_url)
    assert status == 200
    assert body["environment"] == {"OMP_WAIT_POLICY": "passive", "GOMP_SPINCOUNT": "0"}
    assert body["threads"] == 3
    assert ask(base_url, key="wrong")[0] == 401


@pytest.mark.skipif(not Path("/proc/self/cmdline").exists(), reason="reads /proc")
def test_other_users_cannot_read_the_key(made: Made) -> None:
    _, body = ask(asyncio.run(made.servers(api_key="very-secret").base_url(MODEL)), key="very-secret")
    for what in ("cmdline", "environ"):
        assert b"very-secret" not in Path(f"/proc/{body['pid']}/{what}").read_bytes()


def test_close_ends_the_child_and_refuses_more(made: Made) -> None:
    servers = made.servers()
    _, body = ask(asyncio.run(servers.base_url(MODEL)))
    servers.close()
    servers.close()
    assert gone(body["pid"], 1.0)
    with pytest.raises(JobStopped, match="closed"):
        asyncio.run(servers.base_url(MODEL))


def test_death_at_the_start_is_told_with_its_last_words(made: Made) -> None:
    with pytest.raises(JobStopped, match=r"ended with code 7 [\s\S]*bad magic"):
        asyncio.run(made.servers("dies").base_url(MODEL))


def test_a_server_that_never_answers_is_given_up(made: Made) -> None:
    with pytest.raises(JobStopped, match=r"did not answer within 1\.5 s"):
        asyncio.run(made.servers("hangs", ready_within_s=1.5).base_url(MODEL))


def test_a_server_with_another_model_is_not_ours(made: Made) -> None:
    with pytest.raises(JobStopped, match="answers as 'another-model'"):
        asyncio.run(made.servers("another").base_url(MODEL))


def test_a_crashed_server_is_started_again_but_not_for_ever(made: Made) -> None:
    servers = made.servers()
    addresses = []
    for _ in range(4):
        addresses.append(asyncio.run(servers.base_url(MODEL)))
        crash(addresses[-1])
        assert servers._children[MODEL]._process.wait(10) == 11
    assert len(made.starts) == 4
    with pytest.raises(JobStopped, match=r"died 4 times[\s\S]*segmentation fault"):
        asyncio.run(servers.base_url(MODEL))
    assert len(made.starts) == 4


def test_unknown_model_names_the_choices(made: Made) -> None:
    servers = made.servers()
    for attempt in (lambda: servers.identity("gpt-4o"), lambda: asyncio.run(servers.base_url("gpt-4o"))):
        with pytest.raises(ConfigurationError, match=f"no embedded model 'gpt-4o'.*{MODEL}"):
            attempt()


def test_missing_runtime_says_what_to_install(monkeypatch: pytest.MonkeyPatch) -> None:
    def missing(name: str) -> str:
        raise importlib.metadata.PackageNotFoundError(name)

    monkeypatch.setattr(importlib.metadata, "version", missing)
    with pytest.raises(ConfigurationError, match=r"pip install 'rag-judge-runner\[local\]'"):
        EmbeddedServers().identity(MODEL)


def test_identity_is_weights_and_runtime(made: Made) -> None:
    sha256 = "1d9614638d18024d0fbb36575a15f1302a3adf044df10345688ec4f6e1c4ff32"
    assert made.servers().identity(MODEL) == f"embedded:{sha256}:xllamacpp-1.2.3"


@posix_only
def test_ctrl_c_in_the_terminal_leaves_the_end_to_the_runner(made: Made) -> None:
    base_url = asyncio.run(made.servers().base_url(MODEL))
    pid = ask(base_url)[1]["pid"]
    os.kill(pid, signal.SIGINT)
    time.sleep(0.2)
    assert ask(base_url)[0] == 200


RUNNER = """
import asyncio, http.client, importlib.metadata, json, os, sys, time
from pathlib import Path
importlib.metadata.version = lambda name: "1.2.3"
from runner.calls.embedded import EmbeddedServers
servers = EmbeddedServers(command=(sys.executable, {fake!r}, "plain"), locate=Path)
base_url = asyncio.run(servers.base_url({model!r}))
if {fork} and os.fork() == 0:
    time.sleep(15)  # holds a copy of the pipe
    os._exit(0)
connection = http.client.HTTPConnection(base_url.split("/")[2])
connection.request("GET", "/v1/models")
print(json.load(connection.getresponse())["pid"], flush=True)
{ending}
"""


def orphaned(ending: str, fork: bool = False, send: signal.Signals | None = None) -> bool:
    """Whether the server outlives a runner that ends in this way."""
    code = RUNNER.format(fake=str(FAKE), model=MODEL, fork=fork, ending=ending)
    with subprocess.Popen([sys.executable, "-c", code], cwd=ROOT, stdout=subprocess.PIPE) as runner:
        assert runner.stdout is not None
        pid = int(runner.stdout.readline())
        if send is not None:
            os.kill(runner.pid, send)
        runner.wait(30)
        if not fork:
            runner.stdout.read()
        else:
            runner.stdout.close()
    return not gone(pid)


@posix_only
@pytest.mark.parametrize("how", [signal.SIGKILL, signal.SIGINT])
def test_no_orphan_when_the_runner_is_killed(how: signal.Signals) -> None:
    assert not orphaned("time.sleep(60)", send=how)


@posix_only
def test_no_orphan_although_a_forked_process_holds_the_pipe() -> None:
    assert not orphaned("time.sleep(60)", fork=True, send=signal.SIGKILL)


@posix_only
def test_no_orphan_when_the_runner_just_ends() -> None:
    assert not orphaned("")
