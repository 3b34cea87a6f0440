"""The cap holds to the cent at any number of calls in flight, and an unknown price cannot make it decorative."""

from __future__ import annotations

import asyncio
import random
import threading
from decimal import Decimal

import pytest
from hypothesis import given
from hypothesis import strategies as st

from runner.calls.budget import Reservation, SpendingCap
from runner.config.schema import Price
from runner.errors import BudgetReached, ConfigurationError, ExitCode

CENT = Decimal("0.01")


def test_a_reservation_is_settled_with_the_real_price() -> None:
    cap = SpendingCap(Decimal(1))
    reservation = cap.reserve(Decimal("0.4"), "m")
    assert (cap.reserved, cap.spent, cap.remaining) == (Decimal("0.4"), 0, Decimal("0.6"))
    reservation.settle(Decimal("0.1"))
    assert (cap.reserved, cap.spent, cap.remaining) == (0, Decimal("0.1"), Decimal("0.9"))


def test_an_attempt_without_usage_counts_at_its_worst_case() -> None:
    cap = SpendingCap(Decimal(1))
    cap.reserve(Decimal("0.4"), "m").settle(None)
    assert cap.spent == Decimal("0.4")


def test_a_reservation_ends_once() -> None:
    cap = SpendingCap(Decimal(1))
    reservation = cap.reserve(Decimal("0.4"), "m")
    reservation.release()
    reservation.settle(Decimal("0.4"))
    reservation.release()
    assert (cap.reserved, cap.spent) == (0, 0)


def test_the_exact_cap_may_be_spent_and_not_a_cent_more() -> None:
    cap = SpendingCap(Decimal("0.03"))
    for _ in range(3):
        cap.reserve(CENT, "m").settle(CENT)
    with pytest.raises(BudgetReached) as caught:
        cap.reserve(CENT, "gpt-4o")
    assert caught.value.exit_code is ExitCode.BUDGET_REACHED
    assert "$0.0300 of $0.0300" in str(caught.value)
    assert "gpt-4o" in str(caught.value)


def test_zero_means_no_paid_call_and_free_calls_always_go() -> None:
    cap = SpendingCap(Decimal(0))
    cap.reserve(Decimal(0), "local").settle(Decimal(0))
    with pytest.raises(BudgetReached, match=r"budget\.max_usd is 0"):
        cap.reserve(Decimal("1e-12"), "m")
    over = SpendingCap(Decimal(1), already_spent=Decimal(2))
    over.reserve(Decimal(0), "local")
    assert over.remaining == 0


def test_without_a_cap_everything_goes_and_is_counted() -> None:
    cap = SpendingCap(None)
    cap.reserve(None, "unknown").settle(None)
    cap.reserve(Decimal(1000), "m").settle(Decimal(900))
    cap.check_models([("openai", "gpt-99")])
    assert (cap.spent, cap.remaining) == (Decimal(900), None)


def test_an_unknown_price_under_a_cap_is_refused_by_name() -> None:
    cap = SpendingCap(Decimal(1))
    with pytest.raises(ConfigurationError, match=r"gpt-99"):
        cap.reserve(None, "gpt-99")
    asked = [("openai", "gpt-99"), ("openai", "gpt-4o"), ("embedded", "qwen"), ("openai_compatible", "llama3")]
    with pytest.raises(ConfigurationError) as caught:
        cap.check_models(asked)
    assert [problem.what for problem in caught.value.problems] == [
        "there is a cap, but the price of gpt-99 is unknown",
        "there is a cap, but the price of llama3 is unknown",
    ]
    cap.check_models(asked, [Price("gpt-99", 1.0), Price("llama3", 0.0)])


def test_what_was_spent_before_and_elsewhere_counts() -> None:
    cap = SpendingCap(Decimal(1), already_spent=Decimal("0.5"))
    cap.note_elsewhere(Decimal("0.4"))
    cap.note_elsewhere(Decimal("0.3"))
    cap.reserve(Decimal("0.2"), "m")
    with pytest.raises(BudgetReached):
        cap.reserve(CENT, "m")


