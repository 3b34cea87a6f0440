"""Sweeps over retrieval from the outside: what is embedded, what is paid and shown, and one's own data from nothing."""

from __future__ import annotations

import csv
from decimal import Decimal
from pathlib import Path

import runner
from runner.records import RunResult, RunStatus
from tests.fakes.model_server import ModelServer

ONLY_RETRIEVAL = ["generator=none", "judge=[]", "tracking=none"]


def server_embedder(server: ModelServer) -> list[str]:
    address = [f"endpoint.base_url={server.base_url}", "endpoint.api_key_env=null"]
    models = ["embedder.model=text-embedding-3-small", "generator.model=unused", "judge_defaults.model=unused"]
    return ["stack=openai_compatible", "embedder=openai_compatible", *address, *models]


def made(run: RunResult) -> set[str]:
    return {call.key for call in run.calls if not call.from_ledger}


def test_a_sweep_over_top_k_pays_each_embedding_once_and_counts_it_once(home: Path, model_server: ModelServer) -> None:
    line = [*server_embedder(model_server), *ONLY_RETRIEVAL, "questions=academic_faq", "retriever.top_k=1,3,5"]
    swept = runner.sweep(line)
    assert swept.status is RunStatus.COMPLETE
    assert model_server.count(path="/embeddings") == model_server.count() == 2
    assert sorted(len(made(run)) for run in swept.runs) == [0, 0, 2]
    totals = {sum(call.usage.input_tokens for call in run.calls if call.usage) for run in swept.runs}
    assert totals == {sum(request.input_tokens for request in model_server.requests)}

    again = runner.sweep(line)
    assert model_server.count() == 2
    assert [made(run) for run in again.runs] == [set()] * 3
    for before, after in zip(swept.runs, again.runs, strict=True):
        assert [r.retrieval_metrics for r in after.records] == [r.retrieval_metrics for r in before.records]


def test_retriever_kinds_by_top_k_need_no_paid_call(home: Path) -> None:
    line = [*ONLY_RETRIEVAL, "stack=extractive", "retriever=dense,bm25,hybrid,dense_mmr,none", "retriever.top_k=1,3"]
    swept = runner.sweep([*line, "questions=academic_faq_smoke"])
    assert swept.status is RunStatus.COMPLETE
    assert all(
        call.total_cost in (None, Decimal(0)) for run in swept.runs for call in run.calls if not call.from_ledger
    )
    sizes = {run.name: {len(record.retrieved) for record in run.records} for run in swept.runs}
    assert all(size <= {0, 1, 3} for size in sizes.values()), sizes


def test_chunking_is_a_sweep_axis_and_gold_documents_stay_valid(home: Path) -> None:
    kinds = "document,recursive,tokens,heading,sentences"
    line = [*ONLY_RETRIEVAL, "stack=extractive", "retriever=bm25", f"knowledge_base.chunking.kind={kinds}"]
    swept = runner.sweep([*line, "knowledge_base.chunking.size=40", "questions=academic_faq"])
    assert len(swept.runs) == 5
    for run in swept.runs:
        labelled = [record for record in run.records if record.question.gold]
        hits = [record.retrieval_metrics["hit_rate_at_3"] for record in labelled]
        assert sum(hits) / len(hits) > 0.7, run.name


def test_symptom_72_ones_own_documents_and_questions_from_an_empty_folder(home: Path) -> None:
    documents = Path("my documents")
    documents.mkdir()
    for number in range(10):
        text = f"# Policy {number}\r\n\r\nRule {number} says “yes” – code zq{number} 🎓 applies.\r\n"
        (documents / f"policy {number}.md").write_bytes(text.encode("utf-8-sig"))
    with Path("questions.csv").open("w", encoding="utf-8-sig", newline="") as file:
        writer = csv.writer(file, delimiter=";")
        writer.writerow(["Frage", "Antwort", "Quelle"])
        writer.writerows([f'Which rule has the "code" zq{n}?', f"Rule {n}.", f"policy {n}"] for n in range(10))
    swept = runner.sweep(
        [
            "stack=extractive",
            "tracking=none",
            "knowledge_base=folder",
            "knowledge_base.path='my documents'",
            "questions=file",
            "questions.path=questions.csv",
            "questions.fields.text=Frage",
            "questions.fields.reference=Antwort",
            "questions.fields.gold=Quelle",
            "retriever=bm25",
            "retriever.top_k=1,3",
        ]
    )
    assert swept.status is RunStatus.COMPLETE
    for run in swept.runs:
        assert len(run.records) == 10
        assert all(record.retrieved[0].gold for record in run.records)
