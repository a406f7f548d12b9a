"""Read a follow-up question together with the turns before it.

A language model rewrites it as a question that stands by itself. Without a model, keywords of earlier questions are
added to a question that has no subject of its own ("그 방법은?", "What about their cost?", "더 최근 연구는?"). The
earlier questions go back to the last one that has a subject.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence
from functools import cached_property, partial
from typing import Annotated

import msgspec

from shrag.corpora.text.cleaning import plain_line
from shrag.indexing.analysis.request_framing import asks_for_no_record, is_framing_alone
from shrag.indexing.open_index import OpenIndex
from shrag.indexing.query import And
from shrag.indexing.translation.query_translation import AnalyzedQuestion, analyze_question
from shrag.models.language_model import LanguageModel
from shrag.serving.events import Event, FollowUp, ModelCall
from shrag.serving.llm.request_model import attempt
from shrag.serving.llm.structured_call import PromptCall, call_model, remove_fence_marks
from shrag.serving.request import LONGEST_QUESTION, AnswerLanguage, Question, Turn
from shrag.serving.retrieval.asking_words import asks_for_records, names_subject
from shrag.serving.retrieval.known_phrases import join_known_phrases
from shrag.serving.retrieval.query_builder import in_any_language
from shrag.serving.retrieval.query_terms import (
    QueryTerm,
    has_phrase,
    query_terms,
    rank_keywords,
    searchable,
)

MOST_ADDED = 5
"""Most keywords of earlier questions that are added to a question."""

FEW_WORDS = 4
"""Most words of a question that depends on an earlier one by a reference; with more words it stands by itself."""

FEW_SUBJECTS = 2
"""Most words of a subject that may merely narrow the earlier subject; a question with more words has its own."""

_LEADING = 3
"""Leading keywords of the earlier question; a record with all of them has the subject of that question."""

SHOWN_TURNS = 4
"""Number of the last turns that a model is shown."""

SHOWN_ANSWER = 600
"""Characters of an earlier answer that a model is shown."""

READ_TURNS = 8
"""Number of the last turns that are read without a model, as many as the page keeps."""

READ_CHARACTERS = 2 * LONGEST_QUESTION
"""Characters that the questions of these turns may have together.

