"""The ledger's file: its versions, its sentences when it cannot be used, and its way of writing."""

from __future__ import annotations

import asyncio
import os
import shutil
import sqlite3
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from sqlalchemy import inspect

from runner.calls import Door
from runner.calls.ledger import Attempt, ClaimState, Ledger, now
from runner.calls.ledger.migrations import MIGRATIONS
from runner.calls.ledger.storage import open_engine
from runner.calls.ledger.tables import metadata
from runner.errors import ConfigurationError, StorageError
from tests.calls.calls_helpers import KEY, ask, endpoint, rows, with_door
from tests.fakes.model_server import ModelServer


def attempt(key: str, *, replayed: bool = True, number: int = 1) -> Attempt:
    return Attempt(
        key=key, number=number, status="ok", replayed=replayed, possibly_paid=False, http_status=200, stage="judge",
        run="r", question="q", sweep="s", provider="openai", asked_model="m", model="m", usage=None, input_cost=None,
        output_cost=None, total_cost=None, worst_case=None, price_source="", started_at=now(), latency_s=0.1,
        request_bytes=1, sent="{}", provider_request_id="", detail="", response=b"{}",
    )  # fmt: skip


def with_ledger(home: Path, work: Callable[[Ledger], Any]) -> Any:
    async def main() -> Any:
        ledger = Ledger(None, home)
        try:
            return await work(ledger)
        finally:
            ledger.close()

    return asyncio.run(main())


def test_the_migrations_make_the_tables_that_the_code_expects(home: Path) -> None:
    engine, _ = open_engine(None, home)
    made = inspect(engine)
    for table in metadata.sorted_tables:
        found = {column["name"]: not column["nullable"] for column in made.get_columns(table.name)}
        assert set(found) == {column.name for column in table.columns}
        wanted = {column.name: not column.nullable for column in table.columns if not column.primary_key}
        assert {name: found[name] for name in wanted} == wanted
    engine.dispose()


def test_a_ledger_of_a_newer_program_is_refused_and_left_alone(home: Path) -> None:
    open_engine(None, home)[0].dispose()
    with sqlite3.connect(home / "ledger.db") as connection:
        connection.execute("update schema_version set version = 99")
    with pytest.raises(StorageError, match=r"ledger\.db has version 99.*up to \d+.*newer program"):
        Ledger(None, home)
    assert rows(home, "version", table="schema_version") == [(99,)]


