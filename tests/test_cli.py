"""The command line: verbs, flags, exit codes, messages, and how light it starts."""

from __future__ import annotations

import errno
import json
import os
import resource
import subprocess
import sys
from collections.abc import Sequence
from importlib import import_module
from pathlib import Path
from typing import Any

import pytest

from runner import cli
from runner.cli import VERBS, available_verbs, main
from runner.config import shipped_conf
from runner.errors import BudgetReached, ExitCode, Interrupted

ROOT = Path(__file__).resolve().parent.parent
KEY = "sk-proj-abcdefghijklmnop1234"
HEAVY = (
    "mlflow",
    "chromadb",
    "langchain_core",
    "langchain_openai",
    "openai",
    "scipy",
    "sklearn",
    "numpy",
    "onnxruntime",
)
MOST_CPU_SECONDS = 1.0
"""What ``--help`` and ``--cfg job`` may take."""


class Launched:
    """Stands in for what runs the jobs, and remembers what it was given."""

    def __init__(self, *codes: ExitCode) -> None:
        self.codes = list(codes)
        self.calls: list[tuple[tuple[Any, ...], Path]] = []

    def __call__(self, jobs: Sequence[Any], *, output_dir: Path, quiet: bool = False) -> ExitCode:
        self.calls.append((tuple(jobs), output_dir))
        return self.codes[min(len(self.calls), len(self.codes)) - 1]


@pytest.fixture
def launched(monkeypatch: pytest.MonkeyPatch, home: Path) -> Launched:
    """Nothing is evaluated: the launch is recorded."""
    stand_in = Launched(ExitCode.DONE)
    # Both are imported first: a module imported in between would keep the stand-in for good.
    for module in [import_module(name) for name in ("runner.sweeps.launch", "runner.sweeps.launcher")]:
        monkeypatch.setattr(module, "launch", stand_in)
    return stand_in


def runner(*arguments: str, cwd: Path) -> subprocess.CompletedProcess[str]:
    """The command line in a process of its own."""
    environment = {**os.environ, "PYTHONPATH": str(ROOT)}
    return subprocess.run(
        [sys.executable, "-m", "runner", *arguments],
        cwd=cwd,
        env=environment,
        capture_output=True,
        text=True,
        check=False,
    )


class TestLightness:
    @pytest.mark.parametrize("line", [["--help"], ["--cfg", "job"], ["nonsense"]])
    def test_nothing_heavy_is_imported(self, line: list[str], home: Path) -> None:
        program = (
            "import sys, json\n"
            "from runner.cli import main\n"
            f"main({line!r})\n"
            "print('\\n' + json.dumps(sorted(sys.modules)))\n"
        )
        environment = {**os.environ, "PYTHONPATH": str(ROOT)}
        before = resource.getrusage(resource.RUSAGE_CHILDREN)
        done = subprocess.run(
            [sys.executable, "-c", program], env=environment, capture_output=True, text=True, check=True
        )
        after = resource.getrusage(resource.RUSAGE_CHILDREN)
        modules = set(json.loads(done.stdout.splitlines()[-1]))
        assert not [name for name in HEAVY if name in modules]
        spent = after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime
        if os.getloadavg()[0] < (os.cpu_count() or 1):
            # CPU seconds grow with what else the machine does, so they are only judged on a quiet one.
            assert spent < MOST_CPU_SECONDS

    def test_importing_the_package_is_light(self) -> None:
        program = "import sys, runner, runner.config; print('hydra' in sys.modules, 'pydantic' in sys.modules)"
        done = subprocess.run([sys.executable, "-c", program], cwd=ROOT, capture_output=True, text=True, check=True)
        assert done.stdout.split()[0] == "False"


