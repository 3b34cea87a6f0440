"""``runner compare`` and ``runner.compare`` on runs that a real sweep stored: no call, names as a user gives them."""

from __future__ import annotations

import csv
import json
from pathlib import Path

import pytest

import runner
from runner.errors import ConfigurationError, ExitCode
from runner.sweeps.comparing import main
from runner.sweeps.comparisons import comparison_files, comparison_metrics, sweep_comparisons
from tests.fakes.model_server import ModelServer
from tests.sweeps.driving import run

pytestmark = pytest.mark.usefixtures("home")


@pytest.fixture
def sweep_id(model_server: ModelServer, home: Path, capsys: pytest.CaptureFixture[str]) -> str:
    assert run(model_server, "-m", "retriever.top_k=1,3", "questions.limit=6") == ExitCode.DONE
    capsys.readouterr()
    (path,) = (home / "sweeps").glob("*.json")
    return path.stem


def test_a_sweep_is_compared_by_its_id_without_a_call(
    sweep_id: str, model_server: ModelServer, capsys: pytest.CaptureFixture[str], tmp_path: Path
) -> None:
    before = len(model_server.requests)
    table, whole = tmp_path / "pairs.csv", tmp_path / "all.json"
    assert main([sweep_id, "--csv", str(table), "--json", str(whole)]) == ExitCode.DONE
    shown = capsys.readouterr().out
    assert "grounding (mean, all pairs)" in shown
    assert "top_k=1" in shown
    assert "6/6" in shown
    assert "pass turned on" in shown
    assert len(model_server.requests) == before
    with table.open(encoding="utf-8", newline="") as file:
        rows = list(csv.DictReader(file))
    assert {row["metric"] for row in rows} >= {"grounding", "topicality"}
    assert json.loads(whole.read_text(encoding="utf-8"))[0]["pairs"][0]["questions"] == 6


def test_the_python_function_returns_the_dataclass_and_a_frame(sweep_id: str) -> None:
    found = runner.compare(sweep_id, metric="grounding")
    assert found.pairs[0].questions == 6
    assert len(found.to_frame()) == 1
    runs = runner.load(sweep_id)
    assert runner.compare(*runs, metric="grounding") == found
    equal = runner.compare(sweep_id, metric="retrieval/hit_rate_at_1").pairs[0]
    assert equal.questions > 0, "the longer list knows its first place too"
    assert equal.difference == 0
    longer = runner.compare(sweep_id, metric="retrieval/recall_at_3").pairs[0]
    assert longer.verdict == "undecided", "only one of the two lists has three places"
    assert longer.questions == 0


def test_a_longer_list_is_never_called_better_on_what_can_only_rise_with_it(
    sweep_id: str, capsys: pytest.CaptureFixture[str]
) -> None:
    for metric in ("hit_rate", "recall", "mrr", "map", "chunk_hit_rate", "chunk_recall", "chunk_mrr", "chunk_map"):
        for k in (1, 3):
            pair = runner.compare(sweep_id, metric=f"retrieval/{metric}_at_{k}").pairs[0]
            assert pair.verdict != "better", f"{metric} at {k}"
            assert pair.verdict != "worse", f"{metric} at {k}"
    assert main([sweep_id, "--metric", "retrieval/chunk_precision_at_1"]) == ExitCode.DONE
    assert "Retrieval metrics count what the question set calls gold" in capsys.readouterr().out


def test_one_run_or_an_unknown_metric_is_refused_in_a_sentence(sweep_id: str) -> None:
    (first, _) = runner.load(sweep_id)
    with pytest.raises(ConfigurationError, match="at least two runs"):
        main([first.job_key])
    with pytest.raises(ConfigurationError, match="no run has it"):
        main([sweep_id, "--metric", "fluency"])


def test_a_sweep_ends_with_its_verdicts_and_how_to_see_more(
    model_server: ModelServer, capsys: pytest.CaptureFixture[str], home: Path
) -> None:
    assert run(model_server, "-m", "retriever.top_k=1,3", "questions.limit=4") == ExitCode.DONE
    shown = " ".join(capsys.readouterr().out.split())
    (path,) = (home / "sweeps").glob("*.json")
    assert "on grounding" in shown
    assert "on topicality" in shown
    assert f"python -m runner compare {path.stem}" in shown


def test_the_parent_run_gets_pairs_and_standings_as_files(sweep_id: str) -> None:
    found = sweep_comparisons(runner.load(sweep_id))
    files, metrics = comparison_files(found), comparison_metrics(found)
    assert set(files) == {"comparisons.csv", "standings.csv", "comparisons.json"}
    assert {row["metric"] for row in csv.DictReader(files["comparisons.csv"].splitlines())} >= {
        "grounding",
        "topicality",
    }
    assert all(name.count("/") == 1 for name in metrics)
    assert sweep_comparisons(runner.load(sweep_id)[:1]) == ()


