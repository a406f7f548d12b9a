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
"""Numbers of records a page can show; another number is read as the first."""

PARAMETERS = ("q", "ui", "k", "strategy", "lang", "kind", "journal", "from", "to")
"""The parameters of a page."""

_LONGEST_YEAR = 4

_LONGEST_IN_RECORD_URL = 200
"""Characters of a question and its strategy in the URL of a record; a page has many of these URLs."""


@dataclass(frozen=True, slots=True)
class Filters:
    """Filters of the records found; an empty string or None matches all.

    A record without a year matches no filter of years. A journal is compared by its name as it is shown.
    """

    language: str = ""
    journal: str = ""
    first_year: int | None = None
    last_year: int | None = None
    kind: str = ""

    def __bool__(self) -> bool:
        """Return whether any filter is set."""
        return self != Filters()

    def matches(self, record: Record) -> bool:
        """Return whether ``record`` is shown."""
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
    """The parsed query string of a page.

    Attributes:
        question: The question, None for the empty page.
        language: Language of the interface.
        k: Records at most.
        filters: Filters of the records found.
        strategy: Name of a strategy, or the stages of a pipeline; it may be unknown.
        signed_in: Whether to show the link to sign out.
    """

    question: str | None
    language: InterfaceLanguage
    k: int = DEFAULT_K
    filters: Filters = field(default_factory=Filters)
    strategy: str = DEFAULT_STRATEGY
    signed_in: bool = False

    def url(self, path: str = "/", *, language: str = "", k: int = 0, filtered: bool = True) -> str:
        """Return the URL of the same request with another path, language or ``k``, or without filters."""
        pairs: dict[str, str] = {"ui": language or self.language}
        if self.question is not None:
            pairs["q"] = self.question
        if self.strategy != DEFAULT_STRATEGY:
            pairs["strategy"] = self.strategy
        if (k or self.k) != DEFAULT_K:
            pairs["k"] = str(k or self.k)
        if filtered:
            first, last = self.filters.first_year, self.filters.last_year
            values = {"lang": self.filters.language, "kind": self.filters.kind, "journal": self.filters.journal}
            values |= {"from": str(first) if first is not None else "", "to": str(last) if last is not None else ""}
            pairs |= {name: value for name, value in values.items() if value}
        return f"{path}?{urlencode(pairs)}"

    def years_url(self, first: int, last: int) -> str:
        """Return the URL of the same request with only the records of these years shown."""
        return replace(self, filters=replace(self.filters, first_year=first, last_year=last)).url()

    def record_url(self, docid: str, part: int = 1) -> str:
        """Return the URL of a record's page; it highlights the terms of the question unless that is long."""
        pairs = {"ui": self.language, "docid": docid}
        strategy = self.strategy if self.strategy != DEFAULT_STRATEGY else ""
        if self.question is not None and len(self.question) + len(strategy) <= _LONGEST_IN_RECORD_URL:
            pairs |= {"q": self.question} | ({"strategy": strategy} if strategy else {})
        if part > 1:
            pairs["part"] = str(part)
        return f"/record?{urlencode(pairs)}"


def parse_page_request(parameters: Mapping[str, str], accepted: str) -> PageRequest:
    """Parse the query parameters of a page; ``accepted`` is the browser's Accept-Language.

    An invalid parameter is ignored, so that an old or mistyped link still works. An unknown strategy is kept: the
    answer of another one would be misleading.
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


def choose_language(requested: str | None, accepted: str) -> InterfaceLanguage:
    """Return the language of the interface: the requested one, else the browser's first of the two, else Korean."""
    codes = [part.partition(";")[0].strip().partition("-")[0] for part in accepted.lower().split(",")]
    return next(("en" if code == "en" else "ko" for code in (requested, *codes) if code in ("ko", "en")), "ko")


def _year(text: str) -> int | None:
    text = text.strip()
    return int(text) if text.isascii() and text.isdigit() and len(text) <= _LONGEST_YEAR else None
