"""Contract of engine sources: leases keep an engine open, streams end theirs, closing."""

from __future__ import annotations

import shutil
import threading
from pathlib import Path

import pytest

from shrag.serving.engine import open_engine
from shrag.serving.errors import IndexClosed, ShuttingDown, UnknownStrategy
from shrag.serving.request import parse_request
from shrag.serving.runtime.hot_reload import CurrentIndex
from shrag.serving.runtime.leases import EngineSource, FixedEngine, SourceStatus
from tests.support.published import open_files, opener, wait_for

QUESTION = "재택근무를 많이 할수록 일과 가정 사이의 갈등이 커지는가?"


# By the check in the background of another test's engine; gone before it is copied.
_BEING_WRITTEN = shutil.ignore_patterns("..verified.new")


@pytest.fixture
def indexes(demo_home: Path, tmp_path: Path) -> Path:
    """Return a folder with an index that nothing else has open."""
    return Path(shutil.copytree(demo_home / "indexes", tmp_path / "indexes", ignore=_BEING_WRITTEN))


@pytest.fixture(params=["fixed", "current"])
def source(request: pytest.FixtureRequest, indexes: Path) -> EngineSource:
    """Return a source over an engine of its own; a test closes it."""
    if request.param == "fixed":
        return FixedEngine(open_engine(indexes, "demo"))
    return CurrentIndex(indexes / "demo", opener(indexes / "demo"))


def test_it_says_what_it_serves(source: EngineSource) -> None:
    assert (source.name, source.status) == ("demo", SourceStatus(1, (), "", 0))
    source.close()


def test_an_engine_is_open_while_it_is_used_and_closed_behind_the_last_use(source: EngineSource, indexes: Path) -> None:
    with source.use() as engine, source.use() as same:
        assert engine is same
        source.close()
        assert engine.ask(QUESTION).search.generation == 1
    del engine, same  # a name keeps its files mapped
    assert wait_for(lambda: open_files(indexes / "demo") == set())


def test_closed_it_gives_no_engine_and_says_that_the_server_stops(source: EngineSource) -> None:
    source.close()
    source.close()
    with pytest.raises(IndexClosed, match="Index demo is closed") as raised:
        source.use()
    assert isinstance(raised.value, ShuttingDown)  # 503, with when to come again


@pytest.mark.parametrize("end", ["taken to the end", "closed", "refused"])
def test_a_stream_releases_its_engine_however_it_ends(source: EngineSource, indexes: Path, end: str) -> None:
    if end == "refused":
        with pytest.raises(UnknownStrategy, match="'toq'"):
            source.use().run(parse_request(QUESTION, answered=True, strategy="toq"))
    else:
        run = source.use().run(parse_request(QUESTION, answered=True))
        next(run)
        assert open_files(indexes / "demo") == {"gen-000001"}
        if end == "closed":
            run.close()
        else:
            assert [event.event for event in run][-1] == "timings"
        del run
    source.close()
    assert wait_for(lambda: open_files(indexes / "demo") == set())


def test_many_threads_may_use_it_while_it_is_closed(source: EngineSource, indexes: Path) -> None:
    begun = threading.Barrier(9)
    wrong: list[Exception] = []

    def use() -> None:
        begun.wait()
        try:
            while True:
                with source.use() as engine:
                    assert engine.document("DEMO-SOC-012") is not None
        except IndexClosed:
            pass
        except Exception as error:
            wrong.append(error)

    threads = [threading.Thread(target=use) for _ in range(8)]
    for thread in threads:
        thread.start()
    begun.wait()
    source.close()
    for thread in threads:
        thread.join(20)
    assert wrong == []
    assert wait_for(lambda: open_files(indexes / "demo") == set())
