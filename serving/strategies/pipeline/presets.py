"""The eight preset retrieval pipelines, ``pipeline-1`` to ``pipeline-8``, in the syntax of :mod:`.syntax`.

They are from a study (``docs/en/explanation/strategies-pipelines.md``). As in that study, they search the vectors of a
model if the index has them, and otherwise words. ``pipeline-1-dense`` and ``pipeline-1-bm25`` name one of the two.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import replace
from typing import Literal, NamedTuple, cast

from shrag.messages.text import Text
from shrag.serving.errors import PipelineRejected
from shrag.serving.strategies.pipeline.syntax import Pipeline, parse_pipeline

# Each template with its default numbers: hits of each query, records of the fused list (from pipeline-3 on), records
# after re-ranking (from pipeline-2 on).
_TEMPLATES: Mapping[str, tuple[str, tuple[int, ...]]] = {
    "pipeline-1": ("retrieve({})", (5,)),
    "pipeline-2": ("retrieve({}) > rerank({})", (15, 5)),
    "pipeline-3": ("augment(2) > retrieve({}) > rrf({}) > rerank({})", (10, 15, 5)),
    "pipeline-4": ("hypothesis(2) > retrieve({}) > rrf({}) > rerank({})", (10, 15, 5)),
    "pipeline-5": ("augment(2) > hypothesis(2) > retrieve({}) > rrf({}) > rerank({})", (10, 15, 5)),
    "pipeline-6": ("augment(2) > retrieve({}) > rrf({}) > rerank({}) > filter(0.6)", (10, 15, 5)),
    "pipeline-7": ("augment(2) > hypothesis(2) > retrieve({}) > rrf({}) > rerank({}) > filter(0.6)", (10, 15, 5)),
    "pipeline-8": ("augment(2) > retrieve({}) > rrf({}) > temp_answer > answer_rerank({}) > filter(0.6)", (10, 15, 5)),
}

PRESETS: Mapping[str, Pipeline] = {
    name: parse_pipeline(template.format(*defaults)) for name, (template, defaults) in _TEMPLATES.items()
}
"""The presets with their default numbers, over BM25."""

Source = Literal["", "bm25", "dense"]
"""What a preset searches: words or vectors. If empty, it searches a model's vectors if there are any, else words."""

_CALL = re.compile(r"\s*(pipeline-[0-9]{1,3})(?:-(bm25|dense))?\s*(?:\(([0-9,\s]{1,60})\))?\s*")


class Preset(NamedTuple):
    """A preset over BM25, and what it searches."""

    pipeline: Pipeline
    source: Source


def over_vectors(pipeline: Pipeline) -> Pipeline:
    """Return the pipeline, which searches vectors instead of words.

    >>> str(over_vectors(PRESETS["pipeline-2"]))
    'dense(15) > rerank(5)'
    """
    stages = [replace(each, name="dense") if each.name == "retrieve" else each for each in pipeline.stages]
    return Pipeline(tuple(stages))


def parse_preset(text: str) -> Preset | None:
    """Parse the name of a preset, such as ``pipeline-2``, ``pipeline-2-dense`` or ``pipeline-2-bm25(50, 10)``.

    Returns:
        The preset with the numbers of ``text`` or its own; None for any other text.

    Raises:
        PipelineRejected: There is no such preset, or its numbers are too many, too few or out of range.

    >>> str(parse_preset("pipeline-2(50, 10)").pipeline)
    'retrieve(50) > rerank(10)'
    """
    match = _CALL.fullmatch(text)
    if match is None:
        return None
    name, source, numbers = match.groups()
    if name not in _TEMPLATES:
        raise PipelineRejected(
            Text(
                "There is no {name}: use pipeline-1 to pipeline-{templates_count}.",
                name=name,
                templates_count=len(_TEMPLATES),
            )
        )
    template, defaults = _TEMPLATES[name]
    given = [number.strip() for number in numbers.split(",")] if numbers else [str(number) for number in defaults]
    if len(given) != len(defaults):
        example = ", ".join(map(str, defaults))
        raise PipelineRejected(
            Text(
                "{name} takes {defaults_count} numbers, not {given_count}: write {name}({example}).",
                name=name,
                defaults_count=len(defaults),
                given_count=len(given),
                example=example,
            )
        )
    return Preset(parse_pipeline(template.format(*given)), cast("Source", source or ""))
