from __future__ import annotations

from contextlib import closing
from pathlib import Path

import msgspec
import pytest

from shrag.corpora.errors import CorpusError
from shrag.corpora.store.manifest import read_manifest
from shrag.evaluation.errors import ExperimentRejected, ResultsMismatch
from shrag.evaluation.experiments.engines import check_condition, index_name, prepare_index
from shrag.evaluation.experiments.spec import Condition, CorpusSource, JudgedSet
from shrag.indexing.open_index import open_index
from shrag.indexing.storage.generations import current_generation
from tests.support.small_experiment import DEMO_SET, folders

pytestmark = pytest.mark.slow

SMALL_SET = JudgedSet("tiny", topics="t", qrels="q", corpus=CorpusSource("miracl", ("tiny",)))


@pytest.fixture
def data(tmp_path: Path) -> Path:
    (tmp_path / "data" / "tiny").mkdir(parents=True)
    lines = [f'{{"docid": "{n}#0", "title": "제목 {n}", "text": "그래핀 차폐 {n}"}}\n' for n in range(12)]
    (tmp_path / "data" / "tiny" / "docs-0.jsonl").write_text("".join(lines), encoding="utf-8")
    return tmp_path / "data"


def test_what_is_not_there_is_built_and_what_is_there_is_left(data: Path, own_home: Path) -> None:
    where = folders(own_home, data)
    prepare_index(SMALL_SET, "", where)
    _, manifest = current_generation(own_home / "indexes" / "tiny")
    assert (manifest.generation, manifest.records, manifest.vectors) == (1, 12, None)
    prepare_index(SMALL_SET, "lsa", where)
    _, with_vectors = current_generation(own_home / "indexes" / "tiny-lsa")
    assert with_vectors.vectors is not None
    assert with_vectors.source.fingerprint == manifest.source.fingerprint
    prepare_index(SMALL_SET, "", where)
    assert current_generation(own_home / "indexes" / "tiny")[1].generation == 1


@pytest.mark.parametrize(
    "condition",
    [
        Condition("c", strategy="hybrid"),
        Condition("c", settings={"candidates": "hybrid"}),
        Condition("c", reranker="vectors"),
    ],
)
def test_a_condition_whose_strategy_setting_or_reranker_needs_vectors_is_refused_without_them(
    data: Path, own_home: Path, condition: Condition
) -> None:
    prepare_index(SMALL_SET, "", folders(own_home, data))
    with closing(open_index(own_home / "indexes", "tiny")) as index:
        with pytest.raises(ExperimentRejected, match=r"The condition c cannot be run: .* has no vectors"):
            check_condition(condition, index, own_home / "indexes", None)
        check_condition(Condition("c"), index, own_home / "indexes", None)


def test_an_index_whose_corpus_came_from_other_files_is_not_asked_as_if_it_were_the_sets(
    data: Path, own_home: Path
) -> None:
    prepare_index(SMALL_SET, "", folders(own_home, data))
    path = data / "tiny" / "docs-0.jsonl"
    path.write_bytes(path.read_bytes()[: path.read_bytes().index(b"\n") + 1])
    with pytest.raises(ResultsMismatch, match="rename the set, or set index = 'tiny' to use it as it is"):
        prepare_index(SMALL_SET, "", folders(own_home, data))
    named = msgspec.structs.replace(SMALL_SET, corpus=None, index="tiny")
    prepare_index(named, "", folders(own_home, data))


def test_the_demonstration_that_make_index_made_is_the_sets_own(demo_home: Path) -> None:
    before = current_generation(demo_home / "indexes" / "demo")[1]
    prepare_index(DEMO_SET, "", folders(demo_home))
    assert current_generation(demo_home / "indexes" / "demo")[1] == before


def test_rejects_beyond_those_allowed_and_missing_files_are_refused(data: Path, own_home: Path) -> None:
    (data / "tiny" / "docs-1.jsonl").write_text("{}\n")
    with pytest.raises(CorpusError, match="1 of 13 lines are not records"):
        prepare_index(SMALL_SET, "", folders(own_home, data))
    allowed = msgspec.structs.replace(SMALL_SET, corpus=CorpusSource("miracl", ("tiny",), max_rejects=1))
    prepare_index(allowed, "", folders(own_home, data))
    assert read_manifest(own_home / "corpora" / "tiny").records == 12
    with pytest.raises(ExperimentRejected, match=r"The experiment's tiny does not exist"):
        prepare_index(SMALL_SET, "", folders(own_home, data / "elsewhere"))


def test_an_index_is_called_by_its_set_and_by_an_encoder_that_is_not_the_sets() -> None:
    assert index_name(SMALL_SET, "") == "tiny"
    assert index_name(SMALL_SET, "gte:256") == "tiny-gte-256"
    own = msgspec.structs.replace(SMALL_SET, encoder="lsa")
    assert (index_name(own, "lsa"), index_name(own, "gte")) == ("tiny", "tiny-gte")
    assert index_name(JudgedSet("s", topics="t", qrels="q", index="there"), "") == "there"
