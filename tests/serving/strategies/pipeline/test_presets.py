from __future__ import annotations

import pytest

from shrag.serving.errors import PipelineRejected
from shrag.serving.strategies.pipeline.presets import PRESETS, parse_preset
from shrag.serving.strategies.pipeline.syntax import parse_pipeline


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


def test_a_preset_takes_as_many_numbers_as_it_has() -> None:
    assert str(parse_preset("pipeline-3(20,30, 10)")) == "augment(2) > retrieve(20) > rrf(30) > rerank(10)"
    assert parse_preset("pipeline-1") is None
    assert parse_preset("shrag") is None
    with pytest.raises(PipelineRejected, match=r"pipeline-2 takes 2 numbers, not 1: write pipeline-2\(15, 5\)"):
        parse_preset("pipeline-2(5)")
    with pytest.raises(PipelineRejected, match="There is no pipeline-9: use pipeline-1 to pipeline-8"):
        parse_preset("pipeline-9(1)")
    with pytest.raises(PipelineRejected, match="is not retrieve"):
        parse_preset("pipeline-2(, )")
