"""Query string → PageRequest and Filters."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from typing import Literal
from urllib.parse import urlencode

from shrag.corpora.records import Record
from shrag.serving.page.facets import RECORD_KINDS, kind_of
from shrag.serving.page.snippets import LONGEST_NAME, shorten
from shrag.serving.request import DEFAULT_K, DEFAULT_STRATEGY

InterfaceLanguage = Literal["ko", "en"]

SIZES = (DEFAULT_K, 20, 50)
"""How many records a page can show; another number is read as the first."""

_LONGEST_YEAR = 4

_LONGEST_CARRIED = 200
"""Characters of a question and its strategy that a record's address carries; a page has many of these addresses."""


@dataclass(frozen=True, slots=True)
class Filters:
    """Which of the records found are shown; an empty string or None lets all through.

    A record without a year is not shown where a year is asked for. A journal is known by its name as it is shown.
    """

    language: str = ""
    journal: str = ""
    first_year: int | None = None
    last_year: int | None = None
    kind: str = ""

    def __bool__(self) -> bool:
        """Say whether anything is asked for."""
        return (
            bool(self.language or self.kind or self.journal)
            or self.first_year is not None
            or self.last_year is not None
        )

    def matches(self, record: Record) -> bool:
        """Say whether ``record`` is shown."""
        if self.language and record.language != self.language:
            return False
        if self.kind and kind_of(record) != self.kind:
            return False
        if self.journal and shorten(record.journal, LONGEST_NAME) != self.journal:
            return False
        if self.first_year is None and self.last_year is None:
            return True
        if record.year is None:
            return False
        return (self.first_year or record.year) <= record.year <= (self.last_year or record.year)


@dataclass(frozen=True, slots=True)
class PageRequest:
    """What the page is asked for: a question, or None for the empty page, in one of the interface's languages.

    ``strategy`` is the name, or the line, of how it is to be answered; there need not be one of that name. Who is
    ``signed_in`` is shown the way out.
    """

    question: str | None
    language: InterfaceLanguage
    k: int = DEFAULT_K
    filters: Filters = field(default_factory=Filters)
    strategy: str = DEFAULT_STRATEGY
    signed_in: bool = False

    def url(self, path: str = "/", *, language: str = "", k: int = 0, filtered: bool = True) -> str:
        """Return the address that asks for the same, but for what is named here."""
        pairs: dict[str, str] = {"ui": language or self.language}
        if self.question is not None:
            pairs["q"] = self.question
        if self.strategy != DEFAULT_STRATEGY:
            pairs["strategy"] = self.strategy
        if (k or self.k) != DEFAULT_K:
            pairs["k"] = str(k or self.k)
        if filtered:
            first, last = self.filters.first_year, self.filters.last_year
            wanted = {"lang": self.filters.language, "kind": self.filters.kind, "journal": self.filters.journal}
            wanted |= {"from": str(first) if first is not None else "", "to": str(last) if last is not None else ""}
            pairs |= {name: value for name, value in wanted.items() if value}
        return f"{path}?{urlencode(pairs)}"

    def years_url(self, first: int, last: int) -> str:
        """Return the address that asks for the same, with only the records of these years shown."""
        return replace(self, filters=replace(self.filters, first_year=first, last_year=last)).url()

    def record_url(self, docid: str, part: int = 1) -> str:
        """Return the address of a record's page, where the question's words are marked unless it is a long one."""
        pairs = {"ui": self.language, "docid": docid}
        strategy = self.strategy if self.strategy != DEFAULT_STRATEGY else ""
        if self.question is not None and len(self.question) + len(strategy) <= _LONGEST_CARRIED:
            pairs |= {"q": self.question} | ({"strategy": strategy} if strategy else {})
        if part > 1:
            pairs["part"] = str(part)
        return f"/record?{urlencode(pairs)}"


def parse_page_request(parameters: Mapping[str, str], accepted: str) -> PageRequest:
    """Return what an address's ``parameters`` ask for; ``accepted`` is the browser's Accept-Language.

    What cannot be read is taken as not asked for, so that an old or mistyped link still answers its question; but a
    strategy is taken as it stands: to answer by another one would not be what was asked.
    """
    k = parameters.get("k", "")
    return PageRequest(
        question=parameters.get("q"),
        language=choose_language(parameters.get("ui"), accepted),
        k=next((size for size in SIZES if str(size) == k), SIZES[0]),
        filters=Filters(
            language=parameters["lang"] if parameters.get("lang") in ("ko", "en", "und") else "",
            kind=parameters["kind"] if parameters.get("kind") in RECORD_KINDS else "",
            journal=shorten(parameters.get("journal", "").strip(), LONGEST_NAME),
            first_year=_year(parameters.get("from", "")),
            last_year=_year(parameters.get("to", "")),
        ),
        strategy=parameters.get("strategy", "").strip() or DEFAULT_STRATEGY,
    )


def choose_language(wanted: str | None, accepted: str) -> InterfaceLanguage:
    """Return the interface's language: the one asked for by name, else the browser's first of the two, else Korean."""
    if wanted in ("ko", "en"):
        return "ko" if wanted == "ko" else "en"
    for part in accepted.lower().split(","):
        name = part.partition(";")[0].strip().partition("-")[0]
        if name in ("ko", "en"):
            return "ko" if name == "ko" else "en"
    return "ko"


def _year(text: str) -> int | None:
    text = text.strip()
    return int(text) if text.isascii() and text.isdigit() and len(text) <= _LONGEST_YEAR else None
