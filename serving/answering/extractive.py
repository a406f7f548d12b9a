"""Extractive answers: sentences of the leading record, and findings or titles of related ones, copied.

The leading record is the best complete one of the ranking. Where no confidence was computed, it answers where its title
and one sentence together hold enough of the question, by :func:`~shrag.serving.retrieval.query_terms.matched_share`:
0.3 of it in the question's language, 0.25 in the other by translations, or 0.08 where no word was translated, since
only names and terms are shared then.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

from shrag.corpora.records import Language
from shrag.indexing.analyzed_record import AnalyzedRecord
from shrag.serving.answering.citations import cite, make_citations
from shrag.serving.answering.definitions import defined_names, defines
from shrag.serving.answering.discourse import asks_for_reasons
from shrag.serving.answering.sentence_selection import (
    QuotableSentence,
    QuotableText,
    best_finding,
    quotable_text,
    select_sentences,
)
from shrag.serving.events import Answer, AnswerPart, ConfidenceLevel, Section, Sentence
from shrag.serving.request import AnswerLanguage, Question
from shrag.serving.retrieval.query_terms import QueryTerm, distinctive_words, matched_share

EVIDENCE = 5
"""Records that a language model reads."""

CONSIDERED = 10
"""Records of which the first is quoted and others may be related."""

MOST_RELATED = 3
"""Related records of an answer."""

MOST_TITLES = 2
"""Related records that are named by their title alone.

