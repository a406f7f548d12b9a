"""PageRequest: the parsed query string of a page, and the URLs that are made from it."""

from __future__ import annotations

import re
from dataclasses import dataclass, replace
from typing import Literal
from urllib.parse import urlencode

from starlette.datastructures import QueryParams

from shrag.indexing.record_filter import EVERY_RECORD, VALUE_FIELDS, RecordFilter
from shrag.serving.http.middleware import LONGEST_ADDRESS
from shrag.serving.request import (
    DEFAULT_K,
    DEFAULT_STRATEGY,
    LONGEST_QUESTION,
    Request,
    Turn,
    parse_filter,
    parse_request,
)

InterfaceLanguage = Literal["ko", "en"]

SIZES = (DEFAULT_K, 20, 50)
"""The numbers of records that a page can show. Any other number is read as the first of these."""

PARAMETERS = ("q", "after", "ui", "k", "offset", "strategy", "index", "year_from", "year_to", *VALUE_FIELDS)
"""The parameters of a page. Those of the filter have the same names as in the API."""

MOST_EARLIER = 8
"""Maximum number of earlier questions in the address of a page."""

# A character of Korean is three bytes, each %XX; the rest is for a longer path and the name of the parameter.
_LONGEST_ENCODED = 9 * LONGEST_QUESTION + 100

_NUMBER = re.compile(r"\d{1,4}", re.ASCII)
"""A year or an offset."""

_LONGEST_IN_RECORD_URL = 200
"""Maximum characters of a question and its strategy in the URL of a record. It is low: a page has many such URLs."""


@dataclass(frozen=True, slots=True)
class PageRequest:
    """The parsed query string of a page.

    Attributes:
        question: The question; None for the empty page.
        language: The language of the interface.
        k: The maximum number of records.
        record_filter: Which records may be found.
        strategy: The name of a strategy, or the stages of a pipeline. It may be unknown.
        index: The name of the index; empty for the first one.
        indexes: The names of the indexes that are served.
        after: The questions before a follow-up question, the oldest first.
        signed_in: Whether to show the link to sign out.
        offset: The number of ranks before the first record. If it is not 0, the page has no answer.
    """

    question: str | None
    language: InterfaceLanguage
    k: int = DEFAULT_K
    record_filter: RecordFilter = EVERY_RECORD
    strategy: str = DEFAULT_STRATEGY
    index: str = ""
    indexes: tuple[str, ...] = ()
    after: tuple[str, ...] = ()
    signed_in: bool = False
    offset: int = 0

    def url(self, *, language: str = "", k: int = 0, filtered: bool = True, offset: int = 0) -> str:
        """Return the URL of the same request; without an ``offset``, that of its first page.

        The URL may have another language or ``k``, and may be without the filter.
        """
        pairs = [("ui", language or self.language)]
        if self.question is not None:
            pairs.append(("q", self.question))
            pairs += [("after", each) for each in self.after]
        pairs += replace(self, k=k or self.k).scope
        if filtered:
            pairs += self.limits
        if offset:
            pairs.append(("offset", str(offset)))
        return f"/?{urlencode(pairs)}"

    @property
    def scope(self) -> list[tuple[str, str]]:
        """The parameters that say where and how to search, without the filter. Default values are left out."""
        pairs = [("index", self.index)] if self.index else []
        if self.strategy != DEFAULT_STRATEGY:
            pairs.append(("strategy", self.strategy))
        if self.k != DEFAULT_K:
            pairs.append(("k", str(self.k)))
        return pairs

    @property
    def limits(self) -> list[tuple[str, str]]:
        """The parameters of the filter, one for each value."""
        return [
            (name, str(each))
            for name, value in self.record_filter.to_mapping().items()
            for each in (value if isinstance(value, tuple) else (value,))
        ]

    @property
    def asked(self) -> tuple[str, ...]:
        """The questions before the next one: the earlier questions and this one.

        The oldest are left out if the address would have no room for a next question of the largest length.
        """
        room = LONGEST_ADDRESS - _LONGEST_ENCODED - len(replace(self, question=None).url())
        asked: list[str] = []
        for each in reversed((*self.after, self.question or "")[-MOST_EARLIER:]):
            room -= len(urlencode([("after", each)])) + len("&")
            if room < 0:
                break
            asked.append(each)
        return tuple(reversed(asked))

    def parse(self) -> Request:
        """Return the request for an answer; raises as :func:`~shrag.serving.request.parse_request` does."""
        return parse_request(
            self.question or "", answered=True, k=self.k, strategy=self.strategy, record_filter=self.record_filter,
            facets=True, history=[Turn(each) for each in self.after], offset=self.offset,
        )  # fmt: skip

    def years_url(self, first: int, last: int) -> str:
        """Return the URL of the same request for records of these years; if they are chosen already, of any year."""
        chosen = self.record_filter.year_from == first and self.record_filter.year_to == last
        years: tuple[int | None, int | None] = (None, None) if chosen else (first, last)
        return replace(self, record_filter=replace(self.record_filter, year_from=years[0], year_to=years[1])).url()

    def record_url(self, docid: str, part: int = 1) -> str:
        """Return the URL of a record's page. The page highlights the question's terms unless the question is long."""
        pairs = {"ui": self.language, "docid": docid}
        strategy = self.strategy if self.strategy != DEFAULT_STRATEGY else ""
        if self.question is not None and len(self.question) + len(strategy) <= _LONGEST_IN_RECORD_URL:
            pairs |= {"q": self.question} | ({"strategy": strategy} if strategy else {})
        if self.index:
            pairs["index"] = self.index
        if part > 1:
            pairs["part"] = str(part)
        return f"/record?{urlencode(pairs)}"


