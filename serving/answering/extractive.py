"""Extractive answers: sentences copied from the leading record, and one of each related record.

The leading record is the best complete one of the ranking. If no confidence was computed, its title and one sentence
together must hold a least share of the question (:func:`~shrag.serving.retrieval.query_terms.matched_share`):

- 0.3 if the record is in the question's language;
- 0.25 if it is in the other language, and words were translated;
- 0.08 if it is in the other language, and no word was translated, since only names and terms are shared then.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from functools import partial
from typing import NamedTuple

from shrag.corpora.records import Language
from shrag.indexing.analyzed_record import AnalyzedRecord
from shrag.serving.answering.citations import cite, make_citations
from shrag.serving.answering.definitions import asks_for_definition, defined_names, defines, defines_plainly
from shrag.serving.answering.quoting.discourse import asks_for_method, asks_for_reasons
from shrag.serving.answering.quoting.quotable_text import QuotableSentence, QuotableText, quotable_text
from shrag.serving.answering.quoting.sentence_selection import (
    best_finding,
    definition_sentences,
    describing_sentence,
    select_sentences,
)
from shrag.serving.events import Answer, AnswerPart, ConfidenceLevel, ListingKind, Section, Sentence
from shrag.serving.request import AnswerLanguage, Question
from shrag.serving.retrieval.broad_questions import BroadQuestion
from shrag.serving.retrieval.query_terms import QueryTerm, distinctive_words, matched_share
from shrag.serving.retrieval.ranking import Listing

EVIDENCE = 5
"""Records that a language model reads."""

CONSIDERED = 10
"""Best records that an extractive answer considers: it quotes the first, and may name others as related."""

MOST_RELATED = 3
"""Most related records of an answer."""

MOST_QUOTED = 3
"""Most records that an answer from several searches quotes."""

_LEAST_SAME_LANGUAGE = 0.3
_LEAST_TRANSLATED = 0.25
_LEAST_OTHER_LANGUAGE = 0.08
# A related record has at least this share of the leading record's score. Related records of 124 ScienceON questions:
# without this limit, 18 of 101 are useful, and 9 answer where the leading record does not; with it, 13 of 55, and 7.
_LEAST_SCORE = 0.75
# A related record's finding is quoted if the record covers _LEAST_COVERAGE of the question and of its distinctive
# words, and if its similarity to the leading record is at least _LEAST_SIMILARITY.
_LEAST_COVERAGE = 0.3
_LEAST_SIMILARITY = 0.16
# The record that answers is not always the first one. Another record may answer instead if it covers at least
# _AS_MUCH_AS_LEAD of what the leading record covers of the question, and either scores nearly as high, or adds
# _LEAST_NEW of the question to it. Of the latter, the one that covers most of the question, less _LESS_BY_RANK for each
# rank, is shown. Without the limit, 42 such records were shown for ScienceON questions, 9 of which answer; with it, 29
# are, and the same 9 answer. A second one was useful for 3 of 28 questions, and never answered.
_AS_MUCH_AS_LEAD = 0.75
_LEAST_NEW = 0.05
_LESS_BY_RANK = 0.05
# A record with this share of the leading record's score may answer as well, whatever the confidence is. In 8 of 72
# high-confidence answers to ScienceON questions, the second record scores so high; in 3 of them, it is the right one.
_NEAR_TIE = 0.8
_SAME_PAPER = 0.6
# A record completes the leading one if it adds at least this share of the question to it. Share of 60 questions of
# multihop-en whose answer by `chain` contains the reference: 0.35 with such records, 0.17 with the leading one alone.
_LEAST_ADDED = 0.15


def extract_answer(
    question: Question,
    words: Sequence[QueryTerm],
    evidence: Sequence[AnalyzedRecord],
    *,
    merged: bool = False,
    confidence: ConfidenceLevel | None = None,
    scores: Sequence[float] = (),
    listing: Listing | None = None,
) -> Answer:
    """Return the answer to ``question`` from the records of ``evidence``; citations number these from 1.

    The leading record is the first one with a sentence to quote. If the question asks for a definition, it is the first
    record with that definition, if this scores nearly as high as the best one. If no record has a sentence, the answer
    has a reason instead.

    Args:
        question: The question.
        words: The words of the question.
        evidence: Records that answer it, the best one first.
        merged: Whether the records come from several searches. If so, records that complete the leading one are quoted
            too.
        confidence: The confidence that the first record answers, None if it is not known. If it is high, a record
            that may answer instead is shown only if it scores nearly as high.
        scores: The scores of the records, if these can be compared. Without scores, any record may be related.
        listing: The records that serve a broad question best. All of them are then shown, and no others.
    """
    all_quoted = (_quoted(number, analyzed, words, question.language) for number, analyzed in enumerate(evidence, 1))
    quoted = [each for each in all_quoted if each.text.sentences]
    if not quoted:
        return Answer("extractive", question.language, (), (), "nothing_fits" if evidence else "nothing_found")
    names = () if listing is not None and listing.question.compares else defined_names(question.text, words)
    if listing is None:
        quoted = _defining_first(quoted, names, scores)
    shown = _completed(quoted[:EVIDENCE], words) if merged else quoted[:1]
    lead, others = shown[0], _other_papers(quoted, shown)
    if listing is not None:
        others = [other for other in others if other.analyzed.record.docid in listing.docids]
    elif scores:
        least = _LEAST_SCORE * scores[lead.number - 1]
        others = [other for other in others if scores[other.number - 1] >= least]
    reasons, methods = asks_for_reasons(question.text), asks_for_method(question.text)

    def quotation(each: _Quoted) -> list[QuotableSentence]:
        wanted: Callable[[str], bool] = partial(defines, names=names)
        if listing is not None and listing.kind == "definition":
            if definition := definition_sentences(each.text.sentences, names):
                return definition
        elif listing is not None and listing.question.compares:
            wanted = _asked_for(each, listing.question, names)
        return select_sentences(each.text, reasons=reasons, methods=methods, wanted=wanted)

    sections = [
        *[_section("record", each, quotation(each)) for each in shown],
        *(
            [_described(each, listing.question, names) for each in others]
            if listing is not None
            else _related_sections(others, lead, question, words, confidence, scores)
        ),
    ]
    return Answer(
        "extractive",
        question.language,
        tuple(sections),
        make_citations(sections, [analyzed.record for analyzed in evidence]),
        quoted_language=_other_language(quoted[0].text.language, question.language),
        listing=_listing_kind(question, listing, sections, names),
    )


def _listing_kind(
    question: Question, listing: Listing | None, sections: Iterable[Section], names: Sequence[str]
) -> ListingKind:
    if listing is None:
        return ""
    if listing.kind not in {"subject", "definition"} or not asks_for_definition(question.text):
        return listing.kind
    if listing.question.aspect is not None:
        return "subject"
    quoted = (sentence.text for section in sections for sentence in section.sentences)
    return listing.kind if any(defines(each, names) for each in quoted) else "undefined"


def answers_by_words(question: Question, words: Sequence[QueryTerm], analyzed: AnalyzedRecord) -> bool:
    """Return whether a record's title and one of its sentences hold enough of the question to answer it."""
    translated = any(word.translations for word in words)
    least = _LEAST_TRANSLATED if translated else _LEAST_OTHER_LANGUAGE
    if analyzed.record.language == question.language:
        least = _LEAST_SAME_LANGUAGE
    return _best_share(analyzed, words) >= least


