"""MCP tools: arguments, schemas, handlers.

Their arguments have Pyserini's names (``query``, ``index``, ``k``, ``docid``): prompts written for it carry over.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Annotated, Any, Generic, TypeVar

import msgspec
from msgspec import Meta, Struct

from shrag.corpora.records import Record
from shrag.models.decoding import convert
from shrag.serving.agents.connector import FetchReply, fetch_reply, fetch_text
from shrag.serving.agents.results import (
    AskReply,
    DocumentReply,
    IndexesReply,
    SearchReply,
    ask_reply,
    ask_text,
    document_reply,
    document_text,
    indexes_text,
    search_reply,
    search_text,
)
from shrag.serving.api.service import find_record
from shrag.serving.concurrency import CancellationToken
from shrag.serving.errors import ClientDisconnected, QuestionError
from shrag.serving.request import DEFAULT_K, DEFAULT_STRATEGY, LONGEST_QUESTION
from shrag.serving.runtime.index_registry import ServedIndexes
from shrag.serving.strategies.registry import STRATEGIES

MOST_K = 50
"""Records a search gives an agent at most; each is up to 2 KB of what its model reads."""

_Arguments = TypeVar("_Arguments", bound=Struct)

# In the schema only: what breaks a bound is told in the engine's own words.
_Question = Annotated[
    str, Meta(extra_json_schema={"maxLength": LONGEST_QUESTION}, description="The question, in Korean or English.")
]
_Index = Annotated[
    str | None, Meta(description="An index by its name, as list_indexes has it; the first where left out.")
]
_K = Annotated[int, Meta(extra_json_schema={"minimum": 1, "maximum": MOST_K}, description="Records at most.")]
_Strategy = Annotated[
    str, Meta(extra_json_schema={"enum": list(STRATEGIES)}, description="How it is searched; shrag is the paper's way.")
]
_Docid = Annotated[str, Meta(description="A record's identifier, as search and ask give it.")]
_Offset = Annotated[
    int, Meta(extra_json_schema={"minimum": 0}, description="The character to begin at; a long text comes by pages.")
]


class SearchArguments(Struct, frozen=True, forbid_unknown_fields=True, kw_only=True):
    """What ``search`` is called with."""

    query: _Question
    index: _Index = None
    k: _K = DEFAULT_K
    strategy: _Strategy = DEFAULT_STRATEGY


class AskArguments(Struct, frozen=True, forbid_unknown_fields=True, kw_only=True):
    """What ``ask`` is called with."""

    question: _Question
    index: _Index = None
    strategy: _Strategy = DEFAULT_STRATEGY


class DocumentArguments(Struct, frozen=True, forbid_unknown_fields=True, kw_only=True):
    """What ``get_document`` is called with."""

    docid: _Docid
    index: _Index = None
    offset: _Offset = 0


class FetchArguments(Struct, frozen=True, forbid_unknown_fields=True, kw_only=True):
    """What ``fetch`` is called with."""

    id: Annotated[str, Meta(description="A record's id, as search gives it.")]
    index: _Index = None


class NoArguments(Struct, frozen=True, forbid_unknown_fields=True):
    """What ``list_indexes`` is called with."""


@dataclass(frozen=True, slots=True)
class ToolResult:
    """What a tool gives: a value that its ``reply`` type describes, and short text."""

    value: object
    text: str


@dataclass(frozen=True, slots=True)
class Tool(Generic[_Arguments]):
    """A tool: its name and words for a model, its arguments and reply as types, and what it does."""

    name: str
    title: str
    description: str
    arguments: type[_Arguments]
    reply: type
    work: Callable[[ServedIndexes, _Arguments, CancellationToken], ToolResult]

    @property
    def input_schema(self) -> dict[str, Any]:
        """The arguments' JSON Schema."""
        return _object_schema(self.arguments)

    @property
    def output_schema(self) -> dict[str, Any]:
        """The reply's JSON Schema."""
        return _object_schema(self.reply)

    def run(self, indexes: ServedIndexes, arguments: Mapping[str, Any], cancellation: CancellationToken) -> ToolResult:
        """Do it; raises :class:`QuestionError` for wrong arguments and once it is cancelled, and as the engine does."""
        try:
            given = convert(dict(arguments), self.arguments)
        except msgspec.ValidationError as error:
            names = ", ".join(self.arguments.__struct_fields__) or "none"
            raise QuestionError(
                "invalid_arguments", f"{self.name} cannot be called like this ({error}): its arguments are {names}."
            ) from None
        return self.work(indexes, given, cancellation)


