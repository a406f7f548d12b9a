"""Extractive answers: sentences of the best records, copied.

A record answers where its title and one sentence together hold enough of the question, by
:func:`~shrag.serving.retrieval.query_terms.matched_share`: 0.3 of it in the question's language, 0.25 in the other by
translations, or 0.08 where no word was translated, since only names and terms are shared then. On the development sets
that keeps 99 of 100 questions asked of the Wikipedia they were written for, rejects 77 of 100 Korean and 52 of 100
English ones asked of ScienceON instead, and cites the record for 78 of 84 questions about one in the other language.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Sequence
from typing import NamedTuple

from shrag.corpora.records import Record
from shrag.corpora.text.sentences import detect_language, split_sentences
from shrag.indexing.analyzed_record import AnalyzedRecord
from shrag.serving.answering.citations import make_citations
from shrag.serving.events import Answer, AnswerPart, Section, Sentence
from shrag.serving.request import AnswerLanguage, Question
from shrag.serving.retrieval.query_terms import QueryTerm, matched_share

EVIDENCE = 5
"""Records that an answer is made from."""

_LEAST_SAME_LANGUAGE = 0.3
_LEAST_TRANSLATED = 0.25
_LEAST_OTHER_LANGUAGE = 0.08
# A sentence that answers holds about 0.5 of a question in its own language and 0.2 of one in the other. With this
# factor the user's language still comes first.
_OTHER_LANGUAGE_FACTOR = 1.5

_SHORTEST, _LONGEST = 15, 450
_PER_RECORD, _IN_BODY = 3, 6
_RELEVANT = 0.5  # of the best sentence's score
_SAME_SENTENCE = 0.6  # Jaccard similarity of the terms of two sentences that say the same
_NO_STATEMENT = re.compile(r"다음과 같(?:다|이|습니다)|as follows[.:]?$|\?$")
_FINDING = re.compile(
    r"결과|나타났|확인되|확인하였|시사|결론|밝혀|보였다|향상|감소|증가|되어야|하여야|필요하|제안|기대|"
    r"\b(?:conclu|result|suggest|show|found|demonstrat|indicat|therefore|thus|reveal|improv|increas|reduc|should|propos)",
    re.IGNORECASE,
)


class _Candidate(NamedTuple):
    """A sentence that may be part of the answer.

    Attributes:
        number: The number of its record.
        order: Its index in the record.
        position: 0 for the record's first sentence, 1 for its last.
        text: Its text.
        terms: Its terms.
        score: Its share of the question, comparable between the languages.
    """

    number: int
    order: int
    position: float
    text: str
    terms: frozenset[str]
    score: float


def extract_answer(question: Question, words: Sequence[QueryTerm], evidence: Sequence[AnalyzedRecord]) -> Answer:
    """Return the answer to ``question`` from ``evidence``, whose records are numbered from 1.

    Where no record answers, the answer has a reason instead of sections. ``words`` are the question's.
    """
    candidates: list[_Candidate] = []
    for number, analyzed in enumerate(evidence, 1):
        sentences = _fitting_sentences(number, analyzed, question.language, words)
        # The second copy of a paper would answer with the sentences that the first left over.
        if 2 * sum(_repeats(sentence, candidates) for sentence in sentences) <= len(sentences):
            candidates.extend(sentences)
    if not candidates:
        return Answer("extractive", question.language, (), (), "nothing_fits" if evidence else "nothing_found")
    records = [analyzed.record for analyzed in evidence]
    sections = (_title(question, records, candidates), *_Arrangement(candidates).sections())
    return Answer("extractive", question.language, sections, make_citations(sections, records))


def _fitting_sentences(
    number: int, analyzed: AnalyzedRecord, language: AnswerLanguage, words: Sequence[QueryTerm]
) -> list[_Candidate]:
    """Return the record's usable sentences, none where the record does not answer the question."""
    record = analyzed.record
    same_language = record.language == language
    translated = any(word.translations for word in words)
    least = _LEAST_SAME_LANGUAGE if same_language else _LEAST_TRANSLATED if translated else _LEAST_OTHER_LANGUAGE
    factor = 1.0 if same_language else _OTHER_LANGUAGE_FACTOR
    in_title = set(analyzed.title_terms)
    spans = split_sentences(record.text)
    candidates: list[_Candidate] = []
    best = 0.0
    for order, (span, sentence_terms) in enumerate(zip(spans, analyzed.sentence_terms, strict=True)):
        terms = frozenset(sentence_terms)
        with_title = matched_share(words, terms | in_title)
        best = max(best, with_title)
        text = record.text[span.start : span.end]
        if _SHORTEST <= len(text) <= _LONGEST and not _NO_STATEMENT.search(text):
            # The title's words count for half: "this method" in a sentence is the title's method.
            score = factor * (matched_share(words, terms) + with_title) / 2
            candidates.append(_Candidate(number, order, order / max(len(spans) - 1, 1), text, terms, score))
    return _in_language(candidates, language) if best >= least else []


