"""Shared fixtures: an empty home for each test, the demonstration index, small records."""

from __future__ import annotations

import functools
import gc
import os
import shutil
import subprocess
import threading
from collections.abc import Generator, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest
from hypothesis import settings

import build_docs
from shrag.corpora.errors import ConflictingRecords, TooManyRejectedLines
from shrag.corpora.ingest import add
from shrag.corpora.ingest.add import add_corpus
from shrag.corpora.ingest.parser import Parser, ParseRequest, ParserLimits
from shrag.corpora.records import Record
from shrag.indexing.analysis import morphological_analysis
from shrag.indexing.analysis.korean_english import KoreanEnglishAnalyzer
from shrag.indexing.analysis.user_dictionary import EMPTY_DICTIONARY, UserDictionary
from shrag.indexing.build.builder import build_index
from shrag.indexing.build.job import BuildOptions
from shrag.indexing.maintenance.history import roll_back
from shrag.indexing.storage.generations import generation_folder
from shrag.serving.engine import Engine, open_engine
from tests.support.built_once import built_once
from tests.support.fault_modes import FAULTS, Fault
from tests.support.published import publish_copy, two_contents
from tests.support.shared_workers import one_process

if TYPE_CHECKING:
    from shrag.indexing.analysis.morphological_analysis import Kiwi
    from shrag.models.encoders.cross_encoder import CrossEncoderReranker
    from shrag.models.encoders.transformer import TransformerEncoder

# The same examples each time, so that the everyday suite fails for a change and never by chance; `make soak` draws
# new ones.
settings.register_profile("everyday", derandomize=True, deadline=None)
settings.register_profile("soak", deadline=None)
settings.load_profile("everyday")

# Messages are compared in English, whatever this machine's locale is; processes that tests start inherit it.
os.environ["SHRAG_LANG"] = "en"

ROOT = Path(__file__).resolve().parent.parent
DEMO = ROOT / "corpora" / "demo"


@pytest.hookimpl(wrapper=True)
def pytest_runtest_teardown(item: pytest.Item, nextitem: pytest.Item | None) -> Generator[None, object, object]:
    """Behind each file, leave what is still in use out of later collections of garbage.

    Every engine that closes collects, and walked through a million objects of other tests: a fifth of the suite's time.
    """
    done = yield
    if nextitem is None or nextitem.path != item.path:
        gc.collect()
        gc.freeze()
    return done


