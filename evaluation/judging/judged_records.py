"""Have a language model judge the records of a results folder on the four levels of the RAISE paper.

The judged records are those that each step of a question was solved from or, without steps, the question's best ones.
"""

from __future__ import annotations

from collections.abc import Callable

import msgspec

from shrag.evaluation.errors import EvaluationError
from shrag.evaluation.experiments.spec import Condition, JudgedSet
from shrag.evaluation.judging.judgement_file import append_to_judgement_file
from shrag.evaluation.judging.record_relevance import (
    RELEVANCE_FILE,
    JudgedRecord,
    LevelShares,
    StepRecord,
    level_shares,
    read_record_relevance,
    step_records,
)
from shrag.evaluation.judging.relevance import judge_relevance
from shrag.evaluation.reports.result_folder import ResultFolder
from shrag.indexing.open_index import OpenIndex
from shrag.messages.text import Text
from shrag.models.errors import InvalidOutput
from shrag.models.language_model import LanguageModel
from shrag.serving.request import parse_question


def judge_records(
    results: ResultFolder,
    open_index: Callable[[JudgedSet, Condition], OpenIndex],
    model: LanguageModel,
    most: int = 0,
    report: Callable[[str, int], None] = lambda stage, done: None,
) -> list[LevelShares]:
    """Have ``model`` judge the records of all conditions except peers, and return the shares of the levels.

    The caller holds the lock of the results folder. Each judgement is stored at once and never made again. If a
    condition is repeated, only its first repeat is judged.

    Args:
        results: The results folder.
        open_index: Returns the index of a set under a condition, to read the records' texts from.
        model: The judge.
        most: Number of pairs (step, record) to draw for each set and condition; 0 for all.
        report: Called with one text of judge, set and condition, and with the number of pairs judged so far.

    Raises:
        EvaluationError: No condition found a record.
        ResultsMismatch: The file of judgements is damaged.
        ModelError: The judge fails.
    """
    known = read_record_relevance(results.folder, model.name)
    seed = results.experiment.seed
    found: list[LevelShares] = []
    with append_to_judgement_file(results.folder / RELEVANCE_FILE) as stream:
        for part, condition in results.all_parts():
            if part.repeat > 1 or condition.peer:
                continue
            questions = {topic.qid: topic.text for topic in results.topics(part.set)}
            pairs = step_records(results.outcomes(part), questions, condition, most, seed)
            judged: list[JudgedRecord] = []
            for pair in pairs:
                key = (part.set, condition.name, pair.qid, pair.step, pair.docid)
                if key not in known:
                    index = open_index(results.judged_set(part.set), condition)
                    known[key] = _judge(part.set, condition.name, pair, questions[pair.qid], index, model)
                    stream.write(msgspec.json.encode(known[key]) + b"\n")
                    stream.flush()
                judged.append(known[key])
                report(f"{model.name}: {part.set}/{condition.name}", len(judged))
            if judged:
                found.append(level_shares(part.set, condition.name, model.name, judged, seed))
    if not found:
        raise EvaluationError(Text("{folder} has no records to judge: no condition found one.", folder=results.folder))
    return found


def _judge(
    set_name: str, condition: str, pair: StepRecord, question: str, index: OpenIndex, model: LanguageModel
) -> JudgedRecord:
    (analyzed,) = index.store.fetch([pair.docid])
    if analyzed is None:
        raise EvaluationError(
            Text(
                "Index {name} has no record {docid}, which the results have: it was built again from other "
                "records; run the experiment again.",
                name=index.name,
                docid=pair.docid,
            )
        )
    level, reason = None, ""
    try:
        judgement = judge_relevance(parse_question(question), analyzed.record, model, pair.text)
        level, reason = judgement.level, judgement.reason
    except InvalidOutput as error:
        reason = str(error)
    return JudgedRecord(set_name, condition, pair.qid, pair.step, pair.docid, model.name, level, reason)
