"""A temporary answer from the best records so far: it words what the right record may say, and is not the answer.

Records are then ranked by the question and this answer together; the answer that is given is made from those.
"""

from __future__ import annotations

from collections.abc import Sequence

from shrag.corpora.clean import plain_line
from shrag.indexing.analysed import AnalysedRecord
from shrag.serving.events import ModelCall
from shrag.serving.extractive import EVIDENCE, extract_answer
from shrag.serving.planning.rationed_model import RationedModel
from shrag.serving.planning.responding import LONGEST_RESPONSE, respond
from shrag.serving.question import LONGEST_QUESTION, Question
from shrag.serving.words import Word


def answer_by_model(
    question: Question, pool: Sequence[AnalysedRecord], model: RationedModel
) -> tuple[str, list[ModelCall]]:
    """Return what a model answers from the best of ``pool``, empty where they do not answer; raises as :func:`ask`."""
    response, calls = respond(question, [analysed.record for analysed in pool[:EVIDENCE]], model)
    return response.text, calls


def answer_by_sentences(question: Question, words: Sequence[Word], pool: Sequence[AnalysedRecord]) -> str:
    """Return one sentence of the best record that fits the question, as the extractive answer has it, or nothing.

    One, since a record that words one sentence of a long answer says little of the rest: of the first 80 questions of
    ``python -m bench.ways``, ``retrieve(50) > temp_answer > answer_rerank(10)`` ranked with nDCG@10 0.660 on
    multihop-en and 0.956 on wiki-ko; with the whole body of the answer 0.586 and 0.846.
    """
    for analysed in pool[:EVIDENCE]:
        for section in extract_answer(question, words, [analysed]).sections:
            if section.part == "body":
                return plain_line(section.sentences[0].text)[:LONGEST_RESPONSE]
    return ""


def with_answer(question: Question, answer: str) -> str:
    """Return the question and the answer as the one text that records are scored for."""
    return f"{question.text} {answer}".strip()[: LONGEST_QUESTION + LONGEST_RESPONSE]
