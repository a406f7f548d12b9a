"""Read the reference answers of questions from JSON Lines or TSV."""

from __future__ import annotations

import unicodedata
from collections.abc import Iterable, Iterator, Mapping
from pathlib import Path
from typing import Any

import msgspec

from shrag.corpora.formats.benchmarks import read_benchmark
from shrag.corpora.formats.topics import questions_in, read_text_lines
from shrag.corpora.readers.item import decode_object
from shrag.corpora.text.cleaning import plain_line
from shrag.evaluation.errors import ExperimentRejected
from shrag.evaluation.measures.short_answers import read_yes_no
from shrag.messages.text import Text, message_of
from shrag.serving.request import LETTERS


class Reference(msgspec.Struct, frozen=True):
    """The reference of one question.

    Attributes:
        answers: Complete right answers.
        short_answers: Short right answers. An answer should contain one of them.
        yes_no: The right answer to a yes-or-no question; None for other questions.
        answerable: Whether the corpus has an answer. If not, refusing is right.
        choices: The choices of a multiple-choice question.
        choice: The upper-case letter of the right choice; empty without choices.
        kind: The kind of an unanswerable question, such as ``near`` or ``far``; may be empty.
        paper: The title of the paper that the question is about; empty if it is about none.
    """

    qid: str
    answers: tuple[str, ...] = ()
    short_answers: tuple[str, ...] = ()
    yes_no: bool | None = None
    answerable: bool = True
    choices: tuple[str, ...] = ()
    choice: str = ""
    kind: str = ""
    paper: str = ""


