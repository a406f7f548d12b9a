"""Further queries for a question: by a language model, or without one by the glossary and the question's own words."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Annotated

import msgspec

from shrag.indexing.opening import OpenIndex
from shrag.serving.asking_model import Step, ask
from shrag.serving.composition.queries import (
    LONGEST_QUERY,
    SearchQuery,
    distinct,
    queries_of_texts,
    query_of_words,
    translated,
)
from shrag.serving.events import ModelCall
from shrag.serving.keyword_order import rank_keywords
from shrag.serving.planning.rationed_model import RationedModel
from shrag.serving.question import AnswerLanguage, Question
from shrag.serving.words import Word, searchable

_FEWEST = 3  # keywords of which a part is another query

_Text = Annotated[str, msgspec.Meta(min_length=1, max_length=LONGEST_QUERY)]


class _Queries(msgspec.Struct, frozen=True):
    queries: Annotated[list[_Text], msgspec.Meta(min_length=1, max_length=16)]


def augment_by_model(
    question: Question, count: int, index: OpenIndex, model: RationedModel
) -> tuple[list[SearchQuery], list[ModelCall]]:
    """Return at most ``count`` queries that a model writes, none that says nothing; raises as :func:`ask` does."""
    values = {"question": question.text, "count": str(count)}
    written, calls = ask(model, Step("query", "augment", question.language, values), _Queries)
    return queries_of_texts(written.queries, question, count, index, "augmentation"), calls


def augment_by_words(
    words: Sequence[Word], language: AnswerLanguage, count: int, index: OpenIndex
) -> list[SearchQuery]:
    """Return at most ``count`` queries made of the question's ``words``, the likeliest to find something else first.

    They are: the question in the other language; its words by their other names, which the glossary has where two words
    share a translation; the more important half of its keywords; all but the most important one; the other half. There
    are fewer where a question has few keywords, and none twice.
    """
    whole = query_of_words(searchable(words), "augmentation")
    made = distinct([whole, *_candidates(words, language, index)])
    return [query for query in made if query is not whole][:count]


def _candidates(words: Sequence[Word], language: AnswerLanguage, index: OpenIndex) -> Iterator[SearchQuery]:
    yield from translated(words, language, "augmentation")
    yield from _in_other_words(words, index)
    ranked = [word for word, _ in rank_keywords(searchable(words), "tfidf", index.engine)]
    if len(ranked) < _FEWEST:
        return
    half = -(-len(ranked) // 2)
    for chosen in (ranked[:half], ranked[1:], ranked[half:]):
        yield query_of_words(chosen, "augmentation")


def _in_other_words(words: Sequence[Word], index: OpenIndex) -> list[SearchQuery]:
    """Return the question with each keyword replaced by its surest other name, none where no keyword has one."""
    if index.glossary is None:
        return []
    keywords = searchable(words)
    texts: dict[str, tuple[str, ...]] = {}
    for word in keywords:
        back = index.glossary.look_up([word.ways[0].terms])[0] if word.ways else []
        names = [
            name
            for entry in back
            for name in ((entry.korean, entry.korean_terms), (entry.english, entry.english_terms))
            if set(name[1]).isdisjoint((*word.terms, *word.ways[0].terms))
        ]
        text, terms = names[0] if names else (word.text, word.terms)
        texts.setdefault(text, terms)
    if all(word.text in texts for word in keywords):
        return []
    joined = tuple(term for terms in texts.values() for term in terms)
    return [SearchQuery(" ".join(texts), joined, tuple(texts), "augmentation")]
