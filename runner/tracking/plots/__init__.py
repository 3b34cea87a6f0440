"""Ready-made plots of a sweep as SVG texts, for the artifacts of its parent run. No plotting library is needed."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from runner.records import RunResult, RunSummary
from runner.tracking.plots.data import SweepData
from runner.tracking.plots.matrices import agreement, heat_map
from runner.tracking.plots.scores import distributions, score_and_cost, scores_by_choice

__all__ = ["sweep_plots"]


def sweep_plots(runs: Sequence[tuple[RunResult, RunSummary]]) -> Mapping[str, str]:
    """Artifact path → SVG text; what says nothing (one run, no price) is left out."""
    data = SweepData.of(runs)
    if not data.judges:
        return {}
    drawn = {
        **{f"score_by_{choice}": plot for choice, plot in scores_by_choice(data).items()},
        "score_and_cost": score_and_cost(data),
        "distribution_by_judge": distributions(data),
        "questions_by_configuration": heat_map(data),
        "agreement_of_judges": agreement(data),
    }
    return {f"plots/{name}.svg": plot for name, plot in drawn.items() if plot}