def parse_page_request(parameters: QueryParams, accepted: str, *, filtered: bool = True) -> PageRequest:
    """Parse the query parameters of a page; ``accepted`` is the browser's Accept-Language.

    An invalid number of records is ignored, and so is an offset that is not a number. An unknown strategy is kept,
    since another strategy's answer would be misleading. For the same reason, an invalid filter is an error.

    Args:
        parameters: The parameters. Empty parameters of a filter, which a form sends, are left out.
        accepted: The header.
        filtered: Whether to read the filter.

    Raises:
        QuestionError: The filter is not valid.
    """
    k, offset = parameters.get("k", ""), parameters.get("offset", "")
    return PageRequest(
        question=parameters.get("q"),
        language=choose_language(parameters.get("ui"), accepted),
        k=next((size for size in SIZES if str(size) == k), SIZES[0]),
        record_filter=_filter(parameters) if filtered else EVERY_RECORD,
        strategy=parameters.get("strategy", "").strip() or DEFAULT_STRATEGY,
        index=parameters.get("index", "").strip(),
        after=tuple(each for each in parameters.getlist("after") if each.strip())[-MOST_EARLIER:],
        offset=int(offset) if _NUMBER.fullmatch(offset) else 0,
    )


def _filter(parameters: QueryParams) -> RecordFilter:
    limits: dict[str, object] = {
        name: list(dict.fromkeys(value for each in parameters.getlist(name) if (value := each.strip())))
        for name in VALUE_FIELDS
    }
    for name in ("year_from", "year_to"):
        if text := parameters.get(name, "").strip():
            limits[name] = int(text) if _NUMBER.fullmatch(text) else text
    return parse_filter(limits)


def choose_language(requested: str | None, accepted: str) -> InterfaceLanguage:
    """Return the language of the interface: the requested one, else the browser's preferred one, else Korean."""
    codes = [part.partition(";")[0].strip().partition("-")[0] for part in accepted.lower().split(",")]
    return next(("en" if code == "en" else "ko" for code in (requested, *codes) if code in ("ko", "en")), "ko")
