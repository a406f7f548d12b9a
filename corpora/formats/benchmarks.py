"""Read the files of GPQA (CSV) and SuperGPQA (JSON Lines) as their authors publish them.

A question of GPQA (Rein et al. 2023) has one right and three wrong answers without letters. A hash of the question's
identifier puts them in order, so the right answer is equally likely at each letter and each run gives the same order.
A question of SuperGPQA (M-A-P 2025) has up to ten options in a fixed order and the letter of the right one.
"""

from __future__ import annotations

import hashlib
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any, NamedTuple

from shrag.corpora.errors import CorpusError
from shrag.corpora.readers.csv_reader import read_csv
from shrag.corpora.readers.json_reader import read_objects
from shrag.corpora.readers.source import read_head
from shrag.corpora.text.cleaning import plain_line
from shrag.messages.text import Text

_HEAD = 16_384
_LETTERS = "ABCDEFGHIJ"
_RIGHT, _WRONG = "Correct Answer", ("Incorrect Answer 1", "Incorrect Answer 2", "Incorrect Answer 3")
_GPQA_COLUMNS = ("High-level domain", "Subdomain")
_SUPERGPQA_KEYS = ("uuid", "question", "options", "answer_letter")
_SUPERGPQA_COLUMNS = ("discipline", "field", "subfield", "difficulty")


class BenchmarkQuestion(NamedTuple):
    """A question with its choices in order, the letter of the right choice, and further columns such as the domain.

    ``line`` is the number of the question's line in the file.
    """

    line: int
    qid: str
    text: str
    choices: tuple[str, ...]
    letter: str
    columns: Mapping[str, str]


def read_benchmark(path: Path) -> list[BenchmarkQuestion] | None:
    """Return the questions of a file of GPQA or SuperGPQA in the file's order, or None for any other file.

    Raises :class:`CorpusError` if a line lacks a field or the file cannot be read.
    """
    head = read_head(path, _HEAD).lstrip()
    if head.startswith(b"{"):
        is_supergpqa = all(f'"{key}"'.encode() in head for key in _SUPERGPQA_KEYS)
        return list(_supergpqa(path)) if is_supergpqa else None
    is_gpqa = all(column.encode() in head for column in (_RIGHT, *_WRONG))
    return list(_gpqa(path)) if is_gpqa else None


def _gpqa(path: Path) -> Iterator[BenchmarkQuestion]:
    for row in read_csv(path):
        if row.fields is None:
            continue
        if isinstance(row.fields, str):
            raise CorpusError(Text("{path} line {number}: {fields}.", path=path, number=row.number, fields=row.fields))
        qid, text = _text(row.fields, "Record ID"), _text(row.fields, "Question")
        answers = [_text(row.fields, name) for name in (_RIGHT, *_WRONG)]
        if not (qid and text and all(answers)):
            raise CorpusError(
                Text(
                    "{path} line {number} is not a question of GPQA: it needs Record ID, Question, {right} and "
                    "three incorrect answers.",
                    path=path,
                    number=row.number,
                    right=_RIGHT,
                )
            )
        order = sorted(range(len(answers)), key=lambda each: hashlib.sha256(f"{qid}\t{each}".encode()).digest())
        choices = tuple(answers[each] for each in order)
        letter = _LETTERS[order.index(0)]
        yield BenchmarkQuestion(row.number, qid, text, choices, letter, _columns(row.fields, _GPQA_COLUMNS))


def _supergpqa(path: Path) -> Iterator[BenchmarkQuestion]:
    for item in read_objects(path):
        if item.fields is None:
            continue
        fields = item.fields if isinstance(item.fields, dict) else {}
        options, letter = fields.get("options"), _text(fields, "answer_letter")
        qid, text = _text(fields, "uuid"), _text(fields, "question")
        choices = tuple(plain_line(str(each)) for each in options) if isinstance(options, list) else ()
        if not (qid and text and letter in tuple(_LETTERS[: len(choices)])):
            raise CorpusError(
                Text(
                    "{path} line {number} is not a question of SuperGPQA: it needs uuid, question, options, and the "
                    "answer_letter of one of them.",
                    path=path,
                    number=item.number,
                )
            )
        yield BenchmarkQuestion(item.number, qid, text, choices, letter, _columns(fields, _SUPERGPQA_COLUMNS))


def _columns(fields: Mapping[str, Any], names: tuple[str, ...]) -> dict[str, str]:
    return {name: _text(fields, name) for name in names if name in fields}


def _text(fields: Mapping[str, Any], name: str) -> str:
    value = fields.get(name)
    return plain_line(value) if isinstance(value, str) else ""
