"""What statistics find: frozen results that travel to reports and tracking. Types only; nothing is computed here."""

from runner.findings.agreement import Agreement, Coefficient, Confusion
from runner.findings.calibration import BiasReadings, Calibration, Corrected, Estimate, FamilyCell
from runner.findings.comparisons import (
    Bounds,
    Comparison,
    Denominators,
    Interval,
    Measure,
    PassRates,
    Side,
    Word,
)
from runner.findings.gates import GateCheck, GateReport, GateWord
from runner.findings.sweeps import Confirmation, ConfirmationWord, Optimism, Standing, SweepComparison

__all__ = [
    "Agreement",
    "BiasReadings",
    "Bounds",
    "Calibration",
    "Coefficient",
    "Comparison",
    "Confirmation",
    "ConfirmationWord",
    "Confusion",
    "Corrected",
    "Denominators",
    "Estimate",
    "FamilyCell",
    "GateCheck",
    "GateReport",
    "GateWord",
    "Interval",
    "Measure",
    "Optimism",
    "PassRates",
    "Side",
    "Standing",
    "SweepComparison",
    "Word",
]
