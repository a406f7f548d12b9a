from __future__ import annotations

import pytest

from shrag.serving.errors import PipelineRejected
from shrag.serving.strategies.pipeline.presets import PRESETS, over_vectors, parse_preset
from shrag.serving.strategies.pipeline.strategy import PipelineStrategy
from shrag.serving.strategies.pipeline.syntax import parse_pipeline
from shrag.serving.strategies.registry import find_strategy


def test_the_presets_are_the_seeds_pipelines_with_its_numbers() -> None:
    assert {name: str(pipeline) for name, pipeline in PRESETS.items()} == {
        "pipeline-1": "retrieve(5)",
        "pipeline-2": "retrieve(15) > rerank(5)",
        "pipeline-3": "augment(2) > retrieve(10) > rrf(15) > rerank(5)",
        "pipeline-4": "hypothesis(2) > retrieve(10) > rrf(15) > rerank(5)",
        "pipeline-5": "augment(2) > hypothesis(2) > retrieve(10) > rrf(15) > rerank(5)",
        "pipeline-6": "augment(2) > retrieve(10) > rrf(15) > rerank(5) > filter(0.6)",
        "pipeline-7": "augment(2) > hypothesis(2) > retrieve(10) > rrf(15) > rerank(5) > filter(0.6)",
        "pipeline-8": "augment(2) > retrieve(10) > rrf(15) > temp_answer > answer_rerank(5) > filter(0.6)",
    }
    assert all(parse_pipeline(str(pipeline)) == pipeline for pipeline in PRESETS.values())


def line_of(text: str) -> str:
    preset = parse_preset(text)
    assert preset is not None
    return str(preset.pipeline)


def test_a_preset_takes_as_many_numbers_as_it_has() -> None:
    assert line_of("pipeline-3(20,30, 10)") == "augment(2) > retrieve(20) > rrf(30) > rerank(10)"
    assert line_of("pipeline-1") == "retrieve(5)"
    assert parse_preset("shrag") is None
    with pytest.raises(PipelineRejected, match=r"pipeline-2 takes 2 numbers, not 1: write pipeline-2\(15, 5\)"):
        parse_preset("pipeline-2(5)")
    with pytest.raises(PipelineRejected, match="There is no pipeline-9: use pipeline-1 to pipeline-8"):
        parse_preset("pipeline-9(1)")
    with pytest.raises(PipelineRejected, match="does not have the form retrieve"):
        parse_preset("pipeline-2(, )")


@pytest.mark.parametrize(
    ("name", "line"),
    [
        ("pipeline-2-bm25", "retrieve(15) > rerank(5)"),
        ("pipeline-2-dense", "dense(15) > rerank(5)"),
        ("pipeline-3-dense(20, 30, 10)", "augment(2) > dense(20) > rrf(30) > rerank(10)"),
    ],
)
def test_the_name_says_whether_words_or_vectors_are_searched(name: str, line: str) -> None:
    strategy = find_strategy(name)
    assert isinstance(strategy, PipelineStrategy)
    assert (strategy.name, str(strategy.pipeline)) == (name, line)


def test_over_vectors_every_preset_searches_vectors_alone() -> None:
    for pipeline in PRESETS.values():
        assert [stage.name for stage in over_vectors(pipeline).search_stages] == ["dense"]