@pytest.fixture(autouse=True)
def own_home(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """Give every test an empty home and working folder, so that none reads or writes the developer's."""
    home = tmp_path / "home"
    monkeypatch.setenv("SHRAG_HOME", str(home))
    monkeypatch.chdir(tmp_path)
    return home


@pytest.fixture(scope="session")
def analyzer() -> KoreanEnglishAnalyzer:
    """Return one analyser, Kiwi loaded once."""
    return KoreanEnglishAnalyzer()


_load_kiwi = morphological_analysis.load_kiwi
_kiwi = functools.cache(_load_kiwi)


def _lent_kiwi(dictionary: UserDictionary = EMPTY_DICTIONARY) -> Kiwi:
    return _load_kiwi(dictionary) if dictionary.words else _kiwi()


@pytest.fixture(scope="session", autouse=True)
def one_kiwi() -> Iterator[None]:
    """Let all analysers of this process without a user's words share one Kiwi: loading it takes most of many tests."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(morphological_analysis, "load_kiwi", _lent_kiwi)
        yield


class _SharedParser(Parser):
    """A parser whose worker is started again where a relative path would lead elsewhere: each test has its folder."""

    _folder: Path | None = None

    def _request(self, path: Path, *rest: Any, **named: Any) -> tuple[ParseRequest, float]:  # noqa: ANN401
        if not path.is_absolute() and self._folder != Path.cwd():
            self.stop()
        return super()._request(path, *rest, **named)

    def _start(self) -> Any:  # noqa: ANN401  (private to its module)
        self._folder = Path.cwd()
        return super()._start()


@pytest.fixture(scope="session", autouse=True)
def one_parser() -> Iterator[None]:
    """Let the additions of this process with the default limits share one parser: many tests would mostly start it."""
    shared, in_use = _SharedParser(ParserLimits()), threading.Lock()

    @contextmanager
    def lend(limits: ParserLimits) -> Iterator[Parser]:
        if limits != ParserLimits() or not in_use.acquire(blocking=False):
            with Parser(limits) as own:
                yield own
            return
        try:
            yield shared
        except (TooManyRejectedLines, ConflictingRecords):  # after the last file
            raise
        except BaseException:
            shared.stop()  # it may be within a file
            raise
        finally:
            in_use.release()

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(add, "Parser", lend)
        yield
    shared.stop()


@pytest.fixture(scope="session", autouse=True)
def one_analysis_process() -> Iterator[None]:
    """Let the builds of this process share the process that loads Kiwi for their workers."""
    with one_process():
        yield


@pytest.fixture(scope="session")
def demo_home(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Return a home with the demonstration corpus added and indexed, vectors too. Tests only read it."""

    def build(home: Path) -> None:
        add_corpus(home / "corpora", "demo", "scienceon", [DEMO / "records.jsonl"])
        build_index(home / "corpora", home / "indexes", "demo", encoder="lsa")

    return built_once(tmp_path_factory, "demo-home", build)


@pytest.fixture(scope="session")
def three_generations(demo_home: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Return a home like it whose index has three generations. Tests only read it."""

    def build(home: Path) -> None:
        shutil.copytree(demo_home, home)
        index = home / "indexes" / "demo"
        publish_copy(index, generation_folder(index, 1))
        build_index(home / "corpora", home / "indexes", "demo", force=True, options=BuildOptions(keep=3))

    return built_once(tmp_path_factory, "three-generations", build)


@pytest.fixture(scope="session")
def demo(demo_home: Path) -> Iterator[Engine]:
    """Return an engine over the demonstration index."""
    engine = open_engine(demo_home / "indexes", "demo")
    yield engine
    engine.close()


@pytest.fixture(scope="session")
def encoder_folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Return the folder of a tiny mGTE encoder with random weights, as published. Tests only read it."""
    from tests.support.checkpoints import make_encoder

    return make_encoder(tmp_path_factory.mktemp("weights") / "tiny-encoder")


@pytest.fixture(scope="session")
def reranker_folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Return the folder of a tiny mGTE re-ranker with random weights, as published. Tests only read it."""
    from tests.support.checkpoints import make_reranker

    return make_reranker(tmp_path_factory.mktemp("weights") / "tiny-reranker")


@pytest.fixture(scope="session")
def transformer(encoder_folder: Path) -> TransformerEncoder:
    """Return the tiny encoder, loaded."""
    from shrag.models.encoders.choice import choose_encoder
    from shrag.models.encoders.transformer import load_encoder

    return load_encoder(choose_encoder(str(encoder_folder), encoder_folder.parent), "cpu")


@pytest.fixture(scope="session")
def cross_encoder(reranker_folder: Path) -> CrossEncoderReranker:
    """Return the tiny re-ranker, loaded."""
    from shrag.models.encoders.cross_encoder import load_cross_encoder

    return load_cross_encoder(str(reranker_folder), reranker_folder.parent, device="cpu")


@pytest.fixture(scope="session")
def strace() -> str:
    """Return the path of strace; the test is skipped where there is none, or where it may not trace."""
    found = shutil.which("strace")
    if found is None or subprocess.run([found, "true"], capture_output=True, check=False).returncode:
        pytest.skip("no strace here, or one that may not trace")
    return found


@pytest.fixture(params=FAULTS)
def fault(request: pytest.FixtureRequest) -> Fault:
    """Return each way in which a language model's endpoint fails."""
    return Fault(request.param, FAULTS[request.param])


@pytest.fixture
def record() -> Record:
    """Return one small complete record."""
    return Record(
        "A#1", "그래핀 차폐재", "그래핀(graphene) 필름을 만들었다. 차폐 효율은 30 dB였다.", "ko", complete=True
    )


@pytest.fixture(scope="session")
def contents(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Return an index folder with generations of two contents. Tests only read it."""
    return built_once(tmp_path_factory, "contents", two_contents) / "indexes" / "demo"


@pytest.fixture
def index(contents: Path, tmp_path: Path) -> Path:
    """Return an index folder whose current generation, 1, has the first content; a test may change it."""
    folder = tmp_path / "indexes" / "demo"
    shutil.copytree(contents, folder)
    roll_back(folder.parent, "demo", to=1)
    shutil.rmtree(generation_folder(folder, 2))
    return folder


@pytest.fixture(scope="session")
def built_docs(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Return the documentation as HTML, both languages; Sphinx's warnings are errors."""
    return built_once(tmp_path_factory, "docs", build_docs.make_docs)
