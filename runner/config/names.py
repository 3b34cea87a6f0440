"""What each job of a sweep is called: what differs between them, in a few words."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence

SEPARATOR = " · "
_LONGEST = 200
_LONGEST_ALONE = 60
"""Of a single run, which has nothing to be told apart from."""
_SILENT = (
    "endpoint",
    "prices",
    "budget",
    "tracking",
    "launch",
    "calls",
    "questions",
    "experiment",
    "knowledge_base",
    "embedder",
    "gate",
    "allow_rubric_edit",
    "controls",
    "metadata",
    "on_error",
    "hydra",
)
"""Beginnings of keys that say little about what a single run is; a sweep names whatever differs."""


def job_names(overrides: Sequence[Sequence[str]], fallback: str) -> tuple[str, ...]:
    """One name for each job, unique, from the overrides that differ; ``fallback`` where nothing does.

    ``retriever.top_k=3`` is called ``top_k=3``; a model, a rubric, a prompt or a group's option by its value alone.
    """
    parsed = [dict(_split(override) for override in job) for job in overrides]
    keys = list(dict.fromkeys(key for job in parsed for key in job))
    if len(parsed) == 1:
        differing = [key for key in keys if not key.startswith(_SILENT)]
    else:
        differing = [key for key in keys if len({job.get(key) for job in parsed}) > 1]
    longest = _LONGEST_ALONE if len(parsed) == 1 else _LONGEST
    names = [_joined([_label(key, job[key]) for key in differing if key in job], longest) for job in parsed]
    names = [name or fallback for name in names]
    seen: Counter[str] = Counter()
    unique = []
    for name in names:
        seen[name] += 1
        unique.append(name if seen[name] == 1 else f"{name} #{seen[name]}")
    return tuple(unique)


def _joined(labels: Sequence[str], longest: int) -> str:
    """As many whole labels as fit."""
    name = ""
    for label in labels:
        longer = f"{name}{SEPARATOR}{label}" if name else label[:longest]
        if len(longer) > longest:
            break
        name = longer
    return name


def _split(override: str) -> tuple[str, str]:
    key, _, value = override.partition("=")
    return key.lstrip("+~"), value


def _label(key: str, value: str) -> str:
    group, _, package = key.partition("@")
    words = group.split(".")
    last = words[-1]
    text = _plain(value)
    if package or "." not in group or last in ("model", "kind"):
        if group == "judge_defaults.model":
            return f"judge={text}"
        if group in ("seed", "name") or (last == "kind" and "." in group):
            return f"{words[-2] if last == 'kind' else last}={text}"
        return text
    return f"{last}={text}"


def _plain(value: str) -> str:
    text = value.strip()
    if text[:1] == text[-1:] and text[:1] in ("'", '"') and len(text) > 1:
        text = text[1:-1]
    if text.startswith("{") and text.endswith("}"):
        return "/".join(part.partition(":")[2].strip() or part.strip() for part in text[1:-1].split(","))
    if text.startswith("[") and text.endswith("]"):
        return "+".join(part.strip() for part in text[1:-1].split(",")) or "none"
    return text
