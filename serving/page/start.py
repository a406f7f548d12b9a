"""The menu of strategies, and the example questions of the empty page."""

from __future__ import annotations

import tomllib
from collections.abc import Mapping, Sequence
from functools import cache
from pathlib import Path
from typing import Any
from weakref import WeakKeyDictionary

from shrag.indexing.glossary.store import Entry, Glossary
from shrag.indexing.open_index import OpenIndex
from shrag.indexing.query import And, Term
from shrag.serving.engine import Engine
from shrag.serving.errors import UnknownStrategy
from shrag.serving.page.request import InterfaceLanguage, PageRequest
from shrag.serving.page.snippets import LONGEST_NAME, shorten
from shrag.serving.request import DEFAULT_STRATEGY
from shrag.serving.strategies.pipeline.strategy import PipelineStrategy
from shrag.serving.strategies.registry import find_strategy

_FILE = Path(__file__).parent / "texts" / "strategies.toml"


@cache
def strategy_texts() -> Mapping[str, Any]:
    """Return the texts of each strategy by its name: ``group`` and, by language, ``name`` and ``description``.

    They are in the order in which the menu offers them.
    """
    texts: dict[str, Any] = tomllib.loads(_FILE.read_text(encoding="utf-8"))
    return texts


def strategy_groups(engine: Engine, request: PageRequest) -> list[dict[str, Any]]:
    """Return the strategies of the menu in their groups. The requested strategy is added, even if it is unknown."""
    groups: dict[str, list[dict[str, Any]]] = {}
    for name, texts in strategy_texts().items():
        option = {"value": "" if name == DEFAULT_STRATEGY else name, "code": name, "chosen": name == request.strategy}
        groups.setdefault(texts["group"], []).append(option | {"lacks": engine.lacking[name]} | texts[request.language])
    if request.strategy not in strategy_texts():
        option = {"value": request.strategy, "chosen": True, "lacks": None}
        groups["custom"] = [option | strategy_view(request.strategy, request.language)]
    return [{"group": group, "strategies": strategies} for group, strategies in groups.items()]


def strategy_view(name: str, language: InterfaceLanguage) -> dict[str, str]:
    """Return the texts of the strategy called ``name``.

    ``pipeline`` is the stages of a pipeline, and empty for any other strategy. ``name`` and ``description`` are empty
    for a custom pipeline and for an unknown strategy.
    """
    view = {"name": "", "description": "", "pipeline": "", "code": shorten(name, LONGEST_NAME)}
    try:
        strategy = find_strategy(name)
    except UnknownStrategy:
        return view
    if isinstance(strategy, PipelineStrategy):
        view["pipeline"] = str(strategy.pipeline)
    texts = strategy_texts().get(name)
    return view | dict(texts[language]) if texts else view


MOST_EXAMPLES = 4

_MINED = frozenset({"parenthetical", "keywords"})
"""Sources of pairs that come from the corpus itself. The other sources are lists of general words, or guesses."""

_CONSIDERED = 200

_LOOKED_FOR = 50
"""How many pairs are looked for in titles. Each takes two queries."""


def example_terms(index: OpenIndex) -> list[tuple[str, str]]:
    """Return at most :data:`MOST_EXAMPLES` pairs of a Korean and an English term of ``index``; none without a glossary.

    They are frequent pairs that were mined from the texts of the index. Pairs of which each term is in a title come
    first: titles name subjects rather than methods, and a question about such a pair has records in both languages.
    Then come pairs whose English term has several words.
    """
    if index.glossary is None:
        return []
    if index.glossary not in _cached_examples:
        _cached_examples[index.glossary] = _choose_examples(index, index.glossary)
    return list(_cached_examples[index.glossary])


_cached_examples: WeakKeyDictionary[Glossary, list[tuple[str, str]]] = WeakKeyDictionary()


def _choose_examples(index: OpenIndex, glossary: Glossary) -> list[tuple[str, str]]:
    entries = [
        entry
        for entry in glossary.most_frequent(_CONSIDERED)
        if entry.source in _MINED and max(len(entry.korean), len(entry.english)) <= LONGEST_NAME
    ]
    subjects = _in_titles(index, entries[:_LOOKED_FOR])
    # The sort is stable, so each part stays in the order of frequency.
    entries.sort(key=lambda entry: (entry not in subjects, len(entry.english_terms) < 2))
    pairs: list[tuple[str, str]] = []
    for entry in entries:
        if not any(entry.korean == korean or entry.english == english for korean, english in pairs):
            pairs.append((entry.korean, entry.english))
    return pairs[:MOST_EXAMPLES]


def _in_titles(index: OpenIndex, entries: Sequence[Entry]) -> set[Entry]:
    """Return the entries for which a search for either phrase first finds a record with the phrase in its title."""
    phrases = [terms for entry in entries for terms in (entry.korean_terms, entry.english_terms)]
    found = index.searcher.search([And(tuple(map(Term, terms))) for terms in phrases], 1)
    records = {hit.docid for hits in found for hit in hits}
    titles = {
        analyzed.record.docid: set(analyzed.title_terms)
        for analyzed in index.store.fetch(sorted(records))
        if analyzed is not None
    }
    named = [
        any(titles.get(hit.docid, set()).issuperset(terms) for hit in hits)
        for hits, terms in zip(found, phrases, strict=True)
    ]
    return {
        entry for entry, korean, english in zip(entries, named[::2], named[1::2], strict=True) if korean and english
    }


def example_questions(index: OpenIndex, language: InterfaceLanguage, pattern: str) -> list[str]:
    """Return example questions: ``pattern`` with each example term, in the interface's language, as ``{term}``."""
    side = 0 if language == "ko" else 1
    return [pattern.replace("{term}", terms[side]) for terms in example_terms(index)]
