"""Strategy menu and example questions."""

from __future__ import annotations

import tomllib
from collections.abc import Mapping
from functools import cache
from pathlib import Path
from typing import Any

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
    texts: dict[str, Any] = tomllib.loads(_FILE.read_text(encoding="utf-8"))
    return texts


def strategy_groups(engine: Engine, request: PageRequest) -> list[dict[str, Any]]:
    """Return the strategies of the menu in their groups, and the requested one, even if there is none of its name."""
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

    ``pipeline`` are the stages it is composed of, empty for another strategy; ``name`` and ``description`` are empty
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
"""Sources whose terms are the corpus's own; the others are lists of general words or guesses."""

_CONSIDERED = 200


def example_terms(index: OpenIndex) -> list[tuple[str, str]]:
    """Return Korean and English terms of ``index``, at most :data:`MOST_EXAMPLES` pairs, none without a glossary.

    They are the most frequent pairs mined from its own texts, terms of several words first: those say what a paper is
    about, where a single word often does not.
    """
    if index.glossary is None:
        return []
    entries = [
        entry
        for entry in index.glossary.most_frequent(_CONSIDERED)
        if entry.source in _MINED and max(len(entry.korean), len(entry.english)) <= LONGEST_NAME
    ]
    entries.sort(key=lambda entry: len(entry.english_terms) < 2)  # a stable sort: frequency orders each half
    return [(entry.korean, entry.english) for entry in entries[:MOST_EXAMPLES]]


def example_questions(index: OpenIndex, language: InterfaceLanguage, pattern: str) -> list[str]:
    """Return questions by ``pattern``, which has a blank ``{term}``, about terms in the language of the interface."""
    side = 0 if language == "ko" else 1
    return [pattern.replace("{term}", terms[side]) for terms in example_terms(index)]
