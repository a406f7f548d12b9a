"""Figures per question of answers and of the retrieval process.

Which questions a figure is over depends on the references alone, never on what was answered, so that any two conditions
compare over the same ones. An answer that was refused, or could not be asked for, is worth 0, but where a
choice may be drawn (``choice_or_draw``).

Measures are of the ranking, which is cut at k; these are of the pool it was made from, which is not. ``pool_recall``
is what the y-axis of the SHRAG paper's figure 3 shows, ``pool_success`` its equation 6 over the whole pool
(query_success.py has both for a ranking).
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterable, Mapping
from statistics import fmean
from typing import NamedTuple

import msgspec

from shrag.evaluation.measures.answer_form import answer_form
from shrag.evaluation.measures.overlap import best_overlap, characters, morphemes, rouge_l, words
from shrag.evaluation.measures.short_answers import Split, exact_match, string_match, yes_no_accuracy
from shrag.evaluation.questions.outcome import GivenAnswer, Outcome
from shrag.evaluation.questions.reference_answers import Reference


class _Case(NamedTuple):
    """An answered question: what was given, what is right, and how Korean is split."""

    given: GivenAnswer
    reference: Reference
    split: Split


class _Figure(NamedTuple):
    """``over`` says of which references a figure is, ``value`` what an answer is worth, ``refused`` what none is."""

    over: Callable[[Reference], bool]
    value: Callable[[_Case], float]
    refused: Callable[[Reference], float] = lambda _: 0.0


def _rouge(case: _Case) -> float:
    def units(text: str) -> list[str]:
        return morphemes(text, case.split) if case.given.language == "ko" else words(text)

    given = units(case.given.plain)
    return best_overlap([rouge_l(given, units(answer)) for answer in case.reference.answers]).f1


def _rouge_characters(case: _Case) -> float:
    given = characters(case.given.plain)
    return best_overlap([rouge_l(given, characters(answer)) for answer in case.reference.answers]).f1


def _draw(reference: Reference) -> float:
    return 1 / len(reference.choices)


def _is_right(case: _Case) -> float:
    return float(case.given.choice == case.reference.choice)


def _has_choices(reference: Reference) -> bool:
    return bool(reference.choice)


def _has_answers(reference: Reference) -> bool:
    return bool(reference.answers)


def _has_short(reference: Reference) -> bool:
    return bool(reference.short)


def _is_answerable(reference: Reference) -> bool:
    return reference.answerable


_FIGURES: Mapping[str, _Figure] = {
    "rouge_l": _Figure(_has_answers, _rouge),
    "rouge_l_characters": _Figure(_has_answers, _rouge_characters),
    "short_answer": _Figure(_has_short, lambda case: string_match(case.given.plain, case.reference.short)),
    "exact": _Figure(
        _has_short,
        lambda case: exact_match(case.given.plain, (*case.reference.short, *case.reference.answers), case.split),
    ),
    "yes_no": _Figure(
        lambda reference: reference.yes is not None,
        lambda case: yes_no_accuracy(case.given.plain, bool(case.reference.yes)),
    ),
    "citation_precision": _Figure(_is_answerable, lambda case: case.given.precision or 0.0),
    "citation_recall": _Figure(_is_answerable, lambda case: case.given.recall or 0.0),
    "choice_accuracy": _Figure(_has_choices, _is_right),
    "choice_made": _Figure(_has_choices, lambda case: float(bool(case.given.choice))),
    "choice_or_draw": _Figure(
        _has_choices, lambda case: _is_right(case) if case.given.choice else _draw(case.reference), _draw
    ),
    "form": _Figure(_is_answerable, lambda case: float(answer_form(case.given.text, case.given.language).correct)),
}

REFUSAL, RETRIEVAL_RATIO = "refusal", "retrieval_ratio"

ANSWER_FIGURES = (*_FIGURES, REFUSAL, RETRIEVAL_RATIO)
"""``rouge_l``: F1 against the best reference, in Kiwi's morphemes for Korean and in words for English.
``short_answer``: 1 where a short reference stands in the answer. ``exact``: 1 where the answer is one, and nothing
else. ``yes_no``: 1 where it begins with the right one. ``choice_accuracy``: 1 where the right choice was made;
``choice_made``: 1 where any was; ``choice_or_draw``: the first, and where none was made the chance to draw the right
one. ``form``: 1 where sections and language are those asked for. ``refusal``: 1 where it was refused and cannot be
answered, or neither. ``retrieval_ratio``: the share of the k records asked for that were found; the challenge names a
criterion so and publishes no formula."""


def answer_figures(
    outcomes: Iterable[Outcome], references: Mapping[str, Reference], k: int, split: Split
) -> dict[str, dict[str, float]]:
    """Return figure → qid → value over the outcomes that have a reference, without figures that are over none.

    Outcomes that were only searched for have no figure but the retrieval ratio. ``split`` is that of
    :class:`shrag.indexing.analysis.morphological_analysis.KoreanMorphemes`.
    """
    known = [(outcome, references[outcome.qid]) for outcome in outcomes if outcome.qid in references]
    answered = [pair for pair in known if pair[0].answer is not None or pair[0].error]
    found: dict[str, dict[str, float]] = {}
    if any(outcome.answer is not None for outcome, _ in known):
        for name, figure in _FIGURES.items():
            found[name] = {o.qid: _value(figure, o, r, split) for o, r in answered if figure.over(r)}
        found[REFUSAL] = {o.qid: float(_refused(o) != r.answerable and not o.error) for o, r in answered}
    found[RETRIEVAL_RATIO] = {o.qid: min(1.0, o.found / k) for o, _ in known}
    return {name: values for name, values in found.items() if values}


def _value(figure: _Figure, outcome: Outcome, reference: Reference, split: Split) -> float:
    if outcome.answer is None or _refused(outcome):
        return figure.refused(reference)
    return figure.value(_Case(outcome.answer, reference, split))


def _refused(outcome: Outcome) -> bool:
    return outcome.answer is None or bool(outcome.answer.reason)


def _recall(outcome: Outcome) -> float:
    return outcome.relevant_collected / len(outcome.relevant) if outcome.relevant else 0.0


PROCESS_FIGURES: Mapping[str, Callable[[Outcome], float]] = {
    "collected": lambda outcome: float(outcome.collected),
    "pool_recall": _recall,
    "pool_success": lambda outcome: float(outcome.relevant_collected > 0),
}
"""``collected``: distinct documents in the pool that is ranked. ``pool_recall``: the share of the relevant ones that
are among them. ``pool_success``: 1 where at least one is, else 0. An experiment's plots name them like measures."""


class ChoiceLevels(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """``chance``: the expected share of right ones among drawn choices; ``constant``: if it is always ``letter``.

    That letter is the one that is right most often, the first of several.
    """

    chance: float
    constant: float
    letter: str


def choice_levels(references: Iterable[Reference]) -> ChoiceLevels | None:
    """Return the levels over the references that have choices, None where there are none."""
    chosen = [reference for reference in references if reference.choice]
    if not chosen:
        return None
    ((letter, count),) = Counter(sorted(each.choice for each in chosen)).most_common(1)
    return ChoiceLevels(fmean(1 / len(each.choices) for each in chosen), count / len(chosen), letter)
