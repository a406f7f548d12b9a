from __future__ import annotations

from shrag.indexing.analysis.korean_english import KoreanEnglishAnalyzer
from shrag.serving.retrieval.query_terms import QueryTerm
from shrag.serving.strategies.planning.bridge_entities import _best_sentences


def test_the_two_sentences_with_most_of_the_questions_idf_are_read_first(analyzer: KoreanEnglishAnalyzer) -> None:
    words = [
        QueryTerm(word, tuple(analyzer.terms([word])[0]), idf, 1, keyword=True, known=True)
        for word, idf in {"director": 3.0, "film": 1.0, "opera": 1.0}.items()
    ]
    neither = "It was shown in many towns."
    common = "The film was made after an opera."
    rare = "Its director was Eduardo Rossi."
    tie = "An opera was made of the film."
    assert _best_sentences(f"{neither} {common} {rare}", words, analyzer) == [rare, common]
    assert _best_sentences(f"{neither} {tie} {common}", words, analyzer) == [tie, common]
    assert _best_sentences(neither, words, analyzer) == [neither]