def test_waiting_for_room_ends_when_a_call_costs_less_than_feared() -> None:
    async def main() -> None:
        cap = SpendingCap(Decimal(1))
        first = cap.reserve(Decimal("0.9"), "m")
        with pytest.raises(BudgetReached):
            cap.reserve(Decimal("0.3"), "m")
        assert cap.may_fit_later(Decimal("0.3"))
        assert not cap.may_fit_later(Decimal("1.1"))
        waiting = asyncio.ensure_future(cap.settled())
        await asyncio.sleep(0)
        assert not waiting.done()
        threading.Thread(target=first.settle, args=(Decimal("0.1"),)).start()
        await asyncio.wait_for(waiting, 5)
        cap.reserve(Decimal("0.3"), "m").settle(Decimal("0.3"))
        assert cap.may_fit_later(Decimal("0.6"))
        assert not cap.may_fit_later(Decimal("0.61"))
        await asyncio.wait_for(cap.settled(), 5)

    asyncio.run(main())


@given(st.lists(st.tuples(st.integers(1, 60), st.integers(0, 100), st.booleans()), max_size=40))
def test_everybody_who_waits_for_room_ends(calls: list[tuple[int, int, bool]]) -> None:
    """Paid, refused or cancelled; the cap is kept, and what was refused did not fit when nothing was under way."""

    async def call(cap: SpendingCap, cents: int, percent: int) -> str:
        worst = CENT * cents
        while True:
            try:
                reservation = cap.reserve(worst, "m")
                break
            except BudgetReached:
                if not cap.may_fit_later(worst):
                    return "refused"
                await cap.settled()
        try:
            for _ in range(cents % 4):
                await asyncio.sleep(0)
        finally:
            reservation.settle(worst * percent / 100)
        return "paid"

    async def main() -> None:
        cap = SpendingCap(Decimal(1))
        tasks = [asyncio.ensure_future(call(cap, cents, percent)) for cents, percent, _ in calls]
        await asyncio.sleep(0)
        for task, (_, _, leaves) in zip(tasks, calls, strict=True):
            if leaves:
                task.cancel()
        ended = await asyncio.wait_for(asyncio.gather(*tasks, return_exceptions=True), 20)
        assert cap.spent <= 1
        assert cap.reserved == 0
        for result, (cents, _, _) in zip(ended, calls, strict=True):
            assert result != "refused" or cap.spent + CENT * cents > 1

    asyncio.run(main())


STEPS = st.lists(
    st.tuples(st.integers(0, 300), st.sampled_from(["settle", "lose", "release", "hold"]), st.integers(0, 100)),
    max_size=60,
)


@given(st.integers(0, 1000), STEPS)
def test_the_cap_is_never_exceeded(cap_cents: int, steps: list[tuple[int, str, int]]) -> None:
    cap = SpendingCap(CENT * cap_cents)
    paid = Decimal(0)
    held: list[Reservation] = []
    for cents, end, percent in steps:
        try:
            reservation = cap.reserve(CENT * cents, "m")
        except BudgetReached:
            assert paid + sum(one.worst for one in held) + CENT * cents > CENT * cap_cents
            continue
        actual = reservation.worst * percent / 100
        if end == "hold":
            held.append(reservation)
        elif end == "settle":
            reservation.settle(actual)
            paid += actual
        elif end == "lose":
            reservation.settle(None)
            paid += reservation.worst
        else:
            reservation.release()
        assert cap.spent == paid
        assert cap.reserved == sum(one.worst for one in held)
        assert cap.spent + cap.reserved <= CENT * cap_cents


def test_the_cap_holds_with_32_threads() -> None:
    cap = SpendingCap(Decimal("1.00"))
    paid, highest, refused = [Decimal(0)], [Decimal(0)], [0]
    lock = threading.Lock()
    start = threading.Barrier(32)

    def work(seed: int) -> None:
        rng = random.Random(seed)
        start.wait()
        for _ in range(50):
            worst = Decimal(rng.randint(1, 400)) / 10_000
            try:
                reservation = cap.reserve(worst, "m")
            except BudgetReached:
                with lock:
                    refused[0] += 1
                continue
            actual = None if rng.random() < 0.05 else worst * rng.randint(0, 100) / 100
            with lock:
                paid[0] += worst if actual is None else actual
                highest[0] = max(highest[0], paid[0])
            reservation.settle(actual)

    threads = [threading.Thread(target=work, args=(seed,)) for seed in range(32)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert highest[0] <= Decimal("1.00")
    assert (cap.spent, cap.reserved) == (paid[0], 0)
    assert refused[0] > 0
    assert cap.spent > Decimal("0.9")
