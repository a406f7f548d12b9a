"""Whether a short answer is one of the reference answers."""

from __future__ import annotations

from collections.abc import Iterable

from shrag.evaluation.answers.normalisation import Split, normalise, without_particles


def exact_match(answer: str, references: Iterable[str], split: Split | None = None) -> float:
    """Return 1 where ``answer`` is one of ``references`` once both are normalised, else 0.

    With ``split``, particles at the end of a Korean answer are no difference. An empty answer matches nothing.
    """
    given = _compared(answer, split)
    return float(bool(given) and given in {_compared(reference, split) for reference in references})


def _compared(text: str, split: Split | None) -> str:
    return normalise(without_particles(text, split) if split else text)
