"""Rubrics in MLflow's prompt registry: their own version numbers, whatever order they are used in, and where shown."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path

from runner.config.earlier import earlier_versions
from runner.config.schema import Rubric
from runner.records import RunStatus
from runner.tracking import RubricText, Tracker
from tests.tracking.conftest import rows, start

Opening = Callable[..., Tracker]
FIRST = RubricText("topicality", 1, "the first text")
SECOND = RubricText("topicality", 2, "the second text", earlier=(FIRST,))
EDITED = RubricText("topicality", 1, "the first text, edited")
TWICE = RubricText("topicality", 1, "the first text, edited twice")
ALONE = RubricText("homemade", 7, "there is no file of versions 1 to 6")
SAME = RubricText("same", 2, "one text", earlier=(RubricText("same", 1, "one text"),))


def used(home: Path, tracker: Tracker, texts: list[RubricText]) -> list[tuple[str, str]]:
    """The (prompt, version) that each text's own run is linked to."""
    parent = tracker.start_sweep("faq", "sweep", {}, {})
    runs = [start(tracker, parent, f"run {place}", rubrics={"judge": text}) for place, text in enumerate(texts)]
    tracker.finish_sweep(parent, RunStatus.COMPLETE, {}, {})
    tracker.close()
    query = "select value from tags where key = 'mlflow.linkedPrompts' and run_uuid = ?"
    linked = [json.loads(rows(home, query, run)[0]) for run in runs]
    assert all(len(each) == 1 for each in linked)
    return [(each[0]["name"], each[0]["version"]) for each in linked]


def test_the_number_in_mlflow_is_the_rubrics_own_also_where_the_second_version_is_used_first(
    opened: Opening, store_home: Path
) -> None:
    texts = [SECOND, FIRST, EDITED, TWICE, EDITED, ALONE, SAME]
    assert used(store_home, opened(), texts) == [
        ("rubric.topicality", "2"),
        ("rubric.topicality", "1"),
        # A text that the registry cannot number as the rubric does has a page whose name says the version.
        ("rubric.topicality.v1-texts", "1"),
        ("rubric.topicality.v1-texts", "2"),
        ("rubric.topicality.v1-texts", "1"),
        ("rubric.homemade.v7-texts", "1"),
        ("rubric.same", "2"),
    ]
    said = rows(store_home, "select version, description from model_versions where name = 'rubric.topicality'")
    assert said == [(1, "topicality@1"), (2, "topicality@2")]
    query = "select version, value from model_version_tags where name = 'rubric.topicality' and key = 'version'"
    assert rows(store_home, query) == [(1, "1"), (2, "2")]
    # A tag of the whole prompt that says one version would be wrong for the others.
    assert rows(store_home, "select value from registered_model_tags where key = 'version'") == []


def test_prompts_are_on_the_page_of_every_experiment_that_used_them_and_on_no_other(
    opened: Opening, store_home: Path
) -> None:
    used(store_home, opened(), [FIRST])
    used(store_home, opened(experiment="other"), [FIRST, ALONE])
    query = "select name, value from registered_model_tags where key = '_mlflow_experiment_ids' order by name"
    ids = {
        name: str(each)
        for name, each in rows(store_home, "select name, experiment_id from experiments where name <> 'Default'")
    }
    assert rows(store_home, query) == [
        ("rubric.homemade.v7-texts", f",{ids['other']},"),
        ("rubric.topicality", f",{ids['faq']},{ids['other']},"),
    ]


def test_earlier_versions_of_a_rubric_come_from_the_configuration_files() -> None:
    found = earlier_versions("rubric", Rubric, "topicality", 2)
    assert [(each.id, each.version) for each in found] == [("topicality", 1)]
    assert found[0].scale.anchors[5].startswith("Answers the question fully")
    assert earlier_versions("rubric", Rubric, "topicality", 1) == []
    assert earlier_versions("rubric", Rubric, "nobody_has_this", 9) == []
