"""The store of calls: every request, every attempt, every reply, on disk before anybody sees it."""

from __future__ import annotations

from runner.calls.ledger.ledger import Found, Ledger, now
from runner.calls.ledger.lost import Lost
from runner.calls.ledger.operations import ClaimState
from runner.calls.ledger.rows import Attempt, final_attempt

__all__ = ["Attempt", "ClaimState", "Found", "Ledger", "Lost", "final_attempt", "now"]
