"""The strategies as the page offers them: which there are, what each does, and what one lacks that cannot be asked."""

from __future__ import annotations

import tomllib
from collections.abc import Mapping
from functools import cache
from pathlib import Path
from typing import Any

from shrag.serving.composition.strategy import CompositionStrategy
from shrag.serving.display import LONGEST_NAME, shorten
from shrag.serving.engine import DEFAULT_STRATEGY, Engine, find_strategy
from shrag.serving.errors import UnknownStrategy
from shrag.serving.page_request import Asked, InterfaceLanguage

_FILE = Path(__file__).parent / "page" / "strategies.toml"


@cache
def strategy_words() -> Mapping[str, Any]:
    """Return the words for each strategy by its name: its ``group``, and by language its ``name`` and what it ``does``.

    They are in the order in which they are offered.
    """
    words: dict[str, Any] = tomllib.loads(_FILE.read_text(encoding="utf-8"))
    return words


def strategy_groups(engine: Engine, asked: Asked) -> list[dict[str, Any]]:
    """Return the strategies that the page offers, in their groups; the one asked for among them, whatever it is."""
    groups: dict[str, list[dict[str, Any]]] = {}
    for name, words in strategy_words().items():
        groups.setdefault(words["group"], []).append(
            {
                "value": "" if name == DEFAULT_STRATEGY else name,
                "code": name,
                "chosen": name == asked.strategy,
                "lacks": engine.lacking[name],
                **words[asked.language],
            }
        )
    if asked.strategy not in strategy_words():
        own = {"value": asked.strategy, "chosen": True, "lacks": None}
        groups["own"] = [own | strategy_view(asked.strategy, asked.language)]
    return [{"group": group, "strategies": strategies} for group, strategies in groups.items()]


def strategy_view(name: str, language: InterfaceLanguage) -> dict[str, str]:
    """Return what is said of the strategy called ``name``.

    ``line`` is what it is composed of, empty where it is no composition; ``name`` and ``does`` are empty where it has
    no name but its line, or is none.
    """
    said = {"name": "", "does": "", "line": "", "code": shorten(name, LONGEST_NAME)}
    try:
        strategy = find_strategy(name)
    except UnknownStrategy:
        return said
    if isinstance(strategy, CompositionStrategy):
        said["line"] = str(strategy.composition)
    words = strategy_words().get(name)
    return said | dict(words[language]) if words else said
