"""The page: what an engine returned → HTML. Everything from a record, a question or a model is escaped by Jinja."""

from __future__ import annotations

import tomllib
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from functools import cache
from importlib.metadata import version
from pathlib import Path
from typing import Any, Literal
from urllib.parse import urlencode

import jinja2

from shrag.corpora.language import detect_language
from shrag.corpora.records import Record
from shrag.indexing.analysis import Analyzer
from shrag.serving.engine import AskResult, Engine
from shrag.serving.errors import QuestionError
from shrag.serving.events import Answer, Hits, RankedRecord
from shrag.serving.highlight import best_sentences, mark_matches
from shrag.serving.phrases import DOUBTS, FALLBACKS, HEADINGS, REASONS

PAGE_FOLDER = Path(__file__).parent / "page"

InterfaceLanguage = Literal["ko", "en"]

_SNIPPET_SENTENCES = 2
_SHOWN_AUTHORS = 3


@dataclass(frozen=True, slots=True)
class Asked:
    """What the page is asked for: a question, or None for the empty page, in one of the interface's languages."""

    question: str | None
    language: InterfaceLanguage


def choose_language(wanted: str | None, accepted: str) -> InterfaceLanguage:
    """Return the interface's language: the one asked for by name, else the browser's first of the two, else Korean."""
    if wanted in ("ko", "en"):
        return "ko" if wanted == "ko" else "en"
    for part in accepted.lower().split(","):
        name = part.partition(";")[0].strip().partition("-")[0]
        if name in ("ko", "en"):
            return "ko" if name == "ko" else "en"
    return "ko"


def render_page(engine: Engine, asked: Asked) -> tuple[int, str]:
    """Ask the engine what the page asks; return the HTTP status and the page."""
    words = page_words()[asked.language]
    problem, view, status = "", None, 200
    if asked.question is not None:
        try:
            result = engine.ask(asked.question)
            view = _view(result, asked.language, engine.open_index.analyzer)
        except QuestionError as error:
            problem, status = words.get(error.code, str(error)), 422
    manifest = engine.manifest
    other = {"ko": "en", "en": "ko"}[asked.language]
    html = (
        _templates()
        .get_template("page.html")
        .render(
            ui=asked.language,
            words=words,
            switch_url="/?" + urlencode({"ui": other} | ({"q": asked.question} if asked.question is not None else {})),
            question=asked.question,
            index=engine.name,
            index_records=manifest.records,
            index_built=manifest.created[:10],
            version=version("shrag"),
            problem=problem,
            view=view,
        )
    )
    return status, html


@cache
def page_words() -> Mapping[str, Mapping[str, str]]:
    """Return the page's own words by interface language."""
    words: dict[str, dict[str, str]] = tomllib.loads((PAGE_FOLDER / "words.toml").read_text(encoding="utf-8"))
    return words


@cache
def _templates() -> jinja2.Environment:
    return jinja2.Environment(
        loader=jinja2.FileSystemLoader(PAGE_FOLDER / "templates"),
        autoescape=True,
        undefined=jinja2.StrictUndefined,
        trim_blocks=True,
        lstrip_blocks=True,
    )


def _view(result: AskResult, interface: InterfaceLanguage, analyzer: Analyzer) -> dict[str, Any]:
    """Return what the templates show of a result."""
    answer, search = result.answer, result.search
    # A question of digits or signs alone is in no language: the reader's is the better guess.
    language = interface if detect_language(search.question.text) == "und" else answer.language
    ranks = {ranked.record.docid: ranked.rank for ranked in search.ranking.records}
    numbers = {citation.docid: citation.number for citation in answer.citations}
    asked = [search.question.text, *(text for keyword in search.keywords.keywords for text in keyword.carried)]
    terms = {term for terms in analyzer.terms(asked) for term in terms}
    return {
        "answer_language": language,
        "reason": REASONS[language][answer.reason] if answer.reason else "",
        "generated": answer.kind == "generated",
        "model": answer.model,
        "cut_short": not answer.complete,
        "doubted": sum(not sentence.sound for section in answer.sections for sentence in section.sentences),
        "fallbacks": [
            {"stage": fallback.stage, "says": FALLBACKS[interface][fallback.cause]} for fallback in search.fallbacks
        ],
        "sections": _sections(answer, ranks),
        "sources": [
            {"number": c.number, "rank": ranks[c.docid], "title": c.title, "docid": c.docid} for c in answer.citations
        ],
        "records": [_record(ranked, numbers, terms, analyzer) for ranked in search.ranking.records],
        "keywords": search.keywords.keywords,
        "keyword_model": search.keywords.model,
        "keyword_order": search.keywords.order,
        "carried": any(keyword.carried for keyword in search.keywords.keywords),
        "unknown": search.keywords.unknown,
        "rungs": _rungs(search.queries.queries, search.hits),
        "pool": len(search.hits.pool),
        "left_out": search.hits.left_out,
        "reranker": search.ranking.reranker,
        "reranker_is_model": search.ranking.reranker_is_model,
        "seconds": search.timings.seconds,
    }


def _sections(answer: Answer, ranks: Mapping[str, int]) -> list[dict[str, Any]]:
    cited = {citation.number: citation for citation in answer.citations}
    return [
        {
            "part": section.part,
            "heading": HEADINGS[answer.language][section.part],
            "sentences": [
                {
                    "text": sentence.text,
                    "doubt": DOUBTS[answer.language][sentence.doubt] if sentence.doubt else "",
                    "marks": [
                        {"number": number, "rank": ranks[cited[number].docid], "title": cited[number].title}
                        for number in sentence.citations
                        if number in cited
                    ],
                }
                for sentence in section.sentences
            ],
        }
        for section in answer.sections
    ]


def _record(ranked: RankedRecord, numbers: Mapping[str, int], terms: set[str], analyzer: Analyzer) -> dict[str, Any]:
    record = ranked.record
    snippet = best_sentences(record.text, terms, analyzer, _SNIPPET_SENTENCES)
    return {
        "rank": ranked.rank,
        "pool_rank": ranked.pool_rank,
        "score": ranked.score,
        "cited": numbers.get(record.docid),
        "docid": record.docid,
        "also": ranked.also,
        "language": record.language,
        "title": mark_matches(record.title or record.docid, terms, analyzer),
        "authors": _authors(record),
        "journal": record.journal,
        "year": record.year,
        "snippet": mark_matches(snippet, terms, analyzer),
        "more": snippet != record.text,
        "text": mark_matches(record.text, terms, analyzer),
    }


def _authors(record: Record) -> str:
    shown = ", ".join(record.authors[:_SHOWN_AUTHORS])
    return f"{shown} +{len(record.authors) - _SHOWN_AUTHORS}" if len(record.authors) > _SHOWN_AUTHORS else shown


def _rungs(queries: Sequence[Iterable[str]], hits: Hits) -> list[dict[str, Any]]:
    """Return each query with how many records it found that none before it had; queries that read alike as one."""
    seen: set[str] = set()
    rungs: dict[tuple[str, ...], int] = {}
    for words, found in zip(queries, hits.hits, strict=True):
        docids = {hit.docid for hit in found}
        shown = tuple(words)
        rungs[shown] = rungs.get(shown, 0) + len(docids - seen)
        seen |= docids
    return [{"words": list(words), "added": added} for words, added in rungs.items()]


def render_template(name: str, **values: object) -> str:
    """Return the template ``name`` with ``values``, which it escapes."""
    return _templates().get_template(name).render(**values)
