"""The MCP tools: their arguments, their schemas, and the functions that do the work.

Arguments have the same names as in Pyserini's tools (``query``, ``index``, ``k``, ``docid``), so that prompts for those
tools work here too.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Annotated, Any, Generic, TypeVar

import msgspec
from msgspec import Meta, Struct

from shrag.corpora.records import Record
from shrag.messages.text import Text, message_of
from shrag.models.decoding import convert
from shrag.serving.agents.connector import FetchReply, fetch_reply, results_text
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
)
from shrag.serving.api.schemas import EarlierTurn, FilterLimits, WantsFacets
from shrag.serving.api.service import find_record
from shrag.serving.concurrency import CancellationToken
from shrag.serving.errors import ClientDisconnected, QuestionError
from shrag.serving.events import Event
from shrag.serving.request import DEFAULT_K, DEFAULT_STRATEGY, LONGEST_QUESTION, MOST_PAGES, MOST_TURNS, Turn
from shrag.serving.runtime.index_registry import ServedIndexes
from shrag.serving.strategies.registry import STRATEGIES

MOST_K = 50
"""Maximum number of records of a search. An agent's model reads them all, and each has up to 2 KB."""

_Arguments = TypeVar("_Arguments", bound=Struct)

# Bounds are only in the schema that agents see. The engine checks them, and its messages are clearer.
_Question = Annotated[
    str, Meta(extra_json_schema={"maxLength": LONGEST_QUESTION}, description="The question, in Korean or English.")
]
_Index = Annotated[
    str | None, Meta(description="An index by its name, as list_indexes has it; the first where left out.")
]
_K = Annotated[int, Meta(extra_json_schema={"minimum": 1, "maximum": MOST_K}, description="Maximum number of records.")]
_Strategy = Annotated[
    str, Meta(extra_json_schema={"enum": list(STRATEGIES)}, description="How it is searched; shrag is the paper's way.")
]
_History = Annotated[
    tuple[EarlierTurn, ...],
    Meta(
        extra_json_schema={"maxItems": MOST_TURNS},
        description="The turns before, the oldest first, if the question refers to them.",
    ),
]
_Docid = Annotated[str, Meta(description="A record's identifier, as search and ask give it.")]
_Offset = Annotated[
    int, Meta(extra_json_schema={"minimum": 0}, description="The character to begin at; a long text comes by pages.")
]
_RankOffset = Annotated[
    int,
    Meta(
        extra_json_schema={"minimum": 0},
        description="Ranks before the first record, for further records: the rank of the last one there was, "
        f"up to {MOST_PAGES - 1} times k.",
    ),
]


class SearchArguments(FilterLimits, frozen=True, forbid_unknown_fields=True, kw_only=True):
    """Arguments of ``search``."""

    query: _Question
    index: _Index = None
    k: _K = DEFAULT_K
    strategy: _Strategy = DEFAULT_STRATEGY
    facets: WantsFacets = False
    history: _History = ()
    offset: _RankOffset = 0


class AskArguments(FilterLimits, frozen=True, forbid_unknown_fields=True, kw_only=True):
    """Arguments of ``ask``."""

    question: _Question
    index: _Index = None
    strategy: _Strategy = DEFAULT_STRATEGY
    history: _History = ()


class DocumentArguments(Struct, frozen=True, forbid_unknown_fields=True, kw_only=True):
    """Arguments of ``get_document``."""

    docid: _Docid
    index: _Index = None
    offset: _Offset = 0


class FetchArguments(Struct, frozen=True, forbid_unknown_fields=True, kw_only=True):
    """Arguments of ``fetch``."""

    id: Annotated[str, Meta(description="A record's id, as search gives it.")]
    index: _Index = None


class NoArguments(Struct, frozen=True, forbid_unknown_fields=True):
    """Arguments of ``list_indexes``: none."""


@dataclass(frozen=True, slots=True)
class ToolResult:
    """The result of a call: a value of the tool's ``reply`` type, a short text, and the events to be counted."""

    value: object
    text: str
    events: tuple[Event, ...] = ()


@dataclass(frozen=True, slots=True)
class Tool(Generic[_Arguments]):
    """A tool: its name and description for a model, the types of its arguments and its reply, and its function."""

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
        """Call the tool; raises :class:`QuestionError` for invalid arguments or a cancellation, and engine errors."""
        try:
            parsed = convert(dict(arguments), self.arguments)
        except msgspec.ValidationError as error:
            names = ", ".join(self.arguments.__struct_fields__) or Text("none")
            raise QuestionError(
                "invalid_arguments",
                Text(
                    "{name} cannot be called like this ({error}): its arguments are {names}.",
                    name=self.name,
                    error=error,
                    names=names,
                ),
            ) from None
        try:
            return self.work(indexes, parsed, cancellation)
        except ClientDisconnected as error:
            raise QuestionError("cancelled", message_of(error)) from None


