"""How many questions a difference needs, and what difference a number of questions can show (Miller 2024)."""

from __future__ import annotations

import math
from dataclasses import dataclass
from statistics import NormalDist

ALPHA = 0.05
POWER = 0.80


def z_sum(alpha: float = ALPHA, power: float = POWER) -> float:
    """``z_{alpha/2} + z_{power}``: 2.801585 for 5 % and 80 %."""
    normal = NormalDist()
    return normal.inv_cdf(1 - alpha / 2) + normal.inv_cdf(power)


def t_sum(freedom: int, alpha: float = ALPHA, power: float = POWER) -> float:
    """The same of Student's t, for a test with that many degrees: larger with few clusters."""
    from scipy.special import stdtrit

    return float(stdtrit(freedom, 1 - alpha / 2) + stdtrit(freedom, power))


def questions_needed(
    difference: float,
    variance: float,
    *,
    noise_a: float = 0.0,
    repeats_a: int = 1,
    noise_b: float = 0.0,
    repeats_b: int = 1,
    alpha: float = ALPHA,
    power: float = POWER,
) -> int:
    """Questions that show a true paired ``difference``: ``(z+z)^2 (w^2 + sA^2/KA + sB^2/KB) / delta^2``, rounded up.

    Parameters
    ----------
    variance
        w², the variance of the paired differences of the questions' true scores.
    noise_a, noise_b
        Variance of one score about the question's true score, averaged over ``repeats`` each.
    """
    whole = variance + noise_a / repeats_a + noise_b / repeats_b
    # The tiny slack keeps an exact integer from being rounded up.
    return math.ceil(z_sum(alpha, power) ** 2 * whole / difference**2 - 1e-9)


def detectable_difference(questions: int, variance: float, alpha: float = ALPHA, power: float = POWER) -> float:
    """The smallest true paired difference that ``questions`` show with ``power``."""
    return z_sum(alpha, power) * math.sqrt(variance / questions)


def binary_variance(discordance: float, difference: float) -> float:
    """w² of two paired pass rates: the share of questions on which they differ, minus the squared difference."""
    return discordance - difference**2


def design_effect_of(cluster_size: float, correlation: float) -> float:
    """``1 + (m - 1) ICC``: the factor by which clusters of m questions multiply the questions needed."""
    return 1 + (cluster_size - 1) * correlation


@dataclass(frozen=True, slots=True)
class DesignHelp:
    """What a set of questions can show, before anything is paid."""

    questions: int
    documents: int
    pass_rate_difference: float
    """Detectable difference of pass rates, a share."""
    score_difference: float | None
    """Detectable difference of mean scores, on the scale; ``None`` for a scale of unknown ends."""
    sentence: str


USUAL_DISCORDANCE = 0.2
"""Share of questions on which two configurations' passes differ: the middle of what the labelled sets showed."""
USUAL_CORRELATION = 0.1
"""Correlation of scores about one document, assumed for planning."""
USUAL_DEVIATION = 0.25
"""Standard deviation of paired differences as a share of the scale's range (1.0 on 1 to 5)."""


def design_help(questions: int, documents: int, scale: tuple[float, float] | None = (1.0, 5.0)) -> DesignHelp:
    """Say what difference this many questions about this many documents can show with 80 % power.

    ``documents`` is the number of clusters; the assumptions are the named constants of this file and are said aloud.
    """
    if questions < 1 or documents < 2:
        return DesignHelp(
            questions,
            documents,
            1.0,
            None if scale is None else scale[1] - scale[0],
            f"{questions} questions about {documents} document(s) can show no difference: an interval needs questions "
            "about at least two documents.",
        )
    effective = questions / design_effect_of(questions / documents, USUAL_CORRELATION)
    quantiles = t_sum(documents - 1)
    # delta = q sqrt((d - delta^2) / n), solved for delta: the discordance d less delta^2 is the variance of pairs.
    rate = quantiles * math.sqrt(USUAL_DISCORDANCE / (effective + quantiles**2))
    score = None if scale is None else quantiles * USUAL_DEVIATION * (scale[1] - scale[0]) / math.sqrt(effective)
    in_scores = "" if score is None or scale is None else f", or {score:.2g} on the scale {scale[0]:g} to {scale[1]:g}"
    return DesignHelp(
        questions,
        documents,
        rate,
        score,
        f"{questions} questions about {documents} documents can show a difference of about {rate * 100:.0f} "
        f"points in a pass rate{in_scores} (80 % power, 5 % level, if the configurations differ on "
        f"{USUAL_DISCORDANCE:.0%} of the questions).",
    )
