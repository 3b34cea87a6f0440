"""Tab completion: Hydra completes groups, options and keys; the verbs and what hides in dot folders are ours."""

from __future__ import annotations

from collections.abc import Iterable, Sequence


def without_verb(line: str, verbs: Iterable[str]) -> str:
    """The command line without its verb, which Hydra would take for a broken override."""
    words = line.split(" ")
    if len(words) > 2 and words[1] in set(verbs):
        del words[1]
    return " ".join(words)


def matching_verbs(line: str, verbs: Iterable[str]) -> list[str]:
    """The verbs that the line may go on with: only its first word can be one."""
    words = line.split(" ")
    return [verb for verb in verbs if len(words) == 2 and verb.startswith(words[1])]


def suggestions(found: str, more: Sequence[str]) -> str:
    """What Hydra's completion printed, without hidden folders, with more words, in the same form."""
    separator = "\n" if "\n" in found.strip() else " "
    words = [word for word in found.split() if not word.startswith(".")]
    return separator.join([*more, *words])
