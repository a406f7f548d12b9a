"""The examples in docstrings run and give what they say."""

from __future__ import annotations

import doctest
import importlib

import pytest


@pytest.mark.parametrize(
    "module",
    [
        "corpora.chunks",
        "corpora.clean",
        "corpora.headings",
        "corpora.language",
        "corpora.papers",
        "indexing.bm25",
        "indexing.folding",
        "corpora.sentences",
        "models.byte_sizes",
        "serving.composition.calibration",
        "serving.composition.parsing",
        "serving.composition.stages",
        "serving.composition.ways",
        "serving.planning.answer_slots",
        "serving.planning.question_key",
        "serving.stepwise.notes",
    ],
)
def test_examples_in_docstrings_hold(module: str) -> None:
    results = doctest.testmod(importlib.import_module(f"shrag.{module}"))
    assert results.attempted > 0
    assert results.failed == 0
