"""Figures per question: of answers against references, and of the candidates that were ranked.

Which questions a figure covers depends on references and judgements, never on the answers. So any two conditions are
compared over the same questions. If a question was refused or could not be asked, figures that score an answer are 0
(``choice_accuracy_with_guessing`` is the chance of a guess). Runs whose answers are all extractive have no citation
precision and recall.

The candidates are those before the ranking is cut at k. ``candidate_recall`` is the y-axis of the SHRAG paper's figure
3. ``candidate_success`` is its equation 6 over all candidates. :mod:`shrag.evaluation.measures.providers` has both
measures for a ranking.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterable, Mapping
from functools import partial
from operator import attrgetter
from statistics import fmean
from typing import NamedTuple

import msgspec

from shrag.evaluation.measures.answer_form import answer_form
from shrag.evaluation.measures.overlap import best_overlap, characters, morphemes, rouge_l, words
from shrag.evaluation.measures.short_answers import SplitMorphemes, exact_match, string_match, yes_no_accuracy
from shrag.evaluation.questions.outcome import AnswerRecord, QuestionOutcome
from shrag.evaluation.questions.reference_answers import Reference


class _Case(NamedTuple):
    """An answered question: its answer, its reference, and the splitter of Korean text into morphemes."""

    answer: AnswerRecord
    reference: Reference
    split: SplitMorphemes


class _Figure(NamedTuple):
    """A figure. ``over`` selects references, ``value`` scores an answer, ``refused`` is the score of a refusal."""

    over: Callable[[Reference], object]
    value: Callable[[_Case], float]
    refused: Callable[[Reference], float] = lambda _: 0.0


def _rouge(case: _Case, units: Callable[[str], list[str]]) -> float:
    """Return ROUGE-L's F1 against the best reference. ``units`` splits a text into the units that are compared."""
    answer_units = units(case.answer.plain)
    return best_overlap([rouge_l(answer_units, units(answer)) for answer in case.reference.answers]).f1


def _rouge_words(case: _Case) -> float:
    return _rouge(case, partial(morphemes, split=case.split) if case.answer.language == "ko" else words)


def _accuracy(case: _Case) -> float:
    """Return 1 if the answer is right by the strictest measure that the reference allows, else 0."""
    reference = case.reference
    if reference.choice:
        return _is_right(case)
    if reference.yes_no is not None:
        return yes_no_accuracy(case.answer.plain, reference.yes_no)
    return string_match(case.answer.plain, reference.short_answers or reference.answers)


def _chance_of_draw(reference: Reference) -> float:
    return 1 / len(reference.choices)


def _is_right(case: _Case) -> float:
    return float(case.answer.choice == case.reference.choice)


_OF_MODELS = ("citation_precision", "citation_recall")
"""Figures of runs in which a language model wrote an answer. Of extractive answers only, they could only be 1."""

_has_choices, _has_answers, _has_short, _is_answerable = map(
    attrgetter, ("choice", "answers", "short_answers", "answerable")
)

_FIGURES: Mapping[str, _Figure] = {
    "rouge_l": _Figure(_has_answers, _rouge_words),
    "accuracy": _Figure(
        lambda reference: (
            reference.choice or reference.answers or reference.short_answers or reference.yes_no is not None
        ),
        _accuracy,
    ),
    "rouge_l_characters": _Figure(_has_answers, lambda case: _rouge(case, characters)),
    "string_match": _Figure(_has_short, lambda case: string_match(case.answer.plain, case.reference.short_answers)),
    "exact_match": _Figure(
        _has_short,
        lambda case: exact_match(
            case.answer.plain, (*case.reference.short_answers, *case.reference.answers), case.split
        ),
    ),
    "yes_no_accuracy": _Figure(
        lambda reference: reference.yes_no is not None,
        lambda case: yes_no_accuracy(case.answer.plain, bool(case.reference.yes_no)),
    ),
    "citation_precision": _Figure(_is_answerable, lambda case: case.answer.precision or 0.0),
    "citation_recall": _Figure(_is_answerable, lambda case: case.answer.recall or 0.0),
    "choice_accuracy": _Figure(_has_choices, _is_right),
    "choice_rate": _Figure(_has_choices, lambda case: float(bool(case.answer.choice))),
    "choice_accuracy_with_guessing": _Figure(
        _has_choices,
        lambda case: _is_right(case) if case.answer.choice else _chance_of_draw(case.reference),
        _chance_of_draw,
    ),
    "well_formed": _Figure(
        _is_answerable, lambda case: float(answer_form(case.answer.text, case.answer.language).correct)
    ),
}

_ROUGE_ABOVE: Mapping[str, float] = {f"rouge_l_above_{least}": least for least in (0.7, 0.5, 0.3)}

OUTCOME_FIGURES = ("accuracy", *_ROUGE_ABOVE)
"""The figures beside ROUGE-L in the table of the eight pipelines.

They follow from other figures, so their tests have a correction of their own.
"""

CITES, LEADS = "cites_relevant", "leads_relevant"

REFUSAL, RETRIEVAL_RATIO = "refusal_accuracy", "retrieval_ratio"

