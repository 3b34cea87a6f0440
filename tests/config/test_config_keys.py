"""The job key: changes with everything that can change a score, and with nothing else."""

from __future__ import annotations

from pathlib import Path

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from runner.config import compose_one, schema
from runner.config.keys import FileHashes, job_key

pytestmark = pytest.mark.usefixtures("home")

HOSTED = "stack=openai"

NO_EFFECT = [
    "name=another",
    "tracking=none",
    "tracking.uri=http://localhost:5000",
    "budget.max_usd=1.5",
    "calls.concurrency=3",
    "calls.retries=0",
    "calls.ledger=sqlite:///elsewhere.db",
    "on_error=stop",
    "allow_rubric_edit=true",
    "controls.enabled=true",
    "+metadata.team=blue",
    "+pair.a=1",
    "launch=basic",
    "embedder.batch_size=7",
    "questions.name=other",
    "knowledge_base.name=other",
    "generator.endpoint.api_key_env=OTHER_KEY",
    "generator.endpoint.requests_per_minute=10",
    "judge_defaults.endpoint.tokens_per_minute=1000",
    "endpoint.base_url=http://unused/v1",
]
EFFECT = [
    "seed=8",
    "retriever.top_k=4",
    "retriever=bm25",
    "retriever.mmr=true",
    "retriever.score_threshold=0.1",
    "embedder.model=text-embedding-3-large",
    "embedder.endpoint.base_url=http://other/v1",
    "knowledge_base.chunking.kind=sentences",
    "questions.limit=5",
    "questions.sample=5",
    "prompt=answer_from_context_v2",
    "prompt.system=other",
    "generator.model=gpt-4o",
    "generator.temperature=null",
    "generator.max_tokens=10",
    "generator.endpoint.base_url=http://other/v1",
    "generator.endpoint.api=responses",
    "judge_defaults.model=gpt-4.1",
    "judges.grounding.repeats=2",
    "judges.grounding.scoring=probability",
    "judges.topicality.rubric.instructions=other",
    "judges.topicality.rubric.scale.pass_at=5",
    "rubric@judges.topicality.rubric=topicality_v1",
    "judge=[grounding]",
    "+panels={both: {judges: [grounding, topicality]}}",
]


@pytest.fixture
def hosted_key() -> str:
    return compose_one([HOSTED]).key


@pytest.mark.parametrize("override", NO_EFFECT)
def test_what_cannot_change_a_score_leaves_the_key_alone(override: str, hosted_key: str) -> None:
    assert compose_one([HOSTED, override]).key == hosted_key


@pytest.mark.parametrize("override", EFFECT)
def test_what_can_change_a_score_changes_the_key(override: str, hosted_key: str) -> None:
    assert compose_one([HOSTED, override]).key != hosted_key


def test_all_effects_are_told_apart() -> None:
    assert len({compose_one([HOSTED, override]).key for override in EFFECT}) == len(EFFECT)


def test_the_order_of_judges_and_overrides_does_not_matter() -> None:
    assert compose_one(["judge=[grounding,topicality]"]).key == compose_one(["judge=[topicality,grounding]"]).key
    assert compose_one(["seed=1", HOSTED]).key == compose_one([HOSTED, "seed=1"]).key


def test_another_default_server_is_another_job(monkeypatch: pytest.MonkeyPatch, hosted_key: str) -> None:
    """Symptom 33: a cache key without the address gave back the answers of another model."""
    monkeypatch.setenv("OPENAI_BASE_URL", "http://localhost:9/v1/")
    elsewhere = compose_one([HOSTED]).key
    assert elsewhere != hosted_key
    monkeypatch.setenv("OPENAI_BASE_URL", "http://localhost:9/v1")
    assert compose_one([HOSTED]).key == elsewhere


def test_what_the_chosen_kind_does_not_use_does_not_count() -> None:
    plain = compose_one(["stack=extractive"]).key
    for unused in ("generator.model=x", "prompt=answer_from_context_v2", "judge_defaults.max_tokens=9"):
        assert compose_one(["stack=extractive", unused]).key == plain
    alone = ["retriever=none", "judge=[topicality]"]
    assert compose_one([*alone, "knowledge_base=none"]).key == compose_one(alone).key
    nothing = compose_one(["experiment=retriever_only", "hydra.sweeper.params=null"]).key
    assert compose_one(["experiment=retriever_only", "hydra.sweeper.params=null", "stack=openai"]).key != nothing
    assert (
        compose_one(["experiment=retriever_only", "hydra.sweeper.params=null", "judge=[grounding]"]).key == nothing
    ), "without a generator no judge is asked"


