"""Have a language model judge the answers of a results folder.

Each judgement is stored at once as a line of JSON, so that a stopped run can be resumed.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import NamedTuple

import msgspec

from shrag.evaluation.errors import EvaluationError
from shrag.evaluation.judging.judgement_file import append_to_judgement_file
from shrag.evaluation.judging.judgements import JUDGEMENTS_FILE, JudgedAnswer, read_judgements
from shrag.evaluation.judging.llm_judge import Judgement, JudgeSummary, judge_answer, summarise_judgements
from shrag.evaluation.reports.result_folder import ResultFolder
from shrag.messages.text import Text
from shrag.models.language_model import LanguageModel


class JudgedCondition(NamedTuple):
    """The summary of one judge's scores of a condition's answers over a set.

    ``refused`` is the number of questions without an answer. They are not judged.
    """

    set: str
    condition: str
    refused: int
    summary: JudgeSummary


def judge_results(
    results: ResultFolder, model: LanguageModel, report: Callable[[str, int], None] = lambda stage, done: None
) -> list[JudgedCondition]:
    """Have ``model`` judge every answer that it has not judged before, and return the means.

    The caller holds the lock of the results folder. Each judgement is stored at once. If a condition is repeated, only
    its first repeat is judged. ``report`` is called with one text of judge, set and condition, and with the number of
    answers judged so far.

    Raises:
        EvaluationError: No condition has answers.
        ResultsMismatch: The file of judgements is damaged.
        ModelError: The judge fails.
    """
    answer_parts = [
        (part, condition) for part, condition in results.all_parts() if condition.answers and part.repeat < 2
    ]
    if not answer_parts:
        raise EvaluationError(
            Text(
                "{folder} has no answers to judge: run it with `answers = true` in a condition.", folder=results.folder
            )
        )
    known = read_judgements(results.folder, model.name)
    summaries = []
    with append_to_judgement_file(results.folder / JUDGEMENTS_FILE) as stream:
        for part, condition in answer_parts:
            outcomes, references = results.outcomes(part), results.references(part.set)
            questions = {topic.qid: topic.text for topic in results.topics(part.set)}
            judgements: list[Judgement] = []
            for outcome in outcomes:
                answer, reference = outcome.answer, references.get(outcome.qid)
                if answer is None or answer.reason:
                    continue
                key = (part.set, condition.name, outcome.qid)
                if key not in known:
                    given = reference.answers if reference else ()
                    judgement = judge_answer(model, questions[outcome.qid], answer.plain, answer.language, given)
                    known[key] = JudgedAnswer(*key, judgement)
                    stream.write(msgspec.json.encode(known[key]) + b"\n")
                    stream.flush()
                judgements.append(known[key].judgement)
                report(f"{model.name}: {part.set}/{condition.name}", len(judgements))
            summary = summarise_judgements(model.name, judgements, results.experiment.seed)
            summaries.append(JudgedCondition(part.set, condition.name, len(outcomes) - len(judgements), summary))
    return summaries
