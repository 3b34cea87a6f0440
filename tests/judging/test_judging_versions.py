"""A rubric version that has results keeps its text."""

from __future__ import annotations

import pytest

from runner.errors import ConfigurationError
from runner.judging import check_versions
from tests.fakes.judged import shipped


class Texts:
    """The part of the door that remembers texts."""

    def __init__(self) -> None:
        self.known: dict[tuple[str, str, str], str] = {}

    def remember_text(self, kind: str, name: str, version: str, text: str, *, replace: bool = False) -> str | None:
        before = self.known.setdefault((kind, name, version), text)
        if replace:
            self.known[(kind, name, version)] = text
        return before if before != text else None

    def text_versions(self, kind: str, name: str) -> frozenset[str]:
        return frozenset(known[2] for known in self.known if known[:2] == (kind, name))


def test_the_same_text_is_noted_once_and_never_refused() -> None:
    door = Texts()
    for _ in range(2):
        check_versions([("a", shipped("grounding_v1")), ("b", shipped("grounding_v1"))], door, allow_edit=False)  # type: ignore[arg-type]
    assert len(door.known) == 1


def test_an_edited_text_is_refused_with_the_difference_and_the_remedy() -> None:
    door = Texts()
    check_versions([("g", shipped("grounding_v1"))], door, allow_edit=False)  # type: ignore[arg-type]
    edited = shipped("grounding_v1")
    edited.scale.anchors[3] = "Something else."
    for _ in range(2):
        with pytest.raises(ConfigurationError) as raised:
            check_versions([("g", edited)], door, allow_edit=False)  # type: ignore[arg-type]
    message = str(raised.value)
    assert "judges.g.rubric: grounding@1" in message
    assert "+3: Something else." in message
    assert "-3: One statement that matters is not in the context." in message
    assert "version: 2" in message
    assert "allow_rubric_edit=true" in message
    check_versions([("g", edited)], door, allow_edit=True)  # type: ignore[arg-type]
    check_versions([("g", edited)], door, allow_edit=False)  # type: ignore[arg-type]


def test_a_higher_version_and_another_pass_mark_are_free() -> None:
    door = Texts()
    check_versions([("g", shipped("grounding_v1"))], door, allow_edit=False)  # type: ignore[arg-type]
    edited = shipped("grounding_v1")
    edited.instructions += " Be strict."
    edited.version = 2
    marked = shipped("grounding_v1")
    marked.scale.pass_at = 5
    check_versions([("g", edited), ("h", marked)], door, allow_edit=False)  # type: ignore[arg-type]
    assert len(door.known) == 2


def test_two_texts_under_one_version_in_one_launch_are_refused_even_with_leave_to_edit() -> None:
    edited = shipped("grounding_v1")
    edited.instructions += " Be strict."
    for allow in (False, True):
        with pytest.raises(ConfigurationError, match="grounding@1"):
            check_versions([("a", shipped("grounding_v1")), ("b", edited)], Texts(), allow_edit=allow)  # type: ignore[arg-type]


def test_an_edited_rubric_was_advised_a_version_that_has_results_too() -> None:
    door = Texts()
    second = shipped("grounding_v1")
    second.instructions += " Be strict."
    second.version = 2
    check_versions([("a", shipped("grounding_v1")), ("b", second)], door, allow_edit=False)  # type: ignore[arg-type]
    edited = shipped("grounding_v1")
    edited.instructions += " Be lenient."
    with pytest.raises(ConfigurationError, match="give the new text version: 3,"):
        check_versions([("a", edited)], door, allow_edit=False)  # type: ignore[arg-type]
