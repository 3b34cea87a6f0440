"""Rubrics and prompts as the prompt registry gets them: each with the earlier versions that the files have."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

from runner.config.earlier import earlier_versions
from runner.config.schema import Prompt, Rubric
from runner.errors import RunnerError
from runner.tracking import RubricText


class VersionedTexts:
    """Reads the files of a version once, however many jobs use it."""

    def __init__(self) -> None:
        self._earlier: dict[tuple[str, str, int], tuple[RubricText, ...]] = {}

    def rubric(self, rubric: Rubric) -> RubricText:
        """Raises ConfigurationError where the file of its instructions cannot be read."""
        key = ("rubric", rubric.id, rubric.version)
        if key not in self._earlier:
            self._earlier[key] = _readable(earlier_versions("rubric", Rubric, rubric.id, rubric.version))
        return replace(_rubric(rubric), earlier=self._earlier[key])

    def prompt(self, prompt: Prompt) -> RubricText:
        """The generator's prompt."""
        key = ("prompt", prompt.id, prompt.version)
        if key not in self._earlier:
            found = earlier_versions("prompt", Prompt, prompt.id, prompt.version)
            self._earlier[key] = tuple(map(_prompt, found))
        return replace(_prompt(prompt), earlier=self._earlier[key])


def _readable(rubrics: Sequence[Rubric]) -> tuple[RubricText, ...]:
    """Those that have a text: a fault in a file that this launch does not use is no reason to stop it."""
    found = []
    for rubric in rubrics:
        try:
            found.append(_rubric(rubric))
        except (RunnerError, ValueError):
            continue
    return tuple(found)


def _rubric(rubric: Rubric) -> RubricText:
    from runner.judging import rubric_hash, rubric_text

    text = rubric_text(rubric, markdown=True)
    return RubricText(id=rubric.id, version=rubric.version, text=text, hash=rubric_hash(rubric))


def _prompt(prompt: Prompt) -> RubricText:
    text = f"{prompt.system}\n\n{prompt.user}".strip()
    return RubricText(id=prompt.id, version=prompt.version, text=text, kind="prompt")