They are analyzed in one step, which nothing can stop. With this limit it takes no longer than a few long questions.
"""

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
# Words that ask for other records than those of the earlier answer, or ask something about these.
_OTHERS = re.compile(
    r"(?:^|\s)(?:다른|비슷한|유사한|추가로)(?=\s)|외에[는도]?(?=\s)"
    r"|(?:연구|논문|자료|문헌|사례)(?:들)?(?:도|만)(?![가-힣])|(?<=\s)것(?:들)?(?:은|도|만|이)?(?=\s*(?:[?.!]|$|있|없))"
    r"|\b(?:another|else|newer|older|ones|others?|similar)\b",
    re.IGNORECASE,
)
_TURN = {"ko": "질문: {question}\n답변: {answer}", "en": "Question: {question}\nAnswer: {answer}"}


class AskedQuestion:
    """A question as an index reads it. It is analyzed when its words are first needed, and only once."""

    def __init__(self, text: str, index: OpenIndex) -> None:
        self.text = text
        self.index = index

    @cached_property
    def terms(self) -> list[QueryTerm]:
        """Its content words."""
        return query_terms(self._analyzed)

    @cached_property
    def keywords(self) -> list[QueryTerm]:
        """Its keywords, with known phrases joined, without words that only ask for records."""
        words = [word for word in searchable(self.terms) if not asks_for_records(word.text)]
        return join_known_phrases(self._analyzed, words, self.index.searcher)

    @cached_property
    def _analyzed(self) -> AnalyzedQuestion:
        return analyze_question(self.text, self.index.analyzer, self.index.searcher, self.index.glossary)


class _Rewritten(msgspec.Struct, frozen=True):
    question: Annotated[str, msgspec.Meta(min_length=1, max_length=LONGEST_QUESTION)]


def read_follow_up(
    question: Question, turns: Sequence[Turn], index: OpenIndex, model: LanguageModel | None
) -> tuple[FollowUp | None, list[Event]]:
    """Return how ``question`` is read after ``turns``, None if it stands by itself, and the model's events.

    If the model fails, keywords are added as without a model. Then only the last turns are read: at most
    :data:`READ_TURNS`, whose questions have at most :data:`READ_CHARACTERS` characters together.

    Args:
        question: The question.
        turns: The turns before it, the oldest first.
        index: The index that is searched, which weights the keywords.
        model: The language model, if there is one.
    """
    events = list[Event]()
    if model is not None:
        rewritten, events = attempt("query", model, partial(_rewrite, question, turns[-SHOWN_TURNS:]))
        if rewritten is not None:
            changed = rewritten != question.text
            return (FollowUp(rewritten, model=model.name) if changed else None), events
    asked = AskedQuestion(question.text, index)
    earlier = list[AskedQuestion]()
    for text in _last_questions(turns):
        before = AskedQuestion(text, index)
        earlier = [*earlier, before] if needs_subject(before, earlier) else [before]
    if not needs_subject(asked, earlier):
        return None, events
    added = missing_keywords(asked, earlier)
    if not added:
        return None, events
    # Words that only ask for records or a summary are left out: "English" would find records on teaching English.
    own = [word.text for word in searchable(asked.terms)]
    nothing_else = is_framing_alone(question.text) or (own and all(map(asks_for_records, own)))
    kept = "" if nothing_else else question.text
    return FollowUp(" ".join(filter(None, (kept, *added))), tuple(added)), events


def needs_subject(question: AskedQuestion, earlier: Sequence[AskedQuestion]) -> bool:
    """Return whether a question has no subject of its own and must be read after the ``earlier`` ones.

    A question has no subject of its own in each of these cases:

    - It only frames a request, or has at most one noun, foreign word or number.
    - Its words only ask for records, or for an aspect of any subject.
    - It refers to something and has at most :data:`FEW_WORDS` words.
    - It has at most :data:`FEW_SUBJECTS` words of a subject, and these only narrow the earlier subject: the question
      asks for other records, or a record has these words together with the earlier subject.

    A greeting asks for nothing, so it needs no subject.

    Args:
        question: The question.
        earlier: The last question that has a subject, and those asked after it.
    """
    text = question.text
    if not earlier or asks_for_no_record(text):
        return False
    words = [word for word in question.terms if word.keyword and not word.framing]
    subject = [word for word in words if names_subject(word.text)]
    if is_framing_alone(text) or len(words) <= 1 or not subject or (len(words) <= FEW_WORDS and refers(text)):
        return True
    return len(subject) <= FEW_SUBJECTS and (_OTHERS.search(text) is not None or _stand_together(subject, earlier[0]))


def missing_keywords(question: AskedQuestion, earlier: Sequence[AskedQuestion]) -> list[str]:
    """Return the keywords of the ``earlier`` questions that ``question`` lacks, at most :data:`MOST_ADDED`.

    Keywords of the first question, which has the subject, come before those of the next. Each question gives its most
    important keywords, in the order in which it has them.

    Args:
        question: The question.
        earlier: The questions before it, the oldest first.
    """
    known = {term for word in searchable(question.terms) for term in _terms(word)}
    added: list[str] = []
    for each in earlier:
        lacking = [word for word in each.keywords if not has_phrase(known, [word.parts or (word,)])]
        ranked = rank_keywords(lacking, "tfidf", each.index.searcher)[: MOST_ADDED - len(added)]
        known.update(term for word, _ in ranked for term in _terms(word))
        added += [word.text for word, _ in sorted(ranked, key=lambda entry: entry[0].start)]
    return added


def refers(question: str) -> bool:
    """Return whether a question refers to something that it does not name.

    >>> refers("그 방법의 한계는?"), refers("What about their cost?"), refers("그래핀의 전자파 차폐")
    (True, True, False)
    """
    return any(pattern.search(question) for pattern in _REFERENCES.values())


def _last_questions(turns: Sequence[Turn]) -> list[str]:
    """Return the questions that are read without a model, the oldest first, without those that ask for no record."""
    kept = list[str]()
    left = READ_CHARACTERS
    for turn in reversed(turns[-READ_TURNS:]):
        left -= len(turn.question)
        if left < 0:
            break
        if not asks_for_no_record(turn.question):
            kept.insert(0, turn.question)
    return kept


def _stand_together(subject: Sequence[QueryTerm], before: AskedQuestion) -> bool:
    """Return whether any record has the words of ``subject`` and the leading keywords of the question ``before``."""
    searcher = before.index.searcher
    leading = rank_keywords(before.keywords, "tfidf", searcher)[:_LEADING]
    query = And(tuple(map(in_any_language, (*subject, *(word for word, _ in leading)))))
    return searcher.count_hits([query], 1) == [1]


def _terms(word: QueryTerm) -> Iterable[str]:
    for part in word.parts:
        yield from _terms(part)
    yield from word.terms
    for translation in word.translations:
        yield from translation.terms


def _rewrite(question: Question, turns: Sequence[Turn], model: LanguageModel) -> tuple[str, list[ModelCall]]:
    shown = [
        _TURN[question.language].format(question=turn.question, answer=turn.answer[:SHOWN_ANSWER] or "–")
        for turn in turns
    ]
    values = {"question": question.text, "turns": remove_fence_marks("\n\n".join(shown))}
    call = PromptCall("query", "in_context", question.language, values, urgent=True)
    reply, calls = call_model(model, call, _Rewritten)
    return plain_line(reply.question) or question.text, calls
