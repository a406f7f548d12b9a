"""Files of an index that are damaged while a server reads them: 503, no readiness, then an earlier generation."""

from __future__ import annotations

import json
import os
import random
import shutil
from collections.abc import Iterator
from contextlib import closing
from pathlib import Path

import pytest

from shrag.indexing.storage.generations import generation_folder
from shrag.serving.app import create_app
from shrag.serving.runtime import hot_reload
from shrag.serving.runtime.hot_reload import CurrentIndex
from tests.support.live import Live, live_app
from tests.support.published import opener, publish_copy

pytestmark = pytest.mark.slow

QUESTIONS = (
    "재택근무를 많이 할수록 일과 가정 사이의 갈등이 커지는가?",
    "How much does milk yield fall in dairy cows under heat stress?",
)


@pytest.fixture
def current(index: Path) -> Iterator[CurrentIndex]:
    """Return the served index; refreshed only when a test says so."""
    with closing(CurrentIndex(index, opener(index))) as current:
        yield current


def _search(server: Live, question: str, strategy: str = "shrag") -> tuple[int, dict[str, object]]:
    status, _, body = server.ask("POST", "/v1/search", {"question": question, "strategy": strategy})
    return status, json.loads(body)


def _health(server: Live) -> tuple[int, dict[str, object]]:
    status, _, body = server.ask("GET", "/health/ready")
    return status, json.loads(body)


@pytest.mark.parametrize(
    ("file", "strategy"),
    [
        ("lucene/*.fdt", "shrag"),
        ("lucene/*.doc", "shrag"),
        ("lucene/*.tim", "shrag"),
        ("vectors/passages.f16", "hybrid"),
    ],
)
def test_a_truncated_file_is_503_index_damaged_and_the_previous_generation_takes_over(
    index: Path, current: CurrentIndex, file: str, strategy: str
) -> None:
    publish_copy(index, generation_folder(index, 1))
    assert current.refresh()
    with live_app(create_app(current)) as server:
        for path in generation_folder(index, 2).glob(file):
            os.truncate(path, 0)
        found = [_search(server, question, strategy) for question in QUESTIONS]
        assert {(status, body["code"]) for status, body in found} == {(503, "index_damaged")}
        status, body = _health(server)
        assert (status, body["code"]) == (503, "index_damaged")
        assert current.refresh()
        assert _search(server, QUESTIONS[0], strategy)[0] == 200
        status, body = _health(server)
        assert (status, body["index_generation"]) == (200, 1)
        assert "Generation 2 is damaged, so generation 1 answers." in str(body["index_problem"])
        assert not current.refresh()
        publish_copy(index, generation_folder(index, 1))
        assert current.refresh()
        assert (_health(server)[1]["index_generation"], _health(server)[1]["index_problem"]) == (3, "")


def test_damage_that_no_request_meets_is_found_by_the_size_of_the_files(index: Path, current: CurrentIndex) -> None:
    with live_app(create_app(current)) as server:
        os.truncate(generation_folder(index, 1) / "golden.json", 5)
        assert not current.refresh()
        status, body = _health(server)
        assert (status, body["code"]) == (503, "index_damaged")
        assert "golden.json has 5 bytes" in str(body["detail"])


def test_without_an_earlier_generation_requests_are_refused_until_the_file_is_whole_again(
    index: Path, current: CurrentIndex, monkeypatch: pytest.MonkeyPatch
) -> None:
    (path,) = generation_folder(index, 1).glob("lucene/*.fdt")
    whole = path.read_bytes()
    with live_app(create_app(current)) as server:
        os.truncate(path, len(whole) // 2)
        assert not current.refresh()
        assert _search(server, QUESTIONS[0])[0] == 503
        shutil.copyfile(path, path.with_name("copy"))
        path.with_name("copy").write_bytes(whole)
        path.with_name("copy").replace(path)
        assert not current.refresh()  # tried again after a minute
        monkeypatch.setattr(hot_reload, "_RETRY_SECONDS", 0.0)
        current._recover_at = 0.0
        assert current.refresh()
        assert (_search(server, QUESTIONS[0])[0], _health(server)[0]) == (200, 200)


def test_bits_flipped_under_a_running_server_never_give_an_unexpected_error(index: Path) -> None:
    chance = random.Random(17)
    whole = {path: path.read_bytes() for path in generation_folder(index, 1).glob("lucene/*") if path.stat().st_size}
    assert {".fdt", ".tim", ".doc", ".nvd"} <= {path.suffix for path in whole}
    for path, data in whole.items():
        with closing(CurrentIndex(index, opener(index))) as current, live_app(create_app(current)) as server:
            with path.open("r+b") as stream:
                for _ in range(40):
                    stream.seek(chance.randrange(len(data)))
                    stream.write(bytes([chance.randrange(256)]))
            statuses = [_search(server, f"{question} {path.name}")[0] for question in QUESTIONS]
            assert set(statuses) <= {200, 503}, path
        path.write_bytes(data)
