"""What a model refuses: said in the configuration, learned from a 400 that names it (now or before), or certain.

In this order: what this door was told by the server, ``calls.capabilities``, the lessons in the home, the table below.
The ledger key is made from the request as it was meant; ``adapt`` comes after it, so nothing here changes a key.
"""

from __future__ import annotations

import re
import threading
from collections.abc import Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from runner.calls.lessons import Lessons
    from runner.config.schema import Capability

__all__ = ["Capabilities"]

REFUSED = "refused"


@dataclass(frozen=True, slots=True)
class _Known:
    """Parameters that models with such a name refuse."""

    pattern: re.Pattern[str]
    refused: tuple[str, ...]


_DATE = r"(-\d{4}-\d{2}-\d{2})?$"
_REASONING = ("temperature", "top_p", "logprobs")
_KNOWN = (
    # OpenAI's reasoning models without effort `none`: no sampling parameters at all.
    _Known(re.compile(rf"^(gpt-5(-mini|-nano|-pro|-codex)?|o\d(-mini|-pro|-preview)?){_DATE}"), _REASONING),
    # Reported to take temperature 1 only.
    _Known(re.compile(rf"^gpt-5\.6(-sol|-terra|-luna)?{_DATE}"), ("temperature",)),
    # 5.1 to 5.5 take sampling parameters at their default effort: nothing is dropped before they say so.
    _Known(re.compile(r"^(gpt-5|o\d)"), ("max_tokens",)),
)
_KNOWN_PROVIDERS = ("openai",)
"""A compatible server may give any model any name, so the table does not speak about it."""

_SCHEMA = ("response_format", "text")
_RENAMED = {"max_tokens": "max_completion_tokens", "max_completion_tokens": "max_tokens"}
_GO_TOGETHER = {"logprobs": ("logprobs", "top_logprobs"), "top_logprobs": ("logprobs", "top_logprobs")}
_ONLY_DEFAULT = {"temperature": 1, "top_p": 1}
"""A refused parameter with its default value changes nothing, so it is left out without being called refused."""


def _on_the_wire(names: Sequence[str]) -> set[str]:
    """Parameters as servers call them: the schema has two names, by API."""
    return {wire for name in names for wire in (_SCHEMA if name == "schema" else (name,))}


class Capabilities:
    """What is known and what was learned; safe from any thread."""

    def __init__(self, configured: Sequence[Capability] = (), lessons: Lessons | None = None) -> None:
        self._lock = threading.Lock()
        self._learned: dict[tuple[str, str, str], frozenset[str]] = {}
        self._configured = {one.model: one for one in configured}
        self._lessons = lessons
        self._remembered = {} if lessons is None else lessons.read()

    def refuse(self, provider: str, model: str, parameter: str, *, server: str = "") -> None:
        """Remember that the model refuses this parameter. ``server``: the base URL, where two may differ."""
        with self._lock:
            key = (provider, model, server)
            told = self._learned.get(key, frozenset())
            # The opposite name was wrong before: a model takes one of the two.
            told = self._learned[key] = (told - {_RENAMED.get(parameter, "")}) | {parameter}
        if self._lessons is not None and provider != "embedded":
            # A file in the home, a few times in the life of a model: the event loop can spare the moment.
            before = self._remembered.get(key)
            kept = {name for name in (before.refuses if before else ()) if _RENAMED.get(name) not in told}
            # A refusal of the schema may be about this one schema: only a probe, whose schema is plain, can tell.
            lasting = (told - set(_SCHEMA)) | kept
            if lasting:
                self._lessons.learn(provider, model, server, lasting)

    def refused(self, provider: str, model: str, *, server: str = "") -> frozenset[str]:
        """All parameters that this model is known to refuse."""
        key = (provider, model, server)
        found = set(self._learned.get(key, ()))
        taken: set[str] = set()
        for refuses, takes in self._sources(key):
            found |= {name for name in refuses if name not in taken and _RENAMED.get(name) not in found}
            taken |= set(takes)
        return frozenset(found)

    def _sources(self, key: tuple[str, str, str]) -> Iterator[tuple[Collection[str], Collection[str]]]:
        """(what it refuses, what it takes), the surest first."""
        provider, model, _ = key
        said = self._configured.get(model)
        if said is not None:
            yield _on_the_wire(said.refuses), _on_the_wire(said.takes)
        lesson = self._remembered.get(key)
        if lesson is not None:
            yield lesson.refuses, lesson.takes
        if provider in _KNOWN_PROVIDERS:
            yield {name for entry in _KNOWN if entry.pattern.match(model) for name in entry.refused}, ()

    def adapt(
        self, provider: str, model: str, body: Mapping[str, Any], *, server: str = ""
    ) -> tuple[dict[str, Any], dict[str, str]]:
        """(the body to send, what was left out of it as ``{"temperature": "refused"}``). The body given stays as it is.

        An output limit is never left out, only renamed; renaming is not listed.
        """
        sent, left_out = dict(body), {}
        for parameter in sorted(self.refused(provider, model, server=server)):
            other = _RENAMED.get(parameter)
            if other is not None:
                if parameter in sent:
                    sent.setdefault(other, sent.pop(parameter))
                continue
            for name in _GO_TOGETHER.get(parameter, (parameter,)):
                if name in sent:
                    value = sent.pop(name)
                    if _ONLY_DEFAULT.get(name) != value:
                        left_out[name] = REFUSED
            if "logprobs" in parameter and "include" in sent:
                # How the Responses API is asked for them.
                kept = [wanted for wanted in sent.pop("include") if "logprobs" not in wanted]
                sent |= {"include": kept} if kept else {}
        return sent, left_out
