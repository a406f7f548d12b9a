from __future__ import annotations

import json
from collections.abc import Callable, Mapping, Sequence

import pytest

from shrag.corpora.records import Record
from shrag.models.language_model import Completion, CompletionStream, LanguageModel, Message
from shrag.serving.errors import UnusableOutput
from shrag.serving.request import Question
from shrag.serving.strategies.stepwise.model_steps import (
    SolvedStep,
    SubQuestion,
    plan_substeps,
    solve_step,
    write_logical_query,
    write_passage,
    write_principle,
)

QUESTION = Question("How far do the waves reach?", "en")
STEP = SubQuestion("How high are they?", "height of waves")


class _Model:
    """Replies as it is told to, and keeps what it was asked and how many tokens it may write."""

    name = "fake"

    def __init__(self, reply: object) -> None:
        self._reply = json.dumps(reply)
        self.most: list[int] = []
        self.asked: list[str] = []

    def complete(
        self,
        messages: Sequence[Message],
        schema: Mapping[str, object] | None = None,
        *,
        max_tokens: int = 1024,
        urgent: bool = False,
    ) -> Completion:
        self.most.append(max_tokens)
        self.asked.append(messages[-1].content)
        return Completion(self._reply, "stop", 1, 1, 0.0, 0.0)

    def stream(self, messages: Sequence[Message], *, max_tokens: int = 1024) -> CompletionStream:
        raise NotImplementedError


@pytest.mark.parametrize(
    ("ask", "reply", "tokens"),
    [
        (lambda model: plan_substeps(QUESTION, 5, model), {"steps": [STEP._asdict()]}, 768),
        (lambda model: write_logical_query(STEP, QUESTION, model), {"explanation": "Tides."}, 384),
        (lambda model: write_principle(STEP, QUESTION, model), {"principle": "Tides."}, 384),
        (lambda model: write_passage(STEP, QUESTION, model), {"passage": "Tides."}, 512),
        (lambda model: solve_step("How?", "", QUESTION, [], [], model), {"solution": "So.", "record": 0}, 768),
    ],
    ids=["plan", "logical query", "principle", "passage", "solution"],
)
def test_each_call_may_write_as_many_tokens_as_its_reply_needs(
    ask: Callable[[LanguageModel], object], reply: object, tokens: int
) -> None:
    model = _Model(reply)
    ask(model)
    assert model.most == [tokens]


def test_a_plan_has_each_step_once_with_its_question_as_the_query_where_there_is_none() -> None:
    questions = [("How high?", " "), ("how HIGH?", "a"), ("?!", "b"), ("How far?", "far waves"), ("How old?", "age")]
    reply = {"steps": [{"question": question, "query": query} for question, query in questions]}
    steps, _ = plan_substeps(QUESTION, 2, _Model(reply))
    assert steps == [SubQuestion("How high?", "How high?"), SubQuestion("How far?", "far waves")]


def test_a_step_is_solved_with_its_records_its_principle_and_the_notes_of_those_before() -> None:
    model = _Model({"solution": "So.", "record": 1})
    solved = [SolvedStep("How high?", "12 m."), SolvedStep("How old?", "", "Tides age.")]
    records = [Record("D1", "Waves", "They are 12 m high.", "en", complete=True)]
    answer, _ = solve_step("How far?", "Tides rise.", QUESTION, solved, records, model)
    assert (answer.text, answer.docid) == ("So.", "D1")
    assert model.asked == [
        "⟦record 1⟧\nWaves\nThey are 12 m high.\n⟦end 1⟧\n\nLarger question: How far do the waves reach?\n\n"
        "Earlier steps:\nStep 1: How high?\nSolution: 12 m.\n\n"
        "Principle: Tides age.\nStep 2: How old?\nSolution: not settled.\n\n"
        "What lies behind this step: Tides rise.\n\nThis step: How far?"
    ]


def test_a_dash_stands_in_the_prompt_for_what_there_is_not() -> None:
    model = _Model({"solution": " ", "record": 1})
    answer, _ = solve_step("How far?", "", QUESTION, [], [], model)
    assert (answer.text, answer.docid) == ("", "")
    assert model.asked == [
        "–\n\nLarger question: How far do the waves reach?\n\nEarlier steps:\n–\n\n"
        "What lies behind this step: –\n\nThis step: How far?"
    ]


def test_ten_records_share_the_characters_of_five() -> None:
    model = _Model({"solution": "So.", "record": 1})
    records = [Record(f"D{number}", "Waves", "z" * 9_000, "en", complete=True) for number in range(10)]
    shown = []
    for count in (1, 5, 10):
        solve_step("How far?", "", QUESTION, [], records[:count], model)
        shown.append(model.asked[-1].count("z"))
    assert shown == [3_000, 15_000, 15_000]


def _plan(count: int, question: str, query: str) -> object:
    return plan_substeps(QUESTION, 5, _Model({"steps": [{"question": question, "query": query}] * count}))


@pytest.mark.parametrize(
    ("read", "refused", "said"),
    [
        (lambda: _plan(20, "a", "a"), lambda: _plan(21, "a", "a"), "length <= 20"),
        (lambda: _plan(1, "a", "a"), lambda: _plan(0, "a", "a"), "length >= 1"),
        (lambda: _plan(1, "a" * 300, "a" * 300), lambda: _plan(1, "a" * 301, "a"), "length <= 300"),
        (lambda: _plan(1, "a", "a"), lambda: _plan(1, "a", ""), "length >= 1"),
        (
            lambda: write_logical_query(STEP, QUESTION, _Model({"explanation": "a" * 900})),
            lambda: write_logical_query(STEP, QUESTION, _Model({"explanation": "a" * 901})),
            "length <= 900",
        ),
        (
            lambda: solve_step("?", "", QUESTION, [], [], _Model({"solution": "a" * 1_500, "record": 0})),
            lambda: solve_step("?", "", QUESTION, [], [], _Model({"solution": "a" * 1_501, "record": 0})),
            "length <= 1500",
        ),
    ],
    ids=["most steps", "no step", "longest question", "empty query", "longest explanation", "longest solution"],
)
def test_a_reply_within_its_lengths_is_read_and_one_beyond_them_refused(
    read: Callable[[], object], refused: Callable[[], object], said: str
) -> None:
    read()
    with pytest.raises(UnusableOutput, match=said):
        refused()


def test_an_empty_text_is_no_reply() -> None:
    with pytest.raises(UnusableOutput, match="length >= 1"):
        write_passage(STEP, QUESTION, _Model({"passage": ""}))
