"""Measure what the best records hold of a question: the evidence that one of them answers it."""

from __future__ import annotations

import math
import re
from collections.abc import Iterable, Sequence
from collections.abc import Set as AbstractSet
from typing import NamedTuple

from shrag.indexing.analysis.analyzer import KEYWORD_KINDS
from shrag.indexing.analyzed_record import AnalyzedRecord, to_passage
from shrag.indexing.bm25 import Bm25
from shrag.indexing.glossary.query_translation import AnalyzedQuestion, QuerySegment
from shrag.indexing.lexical.reranker import QuestionReranker

DEPTH = 10
"""Records that evidence is measured on, each paper once."""

_COVERING = 3
_DISTINCTIVE = 0.5  # of the idf of the rarest word
_FIFTH = 4
_MOST_SHOWN = 4
_WORD = re.compile(r"[^\W_]+(?:[-'’.][^\W_]+)*")
_NO_LETTER = re.compile(r"[\W_]+")
_VERB_ENDINGS = ("ed", "ing", "ly")
# Adverbs, prepositions, common verbs and nouns of place that no subject is named by, and that few records have.
_GENERAL = frozenset(
    "ahead afterwards alongside already always apart avoid away back best better behind beyond bit bring chose "
    "choose cut do done enough ever far fed get give given go got happen happy help instead keep kept later "
    "little look lot make many much never often per plus put rather real same save see set single still stuck "
    "take taken tell together try upon want whole yet "
    "가운데 각각 곳 나라 나머지 내내 누구 다음 대신 동안 뒤 때문 무엇 사람 사이 속 실제 안 애초 앞 어디 언제 옆 요즘 "
    "우리 우리나라 위 이상 이전 이하 이후 전부 정도 주변 중간 처음 최소한 쪽 편 하나 현재".split()
)
# Suffixes that belong to a Korean word (고교학점제) but are no term, unlike particles, which are left out.
_SUFFIXES = "소제자성용식형화률율법론학품원체층망계력감"
# A noun of one syllable and a particle, which may be analysed as a name: 산은.
_DOUBTFUL = re.compile("[\uac00-\ud7a3][은는을를]")


class Evidence(NamedTuple):
    """What the best records hold of a question.

    Attributes:
        log_score: The logarithm of the best record's score.
        words: The words of the question that this record has, in either language.
        lead: The score less that of the fifth record.
        lead_over_second: The logarithm of its ratio to the second record's score.
        lead_over_fifth: The logarithm of its ratio to the fifth record's score.
        complete: Whether the best record's title and one of its sentences together have all of its distinctive words.
    """

    log_score: float
    words: int
    lead: float
    lead_over_second: float
    lead_over_fifth: float
    complete: bool = False


class ScoredByWords(NamedTuple):
    """A record and its score by the lexical re-ranker."""

    score: float
    record: AnalyzedRecord


NO_EVIDENCE = Evidence(-math.inf, 0, 0.0, 0.0, 0.0)
"""The evidence where no record was found."""


def rank_by_words(
    question: AnalyzedQuestion, parameters: Bm25, records: Sequence[AnalyzedRecord]
) -> list[ScoredByWords]:
    """Return the records with the lexical re-ranker's scores, best first, ties by docid.

    Pairs of words do not count. The questions that the confidence is learnt from are made of titles and share more
    of them with a record than a person's question does: with them 7 % instead of 4 % of the answerable ScienceON
    questions are refused.
    """
    scores = QuestionReranker(question, parameters, pair_weight=0.0).score(
        question.text, [to_passage(record) for record in records]
    )
    ranked = map(ScoredByWords, scores, records)
    return sorted(ranked, key=lambda each: (-each.score, each.record.record.docid))


def best_papers(ranked: Iterable[ScoredByWords]) -> list[ScoredByWords]:
    """Return the first :data:`DEPTH` records of a ranking, each paper once."""
    papers: dict[str, ScoredByWords] = {}
    for each in ranked:
        papers.setdefault(each.record.record.paper, each)
        if len(papers) == DEPTH:
            break
    return list(papers.values())