class TestHelp:
    def test_help_shows_verbs_groups_and_examples(self, home: Path, capsys: pytest.CaptureFixture[str]) -> None:
        assert main(["--help"]) == 0
        text = capsys.readouterr().out
        assert all(f"  {name} " in text for name in available_verbs())
        assert "retriever       bm25, dense" in text
        assert "python -m runner -m experiment=top_k" in text
        assert "Exit codes: 0 done" in text

    def test_help_shows_the_users_own_options(self, home: Path, capsys: pytest.CaptureFixture[str]) -> None:
        Path("conf/retriever").mkdir(parents=True)
        Path("conf/retriever/my_own.yaml").write_text("kind: dense\n", encoding="utf-8")
        main(["--help"])
        assert "my_own" in capsys.readouterr().out

    @pytest.mark.parametrize("name", ["plan", "init"])
    def test_a_verb_has_help_of_its_own(self, name: str, home: Path, capsys: pytest.CaptureFixture[str]) -> None:
        assert main([name, "--help"]) == 0
        assert capsys.readouterr().out.startswith("usage: ")

    def test_only_verbs_that_exist_are_listed(self, monkeypatch: pytest.MonkeyPatch) -> None:
        monkeypatch.setitem(VERBS, "dream", cli.Verb("runner.nowhere.dream:main", "not there"))
        assert "dream" not in available_verbs()
        assert "init" in available_verbs()

    def test_every_listed_verb_has_its_function(self) -> None:
        for name in available_verbs():
            module, _, function = VERBS[name].target.partition(":")
            assert callable(getattr(import_module(module), function)), name

    def test_version(self, home: Path, capsys: pytest.CaptureFixture[str]) -> None:
        assert main(["--version"]) == 0
        assert "hydra-core" in capsys.readouterr().out


class TestUsage:
    @pytest.mark.parametrize(
        ("line", "message"),
        [
            (["initt"], "initt: there is no such verb; did you mean init?"),
            (["--nope"], "unrecognized arguments: --nope"),
            (["--cfg", "everything"], "invalid choice"),
            (["launch=basic"], "launch=basic: a launcher only acts on a sweep; add -m"),
            (["hydra/launcher=basic"], "a launcher only acts on a sweep; add -m"),
            (["-m", "--cfg", "job"], "-m cannot stand beside"),
            (["hydra.mode=MULTIRUN"], "hydra.mode is set by -m"),
            (["--config-dir", "nowhere"], "--config-dir: there is no folder"),
            (["retriever.topk=3"], "did you mean top_k?"),
            (["--cfg", "job", "retriever.topk=3"], "did you mean top_k?"),
            (["experiment=top_k"], "add -m"),
            (["retriever.top_k=1,3"], "add -m"),
            (["plan", "retriever.topk=3"], "did you mean top_k?"),
        ],
    )
    def test_mistakes_end_with_1_and_a_sentence(
        self, line: list[str], message: str, launched: Launched, capsys: pytest.CaptureFixture[str]
    ) -> None:
        assert main(line) == ExitCode.BAD_CONFIGURATION
        error = capsys.readouterr().err
        assert message in error
        assert "Traceback" not in error
        assert launched.calls == []
        assert list(Path().iterdir()) == [], "nothing is written before everything is checked"

    def test_flags_and_overrides_may_stand_in_any_order(self, launched: Launched) -> None:
        assert main(["stack=extractive", "-m", "retriever.top_k=1,3"]) == 0
        ((jobs, _),) = launched.calls
        assert [job.name for job in jobs] == ["top_k=1", "top_k=3"]


class TestSecrets:
    @pytest.mark.parametrize("line", [[f"name={KEY}"], ["plan", f"name={KEY}"], ["--cfg", "job", f"name={KEY}"], [KEY]])
    def test_a_key_is_refused_before_anything_is_written(
        self, line: list[str], launched: Launched, capsys: pytest.CaptureFixture[str]
    ) -> None:
        assert main(line) == ExitCode.BAD_CONFIGURATION
        captured = capsys.readouterr()
        assert KEY not in captured.err + captured.out
        assert "looks like a secret" in captured.err
        assert list(Path().iterdir()) == []

    def test_resolved_configuration_shows_no_key(
        self, monkeypatch: pytest.MonkeyPatch, home: Path, capsys: pytest.CaptureFixture[str]
    ) -> None:
        monkeypatch.setenv("SOME_KEY", KEY)
        assert main(["--cfg", "job", "--resolve", "name=${oc.env:SOME_KEY}"]) == 0
        captured = capsys.readouterr()
        assert "name: '***'" in captured.out or "name: ***" in captured.out
        assert KEY not in captured.out + captured.err

    def test_what_hydra_writes_holds_no_key(self, monkeypatch: pytest.MonkeyPatch, launched: Launched) -> None:
        monkeypatch.setenv("OPENAI_API_KEY", KEY)
        assert main(["stack=openai"]) == 0
        assert main(["-m", "stack=openai", "retriever.top_k=1,2"]) == 0
        written = [file.read_text(encoding="utf-8") for file in Path("outputs").rglob("*.yaml")]
        assert written
        assert not any(KEY in text for text in written)

    def test_dotenv_is_read_here_and_does_not_override(
        self, monkeypatch: pytest.MonkeyPatch, launched: Launched, capsys: pytest.CaptureFixture[str]
    ) -> None:
        monkeypatch.setenv("JUDGE_MODEL", "from-environment")
        monkeypatch.setenv("OPENAI_API_KEY", "to-be-removed")
        monkeypatch.delenv("OPENAI_API_KEY")
        monkeypatch.setenv("TOP_K", "to-be-removed")
        monkeypatch.delenv("TOP_K")
        Path(".env").write_text("\ufeffOPENAI_API_KEY=abc\nJUDGE_MODEL=from-file\nTOP_K=4\n", encoding="utf-8")
        assert main(["stack=openai"]) == 0
        ((job,), _), *_ = launched.calls
        assert job.config.judges["grounding"].model == "from-environment"
        assert job.config.retriever.top_k == 4
        assert "stack_defaults.top_k comes from the environment variable TOP_K" in capsys.readouterr().err


