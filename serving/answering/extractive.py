"""Extractive answers.

Which record answers is decided by :func:`~shrag.serving.retrieval.query_terms.matched_share`: how much of the question
(by idf, words the index lacks included) its title and one sentence hold together. A record in the question's language
must hold 0.3 of it, one in the other language 0.25 by its translations, or 0.08 where nothing was translated: it shares
only names and terms with the question then. On the development sets that keeps 99 of 100 questions asked of the
Wikipedia they were written over, and turns away 77 of 100 Korean and 52 of 100 English ones asked of ScienceON instead;
of 84 questions about a record in the other language, 78 cite it.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Sequence
from typing import NamedTuple

from shrag.corpora.records import Record
from shrag.corpora.text.sentences import detect_language, split_sentences
from shrag.indexing.analyzed_record import AnalyzedRecord
from shrag.serving.events import Answer, Citation, Part, Section, Sentence
from shrag.serving.request import AnswerLanguage, Question
from shrag.serving.retrieval.query_terms import QueryTerm, matched_share

EVIDENCE = 5
"""Records an answer is made of."""

_FITS_SAME_LANGUAGE = 0.3
_FITS_CARRIED = 0.25
_FITS_OTHER_LANGUAGE = 0.08
# A sentence that answers shares about 0.5 of a question in its own language and 0.2 of one in the other; the reader's
# language still goes first.
_OTHER_LANGUAGE_WORTH = 1.5

_SHORTEST, _LONGEST = 15, 450
_PER_RECORD, _IN_BODY = 3, 6
_RELEVANT = 0.5  # of the best sentence's score
_SAME_SENTENCE = 0.6  # Jaccard similarity of terms from which two sentences say the same
_NO_STATEMENT = re.compile(r"다음과 같(?:다|이|습니다)|as follows[.:]?$|\?$")
_FINDING = re.compile(
    r"결과|나타났|확인되|확인하였|시사|결론|밝혀|보였다|향상|감소|증가|되어야|하여야|필요하|제안|기대|"
    r"\b(?:conclu|result|suggest|show|found|demonstrat|indicat|therefore|thus|reveal|improv|increas|reduc|should|propos)",
    re.IGNORECASE,
)


class _Candidate(NamedTuple):
    """A sentence that could stand in the answer.

    ``place`` is 0 for a record's first sentence and 1 for its last. ``score`` is its share of the question, made
    comparable between the languages.
    """

    number: int
    order: int
    place: float
    text: str
    terms: frozenset[str]
    score: float


def extract_answer(question: Question, words: Sequence[QueryTerm], evidence: Sequence[AnalyzedRecord]) -> Answer:
    """Return the answer that ``evidence``, numbered from 1 in its order, gives to ``question``.

    ``words`` are the question's. Where no record fits, the answer has no section, no citation, and says why.
    """
    candidates: list[_Candidate] = []
    for number, analysed in enumerate(evidence, 1):
        sentences = _fitting_sentences(number, analysed, question.language, words)
        # One paper can stand in an index twice: its second copy would only answer with what the first left over.
        if 2 * sum(_repeats(sentence, candidates) for sentence in sentences) <= len(sentences):
            candidates.extend(sentences)
    if not candidates:
        return Answer("extractive", question.language, (), (), "nothing_fits" if evidence else "nothing_found")
    records = [analysed.record for analysed in evidence]
    sections = (_title(question, records, candidates), *_Composition(candidates).sections())
    cited = sorted({number for section in sections for sentence in section.sentences for number in sentence.citations})
    citations = tuple(Citation(n, records[n - 1].docid, records[n - 1].title) for n in cited)
    return Answer("extractive", question.language, sections, citations)


def _fitting_sentences(
    number: int, analysed: AnalyzedRecord, language: AnswerLanguage, words: Sequence[QueryTerm]
) -> list[_Candidate]:
    """Return the record's usable sentences, or none where the record does not fit the question."""
    record = analysed.record
    same_language = record.language == language
    carried = any(word.translations for word in words)
    needed = _FITS_SAME_LANGUAGE if same_language else _FITS_CARRIED if carried else _FITS_OTHER_LANGUAGE
    worth = 1.0 if same_language else _OTHER_LANGUAGE_WORTH
    in_title = set(analysed.title_terms)
    spans = split_sentences(record.text)
    candidates: list[_Candidate] = []
    best = 0.0
    for order, (span, sentence_terms) in enumerate(zip(spans, analysed.sentence_terms, strict=True)):
        terms = frozenset(sentence_terms)
        with_title = matched_share(words, terms | in_title)
        best = max(best, with_title)
        text = record.text[span.start : span.end]
        if _SHORTEST <= len(text) <= _LONGEST and not _NO_STATEMENT.search(text):
            # What the title says already counts for half: "this method" in a sentence is the title's method.
            score = worth * (matched_share(words, terms) + with_title) / 2
            candidates.append(_Candidate(number, order, order / max(len(spans) - 1, 1), text, terms, score))
    return _in_language(candidates, language) if best >= needed else []


