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
    sweep = "[sweep] [('bm25', 'complete', 30), ('dense', 'complete', 30), ('hybrid', 'complete', 30)]"
    gate = "bm25: grounding/mean is 5 (at least 4)"
    load = "[load] ['bm25', 'dense', 'hybrid']"
    for shown in (sweep, gate, "[gate] (", load, "[again] (30, 'complete')", "questions_needed"):
        assert shown in done.stdout
    assert "dense: done, 30 questions" in done.stderr, "progress"
