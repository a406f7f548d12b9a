"""Step 1 of SHRAG for every strategy that climbs the ladder: by a language model where there is one, else by idf.

Without a model, and where it fails, the question's own words are the keywords, carried into the other language by the
index's glossary.
"""

from __future__ import annotations

from collections.abc import Generator, Sequence
from typing import NamedTuple

from shrag.models.errors import ModelError
from shrag.serving.compounds import choose_words
from shrag.serving.events import Event, Fallback, Keyword, KeywordOrder, Keywords
from shrag.serving.exclusions import Wishes, read_wishes
from shrag.serving.fallback import fallen_back
from shrag.serving.keyword_order import rank_keywords
from shrag.serving.ladder import in_languages
from shrag.serving.model_keywords import extract_keywords
from shrag.serving.stopwatch import Stopwatch
from shrag.serving.strategy import Request, Resources
from shrag.serving.words import Word, question_words, searchable


class Chosen(NamedTuple):
    """The question's own ``words``, and the ``keywords`` to search for, most important first.

    ``own`` are the keywords among the question's words where a model chose others: they are searched for too, by one
    query, so that a model that mistakes the question cannot lose what it says. ``unwanted`` are the phrases whose
    records are left out.
    """

    words: list[Word]
    keywords: list[Word]
    own: list[Word]
    unwanted: Sequence[Sequence[Word]] = ()


def choose_keywords(request: Request, resources: Resources, watch: Stopwatch) -> Generator[Event, None, Chosen]:
    """Yield the model's calls, or what was done without it, then the keywords; return what was chosen."""
    index, model, settings, question = resources.index, resources.model, request.settings, request.question
    with watch.stage("keywords"):
        words = question_words(question.text, index.analyzer, index.engine, index.glossary)
        wishes = read_wishes(question.text, words) if settings.nots else Wishes(words, [])
    candidates = own = choose_words(searchable(wishes.wanted), question.text, settings.words)
    order: KeywordOrder = "tfidf" if settings.keyword_order == "model" else settings.keyword_order
    asked = ""
    if model is not None and any(word.keyword for word in words):
        try:
            with watch.stage("keywords"):
                extracted = extract_keywords(question, index, model, settings.words)
        except ModelError as error:
            yield from fallen_back("keywords", error)
        else:
            yield from extracted.calls
            if extracted.words:
                candidates, order, asked = wishes.keep(extracted.words), settings.keyword_order, model.name
            else:
                chosen = ", ".join(keyword for answer in extracted.answers for keyword in answer.keywords)
                message = f"The index has none of what {model.name} chose: {chosen}."
                yield Fallback("keywords", "invalid_output", message)
    with watch.stage("keywords"):
        candidates = in_languages(candidates, settings.languages, question.language)
        ranked = rank_keywords(candidates, order, index.engine)[: settings.keywords]
    yield Keywords(
        keywords=tuple(_keyword(word, weight) for word, weight in ranked),
        unknown=tuple(word.text for word in words if not word.known),
        order=order,
        model=asked,
    )
    beside = rank_keywords(own, "tfidf", index.engine)[: settings.keywords] if asked else []
    return Chosen(words, [word for word, _ in ranked], [word for word, _ in beside], wishes.unwanted)


def _keyword(word: Word, weight: float) -> Keyword:
    carried = tuple(way.text for way in word.ways if way.text != word.text)
    return Keyword(word.text, word.terms, weight, carried)
