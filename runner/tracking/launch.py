"""Which process made a run, so that the next launch can close what a dead one left open, and only that."""

from __future__ import annotations

import os
import socket
import subprocess
from collections.abc import Mapping
from pathlib import Path

TAG = "runner.launch"


def tag() -> str:
    """What names this process: host, process id, and when it started (process ids are used again)."""
    return f"{socket.gethostname()} {os.getpid()} {_started(os.getpid())}"


def on_this_host() -> str:
    """The filter that finds runs made by processes of this host."""
    return f"tags.`{TAG}` LIKE '{socket.gethostname()} %'"


def is_dead(run_tags: Mapping[str, str]) -> bool:
    """Whether the process that made a run is gone. ``False`` where that cannot be known: another host, no tag."""
    host, _, rest = run_tags.get(TAG, "").partition(" ")
    pid_text, _, started = rest.partition(" ")
    if host != socket.gethostname() or not pid_text.isdigit():
        return False
    pid = int(pid_text)
    if not _exists(pid):
        return True
    now = _started(pid)
    return bool(started and now) and started != now


def _exists(pid: int) -> bool:
    if os.name == "nt":  # os.kill(pid, 0) would end the process there
        return True
    try:
        os.kill(pid, 0)
    except ProcessLookupError:
        return False
    except PermissionError:
        return True
    return True


def _started(pid: int) -> str:
    """When a process started, in whatever form this system tells it; empty where it does not."""
    stat = Path(f"/proc/{pid}/stat")
    try:
        # The second field is the name in brackets and may hold spaces; the 22nd is the start in clock ticks.
        return stat.read_text().rpartition(")")[2].split()[19]
    except (OSError, IndexError):
        pass
    if os.name == "nt":
        return ""
    try:
        told = subprocess.run(
            ["ps", "-o", "lstart=", "-p", str(pid)], capture_output=True, text=True, timeout=5, check=False
        )
    except (OSError, subprocess.SubprocessError):
        return ""
    return told.stdout.strip()