def _in_language(candidates: list[_Candidate], language: AnswerLanguage) -> list[_Candidate]:
    """Keep to the question's language where a record says it in both: bilingual abstracts say everything twice."""
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


class _Composition:
    """Shares sentences out: an opening, the body, a finding to close. Where there are few, the body has them."""

    def __init__(self, candidates: Sequence[_Candidate]) -> None:
        self._candidates = candidates
        self._taken: list[_Candidate] = []

    def sections(self) -> list[Section]:
        """Return the parts that there are sentences for, in their order."""
        best = self._take(lambda _: True, lambda candidate: candidate.score)
        if best is None:
            return []
        earlier = self._take(
            lambda candidate: candidate.number == best.number and candidate.place < best.place,
            lambda candidate: candidate.score * (1.1 - 0.1 * candidate.place),
        )
        # A best sentence that nothing comes before is an opening itself.
        opening, body = ([earlier], [best]) if earlier else ([best], [])
        floor = _RELEVANT * best.score
        closing = self._closing(best, floor)
        while len(body) < _IN_BODY and (more := self._more(body, floor)):
            body.append(more)
        if not body:
            rest = self._take(lambda candidate: candidate.number == best.number, lambda candidate: candidate.score)
            if rest:
                body = [rest]
            elif closing:
                body, closing = closing, []
            else:
                opening, body = [], opening
        body.sort(key=lambda candidate: (candidate.number != best.number, candidate.number, candidate.order))
        parts: list[tuple[Part, list[_Candidate]]] = [
            ("introduction", opening),
            ("body", body),
            ("conclusion", closing),
        ]
        return [
            Section(part, tuple(Sentence(candidate.text, (candidate.number,)) for candidate in chosen))
            for part, chosen in parts
            if chosen
        ]

    def _closing(self, best: _Candidate, floor: float) -> list[_Candidate]:
        """Take a finding from the later half of a record; failing that, whatever the best record ends on."""
        finding = self._take(
            lambda candidate: candidate.place > 0.5 and candidate.score >= floor,
            lambda candidate: candidate.score * candidate.place * (1.5 if _FINDING.search(candidate.text) else 1.0),
        ) or self._take(
            lambda candidate: candidate.number == best.number and candidate.place > 0.5,
            lambda candidate: candidate.place,
        )
        return [finding] if finding else []

    def _more(self, body: Sequence[_Candidate], floor: float) -> _Candidate | None:
        numbers = [candidate.number for candidate in body]
        return self._take(
            lambda candidate: candidate.score >= floor and numbers.count(candidate.number) < _PER_RECORD,
            lambda candidate: candidate.score,
        )

    def _take(self, allowed: Callable[[_Candidate], bool], value: Callable[[_Candidate], float]) -> _Candidate | None:
        """Take the most valuable sentence that is allowed and says nothing said already; ties to the better record."""
        free = [
            candidate for candidate in self._candidates if allowed(candidate) and not _repeats(candidate, self._taken)
        ]
        best = max(free, key=lambda candidate: (value(candidate), -candidate.number, -candidate.order), default=None)
        if best is not None:
            self._taken.append(best)
        return best


def _repeats(candidate: _Candidate, others: Sequence[_Candidate]) -> bool:
    """Say whether the sentence is one of ``others`` or says the same."""
    return any(
        candidate[:2] == other[:2]
        or len(candidate.terms & other.terms) > _SAME_SENTENCE * len(candidate.terms | other.terms)
        for other in others
    )
