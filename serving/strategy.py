"""Strategy protocol, Request, Resources, SearchSettings."""

from __future__ import annotations

from collections.abc import Collection, Generator, Mapping
from dataclasses import dataclass, fields, replace
from functools import cache
from typing import Any, Literal, NamedTuple, Protocol, get_args, get_type_hints

from shrag.indexing.errors import EncoderUnavailable
from shrag.indexing.lexical.reranker import LexicalReranker
from shrag.indexing.open_index import OpenIndex
from shrag.indexing.vectors.vector_index import VectorIndex
from shrag.models.language_model import LanguageModel
from shrag.models.reranker import Reranker
from shrag.serving.errors import SettingRejected, StrategyUnavailable
from shrag.serving.events import Event, KeywordOrder
from shrag.serving.question import Question

WordChoice = Literal["both", "compound", "split"]
Languages = Literal["both", "ko", "en"]
Rungs = Literal["all", "longest"]
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
    the queries. ``ladder``: every query of it or its longest alone. ``glossary``: whether words are carried into the
    other language. ``candidates``: what words find, what vectors find, both, or what the strategy has for its own.
    ``rerank``: whether the pool is re-ranked, or left in the order in which it was found. ``keyword_order``: what
    keywords are ranked by. ``depth``: hits each query is asked for; 0 for ten, or as many as records are wanted where
    that is more.
    """

    keywords: int = 10
    ands: int = 0
    and_reading: AndReading = "grouped"
    words: WordChoice = "split"
    languages: Languages = "both"
    ladder: Rungs = "all"
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


class Request(NamedTuple):
    """What is asked: at most ``k`` records, ranked, and an answer from the best of them if ``answered``.

    A paper that the index has under two numbers is one record of the ranking unless ``every_record`` asks for both.
    ``settings`` say how they are found; a model's own order of keywords is there only where a model chose them.
    """

    question: Question
    k: int
    answered: bool
    every_record: bool = False
    settings: SearchSettings = PRODUCT


@dataclass(frozen=True, slots=True)
class Resources:
    """What a strategy works with. Where ``model`` is None, or does not answer, everything is done without one."""

    index: OpenIndex
    reranker: Reranker
    model: LanguageModel | None = None

    def without_glossary(self) -> Resources:
        """Return the same, but for words carried into the other language: neither searched for nor ranked by."""
        reranker = self.reranker
        if isinstance(reranker, LexicalReranker):
            reranker = reranker.without_glossary()
        return replace(self, index=replace(self.index, glossary=None), reranker=reranker)


class Strategy(Protocol):
    """A way to answer. Keeps nothing of a question: one object serves any number at once."""

    @property
    def name(self) -> str:
        """The name it is asked for by."""

    def run(self, request: Request, resources: Resources) -> Generator[Event, None, None]:
        """Yield what happens as it is done: keywords, queries, hits, ranking, answer sentences, the answer, timings.

        The events of the answer are there only where the request wants one; the others always come, once each, even
        where there is nothing to find. Between them come the calls of a language model and what was done without it
        because it failed. Closing the iterator stops a model that is writing.
        """


def need_vectors(index: OpenIndex, needed_by: str, instead: str, encoder: str = "lsa") -> VectorIndex:
    """Return the index's vectors, their encoder loaded; raises :class:`StrategyUnavailable` where it has none.

    ``needed_by`` says what needs them, ``instead`` what can be done without, ``encoder`` which one would make them.
    """
    if index.dense is None:
        raise StrategyUnavailable(
            f"Index {index.name} has no vectors, which {needed_by} needs: build it with "
            f"`shrag index {index.name} --encoder {encoder}`, or {instead}."
        )
    try:
        index.dense.prepare()
    except EncoderUnavailable as error:
        raise StrategyUnavailable(str(error)) from error
    return index.dense
