from __future__ import annotations

from shrag.corpora.records import Record
from shrag.indexing.analysis.korean_english import KoreanEnglishAnalyzer
from shrag.indexing.analyzed_record import analyze_record
from shrag.serving.retrieval.query_terms import QueryTerm
from shrag.serving.strategies.planning.bridge_entities import _best_sentences, _is_about


def test_the_two_sentences_with_most_of_the_questions_idf_are_read_first(analyzer: KoreanEnglishAnalyzer) -> None:
    words = [
        QueryTerm(word, tuple(analyzer.terms([word])[0]), idf, 1, keyword=True, known=True)
        for word, idf in {"director": 3.0, "film": 1.0, "opera": 1.0}.items()
    ]
    neither = "It was shown in many towns."
    common = "The film was made after an opera."
    rare = "Its director was Eduardo Rossi."
    tie = "An opera was made of the film."

    def best(*sentences: str) -> list[str]:
        record = Record(docid="A", title="", text=" ".join(sentences), language="en", complete=False)
        return [sentence for sentence, _ in _best_sentences(analyze_record(record, analyzer), words)]

    assert best(neither, common, rare) == [rare, common]
    assert best(neither, tie, common) == [tie, common]
    assert best(neither) == [neither]


def test_a_title_is_about_a_name_that_makes_up_half_of_it() -> None:
    name = frozenset({"eduardo", "rossi"})
    assert _is_about([frozenset(), name], name | {"1990", "film"})
    assert not _is_about([name], name | {"1990", "film", "festival"})
    assert not _is_about([name], frozenset({"rossi"}))
    assert not _is_about([frozenset()], name)
