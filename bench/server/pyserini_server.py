"""Run Pyserini's HTTP server over a local index: ``pyserini_server.py JAVA_HOME INDEX PORT``, by Pyserini's Python.

Pyserini's server opens only prebuilt indexes, by name. Here it opens ``INDEX`` instead, whose documents and questions
are already analyzed. Pyserini's modules for image search do not load with transformers 5, so a stub replaces them.

The added route ``POST /same-work`` uses Pyserini's functions for what SHRAG's default strategy does for a question: up
to ten queries of ten hits, the records of all hits, and a re-ranking by BM25 and the best sentence.
"""

from __future__ import annotations

import json
import math
import os
import sys
import types
from collections import Counter
from pathlib import Path
from typing import Any

_HITS = 10
_K1, _B, _SENTENCE_WEIGHT = 0.9, 0.4, 0.3


class _SameWork:
    """Searches, fetches and re-ranks as a program over Pyserini would."""

    def __init__(self, searcher: Any) -> None:  # noqa: ANN401  (Pyserini has no types)
        self._searcher = searcher
        stats = searcher.index_reader.stats()
        self._documents: int = stats["documents"]
        self._average_length: float = stats["total_terms"] / stats["documents"]
        self._idfs: dict[str, float] = {}

    def answer(self, queries: list[str]) -> list[dict[str, object]]:
        """Return the ten best records of the hits of all queries; the first query has all words of the question."""
        qids = [str(number) for number in range(len(queries))]
        found = self._searcher.batch_search(queries, qids, k=_HITS, threads=os.cpu_count() or 1)
        docids = list(dict.fromkeys(hit.docid for qid in qids for hit in found[qid]))
        documents = self._searcher.batch_doc(docids, threads=os.cpu_count() or 1)
        records = {docid: json.loads(documents[docid].raw()) for docid in docids}
        words = queries[0].split()
        scores = {docid: self._score(words, record["contents"]) for docid, record in records.items()}
        best = sorted(scores, key=lambda docid: (-scores[docid], docid))[:_HITS]
        return [{"docid": docid, "score": scores[docid], "record": records[docid]} for docid in best]

    def _score(self, words: list[str], contents: str) -> float:
        sentences = [line.split() for line in contents.split("\n")]
        counts = Counter(term for sentence in sentences for term in sentence)
        norm: float = _K1 * (1 - _B + _B * sum(counts.values()) / self._average_length)
        idfs = {word: self._idf(word) for word in words if word in counts}
        bm25: float = sum(idf * counts[word] / (counts[word] + norm) for word, idf in idfs.items())
        best = max(sum(idfs.get(term, 0.0) for term in set(sentence)) for sentence in sentences)
        return bm25 + _SENTENCE_WEIGHT * best

    def _idf(self, word: str) -> float:
        if word not in self._idfs:
            frequency = self._searcher.index_reader.get_term_counts(word, analyzer=None)[0]
            self._idfs[word] = math.log(1 + (self._documents - frequency + 0.5) / (frequency + 0.5))
        return self._idfs[word]


def main() -> None:
    """Serve until terminated."""
    java_home, index, port = sys.argv[1:]
    os.environ["JAVA_HOME"], os.environ["JVM_PATH"] = java_home, f"{java_home}/lib/server/libjvm.so"
    import jnius_config
    import pyserini

    (jar,) = Path(pyserini.__file__).parent.glob("resources/jars/anserini-*-fatjar.jar")
    jnius_config.set_classpath(str(jar))
    jnius_config.add_options("-Xmx2g")
    import jnius  # noqa: F401  (starts Java, before Pyserini does so with a module that this runtime lacks)

    image_search = types.ModuleType("pyserini.encode.optional._uniir")
    image_search.__dict__.update(dict.fromkeys(("UniIRQueryEncoder", "UniIRCorpusEncoder"), object))
    sys.modules[image_search.__name__] = image_search
    from pyserini.pyclass import autoclass
    from pyserini.search.lucene import LuceneSearcher

    def local(name: str) -> object:
        searcher = LuceneSearcher(index)
        searcher.set_analyzer(autoclass("org.apache.lucene.analysis.core.WhitespaceAnalyzer")())
        searcher.set_bm25(0.9, 0.4)
        return searcher

    LuceneSearcher.from_prebuilt_index = staticmethod(local)
    import uvicorn
    from pyserini.server.rest.app import app

    work = _SameWork(local(index))

    async def same_work(queries: list[str]) -> list[dict[str, object]]:
        return work.answer(queries)

    app.post("/same-work")(same_work)
    uvicorn.run(app, host="127.0.0.1", port=int(port), log_level="warning")


if __name__ == "__main__":
    main()
