"""Judge the answers of a results folder, resumably, one JSON line each."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from pathlib import Path
from typing import NamedTuple

import msgspec

from shrag.corpora.formats.topics import read_text_lines
from shrag.evaluation.errors import EvaluationError, ResultsMismatch
from shrag.evaluation.judging.llm_judge import Judgement, JudgeSummary, judge_answer, summarise_judgements
from shrag.evaluation.questions.outcome import Outcome
from shrag.evaluation.questions.reference_answers import Reference
from shrag.evaluation.reports.result_folder import ResultFolder
from shrag.models.language_model import LanguageModel

JUDGEMENTS_FILE = "judgements.jsonl"
"""In the folder of results, whose own files it leaves as they are."""


class JudgedAnswer(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """One line: the answer to a question under a condition, and one judge's marks of it."""

    set: str
    condition: str
    qid: str
    judgement: Judgement


class JudgedCondition(NamedTuple):
    """What a judge makes of a condition's answers over a set; ``refused`` questions have no answer to mark."""

    set: str
    condition: str
    refused: int
    summary: JudgeSummary


def judge_results(
    results: ResultFolder, model: LanguageModel, report: Callable[[str, int], None] = lambda stage, done: None
) -> list[JudgedCondition]:
    """Have ``model`` mark each answer once, and return the means; what it marked before stands in the folder's file.

    Of a condition that is repeated the first answers are marked. Raises :class:`EvaluationError` where nothing was
    answered, and as :func:`~shrag.evaluation.judging.llm_judge.judge_answer` does: what was marked until then is kept.
    """
    answering = [(part, condition) for part, condition in results.all_parts() if condition.answers and part.repeat < 2]
    if not answering:
        raise EvaluationError(f"{results.folder} has no answers to judge: run it with `answers = true` in a condition.")
    path = results.folder / JUDGEMENTS_FILE
    known = {(each.set, each.condition, each.qid): each for each in _read(path) if each.judgement.judge == model.name}
    found = []
    with path.open("a", encoding="utf-8") as stream:
        for part, condition in answering:
            outcomes, references = results.outcomes(part), results.references(part.set)
            questions = {topic.qid: topic.text for topic in results.topics(part.set)}
            marked: list[Judgement] = []
            for outcome in outcomes:
                if outcome.answer is None or outcome.answer.reason:
                    continue
                key = (part.set, condition.name, outcome.qid)
                if key not in known:
                    judgement = _judge(model, questions[outcome.qid], outcome, references.get(outcome.qid))
                    known[key] = JudgedAnswer(*key, judgement)
                    stream.write(msgspec.json.encode(known[key]).decode() + "\n")
                    stream.flush()
                marked.append(known[key].judgement)
                report(f"{model.name}: {part.set}/{condition.name}", len(marked))
            summary = summarise_judgements(model.name, marked, results.experiment.seed)
            found.append(JudgedCondition(part.set, condition.name, len(outcomes) - len(marked), summary))
    return found


def _judge(model: LanguageModel, question: str, outcome: Outcome, reference: Reference | None) -> Judgement:
    answer = outcome.answer
    assert answer is not None  # noqa: S101  (those without one are not marked)
    return judge_answer(model, question, answer.plain, answer.language, reference.answers if reference else ())


def _read(path: Path) -> Iterator[JudgedAnswer]:
    """Yield what was marked, having cut off a line that a kill left half-written."""
    if not path.exists():
        return
    data = path.read_bytes()
    whole = data[: data.rfind(b"\n") + 1]
    if len(whole) < len(data):
        path.write_bytes(whole)
    for number, text in read_text_lines(path):
        try:
            yield msgspec.json.decode(text, type=JudgedAnswer)
        except msgspec.MsgspecError as error:
            raise ResultsMismatch(
                f"{path} line {number} is no judgement ({error}): remove the line, or the file to have all marked anew."
            ) from None
