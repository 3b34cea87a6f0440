"""Large libraries are imported one after the other, and not before they are needed."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

ROOT = Path(__file__).parents[2]


def run(script: str) -> str:
    return subprocess.run(
        [sys.executable, "-c", script], cwd=ROOT, capture_output=True, text=True, check=True, timeout=100
    ).stdout


def test_importing_the_room_loads_nothing_heavy() -> None:
    heavy = "numpy chromadb langchain_core langchain_openai openai onnxruntime sqlalchemy"
    script = f"import sys, runner.knowledge; print([name for name in '{heavy}'.split() if name in sys.modules])"
    assert run(script).strip() == "[]"


def test_threads_that_import_a_package_and_its_parts_get_whole_modules() -> None:
    script = """
import threading
from runner.importing import load
failed = []
def one(name):
    try:
        load(name)
    except BaseException as error:
        failed.append(error)
names = ["numpy", "numpy.typing", "numpy.linalg", "numpy.random"] * 3
threads = [threading.Thread(target=one, args=(name,)) for name in names]
for thread in threads: thread.start()
for thread in threads: thread.join()
print(failed)
"""
    assert run(script).strip() == "[]"
