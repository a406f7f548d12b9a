"""The structure of an abstract: its background, the study, its results, and which sentences belong together."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import pairwise

from shrag.serving.answering.quoting.discourse import (
    begins_list,
    begins_study,
    continues_list,
    contrasts,
    ends_list,
    introduces,
    names_study,
    refers_back,
    role_worth,
    states_result,
)
from shrag.serving.answering.quoting.quotable_text import QuotableSentence, english_length

SHORT = 150
"""English letters of a text that is too short to be an answer."""

MOST_WITH_LIST = 8
"""Most sentences of a longer text that are quoted with an undivided enumeration, which has fewer."""

# Sentences from one item of an enumeration to the next: at most _NEAR_ITEMS if it is quoted as a whole, and never more
# than _FARTHEST_ITEMS.
_NEAR_ITEMS = 3
_FARTHEST_ITEMS = 8


def linked_sentences(sentences: Sequence[QuotableSentence]) -> list[frozenset[int]]:
    """Return for each sentence the indexes of the sentences that must be quoted with it, including its own."""
    needs: list[set[int]] = [set() for _ in sentences]
    for index, sentence in enumerate(sentences):
        refers = refers_back(sentence.text) and not (begins_study(sentence.text) or introduces(sentence.text))
        if index and (refers or introduces(sentences[index - 1].text)):
            needs[index].add(index - 1)
        if introduces(sentence.text) and index + 1 < len(sentences):
            needs[index].add(index + 1)
        if index and contrasts(sentence.text):
            needs[index - 1].add(index)
    for items in _enumerations(sentences):
        span = range(items[0], items[-1] + 1)
        if len(span) < MOST_WITH_LIST and all(later - item <= _NEAR_ITEMS for item, later in pairwise(items)):
            for index in span:
                needs[index] |= set(span)
        else:  # an item of a long enumeration needs only the first item
            for index in items:
                needs[index].add(items[0])
    return [_closure(index, needs) for index in range(len(sentences))]


def _closure(index: int, needs: Sequence[set[int]]) -> frozenset[int]:
    reached, waiting = {index}, [index]
    while waiting:
        new = needs[waiting.pop()] - reached
        reached |= new
        waiting.extend(new)
    return frozenset(reached)


def _enumerations(sentences: Sequence[QuotableSentence]) -> list[list[int]]:
    """Return the indexes of the items, in order, of each enumeration with at least two items."""
    found: list[list[int]] = []
    items: list[int] = []
    for index, sentence in enumerate(sentences):
        first = begins_list(sentence.text)
        if not first and not continues_list(sentence.text):
            continue
        if first or not items or index - items[-1] > _FARTHEST_ITEMS:
            if ends_list(sentence.text):  # "Finally" without a first item ends no enumeration
                continue
            found.append(items)
            # "1)" may be within the sentence before "2)".
            items = [index] if first or not index else [index - 1, index]
        else:
            items.append(index)
    return [each for each in (*found, items) if len(each) > 1]


def study_sentence(sentences: Sequence[QuotableSentence]) -> int | None:
    """Return the index of the sentence that says what was studied, if any; the text before it is background."""
    for index, sentence in enumerate(sentences):
        if names_study(sentence.text):
            return index
    return None


def beginning(sentences: Sequence[QuotableSentence]) -> int:
    """Return the index of the sentence at which the background ends; 0 if that is not clear."""
    study = study_sentence(sentences) or 0
    if study <= len(sentences) / 2:
        return study
    # A study that is named so late may be described before it is named.
    described = [index for index in result_sentences(sentences[:study]) if not refers_back(sentences[index].text)]
    if english_length(sentences[study:]) < SHORT:
        return 0 if described else _last_with_length(sentences, SHORT)
    return described[0] if described else study


def _last_with_length(sentences: Sequence[QuotableSentence], least: int) -> int:
    """Return the index of the last sentence from which on the text has at least this length; 0 if it is shorter."""
    return next((index for index in reversed(range(len(sentences))) if english_length(sentences[index:]) >= least), 0)


def result_sentences(sentences: Sequence[QuotableSentence]) -> list[int]:
    """Return the indexes of the sentences that state a result."""
    return [index for index, sentence in enumerate(sentences) if states_result(sentence.text)]


def roles_of(sentences: Sequence[QuotableSentence], start: int) -> list[float]:
    """Return the :func:`role_worth` of each sentence; sentences before ``start`` are worth nothing."""
    return [role_worth(sentence.text) if index >= start else 0.0 for index, sentence in enumerate(sentences)]
