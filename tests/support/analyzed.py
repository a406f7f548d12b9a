"""Questions and records analyzed as an open engine's index analyzes them."""

from __future__ import annotations

from shrag.corpora.records import Record
from shrag.corpora.text.sentences import detect_language
from shrag.indexing.analyzed_record import AnalyzedRecord, analyze_record
from shrag.indexing.translation.query_translation import AnalyzedQuestion, analyze_question
from shrag.serving.engine import Engine


def analyzed_question(engine: Engine, text: str) -> AnalyzedQuestion:
    """Return a question with the translations of the engine's index."""
    index = engine.open_index
    return analyze_question(text, index.analyzer, index.searcher, index.glossary)


def analyzed_records(engine: Engine, *texts: str) -> list[AnalyzedRecord]:
    """Return records of these texts that all have the title ``Title``; they are in no index."""
    return [
        analyze_record(
            Record(f"r{number}", "Title", text, detect_language(text), complete=True), engine.open_index.analyzer
        )
        for number, text in enumerate(texts)
    ]
