"""Settings of the search: what an experiment may vary; the defaults are the product."""

from __future__ import annotations

from collections.abc import Collection, Mapping
from dataclasses import dataclass, fields, replace
from functools import cache
from typing import Any, Literal, get_args, get_type_hints

from shrag.corpora.near_names import did_you_mean
from shrag.messages.text import Text
from shrag.serving.errors import SettingRejected
from shrag.serving.events import KeywordOrder

WordChoice = Literal["auto", "known", "blanks", "morphemes", "compound", "both"]
Languages = Literal["both", "ko", "en"]
QuerySelection = Literal["all", "longest"]
ExtraQueries = Literal["auto", "none", "translated", "question", "all"]
Candidates = Literal["strategy", "lexical", "dense", "hybrid"]
AndReading = Literal["grouped", "required"]

AnswerStyle = Literal["structured", "brief"]

BOUNDS: Mapping[str, tuple[int, int]] = {
    "keywords": (1, 10),
    "ands": (0, 9),
    "depth": (0, 1_000),
    "calls": (0, 200),
    "seconds": (1, 600),
    "steps": (1, 10),
    "step_records": (0, 20),
    "tree_depth": (1, 8),
    "tree_nodes": (1, 100),
    "tree_children": (1, 12),
}
"""Least and greatest values of the settings that are numbers."""

LONGEST_SETTING = 500
"""Characters of a setting that is text."""

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
        paper: The title of the paper that pipelines search in; empty for the whole index.
        answer: An answer with introduction, body and conclusion, or a brief one. Only a language model writes either.
        calls: Model calls of a plan beside the answer, at most.
        seconds: Seconds after its first call in which a plan may make others.
        steps: Steps that a question is solved in at most, or searches after the first.
        step_records: Records that a step is solved from at most; 0 for the strategy's own number.
        tree_depth: Levels of a tree of questions, the user's question being the first.
        tree_nodes: Questions of a tree, at most.
        tree_children: Smaller questions that a model may give one question of a tree.
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
    paper: str = ""
    answer: AnswerStyle = "structured"
    calls: int = 48
    seconds: int = 90
    steps: int = 5
    step_records: int = 0
    tree_depth: int = 4
    tree_nodes: int = 24
    tree_children: int = 6

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
                raise SettingRejected(
                    Text(
                        "There is no setting {key!r}: use {kinds}.{hint}",
                        key=key,
                        kinds=", ".join(kinds),
                        hint=did_you_mean(key, kinds),
                    )
                )
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
    def own_query(self) -> bool:
        """Whether the question's own words are searched for in a query beside those of the model's keywords."""
        return self.extra_queries in {"question", "all"}

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
            Text(
                "The strategy {strategy} has no setting {unused}: leave it out, or ask with another strategy.",
                strategy=strategy,
                unused=min(unused),
            )
        )


ANSWERING = frozenset({"answer"})
"""The settings of every strategy that answers from records."""

BUDGET = frozenset({"calls", "seconds"})
"""The settings of every strategy that makes a plan."""

SEARCH = (
    frozenset(each.name for each in fields(SearchSettings))
    - ANSWERING
    - BUDGET
    - {"paper", "steps", "step_records", "tree_depth", "tree_nodes", "tree_children"}
)
"""The settings of every strategy that searches as ``shrag`` does."""


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
            raise SettingRejected(
                Text(
                    "The setting {name} is {value!r}: use a whole number from {least} to {most}.",
                    name=name,
                    value=value,
                    least=least,
                    most=most,
                )
            )
    elif kind is bool:
        if type(value) is not bool:
            raise SettingRejected(Text("The setting {name} is {value!r}: use true or false.", name=name, value=value))
    elif kind is str:
        if not isinstance(value, str) or len(value) > LONGEST_SETTING:
            raise SettingRejected(
                Text(
                    "The setting {name} is {value!r:.100}: use at most {longest_setting} characters.",
                    name=name,
                    value=value,
                    longest_setting=LONGEST_SETTING,
                )
            )
    elif value not in get_args(kind):
        raise SettingRejected(
            Text(
                "The setting {name} is {value!r}: use one of {kind}.",
                name=name,
                value=value,
                kind=", ".join(get_args(kind)),
            )
        )


PRODUCT = SearchSettings()
"""The default settings."""

WITHOUT_MODEL = PRODUCT.resolve(model_keywords=False)
"""The default settings where the keywords are words of the question."""
