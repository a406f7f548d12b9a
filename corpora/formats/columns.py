"""Find out which column of a table, or key of an object, is which field of a record, by the usual names of columns."""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass

from shrag.corpora.errors import CorpusError
from shrag.messages.text import Text

# Field → names of its columns, the best first; in lower case, without punctuation and blanks.
_ALIASES: dict[str, str] = {
    "id": "id _id docid documentid cn 관리번호 등록번호 문헌번호 논문번호 논문id 제어번호 식별자 paperid "
    "articleid recordid uid uuid eid pmid accessionnumber utuniquewosid uniquewosid key citekey "
    "corpusid arxivid",
    "title": "title 제목 논문명 논문제목 국문제목 한글제목 제목국문 논문명국문 표제 서명 자료명 기사명 "
    "보고서명 보고서제목 articletitle documenttitle papertitle itemtitle titlekor titleko titleeng "
    "영문제목 제목영문 논문명영문 headline",
    "text": "abstract 초록 국문초록 한글초록 초록국문 요약 요약문 abstractkor abstractko abstractnote text "
    "contents content 본문 내용 body fulltext passage description summary 영문초록 초록영문 "
    "abstracteng abstracten abstractinvertedindex",
    "author": "author authors 저자 저자명 저자들 연구자 작성자 지은이 authornames authorfullnames creator "
    "creators 주저자 제1저자",
    "journal": "journal 학술지 학술지명 저널 저널명 수록지 수록지명 게재지 간행물명 journalname "
    "journaltitle sourcetitle publicationtitle publicationname containertitle venue booktitle",
    "publisher": "publisher 출판사 발행기관 발행처 출판사발행기관 학회명 발행기관명 publishername institution",
    "year": "year 발행년도 발행연도 발행년 발행일 발행일자 출판연도 출판년도 출판일 연도 년도 게재연도 "
    "게재년도 학위수여년도 pubyear publicationyear publishedyear publicationdate publishdate pubdate "
    "issued date",
    "link": "link url 링크 원문url 원문링크 상세링크 주소 contenturl weburl uri fulltexturl",
    "keyword": "keyword keywords 키워드 주제어 핵심어 색인어 authorkeywords subject subjects tags 주제어국문",
    "doi": "doi doi번호",
    "volume": "volume vol 권 권번호 volumeno",
    "issue": "issue 호 호번호 issueno issuenumber",
    "pages": "pages page 페이지 페이지정보 쪽 쪽수 수록면 수록페이지 pagerange pageinfo",
    "type": "type 자료유형 문헌유형 문서유형 자료구분 논문유형 자료종류 documenttype publicationtype itemtype",
    "language": "",  # only by --column: a catalog names the paper's language, and the abstract may be in another
}
FIELDS = tuple(_ALIASES)
"""The fields of a record that a column can hold."""

_RANKS = {field: {alias: rank for rank, alias in enumerate(names.split())} for field, names in _ALIASES.items()}
_SIGNS = re.compile(r"[\W_]+")
_VALUES = ("name", "value", "text", "content", "ko", "kor", "fullname", "full", "en", "eng", "displayname")
"""Keys under which an object holds its value: ``title.ko``, ``authors.name``."""

_OWN = ("id", "title", "text", "link", "doi", "type")
_PARTS = frozenset(
    (
        *(alias for field in ("author", "journal", "publisher", "keyword") for alias in _RANKS[field]),
        *"references reference citations citedby license licenses funder funders funding affiliation "
        "affiliations".split(),
    )
)
"""Objects in a record that have identifiers, titles and addresses of their own, which are not the record's."""


@dataclass(frozen=True, slots=True)
class Columns:
    """The columns that the user named: pairs of a field and a column.

    A column may be a dotted path into an object (``meta.title``); in a list the path applies to every element. An empty
    name means that the records do not have the field. If a field is named several times, its columns are joined.
    """

    named: tuple[tuple[str, str], ...] = ()

    def __str__(self) -> str:
        return " ".join(f"{field}={name}" for field, name in self.named)


NO_COLUMNS = Columns()

Mapped = Mapping[str, tuple[str, ...]]
"""Field → its columns."""


def parse_columns(options: Iterable[str]) -> Columns:
    """Return the columns of options ``FIELD=NAME``; raises :class:`CorpusError` for a malformed option."""
    named: list[tuple[str, str]] = []
    for option in options:
        field, sign, name = option.partition("=")
        if not sign or field.strip() not in FIELDS:
            raise CorpusError(
                Text(
                    "--column {option!r}: write FIELD=NAME, where FIELD is one of {fields}.",
                    option=option,
                    fields=", ".join(FIELDS),
                )
            )
        named.append((field.strip(), name.strip()))
    return Columns(tuple(named))


def map_columns(names: Sequence[str], columns: Columns) -> Mapped:
    """Return the columns of each field: those that the user named, and for other fields those with a usual name.

    If several columns fit a field, the one with the better name is taken; between equal names, the one that is less
    deep in an object.
    """
    mapped: dict[str, tuple[str, ...]] = {}
    for field, name in columns.named:
        mapped[field] = (*mapped.get(field, ()), *filter(None, [name]))
    used = {name for group in mapped.values() for name in group}
    found: dict[str, tuple[int, int, str]] = {}
    for name in names:
        for field in FIELDS:
            rank = _rank(field, name)
            if rank is None or field in mapped or name in used:
                continue
            found[field] = min(found.get(field, (99, 99, "")), (rank, name.count("."), name))
            break
    return mapped | {field: (name,) for field, (_, _, name) in found.items()}


def first_columns(fields: Mapping[str, object], columns: Mapping[str, tuple[str, ...]]) -> Mapped:
    """Return for each field of a record the first of its names in ``columns`` that has a value in ``fields``."""
    found = {field: next((name for name in names if fields.get(name)), "") for field, names in columns.items()}
    return {field: (name,) for field, name in found.items() if name}


def count_recognised(names: Iterable[str]) -> int:
    """Return how many fields of a record are recognized among the names of columns."""
    return len(map_columns(list(names), NO_COLUMNS))


def _rank(field: str, name: str) -> int | None:
    *before, last = name.split(".")
    if field in _OWN and any(_plain(part) in _PARTS for part in before):
        return None
    rank = _RANKS[field].get(_plain(name), _RANKS[field].get(_plain(last)))
    inner = _RANKS[field].get(_plain(before[-1])) if before and _plain(last) in _VALUES else None
    ranks = [rank, None if inner is None else inner + _VALUES.index(_plain(last))]
    return min((each for each in ranks if each is not None), default=None)


def _plain(name: str) -> str:
    return _SIGNS.sub("", name.casefold())
