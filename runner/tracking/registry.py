"""Texts → MLflow's prompt registry, so that the number MLflow shows is the text's own version.

MLflow counts the versions of a prompt itself, in the order of registration. So a version is registered after the
earlier ones. Where the numbers cannot be the same (another text of a version that is there already, a version whose
predecessors nobody has), the text goes to a prompt whose name says the version, ``rubric.topicality.v1-texts``, in
which MLflow counts the texts.
"""

from __future__ import annotations

import os
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any

from runner.tracking import text as t

if TYPE_CHECKING:
    from mlflow import MlflowClient

_ID, _NAME = "MLFLOW_EXPERIMENT_ID", "MLFLOW_EXPERIMENT_NAME"


class PromptRegistry:
    """Registers each text of each version once. Not safe for threads."""

    def __init__(self, client: MlflowClient, experiment_id: str) -> None:
        self._client = client
        self._experiment_id = experiment_id
        self._known: dict[tuple[str, int, str], Any] = {}

    def link(self, run_id: str, given: Mapping[str, Any]) -> None:
        """Links the text of a ``prompt`` operation with a run, and with the experiment's own page of prompts."""
        name, version = given["name"], int(given["tags"]["version"])
        with self._linked_with_the_experiment():
            key = (name, version, given["text"])
            if key not in self._known:
                self._known[key] = self._find(name, version, given)
            self._client.link_prompt_version_to_run(run_id, self._known[key])

    def _find(self, name: str, version: int, given: Mapping[str, Any]) -> Any:
        there = self._load(f"{name}/{version}")
        if there is None:
            for before in sorted(given.get("earlier", ()), key=lambda each: int(each["tags"]["version"])):
                number = int(before["tags"]["version"])
                if self._load(f"{name}/{number}") is None:
                    self._register_as(name, number, before)
            there = self._register_as(name, version, given)
        if there is not None and there.template == given["text"]:
            return there
        return self._apart(f"{name}.v{version}-texts", given)

    def _register_as(self, name: str, version: int, given: Mapping[str, Any]) -> Any:
        """Registers a text under this number; ``None`` where MLflow would give it another one."""
        if version > 1 and self._load(f"{name}/{version - 1}") is None:
            return None
        made = self._register(name, given)
        if made.version == version:
            return made
        # Another launch was faster, or somebody deleted versions: a wrong number must not stay.
        self._client.delete_prompt_version(name, str(made.version))
        return self._load(f"{name}/{version}")

    def _apart(self, name: str, given: Mapping[str, Any]) -> Any:
        alias = "sha-" + t.hex_id(16, given["text"])
        known = self._load(f"{name}@{alias}")
        if known is None:
            known = self._register(name, given)
            self._client.set_prompt_alias(name, alias, known.version)
        return known

    def _register(self, name: str, given: Mapping[str, Any]) -> Any:
        made = self._client.register_prompt(name, given["text"], commit_message=given["source"] or None)
        for key, value in given["tags"].items():
            # Given to register_prompt they would also be tags of the prompt, where they are wrong for other versions.
            self._client.set_prompt_version_tag(name, made.version, key, value)
        return made

    def _load(self, where: str) -> Any:
        return self._client.load_prompt(f"prompts:/{where}", allow_missing=True, cache_ttl_seconds=0)

    @contextmanager
    def _linked_with_the_experiment(self) -> Iterator[None]:
        """MLflow links what it loads and registers with the active experiment, which is "Default" in our process."""
        before = {name: os.environ.pop(name, None) for name in (_ID, _NAME)}
        os.environ[_ID] = self._experiment_id
        try:
            yield
        finally:
            os.environ.pop(_ID, None)
            os.environ.update({name: value for name, value in before.items() if value is not None})
