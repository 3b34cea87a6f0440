"""Calls of a plan: those that are known to the letter with what the ledger holds of them, and those that are not."""

from __future__ import annotations

from collections.abc import Iterable

from runner.calls import ChatRequest, Door, request_key
from runner.sweeps.estimates import CallEstimate, Estimator
from runner.sweeps.plan_totals import UNKNOWN


class PlannedCalls:
    """Estimates requests. ``look_up`` comes first, with as many as possible: one by one it takes ten times as long."""

    def __init__(self, door: Door, estimator: Estimator) -> None:
        self._door = door
        self._estimator = estimator
        self._held: set[str] = set()

    def look_up(self, requests: Iterable[ChatRequest]) -> None:
        """Ask the ledger for these."""
        keys = {request_key(request) for request in requests}
        if keys:
            self._held |= self._door.held(keys)

    def holds(self, request: ChatRequest) -> bool:
        """Whether the ledger answers a request that was looked up."""
        return request_key(request) in self._held

    def exact(self, request: ChatRequest, stage: str, question: str, *, again: bool = False) -> CallEstimate:
        """A request that is known to the letter. ``again``: what the ledger holds is not what is wanted."""
        key = request_key(request)
        held = key in self._held and not again
        return self._estimator.estimate(request, stage, key=key, held=held, question=question)

    def unknown(self, request: ChatRequest, stage: str, question: str, *, seed: str = "") -> CallEstimate:
        """A request that stands for one that is not known yet; those with different seeds are different calls."""
        key = f"{UNKNOWN}{seed} {request_key(request)}"
        return self._estimator.estimate(request, stage, key=key, held=False, question=question)
