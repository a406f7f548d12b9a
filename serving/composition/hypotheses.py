"""Supposed answers as queries: written by a language model, or without one the best sentences of a first search.

The first is HyDE's idea with more than one answer (Gao et al., *Precise zero-shot dense retrieval without relevance
labels*, ACL 2023), the second is pseudo-relevance feedback by passages: what the likeliest records say where they say
most of the question is how an answer may be worded.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Annotated

import msgspec

from shrag.corpora.clean import plain_line
from shrag.corpora.sentences import split_sentences
from shrag.indexing.opening import OpenIndex
from shrag.indexing.query import any_of
from shrag.serving.asking_model import Step, ask
from shrag.serving.composition.queries import LONGEST_QUERY, SearchQuery, distinct, queries_of_texts
from shrag.serving.events import ModelCall
from shrag.serving.planning.rationed_model import RationedModel
from shrag.serving.question import Question
from shrag.serving.words import Word, matched_share

FIRST_SEARCH = 10
"""Records of the first search whose sentences are supposed to answer."""

_MOST_TERMS = 64

_Text = Annotated[str, msgspec.Meta(min_length=1, max_length=LONGEST_QUERY)]


class _Answers(msgspec.Struct, frozen=True):
    answers: Annotated[list[_Text], msgspec.Meta(min_length=1, max_length=16)]


def suppose_by_model(
    question: Question, count: int, index: OpenIndex, model: RationedModel
) -> tuple[list[SearchQuery], list[ModelCall]]:
    """Return at most ``count`` answers that a model supposes, as queries; raises as :func:`ask` does."""
    values = {"question": question.text, "count": str(count)}
    written, calls = ask(model, Step("hypothesis", "hypotheses", question.language, values), _Answers)
    return queries_of_texts(written.answers, question, count, index, "hypothesis"), calls


def suppose_by_sentences(words: Sequence[Word], asked: SearchQuery, count: int, index: OpenIndex) -> list[SearchQuery]:
    """Return the best sentence of each of the ``count`` records whose sentences hold most of the question, as queries.

    ``words`` are the question's, ``asked`` is the question as a query. Records are those of a first search; ties go to
    the better record. Of a text without full stops the first :data:`_MOST_TERMS` terms are its sentence.
    """
    if not asked.terms:
        return []
    (hits,) = index.engine.search([any_of(asked.terms)], FIRST_SEARCH)
    best: list[tuple[float, SearchQuery]] = []
    for analysed in index.store.fetch([hit.docid for hit in hits]):
        if analysed is None or not analysed.record.complete or not analysed.sentence_terms:
            continue
        shares = [matched_share(words, frozenset(terms)) for terms in analysed.sentence_terms]
        place = max(range(len(shares)), key=shares.__getitem__)
        start, end = split_sentences(analysed.record.text)[place]
        text = plain_line(analysed.record.text[start : min(end, start + LONGEST_QUERY)])
        terms = tuple(analysed.sentence_terms[place][:_MOST_TERMS])
        best.append((shares[place], SearchQuery(text, terms, (text,), "hypothesis")))
    best.sort(key=lambda sentence: -sentence[0])
    return distinct(query for share, query in best if share > 0)[:count]
