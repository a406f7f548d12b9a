"""Run Pyserini's HTTP server over a local index: ``pyserini_server.py JAVA_HOME INDEX PORT``, by Pyserini's Python.

Its server opens prebuilt indexes by name only; this opens ``INDEX`` instead, whose documents and questions are already
analysed. Its modules for image search do not load with transformers 5 and are replaced by stubs.
"""

from __future__ import annotations

import os
import sys
import types
from pathlib import Path


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

    uvicorn.run(app, host="127.0.0.1", port=int(port), log_level="warning")


if __name__ == "__main__":
    main()
