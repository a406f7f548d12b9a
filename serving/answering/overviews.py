"""Recognize questions that name a broad subject and nothing about it (``ESG``, ``recent trends in big data``).

No single record answers such a question. What helps is a list of the records about this subject, surveys first.
"""

from __future__ import annotations

import re
from collections.abc import Sequence

from shrag.indexing.analyzed_record import AnalyzedRecord
from shrag.serving.request import AnswerLanguage
from shrag.serving.retrieval.asking_words import asks_for_records, names_subject
from shrag.serving.retrieval.query_terms import QueryTerm, has_phrase

_MOST_SUBJECTS = 2
# A question for a place, a person, a time or a number has one answer, as has one about a past event or about what was
# named before. One for a difference wants both sides of it.
_ASKS_FOR_MORE = re.compile(
    r"어디|누구|누가|언제|얼마|몇|차이|다른\s?점|비교|대비"
    r"|\b(?:where|who|whose|when|how\s+(?:many|much|long|often|far|old)|vs|versus|differ\w*|compar\w+|better|best"
    r"|was|were|did|had|this|that|these|those|he|she|his|her|they|their|its?)\b|[\"“”]",
    re.IGNORECASE,
)
_ASKS_WHAT = re.compile(r"^\W*what(?:['’]s|\s+is|\s+are)\b|무엇|뭐|뭔|이란|란\W*$", re.IGNORECASE)
# Words that may be asked about any subject, besides those that names_subject() knows.
_ANY_SUBJECT = frozenset(
    """
    age applications applied apply basics concept concepts current development developments direction directions era
    future issue issues key
    main major opportunities opportunity potential prospect prospects status
    가능 도입 미래 미치 방향 발달 발전 쓰 쓰이 시대 응용 적용 주요
    """.split()
)
_SURVEY = re.compile(
    r"\b(?:survey|reviews?|overview|trends?|state[\s-]of[\s-]the[\s-]art|challenges?|opportunit|perspectives?|tutorial"
    r"|introduction|roadmap|landscape|taxonomy|prospects?|future)"
    r"|동향|현황|고찰|개관|전망|추세|트렌드|과제|쟁점|개론|입문|이해|소개|발전\s?방향|메타\s?분석|문헌\s?연구",
    re.IGNORECASE,
)
_MEANS = (
    r"\b(?:using|by|via|through|with|based\s+on)\s+(?:an?\s+|the\s+)?{name}|{name}[\s-]based"
    r"|{name}(?:\s?\([^()]*\))?\s?(?:기술|기법|방법)?[을를]?\s?(?:활용|이용|사용|적용|통한|통해|기반)"
)
# A record is shown as if this share of its title's words more were the subject's.
_FOR_SURVEY = 0.5
_FOR_LANGUAGE = 0.25


def broad_subject(
    question: str, words: Sequence[QueryTerm], keywords: Sequence[QueryTerm]
) -> tuple[tuple[QueryTerm, ...], ...]:
    """Return the subject of a question that says nothing else: its keywords, each as the words of a phrase.

    It is empty if the question says more than the subject, has more than two keywords, or asks what the subject is
    (*What is granite?*) and not for an aspect of it (*What are the challenges of smart cities?*).

    Args:
        question: The question.
        words: All words of the question.
        keywords: The words and phrases that are searched for.
    """
    if _ASKS_FOR_MORE.search(question):
        return ()
    subject = [phrase for keyword in keywords if any(map(_is_specific, phrase := keyword.parts or (keyword,)))]
    named = {term for phrase in subject for word in phrase for term in word.terms}
    others = [word for word in words if not word.framing and named.isdisjoint(word.terms)]
    if len(subject) > _MOST_SUBJECTS or any(map(_is_specific, others)):
        return ()
    if _ASKS_WHAT.search(question) and all(asks_for_records(word.text) for word in others):
        return ()
    return tuple(subject) if any(not word.text.isdigit() for phrase in subject for word in phrase) else ()


def names_all(analyzed: AnalyzedRecord, subject: Sequence[Sequence[QueryTerm]]) -> bool:
    """Return whether the title of a record names all of a subject, in either language."""
    terms = frozenset(analyzed.title_terms)
    return all(has_phrase(terms, [phrase]) for phrase in subject)


def breadth(analyzed: AnalyzedRecord, subject: Sequence[Sequence[QueryTerm]], language: AnswerLanguage) -> float:
    """Return how well a record with the subject in its title serves as an overview; higher is better.

    That is the share of the title's terms that are the subject's, with an addition for a record in ``language``, and
    one for a title that says that the record is a survey, unless it names the subject as a means (``… trends using text
    mining``).
    """
    title, terms = analyzed.record.title, frozenset(analyzed.title_terms)
    words = [word for phrase in subject for word in phrase]
    named = {term for word in words for term in word.terms}
    named.update(term for word in words for each in word.translations for term in each.all_terms)
    value = len(terms & named) / len(terms)
    if analyzed.record.language == language:
        value += _FOR_LANGUAGE
    if _is_means(title, subject):
        return value - _FOR_SURVEY
    return value + _FOR_SURVEY if _SURVEY.search(title) else value


def _is_means(title: str, subject: Sequence[Sequence[QueryTerm]]) -> bool:
    """Return whether a title names a part of the subject as the means of what was done."""
    return any(
        re.search(_MEANS.format(name=name), title, re.IGNORECASE) for phrase in subject for name in _names(phrase)
    )


def _names(phrase: Sequence[QueryTerm]) -> set[str]:
    """Return patterns of the names of a phrase in both languages, with blanks or without."""
    whole = " ".join(word.text for word in phrase)
    shared = set.intersection(*({each.text for each in word.translations} for word in phrase))
    return {r"[\s-]?".join(map(re.escape, name.split())) for name in (whole, *shared)}


def _is_specific(word: QueryTerm) -> bool:
    return names_subject(word.text) and word.text.lower() not in _ANY_SUBJECT
