"""A job: one configuration of a sweep, composed and resolved, with its key and its name."""

from __future__ import annotations

import dataclasses
from collections.abc import Mapping
from dataclasses import dataclass, field

from runner.config import schema
from runner.config.search_path import ConfigSource


@dataclass(frozen=True)
class Job:
    """One configuration, with nothing left to resolve."""

    key: str
    """Hash of everything that can change a score."""
    name: str
    """What differs from the other jobs of the sweep, such as ``top_k=3 · gpt-4o-mini``."""
    config: schema.Config
    overrides: tuple[str, ...]
    """What the command line and the experiment's sweep say about this job."""
    number: int
    """0-based place in the sweep."""
    sources: Mapping[str, str] = field(default_factory=dict)
    """Key of the configuration → SHA-256 of the file or folder that it names, such as ``questions.path``."""
    resolved_yaml: str = ""
    """The configuration as YAML, everything resolved, without secrets."""
    origins: Mapping[str, str] = field(default_factory=dict)
    """Key → environment variable that decided its value."""
    source: ConfigSource = field(default_factory=ConfigSource)
    """Where its configuration files were looked for."""
    group_choices: Mapping[str, str] = field(default_factory=dict)
    """Group → chosen option, such as ``stack`` → ``local``."""

    def named(self, name: str) -> Job:
        """The same job under another name."""
        return dataclasses.replace(self, name=name)