class TestLaunching:
    def test_a_run_gets_one_job_and_a_folder_with_hydras_files(self, launched: Launched) -> None:
        assert main(["stack=extractive", "retriever.top_k=2"]) == 0
        (((job,), folder),) = launched.calls
        assert job.config.retriever.top_k == 2
        assert (folder / ".hydra/config.yaml").is_file()
        assert folder.relative_to(Path.cwd()).parts[0] == "outputs"

    def test_a_sweep_gets_all_jobs_at_once(self, launched: Launched) -> None:
        assert main(["-m", "experiment=top_k", "stack=extractive"]) == 0
        ((jobs, _),) = launched.calls
        assert [job.name for job in jobs] == ["top_k=1", "top_k=3", "top_k=5"]

    def test_the_basic_launcher_gets_them_one_by_one(self, launched: Launched) -> None:
        launched.codes = [ExitCode.DONE, ExitCode.INCOMPLETE, ExitCode.DONE]
        assert (
            main(["-m", "experiment=top_k", "stack=extractive", "launch=basic", "tracking=none"]) == ExitCode.INCOMPLETE
        )
        assert [len(jobs) for jobs, _ in launched.calls] == [1, 1, 1]
        assert len({folder for _, folder in launched.calls}) == 3

    def test_two_starts_in_one_second_have_folders_of_their_own(self, launched: Launched) -> None:
        """hydra#1607: directories by the second overwrote each other."""
        for _ in range(3):
            main(["stack=extractive"])
        assert len({folder for _, folder in launched.calls}) == 3

    def test_the_folder_can_be_chosen(self, launched: Launched) -> None:
        assert main(["stack=extractive", "hydra.run.dir=mine/here"]) == 0
        ((_, folder),) = launched.calls
        assert folder == Path.cwd() / "mine/here"

    @pytest.mark.parametrize("code", list(ExitCode))
    def test_the_exit_code_is_handed_on(self, code: ExitCode, launched: Launched) -> None:
        launched.codes = [code]
        assert main(["stack=extractive"]) == code
        assert main(["-m", "stack=extractive", "seed=1,2"]) == code

    @pytest.mark.parametrize(
        ("raised", "code"), [(BudgetReached("cap"), 5), (Interrupted("stop"), 130), (KeyboardInterrupt(), 130)]
    )
    def test_what_is_raised_becomes_an_exit_code(
        self, raised: BaseException, code: int, monkeypatch: pytest.MonkeyPatch, home: Path
    ) -> None:
        def launch(*_: Any, **__: Any) -> ExitCode:
            raise raised

        monkeypatch.setattr(import_module("runner.sweeps.launch"), "launch", launch)
        assert main(["stack=extractive"]) == code

    def test_a_folder_that_cannot_be_written_is_a_sentence(
        self, launched: Launched, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
    ) -> None:
        Path("outputs").write_text("a file is in the way", encoding="utf-8")
        assert main(["stack=extractive", "hydra.run.dir=outputs"]) == ExitCode.BAD_CONFIGURATION
        assert "outputs: cannot be written" in capsys.readouterr().err

        def refuse(*_: Any, **__: Any) -> None:
            raise PermissionError(errno.EACCES, "Permission denied", "outputs/x")

        monkeypatch.setattr(Path, "mkdir", refuse)
        assert main(["stack=extractive"]) == ExitCode.BAD_CONFIGURATION
        assert capsys.readouterr().err.endswith("outputs/x: cannot be written (Permission denied)\n")
        assert launched.calls == []

    def test_the_weightiest_code_of_several_jobs_counts(self) -> None:
        assert cli._weightiest([0, 3, 5]) == 5
        assert cli._weightiest([4, 3, 0]) == 3
        assert cli._weightiest([130, 1]) == 130
        assert cli._weightiest([]) == 0