def sentence_that_answers(question: Question, words: Sequence[QueryTerm], analyzed: AnalyzedRecord) -> str:
    """Return the sentence of a record that holds most of the question; empty if the record does not answer it."""
    if not answers_by_words(question, words, analyzed):
        return ""
    sentences = quotable_text(analyzed, words, question.language).sentences
    return max(sentences, key=lambda sentence: sentence.share).text if sentences else ""


class _Quoted(NamedTuple):
    """A record, its number, its terms, its quotable text, and the shares of the question that it covers.

    ``coverage`` is its share of all words of the question, ``distinctive`` of the distinctive words, both by idf.
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
    """Return the records with the first one that has a definition in front, if it scores nearly as high as the best."""
    for each in quoted if names else ():
        if scores and scores[each.number - 1] < _LEAST_SCORE * scores[quoted[0].number - 1]:
            break
        if any(defines_plainly(sentence.text, names) for sentence in each.text.sentences):
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


def _described(quoted: _Quoted, question: BroadQuestion | None = None, names: Sequence[str] = ()) -> Section:
    """Return the section of a record with its best sentence for a broad question, or on what the record is about."""
    if question is None:
        sentence = describing_sentence(quoted.text.sentences)
    else:
        wanted = _asked_for(quoted, question, names)
        sentence = describing_sentence(quoted.text.sentences, wanted, question.is_named)
    return _section("related", quoted, [sentence] if sentence else [])


def _asked_for(quoted: _Quoted, question: BroadQuestion, names: Sequence[str]) -> Callable[[str], bool]:
    """Return a test for the sentences of a record that a broad question asks for.

    Where some of them say how two subjects differ, these alone are asked for.
    """
    tell = any(question.tells(each.text) for each in quoted.text.sentences)
    about = question.tells if tell else question.is_about
    return lambda sentence: defines(sentence, names) or about(sentence)


def _gaps(sentences: Sequence[str], text: str) -> list[bool]:
    """Return for each quoted sentence whether ``text`` has other text between it and the previous quoted one."""
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
    """Return the sections of the related records.

    These are records with a finding to quote, and at most one other record, which may answer instead of the leading
    one. That is one that scores nearly as high, which is never left out; or one that covers other words of the
    question. If the confidence is low, it is the next of the ranking where there is none of these.
    """
    results: list[tuple[int, Section]] = []
    tied: list[_Quoted] = []
    near: list[_Quoted] = []
    next_best: list[_Quoted] = []

    def is_tied(other: _Quoted) -> bool:
        return bool(scores) and scores[other.number - 1] >= _NEAR_TIE * scores[lead.number - 1]

    for other in others:
        finding = best_finding(other.text.sentences)
        if finding and _is_similar(other, lead, question.language):
            results.append((other.number, _section("related", other, [finding])))
        elif not other.analyzed.record.title or other.coverage < _AS_MUCH_AS_LEAD * lead.coverage:
            continue
        elif is_tied(other):
            tied.append(other)
        elif confidence != "high" and _adds_words(other, lead, words):
            near.append(other)
        elif confidence == "low":
            next_best.append(other)
    near.sort(key=lambda other: _LESS_BY_RANK * other.number - other.coverage)
    instead = [(other.number, _described(other)) for other in [*tied, *near, *next_best][:1]]
    chosen = [*instead, *results] if tied else [*results, *instead]
    return [section for _, section in sorted(chosen[:MOST_RELATED], key=lambda each: each[0])]


def _other_papers(quoted: Sequence[_Quoted], shown: Sequence[_Quoted]) -> list[_Quoted]:
    """Return the records of other papers than those shown, one record for each paper."""
    others: list[_Quoted] = []
    for each in quoted:
        if not any(_is_same_paper(each, earlier) for earlier in (*shown, *others)):
            others.append(each)
    return others


def _completed(quoted: Sequence[_Quoted], words: Sequence[QueryTerm]) -> list[_Quoted]:
    """Return the leading record and the records that cover words of the question that it lacks."""
    lead = quoted[0]

    def adds(other: _Quoted) -> bool:
        return matched_share(words, lead.terms | other.terms) >= lead.coverage + _LEAST_ADDED

    return [lead, *filter(adds, quoted[1:])][:MOST_QUOTED]


def _other_language(quoted: Language, asked: AnswerLanguage) -> AnswerLanguage | None:
    return None if quoted in {"und", asked} else quoted


def _is_similar(related: _Quoted, lead: _Quoted, language: AnswerLanguage) -> bool:
    """Return whether a record covers the question and resembles the leading one, in a language of the answer."""
    return (
        related.text.language in {language, lead.text.language}
        and min(related.coverage, related.distinctive) >= _LEAST_COVERAGE
        and _similarity(related, lead) >= _LEAST_SIMILARITY
    )


def _adds_words(related: _Quoted, lead: _Quoted, words: Sequence[QueryTerm]) -> bool:
    """Return whether a record has words of the question that the leading one lacks."""
    return matched_share(words, lead.terms | related.terms) >= lead.coverage + _LEAST_NEW


def _best_share(analyzed: AnalyzedRecord, words: Sequence[QueryTerm]) -> float:
    in_title = set(analyzed.title_terms)
    return max([matched_share(words, in_title.union(terms)) for terms in analyzed.sentence_terms], default=0.0)


def _is_same_paper(one: _Quoted, other: _Quoted) -> bool:
    """Return whether two records have the same title, or almost the same text."""
    titles = set(one.analyzed.title_terms), set(other.analyzed.title_terms)
    return (titles[0] == titles[1] and bool(titles[0])) or _similarity(one, other) > _SAME_PAPER


def _similarity(one: _Quoted, other: _Quoted) -> float:
    """Return the Jaccard similarity of the terms of two records."""
    either = one.terms | other.terms
    return len(one.terms & other.terms) / len(either) if either else 0.0