class ReferenceSource(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """A file of references, and the keys of its JSON objects for answers, choices and the right choice.

    ``choices`` is either such a key or a tuple of choices that all questions share.
    """

    path: str
    answers: str = "answers"
    choices: tuple[str, ...] | str = "choices"
    choice: str = "choice"


_DEFAULT_KEYS = ReferenceSource("")
"""A source whose keys are the fields of :class:`Reference`."""


def read_references(path: Path, source: ReferenceSource = _DEFAULT_KEYS) -> dict[str, Reference]:
    """Read the references in ``path`` as qid → reference, in the file's order.

    The file is one of GPQA or SuperGPQA, or each line is either of these:

    - A JSON object with the fields of :class:`Reference`; others are ignored. ``source`` names some of its keys. The
      object may list several questions under ``qas``; their paper is its ``title``. ``answers`` may be one string,
      ``choice`` a letter or the text of the choice.
    - A qid and its answers, separated by tabs.

    If all answers are single words that mean yes, or all are single words that mean no, ``yes_no`` is set. Qids are
    returned in NFC, because those of topics are.

    Raises:
        ExperimentRejected: A line is invalid or repeats a qid, or there is no reference.
        CorpusError: The file cannot be read, or is not UTF-8.
    """
    references: dict[str, Reference] = {}
    for number, reference in _numbered(path, source):
        if reference.qid in references:
            raise ExperimentRejected(
                Text(
                    "{path} line {number} has {qid} a second time: delete one of the two.",
                    path=path,
                    number=number,
                    qid=reference.qid,
                )
            )
        references[reference.qid] = reference
    if not references:
        raise ExperimentRejected(
            Text("{path} has no references: expected JSON objects with qid and answers, one a line.", path=path)
        )
    return references


def _numbered(path: Path, source: ReferenceSource) -> Iterator[tuple[int, Reference]]:
    """Yield each reference with the number of its line."""
    benchmark = read_benchmark(path)
    if benchmark is not None:
        for each in benchmark:
            yield each.line, Reference(each.qid, choices=each.choices, choice=each.letter)
        return
    for number, text in read_text_lines(path):
        is_json = text.lstrip().startswith("{")
        for reference in _json(path, number, text, source) if is_json else [_tabs(path, number, text)]:
            yield number, reference


def encode_references(references: Iterable[Reference]) -> bytes:
    """Return references as JSON Lines, which :func:`read_references` can read."""
    return b"".join(msgspec.json.encode(each) + b"\n" for each in references)


def _json(path: Path, number: int, text: str, source: ReferenceSource) -> Iterator[Reference]:
    fields = decode_object(text.encode())
    if isinstance(fields, str):
        raise _invalid_reference(path, number, fields)
    title = fields.get("title", "")
    for each in questions_in(fields):
        try:
            # The title of the object is the paper that its questions are about.
            about = {} if each is fields else {"paper": title}
            reference = msgspec.convert(about | _rename_keys(each, source), Reference)
        except msgspec.ValidationError as error:
            raise _invalid_reference(path, number, message_of(error)) from None
        yield _checked(path, number, reference)


def _invalid_reference(path: Path, number: int, reason: str) -> ExperimentRejected:
    return ExperimentRejected(
        Text(
            "{path} line {number} is not a reference ({reason}): expected an object with qid, and answers, "
            "short_answers, yes_no, choices and choice, or answerable.",
            path=path,
            number=number,
            reason=reason,
        )
    )


def _rename_keys(fields: Mapping[str, Any], source: ReferenceSource) -> dict[str, Any]:
    """Return an object's fields by the names of :class:`Reference`."""
    own = ("qid", "short_answers", "yes_no", "answerable", "kind", "paper")
    renamed = {name: fields[name] for name in own if name in fields}
    answers, choice = fields.get(source.answers, ()), fields.get(source.choice, "")
    renamed["answers"] = [answers] if isinstance(answers, str) else answers
    renamed["choice"] = choice[0] if isinstance(choice, list) and len(choice) == 1 else choice
    renamed["choices"] = fields.get(source.choices, ()) if isinstance(source.choices, str) else source.choices
    return renamed


def _tabs(path: Path, number: int, text: str) -> Reference:
    qid, *answers = (part.strip() for part in text.split("\t"))
    return _checked(path, number, Reference(qid, tuple(answers)))


def _checked(path: Path, number: int, given: Reference) -> Reference:
    answers, short = (
        tuple(each.strip() for each in texts if each.strip()) for texts in (given.answers, given.short_answers)
    )
    # Only one-word answers count, because an answer that merely begins with yes or no says more.
    verdicts = {read_yes_no(answer) if len(answer.split()) == 1 else None for answer in answers}
    yes = next(iter(verdicts)) if given.yes_no is None and len(verdicts) == 1 else given.yes_no
    choices = tuple(plain_line(each) for each in given.choices)
    choice = _letter(given.choice, choices)
    is_multiple_choice = bool(choices or given.choice)
    if is_multiple_choice and not (choice and 2 <= len(choices) <= len(LETTERS)):
        raise ExperimentRejected(
            Text(
                "{path} line {number} has {choices_count} choices and the right choice {choice!r}: give 2 to "
                "{letters_count} choices and the letter or text of the right one, or neither.",
                path=path,
                number=number,
                choices_count=len(choices),
                choice=given.choice,
                letters_count=len(LETTERS),
            )
        )
    paper, qid = plain_line(given.paper), unicodedata.normalize("NFC", given.qid.strip())
    reference = Reference(qid, answers, short, yes, given.answerable, choices, choice, given.kind, paper)
    if not reference.qid:
        raise ExperimentRejected(
            Text("{path} line {number} has no qid: write it before the first tab.", path=path, number=number)
        )
    if not reference.answerable and (answers or short or choices or yes is not None):
        raise ExperimentRejected(
            Text(
                "{path} line {number} has an answer to {qid} but says that it is not answerable: leave out one "
                "of the two.",
                path=path,
                number=number,
                qid=reference.qid,
            )
        )
    return reference


def _letter(choice: str, choices: tuple[str, ...]) -> str:
    """Return the letter of the right choice, which is given by letter or text; empty if it is not a choice."""
    letters = LETTERS[: len(choices)]
    if choice.strip() in tuple(letters):
        return choice.strip()
    return letters[choices.index(plain_line(choice))] if plain_line(choice) in choices[: len(letters)] else ""
