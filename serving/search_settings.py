"""What an experiment may vary in the way records are found; the defaults are the product."""

from __future__ import annotations

from collections.abc import Collection, Mapping
from dataclasses import dataclass, fields
from functools import cache
from typing import Any, Literal, get_args, get_type_hints

from shrag.serving.errors import SettingRejected
from shrag.serving.events import KeywordOrder

WordChoice = Literal["both", "compound", "split"]
Languages = Literal["both", "ko", "en"]
QuerySelection = Literal["all", "longest"]
Candidates = Literal["strategy", "lexical", "dense", "hybrid"]
AndReading = Literal["grouped", "required"]

BOUNDS: Mapping[str, tuple[int, int]] = {"keywords": (1, 10), "ands": (0, 9), "depth": (0, 1_000)}
"""The least and the largest value of the settings that are numbers."""

_TRUTH = {"true": True, "false": False}


@dataclass(frozen=True, slots=True)
class SearchSettings:
    """How keywords become candidates. Each field's default is what is done where nothing is set.

    ``keywords``: how many are searched for at most. ``ands``: how many ANDs a query has, from its last keyword on.
    ``and_reading``: with one AND ``a|b|c+d`` is a, b, or c and d together (``grouped``); or d with any of the others
    (``required``). ``words``: single words, ``compound`` keywords of two neighbours, or both. ``languages``: those of
    the queries. ``queries``: all that query reduction makes, or the longest alone. ``glossary``: whether keywords are
    translated into the other language. ``candidates``: found by words, by vectors, by both, or as the strategy does by
    default. ``rerank``: whether candidates are re-ranked, or stay in the order in which they were found.
    ``keyword_order``: what keywords are ranked by. ``depth``: hits each query is asked for; 0 for ten, or ``k`` where
    that is more.
    """

    keywords: int = 10
    ands: int = 0
    and_reading: AndReading = "grouped"
    words: WordChoice = "split"
    languages: Languages = "both"
    queries: QuerySelection = "all"
    glossary: bool = True
    candidates: Candidates = "strategy"
    rerank: bool = True
    keyword_order: KeywordOrder = "tfidf"
    depth: int = 0

    def __post_init__(self) -> None:
        for name, kind in _kinds().items():
            _check(name, kind, getattr(self, name))

    @classmethod
    def from_mapping(cls, mapping: Mapping[str, Any]) -> SearchSettings:
        """Return the settings that ``mapping`` names, the others as they are by default.

        Numbers and truth values may also come as text, as on a command line. Raises :class:`SettingRejected` naming
        the key or the value that there is not, and those there are.
        """
        kinds = _kinds()
        for key in mapping:
            if key not in kinds:
                raise SettingRejected(f"There is no setting {key!r}: use {', '.join(kinds)}.")
        return cls(**{key: _read(kinds[key], value) for key, value in mapping.items()})

    @property
    def changed(self) -> dict[str, Any]:
        """The settings that are not as they are by default."""
        return {each.name: value for each in fields(self) if (value := getattr(self, each.name)) != each.default}


def refuse_unused(settings: SearchSettings, strategy: str, used: Collection[str] = ()) -> None:
    """Raise :class:`SettingRejected` for a changed setting that ``strategy`` does not use: it would pass for a result.

    The order of keywords is let pass: it is also set for a whole server, whatever it is then asked by.
    """
    unused = settings.changed.keys() - {"keyword_order", *used}
    if unused:
        raise SettingRejected(
            f"The strategy {strategy} has no setting {min(unused)}: leave it out, or ask with another strategy."
        )


@cache
def _kinds() -> dict[str, Any]:
    """Return each setting's type, in their order."""
    return get_type_hints(SearchSettings)


def _read(kind: Any, value: Any) -> Any:  # noqa: ANN401  (a value as a file or a command line has it)
    if kind is int and isinstance(value, str) and value.isascii() and value.isdigit():
        return int(value)
    if kind is bool and isinstance(value, str):
        return _TRUTH.get(value, value)
    return value


def _check(name: str, kind: Any, value: Any) -> None:  # noqa: ANN401
    if kind is int:
        least, most = BOUNDS[name]
        if type(value) is not int or not least <= value <= most:
            raise SettingRejected(f"The setting {name} is {value!r}: use a whole number from {least} to {most}.")
    elif kind is bool:
        if type(value) is not bool:
            raise SettingRejected(f"The setting {name} is {value!r}: use true or false.")
    elif value not in get_args(kind):
        raise SettingRejected(f"The setting {name} is {value!r}: use one of {', '.join(get_args(kind))}.")


PRODUCT = SearchSettings()
"""What is done where nothing is set."""
