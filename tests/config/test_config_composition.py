"""Composing jobs: every shipped choice, sweeps, experiments, and whose file wins."""

from __future__ import annotations

import itertools
from pathlib import Path

import pytest
import yaml

from runner.config import ConfigSource, check, choices, compose_jobs, compose_one, prepare, shipped_conf
from runner.config.paths import GROUPS
from runner.errors import ConfigurationError, Problem

pytestmark = pytest.mark.usefixtures("home")

COMPATIBLE = (
    "stack=openai_compatible",
    "endpoint.base_url=http://localhost:9/v1",
    "generator.model=small",
    "judge_defaults.model=large",
)
NEEDS = {
    ("knowledge_base", "none"): ["retriever=none", "judge=[topicality]"],
    ("retriever", "none"): ["judge=[topicality]"],
    ("embedder", "none"): ["retriever=bm25"],
    ("generator", "recorded"): ["questions.fields.answer=answer"],
    ("generator", "callable"): ["generator.target=own_application.app:answer", "retriever=none", "judge=[topicality]"],
    ("generator", "command"): ["generator.command=[python,own_application/command.py]"],
    ("generator", "http"): ["generator.url=http://localhost:9/answer", "retriever=none", "judge=[topicality]"],
}
"""What options that are no use alone must stand beside."""
MISSING_FILES = tuple(f"there is no {name}" for name in ("documents", "questions.csv", "answers.", "run.jsonl"))
"""Options for the user's own files name some that are not here."""


def options() -> list[tuple[str, str]]:
    found = []
    for group in GROUPS:
        if group not in ("judge", "rubric"):
            found.extend((group, file.stem) for file in sorted((shipped_conf() / group).glob("*.yaml")))
    return found


def write(path: Path, content: str) -> Path:
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(content, encoding="utf-8")
    return path


def keys_of(jobs: object) -> list[str]:
    return [job.key for job in jobs]  # type: ignore[attr-defined]


