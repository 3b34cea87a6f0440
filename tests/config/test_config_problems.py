"""What is wrong is said all at once, with the file and the key, and with what to write instead."""

from __future__ import annotations

from pathlib import Path

import pytest

from runner.config import check, compose, compose_jobs, prepare
from runner.errors import ConfigurationError
from tests.fakes.judged import CONF

pytestmark = pytest.mark.usefixtures("home")


def said(*overrides: str, multirun: bool = False) -> list[str]:
    """Every problem of the overrides, as the user reads it."""
    with pytest.raises(ConfigurationError) as raised:
        prepare(list(overrides), multirun=multirun)
    return [str(problem) for problem in raised.value.problems]


def write(path: str, content: str) -> None:
    file = Path(path)
    file.parent.mkdir(parents=True, exist_ok=True)
    file.write_text(content, encoding="utf-8")


ONE_PROBLEM = [
    ("retriever=denze", "retriever=denze: there is no denze in retriever; did you mean dense?"),
    ("judge=[groundng]", "judge=[groundng]: there is no groundng in judge; did you mean grounding?"),
    ("judge=groundng", "judge=groundng: there is no groundng in judge; did you mean grounding?"),
    ("experiment=nope", "experiment=nope: there is no nope in experiment; there is "),
    ("stak=local", "stak=local: there is no key or group stak; did you mean stack?"),
    ("retriever.topk=3", "retriever.topk=3: there is no key topk in retriever; did you mean top_k?"),
    (
        "generator.endpoint.baseurl=x",
        "generator.endpoint.baseurl=x: there is no key baseurl in generator.endpoint; did you mean base_url?",
    ),
    ("judges.groundng.model=x", "judges.groundng.model=x: there is no groundng among the judges; did you mean"),
    ("retriever.top_k=three", "retriever.top_k=three: 'three' is not a whole number"),
    ("budget.max_usd=ten", "budget.max_usd=ten: 'ten' is not a number"),
    ("retriever.top_k=0", "retriever.top_k: must be at least 1, not 0"),
    ("retriever.kind=denze", "retriever.kind: 'denze' is not one of dense, bm25, hybrid, none"),
    ("judge_defaults.temperature=7", "judge_defaults.temperature: must be at most 2"),
    ("calls.attempt_timeout_s=0", "calls.attempt_timeout_s: must be greater than 0"),
    ("rubric=grounding_v1", "rubric=grounding_v1: rubric alone names nothing; write one of rubric@judges.grounding"),
    ("~judge=topicality", "~judge=topicality: there is nothing of that name to leave out; write the list"),
    ("+retriever=bm25", "+retriever=bm25: retriever is chosen already; write retriever=... without +"),
    ("+color=blue", "color: there is no such key"),
    ("retriever.top_k", "retriever.top_k: this is neither a verb nor key=value"),
    ("=", "=: there is no key before the =; write key=value without blanks"),
    ("+=3", "+=3: there is no key before the =; write key=value without blanks"),
    ("~", "~: there is no key; write key=value without blanks"),
    ("", "'': there is no key; write key=value without blanks"),
    ("retriever.=3", "retriever.=3: retriever. is no key: a part of it is empty; write it as group.key=value"),
    (".top_k=3", ".top_k=3: .top_k is no key: a part of it is empty"),
    ("prompt.id=true", 'prompt.id: is True, which YAML makes of yes, on and true; write it in quotes, such as "yes"'),
    ("generator.model=false", "generator.model: is False, which YAML makes of no, off and false"),
    ("retriever.top_k=[1", "retriever.top_k=[1: cannot be read"),
    ("retriever.top_k=1,3", "retriever.top_k=1,3: several values for one run; add -m to sweep over the values"),
    ("experiment=top_k", "experiment=top_k: it sweeps over retriever.top_k; add -m to launch its jobs"),
    ("experiment=null", "experiment=null: null cannot be chosen on the command line; leave experiment= out"),
    ("prices=[{model: a, input: 1}]", "prices=[{model: a, input: 1}]: prices is a group: its value is the name"),
    ("+panels.both={judges: [a, b]}", "+panels.both={judges: [a, b]}: an entry cannot be added like this; write '+pa"),
    ("generator.model=${nowhere}", "generator.model: refers to nowhere, which does not exist"),
    ("name=${oc.env:NOT_SET_HERE}", "name: the environment variable NOT_SET_HERE is not set"),
    ("generator.model=''", "generator.model: is not set; write generator.model=NAME"),
    ("questions.path=nowhere.csv", "questions.path: there is no nowhere.csv; looked in "),
    ("embedder=none", "embedder.kind: retriever.kind=dense needs an embedder; choose embedder=minilm"),
    ("retriever=none", "judges.grounding: its rubric needs the context, and retriever.kind is none"),
    ("questions.fields.reference=null", None),
    ("prompt.user=hello", "prompt.user: does not hold {question}"),
    ("generator=recorded", "questions.fields.answer: is not set, and generator.kind is recorded"),
    ("judges.grounding.rubric.scale.pass_at=9", "judges.grounding.rubric.scale.pass_at: 9 is outside 1 to 5"),
    ("judges.grounding.rubric.inputs=[question,contxt]", "judges.grounding.rubric.inputs: 'contxt' is not one of"),
    ("judges.grounding.rubric.inputs=[question,metadata.topic]", "judges.grounding: its rubric needs metadata.topic"),
    ("judges.grounding.rubric.version=0", "judges.grounding.rubric.version: must be at least 1, not 0"),
    ("+judge@judges.correctness=grounding", "judges.correctness: correctness is one of MLflow's own judges"),
    ("+judge@judges.a/b=grounding", None),
    ("+panels={both: {judges: [grounding, other]}}", "panels.both.judges: there is no judge other"),
    ("+panels={grounding: {judges: [grounding, topicality]}}", "panels.grounding: a judge has the same name"),
    ("calls.question_deadline_s=1", "calls.question_deadline_s: is shorter than calls.attempt_timeout_s"),
    ("generator.endpoint.base_url=http://x/v1", "generator.endpoint.base_url: is set, and the provider is embedded"),
    ("embedder.endpoint.provider=openia", "embedder.endpoint.provider: 'openia' is not one of openai, "),
]


