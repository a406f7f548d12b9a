"""Request and response schemas of the /v1 API."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Annotated, Literal

from msgspec import Meta, Struct

from shrag.corpora.records import Language
from shrag.indexing.record_filter import LATEST_YEAR, LONGEST_VALUE, MOST_VALUES, FacetCounts, RecordFilter
from shrag.serving.answering.formats import AnswerFormat
from shrag.serving.events import (
    Authors,
    Citation,
    Confidence,
    EmptyReason,
    Fallback,
    FollowUp,
    Keyword,
    KeywordOrder,
    ListingKind,
    ModelCall,
    NearestRecord,
    Node,
    RankedRecord,
    ScoredDoc,
    Section,
    Truncated,
)
from shrag.serving.request import (
    DEFAULT_K,
    DEFAULT_STRATEGY,
    LARGEST_K,
    MOST_PAGES,
    MOST_TURNS,
    AnswerLanguage,
    parse_filter,
)

_K = Annotated[int, Meta(ge=1, le=LARGEST_K, description="Maximum number of records.")]
_Offset = Annotated[
    int,
    Meta(
        ge=0,
        description="Ranks to skip, for a further page: the rank of the last record of the page before. "
        f"A page ends at rank {LARGEST_K:,} and at {MOST_PAGES} times k at most.",
    ),
]


_YEAR = Annotated[int, Meta(ge=0, le=LATEST_YEAR)]
_VALUES = Annotated[list[Annotated[str, Meta(min_length=1, max_length=LONGEST_VALUE)]], Meta(max_length=MOST_VALUES)]


class FilterLimits(Struct, frozen=True, forbid_unknown_fields=True, kw_only=True):
    """Which records may be found: of several values of a field a record needs one, of several fields all.

    Values are whole names, in any letter case.
    """

    year_from: Annotated[_YEAR | None, Meta(description="The first year, included.")] = None
    year_to: Annotated[_YEAR | None, Meta(description="The last year, included.")] = None
    language: Annotated[list[Language], Meta(description="The records' languages.")] = []
    journal: Annotated[_VALUES, Meta(description="Names of journals.")] = []
    type: Annotated[_VALUES, Meta(description="Types of records, such as article-journal.")] = []
    author: Annotated[_VALUES, Meta(description="Whole names of authors, as the records have them.")] = []

    def record_filter(self) -> RecordFilter:
        """Return the filter; raises :class:`~shrag.serving.errors.QuestionError` if it is not valid."""
        return parse_filter({name: getattr(self, name) for name in FilterLimits.__struct_fields__})


_INDEX = Annotated[str, Meta(max_length=100, description="The index by its name, empty for the first one served.")]
WantsFacets = Annotated[bool, Meta(description="Count all hits by year, language, journal, type and author.")]


class EarlierTurn(Struct, frozen=True, forbid_unknown_fields=True):
    """A question asked before, and the answer to it, which a language model reads where there is one."""

    question: str
    answer: str = ""


class QuestionRequest(Struct, frozen=True, forbid_unknown_fields=True):
    """The common fields of the bodies of ``POST /v1/search`` and ``POST /v1/ask``. Unknown fields are refused."""

    question: str
    k: _K = DEFAULT_K
    strategy: str = DEFAULT_STRATEGY
    keyword_order: Annotated[KeywordOrder, Meta(description="How the keywords are ranked.")] = "tfidf"
    choices: Annotated[
        list[str], Meta(description="The choices of a multiple-choice question: from 2 to 10, or none.")
    ] = []
    settings: Annotated[
        dict[str, str | int | bool],
        Meta(
            description="Settings of the search, of plans and of the answer, by name: "
            "docs/en/reference/search-settings.md."
        ),
    ] = {}
    filter: Annotated[FilterLimits, Meta(description="Which records may be found.")] = FilterLimits()
    facets: WantsFacets = False
    index: _INDEX = ""
    history: Annotated[
        list[EarlierTurn],
        Meta(max_length=MOST_TURNS, description="The turns before a follow-up question, the oldest first."),
    ] = []


class SearchRequest(QuestionRequest, frozen=True, forbid_unknown_fields=True):
    """The body of ``POST /v1/search``. Unknown fields are refused."""

    offset: _Offset = 0


class AskRequest(QuestionRequest, frozen=True, forbid_unknown_fields=True):
    """The body of ``POST /v1/ask``. Unknown fields are refused."""

    format: Annotated[AnswerFormat, Meta(description="The form of the answer's `text`.")] = "cited"
    stream: Annotated[bool, Meta(description="Send the events of answering as server-sent events, as they happen.")] = (
        False
    )
    min_confidence: Annotated[
        Annotated[float, Meta(ge=0, le=1)] | None,
        Meta(description="Refuse to answer if the confidence is lower than this; null for the server's threshold."),
    ] = None


class SearchQuery(FilterLimits, frozen=True, kw_only=True):
    """The query string of ``GET /v1/search``. A parameter that is a list may be repeated."""

    q: Annotated[str, Meta(description="The question.")]
    k: _K = DEFAULT_K
    strategy: str = DEFAULT_STRATEGY
    keyword_order: KeywordOrder = "tfidf"
    facets: WantsFacets = False
    index: _INDEX = ""
    offset: _Offset = 0


class DocumentQuery(Struct, frozen=True):
    """The query string of ``GET /v1/documents``."""

    docid: Annotated[str, Meta(min_length=1, max_length=512)]
    index: _INDEX = ""


@dataclass(frozen=True, slots=True)
class SearchResponse:
    """The records found, and how.

    ``reason`` and its sentence ``message`` are empty where there are records. ``confidence`` says how likely the best
    record answers, null where it is not known. ``filter`` is that of the request; ``facets`` are counts over all hits,
    null unless they were asked for. Records with all words of one of the ``excluded`` phrases are left out.

    ``nodes`` are the final states of the questions of a plan, ``truncated`` the budgets that it exhausted; both are
    empty without a plan. ``follow_up`` says how a follow-up question was read, null where it was read as it stands.
    ``authors`` are the authors that the question names, null without any.
    ``cached`` says that the same question was searched for before in this generation of the index. ``seconds`` and
    ``model_calls`` are of this request alone.
    """

    question: str
    language: AnswerLanguage
    index: str
    index_generation: int
    strategy: str
    reason: EmptyReason
    message: str
    keywords: tuple[Keyword, ...]
    unknown_words: tuple[str, ...]
    excluded: tuple[str, ...]
    queries: tuple[tuple[str, ...], ...]
    candidates: tuple[str, ...]
    incomplete: tuple[str, ...]
    dense: tuple[ScoredDoc, ...]
    encoder: str
    encoder_is_model: bool
    reranker: str
    reranker_is_model: bool
    records: tuple[RankedRecord, ...]
    confidence: Confidence | None
    filter: RecordFilter
    facets: FacetCounts | None
    keyword_order: KeywordOrder
    keyword_model: str
    fallbacks: tuple[Fallback, ...]
    nodes: tuple[Node, ...]
    truncated: tuple[Truncated, ...]
    follow_up: FollowUp | None
    authors: Authors | None
    # The fields that belong to one request only come last: shrag.serving.api.encoding relies on this order.
    model_calls: tuple[ModelCall, ...]
    seconds: dict[str, float]
    cached: bool
    request_id: str = ""


@dataclass(frozen=True, slots=True)
class AnswerBody:
    """The answer as text and in sections; ``kind``, ``model`` and ``label`` say who wrote it.

    ``citation_precision`` is, of an answer that a language model wrote, the share of its citations whose sentences are
    supported; null where it has none and where the answer is quoted from the records. ``choice`` is the letter of the
    choice made, empty where there is none. Where no record answers, ``reason`` is not empty, there are no sections and
    citations, and ``nearest`` are the nearest records. ``uncovered`` are distinctive words of the question that the
    quoted record does not have, or that the closest records do not have where none is quoted; ``quoted_language`` is
    the language of the record quoted where that is not the question's, else null. ``uncertain`` says that an extractive
    answer has low confidence, or that a record without abstract fits better: it quotes the nearest record that can be
    quoted, which may not answer. ``suggestion`` is then, or where no record answers, the question with misspelt words
    as the records spell them; mostly empty. ``listing`` says what an extractive answer lists where no single record
    answers: for a broad subject, it quotes one record and names up to seven more; mostly empty.
    """

    kind: str
    label: str
    model: str
    complete: bool
    citation_precision: float | None
    language: AnswerLanguage
    reason: EmptyReason
    text: str
    sections: tuple[Section, ...]
    citations: tuple[Citation, ...]
    choice: str
    nearest: tuple[NearestRecord, ...]
    uncovered: tuple[str, ...]
    quoted_language: AnswerLanguage | None
    uncertain: bool
    listing: ListingKind
    suggestion: str


@dataclass(frozen=True, slots=True)
class AskResponse:
    """The answer and the search it was made from."""

    answer: AnswerBody
    search: SearchResponse
    request_id: str = ""


@dataclass(frozen=True, slots=True)
class StreamStarted:
    """The first event of a streamed answer: its index, and whether the answer was made for an earlier question."""

    index: str
    index_generation: int
    strategy: str
    cached: bool
    request_id: str
    event: Literal["started"] = "started"


@dataclass(frozen=True, slots=True)
class SourceRecord:
    """A record that an answer was made from, in brief."""

    rank: int
    docid: str
    title: str
    score: float


@dataclass(frozen=True, slots=True)
class IndexEntry:
    """An index that is served; ``strategies`` are the available ones, ``digest`` is the SHA-256 of its manifest."""

    name: str
    generation: int
    records: int
    created: str
    digest: str
    strategies: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class IndexList:
    """The body of ``GET /v1/indexes``."""

    indexes: tuple[IndexEntry, ...]


GeneratorStatus = Literal["extractive", "ready", "degraded"]
"""What writes the answers.

