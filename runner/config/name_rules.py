"""Names that YAML did not take as they were written."""

from __future__ import annotations

from collections.abc import Iterator

from runner.config import schema
from runner.errors import Problem


def yaml_words(config: schema.Config) -> Iterator[Problem]:
    """Names that YAML made of ``yes``, ``no``, ``on`` or ``off``: the text would be another one than the user wrote."""
    names = {
        "name": config.name,
        "knowledge_base.name": config.knowledge_base.name,
        "questions.name": config.questions.name,
        "prompt.id": config.prompt.id,
        "generator.model": config.generator.model,
        "embedder.model": config.embedder.model,
        "judge_defaults.model": config.judge_defaults.model,
    }
    for name, judge in config.judges.items():
        names |= {f"judges.{name}.rubric.id": judge.rubric.id}
        if judge.model != config.judge_defaults.model:
            names |= {f"judges.{name}.model": judge.model}
    for key, text in names.items():
        if text in ("True", "False"):
            words = "yes, on and true" if text == "True" else "no, off and false"
            quoted = "yes" if text == "True" else "no"
            yield Problem(key, f"is {text}, which YAML makes of {words}", f'write it in quotes, such as "{quoted}"')