def read_record(indexes: ServedIndexes, docid: str, name: str = "") -> tuple[str, int, Record]:
    """Return the name and generation of the index ``name`` (empty: the first), and its record ``docid``.

    Raises :class:`DocumentMissing`, and what :meth:`ServedIndexes.use` raises.
    """
    with indexes.use(name) as engine:
        return engine.name, engine.manifest.generation, find_record(engine, docid)


def _index_in_uri(indexes: ServedIndexes, name: str | None) -> str:
    """Return the name of an index for URIs of records, which is empty for the first index."""
    return "" if name in {None, "", indexes.names[0]} else str(name)


TOOLS: dict[str, Tool[Any]] = {}
"""The tools by name."""


def _tool(
    title: str, arguments: type[_Arguments], reply: type
) -> Callable[[Callable[[ServedIndexes, _Arguments, CancellationToken], ToolResult]], None]:
    """Return a decorator that makes a function a tool. The function's docstring is the tool's description."""

    def register(work: Callable[[ServedIndexes, _Arguments, CancellationToken], ToolResult]) -> None:
        description = " ".join((work.__doc__ or "").split())
        TOOLS[work.__name__] = Tool(work.__name__, title, description, arguments, reply, work)

    return register


@_tool("Search scholarly records", SearchArguments, SearchReply)
def search(indexes: ServedIndexes, arguments: SearchArguments, cancellation: CancellationToken) -> ToolResult:
    """Find Korean and English scholarly records (papers, abstracts) for a question in either language, best first."""
    if not 1 <= arguments.k <= MOST_K:
        raise QuestionError(
            "k_out_of_range", Text("k must be from 1 to {most_k}, got {k}.", most_k=MOST_K, k=arguments.k)
        )
    with indexes.use(arguments.index or "") as engine:
        result = engine.search(
            arguments.query, k=arguments.k, strategy=arguments.strategy, record_filter=arguments.record_filter(),
            facets=arguments.facets, history=_turns(arguments.history), offset=arguments.offset,
            cancellation=cancellation,
        )  # fmt: skip
    reply = search_reply(result, _index_in_uri(indexes, arguments.index))
    text = results_text(reply.results, reply.message, reply.read_as)
    return ToolResult(reply, text, (*result.fallbacks, result.timings))


@_tool("Answer from scholarly records", AskArguments, AskReply)
def ask(indexes: ServedIndexes, arguments: AskArguments, cancellation: CancellationToken) -> ToolResult:
    """Answer a question in Korean or English from the records found.

    Every sentence cites records by number and is checked against them; what failed a check is marked.
    """
    with indexes.use(arguments.index or "") as engine:
        result = engine.ask(
            arguments.question, strategy=arguments.strategy, record_filter=arguments.record_filter(),
            history=_turns(arguments.history), cancellation=cancellation,
        )  # fmt: skip
    reply = ask_reply(result)
    return ToolResult(reply, ask_text(reply), (result.answer, *result.search.fallbacks, result.search.timings))


@_tool("Read a record", DocumentArguments, DocumentReply)
def get_document(indexes: ServedIndexes, arguments: DocumentArguments, _: CancellationToken) -> ToolResult:
    """Return the title, the text and the bibliography of one record."""
    index, generation, record = read_record(indexes, arguments.docid, arguments.index or "")
    if not 0 <= arguments.offset <= len(record.text):
        raise QuestionError(
            "offset_out_of_range",
            Text(
                "offset must be from 0 to {text_count}, got {offset}.",
                text_count=len(record.text),
                offset=arguments.offset,
            ),
        )
    reply = document_reply(index, generation, record, arguments.offset)
    return ToolResult(reply, document_text(reply))


@_tool("Read a record found", FetchArguments, FetchReply)
def fetch(indexes: ServedIndexes, arguments: FetchArguments, _: CancellationToken) -> ToolResult:
    """Return one record that search found, with its whole text."""
    index, generation, record = read_record(indexes, arguments.id, arguments.index or "")
    reply = fetch_reply(index, generation, record, _index_in_uri(indexes, arguments.index))
    return ToolResult(reply, msgspec.json.encode(reply).decode())


@_tool("List the indexes", NoArguments, IndexesReply)
def list_indexes(indexes: ServedIndexes, _: NoArguments, __: CancellationToken) -> ToolResult:
    """List the indexes that can be searched, their sizes, and what is wrong with one that cannot."""
    reply = IndexesReply(indexes.describe())
    return ToolResult(reply, indexes_text(reply))


def _turns(history: Sequence[EarlierTurn]) -> list[Turn]:
    return [Turn(turn.question, turn.answer) for turn in history]


def _object_schema(kind: type) -> dict[str, Any]:
    """Return the JSON Schema of a type, with the type itself at the root: MCP requires ``type: object`` there."""
    (reference,), components = msgspec.json.schema_components([kind], ref_template="#/$defs/{name}")
    name = reference["$ref"].rpartition("/")[2]
    schema = {key: value for key, value in components.pop(name).items() if key not in {"title", "description"}}
    return schema | {"$defs": components} if components else schema
