"""The tools as they are called, over the demonstration index."""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

import jsonschema
import msgspec
import pytest

from shrag.indexing.record_filter import RecordFilter
from shrag.models.language_model import Completion, LanguageModel, Message
from shrag.serving.agents.results import AskReply, DocumentReply, IndexesReply, SearchReply
from shrag.serving.agents.tools import TOOLS, _index_in_uri
from shrag.serving.answer_cache import AnswerCache
from shrag.serving.concurrency import CancellationToken
from shrag.serving.engine import Engine
from shrag.serving.errors import DocumentMissing, QuestionError, ServingError, UnknownIndex, UnknownStrategy
from shrag.serving.runtime.index_registry import ServedIndexes
from tests.support.scripted_models import ScriptedModel, listed

QUESTION = "재택근무를 많이 할수록 일과 가정 사이의 갈등이 커지는가?"


class _Lent(Engine):
    """The demonstration's engine, not closed with the indexes."""

    def close(self) -> None:
        """Leave it open."""


def _served(demo_home: Path, demo: Engine, model: LanguageModel | None = None) -> ServedIndexes:
    return ServedIndexes(demo_home / "indexes", ["demo"], lambda *_: _Lent(demo.open_index, model))


@pytest.fixture
def served(demo_home: Path, demo: Engine) -> Iterator[ServedIndexes]:
    """Return the demonstration index, served."""
    served = _served(demo_home, demo)
    yield served
    served.close()


def _call(served: ServedIndexes, name: str, **arguments: Any) -> Any:  # noqa: ANN401  (what each tool takes and gives)
    outcome = TOOLS[name].run(served, arguments, CancellationToken())
    value = msgspec.to_builtins(outcome.value)
    # As it is sent, it is what the tool's schema says.
    jsonschema.validate(json.loads(json.dumps(value)), TOOLS[name].output_schema)
    assert outcome.text
    return outcome.value


def test_the_uri_of_a_record_of_the_first_index_does_not_name_it(demo_home: Path, demo: Engine, tmp_path: Path) -> None:
    for name in ("first", "second"):
        (tmp_path / name).symlink_to(demo_home / "indexes" / "demo")
    two = ServedIndexes(tmp_path, ["first", "second"], lambda *_: _Lent(demo.open_index))
    assert [_index_in_uri(two, name) for name in (None, "", "first", "second")] == ["", "", "", "second"]
    two.close()


@pytest.mark.parametrize(
    ("name", "arguments"),
    [
        ("search", {"query": QUESTION}),
        ("ask", {"question": QUESTION}),
        ("get_document", {"docid": "DEMO-SOC-012"}),
        ("fetch", {"id": "DEMO-SOC-012"}),
        ("list_indexes", {}),
    ],
)
def test_an_argument_that_a_tool_does_not_have_is_refused(
    served: ServedIndexes, name: str, arguments: dict[str, str]
) -> None:
    assert len(TOOLS) == 5
    assert TOOLS[name].run(served, arguments, CancellationToken()).text
    with pytest.raises(QuestionError, match=f"{name} cannot be called like this"):
        TOOLS[name].run(served, {**arguments, "sort": "year"}, CancellationToken())


def test_search_finds_what_the_engine_finds(served: ServedIndexes, demo: Engine) -> None:
    reply: SearchReply = _call(served, "search", query=QUESTION, k=3)
    assert (reply.index, reply.index_generation, reply.strategy, reply.language) == ("demo", 1, "shrag", "ko")
    found = demo.search(QUESTION, k=3).ranking.records
    assert [record.docid for record in reply.records] == [ranked.record.docid for ranked in found]
    assert reply.records[0].docid == "DEMO-SOC-012"
    baseline: SearchReply = _call(served, "search", query=QUESTION, k=3, index="demo", strategy="bm25")
    assert baseline.strategy == "bm25"


