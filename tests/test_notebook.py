"""The notebook in ``experiments`` runs top to bottom as a kernel runs it: under an event loop, cell after cell."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

CHECKOUT = Path(__file__).resolve().parent.parent
NOTEBOOK = CHECKOUT / "experiments/notebook/sweep.ipynb"

KERNEL = """
import ast, asyncio, inspect, json, sys
cells = json.load(open(sys.argv[1], encoding="utf-8"))["cells"]

async def kernel():
    names = {"__name__": "__main__"}
    for cell in cells:
        if cell["cell_type"] == "code":
            flags = ast.PyCF_ALLOW_TOP_LEVEL_AWAIT
            tree = ast.parse("".join(cell["source"]))
            shown = ast.Expression(tree.body.pop().value) if isinstance(tree.body[-1], ast.Expr) else None
            done = eval(compile(tree, cell["id"], "exec", flags), names)
            if inspect.iscoroutine(done):
                await done
            if shown is not None:
                print(f"[{cell['id']}]", repr(eval(compile(shown, cell["id"], "eval"), names)))

asyncio.run(kernel())
"""
"""What a kernel does with the cells, without Jupyter: the last expression of each is shown."""


def notebook() -> dict[str, Any]:
    content: dict[str, Any] = json.loads(NOTEBOOK.read_text(encoding="utf-8"))
    return content


def test_the_notebook_is_kept_without_outputs() -> None:
    content = notebook()
    assert (content["nbformat"], content["nbformat_minor"]) == (4, 5)
    ids = [cell["id"] for cell in content["cells"]]
    assert len(set(ids)) == len(ids)
    for cell in content["cells"]:
        if cell["cell_type"] == "code":
            assert cell["outputs"] == []
            assert cell["execution_count"] is None


@pytest.mark.usefixtures("home")
def test_the_notebook_runs_top_to_bottom_under_a_running_event_loop() -> None:
    done = subprocess.run(
        [sys.executable, "-c", KERNEL, str(NOTEBOOK)],
        env={**os.environ, "PYTHONPATH": str(CHECKOUT)},
        capture_output=True,
        text=True,
        stdin=subprocess.DEVNULL,
        check=False,
    )
    assert done.returncode == 0, done.stderr
    assert (
        "[sweep] [('top_k=1', 'complete', 10), ('top_k=3', 'complete', 10), ('top_k=5', 'complete', 10)]" in done.stdout
    )
    assert "[load] ['top_k=1', 'top_k=3', 'top_k=5']" in done.stdout
    assert "[again] (10, 'complete')" in done.stdout
    assert "questions_needed" in done.stdout