def read_record(indexes: ServedIndexes, docid: str, name: str = "") -> tuple[str, int, Record]:
    """Return the record ``docid`` of the index ``name`` (empty: the first), with that index's name and generation.

    Raises :class:`DocumentMissing`, and as :meth:`ServedIndexes.use` does.
    """
    with indexes.use(name) as engine:
        return engine.name, engine.manifest.generation, find_record(engine, docid)


def _named(indexes: ServedIndexes, name: str | None) -> str:
    """Return ``name`` as records' addresses have it: empty for the first index."""
    return "" if name in {None, "", indexes.names[0]} else str(name)


def _search(indexes: ServedIndexes, given: SearchArguments, _: CancellationToken) -> ToolResult:
    if not 1 <= given.k <= MOST_K:
        raise QuestionError("k_out_of_range", f"k must be from 1 to {MOST_K}, got {given.k}.")
    with indexes.use(given.index or "") as engine:
        result = engine.search(given.query, k=given.k, strategy=given.strategy)
    reply = search_reply(result, _named(indexes, given.index))
    return ToolResult(reply, search_text(reply))


def _fetch(indexes: ServedIndexes, given: FetchArguments, _: CancellationToken) -> ToolResult:
    index, generation, record = read_record(indexes, given.id, given.index or "")
    reply = fetch_reply(index, generation, record, _named(indexes, given.index))
    return ToolResult(reply, fetch_text(reply))


def _ask(indexes: ServedIndexes, given: AskArguments, cancellation: CancellationToken) -> ToolResult:
    with indexes.use(given.index or "") as engine:
        try:
            result = engine.ask(given.question, strategy=given.strategy, cancellation=cancellation)
        except ClientDisconnected as error:
            raise QuestionError("cancelled", str(error)) from None
    reply = ask_reply(result)
    return ToolResult(reply, ask_text(reply))


def _document(indexes: ServedIndexes, given: DocumentArguments, _: CancellationToken) -> ToolResult:
    index, generation, record = read_record(indexes, given.docid, given.index or "")
    if not 0 <= given.offset <= len(record.text):
        raise QuestionError("offset_out_of_range", f"offset must be from 0 to {len(record.text)}, got {given.offset}.")
    reply = document_reply(index, generation, record, given.offset)
    return ToolResult(reply, document_text(reply))


def _indexes(indexes: ServedIndexes, _: NoArguments, __: CancellationToken) -> ToolResult:
    reply = IndexesReply(indexes.describe())
    return ToolResult(reply, indexes_text(reply))


_ALL: tuple[Tool[Any], ...] = (
    Tool(
        "search",
        "Search scholarly records",
        "Find Korean and English scholarly records (papers, abstracts) for a question in either language, best first.",
        SearchArguments,
        SearchReply,
        _search,
    ),
    Tool(
        "ask",
        "Answer from scholarly records",
        "Answer a question in Korean or English from the records found. Every sentence cites records by number and is "
        "checked against them; what failed a check is marked.",
        AskArguments,
        AskReply,
        _ask,
    ),
    Tool(
        "get_document",
        "Read a record",
        "Return the title, the text and the bibliography of one record.",
        DocumentArguments,
        DocumentReply,
        _document,
    ),
    Tool(
        "fetch",
        "Read a record found",
        "Return one record that search found, with its whole text.",
        FetchArguments,
        FetchReply,
        _fetch,
    ),
    Tool(
        "list_indexes",
        "List the indexes",
        "List the indexes that can be searched, their sizes, and what is wrong with one that cannot.",
        NoArguments,
        IndexesReply,
        _indexes,
    ),
)

TOOLS: Mapping[str, Tool[Any]] = {tool.name: tool for tool in _ALL}
"""The tools, by their names."""


def _object_schema(kind: type) -> dict[str, Any]:
    """Return the JSON Schema of a type with the type itself at the root: MCP wants ``type: object`` there."""
    (reference,), components = msgspec.json.schema_components([kind], ref_template="#/$defs/{name}")
    name = reference["$ref"].rpartition("/")[2]
    schema = {key: value for key, value in components.pop(name).items() if key not in {"title", "description"}}
    return schema | {"$defs": components} if components else schema