ANSWER_FIGURES = (*_FIGURES, *_ROUGE_ABOVE, CITES, LEADS, REFUSAL, RETRIEVAL_RATIO)
"""The names of all measures of answers:

- ``rouge_l``: F1 against the best reference, in Kiwi's morphemes for Korean and in words for English.
- ``accuracy``: 1 if the answer is right by the first of these that the reference has: a choice; yes or no; a short
  answer, which must be contained; a complete answer, which must be contained.
- ``rouge_l_above_0.7``, ``…0.5``, ``…0.3``: 1 if ``rouge_l`` is greater. Its mean times the number of questions is the
  number of such answers.
- ``rouge_l_characters``: ``rouge_l`` in letters and digits.
- ``string_match``: 1 if the answer contains a short reference.
- ``exact_match``: 1 if the answer equals a reference.
- ``yes_no_accuracy``: 1 if the answer begins with the right one of yes and no.
- ``citation_precision``, ``citation_recall``: shares of supported citations and sentences, if a model wrote answers.
- ``choice_accuracy``: 1 if the right choice was made.
- ``choice_rate``: 1 if any choice was made.
- ``choice_accuracy_with_guessing``: ``choice_accuracy``, or the chance of guessing right if no choice was made.
- ``well_formed``: 1 if sections and language are right.
- ``cites_relevant``: 1 if the answer cites a record that was judged to answer.
- ``leads_relevant``: 1 if the first record that the answer cites was judged to answer.
- ``refusal_accuracy``: 1 if an unanswerable question was refused, or an answerable one was not.
- ``retrieval_ratio``: the share of the k requested records that were found. The ScienceON challenge has a criterion of
  this name but no formula.
"""


def answer_figures(
    outcomes: Iterable[QuestionOutcome],
    references: Mapping[str, Reference],
    k: int,
    split: SplitMorphemes,
    min_grade: int = 1,
) -> dict[str, dict[str, float]]:
    """Return figure → qid → value over the outcomes that have a reference. Figures without a question are left out.

    If no outcome has an answer, the retrieval ratio is the only figure.

    Args:
        outcomes: The outcomes of one condition.
        references: Qid → reference.
        k: Number of records requested per question.
        split: Splits Korean into morphemes, as
            :meth:`shrag.indexing.analysis.morphological_analysis.KoreanMorphemes.split` does.
        min_grade: The least grade of a record that answers.
    """
    known = [(outcome, references[outcome.qid]) for outcome in outcomes if outcome.qid in references]
    answered = [pair for pair in known if pair[0].answer is not None or pair[0].error]
    figures: dict[str, dict[str, float]] = {}
    if any(outcome.answer is not None for outcome, _ in known):
        written = any(outcome.answer is not None and outcome.answer.kind != "extractive" for outcome, _ in known)
        for name, figure in _FIGURES.items():
            if name in _OF_MODELS and not written:
                continue
            figures[name] = {o.qid: _value(figure, o, r, split) for o, r in answered if figure.over(r)}
        for name, least in _ROUGE_ABOVE.items():
            figures[name] = {qid: float(rouge > least) for qid, rouge in figures["rouge_l"].items()}
        judged = [o for o, r in answered if r.answerable and any(e.relevance >= min_grade for e in o.relevant)]
        figures[CITES] = {o.qid: float(any(_cites(o, min_grade))) for o in judged}
        figures[LEADS] = {o.qid: float(any(_cites(o, min_grade)[:1])) for o in judged}
        figures[REFUSAL] = {o.qid: float(_refused(o) != r.answerable and not o.error) for o, r in answered}
    figures[RETRIEVAL_RATIO] = {o.qid: min(1.0, o.num_retrieved / k) for o, _ in known}
    return {name: values for name, values in figures.items() if values}


def _value(figure: _Figure, outcome: QuestionOutcome, reference: Reference, split: SplitMorphemes) -> float:
    if outcome.answer is None or _refused(outcome):
        return figure.refused(reference)
    return figure.value(_Case(outcome.answer, reference, split))


def _cites(outcome: QuestionOutcome, min_grade: int) -> list[bool]:
    """Return whether each record that the answer cites was judged to answer, in the order of the citations."""
    answering = {each.docid for each in outcome.relevant if each.relevance >= min_grade}
    return [docid in answering for docid in outcome.answer.cited] if outcome.answer and not _refused(outcome) else []


def _refused(outcome: QuestionOutcome) -> bool:
    return outcome.answer is None or bool(outcome.answer.reason)


def _answering_candidates(outcome: QuestionOutcome, min_grade: int) -> tuple[int, int]:
    """Return how many records that answer were candidates, and how many there are."""
    answering = [each for each in outcome.relevant if each.relevance >= min_grade]
    if any(each.candidate is None for each in answering):  # older results have only the number of relevant candidates
        return outcome.num_relevant_candidates, len(outcome.relevant)
    return sum(bool(each.candidate) for each in answering), len(answering)


def _candidate_recall(outcome: QuestionOutcome, min_grade: int) -> float:
    found, answering = _answering_candidates(outcome, min_grade)
    return found / answering if answering else 0.0


PROCESS_FIGURES: Mapping[str, Callable[[QuestionOutcome, int], float]] = {
    "num_candidates": lambda outcome, min_grade: float(outcome.num_candidates),
    "candidate_recall": _candidate_recall,
    "candidate_success": lambda outcome, min_grade: float(_answering_candidates(outcome, min_grade)[0] > 0),
}
"""Name of a measure of the candidates → function of an outcome and of the least grade of a record that answers.

The measures are the number of candidates, the share of the records that answer that are candidates, and 1 if at least
one is. Results of earlier versions do not say which records were candidates. For them, all relevant records count.
Plots name the measures like other measures.
"""


class ChoiceBaselines(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """Baselines of choice accuracy: of random choices, and of always choosing the most frequent letter."""

    random: float
    majority: float
    majority_letter: str


def choice_baselines(references: Iterable[Reference]) -> ChoiceBaselines | None:
    """Return the baselines over the references that have choices; None without such references."""
    multiple_choice = [reference for reference in references if reference.choice]
    if not multiple_choice:
        return None
    ((letter, count),) = Counter(sorted(each.choice for each in multiple_choice)).most_common(1)
    return ChoiceBaselines(
        fmean(1 / len(each.choices) for each in multiple_choice), count / len(multiple_choice), letter
    )