@pytest.mark.parametrize(("override", "expected"), [pair for pair in ONE_PROBLEM if pair[1]])
def test_each_mistake_is_named_with_its_remedy(override: str, expected: str) -> None:
    found = said(override)
    assert any(line.startswith(expected) for line in found), found


@pytest.mark.parametrize("override", ["retriever.top_k=0", "retriever=denze", "retriever.topk=3", "stak=local"])
def test_one_mistake_is_said_once(override: str) -> None:
    assert len(said(override)) == 1


def test_everything_wrong_is_said_at_once() -> None:
    found = said(
        "retriever=denze",
        "judge=[groundng]",
        "generator.modle=x",
        "questions.limit=three",
        "retriever.top_k=0",
        "stak=local",
        "foo",
        "knowledge_base.chunking.kind=recursive",
        "knowledge_base.chunking.overlap=1000",
        "questions.path=nowhere.csv",
    )
    words = ["denze", "groundng", "modle", "limit", "top_k", "stak", "foo", "overlap", "nowhere.csv"]
    assert len(found) == len(words)
    for word in words:
        assert sum(word in line for line in found) == 1, word


def test_all_jobs_of_a_sweep_are_checked_before_the_first_call() -> None:
    """Symptom 76: the third of six cells held a value that was refused in the middle of the run."""
    found = said("retriever.top_k=3,0,-1", "judge_defaults.temperature=0,9", "seed=-1", multirun=True)
    assert "seed: must be at least 0, not -1" in found
    assert sum("retriever.top_k (job" in line for line in found) == 4
    assert sum("must be at most 2" in line for line in found) == 3
    assert not any("top_k=3 ·" in line and "retriever.top_k" in line for line in found)


def test_a_typo_in_a_sweep_is_said_once_and_not_for_every_job() -> None:
    found = said("retriever.top_k=range(1,9)", "generator.modle=x", multirun=True)
    assert found == ["generator.modle=x: there is no key modle in generator; did you mean model?"]


def test_the_message_says_that_nothing_was_paid() -> None:
    with pytest.raises(ConfigurationError, match=r"^2 problems, nothing was paid:\n"):
        prepare(["seed=-1", "retriever.top_k=0"], multirun=False)


