"""Settings of the search, which experiments vary. The defaults are the product's behavior."""

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
"""The least and the greatest value of each numeric setting."""

LONGEST_SETTING = 500
"""Characters that a text setting may have."""

_TRUTH = {"true": True, "false": False}


@dataclass(frozen=True, slots=True)
class SearchSettings:
    """How a question becomes keywords, queries, candidates and a ranking.

    Attributes:
        keywords: The maximum number of keywords.
        ands: The number of ANDs in a query. They join its last keywords.
        and_reading: What ``a|b|c+d`` matches. ``grouped``: a, or b, or both c and d. ``required``: d with a, b or c.
        words: What one keyword is. ``known``: a phrase that the index knows, or else a morpheme. ``blanks``: the text
            between two blanks, as in the paper. ``morphemes``: a morpheme. ``compound``: a compound of two neighbors.
            ``both``: compounds and morphemes. ``auto``: ``blanks`` if a language model chose the keywords, else
            ``known``.
        languages: The languages of the queries.
        queries: All queries of query reduction, or the longest alone.
        extra_queries: The queries beside those of query reduction. ``none``: as in the paper. ``translated``: queries
            of the keywords' translations. ``question``: a query of the question's own words. ``all``: both. ``auto``:
            ``none`` if a language model chose the keywords, else ``translated``. Without a model, the keywords are the
            question's own words.
        glossary: Whether keywords are translated into the other language.
        candidates: Whether words, vectors or both find the candidates. ``strategy``: the strategy's default.
        rerank: Whether candidates are re-ranked, or stay in the order in which they were found.
        keyword_order: How the keywords are ranked.
        depth: The hits of each query. With 0, they are ten, as in the paper, if a language model chose the keywords.
            Else they are ten or ``k``, whichever is more, and more still if phrases make fewer queries.
        paper: The title of the paper that pipelines search in; empty for the whole index.
        answer: An answer with introduction, body and conclusion, or a brief one. Only a language model writes either.
        calls: The maximum number of model calls of a plan, without those for the answer.
        seconds: A plan starts no further model call after these seconds, counted from its first call.
        steps: The maximum number of steps in which a question is solved, or of searches after the first.
        step_records: The maximum number of records from which a step is solved; 0 for the strategy's own number.
        tree_depth: The levels of a tree of questions. The user's question is the first level.
        tree_nodes: The maximum number of questions of a tree.
        tree_children: The maximum number of smaller questions that a model may give one question of a tree.
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
        """Return the settings in ``mapping``, and the defaults for all others.

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
        """Replace each ``auto`` by a value; ``model_keywords`` says whether a language model chose the keywords."""
        words, extra = self.words, self.extra_queries
        if words == "auto":
            words = "blanks" if model_keywords else "known"
        if extra == "auto":
            extra = "none" if model_keywords else "translated"
        return replace(self, words=words, extra_queries=extra)

    @property
    def own_query(self) -> bool:
        """Whether one query searches for the question's own words, beside the queries of the model's keywords."""
        return self.extra_queries in {"question", "all"}

    @property
    def changed(self) -> dict[str, Any]:
        """The settings that differ from the defaults."""
        return {each.name: value for each in fields(self) if (value := getattr(self, each.name)) != each.default}


def refuse_unused(settings: SearchSettings, strategy: str, used: Collection[str] = ()) -> None:
    """Raise :class:`SettingRejected` for a changed setting that ``strategy`` does not use: it would have no effect.

    ``keyword_order`` is always accepted, since it can be set for a whole server.
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
"""The default settings for keywords that are words of the question."""
