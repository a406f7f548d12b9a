"""Reference answers of questions, read from JSON lines or TSV."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from pathlib import Path
from typing import Any

import msgspec

from shrag.corpora.formats.topics import questions_in, read_text_lines
from shrag.corpora.readers.item import decode_object
from shrag.corpora.text.cleaning import plain_line
from shrag.evaluation.errors import ExperimentRejected
from shrag.evaluation.measures.short_answers import read_yes_no
from shrag.serving.request import LETTERS


class Reference(msgspec.Struct, frozen=True):
    """What is known of a question's answer.

    ``answers`` are whole answers that are right, each by itself. ``short`` are the same in as few words as can be, of
    which one has to stand in an answer. ``yes`` is the answer to a question that asks for yes or no. ``choices`` are
    what the question is asked with, and ``choice`` is the letter of the right one. ``answerable`` is false where the
    corpus has no answer: then refusing is right, and nothing else is known.
    """

    qid: str
    answers: tuple[str, ...] = ()
    short: tuple[str, ...] = ()
    yes: bool | None = None
    answerable: bool = True
    choices: tuple[str, ...] = ()
    choice: str = ""


class ReferenceSource(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """A file of references in others' words: the key of its objects that has the answers, the choices, the right one.

    ``choices`` given as a list are those of every question.
    """

    path: str
    answers: str = "answers"
    choices: tuple[str, ...] | str = "choices"
    choice: str = "choice"


_OWN = ReferenceSource("")
"""The keys of a file that was written for this."""


def read_references(path: Path, source: ReferenceSource = _OWN) -> dict[str, Reference]:
    """Return the references by qid, in the file's order.

    Lines are JSON objects with the fields of :class:`Reference`, or with those that ``source`` names in their place,
    others in them being left alone; or a qid and its answers with tabs between. An object may list several under
    ``qas``. An answer alone stands for a list of it, and the right choice may be given by its letter or in its own
    words. Answers that are all one of yes and no are also ``yes``. Raises :class:`ExperimentRejected` naming the line
    that is neither, that says nothing, or that has a qid a second time.
    """
    found: dict[str, Reference] = {}
    for number, text in read_text_lines(path):
        is_json = text.lstrip().startswith("{")
        for reference in _json(path, number, text, source) if is_json else [_tabs(path, number, text)]:
            if reference.qid in found:
                raise ExperimentRejected(f"{path} line {number} is of {reference.qid} a second time: keep one of them.")
            found[reference.qid] = reference
    if not found:
        raise ExperimentRejected(f"{path} has no reference: expected JSON objects with qid and answers, one a line.")
    return found


def encode_references(references: Iterable[Reference]) -> bytes:
    """Return references as JSON lines, which :func:`read_references` reads."""
    return b"".join(msgspec.json.encode(each) + b"\n" for each in references)


def _json(path: Path, number: int, text: str, source: ReferenceSource) -> Iterator[Reference]:
    fields = decode_object(text.encode())
    if isinstance(fields, str):
        raise _no_reference(path, number, fields)
    for each in questions_in(fields):
        try:
            reference = msgspec.convert(_own_words(each, source), Reference)
        except msgspec.ValidationError as error:
            raise _no_reference(path, number, str(error)) from None
        yield _checked(path, number, reference)


def _no_reference(path: Path, number: int, reason: str) -> ExperimentRejected:
    return ExperimentRejected(
        f"{path} line {number} is no reference ({reason}): expected an object with qid, and answers, short, yes, "
        "choices and choice, or answerable."
    )


def _own_words(fields: Mapping[str, Any], source: ReferenceSource) -> dict[str, Any]:
    """Return a line's fields under the names of :class:`Reference`."""
    named = {name: fields[name] for name in ("qid", "short", "yes", "answerable") if name in fields}
    answers, choice = fields.get(source.answers, ()), fields.get(source.choice, "")
    named["answers"] = [answers] if isinstance(answers, str) else answers
    named["choice"] = choice[0] if isinstance(choice, list) and len(choice) == 1 else choice
    named["choices"] = fields.get(source.choices, ()) if isinstance(source.choices, str) else source.choices
    return named


def _tabs(path: Path, number: int, text: str) -> Reference:
    qid, *answers = (part.strip() for part in text.split("\t"))
    return _checked(path, number, Reference(qid, tuple(answers)))


def _checked(path: Path, number: int, given: Reference) -> Reference:
    answers, short = (tuple(each.strip() for each in texts if each.strip()) for texts in (given.answers, given.short))
    # A word alone, since an answer that only begins so says more.
    said = {read_yes_no(answer) if len(answer.split()) == 1 else None for answer in answers}
    yes = next(iter(said)) if given.yes is None and len(said) == 1 else given.yes
    choices = tuple(plain_line(each) for each in given.choices)
    choice = _letter(given.choice, choices)
    asked_with_choices = bool(choices or given.choice)
    if asked_with_choices and not (choice and 2 <= len(choices) <= len(LETTERS)):
        raise ExperimentRejected(
            f"{path} line {number} has {len(choices)} choices and calls {given.choice!r} the right one: give from 2 to "
            f"{len(LETTERS)} choices, and one of them or its letter as the right one, or neither."
        )
    reference = Reference(given.qid.strip(), answers, short, yes, given.answerable, choices, choice)
    if not reference.qid:
        raise ExperimentRejected(f"{path} line {number} names no question: expected a qid before the first tab.")
    if not reference.answerable and (answers or short or choices or yes is not None):
        raise ExperimentRejected(
            f"{path} line {number} answers {reference.qid}, of which it says that it cannot be answered: leave out one."
        )
    return reference


def _letter(choice: str, choices: tuple[str, ...]) -> str:
    """Return the letter of the right choice, which is given by it or in its own words; empty where it is none."""
    letters = LETTERS[: len(choices)]
    if choice.strip() and choice.strip() in letters:
        return choice.strip()
    return letters[choices.index(plain_line(choice))] if plain_line(choice) in choices[: len(letters)] else ""
