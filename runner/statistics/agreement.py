"""How far raters (judges, repeats, humans) agree: several coefficients side by side, each with its interval.

No single coefficient decides: percent agreement flatters a skewed scale, kappa and alpha punish it, AC1 and AC2 do
neither, and correlations are blind to bias. The intervals are percentile bootstraps over clusters.
"""

from __future__ import annotations

from collections.abc import Callable, Hashable, Mapping, Sequence
from typing import TYPE_CHECKING, Any

from runner.findings import Agreement, Coefficient, Interval
from runner.statistics.coefficients import (
    WEIGHTS,
    Items,
    Sums,
    brennan_prediger,
    conger,
    fleiss,
    gwet,
    krippendorff,
    percent,
)
from runner.statistics.confusion import confusion
from runner.statistics.correlation import kendall, pearson, spearman
from runner.statistics.moments import NEGLIGIBLE, moments
from runner.statistics.power import ALPHA
from runner.statistics.proportions import unseen_rate
from runner.statistics.verdicts import t_quantile

if TYPE_CHECKING:
    import numpy

    Array = numpy.ndarray[Any, Any]

RESAMPLES = 1_000
MOST_CATEGORIES = 20
"""With more distinct values the scale counts as continuous: no kappa, and values are grouped for the rank measures."""
FINE_CATEGORIES = 7
"""With more values than this, fractions among them, exact agreement is rare by the scale alone."""
LEAST_DEFINED = 0.5
"""Share of resamples in which a coefficient must be defined for its interval to be given."""
_EQUAL = "not defined: all ratings are equal"
_ONE_WORD = "says nothing: one of the two gave every answer the same rating, which makes it 0 whatever the other said"
_SAME = "no interval: the same in every resample, which so few answers do not make certain"
_CHANCE_OF_TWO = ("cohen", "cohen_linear", "cohen_quadratic")
"""What two raters agree on beyond chance: 0 by definition where one of them has only one word."""


def agreement(
    ratings: Mapping[str, Sequence[float | None]],
    *,
    clusters: Sequence[Hashable] | None = None,
    pass_at: float | None = None,
    seed: int = 7,
) -> Agreement:
    """Compare two or more raters over the same items.

    Parameters
    ----------
    ratings
        Rater → one value an item, ``None`` where missing. With two raters the first is the judge, the second the truth.
    clusters
        What each item belongs to (such as its document); ``None``: items are independent.
    pass_at
        Values from here on pass; adds the confusion of two raters.
    """
    import numpy

    names = tuple(ratings)
    table = numpy.array([[numpy.nan if v is None else float(v) for v in ratings[name]] for name in names]).T
    codes: dict[Hashable, int] = {}
    groups = numpy.array([codes.setdefault(one, len(codes)) for one in (clusters or range(len(table)))], dtype=int)
    rated = (~numpy.isnan(table)).sum(axis=1) if table.size else numpy.zeros(0, dtype=int)
    both = rated > 1
    if len(names) < 2 or not both.any():
        note = "no item has two ratings, so nothing can be said about agreement"
        return Agreement(names, 0, 0, {}, {}, None, None, None, (note,))
    # Two raters are compared where both spoke; with more, single ratings still tell how often each value is given.
    used = both if len(names) == 2 else rated > 0
    kept, kept_groups = table[used], numpy.unique(groups[used], return_inverse=True)[1]
    values, counts = numpy.unique(table[both][~numpy.isnan(table[both])], return_counts=True)
    continuous = len(values) > MOST_CATEGORIES
    coefficients = _coefficients(kept, kept_groups, continuous, seed)
    notes = _notes(values, counts, len(numpy.unique(groups[both])), continuous)
    two = len(names) == 2
    pair = table[both] if two else None
    if pair is not None and len(values) > 1:
        silent = [name for name, column in zip(names, pair.T, strict=True) if len(numpy.unique(column)) == 1]
        if silent:
            coefficients |= {
                name: Coefficient(name, None, None, _ONE_WORD) for name in _CHANCE_OF_TWO if name in coefficients
            }
            notes.append(
                f"{' and '.join(silent)} gave every answer the same rating: kappa would be 0 and a correlation is not "
                "defined whatever the other said, so neither tells how far the two agree."
            )
    notes += _width_notes(coefficients)
    bias, bias_interval = _bias(pair, groups[both]) if pair is not None else (None, None)
    return Agreement(
        raters=names,
        items=int(both.sum()),
        ratings=int(rated[both].sum()),
        prevalence={}
        if continuous
        else {f"{v:g}": float(c / counts.sum()) for v, c in zip(values, counts, strict=True)},
        coefficients=coefficients,
        confusion=confusion(pair[:, 0] >= pass_at, pair[:, 1] >= pass_at)
        if pair is not None and pass_at is not None
        else None,
        bias=bias,
        bias_interval=bias_interval,
        notes=tuple(notes),
    )