def measure_evidence(question: AnalyzedQuestion, ranked: Sequence[ScoredByWords]) -> Evidence:
    """Return the evidence of the :func:`best_papers` of a question, best first."""
    if not ranked or ranked[0].score <= 0:
        return NO_EVIDENCE
    scores = [each.score for each in ranked]
    second, fifth = scores[min(1, len(scores) - 1)], scores[min(_FIFTH, len(scores) - 1)]
    return Evidence(
        log_score=math.log(scores[0]),
        words=sum(_covered(question, ranked[0].record)),
        lead=scores[0] - fifth,
        lead_over_second=_log_ratio(scores[0], second),
        lead_over_fifth=_log_ratio(scores[0], fifth),
        complete=_is_complete(question, ranked[0].record),
    )


def uncovered_words(question: AnalyzedQuestion, records: Sequence[AnalyzedRecord]) -> tuple[str, ...]:
    """Return the distinctive words of a question, whole and as written, of which its best three records have no part.

    Left out are words that frame the request, that say no subject, and those of which it is not certain that they are
    missing: verbs, and words that a record writes otherwise (AutoDraw, Auto draw).
    """
    best = records[:_COVERING]
    covered = [_covered(question, record) for record in best]
    texts = [_letters(f"{each.record.title} {each.record.text}") for each in best]
    distinctive = frozenset(_distinctive(question))
    missing: list[str] = []
    for match in _WORD.finditer(question.text):
        parts = {
            number: segment
            for number, segment in enumerate(question.segments)
            if segment.start < match.end() and match.start() < segment.end
        }
        word = _as_written(match, parts.values())
        if (
            not distinctive.isdisjoint(parts)
            and _names_subject(word)
            and not any(each[number] for each in covered for number in parts)
            and not any(map(_frames_or_tells, parts.values()))
            and not any(_letters(word).removesuffix("s") in text for text in texts)
        ):
            missing.append(word)
    return tuple(dict.fromkeys(missing))[:_MOST_SHOWN]


def _as_written(match: re.Match[str], parts: Iterable[QuerySegment]) -> str:
    """Return a word with its suffix, without its particles."""
    end = min(max((part.end for part in parts), default=match.start()), match.end())
    if match.string[end : match.end()][:1] in _SUFFIXES:
        end = min(end + 1, match.end())
    return match.string[match.start() : end]


def _names_subject(word: str) -> bool:
    """Return whether a word is none that any question may have; English verbs are known by their endings."""
    lower = word.lower()
    general = lower in _GENERAL or (word.islower() and word.isascii() and lower.endswith(_VERB_ENDINGS))
    return len(word) > 1 and not general and not _DOUBTFUL.fullmatch(word)


def _frames_or_tells(segment: QuerySegment) -> bool:
    return segment.is_framing or any(token.kind == "predicate" for token in segment.tokens)


def _letters(text: str) -> str:
    return _NO_LETTER.sub("", text.lower())


def _distinctive(question: AnalyzedQuestion) -> list[int]:
    """Return the numbers of the question's segments that are nouns, foreign words or numbers, content, and rare."""
    words = {
        number: max(question.idf[term] for term in segment.terms)
        for number, segment in enumerate(question.segments)
        if segment.is_content and any(token.kind in KEYWORD_KINDS for token in segment.tokens)
    }
    least = _DISTINCTIVE * max(words.values(), default=0.0)
    return [number for number, idf in words.items() if idf >= least]


def _is_complete(question: AnalyzedQuestion, record: AnalyzedRecord) -> bool:
    title, words = frozenset(record.title_terms), _distinctive(question)
    held = (_held(question, title.union(terms)) for terms in record.sentence_terms)
    return bool(words) and any(all(found[number] for number in words) for found in held)


def _covered(question: AnalyzedQuestion, record: AnalyzedRecord) -> list[bool]:
    return _held(question, frozenset(record.contents_terms))


def _held(question: AnalyzedQuestion, terms: AbstractSet[str]) -> list[bool]:
    """Return for each segment of the question whether ``terms`` have it; compounds and framing words are not held."""
    return [
        segment.is_content
        and (not terms.isdisjoint(segment.terms) or any(terms >= frozenset(each.terms) for each in translations))
        for segment, translations in zip(question.segments, question.translations, strict=True)
    ]


def _log_ratio(best: float, other: float) -> float:
    return math.log((best + 0.1) / (max(other, 0.0) + 0.1))