def test_filters_and_counts_are_arguments(served: ServedIndexes, demo: Engine) -> None:
    reply: SearchReply = _call(served, "search", query=QUESTION, year_from=2022, language=["en"], facets=True)
    found = demo.search(QUESTION, record_filter=RecordFilter(year_from=2022, language=("en",)), facets=True)
    assert [record.docid for record in reply.records] == [ranked.record.docid for ranked in found.ranking.records]
    assert reply.records
    assert reply.facets == found.facets
    answer: AskReply = _call(served, "ask", question=QUESTION, author=["nobody"])
    assert (answer.reason, answer.citations) == ("filtered_out", ())
    with pytest.raises(QuestionError, match=r"years end before they begin \(2022 to 2020\)"):
        _call(served, "search", query=QUESTION, year_from=2022, year_to=2020)


def test_further_records_are_found_at_an_offset(served: ServedIndexes, demo: Engine) -> None:
    reply: SearchReply = _call(served, "search", query=QUESTION, k=3, offset=3)
    assert [record.rank for record in reply.records] == [4, 5, 6]
    assert [record.docid for record in reply.records] == [
        each.record.docid for each in demo.search(QUESTION, k=3, offset=3)
    ]
    end: SearchReply = _call(served, "search", query="그래핀", k=50, offset=450)
    assert (end.reason, end.records) == ("past_end", ())


def test_a_reply_says_whether_it_was_made_for_an_earlier_question(demo_home: Path, demo: Engine) -> None:
    cache = AnswerCache()
    served = ServedIndexes(demo_home / "indexes", ["demo"], lambda *_: _Lent(demo.open_index, cache=cache))
    searches: list[SearchReply] = [_call(served, "search", query=QUESTION) for _ in range(2)]
    answers: list[AskReply] = [_call(served, "ask", question=QUESTION) for _ in range(2)]
    served.close()
    assert [each.cached for each in searches] == [each.cached for each in answers] == [False, True]
    assert searches[0].records == searches[1].records
    assert answers[0].answer == answers[1].answer


def test_ask_answers_what_the_engine_answers(served: ServedIndexes, demo: Engine) -> None:
    reply: AskReply = _call(served, "ask", question=QUESTION, index=None)
    answer = demo.ask(QUESTION).answer
    assert [(each.number, each.docid) for each in reply.citations] == [(1, "DEMO-SOC-012")]
    assert [each.text for each in reply.sentences] == [s.text for section in answer.sections for s in section.sentences]
    assert (reply.kind, reply.reason, reply.citation_precision) == ("extractive", "", None)
    nothing: AskReply = _call(served, "ask", question="zzzz qqqq")
    assert (nothing.reason, nothing.citations, nothing.sentences) == ("unknown_words", (), ())
    assert nothing.answer == "None of the question's words is in a title or abstract of this index. Ask in other words."


def test_get_document_gives_the_record(served: ServedIndexes, demo: Engine) -> None:
    reply: DocumentReply = _call(served, "get_document", docid="DEMO-SOC-012")
    record = demo.document("DEMO-SOC-012")
    assert record is not None
    assert (reply.text, reply.title, reply.year) == (record.text, record.title, record.year)
    later: DocumentReply = _call(served, "get_document", docid="DEMO-SOC-012", offset=10)
    assert later.text == record.text[10:]


def test_list_indexes_gives_those_served(served: ServedIndexes) -> None:
    reply: IndexesReply = _call(served, "list_indexes")
    assert [(each.name, each.records) for each in reply.indexes] == [("demo", 235)]