def _in_language(candidates: list[_Candidate], language: AnswerLanguage) -> list[_Candidate]:
    """Return the sentences in the question's language where they do as well, since bilingual abstracts repeat all."""
    same = [candidate for candidate in candidates if detect_language(candidate.text) == language]
    best = max((candidate.score for candidate in candidates), default=0.0)
    return same if any(candidate.score >= _RELEVANT * best for candidate in same) else candidates


def _title(question: Question, records: Sequence[Record], candidates: Sequence[_Candidate]) -> Section:
    """Return the best fitting record's title if it is in the question's language, else the question itself."""
    number = candidates[0].number
    title = records[number - 1].title
    if title and detect_language(title) == question.language:
        return Section("title", (Sentence(title, (number,)),))
    return Section("title", (Sentence(question.text, ()),))


class _Arrangement:
    """Distributes sentences to an introduction, the body and a conclusion; the body comes first where they are few."""

    def __init__(self, candidates: Sequence[_Candidate]) -> None:
        self._candidates = candidates
        self._taken: list[_Candidate] = []

    def sections(self) -> list[Section]:
        """Return the parts that have sentences, in their order."""
        best = self._take(lambda _: True, lambda candidate: candidate.score)
        if best is None:
            return []
        earlier = self._take(
            lambda candidate: candidate.number == best.number and candidate.position < best.position,
            lambda candidate: candidate.score * (1.1 - 0.1 * candidate.position),
        )
        # Without an earlier sentence the best one is the introduction.
        introduction, body = ([earlier], [best]) if earlier else ([best], [])
        floor = _RELEVANT * best.score
        conclusion = self._conclusion(best, floor)
        while len(body) < _IN_BODY and (more := self._more(body, floor)):
            body.append(more)
        if not body:
            rest = self._take(lambda candidate: candidate.number == best.number, lambda candidate: candidate.score)
            if rest:
                body = [rest]
            elif conclusion:
                body, conclusion = conclusion, []
            else:
                introduction, body = [], introduction
        body.sort(key=lambda candidate: (candidate.number != best.number, candidate.number, candidate.order))
        parts: list[tuple[AnswerPart, list[_Candidate]]] = [
            ("introduction", introduction),
            ("body", body),
            ("conclusion", conclusion),
        ]
        return [
            Section(part, tuple(Sentence(candidate.text, (candidate.number,)) for candidate in chosen))
            for part, chosen in parts
            if chosen
        ]

    def _conclusion(self, best: _Candidate, floor: float) -> list[_Candidate]:
        """Take a finding from the later half of a record, else the last sentence of the best record."""
        finding = self._take(
            lambda candidate: candidate.position > 0.5 and candidate.score >= floor,
            lambda candidate: candidate.score * candidate.position * (1.5 if _FINDING.search(candidate.text) else 1.0),
        ) or self._take(
            lambda candidate: candidate.number == best.number and candidate.position > 0.5,
            lambda candidate: candidate.position,
        )
        return [finding] if finding else []

    def _more(self, body: Sequence[_Candidate], floor: float) -> _Candidate | None:
        numbers = [candidate.number for candidate in body]
        return self._take(
            lambda candidate: candidate.score >= floor and numbers.count(candidate.number) < _PER_RECORD,
            lambda candidate: candidate.score,
        )

    def _take(self, allowed: Callable[[_Candidate], bool], value: Callable[[_Candidate], float]) -> _Candidate | None:
        """Take the allowed sentence of the highest value that repeats none taken; ties go to the better record."""
        free = [
            candidate for candidate in self._candidates if allowed(candidate) and not _repeats(candidate, self._taken)
        ]
        best = max(free, key=lambda candidate: (value(candidate), -candidate.number, -candidate.order), default=None)
        if best is not None:
            self._taken.append(best)
        return best


def _repeats(candidate: _Candidate, others: Sequence[_Candidate]) -> bool:
    """Return whether the sentence is one of ``others`` or says the same."""
    return any(
        candidate[:2] == other[:2]
        or len(candidate.terms & other.terms) > _SAME_SENTENCE * len(candidate.terms | other.terms)
        for other in others
    )
