"""What a question should be answered with: reference answers, from JSON lines or from TSV."""

from __future__ import annotations

from collections.abc import Iterable
from pathlib import Path

import msgspec

from shrag.corpora.text_lines import read_text_lines
from shrag.evaluation.answers.yes_no import read_yes_no
from shrag.evaluation.errors import ExperimentRejected


class Reference(msgspec.Struct, frozen=True):
    """What is known of a question's answer.

    ``answers`` are whole answers that are right, each by itself. ``short`` are the same in as few words as can be, of
    which one has to stand in an answer. ``yes`` is the answer to a question that asks for yes or no. ``answerable`` is
    false where the corpus has no answer: then refusing is right, and nothing else is known.
    """

    qid: str
    answers: tuple[str, ...] = ()
    short: tuple[str, ...] = ()
    yes: bool | None = None
    answerable: bool = True


def read_references(path: Path) -> dict[str, Reference]:
    """Return the references by qid, in the file's order.

    Lines are JSON objects with the fields of :class:`Reference`, others in them being left alone, or a qid and its
    answers with tabs between. Answers that are all one of yes and no are also ``yes``. Raises
    :class:`ExperimentRejected` naming the line that is neither, that says nothing, or that has a qid a second time.
    """
    found: dict[str, Reference] = {}
    for number, text in read_text_lines(path):
        reference = _json(path, number, text) if text.lstrip().startswith("{") else _tabs(path, number, text)
        if reference.qid in found:
            raise ExperimentRejected(f"{path} line {number} is of {reference.qid} a second time: keep one of them.")
        found[reference.qid] = reference
    if not found:
        raise ExperimentRejected(f"{path} has no reference: expected JSON objects with qid and answers, one a line.")
    return found


def encode_references(references: Iterable[Reference]) -> bytes:
    """Return references as JSON lines, which :func:`read_references` reads."""
    return b"".join(msgspec.json.encode(each) + b"\n" for each in references)


def _json(path: Path, number: int, text: str) -> Reference:
    try:
        reference = msgspec.json.decode(text, type=Reference)
    except msgspec.MsgspecError as error:
        raise ExperimentRejected(
            f"{path} line {number} is no reference ({error}): expected an object with qid, and answers, short, yes or "
            "answerable."
        ) from None
    return _checked(path, number, reference)


def _tabs(path: Path, number: int, text: str) -> Reference:
    qid, *answers = (part.strip() for part in text.split("\t"))
    return _checked(path, number, Reference(qid, tuple(answers)))


def _checked(path: Path, number: int, given: Reference) -> Reference:
    answers, short = (tuple(each.strip() for each in texts if each.strip()) for texts in (given.answers, given.short))
    # A word alone, since an answer that only begins so says more.
    said = {read_yes_no(answer) if len(answer.split()) == 1 else None for answer in answers}
    yes = next(iter(said)) if given.yes is None and len(said) == 1 else given.yes
    reference = Reference(given.qid.strip(), answers, short, yes, given.answerable)
    if not reference.qid:
        raise ExperimentRejected(f"{path} line {number} names no question: expected a qid before the first tab.")
    if not reference.answerable and (answers or short or yes is not None):
        raise ExperimentRejected(
            f"{path} line {number} answers {reference.qid}, of which it says that it cannot be answered: leave out one."
        )
    return reference