def test_two_rubrics_on_the_same_answers_show_the_flips_with_both_reasonings(
    model_server: ModelServer, capsys: pytest.CaptureFixture[str], home: Path
) -> None:
    rubrics = "rubric@judges.topicality.rubric=topicality_v1,topicality_v2"
    assert run(model_server, "-m", rubrics, "judge=[topicality]", "questions.limit=6") == ExitCode.DONE
    capsys.readouterr()
    (path,) = (home / "sweeps").glob("*.json")
    assert main([path.stem, "--rubric", "topicality_v1", "topicality_v2"]) == ExitCode.DONE
    shown = " ".join(capsys.readouterr().out.split())
    assert "pass turned on" in shown
    with pytest.raises(ConfigurationError, match=r"topicality@3: 0 of these runs were judged by it"):
        main([path.stem, "--rubric", "topicality_v1", "topicality_v3"])


def test_how_far_two_judges_agree(sweep_id: str, capsys: pytest.CaptureFixture[str]) -> None:
    assert main([sweep_id, "--metric", "grounding", "--agreement", "grounding", "topicality"]) == ExitCode.DONE
    shown = " ".join(capsys.readouterr().out.split())
    assert "grounding – topicality" in shown
    assert "Krippendorff, ordinal" in shown


def test_the_best_is_picked_on_half_of_the_questions_and_confirmed_on_the_other_half(
    sweep_id: str, capsys: pytest.CaptureFixture[str], tmp_path: Path
) -> None:
    whole = tmp_path / "all.json"
    assert main([sweep_id, "--metric", "grounding", "--confirm", "--json", str(whole)]) == ExitCode.DONE
    shown = " ".join(capsys.readouterr().out.split())
    found = runner.compare(sweep_id, metric="grounding", confirm=0.5).confirmation
    assert found is not None
    assert " ".join(found.sentence.split()) in shown
    assert json.loads(whole.read_text(encoding="utf-8"))[0]["confirmation"]["sentence"] == found.sentence
    assert runner.compare(sweep_id, metric="grounding").confirmation is None
    with pytest.raises(ConfigurationError, match="between 0 and 1"):
        main([sweep_id, "--confirm", "50"])


def test_a_sweep_without_judges_ends_with_a_verdict_on_retrieval_at_equal_k(
    model_server: ModelServer, capsys: pytest.CaptureFixture[str]
) -> None:
    assert run(model_server, "-m", "generator=none", "judge=[]", "retriever.top_k=3,5") == ExitCode.DONE
    shown = " ".join(capsys.readouterr().out.split())
    assert "equivalent on retrieval/ndcg_at_3 (the same ranking at k=3: identical by construction)" in shown


def test_the_hint_about_different_k_leads_to_a_comparison(
    model_server: ModelServer, home: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """It named recall_at_3 whatever the lists were, which top_k=1 does not have."""
    assert run(model_server, "-m", "generator=none", "judge=[]", "retriever.top_k=1,3,5") == ExitCode.DONE
    shown = " ".join(capsys.readouterr().out.split())
    (path,) = (home / "sweeps").glob("*.json")
    (page,) = Path("outputs").rglob("report.html")
    assert "compare at equal k: --metric retrieval/recall_at_1" in page.read_text(encoding="utf-8")
    metric = shown.partition("compare at equal k: --metric ")[2].split()[0]
    found = runner.compare(path.stem, metric=metric)
    assert all(pair.questions > 0 for pair in found.pairs)
    assert "3 pairs: the same ranking at k=1: identical by construction." in found.sentences
    assert main([path.stem, "--metric", metric]) == ExitCode.DONE
    table = capsys.readouterr().out
    assert "identical" in table
    assert "[0.000, 0.000]" not in table.partition("against")[2]


def test_a_metric_that_a_short_list_lacks_is_said_to_be_lacking(sweep_id: str) -> None:
    """ "can only rise with the length of the list" was the reason given where there was nothing to compare at all."""
    for metric in ("recall", "precision", "ndcg"):
        (note, *_) = runner.compare(sweep_id, metric=f"retrieval/{metric}_at_3").pairs[0].notes
        assert note == (
            f"top_k=1 has no retrieval/{metric}_at_3: it retrieves 1 "
            f"(compare with --metric retrieval/{metric}_at_1, or on a judge's scores)."
        )
