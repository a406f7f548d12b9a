"""BM25 with Anserini's own analyzers and parameters, through its jar.

``anserini-ko`` uses Lucene's CJKAnalyzer, which makes bigrams of Hangul syllables. It is the analyzer of the pinned jar
for Korean, and the one that most papers on MIRACL report. Anserini 2.2.0 and later use Nori, which is not in this jar.
``anserini-en`` uses DefaultEnglishAnalyzer (Porter's stemmer, Lucene's stop words). Both have k1 0.9 and b 0.4, and
order ties by docid.
"""

from __future__ import annotations

import tempfile
from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager

from shrag.indexing.bm25 import Bm25
from shrag.indexing.lexical.jvm import JavaClass, add_anserini, java_class, java_errors, lucene_class
from shrag.indexing.lexical.schema import similarity
from shrag.indexing.search_engine import Hit

ANALYSERS = ("anserini-ko", "anserini-en")

_ID, _CONTENTS = "id", "contents"
_PARAMETERS = Bm25(k1=0.9, b=0.4)


class AnseriniPeer:
    """A :class:`~shrag.evaluation.peers.base.Peer` with a temporary Lucene index."""

    def __init__(self, name: str) -> None:
        if name not in ANALYSERS:
            raise ValueError(f"name must be one of {', '.join(ANALYSERS)}, got {name!r}")
        self.name = name

    @contextmanager
    def open(self, contents: Sequence[tuple[str, str]]) -> Iterator[Callable[[str, int], list[Hit]]]:
        """See :class:`~shrag.evaluation.peers.base.Peer`."""
        if not contents:
            yield lambda question, k: []
            return
        add_anserini()
        with tempfile.TemporaryDirectory(prefix="shrag-peer-") as folder, java_errors(f"ranking by {self.name}"):
            directory = lucene_class("store.FSDirectory").open(java_class("java.nio.file.Paths").get(folder))
            analyser = self._analyser()
            _write(directory, analyser, contents)
            reader = lucene_class("index.DirectoryReader").open(directory)
            try:
                yield lambda question, k: _search(reader, _terms(analyser, question), min(k, len(contents)))
            finally:
                reader.close()
                directory.close()

    def _analyser(self) -> JavaClass:
        if self.name == "anserini-ko":
            return lucene_class("analysis.cjk.CJKAnalyzer")()
        return java_class("io.anserini.analysis.DefaultEnglishAnalyzer").newDefaultInstance()


def _write(directory: JavaClass, analyser: JavaClass, contents: Sequence[tuple[str, str]]) -> None:
    config = lucene_class("index.IndexWriterConfig")(analyser)
    config.setSimilarity(similarity(_PARAMETERS))
    config.setMergeScheduler(lucene_class("index.SerialMergeScheduler")())
    bytes_ref = lucene_class("util.BytesRef")
    docid = lucene_class("document.SortedDocValuesField")(_ID, bytes_ref(""))
    text = lucene_class("document.TextField")(_CONTENTS, "", lucene_class("document.Field$Store").NO)
    document = lucene_class("document.Document")()
    document.add(docid)
    document.add(text)
    writer = lucene_class("index.IndexWriter")(directory, config)
    try:
        for name, content in contents:
            docid.setBytesValue(bytes_ref(name))
            text.setStringValue(content)
            writer.addDocument(document)
        writer.forceMerge(1)
    finally:
        writer.close()


def _terms(analyser: JavaClass, question: str) -> Counter[str]:
    terms = java_class("io.anserini.analysis.AnalyzerUtils").analyze(analyser, question)
    return Counter(str(term) for term in terms)


def _search(reader: JavaClass, terms: Counter[str], k: int) -> list[Hit]:
    """Search by the question's words, each weighted by its frequency, as Anserini's BagOfWordsQueryGenerator does."""
    searcher = lucene_class("search.IndexSearcher")(reader)
    searcher.setSimilarity(similarity(_PARAMETERS))
    query = lucene_class("search.BooleanQuery$Builder")()
    for term, count in terms.items():
        leaf = lucene_class("search.TermQuery")(lucene_class("index.Term")(_CONTENTS, term))
        query.add(lucene_class("search.BoostQuery")(leaf, count), lucene_class("search.BooleanClause$Occur").SHOULD)
    field = lucene_class("search.SortField")
    by_docid = field(_ID, lucene_class("search.SortField$Type").STRING)
    top = searcher.search(query.build(), k, lucene_class("search.Sort")([field.FIELD_SCORE, by_docid]), True)
    return [Hit(str(each.fields[1].utf8ToString()), float(each.score)) for each in top.scoreDocs]