def _coefficients(ratings: Array, groups: Array, continuous: bool, seed: int) -> dict[str, Coefficient]:
    """Each coefficient on the data, and its percentile interval over resampled clusters."""
    import numpy

    measured = _Grouped(ratings) if not continuous else _Grouped(_ranged(ratings))
    per_cluster = numpy.zeros((int(groups.max()) + 1, measured.items.rows.shape[1]))
    numpy.add.at(per_cluster, groups, measured.items.rows)
    tables = numpy.zeros((len(per_cluster), measured.joint.shape[1]))
    numpy.add.at(tables, groups, measured.joint)
    # All ratings first, then the resamples.
    weights = numpy.ones((1, len(per_cluster)))
    if len(per_cluster) > 1:
        generator = numpy.random.default_rng(seed)
        chances = numpy.full(len(per_cluster), 1 / len(per_cluster))
        drawn = generator.multinomial(len(per_cluster), chances, size=RESAMPLES)
        weights = numpy.concatenate([weights, drawn])
    sums, joints = measured.items.sums(weights @ per_cluster), weights @ tables
    values = {name: function(sums, joints) for name, function in measured.functions(continuous).items()}
    found = {name: None if numpy.isnan(one[0]) else float(one[0]) for name, one in values.items()}
    if continuous and measured.two:
        found |= _exact_correlations(ratings[~numpy.isnan(ratings).any(axis=1)])
    clusters = len(per_cluster)
    return {
        name: _coefficient(name, found[name], one[1:][~numpy.isnan(one[1:])], clusters) for name, one in values.items()
    }


def _coefficient(name: str, value: float | None, draws: Array, clusters: int) -> Coefficient:
    import numpy

    if value is None:
        return Coefficient(name, None, None, _EQUAL)
    if len(draws) < LEAST_DEFINED * RESAMPLES:
        return Coefficient(name, value, None, "no interval: too few clusters, or no variety in most resamples")
    low, high = (float(end) for end in numpy.quantile(draws, [ALPHA / 2, 1 - ALPHA / 2]))
    if high - low > NEGLIGIBLE:
        return Coefficient(name, value, Interval(low, high))
    if name == "percent" and value in (0.0, 1.0):
        # The rule of three: so many clusters do not rule out that others come out differently.
        unseen = unseen_rate(clusters)
        return Coefficient(name, value, Interval(1 - unseen, 1.0) if value else Interval(0.0, unseen))
    return Coefficient(name, value, None, _SAME)


Measurement = Callable[[Sums, Any], Any]
"""Sums and joint tables (first axis: resamples) → a value a resample, not a number where undefined."""


class _Grouped:
    """Ratings as sums an item, and for two raters the joint table an item."""

    def __init__(self, ratings: Array) -> None:
        import numpy

        self.items = Items(ratings)
        self.categories = self.items.categories
        size = len(self.categories)
        self.two = ratings.shape[1] == 2
        joint = numpy.zeros((len(ratings), size * size if self.two else 0))
        if self.two:
            complete = ~numpy.isnan(ratings).any(axis=1)
            places = numpy.searchsorted(self.categories, ratings[complete])
            joint[numpy.flatnonzero(complete), places[:, 0] * size + places[:, 1]] = 1
        self.joint = joint

    def functions(self, continuous: bool) -> dict[str, Measurement]:
        """Name → function of the summed rows and the summed joint table."""
        weights, categories, size = self.items.weights, self.categories, len(self.categories)

        def of_sums(function: Callable[[Sums], Array]) -> Measurement:
            return lambda sums, _: function(sums)

        def of_table(function: Callable[[Array], Array]) -> Measurement:
            return lambda _, table: function(table.reshape(len(table), size, size))

        def weighted(function: Callable[[Sums, Array, int], Array], kind: str) -> Measurement:
            place = WEIGHTS.index(kind)
            return of_sums(lambda sums: function(sums, weights[place], place))

        found: dict[str, Measurement] = {}
        if not continuous:
            found |= {
                "percent": of_sums(percent),
                "cohen": weighted(conger, "identity"),
                "cohen_linear": weighted(conger, "linear"),
                "cohen_quadratic": weighted(conger, "quadratic"),
                "fleiss": weighted(fleiss, "identity"),
                "brennan_prediger": weighted(brennan_prediger, "identity"),
                "ac1": weighted(gwet, "identity"),
                "ac2_linear": weighted(gwet, "linear"),
                "ac2_quadratic": weighted(gwet, "quadratic"),
                "ac2_ordinal": weighted(gwet, "ordinal"),
                "krippendorff_nominal": of_sums(lambda sums: krippendorff(sums, categories, "nominal")),
            }
        found["krippendorff_ordinal"] = of_sums(lambda sums: krippendorff(sums, categories, "ordinal"))
        found["krippendorff_interval"] = of_sums(lambda sums: krippendorff(sums, categories, "interval"))
        if self.two:
            found["spearman"] = of_table(spearman)
            found["kendall"] = of_table(kendall)
            found["pearson"] = of_table(lambda table: pearson(table, categories, categories))
        return found


