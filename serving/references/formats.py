"""The formats that references are exported in."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from typing import Literal, NamedTuple

from shrag.corpora.records import Record
from shrag.serving.references.bibtex import bibtex_entries
from shrag.serving.references.csl import csl_json
from shrag.serving.references.ris import ris_entries
from shrag.serving.references.table import csv_table

ReferenceFormat = Literal["bibtex", "ris", "csl", "csl-json", "csv"]
"""``csl`` is short for ``csl-json``."""


class ReferenceFile(NamedTuple):
    """A format: its usual name, its media type, the name of a file in it, and the function that writes its text."""

    label: str
    media_type: str
    name: str
    write: Callable[[Iterable[Record]], str]


def _joined(entries: Callable[[Iterable[Record]], Iterable[str]]) -> Callable[[Iterable[Record]], str]:
    return lambda records: "".join(f"{entry}\n" for entry in entries(records))


_CSL_JSON = ReferenceFile("CSL-JSON", "application/vnd.citationstyles.csl+json", "shrag.json", csl_json)

REFERENCE_FILES: Mapping[ReferenceFormat, ReferenceFile] = {
    "bibtex": ReferenceFile("BibTeX", "application/x-bibtex", "shrag.bib", _joined(bibtex_entries)),
    "ris": ReferenceFile("RIS", "application/x-research-info-systems", "shrag.ris", _joined(ris_entries)),
    "csl": _CSL_JSON,
    "csl-json": _CSL_JSON,
    "csv": ReferenceFile("CSV", "text/csv", "shrag.csv", csv_table),
}


def write_references(records: Iterable[Record], form: ReferenceFormat) -> str:
    """Return the references of ``records`` as the text of a file, in their order."""
    return REFERENCE_FILES[form].write(records)
