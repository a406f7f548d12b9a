"""Read a follow-up question together with the turns before it.

A language model rewrites it as a question that stands by itself. Without one, a question that refers to something
("그 방법은?", "What about their cost?") or has hardly a word to search for is searched for with the keywords of the
questions before it that it lacks.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence
from functools import partial
from typing import Annotated

import msgspec

from shrag.corpora.text.cleaning import plain_line
from shrag.indexing.analysis.request_framing import is_greeting
from shrag.indexing.open_index import OpenIndex
from shrag.indexing.translation.query_translation import analyze_question
from shrag.models.language_model import LanguageModel
from shrag.serving.events import Event, FollowUp, ModelCall
from shrag.serving.llm.request_model import attempt
from shrag.serving.llm.structured_call import PromptCall, call_model, remove_fence_marks
from shrag.serving.request import LONGEST_QUESTION, AnswerLanguage, Question, Turn
from shrag.serving.retrieval.known_phrases import join_known_phrases
from shrag.serving.retrieval.query_terms import QueryTerm, query_terms, rank_keywords, searchable, text_terms

MOST_ADDED = 5
"""Keywords of earlier questions that are added to one that lacks them."""

FEW_WORDS = 4
"""Words to search for that a question with a reference has at most; with more it stands by itself."""

SHOWN_TURNS = 4
"""The last turns, which are read."""

SHOWN_ANSWER = 600
"""Characters of an earlier answer that a model is shown."""

_REFERENCES: dict[AnswerLanguage, re.Pattern[str]] = {
    "ko": re.compile(
        r"^(?:그럼|그러면|그렇다면|그런데|그리고|그래서|또|반대로)(?=\s|,)|그것|이것|저것|그건|이건|그게|이게|"
        r"(?:^|\s)(?:그|이|저|해당|위의|앞의|같은)\s(?=[가-힣])|그중|이들|그들|거기|여기서|전자는|후자는"
    ),
    "en": re.compile(
        r"^(?:and|but|then|so|also|what about|how about|why|in contrast)\b|"
        r"\b(?:it|its|they|them|their|this|these|those|he|she|his|her|the former|the latter|the same)\b",
        re.IGNORECASE,
    ),
}
_TURN = {"ko": "질문: {question}\n답변: {answer}", "en": "Question: {question}\nAnswer: {answer}"}


class _Rewritten(msgspec.Struct, frozen=True):
    question: Annotated[str, msgspec.Meta(min_length=1, max_length=LONGEST_QUESTION)]


def read_follow_up(
    question: Question, turns: Sequence[Turn], index: OpenIndex, model: LanguageModel | None
) -> tuple[FollowUp | None, list[Event]]:
    """Return how ``question`` is read after ``turns``, None where it stands by itself, and the model's events.

    Where the model fails, keywords are added as without one.

    Args:
        question: The question.
        turns: The turns before it, the oldest first.
        index: The index that is searched, which weights the keywords.
        model: The language model, if there is one.
    """
    shown, events = turns[-SHOWN_TURNS:], list[Event]()
    if model is not None:
        text, events = attempt("query", model, partial(_rewrite, question, shown))
        if text is not None:
            changed = text != question.text
            return (FollowUp(text, model=model.name) if changed else None), events
    read = ""
    added: list[str] = []
    for asked in (*(turn.question for turn in shown), question.text):
        added = missing_keywords(asked, read, index) if read else []
        read = " ".join((asked, *added))
    return (FollowUp(read, tuple(added)) if added else None), events


def missing_keywords(question: str, before: str, index: OpenIndex) -> list[str]:
    """Return the most important keywords of the question ``before`` that ``question`` lacks, in their order there.

    None where ``question`` stands by itself: it has more than one word to search for, and refers to nothing or has more
    than :data:`FEW_WORDS`; or it is a greeting.
    """
    if is_greeting(question):
        return []
    own = searchable(text_terms(question, index))
    if len(own) > 1 and (len(own) > FEW_WORDS or not refers(question)):
        return []
    known = {term for word in own for term in _terms(word)}
    analyzed = analyze_question(before, index.analyzer, index.searcher, index.glossary)
    keywords = join_known_phrases(analyzed, searchable(query_terms(analyzed)), index.searcher)
    lacking = [word for word in keywords if not known.intersection(_terms(word))]
    ranked = rank_keywords(lacking, "tfidf", index.searcher)[:MOST_ADDED]
    return [word.text for word, _ in sorted(ranked, key=lambda each: each[0].start)]


def refers(question: str) -> bool:
    """Return whether a question refers to something that it does not name.

    >>> refers("그 방법의 한계는?"), refers("What about their cost?"), refers("그래핀의 전자파 차폐")
    (True, True, False)
    """
    return any(pattern.search(question) for pattern in _REFERENCES.values())


def _terms(word: QueryTerm) -> Iterable[str]:
    yield from word.terms
    for translation in word.translations:
        yield from translation.terms


def _rewrite(question: Question, turns: Sequence[Turn], model: LanguageModel) -> tuple[str, list[ModelCall]]:
    shown = [
        _TURN[question.language].format(question=turn.question, answer=turn.answer[:SHOWN_ANSWER] or "–")
        for turn in turns
    ]
    values = {"question": question.text, "turns": remove_fence_marks("\n\n".join(shown))}
    reply, calls = call_model(model, PromptCall("query", "in_context", question.language, values), _Rewritten)
    return plain_line(reply.question) or question.text, calls
