"""The query generator: a question as the words that a search engine finds its answer by."""

from __future__ import annotations

from typing import Annotated

import msgspec

from shrag.corpora.clean import plain_line
from shrag.serving.asking_model import Step, ask
from shrag.serving.events import ModelCall
from shrag.serving.planning.rationed_model import RationedModel
from shrag.serving.question import Question


class _Query(msgspec.Struct, frozen=True):
    query: Annotated[str, msgspec.Meta(min_length=1, max_length=300)]


def write_query(question: Question, model: RationedModel) -> tuple[Question, list[ModelCall]]:
    """Return what to search by for the answer to ``question``, itself where nothing readable came.

    Raises as :func:`~shrag.serving.asking_model.ask` does.
    """
    step = Step("query", "query", question.language, {"question": question.text}, max_tokens=128)
    made, calls = ask(model, step, _Query)
    return Question(plain_line(made.query) or question.text, question.language), calls
