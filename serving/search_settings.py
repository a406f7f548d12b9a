"""Settings of the search: what an experiment may vary; the defaults are the product."""

from __future__ import annotations

from collections.abc import Collection, Mapping
from dataclasses import dataclass, fields, replace
from functools import cache
from typing import Any, Literal, get_args, get_type_hints

from shrag.serving.errors import SettingRejected
from shrag.serving.events import KeywordOrder

WordChoice = Literal["auto", "known", "blanks", "morphemes", "compound", "both"]
Languages = Literal["both", "ko", "en"]
QuerySelection = Literal["all", "longest"]
ExtraQueries = Literal["auto", "none", "translated", "question", "all"]
Candidates = Literal["strategy", "lexical", "dense", "hybrid"]
AndReading = Literal["grouped", "required"]

BOUNDS: Mapping[str, tuple[int, int]] = {"keywords": (1, 10), "ands": (0, 9), "depth": (0, 1_000)}
"""Least and greatest values of the settings that are numbers."""

_TRUTH = {"true": True, "false": False}


@dataclass(frozen=True, slots=True)
class SearchSettings:
    """How a question becomes keywords, queries, candidates and a ranking.

    Attributes:
        keywords: Keywords at most.
        ands: ANDs of a query, from its last keyword on.
        and_reading: Whether ``a|b|c+d`` matches a, b, or c and d together, or d together with any of the others.
        words: What one keyword is: a phrase that the index knows and otherwise a morpheme; what blanks separate, as in
            the paper; a morpheme; a compound of two neighbours; or such compounds and the morphemes. By default
            ``blanks`` where a language model chose the keywords, else ``known``.
        languages: Languages of the queries.
        queries: All that query reduction makes, or the longest alone.
        extra_queries: Queries beside those of query reduction: none, as in the paper; of the keywords' translations; of
            the question's own words; or both. By default none where a language model chose the keywords, else
            ``translated``. Without a model the keywords are the question's own words.
        glossary: Whether keywords are translated into the other language.
        candidates: Found by words, by vectors, by both, or as the strategy does by default.
        rerank: Whether candidates are re-ranked, or stay in the order in which they were found.
        keyword_order: What keywords are ranked by.
        depth: Hits of each query; 0 for ten where a language model chose the keywords, as in the paper, else for ten or
            ``k``, whichever is more.
    """

    keywords: int = 10
    ands: int = 0
    and_reading: AndReading = "grouped"
    words: WordChoice = "auto"
    languages: Languages = "both"
    queries: QuerySelection = "all"
    extra_queries: ExtraQueries = "auto"
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
        """Return the settings that ``mapping`` names, the others by default.

        Numbers and truth values may be text, as on a command line. Raises :class:`SettingRejected` for unknown keys and
        values.
        """
        kinds = _kinds()
        for key in mapping:
            if key not in kinds:
                raise SettingRejected(f"There is no setting {key!r}: use {', '.join(kinds)}.")
        return cls(**{key: _read(kinds[key], value) for key, value in mapping.items()})

    def resolve(self, *, model_keywords: bool) -> SearchSettings:
        """Return the settings with a value for each ``auto``; ``model_keywords`` says whether a model chose those."""
        words, extra = self.words, self.extra_queries
        if words == "auto":
            words = "blanks" if model_keywords else "known"
        if extra == "auto":
            extra = "none" if model_keywords else "translated"
        return replace(self, words=words, extra_queries=extra)

    @property
    def changed(self) -> dict[str, Any]:
        """The settings that differ from the defaults."""
        return {each.name: value for each in fields(self) if (value := getattr(self, each.name)) != each.default}


def refuse_unused(settings: SearchSettings, strategy: str, used: Collection[str] = ()) -> None:
    """Raise :class:`SettingRejected` for a changed setting that ``strategy`` does not use, as it would have no effect.

    The order of keywords is accepted, since it can be set for a whole server.
    """
    unused = settings.changed.keys() - {"keyword_order", *used}
    if unused:
        raise SettingRejected(
            f"The strategy {strategy} has no setting {min(unused)}: leave it out, or ask with another strategy."
        )


@cache
def _kinds() -> dict[str, Any]:
    """Return the types of the settings by name."""
    return get_type_hints(SearchSettings)


def _read(kind: Any, value: Any) -> Any:  # noqa: ANN401  (a value of a file or a command line)
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
"""The default settings."""

WITHOUT_MODEL = PRODUCT.resolve(model_keywords=False)
"""The default settings where the keywords are words of the question."""