GROUPS = 40
"""A continuous scale is cut into this many ranges of equal length: finer than any judge tells apart."""


def _ranged(ratings: Array) -> Array:
    import numpy

    low, high = numpy.nanmin(ratings), numpy.nanmax(ratings)
    width = (high - low) / GROUPS
    ranged: Array = numpy.clip(numpy.floor((ratings - low) / width), 0, GROUPS - 1) * width + low + width / 2
    return ranged


def _exact_correlations(pair: Array) -> dict[str, float | None]:
    """On the values themselves, by scipy; the ranges serve only the intervals."""
    import numpy
    from scipy.stats import kendalltau, pearsonr, spearmanr

    if numpy.ptp(pair[:, 0]) == 0 or numpy.ptp(pair[:, 1]) == 0:
        return {"spearman": None, "kendall": None, "pearson": None}
    functions = {"spearman": spearmanr, "kendall": kendalltau, "pearson": pearsonr}
    return {name: float(function(pair[:, 0], pair[:, 1]).statistic) for name, function in functions.items()}


def _bias(pair: Array, groups: Array) -> tuple[float, Interval | None]:
    import numpy

    order = numpy.argsort(groups, kind="stable")
    starts = numpy.flatnonzero(numpy.diff(groups[order], prepend=-1))
    difference = (pair[:, 0] - pair[:, 1])[order]
    found = moments(difference[None, :], numpy.ones((1, len(difference)), dtype=bool), starts)
    mean, error, clusters = float(found.mean[0]), float(found.error[0]), int(found.clusters[0])
    if clusters < 2 or error == 0:
        return mean, None
    half = t_quantile(1 - ALPHA / 2, clusters - 1) * error
    return mean, Interval(mean - half, mean + half)


def _width_notes(coefficients: dict[str, Coefficient]) -> list[str]:
    """The coefficients that no resample changes, in one sentence."""
    same = [name.replace("_", " ") for name, one in coefficients.items() if one.value is not None and one.note == _SAME]
    if not same:
        return []
    return [f"No interval for {', '.join(same)}: the same in every resample, which so few answers do not make certain."]


def _notes(values: Array, counts: Array, clusters: int, continuous: bool) -> list[str]:
    notes = []
    if len(values) == 1:
        notes.append(f"Every rating is {values[0]:g}: agreement beyond chance cannot be measured without any variety.")
    elif counts.max() / counts.sum() > 0.7 and not continuous:
        top = values[counts.argmax()]
        notes.append(
            f"{counts.max() / counts.sum():.0%} of the ratings are {top:g}: kappa and alpha fall and percent agreement "
            "rises on so skewed a scale; read them together with AC1 or AC2."
        )
    if not continuous and len(values) > FINE_CATEGORIES and (values % 1 != 0).any():
        notes.append(
            f"{len(values)} different values, some between the marks of the scale: equal scores are rare, so percent "
            "agreement and the unweighted coefficients say little; read the weighted ones and the correlations."
        )
    if continuous:
        notes.append(f"A continuous scale: no kappa; alpha and all intervals take the values in {GROUPS} ranges.")
    if clusters < 2:
        notes.append("One cluster only: no interval can be given.")
    return notes