class TestFiles:
    def test_every_mistake_in_a_file_is_said_with_the_file(self) -> None:
        write("conf/retriever/mine.yaml", "kind: dense\ntopk: 3\nmmr: perhaps\nmmr_lambda: much\n")
        found = said("retriever=mine")
        assert found[0] == "conf/retriever/mine.yaml: retriever.topk: there is no such key; did you mean top_k?"
        assert found[2] == "conf/retriever/mine.yaml: retriever.mmr_lambda: 'much' is not a number"
        assert len(found) == 3

    def test_a_value_out_of_range_is_said_with_the_file(self) -> None:
        write("conf/retriever/mine.yaml", "kind: dense\ntop_k: 0\n")
        assert said("retriever=mine") == ["conf/retriever/mine.yaml: retriever.top_k: must be at least 1, not 0"]

    def test_a_rubric_inside_a_judge_is_checked_where_it_stands(self) -> None:
        write("conf/rubric/mine_v1.yaml", "id: mine\nversion: 1\nscale: {kind: ordinal, min: 5, max: 1}\n")
        write("conf/judge/mine.yaml", "# @package judges.mine\ndefaults:\n  - /rubric@rubric: mine_v1\n  - _self_\n")
        found = said("judge=[mine]")
        assert "conf/rubric/mine_v1.yaml: judges.mine.rubric.scale.min: 5 is not smaller than max, 1" in found
        assert any(line.startswith("conf/rubric/mine_v1.yaml: judges.mine.rubric.instructions") for line in found) or (
            any("judges.mine.rubric.instructions: is empty" in line for line in found)
        )

    def test_an_experiment_with_mistakes(self) -> None:
        write(
            "conf/experiment/mine.yaml",
            "# @package _global_\nretriever: {topk: 3}\ngenerater: {}\njudges: {grounding: {modell: x}}\n",
        )
        found = said("experiment=mine")
        assert [line.partition("; ")[2] for line in found] == [
            "did you mean top_k?",
            "did you mean generator?",
            "did you mean model?",
        ]

    def test_an_option_that_an_experiment_names_wrongly(self) -> None:
        write("conf/experiment/mine.yaml", "# @package _global_\ndefaults:\n  - override /retriever: denze\n")
        assert said("experiment=mine") == [
            "conf/experiment/mine.yaml: there is no denze in retriever; did you mean dense?"
        ]

    @pytest.mark.parametrize("content", ["kind: [dense\ntop_k: 3\n", "kind: dense\n\ttop_k: 3\n", "kind: 'dense\n"])
    def test_broken_yaml(self, content: str) -> None:
        write("conf/retriever/mine.yaml", content)
        (found,) = said("retriever=mine")
        assert found.startswith("conf/retriever/mine.yaml line ")
        assert "is not YAML" in found

    def test_a_file_that_is_not_utf8(self) -> None:
        write("conf/retriever/mine.yaml", "")
        Path("conf/retriever/mine.yaml").write_bytes("kind: dense # é\n".encode("latin-1"))
        assert said("retriever=mine") == ["conf/retriever/mine.yaml: is not UTF-8 text"]

    def test_a_file_with_a_byte_order_mark(self) -> None:
        write("conf/retriever/mine.yaml", "\ufeffkind: dense\ntop_k: 0\n")
        assert said("retriever=mine") == ["conf/retriever/mine.yaml: retriever.top_k: must be at least 1, not 0"]

    def test_a_file_that_is_a_list(self) -> None:
        write("conf/experiment/mine.yaml", "- a\n- b\n")
        assert said("experiment=mine") == [
            "conf/experiment/mine.yaml: the whole file: must be a mapping of keys to values"
        ]


class TestSweeps:
    def test_a_sweep_over_experiments_that_hold_sweeps_is_refused(self) -> None:
        """hydra#2807: their sweep parameters are dropped without a word."""
        found = said("experiment=top_k,rubric_versions", multirun=True)
        lost = "which is lost when experiments are swept over themselves; start the experiments one by one"
        assert found == [
            f"experiment=top_k: it sweeps over retriever.top_k, {lost}",
            f"experiment=rubric_versions: it sweeps over rubric@judges.topicality.rubric, {lost}",
        ]

    def test_an_experiment_whose_sweep_is_decided_on_the_command_line_is_one_run(self) -> None:
        (job,) = prepare(["experiment=top_k", "retriever.top_k=5"], multirun=False)
        assert job.config.retriever.top_k == 5

    def test_intervals_cannot_be_swept(self) -> None:
        assert (
            "only lists and ranges can be swept" in said("judge_defaults.temperature=interval(0,1)", multirun=True)[0]
        )

    def test_a_slip_of_the_hand_is_no_sweep(self) -> None:
        assert said("seed=range(0,100000000)", multirun=True) == [
            "command line: it means more than 5,000 jobs; sweep over fewer values"
        ]

    def test_a_mistake_in_the_sweep_of_an_experiment(self) -> None:
        write(
            "conf/experiment/mine.yaml",
            "# @package _global_\nhydra: {sweeper: {params: {retriever.topk: '1,2'}}}\n",
        )
        found = said("experiment=mine", multirun=True)
        assert found == [
            "retriever.topk=1: there is no key topk in retriever; did you mean top_k?",
            "retriever.topk=2: there is no key topk in retriever; did you mean top_k?",
        ]


