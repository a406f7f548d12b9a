"""NOT clauses from wordings such as "without X" (off by default; candidate for deletion).

Only a wording that can hardly mean anything else is read so, and only the words that follow on its cue (in Korean, that
stand before it) without a stop word or a sign between them.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence
from typing import NamedTuple

from shrag.serving.retrieval.query_terms import QueryTerm

_BEFORE = re.compile(
    r"""\b(?: without | except(?:ing)?(?:\ for)? | excluding | other\ than | apart\ from
            | (?<!whether\ )(?:but|and|or|,)\ ?not(?:\ (?:including|in|on|about|by|for|of))?  )
        (?:\ (?:the|a|an|any|all|those|using|use\ of))*\s+""",
    re.IGNORECASE | re.VERBOSE,
)
"""Cues that stand before what they exclude."""

_BEHIND = re.compile(
    r"(?:을|를|은|는|이|가)?\s*(?:제외(?=한|하|된|되|시)|말고(?![가-힣])|빼고(?![가-힣])|없이(?![가-힣])|이외의?(?![가-힣]))"
)
"""Cues that stand behind it, with the particle before them."""


class Wishes(NamedTuple):
    """The words a question wants, and the phrases that it excludes, each the words that stand there together."""

    wanted: list[QueryTerm]
    unwanted: list[list[QueryTerm]]

    def keep(self, keywords: Sequence[QueryTerm]) -> list[QueryTerm]:
        """Return the ``keywords`` that share no term with what is excluded."""
        excluded = {term for phrase in self.unwanted for word in phrase for term in word.terms}
        return [keyword for keyword in keywords if excluded.isdisjoint(keyword.terms)]


def excludes(question: str) -> bool:
    """Say whether a question has a cue; whether anything stands beside it is for :func:`read_wishes`."""
    return _BEFORE.search(question) is not None or _BEHIND.search(question) is not None


def read_wishes(question: str, words: Sequence[QueryTerm]) -> Wishes:
    """Tell a question's ``words`` apart; where all would be excluded, none is."""
    ordered = sorted(words, key=lambda word: word.start)
    phrases = [_following(match.end(), question, ordered) for match in _BEFORE.finditer(question)]
    phrases += [_leading(match.start(), question, ordered) for match in _BEHIND.finditer(question)]
    unwanted = [phrase for phrase in phrases if any(word.known for word in phrase)]
    wanted = Wishes([], unwanted).keep(words)
    if not any(word.keyword and word.known for word in wanted):
        return Wishes(list(words), [])
    return Wishes(wanted, unwanted)


def _following(place: int, question: str, words: Iterable[QueryTerm]) -> list[QueryTerm]:
    found: list[QueryTerm] = []
    for word in words:
        if word.start >= place:
            if question[place : word.start].strip():
                break
            found.append(word)
            place = word.end
    return found


def _leading(place: int, question: str, words: Sequence[QueryTerm]) -> list[QueryTerm]:
    found: list[QueryTerm] = []
    for word in reversed(words):
        if word.end <= place:
            if question[word.end : place].strip():
                break
            found.insert(0, word)
            place = word.start
    return found