@pytest.mark.parametrize(
    ("name", "arguments", "kind", "words"),
    [
        ("search", {"query": ""}, QuestionError, "The question is empty: write one."),
        ("search", {"query": " \u200b\n"}, QuestionError, "The question is empty: write one."),
        ("search", {"query": "가" * 2_001}, QuestionError, "The question has 2001 characters, at most 2000 are read"),
        ("search", {"query": "x", "k": 0}, QuestionError, "k must be from 1 to 50, got 0."),
        ("search", {"query": "x", "k": 51}, QuestionError, "k must be from 1 to 50, got 51."),
        ("search", {"query": "x", "k": -(10**30)}, QuestionError, "search cannot be called like this|k must be"),
        ("search", {"query": "x", "k": 5, "offset": 46}, QuestionError, "offset must be from 0 to 45 where k is 5"),
        ("search", {"query": "x", "k": "5"}, QuestionError, "Expected `int`, got `str` - at `\\$.k`"),
        ("search", {"query": "x", "index": "nope"}, UnknownIndex, "There is no index 'nope' here: use one of demo."),
        ("search", {"query": "x", "strategy": "toq"}, UnknownStrategy, "There is no strategy 'toq'"),
        (
            "search",
            {},
            QuestionError,
            "missing required field `query`.*its arguments are year_from, .* query, index, k",
        ),
        ("search", {"qeury": "x"}, QuestionError, "unknown field `qeury`"),
        ("search", {"query": ["x"]}, QuestionError, "Expected `str`, got `array`"),
        ("ask", {"question": ""}, QuestionError, "The question is empty"),
        ("ask", {"question": "x", "index": "../demo"}, UnknownIndex, "There is no index '../demo' here"),
        ("get_document", {"docid": "NOPE"}, DocumentMissing, "Index demo has no document 'NOPE': use a docid that"),
        ("get_document", {"docid": ""}, DocumentMissing, "has no document ''"),
        ("get_document", {"docid": "DEMO-SOC-012", "offset": -1}, QuestionError, "offset must be from 0 to .* got -1"),
        ("get_document", {"docid": "DEMO-SOC-012", "offset": 10**6}, QuestionError, "got 1000000"),
        ("list_indexes", {"name": "demo"}, QuestionError, "unknown field `name`.*its arguments are none"),
    ],
)
def test_what_cannot_be_done_is_said_in_one_sentence(
    served: ServedIndexes, name: str, arguments: dict[str, Any], kind: type[ServingError], words: str
) -> None:
    with pytest.raises(kind, match=words) as raised:
        TOOLS[name].run(served, arguments, CancellationToken())
    assert "\n" not in str(raised.value)


def test_a_call_withdrawn_stops_the_model(demo_home: Path, demo: Engine) -> None:
    cancellation = CancellationToken()

    class _GivingUp(ScriptedModel):
        def complete(
            self,
            messages: Sequence[Message],
            schema: Mapping[str, object] | None = None,
            *,
            max_tokens: int = 1024,
            urgent: bool = False,
        ) -> Completion:
            cancellation.cancel()
            return super().complete(messages, schema, max_tokens=max_tokens)

    model = _GivingUp(listed("재택근무"), listed("work"), ["##본론##\n재택근무이다 [1]."])
    served = _served(demo_home, demo, model)
    with pytest.raises(QuestionError, match="cancelled"):
        TOOLS["ask"].run(served, {"question": QUESTION}, cancellation)
    assert model.streams == []
    served.close()


@pytest.mark.parametrize("arguments", [{"query": QUESTION}, {"question": QUESTION}])
def test_a_call_withdrawn_before_it_begins_is_not_worked_on(served: ServedIndexes, arguments: dict[str, Any]) -> None:
    early = CancellationToken()
    early.cancel()
    with pytest.raises(QuestionError, match="cancelled"):
        TOOLS["search" if "query" in arguments else "ask"].run(served, arguments, early)


def test_the_arguments_and_replies_are_objects_with_their_bounds_in_the_schema() -> None:
    for tool in TOOLS.values():
        for schema in (tool.input_schema, tool.output_schema):
            jsonschema.Draft202012Validator.check_schema(schema)
            assert schema["type"] == "object"
    k = TOOLS["search"].input_schema["properties"]["k"]
    assert (k["minimum"], k["maximum"], k["default"]) == (1, 50, 10)
    assert TOOLS["search"].input_schema["required"] == ["query"]