class TestKeysOfApis:
    def test_a_missing_key_is_one_sentence_for_everything_that_needs_it(self) -> None:
        found = said("stack=openai", "retriever.top_k=1,3", multirun=True)
        assert found == [
            "OPENAI_API_KEY: is not set, and embedder, generator, judges.grounding, judges.topicality need it; "
            "put it into the environment or into a file .env here, or work without a key: stack=local"
        ]

    @pytest.mark.parametrize(
        "overrides",
        [
            ["stack=openai", "generator=extractive", "judge_defaults.kind=evidence", "embedder=minilm"],
            ["stack=openai", "generator=none", "embedder=minilm"],
            ["stack=extractive"],
            ["stack=local"],
        ],
    )
    def test_only_what_is_really_asked_needs_a_key(self, overrides: list[str]) -> None:
        assert check(compose_jobs(overrides, multirun=False)) == []

    def test_the_embedder_needs_one_only_where_it_is_used(self) -> None:
        overrides = ["stack=openai", "generator=extractive", "judge_defaults.kind=evidence"]
        assert said(*overrides)[0].startswith("OPENAI_API_KEY: is not set, and embedder needs it")
        assert check(compose_jobs([*overrides, "retriever=bm25"], multirun=False)) == []

    def test_a_server_of_your_own_must_be_named(self) -> None:
        found = said("stack=openai_compatible")
        assert [line.partition(":")[0] for line in found] == [
            "generator.model",
            "judge_defaults.model",
            "endpoint.base_url",
        ]

    def test_the_address_must_be_a_url(self) -> None:
        found = said(
            "stack=openai_compatible",
            "endpoint.base_url=localhost:11434",
            "generator.model=a",
            "judge_defaults.model=b",
        )
        assert found
        assert all("must be a URL that starts with http" in line for line in found)


class TestEnvironment:
    def test_a_bad_value_names_the_variable(self, monkeypatch: pytest.MonkeyPatch) -> None:
        monkeypatch.setenv("OPENAI_API_KEY", "not-a-real-one")
        monkeypatch.setenv("TOP_K", "five")
        monkeypatch.setenv("JUDGE_TEMPERATURE", "9")
        found = said("stack=openai")
        assert "stack_defaults.top_k: 'five' is not a whole number (from the environment variable TOP_K)" in found
        assert any(
            "judge_defaults.temperature: must be at most 2" in line and "JUDGE_TEMPERATURE" in line for line in found
        )

    def test_an_empty_value_is_not_a_model(self, monkeypatch: pytest.MonkeyPatch) -> None:
        monkeypatch.setenv("OPENAI_API_KEY", "not-a-real-one")
        monkeypatch.setenv("JUDGE_MODEL", "")
        assert said("stack=openai") == [
            "judge_defaults.model: is not set (from the environment variable JUDGE_MODEL); "
            "write judge_defaults.model=NAME, as its server calls it"
        ]


def test_jobs_and_problems_come_together() -> None:
    """What could be composed is there, so that the rest of it can be checked as well."""
    composed = compose(["generator.modle=x", "retriever.top_k=0"], multirun=False)
    assert len(composed.jobs) == 1
    assert [problem.where for problem in composed.problems] == ["generator.modle=x"]
    assert [problem.where for problem in check(composed.jobs)] == ["retriever.top_k"]


