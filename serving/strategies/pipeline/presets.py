"""The eight preset pipelines, named ``pipeline-1`` to ``pipeline-8``."""

from __future__ import annotations

import re
from collections.abc import Mapping

from shrag.serving.errors import PipelineRejected
from shrag.serving.strategies.pipeline.syntax import Pipeline, parse_pipeline

# Each line, and the usual values of its numbers: hits of each query, records of the fused list if there is one, records
# after re-ranking.
_LINES: Mapping[str, tuple[str, tuple[int, ...]]] = {
    "pipeline-1": ("retrieve({})", (5,)),
    "pipeline-2": ("retrieve({}) > rerank({})", (15, 5)),
    "pipeline-3": ("augment(2) > retrieve({}) > rrf({}) > rerank({})", (10, 15, 5)),
    "pipeline-4": ("hypothesis(2) > retrieve({}) > rrf({}) > rerank({})", (10, 15, 5)),
    "pipeline-5": ("augment(2) > hypothesis(2) > retrieve({}) > rrf({}) > rerank({})", (10, 15, 5)),
    "pipeline-6": ("augment(2) > retrieve({}) > rrf({}) > rerank({}) > filter(0.6)", (10, 15, 5)),
    "pipeline-7": ("augment(2) > hypothesis(2) > retrieve({}) > rrf({}) > rerank({}) > filter(0.6)", (10, 15, 5)),
    "pipeline-8": ("augment(2) > retrieve({}) > rrf({}) > temp_answer > answer_rerank({}) > filter(0.6)", (10, 15, 5)),
}

PRESETS: Mapping[str, Pipeline] = {name: parse_pipeline(line.format(*ks)) for name, (line, ks) in _LINES.items()}
"""The presets with their usual numbers."""

_CALL = re.compile(r"\s*(pipeline-[0-9]{1,3})\s*\(([0-9,\s]{1,60})\)\s*")


def parse_preset(line: str) -> Pipeline | None:
    """Return the preset that ``line`` names with other numbers, None where it names none.

    Raises :class:`PipelineRejected` for an unknown preset, for too many or too few numbers, and for wrong ones.

    >>> str(parse_preset("pipeline-2(50, 10)"))
    'retrieve(50) > rerank(10)'
    """
    match = _CALL.fullmatch(line)
    if match is None:
        return None
    name, given = match[1], [number.strip() for number in match[2].split(",")]
    if name not in _LINES:
        raise PipelineRejected(f"There is no {name}: use pipeline-1 to pipeline-{len(_LINES)}.")
    template, defaults = _LINES[name]
    if len(given) != len(defaults):
        usual = ", ".join(map(str, defaults))
        raise PipelineRejected(f"{name} takes {len(defaults)} numbers, not {len(given)}: write {name}({usual}).")
    return parse_pipeline(template.format(*given))