Where the confidence is low, so many are: the next of the ranking, if no other may answer instead. Where it is high,
only those are that score nearly as high as the leading one.
"""

MOST_QUOTED = 3
"""Records that an answer from several searches quotes."""

_LEAST_SAME_LANGUAGE = 0.3
_LEAST_TRANSLATED = 0.25
_LEAST_OTHER_LANGUAGE = 0.08
# A related record has this share of the leading one's score. Of those named for 124 ScienceON questions, 18 of 101 are
# useful without this limit and 13 of 55 with it; 9 and 7 answer where the leading record does not.
_LEAST_SCORE = 0.75
# A finding of a related record is quoted where the record covers this share of the question, and of its distinctive
# words, and is this similar to the leading one.
_LEAST_COVERAGE = 0.3
_LEAST_SIMILARITY = 0.16
# The record that answers is not always the first. One with this share of the distinctive words that the leading one
# covers, and with other words of the question than that, is named by its title, without a sentence, since only a
# quarter of them are useful: the two that cover most of the question, less a little for each rank. So the answers to
# 124 ScienceON questions name a record that answers for 0.863 of them; for 0.887 with synonyms and the titles below.
_NEARLY_AS_MUCH = 0.6
_LEAST_NEW = 0.05
_LESS_BY_RANK = 0.05
# A record with this share of the leading one's score may answer as well, whatever the confidence. Of 72 answers of high
# confidence to ScienceON questions the second record scores so high in 8, and is the right one in 3 of them.
_NEAR_TIE = 0.8
_SAME_PAPER = 0.6
# A record completes the leading one where it covers this share of the question by words that that lacks. For 60 of
# multihop-en, the answer by `chain` contains the reference for 0.35 with it, for 0.17 from the leading record alone.
_LEAST_ADDED = 0.15


def extract_answer(
    question: Question,
    words: Sequence[QueryTerm],
    evidence: Sequence[AnalyzedRecord],
    *,
    merged: bool = False,
    confidence: ConfidenceLevel | None = None,
    scores: Sequence[float] = (),
) -> Answer:
    """Return the answer to ``question`` from ``evidence``, the best record first; citations number it from 1.

    The leading record is the first one that has a sentence; where a definition is asked for, the first one that has it,
    if it scores nearly as high. Without any the answer has a reason.

    Args:
        question: The question.
        words: Its words.
        evidence: Records that answer it, the best one first.
        merged: Whether they are of several searches; then records that complete the leading one are quoted as it is.
        confidence: The confidence that the first record answers, None where it is not known. Where it is high, few
            records are named by their title alone: only one in five of these is useful.
        scores: Their scores, where these can be compared; without them any record may be related.
    """
    all_quoted = (_quoted(number, analyzed, words, question.language) for number, analyzed in enumerate(evidence, 1))
    quoted = [each for each in all_quoted if each.text.sentences]
    if not quoted:
        return Answer("extractive", question.language, (), (), "nothing_fits" if evidence else "nothing_found")
    names = defined_names(question.text, words)
    quoted = _defining_first(quoted, names, scores)
    shown = _completed(quoted[:EVIDENCE], words) if merged else quoted[:1]
    lead, others = shown[0], _other_papers(quoted, shown)
    if scores:
        least = _LEAST_SCORE * scores[lead.number - 1]
        others = [other for other in others if scores[other.number - 1] >= least]
    reasons = asks_for_reasons(question.text)
    sections = [
        *[_section("record", each, select_sentences(each.text, reasons=reasons, names=names)) for each in shown],
        *_related_sections(others, lead, question, words, confidence, scores),
    ]
    return Answer(
        "extractive",
        question.language,
        tuple(sections),
        make_citations(sections, [analyzed.record for analyzed in evidence]),
        quoted_language=_other_language(quoted[0].text.language, question.language),
    )


def answers_by_words(question: Question, words: Sequence[QueryTerm], analyzed: AnalyzedRecord) -> bool:
    """Return whether a record answers by the share of the question that its title and one sentence hold."""
    translated = any(word.translations for word in words)
    least = _LEAST_TRANSLATED if translated else _LEAST_OTHER_LANGUAGE
    if analyzed.record.language == question.language:
        least = _LEAST_SAME_LANGUAGE
    return _best_share(analyzed, words) >= least


def sentence_that_answers(question: Question, words: Sequence[QueryTerm], analyzed: AnalyzedRecord) -> str:
    """Return the sentence of a record that holds most of the question, empty where the record does not answer."""
    if not answers_by_words(question, words, analyzed):
        return ""
    sentences = quotable_text(analyzed, words, question.language).sentences
    return max(sentences, key=lambda sentence: sentence.share).text if sentences else ""


class _Quoted(NamedTuple):
    """A record, its number, its terms, what can be quoted of it, and what share of the question it covers.

    ``coverage`` is the share of all words of the question by idf, ``distinctive`` that of its distinctive ones.
    """

    number: int
    analyzed: AnalyzedRecord
    terms: frozenset[str]
    text: QuotableText
    coverage: float
    distinctive: float


def _quoted(number: int, analyzed: AnalyzedRecord, words: Sequence[QueryTerm], language: AnswerLanguage) -> _Quoted:
    text = quotable_text(analyzed, words, language)
    terms = frozenset(analyzed.contents_terms)
    shares = matched_share(words, terms), matched_share(distinctive_words(words), terms)
    return _Quoted(number, analyzed, terms, text, *shares)


def _defining_first(quoted: list[_Quoted], names: Sequence[str], scores: Sequence[float]) -> list[_Quoted]:
    """Return the records with the first one in front that has a definition and scores nearly as high as the best."""
    for each in quoted if names else ():
        if scores and scores[each.number - 1] < _LEAST_SCORE * scores[quoted[0].number - 1]:
            break
        if any(defines(sentence.text, names) for sentence in each.text.sentences):
            return [each, *(other for other in quoted if other is not each)]
    return quoted


def _section(part: AnswerPart, quoted: _Quoted, sentences: Sequence[QuotableSentence]) -> Section:
    source = cite(quoted.number, quoted.analyzed.record)
    texts = [each.text for each in sentences]
    gaps = _gaps(texts, quoted.analyzed.record.text)
    cited = tuple(
        [Sentence(each, (quoted.number,), after_gap=after_gap) for each, after_gap in zip(texts, gaps, strict=True)]
    )
    return Section(part, cited, source, quoted.text.language)


def _gaps(sentences: Sequence[str], text: str) -> list[bool]:
    """Return for each quoted sentence whether ``text`` has more between it and the one before."""
    gaps: list[bool] = []
    end = 0
    for sentence in sentences:
        start = text.index(sentence, end)
        gaps.append(bool(gaps and text[end:start].strip()))
        end = start + len(sentence)
    return gaps


def _related_sections(
    others: Sequence[_Quoted],
    lead: _Quoted,
    question: Question,
    words: Sequence[QueryTerm],
    confidence: ConfidenceLevel | None,
    scores: Sequence[float],
) -> list[Section]:
    """Return the sections of the related records: those with a result in their order, then those named by title."""
    results: list[Section] = []
    near: list[_Quoted] = []
    next_best: list[_Quoted] = []

    def is_next_best(other: _Quoted) -> bool:
        tied = bool(scores) and scores[other.number - 1] >= _NEAR_TIE * scores[lead.number - 1]
        return bool(other.analyzed.record.title) and (confidence == "low" or tied)

    for other in others:
        finding = best_finding(other.text.sentences)
        if finding and _is_similar(other, lead, question.language):
            results.append(_section("related", other, [finding]))
        elif confidence != "high" and _is_also_near(other, lead, words):
            near.append(other)
        elif is_next_best(other):
            next_best.append(other)
    near.sort(key=lambda other: _LESS_BY_RANK * other.number - other.coverage)
    named = [_section("related", other, []) for other in [*near, *next_best][:MOST_TITLES]]
    return [*results, *named][:MOST_RELATED]


def _other_papers(quoted: Sequence[_Quoted], shown: Sequence[_Quoted]) -> list[_Quoted]:
    """Return the records that are of another paper than those shown, each paper once."""
    others: list[_Quoted] = []
    for each in quoted:
        if not any(_is_same_paper(each, earlier) for earlier in (*shown, *others)):
            others.append(each)
    return others


def _completed(quoted: Sequence[_Quoted], words: Sequence[QueryTerm]) -> list[_Quoted]:
    """Return the leading record and those that cover words of the question that it lacks."""
    lead = quoted[0]

    def adds(other: _Quoted) -> bool:
        return matched_share(words, lead.terms | other.terms) >= lead.coverage + _LEAST_ADDED

    return [lead, *filter(adds, quoted[1:])][:MOST_QUOTED]


def _other_language(quoted: Language, asked: AnswerLanguage) -> AnswerLanguage | None:
    return None if quoted in {"und", asked} else quoted


def _is_similar(related: _Quoted, lead: _Quoted, language: AnswerLanguage) -> bool:
    """Return whether a record is about the question and the subject of the leading one, in a language of the answer."""
    return (
        related.text.language in {language, lead.text.language}
        and min(related.coverage, related.distinctive) >= _LEAST_COVERAGE
        and _similarity(related, lead) >= _LEAST_SIMILARITY
    )


def _is_also_near(related: _Quoted, lead: _Quoted, words: Sequence[QueryTerm]) -> bool:
    """Return whether a record with a title may answer instead: it has nearly as much of the question, and other words.

    That counts in whatever language it is written.
    """
    return (
        bool(related.analyzed.record.title)
        and related.distinctive >= _NEARLY_AS_MUCH * lead.distinctive
        and matched_share(words, lead.terms | related.terms) >= lead.coverage + _LEAST_NEW
    )


def _best_share(analyzed: AnalyzedRecord, words: Sequence[QueryTerm]) -> float:
    in_title = set(analyzed.title_terms)
    return max([matched_share(words, in_title.union(terms)) for terms in analyzed.sentence_terms], default=0.0)


def _is_same_paper(one: _Quoted, other: _Quoted) -> bool:
    """Return whether two records have one title, or almost the same text."""
    titles = set(one.analyzed.title_terms), set(other.analyzed.title_terms)
    return (titles[0] == titles[1] and bool(titles[0])) or _similarity(one, other) > _SAME_PAPER


def _similarity(one: _Quoted, other: _Quoted) -> float:
    """Return the Jaccard similarity of the terms of two records."""
    either = one.terms | other.terms
    return len(one.terms & other.terms) / len(either) if either else 0.0
