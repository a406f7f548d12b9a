from __future__ import annotations

from contextlib import suppress

import pytest
from hypothesis import given
from hypothesis import strategies as st

from shrag.messages.text import in_language
from shrag.serving.errors import PipelineRejected
from shrag.serving.strategies.pipeline.syntax import STAGE_KINDS, Argument, Pipeline, Stage, parse_pipeline

# Written out, so that a change of the module's own is noticed.
LONGEST_LINE = 300
MOST_SEARCHES = 16

_SCORES = st.integers(0, 9_999).map(lambda number: number / 10_000)


@st.composite
def pipelines(draw: st.DrawFn) -> Pipeline:
    """Draw any pipeline."""
    makers = draw(st.lists(st.sampled_from(["augment", "hypothesis", "expand"]), unique=True))
    sizes: dict[str, st.SearchStrategy[Argument]] = {
        "augment": st.integers(1, 4),
        "hypothesis": st.integers(1, 2),
        "expand": st.just("glossary"),
    }
    stages = [Stage(name, draw(sizes[name])) for name in makers]
    finders = draw(st.lists(st.sampled_from(["retrieve", "dense"]), unique=True, min_size=1))
    pool = st.integers(1, 1_000)
    stages += [Stage(name, draw(pool)) for name in finders]
    if makers or len(finders) > 1:
        stages.append(Stage("rrf", draw(pool)))
    behind = draw(st.sampled_from([[], ["rerank"], ["rerank", "filter"], ["temp_answer", "answer_rerank"]]))
    for name in [*behind, *(draw(st.sampled_from([[], ["filter"]])) if "answer_rerank" in behind else [])]:
        argument = {"number": draw(pool), "score": draw(_SCORES), "none": None}[STAGE_KINDS[name].form]
        stages.append(Stage(name, argument))
    return Pipeline(tuple(stages))


@given(pipelines())
def test_a_printed_pipeline_parses_to_the_same_pipeline(pipeline: Pipeline) -> None:
    line = str(pipeline)
    assert parse_pipeline(line) == pipeline
    assert str(parse_pipeline(line.replace(" ", ""))) == line
    assert len(line) <= LONGEST_LINE


@given(st.text(max_size=400))
def test_any_text_is_a_pipeline_or_rejected(text: str) -> None:
    with suppress(PipelineRejected):
        assert parse_pipeline(str(parse_pipeline(text))) == parse_pipeline(text)


@pytest.mark.parametrize(
    ("line", "says"),
    [
        ("", "'' is not a stage: write one as retrieve"),
        ("retrieve(10) >", "'' is not a stage"),
        ("retrieve(10)) > rerank(5)", "is not a stage"),
        ("retrive(10)", "There is no stage 'retrive': did you mean retrieve?"),
        ("Rerank(10)", "There is no stage 'Rerank': did you mean rerank?"),
        ("search(10)", "There is no stage 'search': use augment, hypothesis"),
        ("retrieve", r"The stage retrieve does not have the form retrieve\(1…1000\): write it like that"),
        ("retrieve(0)", r"The stage retrieve\(0\) does not have the form retrieve\(1…1000\)"),
        ("retrieve(1001)", "does not have the form retrieve"),
        ("retrieve(1.5)", "does not have the form retrieve"),
        ("retrieve(ten)", "does not have the form retrieve"),
        ("augment(9) > retrieve(10) > rrf(5)", r"does not have the form augment\(1…8\)"),
        ("expand(wordnet) > retrieve(10) > rrf(5)", r"does not have the form expand\(glossary\)"),
        ("retrieve(10) > rerank(5) > filter(1)", r"does not have the form filter\(0…0.9999\)"),
        ("retrieve(10) > rerank(5) > filter(0.60001)", r"does not have the form filter\(0…0.9999\)"),
        ("retrieve(10) > temp_answer(3) > answer_rerank(5)", "does not have the form temp_answer: write it like that"),
        ("retrieve(10) > retrieve(5)", "The stage retrieve occurs twice"),
        ("retrieve(10) > rerank(9) > rerank(5)", "The stage rerank occurs twice"),
        ("augment(2)", r"has no search stage: add retrieve\(10\)"),
        ("rerank(5)", r"rerank\(5\) has nothing to work on yet: put retrieve\(10\) before it"),
        ("retrieve(10) > augment(2) > rrf(15)", r"augment\(2\) comes too late"),
        ("augment(2) > retrieve(10) > rrf(9) > dense(10)", r"dense\(10\) comes too late"),
        ("augment(2) > retrieve(10) > rerank(5)", "each query has its own: put rrf"),
        ("augment(2) > retrieve(10)", "ends with 3 lists: put rrf"),
        ("retrieve(10) > dense(10)", "ends with 2 lists: put rrf"),
        ("retrieve(10) > rrf(15)", "rrf has only one list to fuse"),
        ("retrieve(10) > filter(0.6)", r"filter\(0.6\) needs a re-ranker's scores: put rerank\(5\) before it"),
        ("augment(2) > retrieve(9) > rrf(9) > rerank(5) > filter(0.6) > rrf(3)", "occurs twice"),
        ("retrieve(10) > answer_rerank(5)", "needs a temporary answer: put temp_answer before it"),
        ("retrieve(10) > temp_answer", "No stage uses the temporary answer"),
        ("augment(8) > hypothesis(8) > retrieve(10) > rrf(15)", f"up to 17 searches, at most {MOST_SEARCHES}"),
        ("augment(8) > retrieve(10) > dense(10) > rrf(15)", "up to 18 searches"),
        ("retrieve(10)" + " " * 300, "has 312 characters, at most 300"),
    ],
)
def test_an_invalid_line_is_rejected_with_the_change_it_needs(line: str, says: str) -> None:
    with pytest.raises(PipelineRejected, match=says):
        parse_pipeline(line)


@pytest.mark.parametrize(
    ("line", "says"),
    [
        ("retrieve(10) > augment(2) > rrf(15)", "augment(2): 순서가 너무 늦습니다. 문헌을 찾는 단계 앞에 넣어 주세요."),
        ("augment(2) > retrieve(10) > rrf(9) > dense(10)", "dense(10): 순서가 너무 늦습니다. 검색식을 만드는 단계 뒤"),
        ("rerank(5)", "rerank(5): 아직 처리할 검색 결과가 없습니다. 앞에 retrieve(10)을 넣어 주세요."),
        ("augment(2) > retrieve(10) > rerank(5)", "rerank(5): 문헌 목록 하나가 필요한데"),
        ("retrieve(10) > filter(0.6)", "filter(0.6): 재정렬 점수가 필요합니다. 앞에 rerank(5)를 넣어 주세요."),
        ("retrieve(10) > rerank(5) > rrf(9)", "rrf(9): 목록이 이미 하나입니다."),
    ],
)
def test_a_stage_at_the_wrong_place_is_rejected_in_the_readers_language(line: str, says: str) -> None:
    with pytest.raises(PipelineRejected) as raised:
        parse_pipeline(line)
    assert in_language(raised.value, "ko").startswith(says)


def test_sixteen_searches_and_300_characters_are_accepted() -> None:
    line = "augment(7) > retrieve(10) > dense(10) > rrf(15)"
    assert str(parse_pipeline(line)) == line
    assert str(parse_pipeline("augment(8) > hypothesis(7) > retrieve(10) > rrf(15)")).startswith("augment(8)")
    assert str(parse_pipeline("retrieve(10)".ljust(LONGEST_LINE))) == "retrieve(10)"
