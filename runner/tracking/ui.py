"""The verb ``ui``: the MLflow UI on the local store, on loopback only, without telemetry, ended cleanly by Ctrl-C."""

from __future__ import annotations

import argparse
import contextlib
import os
import signal
import socket
import sqlite3
import subprocess
import sys
import time
from collections.abc import Iterator, Sequence
from pathlib import Path

from runner.config.numbers import whole_number
from runner.config.paths import home as configured_home
from runner.errors import ExitCode
from runner.tracking.environment import answers, set_switches

HOST = "127.0.0.1"
DEFAULT_PORT = 5000
PORTS_TO_TRY = 20
START_TIMEOUT_S = 120.0
"""The server imports for ten to twenty seconds on a slow machine."""
STOP_TIMEOUT_S = 5.0


def main(argv: Sequence[str]) -> int:
    """Serve until Ctrl-C; returns the exit code. ``argv``: what follows the verb."""
    parser = argparse.ArgumentParser(prog="runner ui", description="Open the MLflow UI on the local store.")
    parser.add_argument(
        "--port", type=whole_number(1, 65_535), help=f"port on {HOST} (default: {DEFAULT_PORT}, or the next free one)"
    )
    parser.add_argument("--no-browser", action="store_true", help="only print the address")
    try:
        given = parser.parse_args(list(argv))
    except SystemExit as ended:  # argparse says 2 where this project says 1
        return ExitCode.DONE if ended.code == 0 else ExitCode.BAD_CONFIGURATION
    home = configured_home()
    if not (home / "mlflow.db").is_file():
        print(
            f"There is nothing to show yet: {home / 'mlflow.db'} does not exist. Run something first "
            "(python -m runner -m experiment=top_k), or set RUNNER_HOME to the home that you mean.",
            file=sys.stderr,
        )
        return ExitCode.BAD_CONFIGURATION
    port = _port(given.port)
    if port is None:
        wanted = f"port {given.port}" if given.port else f"every port from {DEFAULT_PORT} on"
        print(f"{wanted} is taken on {HOST}; choose another with --port.", file=sys.stderr)
        return ExitCode.BAD_CONFIGURATION
    try:
        with serving(home, port) as address:
            page = address + _landing(home)
            print(f"The MLflow UI is at {page} (Ctrl-C ends it)", flush=True)
            if not given.no_browser and sys.stdout.isatty():
                _open_browser(page)
            _wait_for_the_end(address)
    except KeyboardInterrupt:
        print("\nended", file=sys.stderr)
        return ExitCode.DONE
    except RuntimeError as problem:
        print(problem, file=sys.stderr)
    return ExitCode.BAD_CONFIGURATION


@contextlib.contextmanager
def serving(home: Path, port: int) -> Iterator[str]:
    """The UI on the store of a home, as long as the block lasts; yields the address once it answers.

    Raises:
        RuntimeError: the server did not start.
    """
    environment = dict(os.environ)
    set_switches(environment)
    # The server starts in another folder, and this package may be known by the working directory alone.
    paths = [str(Path(__file__).resolve().parents[2]), environment.get("PYTHONPATH", "")]
    environment["PYTHONPATH"] = os.pathsep.join(filter(None, paths))
    log = home / "ui.log"
    command = [
        *(sys.executable, "-m", "runner.tracking.ui_server"),
        *("--host", HOST, "--port", str(port), "--workers", "1"),
        *("--backend-store-uri", f"sqlite:///{home / 'mlflow.db'}"),
        *("--default-artifact-root", (home / "mlartifacts").as_uri()),
    ]
    with log.open("wb") as output:
        server = subprocess.Popen(
            command,
            stdout=output,
            stderr=output,
            stdin=subprocess.DEVNULL,
            env=environment,
            cwd=home,
            start_new_session=True,  # its workers are ended together with it
        )
    with _ends_like_ctrl_c():
        try:
            address = f"http://{HOST}:{port}"
            _wait_until_it_answers(server, address, log)
            yield address
        finally:
            _stop(server)


def free_port() -> int:
    """A port that is free now."""
    with socket.socket() as probe:
        probe.bind((HOST, 0))
        return int(probe.getsockname()[1])


def _port(wanted: int | None) -> int | None:
    candidates = [wanted] if wanted else range(DEFAULT_PORT, DEFAULT_PORT + PORTS_TO_TRY)
    for port in candidates:
        with socket.socket() as probe:
            probe.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
            with contextlib.suppress(OSError, OverflowError):
                probe.bind((HOST, port))
                return port
    return None


def _landing(home: Path) -> str:
    """The page of the latest sweep; empty where there is none."""
    connection = sqlite3.connect(home / "mlflow.db")
    try:
        found = connection.execute("SELECT experiment_id FROM runs ORDER BY start_time DESC LIMIT 1").fetchone()
    except sqlite3.Error:
        found = None
    finally:
        connection.close()
    return f"/#/experiments/{found[0]}/evaluation-runs" if found else ""


def _answers(address: str) -> bool:
    try:
        answers(address, 2)
    except OSError:
        return False
    return True


def _wait_until_it_answers(server: subprocess.Popen[bytes], address: str, log: Path) -> None:
    deadline = time.monotonic() + START_TIMEOUT_S
    while not _answers(address):
        if server.poll() is not None or time.monotonic() > deadline:
            raise RuntimeError(f"the MLflow UI did not start; its last words are in {log}")
        time.sleep(0.2)


def _wait_for_the_end(address: str) -> None:
    """Until Ctrl-C, or until the server is gone by itself."""
    while _answers(address):
        time.sleep(2)
    raise RuntimeError("the MLflow UI ended by itself; its last words are in ui.log of the home")


@contextlib.contextmanager
def _ends_like_ctrl_c() -> Iterator[None]:
    """A polite kill and a closed terminal end the server too, as Ctrl-C does."""

    def interrupt(*_: object) -> None:
        raise KeyboardInterrupt

    before = {}
    for name in ("SIGTERM", "SIGHUP"):
        with contextlib.suppress(AttributeError, ValueError):  # not on this system; not in the main thread
            before[getattr(signal, name)] = signal.signal(getattr(signal, name), interrupt)
    try:
        yield
    finally:
        for number, handler in before.items():
            signal.signal(number, handler)


def _stop(server: subprocess.Popen[bytes]) -> None:
    if os.name == "nt":
        server.terminate()
        server.wait()
        return
    for number in (signal.SIGTERM, signal.SIGKILL):
        with contextlib.suppress(ProcessLookupError):
            os.killpg(server.pid, number)
        with contextlib.suppress(subprocess.TimeoutExpired):
            server.wait(STOP_TIMEOUT_S)
            break
    with contextlib.suppress(ProcessLookupError):
        os.killpg(server.pid, signal.SIGKILL)  # a worker that outlived it


def _open_browser(address: str) -> None:
    import webbrowser

    with contextlib.suppress(webbrowser.Error):
        webbrowser.open(address)
