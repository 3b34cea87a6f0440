"""What a careful colleague would say before a sweep is paid for; nothing here stops it."""

from __future__ import annotations

from collections.abc import Sequence

from runner.config import Job
from runner.config.schema import APPLICATIONS, Config
from runner.judging import lint_rubric, rubric_hash, rubric_name
from runner.records import Question
from runner.statistics.power import design_help

PROVIDERS_OF = (
    ("gpt", "OpenAI"), ("o1", "OpenAI"), ("o3", "OpenAI"), ("o4", "OpenAI"), ("chatgpt", "OpenAI"),
    ("qwen", "Qwen"), ("llama", "Llama"), ("mistral", "Mistral"), ("mixtral", "Mistral"), ("gemma", "Google"),
    ("gemini", "Google"), ("claude", "Anthropic"), ("deepseek", "DeepSeek"), ("phi", "Microsoft"), ("smollm", "SmolLM"),
)  # fmt: skip
"""Beginning of a model's name (after any ``owner/``) → the family it belongs to."""


EVIDENCE_RUBRICS = frozenset({"grounding", "topicality", "relevance", "reference_match", "completeness"})
"""Rubrics whose question the words and numbers of a text can answer."""


NOT_COMPARABLE = "local judge, not comparable with hosted models"


def local_judges(config: Config) -> list[str]:
    """The judges whose model runs on this machine in the embedded server."""
    return [
        name for name, judge in config.judges.items() if judge.kind == "model" and judge.endpoint.provider == "embedded"
    ]


def family(model: str) -> str:
    """The family of a model by its name; the name itself where it tells none."""
    name = model.rsplit("/", 1)[-1].lower()
    return next((known for start, known in PROVIDERS_OF if name.startswith(start)), name)


def job_warnings(config: Config) -> tuple[str, ...]:
    """What is questionable about one configuration."""
    found: list[str] = []
    if config.generator.kind == "model":
        judged = [(name, judge.model) for name, judge in config.judges.items() if judge.kind == "model"]
        same = [name for name, model in judged if model == config.generator.model]
        if same:
            found.append(
                f"{', '.join(same)}: the judge is the generator itself ({config.generator.model}); models favour their "
                "own answers"
            )
        kin = [name for name, model in judged if name not in same and family(model) == family(config.generator.model)]
        if kin:
            found.append(
                f"{', '.join(kin)}: judge and generator are of one family ({family(config.generator.model)}), which "
                "may favour its own style"
            )
    if config.generator.kind in APPLICATIONS:
        found.append(
            f"generator.kind={config.generator.kind}: what your application asks of models, and what that costs, is "
            "known only when it runs; plan counts the judges alone, as if its answers and passages were long ones"
        )
    local = local_judges(config)
    if local:
        found.append(f"{', '.join(local)}: {NOT_COMPARABLE}")
    deaf = [
        name
        for name, judge in config.judges.items()
        if judge.kind == "evidence" and judge.rubric.id not in EVIDENCE_RUBRICS
    ]
    if deaf:
        found.append(
            f"{', '.join(deaf)}: a judge without a model compares words and numbers and cannot read the rubric's "
            "instructions; take a judge model for a score that means something"
        )
    for name, judge in config.judges.items():
        unwise = (problem for problem in lint_rubric(judge.rubric) if problem.severity == "warning")
        found.extend(f"judges.{name}: rubric {rubric_name(judge.rubric)}, {problem}" for problem in unwise)
    return tuple(found)


def warnings_of(jobs: Sequence[Job]) -> tuple[str, ...]:
    """What is questionable about the configurations, each thing once."""
    found = [warning for job in jobs for warning in job_warnings(job.config)]
    return tuple(dict.fromkeys([*found, *_unread_wordings(jobs)]))


def _unread_wordings(jobs: Sequence[Job]) -> list[str]:
    """Judges whose rubrics are compared, although they read nothing but which inputs and scale these have."""
    texts: dict[str, set[str]] = {}
    for job in jobs:
        for name, judge in job.config.judges.items():
            if judge.kind == "evidence" or judge.scoring == "sentences":
                texts.setdefault(name, set()).add(rubric_hash(judge.rubric))
    return [
        f"{name}: the jobs differ in its rubric, whose instructions and anchors this judge does not read "
        f"(scoring=sentences and kind=evidence); a comparison of wordings needs judges.{name}.scoring=verdict and a "
        "model that can follow them"
        for name, seen in texts.items()
        if len(seen) > 1
    ]


def _scale(jobs: Sequence[Job]) -> tuple[float, float] | None:
    """The ends of the first judge's scale that has numbers; ``None`` where all judges give labels, or none is asked."""
    for job in jobs:
        for judge in job.config.judges.values():
            scale = judge.rubric.scale
            if scale.kind in ("ordinal", "continuous") and scale.min is not None and scale.max is not None:
                return scale.min, scale.max
    return None


def sweep_warnings(jobs: Sequence[Job], questions: Sequence[Sequence[Question]]) -> tuple[str, ...]:
    """The same, and what so many questions can show."""
    found = list(warnings_of(jobs))
    for asked in questions:
        documents = len({question.gold[0] if question.gold else question.id for question in asked})
        alone = " A question without gold documents counts as a document of its own."
        without = any(not question.gold for question in asked)
        found.append(design_help(len(asked), documents, _scale(jobs)).sentence + (alone if without else ""))
    return tuple(dict.fromkeys(found))
