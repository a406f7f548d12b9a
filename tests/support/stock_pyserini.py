"""Search an index by Pyserini alone: ``stock_pyserini.py JAVA_HOME INDEX < QUERIES > RESULTS``, both JSON.

A query is a list of analysed terms. Nothing of SHRAG is imported.
"""

from __future__ import annotations

import json
import os
import sys
from pathlib import Path


def main() -> None:
    """Print the number of documents, the hundred best of each query, and the best document of the first."""
    java_home, index = sys.argv[1:]
    os.environ.update(
        JAVA_HOME=java_home,
        JVM_PATH=f"{java_home}/lib/server/libjvm.so",
        OPENAI_API_KEY="none",  # its imports require one
    )
    import jnius_config
    import pyserini

    (jar,) = Path(pyserini.__file__).parent.glob("resources/jars/anserini-*-fatjar.jar")
    jnius_config.set_classpath(str(jar))
    import jnius  # noqa: F401  (starts Java, before Pyserini does so with a module that this runtime lacks)
    from pyserini.pyclass import autoclass
    from pyserini.search.lucene import LuceneSearcher

    searcher = LuceneSearcher(index)
    searcher.set_analyzer(autoclass("org.apache.lucene.analysis.core.WhitespaceAnalyzer")())
    searcher.set_bm25(0.9, 0.4)
    fields = {"contents": 1.0, "title": 0.2}
    found = [searcher.search(" ".join(terms), k=100, fields=fields) for terms in json.load(sys.stdin)]
    best = searcher.doc(found[0][0].docid)
    result = {
        "num_docs": searcher.num_docs,
        "hits": [[[hit.docid, hit.score] for hit in hits] for hits in found],
        "doc": {"id": best.id(), "contents": best.contents(), "raw": best.raw()},
    }
    json.dump(result, sys.stdout)


if __name__ == "__main__":
    main()
