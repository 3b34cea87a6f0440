"""The configuration: composing jobs from YAML and overrides, and checking them before anything is paid."""

from __future__ import annotations

from runner.config.composition import Composed, compose, compose_batch, compose_jobs, compose_one, prepare
from runner.config.environment import load_dotenv_file
from runner.config.jobs import Job
from runner.config.keys import choices, job_key
from runner.config.names import job_names
from runner.config.paths import (
    find,
    find_instructions,
    home,
    models_folder,
    search_folders,
    shipped_conf,
    shipped_experiments,
    user_conf,
)
from runner.config.search_path import ConfigSource
from runner.config.validation import check

__all__ = [
    "Composed",
    "ConfigSource",
    "Job",
    "check",
    "choices",
    "compose",
    "compose_batch",
    "compose_jobs",
    "compose_one",
    "find",
    "find_instructions",
    "home",
    "job_key",
    "job_names",
    "load_dotenv_file",
    "models_folder",
    "prepare",
    "search_folders",
    "shipped_conf",
    "shipped_experiments",
    "user_conf",
]
