"""The words of research in general that a glossary starts from: ``general_terms.tsv``, written for this project."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import NamedTuple

_FILE = Path(__file__).with_name("general_terms.tsv")
_SURENESS, _EACH_FURTHER = 0.95, 0.1


class GeneralTerm(NamedTuple):
    """A Korean and an English word or phrase; the first English one of a Korean is the surest."""

    korean: str
    english: str
    sureness: float


def read_general_terms() -> Iterator[GeneralTerm]:
    """Yield the pairs in the file's order."""
    for line in _FILE.read_text(encoding="utf-8").splitlines():
        if line and not line.startswith("#"):
            korean, _, english = line.partition("\t")
            for place, term in enumerate(english.split(", ")):
                yield GeneralTerm(korean, term, _SURENESS - _EACH_FURTHER * place)