@pytest.mark.parametrize(("group", "option"), options())
def test_every_shipped_option_composes(group: str, option: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("OPENAI_API_KEY", "not-a-real-one")
    overrides = [f"{group}={option}"]
    if "openai_compatible" in option:
        overrides = [*COMPATIBLE, *overrides, "embedder.model=vectors"]
    needed = NEEDS.get((group, option), [])
    if needed:
        assert problems_of(overrides, group), f"{group}={option} alone cannot work and must say so"
    assert problems_of([*overrides, *needed], group) == []


def problems_of(overrides: list[str], group: str) -> list[Problem]:
    found = check(compose_jobs(overrides, multirun=group == "experiment"))
    return [problem for problem in found if not problem.what.startswith(MISSING_FILES)]


@pytest.mark.parametrize("judge", sorted(file.stem for file in (shipped_conf() / "judge").glob("*.yaml")))
def test_every_shipped_judge_composes(judge: str) -> None:
    (job,) = prepare([f"judge=[{judge}]"], multirun=False)
    assert list(job.config.judges) == [judge]
    assert job.config.judges[judge].model == job.config.judge_defaults.model


@pytest.mark.parametrize("rubric", sorted(file.stem for file in (shipped_conf() / "rubric").glob("*.yaml")))
def test_every_shipped_rubric_can_be_given_to_a_judge(rubric: str) -> None:
    (job,) = prepare(["judge=[topicality]", f"rubric@judges.topicality.rubric={rubric}"], multirun=False)
    assert f"{job.config.judges['topicality'].rubric.id}_v{job.config.judges['topicality'].rubric.version}" == rubric


@pytest.mark.parametrize("experiment", sorted(file.stem for file in (shipped_conf() / "experiment").glob("*.yaml")))
@pytest.mark.parametrize("stack", [["stack=extractive"], ["stack=openai"], list(COMPATIBLE), []])
def test_every_experiment_works_on_every_stack(
    experiment: str, stack: list[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    """Symptom 76: a shipped configuration that fails in the middle of a run."""
    monkeypatch.setenv("OPENAI_API_KEY", "not-a-real-one")
    content = yaml.safe_load((shipped_conf() / f"experiment/{experiment}.yaml").read_text(encoding="utf-8"))
    swept = content.get("hydra", {}).get("sweeper", {}).get("params", {})
    stack = [override for override in stack if override.partition("=")[0] not in swept]
    if experiment == "recorded_answers":
        # The one experiment about a file of the user's own, which no example can stand for.
        write(Path("answers.csv"), "question,answer_llm,answer_orig,document\nWhen?,In May.,In May.,d1\n")
    jobs = prepare([f"experiment={experiment}", *stack], multirun=bool(swept))
    assert len({job.name for job in jobs}) == len(jobs)
    assert len(jobs) > 1 or not swept
    assert {job.config.name for job in jobs} == {experiment}


def test_the_demo_is_three_runs_over_ten_questions() -> None:
    jobs = prepare(["experiment=top_k"], multirun=True)
    assert [(job.number, job.name, job.config.retriever.top_k) for job in jobs] == [
        (0, "top_k=1", 1),
        (1, "top_k=3", 3),
        (2, "top_k=5", 5),
    ]
    assert {job.config.questions.limit for job in jobs} == {10}
    assert {job.config.generator.model for job in jobs} == {"qwen2.5-coder-0.5b-instruct"}
    assert {judge.model for job in jobs for judge in job.config.judges.values()} == {"qwen2.5-coder-1.5b-instruct"}


def test_the_command_line_beats_the_sweep_of_an_experiment() -> None:
    jobs = prepare(["experiment=top_k", "retriever.top_k=2,4"], multirun=True)
    assert [job.config.retriever.top_k for job in jobs] == [2, 4]


def test_jobs_are_shared_between_sweeps(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("OPENAI_API_KEY", "not-a-real-one")
    by_generator = prepare(["experiment=top_k_by_generator"], multirun=True)
    pairs = prepare(["experiment=pairs"], multirun=True)
    assert len(set(keys_of(by_generator)) & set(keys_of(pairs))) == 1


def test_a_paired_sweep_is_not_a_product(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("OPENAI_API_KEY", "not-a-real-one")
    jobs = prepare(["experiment=pairs"], multirun=True)
    assert [(job.config.generator.model, job.config.judges["grounding"].model) for job in jobs] == [
        ("gpt-4o-mini", "gpt-4o"),
        ("gpt-4o", "gpt-4.1"),
    ]


def test_a_sweep_is_the_product_in_order() -> None:
    jobs = prepare(["stack=extractive", "retriever=dense,bm25", "retriever.top_k=range(1,4)"], multirun=True)
    assert [(job.config.retriever.kind, job.config.retriever.top_k) for job in jobs] == list(
        itertools.product(["dense", "bm25"], [1, 2, 3])
    )


def test_one_job_without_multirun() -> None:
    job = compose_one(["stack=extractive", "retriever.top_k=5"])
    assert (job.number, job.name) == (0, "extractive · top_k=5")
    assert job.overrides == ("stack=extractive", "retriever.top_k=5")
    assert yaml.safe_load(job.resolved_yaml)["retriever"]["top_k"] == 5


def test_hydras_own_overrides_are_no_part_of_a_job() -> None:
    job = compose_one(["hydra.run.dir=elsewhere", "stack=extractive"])
    assert job.overrides == ("stack=extractive",)


def test_a_stack_chosen_by_an_experiment_gives_way_to_the_command_line(tmp_path: Path) -> None:
    write(tmp_path / "mine/experiment/hosted.yaml", "# @package _global_\ndefaults:\n  - override /stack: openai\n")
    source = ConfigSource(extra=tmp_path / "mine")
    assert compose_one(["experiment=hosted"], source=source).config.generator.model == "gpt-4o-mini"
    assert (
        compose_one(["experiment=hosted", "stack=local"], source=source)
        .config.judges["grounding"]
        .model.startswith("qwen")
    )


def test_a_group_on_the_command_line_beats_the_stack() -> None:
    config = compose_one(["stack=openai", "generator=local", "embedder=minilm"]).config
    assert (config.generator.endpoint.provider, config.embedder.kind) == ("embedded", "minilm")
    assert config.judge_defaults.model == "gpt-4o"


def test_one_field_of_one_judges_endpoint_changes_no_other_judge() -> None:
    config = compose_one([*COMPATIBLE, "judges.grounding.endpoint.base_url=http://other/v1"]).config
    assert config.judges["grounding"].endpoint.base_url == "http://other/v1"
    assert config.judges["topicality"].endpoint.base_url == "http://localhost:9/v1"
    assert config.judge_defaults.endpoint.base_url == "http://localhost:9/v1"


def test_two_judges_with_one_rubric_and_a_panel_of_them() -> None:
    (job,) = prepare(
        [
            "+judge@judges.second=grounding",
            "judges.second.model=another",
            "+panels={both: {judges: [grounding, second], combine: min}}",
        ],
        multirun=False,
    )
    assert job.config.judges["second"].rubric.id == job.config.judges["grounding"].rubric.id
    assert job.config.judges["second"].model == "another"
    assert job.config.panels["both"].combine == "min"


@pytest.mark.parametrize("text", ['{braces} and "quotes"', "emoji 🙂 and ünicode", "a: b # no comment", "100 % {{x}}"])
def test_text_survives_untouched(text: str, tmp_path: Path) -> None:
    rubric = {
        "id": "mine",
        "version": 1,
        "scale": {"kind": "boolean"},
        "instructions": f"{text}\nsecond line\n",
    }
    write(tmp_path / "mine/rubric/mine_v1.yaml", yaml.safe_dump(rubric, allow_unicode=True))
    job = compose_one(
        ["judge=[topicality]", "rubric@judges.topicality.rubric=mine_v1"], source=ConfigSource(extra=tmp_path / "mine")
    )
    assert job.config.judges["topicality"].rubric.instructions == f"{text}\nsecond line\n"
    assert yaml.safe_load(job.resolved_yaml)["judges"]["topicality"]["rubric"]["instructions"].startswith(text)


def test_a_literal_dollar_brace_can_be_written() -> None:
    assert compose_one([r"prompt.system='a \${literal}'"]).config.prompt.system == "a ${literal}"


class TestWhoseFileWins:
    """hydra#2758: a user's file of the same name was ignored without a word."""

    def test_the_users_conf_is_found_first(self) -> None:
        write(Path("conf/retriever/dense.yaml"), "kind: dense\ntop_k: 9\n")
        assert compose_one().config.retriever.top_k == 9

    def test_what_the_user_does_not_have_is_still_there(self) -> None:
        write(Path("conf/retriever/mine.yaml"), "kind: dense\ntop_k: 9\n")
        assert compose_one(["retriever=bm25"]).config.retriever.kind == "bm25"
        assert compose_one(["retriever=mine"]).config.retriever.top_k == 9

    def test_the_variable_names_another_folder(self, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
        write(Path("conf/retriever/dense.yaml"), "kind: dense\ntop_k: 9\n")
        write(tmp_path / "theirs/retriever/dense.yaml", "kind: dense\ntop_k: 8\n")
        monkeypatch.setenv("RUNNER_CONF", str(tmp_path / "theirs"))
        assert compose_one().config.retriever.top_k == 8

    def test_the_variable_must_name_a_folder(self, monkeypatch: pytest.MonkeyPatch) -> None:
        monkeypatch.setenv("RUNNER_CONF", "nowhere")
        with pytest.raises(ConfigurationError, match="RUNNER_CONF: there is no folder nowhere"):
            compose_one()

    def test_config_dir_wins_over_everything(self, tmp_path: Path) -> None:
        write(Path("conf/retriever/dense.yaml"), "kind: dense\ntop_k: 9\n")
        write(tmp_path / "extra/retriever/dense.yaml", "kind: dense\ntop_k: 7\n")
        assert compose_one(source=ConfigSource(extra=tmp_path / "extra")).config.retriever.top_k == 7

    def test_config_path_switches_the_users_conf_off(self) -> None:
        """ecmwf/anemoi-core#1093: a search path plugin that beat an explicit flag."""
        write(Path("conf/retriever/dense.yaml"), "kind: dense\ntop_k: 9\n")
        assert compose_one(source=ConfigSource(main=shipped_conf())).config.retriever.top_k == 3

    def test_the_conf_of_another_hydra_application_is_left_alone(self) -> None:
        write(Path("conf/config.yaml"), "defaults:\n  - experiment: theirs\nlr: 0.1\n")
        write(Path("conf/experiment/theirs.yaml"), "lr: 0.2\n")
        assert compose_one().config.retriever.top_k == 3

    def test_the_machines_own_settings_apply_without_being_named(self) -> None:
        write(Path("conf/machine/default.yaml"), "# @package _global_\ncalls:\n  concurrency: 2\n")
        assert compose_one().config.calls.concurrency == 2
        assert compose_one(["calls.concurrency=5"]).config.calls.concurrency == 5

    def test_a_users_file_beats_what_the_stack_suggests(self, monkeypatch: pytest.MonkeyPatch) -> None:
        write(Path("conf/retriever/mine.yaml"), "kind: dense\ntop_k: 9\n")
        monkeypatch.setenv("TOP_K", "5")
        assert compose_one(["stack=openai"]).config.retriever.top_k == 5
        assert compose_one(["stack=openai", "retriever=mine"]).config.retriever.top_k == 9


class TestEnvironmentDefaults:
    def test_stack_openai_reads_them_and_says_so(self, monkeypatch: pytest.MonkeyPatch) -> None:
        for name, value in {
            "GENERATOR_MODEL": "gpt-4.1-mini",
            "JUDGE_MODEL": "gpt-4.1",
            "EMBED_MODEL": "text-embedding-3-large",
            "TOP_K": "5",
            "JUDGE_TEMPERATURE": "0.5",
        }.items():
            monkeypatch.setenv(name, value)
        job = compose_one(["stack=openai"])
        config = job.config
        judge = config.judges["grounding"]
        assert (config.generator.model, judge.model, judge.temperature) == ("gpt-4.1-mini", "gpt-4.1", 0.5)
        assert (config.embedder.model, config.retriever.top_k) == ("text-embedding-3-large", 5)
        assert set(job.origins.values()) == {
            "GENERATOR_MODEL",
            "JUDGE_MODEL",
            "EMBED_MODEL",
            "TOP_K",
            "JUDGE_TEMPERATURE",
        }

    def test_the_command_line_wins(self, monkeypatch: pytest.MonkeyPatch) -> None:
        monkeypatch.setenv("JUDGE_MODEL", "gpt-4.1")
        monkeypatch.setenv("TOP_K", "5")
        job = compose_one(["stack=openai", "judge_defaults.model=mine", "retriever.top_k=2"])
        assert job.config.judges["topicality"].model == "mine"
        assert job.config.retriever.top_k == 2
        assert "JUDGE_MODEL" not in job.origins.values()

    def test_other_stacks_do_not_read_them(self, monkeypatch: pytest.MonkeyPatch) -> None:
        monkeypatch.setenv("GENERATOR_MODEL", "gpt-4.1-mini")
        monkeypatch.setenv("TOP_K", "5")
        job = compose_one()
        assert (job.config.generator.model, job.config.retriever.top_k) == ("qwen2.5-coder-0.5b-instruct", 3)
        assert job.origins == {}


def test_choices_are_flat_and_name_what_was_used() -> None:
    found = choices(compose_one(["stack=openai"]).config)
    assert found["retriever.top_k"] == 3
    assert found["generator.model"] == "gpt-4o-mini"
    assert found["judges.grounding.model"] == "gpt-4o"
    assert found["judges.grounding.rubric"] == "grounding@1"
    assert all(isinstance(value, str | int | float | bool) for value in found.values())


def test_choices_leave_out_what_has_no_effect() -> None:
    found = choices(compose_one(["stack=extractive", "retriever=bm25"]).config)
    assert not {key for key in found if key.startswith("embedder") or key in ("generator.model", "prompt")}
    assert not {key for key in found if key.endswith(".model")}