class TestFiles:
    def files(self, folder: Path) -> list[str]:
        (folder / "docs").mkdir(parents=True, exist_ok=True)
        (folder / "docs/a.md").write_text("one", encoding="utf-8")
        (folder / "q.csv").write_text("question\nwhat?\n", encoding="utf-8")
        return [
            "stack=extractive",
            "knowledge_base=folder",
            f"knowledge_base.path={folder / 'docs'}",
            "questions=file",
            f"questions.path={folder / 'q.csv'}",
        ]

    def test_the_bytes_count_and_the_place_does_not(self, tmp_path: Path) -> None:
        here, there = compose_one(self.files(tmp_path / "a")), compose_one(self.files(tmp_path / "b"))
        assert here.key == there.key
        assert set(here.sources) == {"knowledge_base.path", "questions.path"}

    @pytest.mark.parametrize(
        ("file", "text"), [("docs/a.md", "two"), ("docs/b.md", "more"), ("q.csv", "question\nwhy?\n")]
    )
    def test_a_changed_or_new_file_is_another_job(self, file: str, text: str, tmp_path: Path) -> None:
        before = compose_one(self.files(tmp_path)).key
        (tmp_path / file).write_text(text, encoding="utf-8")
        overrides = [
            "stack=extractive",
            "knowledge_base=folder",
            f"knowledge_base.path={tmp_path / 'docs'}",
            "questions=file",
            f"questions.path={tmp_path / 'q.csv'}",
        ]
        assert compose_one(overrides).key != before

    def test_a_renamed_document_is_another_job(self, tmp_path: Path) -> None:
        """File names become document ids, which gold labels refer to."""
        overrides = self.files(tmp_path)
        before = compose_one(overrides).key
        (tmp_path / "docs/a.md").rename(tmp_path / "docs/z.md")
        assert compose_one(overrides).key != before

    def test_files_the_system_leaves_behind_do_not_count(self, tmp_path: Path) -> None:
        overrides = self.files(tmp_path)
        before = compose_one(overrides).key
        (tmp_path / "docs/.DS_Store").write_bytes(b"\0")
        assert compose_one(overrides).key == before

    def test_a_glob_is_hashed_like_its_files(self, tmp_path: Path) -> None:
        self.files(tmp_path)
        hashes = FileHashes()
        before = hashes.of(tmp_path / "docs/*.md")
        (tmp_path / "docs/b.txt").write_text("not matched", encoding="utf-8")
        assert FileHashes().of(tmp_path / "docs/*.md") == before
        (tmp_path / "docs/c.md").write_text("matched", encoding="utf-8")
        assert FileHashes().of(tmp_path / "docs/*.md") != before

    def test_instructions_in_a_file_count_by_their_bytes(self, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
        text = tmp_path / "mine/rubric/tone.md"
        text.parent.mkdir(parents=True)
        text.write_text("Be kind.", encoding="utf-8")
        (text.parent / "tone_v1.yaml").write_text(
            "id: tone\nversion: 1\nscale: {kind: boolean}\ninstructions_file: tone.md\n", encoding="utf-8"
        )
        monkeypatch.setenv("RUNNER_CONF", str(tmp_path / "mine"))
        overrides = ["judge=[topicality]", "rubric@judges.topicality.rubric=tone_v1"]
        before = compose_one(overrides).key
        text.write_text("Be very kind.", encoding="utf-8")
        assert compose_one(overrides).key != before


@settings(max_examples=40, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(
    seed=st.integers(0, 10**6),
    top_k=st.integers(1, 1000),
    text=st.text(min_size=1, max_size=30),
    other=st.text(min_size=1, max_size=30),
)
def test_equal_configurations_have_equal_keys_and_different_ones_do_not(
    seed: int, top_k: int, text: str, other: str
) -> None:
    def key(system: str) -> str:
        config = schema.Config(seed=seed, judges={})
        config.knowledge_base = schema.KnowledgeBase(name="a", path="b")
        config.questions = schema.Questions(name="a", path="b")
        config.retriever = schema.Retriever(top_k=top_k)
        config.prompt = schema.Prompt(id="p", system=system)
        return job_key(config, {})

    assert key(text) == key(text)
    assert (key(text) == key(other)) == (text == other)
