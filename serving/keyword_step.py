"""Step 1 of SHRAG for every strategy that climbs the ladder: by a language model where there is one, else by idf.

Without a model, and where it fails, the question's own words are the keywords, carried into the other language by the
index's glossary.
"""

from __future__ import annotations

from collections.abc import Generator, Sequence
from typing import NamedTuple

from shrag.models.errors import ModelError
from shrag.models.language_model import LanguageModel
from shrag.serving.events import Event, Fallback, Keyword, KeywordOrder, Keywords, ModelCall
from shrag.serving.fallback import fallen_back
from shrag.serving.keyword_order import rank_keywords
from shrag.serving.ladder import MOST_KEYWORDS
from shrag.serving.model_keywords import ModelKeywords, extract_keywords
from shrag.serving.stopwatch import Stopwatch
from shrag.serving.strategy import Request, Resources
from shrag.serving.words import Word, question_words, searchable


class Chosen(NamedTuple):
    """The question's own ``words``, and the ``keywords`` to search for, most important first.

    ``own`` are the keywords among the question's words where a model chose others: they are searched for too, by one
    query, so that a model that mistakes the question cannot lose what it says.
    """

    words: list[Word]
    keywords: list[Word]
    own: list[Word]


def choose_keywords(request: Request, resources: Resources, watch: Stopwatch) -> Generator[Event, None, Chosen]:
    """Yield the model's calls, or what was done without it, then the keywords; return what was chosen."""
    index, model = resources.index, resources.model
    with watch.stage("keywords"):
        words = question_words(request.question.text, index.analyzer, index.engine, index.glossary)
    candidates = searchable(words)
    order: KeywordOrder = "tfidf" if request.keyword_order == "model" else request.keyword_order
    asked = ""
    if model is not None and any(word.keyword for word in words):
        try:
            with watch.stage("keywords"):
                extracted = extract_keywords(request.question, index, model)
        except ModelError as error:
            yield fallen_back("keywords", error)
        else:
            yield from _calls(extracted, model)
            if extracted.words:
                candidates, order, asked = extracted.words, request.keyword_order, model.name
            else:
                chosen = ", ".join(keyword for answer in extracted.answers for keyword in answer.value.keywords)
                message = f"The index has none of what {model.name} chose: {chosen}."
                yield Fallback("keywords", "invalid_output", message)
    with watch.stage("keywords"):
        ranked = rank_keywords(candidates, order, index.engine)[:MOST_KEYWORDS]
    yield Keywords(
        keywords=tuple(_keyword(word, weight) for word, weight in ranked),
        unknown=tuple(word.text for word in words if not word.known),
        order=order,
        model=asked,
    )
    own = rank_keywords(searchable(words), "tfidf", index.engine)[:MOST_KEYWORDS] if asked else []
    return Chosen(words, [word for word, _ in ranked], [word for word, _ in own])


def _keyword(word: Word, weight: float) -> Keyword:
    carried = tuple(way.text for way in word.ways if way.text != word.text)
    return Keyword(word.text, word.terms, weight, carried)


def _calls(extracted: ModelKeywords, model: LanguageModel) -> Sequence[ModelCall]:
    return [
        ModelCall(
            "keywords",
            model.name,
            call.prompt_tokens,
            call.completion_tokens,
            call.seconds,
            call.first_seconds,
            repaired=answer.repaired,
        )
        for answer in extracted.answers
        for call in answer.completions
    ]
