"""Have a language model judge the answers of a results folder; scores are stored one JSON line each, resumably."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from pathlib import Path
from typing import NamedTuple

import msgspec

from shrag.corpora.formats.topics import read_text_lines
from shrag.evaluation.errors import EvaluationError, ResultsMismatch
from shrag.evaluation.judging.llm_judge import Judgement, JudgeSummary, judge_answer, summarise_judgements
from shrag.evaluation.reports.result_folder import ResultFolder
from shrag.models.language_model import LanguageModel

JUDGEMENTS_FILE = "judgements.jsonl"
"""The file of all judgements, in the results folder."""


class JudgedAnswer(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """One line of :data:`JUDGEMENTS_FILE`: a judge's scores of the answer to a question under a condition."""

    set: str
    condition: str
    qid: str
    judgement: Judgement


class JudgedCondition(NamedTuple):
    """Summary of one judge's scores of a condition's answers over a set.

    ``refused`` is the number of questions without an answer, which are not judged.
    """

    set: str
    condition: str
    refused: int
    summary: JudgeSummary


def judge_results(
    results: ResultFolder, model: LanguageModel, report: Callable[[str, int], None] = lambda stage, done: None
) -> list[JudgedCondition]:
    """Have ``model`` judge every answer it has not judged before, and return the means.

    Each judgement is stored at once. Of a repeated condition, the first repeat is judged. ``report`` is called with
    judge, set and condition, and how many answers are judged. Raises ``EvaluationError`` where no condition has
    answers, ``ResultsMismatch`` where the file of judgements is damaged, and ``ModelError`` where the judge fails.
    """
    answer_parts = [
        (part, condition) for part, condition in results.all_parts() if condition.answers and part.repeat < 2
    ]
    if not answer_parts:
        raise EvaluationError(f"{results.folder} has no answers to judge: run it with `answers = true` in a condition.")
    path = results.folder / JUDGEMENTS_FILE
    known = {(each.set, each.condition, each.qid): each for each in _read(path) if each.judgement.judge == model.name}
    summaries = []
    with path.open("a", encoding="utf-8") as stream:
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
                    stream.write(msgspec.json.encode(known[key]).decode() + "\n")
                    stream.flush()
                judgements.append(known[key].judgement)
                report(f"{model.name}: {part.set}/{condition.name}", len(judgements))
            summary = summarise_judgements(model.name, judgements, results.experiment.seed)
            summaries.append(JudgedCondition(part.set, condition.name, len(outcomes) - len(judgements), summary))
    return summaries


def _read(path: Path) -> Iterator[JudgedAnswer]:
    """Yield the stored judgements, after truncating an incomplete last line."""
    if not path.exists():
        return
    data = path.read_bytes()
    complete = data[: data.rfind(b"\n") + 1]
    if len(complete) < len(data):
        path.write_bytes(complete)
    for number, text in read_text_lines(path):
        try:
            yield msgspec.json.decode(text, type=JudgedAnswer)
        except msgspec.MsgspecError as error:
            raise ResultsMismatch(
                f"{path} line {number} is not a judgement ({error}): delete the line, or the file to have all "
                "answers judged again."
            ) from None