``extractive``: no language model is configured. ``ready``: one is configured, and it answers. ``degraded``: one is
configured, but it fails.
"""


@dataclass(frozen=True, slots=True)
class Liveness:
    """The process runs."""

    status: Literal["live"] = "live"


@dataclass(frozen=True, slots=True)
class IndexHealth:
    """The state of one index: its generation that answers, and why that is not the published one, as in ``Health``.

    ``reranker_problem`` says why records are ranked by words alone although the index has vectors of a model, such as
    that its weights are missing; empty where they are not.
    """

    name: str
    generation: int
    problem: str
    records: int
    files: str
    reranker_problem: str


@dataclass(frozen=True, slots=True)
class ModelEndpoint:
    """One of several endpoints of the language model: its host and port, and whether it gets requests.

    ``problem`` says why it gets none, empty where it does. ``in_flight`` are this process's requests that it works on,
    ``failures`` those that failed there since the start.
    """

    host: str
    up: bool
    problem: str
    in_flight: int
    failures: int


@dataclass(frozen=True, slots=True)
class Health:
    """Whether questions are answered, and over what.

    ``index``, ``index_generation``, ``index_problem``, ``records`` and ``files`` are those of the first index;
    ``indexes`` has the same of each. Ready is a server that can answer from one of them. ``endpoints`` are those of the
    language model where several are configured.

    ``files`` is ``checking`` while an index that was opened quickly is read through, and ``verified`` from then on.
    Where ``generator_status`` is ``degraded``, ``generator_failure`` says why; searches and extractive answers go on.
    ``index_problem`` says why the generation that is published is not the one that answers, empty where it is;
    ``background_problem`` which background work fails, such as looking for a new generation, empty where none does.
    """

    status: str
    index: str
    index_generation: int
    index_problem: str
    records: int
    files: str
    generator_status: GeneratorStatus
    generator_failure: str
    language_model: str | None
    background_problem: str
    indexes: tuple[IndexHealth, ...] = ()
    endpoints: tuple[ModelEndpoint, ...] = ()