def test_a_dollar_brace_that_nothing_closes_is_found_in_its_file() -> None:
    """The message was "configuration: " and nothing else."""
    text = (CONF / "rubric" / "topicality_v2.yaml").read_text(encoding="utf-8")
    write("conf/rubric/mine_v1.yaml", text.replace("id: topicality", "id: mine") + "  A price of ${100 is fine.\n")
    line = len(text.splitlines()) + 1
    (problem,) = said("rubric@judges.topicality.rubric=mine_v1")
    assert problem == (
        f"conf/rubric/mine_v1.yaml line {line}: instructions: '${{100 is fine.' is not a reference to another key "
        r"that can be read; write \${ where the signs themselves are meant; a reference to another key is ${key}"
    )
    write("conf/rubric/mine_v1.yaml", text.replace("id: topicality", "id: mine") + "  A price of \\${100 is fine.\n")
    (job,) = prepare(["rubric@judges.topicality.rubric=mine_v1", "stack=extractive"], multirun=False)
    assert "${100 is fine" in job.config.judges["topicality"].rubric.instructions


def test_every_unreadable_reference_of_a_prompt_is_named_and_those_of_other_files_are_not() -> None:
    write("conf/prompt/mine_v1.yaml", 'id: mine\nversion: 1\nsystem: |\n  Say\n  ${the name} of it.\nuser: "${{}"\n')
    write("conf/prompt/other_v1.yaml", 'id: other\nversion: 1\nsystem: "${the name}"\nuser: "{question}"\n')
    problems = said("prompt=mine_v1", "stack=extractive")
    assert len(problems) == 2
    assert problems[0].startswith("conf/prompt/mine_v1.yaml line 5: system: '${the name} of it.' is not")
    assert problems[1].startswith("conf/prompt/mine_v1.yaml line 6: user: '${{}' is not")


def test_an_unreadable_reference_on_the_command_line_has_a_remedy() -> None:
    (problem,) = said("judges.topicality.rubric.instructions='a ${b'", "stack=extractive")
    assert problem.startswith('judges.topicality.rubric.instructions: "${b\'" is not a reference to another key')
    assert r"write \${ where" in problem


@pytest.mark.parametrize(
    ("values", "expected"),
    [
        ("{yes: 1, no: 0}", 'the key True is no text: YAML takes yes, no, on and off for true and false; write "yes"'),
        ("{1: 1, 0: 0}", 'the key 1 is no text; write "1", in quotes'),
    ],
)
def test_labels_that_yaml_takes_for_something_else_are_explained(values: str, expected: str) -> None:
    """The message was "Key True (bool) is incompatible with (str)"."""
    text = (CONF / "rubric" / "reference_match_v1.yaml").read_text(encoding="utf-8")
    write("conf/rubric/mine_v1.yaml", text.replace("{good: 1, bad: 0}", values))
    (problem,) = said("rubric@judges.topicality.rubric=mine_v1", "stack=extractive")
    assert problem.startswith(f"conf/rubric/mine_v1.yaml: rubric.scale.values: {expected}")


def test_a_text_that_refers_to_nothing_is_found_in_its_file_and_can_be_taken_as_it_is() -> None:
    write("conf/prompt/mine_v1.yaml", 'id: mine\nversion: 1\nsystem: "Say ${the.name} of it."\nuser: "{question}"\n')
    (problem,) = said("prompt=mine_v1", "stack=extractive")
    assert problem == (
        "conf/prompt/mine_v1.yaml: prompt.system: refers to the.name, which does not exist; "
        r"write \${ where the signs themselves are meant; a reference to another key is ${key}"
    )


def test_an_id_that_yaml_takes_for_true_is_refused_with_its_file() -> None:
    write("conf/rubric/mine.yaml", "id: yes\nversion: 1\nscale: {kind: boolean}\ninstructions: Look.\n")
    (problem,) = said("stack=extractive", "judge=[topicality]", "rubric@judges.topicality.rubric=mine")
    assert problem.startswith("conf/rubric/mine.yaml: judges.topicality.rubric.id: is True, which YAML makes of yes")


def test_half_a_character_in_a_configuration_is_a_problem_with_its_key_and_file_and_no_traceback() -> None:
    write("conf/knowledge_base/cut.yaml", 'name: cut\nformat: inline\ndocuments:\n  - {id: a, text: "a \\ud83d b"}\n')
    (problem,) = said("knowledge_base=cut")
    assert "knowledge_base.documents[0].text" in problem
    assert "holds half a character" in problem
    (problem,) = said("questions=file", "questions.path='caf\udce9.csv'")
    assert problem.startswith("questions.path: holds half a character, or a byte that is not UTF-8, at the \ufffd")
    problem.encode("utf-8")