def test_an_older_ledger_is_brought_up_to_date(home: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    open_engine(None, home)[0].dispose()
    monkeypatch.setattr("runner.calls.ledger.migrations.MIGRATIONS", (*MIGRATIONS, ("CREATE TABLE later (x INTEGER)",)))
    open_engine(None, home)[0].dispose()
    assert rows(home, "version", table="schema_version") == [(len(MIGRATIONS) + 1,)]
    assert rows(home, "x", table="later") == []


def test_a_folder_that_cannot_be_made_is_a_sentence(tmp_path: Path) -> None:
    (tmp_path / "file").write_text("not a folder")
    with pytest.raises(StorageError, match=r"The folder .*home cannot be made.*RUNNER_HOME"):
        Ledger(None, tmp_path / "file" / "home")


@pytest.mark.skipif(os.geteuid() == 0, reason="root may write everywhere")
def test_a_folder_without_permission_is_a_sentence(tmp_path: Path) -> None:
    tmp_path.chmod(0o500)
    with pytest.raises(StorageError, match="permission"):
        Ledger(None, tmp_path)
    tmp_path.chmod(0o700)


def test_a_file_that_is_no_ledger_is_a_sentence(home: Path) -> None:
    home.mkdir()
    (home / "ledger.db").write_bytes(b"something else entirely" * 100)
    with pytest.raises(StorageError, match=r"not a database.*Move the file away"):
        Ledger(None, home)
    assert (home / "ledger.db").read_bytes().startswith(b"something else")


@pytest.mark.parametrize("url", ["no url", "sqlite:/", "nosuchdatabase://x/y"])
def test_a_bad_url_is_a_problem_of_the_configuration(url: str, home: Path) -> None:
    with pytest.raises((ConfigurationError, StorageError)):
        Ledger(url, home)


def test_another_place_for_the_ledger(home: Path, tmp_path: Path, model_server: ModelServer, monkeypatch: Any) -> None:
    monkeypatch.setenv("OPENAI_API_KEY", KEY)
    url = f"sqlite:///{tmp_path / 'shared' / 'calls.db'}"
    with_door(home, lambda door: door.chat(ask(endpoint(door, model_server))), ledger=url)
    other = tmp_path / "other-home"
    assert with_door(other, lambda door: door.chat(ask(endpoint(door, model_server))), ledger=url).call.from_ledger


def test_a_full_disk_ends_the_sweep_with_a_sentence(
    home: Path, model_server: ModelServer, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("OPENAI_API_KEY", KEY)

    async def fill(door: Door) -> list[Any]:
        where = endpoint(door, model_server)
        assert (await door.chat(ask(where, "before"))).ok
        door._core.ledger.work_here(lambda connection: connection.exec_driver_sql("PRAGMA max_page_count = 1"))
        asked = (door.chat(ask(where, "long" * 3000 + str(number))) for number in range(20))
        ended = await asyncio.gather(*asked, return_exceptions=True)
        with pytest.raises(StorageError):
            await door.chat(ask(where, "afterwards"))
        return list(ended)

    ended = with_door(home, fill)
    failed = [one for one in ended if isinstance(one, StorageError)]
    assert failed
    assert "full" in str(failed[0])
    assert "Free some space" in str(failed[0])
    # What was on disk is still worth its money.
    assert with_door(home, lambda door: door.chat(ask(endpoint(door, model_server), "before"))).call.from_ledger
    # And what the server answered in vain is known to have been on its way, now that there is room again.
    assert len(rows(home, "key", "possibly_paid")) == model_server.count() - len(rows(home, "key", "replayed")) > 0


def test_no_request_goes_out_that_could_not_be_noted_before(
    home: Path, model_server: ModelServer, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("OPENAI_API_KEY", KEY)

    async def work(door: Door) -> None:
        shutil.rmtree(home / "owners")
        with pytest.raises(StorageError, match=r"cannot be written.*the request was not made.*Free some space"):
            await door.chat(ask(endpoint(door, model_server)))
        assert door.spent().possibly_paid == 0

    with_door(home, work)
    assert model_server.count() == 0
    assert rows(home, "key") == []


def test_a_reply_is_on_disk_before_anybody_sees_it(home: Path) -> None:
    async def work(ledger: Ledger) -> None:
        await ledger.claim("k", sweep="s", again=False)
        await ledger.land(attempt("k"), None, release=True)
        assert rows(home, "key") == [("k",)]

    with_ledger(home, work)


@pytest.mark.parametrize("slow_disk", [False, True])
def test_many_writers_share_their_commits(home: Path, monkeypatch: pytest.MonkeyPatch, slow_disk: bool) -> None:
    """By the event loop itself, and by the thread where commits take long."""
    monkeypatch.setattr("runner.calls.ledger.writer._SLOW_S", 0.0 if slow_disk else 1e9)
    monkeypatch.setattr("runner.calls.ledger.writer._FAST_S", 0.0 if slow_disk else 1e9)

    async def work(ledger: Ledger) -> None:
        async def one(number: int) -> None:
            key = f"k{number}"
            assert await ledger.find(key) == ()
            assert await ledger.claim(key, sweep="s", again=False) is ClaimState.GRANTED
            await ledger.land(attempt(key), None, release=True)
            assert len(await ledger.find(key)) == 1

        before = ledger.commits
        await asyncio.gather(*(one(number) for number in range(200)))
        assert ledger.commits - before <= 20
        # Code that cannot wait is served in between.
        await asyncio.gather(*(one(number) for number in range(200, 220)), asyncio.sleep(0))
        assert ledger.remember_text("rubric", "a", "1", "text") is None

    with_ledger(home, work)
    assert len(rows(home, "key")) == 220
    assert rows(home, "key", table="claims") == []


def test_a_ledger_that_another_process_writes_is_waited_for(home: Path) -> None:
    async def work(ledger: Ledger) -> None:
        other = sqlite3.connect(home / "ledger.db", isolation_level=None)
        other.execute("begin immediate")
        landing = asyncio.create_task(ledger.land(attempt("k"), None, release=True))
        # The event loop goes on meanwhile.
        for _ in range(20):
            await asyncio.sleep(0.01)
        assert not landing.done()
        other.execute("rollback")
        await landing
        other.close()

    with_ledger(home, work)
    assert rows(home, "key") == [("k",)]


def test_a_claim_is_granted_once(home: Path) -> None:
    async def work(ledger: Ledger) -> None:
        other = Ledger(None, home)
        try:
            assert await ledger.claim("k", sweep="s", again=False) is ClaimState.GRANTED
            assert await other.claim("k", sweep="s", again=False) is ClaimState.HELD
            await ledger.land(attempt("k", replayed=False), None, release=True)
            assert await other.claim("k", sweep="s", again=False) is ClaimState.GRANTED
            await other.land(attempt("k", number=2), None, release=True)
            assert await ledger.claim("k", sweep="s", again=False) is ClaimState.LANDED
            assert await ledger.claim("k", sweep="s", again=True) is ClaimState.GRANTED
            assert [one.number for one in await ledger.find("k")] == [1, 2]
        finally:
            other.close()

    with_ledger(home, work)


def test_who_leaves_gives_its_claims_back(home: Path) -> None:
    async def work(ledger: Ledger) -> None:
        other = Ledger(None, home)
        await other.claim("k", sweep="s", again=False)
        other.close()
        assert await ledger.claim("k", sweep="s", again=False) is ClaimState.GRANTED

    with_ledger(home, work)
    assert rows(home, "id", table="owners") == []


def test_an_owner_on_another_machine_lives_as_long_as_its_lease(home: Path) -> None:
    async def work(ledger: Ledger) -> None:
        def elsewhere(lease_until: float) -> None:
            with sqlite3.connect(home / "ledger.db") as connection:
                connection.execute("delete from owners where id = 'far'")
                connection.execute("insert into owners values ('far', 'another-host', '/nowhere', ?)", (lease_until,))
                connection.execute("insert or replace into claims values ('k', 'far', 's', 'now')")

        elsewhere(lease_until=4e9)
        assert await ledger.claim("k", sweep="s", again=False) is ClaimState.HELD
        elsewhere(lease_until=1.0)
        assert await ledger.claim("k", sweep="s", again=False) is ClaimState.GRANTED

    with_ledger(home, work)


def test_dead_owners_are_forgotten_by_whoever_comes_next(home: Path) -> None:
    open_engine(None, home)[0].dispose()
    with sqlite3.connect(home / "ledger.db") as connection:
        connection.execute("insert into owners values ('far', 'another-host', '/nowhere', 1.0)")
        connection.execute("insert into claims values ('k', 'far', 's', 'now')")
        connection.execute("insert into reservations values ('r', 'far', 'sweep', '0.25')")
    Ledger(None, home).close()
    assert rows(home, "id", table="owners") == rows(home, "key", table="claims") == []
    # What it had on the wire counts as spent at its worst.
    assert rows(home, "sweep, amount", table="spending") == [("sweep", "0.25")]


def test_two_that_make_a_ledger_together_do_not_collide(home: Path) -> None:
    async def main() -> None:
        opened = await asyncio.gather(*(asyncio.to_thread(Ledger, None, home) for _ in range(8)))
        for ledger in opened:
            ledger.close()

    asyncio.run(main())
    assert rows(home, "version", table="schema_version") == [(len(MIGRATIONS),)]
