"""Recognize questions that name a broad subject only, or compare two (``ESG``, ``CNN vs RNN``), and what serves them.

No single record answers a question about all of a subject. What helps is a list of the records about it, surveys first,
or for two subjects the records that compare them, or else records about each.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence
from functools import lru_cache
from itertools import pairwise
from typing import NamedTuple

from shrag.corpora.text.sentences import split_sentences
from shrag.indexing.analyzed_record import AnalyzedRecord
from shrag.serving.request import AnswerLanguage
from shrag.serving.retrieval.asking_words import asks_for_records, names_subject
from shrag.serving.retrieval.query_terms import QueryTerm, has_phrase, spellings

_MOST_PHRASES = 2
_MOST_COMPARED = 4  # keywords of a question that compares two of them
# A question for a place, a person, a time, a number or an extreme has one answer, as has one about a past event or
# about what was named before.
_ASKS_FOR_FACT = re.compile(
    r"어디|누구|누가|언제|얼마|몇|가장|제일|최초"
    r"|\b(?:where|who|whose|when|how\s+(?:many|much|long|often|far|old)|(?:old|larg|long|high|tall|small|fast|bigg)est"
    r"|was|were|did|had|this|that|these|those|he|she|his|her|they|their|its?)\b|[\"“”]",
    re.IGNORECASE,
)
_ASKS_WHAT = re.compile(r"^\W*what(?:['’]s|\s+is|\s+are)\b|무엇|뭐|뭔|이란|란\W*$", re.IGNORECASE)
# A question about something in or of a subject: "research" in What are the research trends in X? is no part of a name.
_ASKS_ABOUT = re.compile(r"\b(?:about|for|in|of|on|regarding)\b|동향|현황|추세|경향|트렌드", re.IGNORECASE)
_COMPARES = re.compile(
    r"\b(?:vs|versus|differ\w*|compar\w+|better|best)\b"
    r"|차이|다르|달라|다른(?:가|지|\s?점)|비교|대비|어느\s?(?:것|게|쪽)|더\s?(?:좋|낫|나은|우수)",
    re.IGNORECASE,
)
# What stands between the two subjects of a question that compares them; the second only if there is no first.
_OPPOSES = (
    r"(?:이나|나|보다|대비|또는|혹은|\b(?:or|vs\.?|versus|compare[sd]?\s+(?:to|with)|(?:(?:is|are)\s+)?(?:\w+\s+)?than)\b)",
    r"(?:와|과|이랑|랑|하고|및|[,/·]|\band\b)",
)
# What stands between two things that a sentence compares, not far from each other.
_BETWEEN = re.compile(
    r"[,/·]|\b(?:and|or|vs|versus|than|to|with|while|whereas|over|outperform\w*)\b|[와과]\s|보다|및|또는|혹은|에\s비해|대비"
)
_FARTHEST = 120
_HANGUL = re.compile("[\uac00-\ud7a3]")
_MOST_BETWEEN = 2  # other words of a title between those of a phrase
_CONTRASTS = re.compile(
    r"\b(?:than|vs|versus|differ\w*|compar\w+|outperform\w*|superior|inferior|whereas|while|unlike"
    r"|against(?=\s+\d))\b|보다|비해|비교|차이|반면|(?<![가-힣])달리|대비|우수",
    re.IGNORECASE,
)
# What a sentence says that tells which of two is better, more or less, and not only that they were compared.
_TELLS = re.compile(
    r"\b(?:than|outperform\w*|superior|inferior|better|best|worse|higher|lower|faster|slower|whereas|against(?=\s+\d))\b"
    r"|보다|비해|우수|뛰어|반면|차이(?:가|를)\s|높[은게고았]|낮[은게고았]",
    re.IGNORECASE,
)
# Words that may be asked about any subject, besides those that names_subject() knows.
_ANY_SUBJECT = frozenset(
    """
    age applications applied apply basics choose compare compares concept concepts development developments direction
    directions era opportunities opportunity potential prefer prospect prospects risk risks status technologies
    technology
    가 가능 경향 관하 관해 기술 낫 다르 다른 달라 대하 대해 도입 뜻 미래 미치 발달 발전 방향 시대 쓰 쓰이 어떻 우수
    위험 응용 이루어지 적용 좋 진행되 추세 트렌드 흐름
    """.split()
)
_SURVEY = re.compile(
    r"\b(?:survey|reviews?|overview|trends?|state[\s-]of[\s-]the[\s-]art|challenges?|opportunit|perspectives|tutorial"
    r"|introduction|roadmap|landscape|taxonomy|prospects?|future)"
    r"|동향|현황|고찰|개관|전망|추세|트렌드|과제|쟁점|개론|입문|이해|소개|발전\s?방향|메타\s?분석|문헌\s?연구",
    re.IGNORECASE,
)
_SURVEYS = re.compile(
    r"\b(?:this|the)\s+(?:paper|article|study|survey|review|chapter)\s+(?:\w+\s+)?(?:review|survey|summari[sz]e)"
    r"|\bwe\s+(?:\w+\s+)?(?:review|survey|summari[sz]e)|\b(?:overview|review|survey)\s+of\b"
    r"|동향을|현황을|고찰하|개관하|개괄|소개하고자|소개한다",
    re.IGNORECASE,
)
_MEANS = (
    r"\b(?:using|by|via|through|with)\s+(?:an?\s+|the\s+)?{name}"
    r"|{name}(?:\s?\([^()]*\))?\s?(?:기술|기법|방법)?[을를]?\s?(?:활용|이용|사용|적용|통한|통해)"
)
_ASPECTS = (
    r"\b(?:problems?|challenges?|issues?|limits?|limitations?|drawbacks?|disadvantages?|weakness\w*|risks?|cons|barriers?"
    r"|obstacles?)\b|문제점?|과제|한계|단점|쟁점|이슈|위험|저해|걸림돌",
    r"\b(?:advantages?|benefits?|strengths?|pros)\b|장점|(?<!차)이점|강점",
    r"\b(?:applications?|applied|use\s+cases?)\b|활용|응용|적용|사례",
)
_BOTH_SIDES = re.compile("장단점")
_USED = re.compile(r"\buse[ds]?\b", re.IGNORECASE)  # which in a question asks for applications
# A record is shown as if this share of its title's words more were the subject's.
_FOR_SURVEY = 0.5
_FOR_LANGUAGE = 0.25
_FOR_NOTHING_ELSE = 0.1
_FOR_TEXT = 0.25

Phrase = tuple[QueryTerm, ...]
"""The words of a keyword: several if it is a phrase."""


class BroadQuestion(NamedTuple):
    """A question that says nothing but its subject.

    Attributes:
        subject: The keywords that name the subject, the two subjects if the question compares.
        aspect: A pattern for sentences on the aspect that is asked for (problems, benefits, uses); None without one.
        compares: Whether the question asks for the difference between two subjects.
        purpose: The other keywords of a question that compares: what the two are for.
    """

    subject: tuple[Phrase, ...]
    aspect: re.Pattern[str] | None = None
    compares: bool = False
    purpose: tuple[Phrase, ...] = ()

    def is_about(self, sentence: str) -> bool:
        """Return whether a sentence compares the two subjects, or is on the aspect that the question asks for."""
        if self.compares:
            return _CONTRASTS.search(sentence) is not None and _stand_together(
                self.subject[0], self.subject[1], sentence
            )
        return self.aspect is not None and self.aspect.search(sentence) is not None

    def tells(self, sentence: str) -> bool:
        """Return whether a sentence compares the two subjects and says how they differ."""
        return self.compares and _TELLS.search(sentence) is not None and self.is_about(sentence)

    def is_named(self, sentence: str) -> bool:
        """Return whether a sentence names all of the subject, in either language."""
        return all(_places(phrase, sentence) for phrase in self.subject)


def read_broad_question(
    question: str, words: Sequence[QueryTerm], keywords: Sequence[QueryTerm]
) -> BroadQuestion | None:
    """Return the subject and aspect of a question that says nothing else; None for other questions.

    It has one or two keywords besides words that may be asked about any subject. If it compares, it has two, or it
    opposes two of at most four to each other (*LSTM or GRU for time series, which is better?*). A question what a thing
    is (*What is grey literature?*) is broad only if all of its words name the thing.

    Args:
        question: The question.
        words: All words of the question.
        keywords: The words and phrases that are searched for.
    """
    compares = _COMPARES.search(question) is not None
    subject = [phrase for keyword in keywords if any(map(_is_specific, phrase := keyword.parts or (keyword,)))]
    named = {term for phrase in subject for word in phrase for term in word.terms}
    purpose: list[Phrase] = []
    if compares and _MOST_PHRASES < len(subject) <= _MOST_COMPARED:
        opposed = _opposed(question, subject)
        purpose, subject = [phrase for phrase in subject if phrase not in opposed], opposed
    others = [word for word in words if not word.framing and named.isdisjoint(word.terms)]
    if (
        not (_MOST_PHRASES if compares else 1) <= len(subject) <= _MOST_PHRASES
        or _ASKS_FOR_FACT.search(question)
        or any(map(_is_specific, others))
        or all(word.text.isdigit() for phrase in subject for word in phrase)
        or (
            _ASKS_WHAT.search(question)
            and not _ASKS_ABOUT.search(question)
            and any(word.keyword and asks_for_records(word.text) for word in others)
        )
    ):
        return None
    asked = _USED.sub("applied", " ".join(word.text for word in others))
    aspects = [each for each in _ASPECTS if re.search(each, asked, re.IGNORECASE)]
    aspect = "|".join(_ASPECTS[:2] if _BOTH_SIDES.search(asked) else aspects)
    pattern = re.compile(aspect, re.IGNORECASE) if aspect else None
    return BroadQuestion(tuple(subject), pattern, compares, tuple(purpose))


def _opposed(question: str, subject: Sequence[Phrase]) -> list[Phrase]:
    """Return the two neighboring phrases that a question opposes to each other (``LSTM or GRU``); none without two."""
    pairs = list(pairwise(sorted(subject, key=lambda phrase: phrase[0].start)))
    for pattern in _OPPOSES:
        for one, other in pairs:
            between = question[max(word.end for word in one) : other[0].start].strip()
            if re.fullmatch(pattern, between, re.IGNORECASE):
                return [one, other]
    return []


def names_all(analyzed: AnalyzedRecord, subject: Sequence[Phrase]) -> bool:
    """Return whether the title of a record names all of a subject, in either language.

    The words of a phrase must stand near each other: *Learning the distances of residues* is not about distance
    learning.
    """
    terms = [
        term
        for previous, term in pairwise(("", *analyzed.title_terms))
        # A compound stands after the first of its parts: 딥, 딥러닝, 러닝.
        if not (_HANGUL.match(previous) and term.startswith(previous))
    ]

    def is_near(phrase: Phrase) -> bool:
        size = len(phrase) + _MOST_BETWEEN
        starts = range(max(1, len(terms) - size + 1))
        return any(has_phrase(frozenset(terms[start : start + size]), [phrase]) for start in starts)

    everywhere = frozenset(analyzed.title_terms)
    return all(has_phrase(everywhere, [phrase]) and (len(phrase) == 1 or is_near(phrase)) for phrase in subject)


class Compared(NamedTuple):
    """Whether a record compares the two subjects of a question, and whether it also says how they differ."""

    compares: bool
    tells: bool


def compare_subjects(analyzed: AnalyzedRecord, question: BroadQuestion) -> Compared:
    """Return whether a sentence or the title of a record compares the two subjects, and whether one says how."""
    title, text = analyzed.record.title, analyzed.record.text
    sentences = (title, *(text[start:end] for start, end in split_sentences(text)))
    about = [each for each in sentences if question.is_about(each)]
    return Compared(bool(about), any(map(_TELLS.search, about)))


def breadth(analyzed: AnalyzedRecord, question: BroadQuestion, language: AnswerLanguage) -> float:
    """Return how well a record with the subject in its title serves as an overview; higher is better.

    That is the share of the title's terms that are the subject's, with additions for a title that names nothing else,
    for a title or text that says that the record is a survey or is on the aspect asked for, and for a record in
    ``language``. A title that names the subject
    as a means (``… trends using text mining``) is no survey of it.
    """
    title, text = analyzed.record.title, analyzed.record.text
    terms = frozenset(analyzed.title_terms)
    words = [word for phrase in question.subject for word in phrase]
    named = {term for word in words for term in word.terms}
    named.update(term for word in words for each in word.translations for term in each.all_terms)
    value = len(terms & named) / len(terms)
    if terms <= named:
        value += _FOR_NOTHING_ELSE
    if analyzed.record.language == language:
        value += _FOR_LANGUAGE
    for in_title, in_text in ((_SURVEY, _SURVEYS), (question.aspect, question.aspect)):
        if in_title is not None and in_title.search(title):
            value += _FOR_SURVEY
        elif in_text is not None and in_text.search(text):
            value += _FOR_TEXT
    return value - 2 * _FOR_SURVEY if _is_means(title, question.subject) else value


def _is_means(title: str, subject: Iterable[Phrase]) -> bool:
    """Return whether a title names a part of the subject as the means of what was done."""
    names = (name for phrase in subject for name in _spellings(phrase))
    return any(_compiled(_MEANS.format(name=name)).search(title) for name in names)


def _stand_together(one: Phrase, other: Phrase, sentence: str) -> bool:
    """Return whether a sentence names two phrases side by side, as things that can be compared."""
    ones, others = _places(one, sentence), _places(other, sentence)
    between = (sentence[min(a[1], b[1]) : max(a[0], b[0])] for a in ones for b in others)
    return any(len(each) <= _FARTHEST and _BETWEEN.search(each) for each in between)


def _places(phrase: Phrase, text: str) -> list[tuple[int, int]]:
    """Return where a text has a name of the phrase, in either language."""
    patterns = (_compiled(rf"(?<![A-Za-z&]){name}(?![a-z]{{3}}|&)") for name in _spellings(phrase))
    return [match.span() for pattern in patterns for match in pattern.finditer(text)]


def _spellings(phrase: Phrase) -> set[str]:
    """Return patterns of the names of a phrase in both languages, with blanks or without."""
    whole = " ".join(word.text for word in phrase)
    shared = set.intersection(*({each.text for each in word.translations} for word in phrase))
    return {spellings(name) for name in (whole, *shared)}


@lru_cache(maxsize=200)
def _compiled(pattern: str) -> re.Pattern[str]:
    return re.compile(pattern, re.IGNORECASE)


def _is_specific(word: QueryTerm) -> bool:
    return names_subject(word.text) and word.text.lower() not in _ANY_SUBJECT
