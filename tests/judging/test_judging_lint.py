"""What the lint says about rubrics, and that it says nothing about those that ship."""

from __future__ import annotations

from pathlib import Path

import pytest

from runner.config.schema import Rubric, Scale
from runner.judging import instructions_path, lint_rubric, rubric_hash, rubric_text
from tests.fakes.judged import CONF, shipped

SHIPPED = sorted(path.stem for path in (CONF / "rubric").glob("*.yaml"))


def rubric(**changes: object) -> Rubric:
    made = shipped("topicality_v2")
    for key, value in changes.items():
        target = made.scale if hasattr(made.scale, key) and key != "kind_" else made
        setattr(target, key, value)
    return made


def said(made: Rubric, severity: str) -> str:
    return "\n".join(str(problem) for problem in lint_rubric(made) if problem.severity == severity)


def test_at_least_six_rubrics_ship() -> None:
    assert {
        "grounding_v1", "topicality_v1", "topicality_v2", "reference_match_v1", "relevance_v1", "completeness_v1",
    } <= set(SHIPPED)  # fmt: skip


@pytest.mark.parametrize("name", SHIPPED)
def test_no_shipped_rubric_is_complained_about(name: str) -> None:
    assert lint_rubric(shipped(name)) == []
    assert name == f"{shipped(name).id}_v{shipped(name).version}"
    assert shipped(name).description in rubric_text(shipped(name))


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("Give a score from 1 to 5, then explain your reasoning.", "before the reasoning"),
        ('Reply as {"score": 1, "reasoning": "..."}', "before the reasoning"),
        ("Respond with JSON.", "reply format"),
        ("Return only the number.", "reply format"),
        ("Compare the answer with the context.", "context, which is not among the inputs"),
        ("Is it the same as the ground truth?", "reference, which is not among the inputs"),
        ("Good answers add caveats and helpful details.", "caveats, helpful details"),
    ],
)
def test_what_spoils_verdicts_is_a_warning(text: str, expected: str) -> None:
    made = rubric(instructions=text)
    assert expected in said(made, "warning")
    assert said(made, "error") == ""


@pytest.mark.parametrize(
    "text", ["Do not ask for caveats.", "The context is not shown to you.", "First list what is asked, then score it."]
)
def test_what_is_ruled_out_is_not_complained_about(text: str) -> None:
    assert lint_rubric(rubric(instructions=text)) == []


def test_anchors_with_gaps_and_labels_without_meaning_are_warnings() -> None:
    assert "2, 4" in said(rubric(anchors={1: "a", 3: "b", 5: "c"}), "warning")
    labels = Rubric(id="x", version=1, scale=Scale("labels", values={"good": 1, "bad": 0}), instructions="good: fine")
    assert "bad" in said(labels, "warning")


@pytest.mark.parametrize(
    ("changes", "expected"),
    [
        ({"inputs": ["question", "contxt"]}, "'contxt'"),
        ({"inputs": ["metadata."]}, "'metadata.'"),
        ({"inputs": []}, "sees nothing"),
        ({"inputs": ["answer", "answer"]}, "twice"),
        ({"min": 5, "max": 1}, "not below"),
        ({"min": 1.5}, "whole number"),
        ({"pass_at": 6}, "pass_at 6"),
        ({"pass_at": 1}, "every answer pass"),
        ({"pass_at": None}, "from which score"),
        ({"anchors": {7: "x"}}, "not on the scale: 7"),
        ({"instructions": "", "anchors": {}}, "told nothing"),
        ({"instructions_file": "gone.md", "instructions": ""}, "gone.md"),
        ({"kind": "labels", "values": {"only": 1}}, "two labels"),
        ({"kind": "labels", "values": {"Good": 1, "good": 0}}, "capitals only"),
    ],
)
def test_what_cannot_work_is_an_error(changes: dict[str, object], expected: str) -> None:
    assert expected in said(rubric(**changes), "error")


def test_instructions_are_taken_from_the_file_as_they_are(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    folder = tmp_path / "conf" / "rubric"
    folder.mkdir(parents=True)
    text = "Look for ${this} and {that}.\n  Indented “quotes” 🎓"
    (folder / "long.md").write_text(f"\ufeff{text}\n", encoding="utf-8")
    monkeypatch.setenv("RUNNER_CONF", str(tmp_path / "conf"))
    made = rubric(instructions="", instructions_file="long.md")
    assert instructions_path(made) == folder / "long.md"
    assert text in rubric_text(made)
    before = rubric_hash(made)
    assert before == rubric_hash(rubric(instructions=text))
    (folder / "long.md").write_text(text + " More.", encoding="utf-8")
    assert rubric_hash(made) != before
    assert "keep one" in said(rubric(instructions_file="long.md"), "error")


def test_markdown_does_not_run_the_lines_of_a_scale_together() -> None:
    """What is no item of a list is one paragraph in MLflow's view of a prompt."""
    made = shipped("topicality_v2")
    lines = rubric_text(made, markdown=True).splitlines()
    at = lines.index(f"Scale: ordinal, {made.scale.min:g} to {made.scale.max:g}")
    assert lines[at + 1] == ""
    assert [line[:5] for line in lines[at + 2 :]] == [f"- {value}: " for value in (5, 4, 3, 2, 1)]
    assert [line.removeprefix("- ") for line in lines if line] == [
        line for line in rubric_text(made).splitlines() if line
    ]
    labelled = rubric(kind="labels", values={"good": 1.0, "bad": 0.0}, anchors={}, min=None, max=None)
    assert rubric_text(labelled, markdown=True).endswith("\n\n- good: 1\n- bad: 0\n")