class TestHydraFlags:
    def test_cfg_job(self, home: Path, capsys: pytest.CaptureFixture[str]) -> None:
        assert main(["--cfg", "job", "stack=extractive"]) == 0
        assert "kind: extractive" in capsys.readouterr().out

    def test_cfg_of_a_part(self, home: Path, capsys: pytest.CaptureFixture[str]) -> None:
        assert main(["--cfg=job", "--package", "retriever"]) == 0
        assert capsys.readouterr().out.startswith("# @package retriever\nkind: dense\n")

    def test_info_shows_whose_folder_comes_first(self, home: Path, capsys: pytest.CaptureFixture[str]) -> None:
        Path("conf/retriever").mkdir(parents=True)
        assert main(["--info", "searchpath"]) == 0
        lines = capsys.readouterr().out.splitlines()
        mine = next(index for index, line in enumerate(lines) if "your conf" in line)
        shipped = next(index for index, line in enumerate(lines) if str(shipped_conf()) in line)
        assert mine < shipped

    def test_config_dir_wins(self, tmp_path: Path, home: Path, capsys: pytest.CaptureFixture[str]) -> None:
        (tmp_path / "extra/retriever").mkdir(parents=True)
        (tmp_path / "extra/retriever/dense.yaml").write_text("kind: dense\ntop_k: 7\n", encoding="utf-8")
        assert main(["--cfg", "job", "-p", "retriever.top_k", "--config-dir", str(tmp_path / "extra")]) == 0
        assert capsys.readouterr().out.strip().endswith("7")

    @pytest.mark.parametrize(
        ("line", "expected", "unexpected"),
        [
            ("runner retriever=", "retriever=bm25", "plan"),
            ("runner plan retriever=", "retriever=bm25", "plan"),
            ("runner retriever.to", "retriever.top_k=", "retriever=bm25"),
            ("runner pla", "plan", "report"),
            ("runner ", "init", ".schema"),
            ("runner -m experiment=", "experiment=top_k", "init"),
        ],
    )
    def test_tab_completion(
        self,
        line: str,
        expected: str,
        unexpected: str,
        monkeypatch: pytest.MonkeyPatch,
        home: Path,
        capsys: pytest.CaptureFixture[str],
    ) -> None:
        monkeypatch.setenv("COMP_LINE", line)
        assert main(["-sc", "query=bash"]) == 0
        words = capsys.readouterr().out.split()
        assert expected in words
        assert unexpected not in words

    @pytest.mark.parametrize("shell", ["bash", "fish", "zsh"])
    def test_completion_can_be_installed(self, shell: str, home: Path, capsys: pytest.CaptureFixture[str]) -> None:
        assert main(["-sc", f"install={shell}"]) == 0
        assert "runner" in capsys.readouterr().out


def test_a_closed_pipe_is_no_error(home: Path) -> None:
    process = subprocess.run(
        f"{sys.executable} -m runner --help | head -1",
        shell=True,
        cwd=ROOT,
        capture_output=True,
        text=True,
        check=False,
    )
    assert process.stdout.startswith("usage:")
    assert process.stderr == ""


def test_as_a_module_the_exit_code_reaches_the_shell(home: Path) -> None:
    done = runner("retriever.topk=3", cwd=Path.cwd())
    assert done.returncode == 1
    assert done.stdout == ""
    assert done.stderr.startswith("1 problem, nothing was paid:\n")


@pytest.mark.parametrize(
    "line",
    [
        "compare RUN --margin nan",
        "compare RUN --margin inf",
        "compare RUN --margin -1",
        "compare RUN --examples -1",
        "compare RUN --seed -1",
        "label RUN --count 0",
        "label RUN --count -1",
        "label RUN --seed -1",
        "calibrate RUN --labels FILE --seed -1",
        "ledger prune --older-than -1",
        "ledger prune --older-than nan",
        "ledger prune --older-than 1e300",
        "ui --port 0",
        "ui --port 65536",
    ],
)
def test_an_option_out_of_its_range_is_refused_in_a_sentence(line: str, capsys: pytest.CaptureFixture[str]) -> None:
    *_, option, value = line.split()
    assert main(line.split()) == ExitCode.BAD_CONFIGURATION
    said = capsys.readouterr().err
    assert f"argument {option}: '{value}' is not a " in said
    assert "Traceback" not in said
