"""Strategy menu and example questions."""

from __future__ import annotations

import tomllib
from collections.abc import Iterable, Mapping
from functools import cache
from pathlib import Path
from typing import Any

from shrag.indexing.glossary.store import Entry
from shrag.indexing.open_index import OpenIndex
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

    They are in the order in which they are offered.
    """
    words: dict[str, Any] = tomllib.loads(_FILE.read_text(encoding="utf-8"))
    return words


def strategy_groups(engine: Engine, asked: PageRequest) -> list[dict[str, Any]]:
    """Return the strategies that the page offers, in their groups; the one asked for among them, whatever it is."""
    groups: dict[str, list[dict[str, Any]]] = {}
    for name, words in strategy_texts().items():
        groups.setdefault(words["group"], []).append(
            {
                "value": "" if name == DEFAULT_STRATEGY else name,
                "code": name,
                "chosen": name == asked.strategy,
                "lacks": engine.lacking[name],
                **words[asked.language],
            }
        )
    if asked.strategy not in strategy_texts():
        own = {"value": asked.strategy, "chosen": True, "lacks": None}
        groups["custom"] = [own | strategy_view(asked.strategy, asked.language)]
    return [{"group": group, "strategies": strategies} for group, strategies in groups.items()]


def strategy_view(name: str, language: InterfaceLanguage) -> dict[str, str]:
    """Return what is said of the strategy called ``name``.

    ``pipeline`` are the stages it is composed of, empty for another strategy; ``name`` and ``description`` are empty
    for a custom pipeline and for an unknown strategy.
    """
    said = {"name": "", "description": "", "pipeline": "", "code": shorten(name, LONGEST_NAME)}
    try:
        strategy = find_strategy(name)
    except UnknownStrategy:
        return said
    if isinstance(strategy, PipelineStrategy):
        said["pipeline"] = str(strategy.pipeline)
    words = strategy_texts().get(name)
    return said | dict(words[language]) if words else said


MOST_EXAMPLES = 4

_MINED = frozenset({"parenthetical", "keywords"})
"""Sources that are the corpus's own words; the others are lists of general words or guesses."""

_CONSIDERED = 200


def example_terms(index: OpenIndex) -> tuple[tuple[str, str], ...]:
    """Return Korean and English names of what ``index`` is about, at most :data:`MOST_EXAMPLES` of each.

    They are the pairs seen in most records among those mined from its own texts, terms of several words first: those
    say what a paper is about, where a single word often does not. Empty where it has no glossary.
    """
    return () if index.glossary is None else tuple(_chosen(index.glossary.most_seen(_CONSIDERED)))


def examples(index: OpenIndex, language: InterfaceLanguage, pattern: str) -> list[str]:
    """Return questions by ``pattern``, which has a blank ``{term}``, about terms in the interface's language."""
    side = 0 if language == "ko" else 1
    return [pattern.replace("{term}", names[side]) for names in example_terms(index)]


def _chosen(entries: Iterable[Entry]) -> Iterable[tuple[str, str]]:
    named = [each for each in entries if each.source in _MINED and _can_be_shown(each)]
    named.sort(key=lambda each: len(each.english_terms) < 2)  # the order of frequency stays within each half
    return [(each.korean, each.english) for each in named[:MOST_EXAMPLES]]


def _can_be_shown(entry: Entry) -> bool:
    return len(entry.korean) <= LONGEST_NAME and len(entry.english) <= LONGEST_NAME
