"""The eight preset retrieval pipelines, ``pipeline-1`` to ``pipeline-8``, in the syntax of :mod:`.syntax`."""

from __future__ import annotations

import re
from collections.abc import Mapping

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
"""The presets with their default numbers."""

_CALL = re.compile(r"\s*(pipeline-[0-9]{1,3})\s*\(([0-9,\s]{1,60})\)\s*")


def parse_preset(text: str) -> Pipeline | None:
    """Parse a preset with numbers of its own, such as ``pipeline-2(50, 10)``.

    Returns:
        The pipeline; None for any other text, also for a preset without numbers (see :data:`PRESETS`).

    Raises:
        PipelineRejected: There is no such preset, or its numbers are too many, too few or out of range.

    >>> str(parse_preset("pipeline-2(50, 10)"))
    'retrieve(50) > rerank(10)'
    """
    match = _CALL.fullmatch(text)
    if match is None:
        return None
    name, given = match[1], [number.strip() for number in match[2].split(",")]
    if name not in _TEMPLATES:
        raise PipelineRejected(f"There is no {name}: use pipeline-1 to pipeline-{len(_TEMPLATES)}.")
    template, defaults = _TEMPLATES[name]
    if len(given) != len(defaults):
        example = ", ".join(map(str, defaults))
        raise PipelineRejected(f"{name} takes {len(defaults)} numbers, not {len(given)}: write {name}({example}).")
    return parse_pipeline(template.format(*given))
