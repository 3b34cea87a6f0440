"""The shipped example is what the README says it is, and every question can be checked against its documents."""

from __future__ import annotations

import asyncio
import re
from collections import Counter
from pathlib import Path

import pytest
import yaml

from runner.config import paths
from runner.config.schema import Chunking, Config, KnowledgeBase, QuestionFields, Questions, Retriever
from runner.knowledge import check_questions, load_documents, load_questions, open_retriever, retrieval_metrics, split

FACTS = {
    "admission_deadlines": ["January 15", "rolling", "March 1"],
    "financial_aid": ["February 28", "loans", "grant", "2.0", "full time"],
    "course_registration": ["four weeks", "disabilities", "credit hours", "two weeks"],
    "graduation": ["120", "40", "300", "2.0", "writing", "diversity and inclusion"],
    "housing": ["April 1", "Returning students", "First-year", "30 miles"],
    "academic_integrity": ["Office of Student Conduct", "zero", "warning", "suspended"],
    "grade_appeals": ["30 days", "chair", "computational error", "procedure"],
    "internship_credit": ["10 hours a week", "signed", "before the semester", "elective"],
}


@pytest.fixture
def cfg(home: Path) -> Config:
    folder = paths.shipped_conf()
    base = yaml.safe_load((folder / "knowledge_base/academic_faq.yaml").read_text(encoding="utf-8"))
    asked = yaml.safe_load((folder / "questions/academic_faq.yaml").read_text(encoding="utf-8"))
    base["chunking"] = Chunking(**base["chunking"])
    asked["fields"] = QuestionFields(**asked["fields"])
    return Config(knowledge_base=KnowledgeBase(**base), questions=Questions(**asked), retriever=Retriever("bm25"))


def test_eight_policies_with_their_facts(cfg: Config) -> None:
    documents = {document.id: document for document in load_documents(cfg.knowledge_base)}
    assert set(documents) == set(FACTS)
    for name, facts in FACTS.items():
        assert documents[name].title
        missing = [fact for fact in facts if fact not in documents[name].text]
        assert not missing, (name, missing)


def test_questions_of_every_kind_that_fit_the_documents(cfg: Config) -> None:
    questions = load_questions(cfg.questions, 7)
    assert check_questions(questions, load_documents(cfg.knowledge_base), needs_reference=["reference_match"]) == []
    kinds = Counter(question.metadata["kind"] for question in questions)
    assert len(questions) >= 40
    assert kinds["unanswerable"] >= 8
    assert min(kinds["paraphrase"], kinds["two_documents"]) >= 5
    for question in questions:
        assert question.reference
        assert question.answerable == bool(question.gold) == (question.metadata["kind"] != "unanswerable")
        assert (len(question.gold) == 2) == (question.metadata["kind"] == "two_documents")
    assert set(Counter(question.metadata["kind"] for question in questions[:10])) == set(kinds)


def test_numbers_in_references_stand_in_the_gold_documents_or_the_question(cfg: Config) -> None:
    texts = {document.id: document.text for document in load_documents(cfg.knowledge_base)}
    for question in load_questions(cfg.questions, 7):
        known = " ".join([question.text, *(texts[gold] for gold in question.gold)])
        numbers = set(re.findall(r"\d+(?:\.\d+)?", question.reference or ""))
        assert all(re.search(rf"\b{re.escape(number)}\b", known) for number in numbers), question.id


def test_most_answers_are_found_with_three_documents(cfg: Config) -> None:
    questions = [question for question in load_questions(cfg.questions, 7) if question.gold]

    async def mean_hit_rate() -> float:
        chunks = split(load_documents(cfg.knowledge_base), cfg.knowledge_base.chunking)
        retriever = await open_retriever(cfg, chunks, None, paths.home())
        found = await retriever.retrieve(questions, 3)
        hits = [retrieval_metrics(q, r.retrieved, 3)["hit_rate_at_3"] for q, r in zip(questions, found, strict=True)]
        return sum(hits) / len(hits)

    assert asyncio.run(mean_hit_rate()) >= 0.85
