"""Find authors in a question: ``Kavraki``, ``papers by Kavraki``, ``Kavraki motion planning``, ``김철수의 논문``.

A word may be both a name and a word of texts (Baker, Young, 이수). It is certainly a name if no record's text has it,
if the question marks it as one (``papers by``, ``교수``), or if the filter has the author. Otherwise the question may
name an author, but is searched for as it stands.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Sequence
from typing import NamedTuple

from shrag.indexing.lexical.author_names import fold_name
from shrag.indexing.open_index import OpenIndex
from shrag.indexing.query import And, Term
from shrag.indexing.record_filter import RecordFilter, shown_value, value_key
from shrag.indexing.search_engine import AuthorName, AuthorSearch
from shrag.indexing.translation.query_translation import analyze_question
from shrag.serving.events import Authors, AuthorsRole
from shrag.serving.retrieval.asking_words import asks_for_records

MOST_NAMES = 1_000
"""Most names of authors that are found for one word."""

_SHOWN_NAMES = 5
_LONGEST_QUESTION = 200  # characters: questions that name authors are short
_LONGEST_NAME = 100
_MOST_WORDS = 6
_MOST_SOUGHT = 4  # words whose names are looked up: each look-up reads all names
_FEW_TEXTS = 3  # a word in at most so many texts is more likely a name
_SHORT = 3  # words: in so short a question, a word may be a name although texts have it

_AUTHOR_LABEL = re.compile(r"(?:저자|author)\s*[:：]\s*", re.IGNORECASE)
_HANGUL = "\uac00-\ud7a3"
_WORD = re.compile(rf"[^\W\d_{_HANGUL}]+(?:(?:[-‐‑]|['’](?!s\b))[^\W\d_{_HANGUL}]+)*")
_BETWEEN = re.compile(r"[\s,.]*")
# Text that marks the name behind it as an author.
_MARK = re.compile(
    r"""(?:(?:\b(?:papers?|articles?|works?|research|stud(?:y|ies)|publications?|books?|thes[ie]s|written|authored|published)
            |논문|문헌|연구|저서)\s+(?P<by>by(?:\s+(?:prof(?:essor|\.)?|dr\.?))?)
        |(?P<label>\bauthors?\s*[:：]?|\bprof(?:essor|\.)|\bdr\.|(?:저자|지은이)\s*[:：]?))\s*$""",
    re.IGNORECASE | re.VERBOSE,
)
_TITLE = r"(?:교수|박사|선생|연구원|연구자|작가|저자|씨)(?:님)?"
_PARTICLE = r"(?:의|이|가|은|는|을|를|과|와|도|께서|께서는|에게|이라는|라는|이란|란)"
# Text behind a name; the group ``mark`` marks the name as an author.
_BEHIND = re.compile(
    rf""",?\s+et\s+al\b\.?
        |(?P<mark>['’]s(?=\s+(?:papers|articles|publications|work)\b)
          |\s*{_TITLE}{_PARTICLE}?|(?<=[^\W{_HANGUL}])의(?=\s+(?:논문|저서))|[이가]\s+(?:쓴|발표한|저술한|집필한|작성한))(?![{_HANGUL}])
        |['’]s\b|{_PARTICLE}(?![{_HANGUL}])""",
    re.VERBOSE,
)
_KOREAN_WORD = re.compile(f"[{_HANGUL}]{{2,}}")
_KOREAN_TAIL = re.compile(rf"(?:{_TITLE})?{_PARTICLE}?")
_LONGEST_KOREAN_NAME = 5

# Words that name no subject, beside those that ask for records.
_ASKING = frozenset("author authors publish publishes prof professor write writes wrote 교수 박사 저자".split())


class NamedAuthors(NamedTuple):
    """The authors that a question names.

    Attributes:
        names: Their names in the form that is compared, those with the most records first.
        certain: Whether the question certainly names them; otherwise it only may name them.
        topic: The question without the names; empty if nothing else in it is a subject.
        written: The names as the question writes them.
        marked: Whether the question calls one of them an author.
    """

    names: tuple[str, ...]
    certain: bool
    topic: str
    written: tuple[str, ...]
    marked: bool


class _Name(NamedTuple):
    """A name at the characters from ``start`` to ``end`` of a question, and how many texts have its words.

    ``marked`` says that the question calls it an author.
    """

    start: int
    end: int
    names: tuple[str, ...]
    texts: int
    marked: bool


def find_named_authors(question: str, record_filter: RecordFilter, index: OpenIndex) -> NamedAuthors | None:
    """Return the authors that a question names, None without any.

    Args:
        question: The question.
        record_filter: Its filter. If the filter has authors, the question can name only these.
        index: The index.
    """
    authors = index.authors
    if authors is None or len(question) > _LONGEST_QUESTION:
        return None
    found = _whole_name(question, index, authors) or [
        *_latin_names(question, index, authors),
        *_korean_names(question, index, authors),
    ]
    limited = frozenset(record_filter.keys("author"))
    if limited:
        kept = [each._replace(names=tuple(limited.intersection(each.names)), marked=True) for each in found]
        found = [each for each in kept if each.names]
    certain = [each for each in found if each.marked or not each.texts]
    if certain:
        return _named(question, certain, index, authors, certain=True)
    named = _named(question, found, index, authors, certain=False) if found else None
    # In a question with a topic, a word that many texts have is no name; in a long question, no word is one.
    if named is not None and named.topic:
        rare = [each for each in found if each.texts <= _FEW_TEXTS and len(question.split()) <= _MOST_WORDS]
        return _named(question, rare, index, authors, certain=False) if rare else None
    return named


def _named(
    question: str, found: Sequence[_Name], index: OpenIndex, authors: AuthorSearch, *, certain: bool
) -> NamedAuthors:
    names = list(dict.fromkeys(name for each in found for name in each.names))
    counts = dict(zip(names, authors.count_records(names), strict=True))
    rest, end = [], 0
    for each in sorted(found):
        rest.append(question[end : each.start])
        end = each.end
    topic = " ".join("".join([*rest, " ", question[end:]]).split())
    return NamedAuthors(
        tuple(sorted(names, key=lambda name: (-counts[name], name))),
        certain,
        topic if _has_subject(topic, index) else "",
        tuple(question[each.start : each.end] for each in found),
        any(each.marked for each in found),
    )


def _has_subject(text: str, index: OpenIndex) -> bool:
    segments = analyze_question(text, index.analyzer, index.searcher).segments
    words = [each.written_in(text).lower() for each in segments if each.is_keyword]
    return any(not asks_for_records(word) and word not in _ASKING for word in words)


def _whole_name(question: str, index: OpenIndex, authors: AuthorSearch) -> list[_Name]:
    """Return the author if the question consists of the author's whole name."""
    if len(question) > _LONGEST_NAME or len(question.split()) > _MOST_WORDS:
        return []
    name, labels = _AUTHOR_LABEL.subn("", question.strip(), count=1)
    orders = _orders(name)
    for order, records in zip(orders, authors.count_records(orders), strict=True):
        if records:
            return [_Name(0, len(question), (value_key(order),), _count_texts([name], index)[0], bool(labels))]
    return []


def _orders(name: str) -> list[str]:
    """Return a name as it is, and with its family name moved to the other end (Kim, Minsu for Minsu Kim)."""
    family, comma, given = (part.strip() for part in name.partition(","))
    if comma:
        return [name, f"{given} {family}"]
    given, blank, family = name.rpartition(" ")
    return [name, f"{family}, {given}"] if blank else [name]


def _count_texts(names: Sequence[str], index: OpenIndex) -> list[int]:
    """Return how many records have all words of each name in title and text, counted up to ``_FEW_TEXTS`` + 1."""
    terms = index.analyzer.terms(names)
    counts = iter(index.searcher.count_hits([And(tuple(map(Term, each))) for each in terms if each], _FEW_TEXTS + 1))
    return [next(counts) if each else _FEW_TEXTS + 1 for each in terms]


def _latin_names(question: str, index: OpenIndex, authors: AuthorSearch) -> Iterator[_Name]:
    """Yield names with a word of the question; few texts have it, the question is short, or it marks an author."""
    words = list(_WORD.finditer(question))
    terms = index.analyzer.terms([word.group() for word in words])
    frequencies = index.searcher.statistics(
        list(dict.fromkeys(term for each in terms for term in each))
    ).contents.document_frequencies
    texts = [min((frequencies[term] for term in each), default=-1) for each in terms]
    contents = [n for n, word in enumerate(words) if texts[n] >= 0 and not asks_for_records(word.group())]
    marked = {n for n in contents if _mark_before(question, words[n].start()) is not None}
    sought = [n for n in contents if n in marked or texts[n] <= _FEW_TEXTS or len(contents) <= _SHORT]
    if not question.islower():  # in a question with capitals, names have capitals
        sought = [n for n in sought if words[n].group()[0].isupper()]
    used: set[int] = set()
    for n in sorted(sought, key=lambda n: (n not in marked, texts[n]))[:_MOST_SOUGHT]:
        if n in used:
            continue
        places, names = _narrow(question, words, n, authors.names_with_word(words[n].group(), MOST_NAMES))
        if len(places) == 1:
            # A given name among other words is mostly another person's.
            families = [each for each in names if _is_family_name(each.key, words[n].group())]
            names = families if families or contents != [n] else names
        if names:
            used.update(places)
            start, end = words[min(places)].start(), words[max(places)].end()
            yield _with_marks(question, start, end, [each.key for each in names], min(texts[place] for place in places))


def _with_marks(question: str, start: int, end: int, names: Iterable[str], texts: int) -> _Name:
    """Return the name between two places, extended by the words around it that mark it as an author.

    No mark makes a name of a lower-case word that many texts have: ``studies by young people``.
    """
    before, behind = _mark_before(question, start), _BEHIND.match(question, end)
    called = before is not None or (behind is not None and behind["mark"] is not None)
    return _Name(
        start if before is None else before,
        end if behind is None else behind.end(),
        tuple(names),
        texts,
        called and (texts <= _FEW_TEXTS or not question[start].islower()),
    )


def _mark_before(question: str, place: int) -> int | None:
    """Return the beginning of the words before ``place`` that mark the text there as an author, None without any."""
    mark = _MARK.search(question, 0, place)
    return mark and mark.start(mark.lastgroup or 0)


def _narrow(
    question: str, words: Sequence[re.Match[str]], seed: int, names: list[AuthorName]
) -> tuple[list[int], list[AuthorName]]:
    """Extend a word by its neighbors as long as some of the names have them all; return the words and those names."""
    places = [seed]
    for step in (-1, 1):
        place = seed + step
        while 0 <= place < len(words):
            first, second = sorted((place, place - step))
            between = question[words[first].end() : words[second].start()]
            narrower = [each for each in names if _has_word(each, words[place].group())]
            if not narrower or not _BETWEEN.fullmatch(between):
                break
            places.append(place)
            names = narrower
            place += step
    return places, names


def _is_family_name(name: str, word: str) -> bool:
    """Return whether a word is a name's family name: before its comma, or without a comma its last word."""
    family, comma, _ = name.partition(",")
    words = fold_name(family).split()
    return fold_name(word) in (words if comma else words[-1:])


def _has_word(name: AuthorName, word: str) -> bool:
    """Return whether a name has a word, or for an initial a word that begins with it."""
    folded = fold_name(word)
    if len(word) == 1:
        return word.isupper() and any(each.startswith(folded) for each in name.words)
    return folded in name.words


def _korean_names(question: str, index: OpenIndex, authors: AuthorSearch) -> Iterator[_Name]:
    """Yield the authors whose whole Korean names are words of the question, with or without a particle."""
    ways = [
        (match.start(), match.group()[:size])
        for match in _KOREAN_WORD.finditer(question)
        for size in range(2, min(_LONGEST_KOREAN_NAME, len(match.group())) + 1)
        if _KOREAN_TAIL.fullmatch(match.group(), size)
    ]
    counts = authors.count_records([name for _, name in ways])
    longest = {start: name for (start, name), records in zip(ways, counts, strict=True) if records}
    texts = _count_texts(list(longest.values()), index) if longest else []
    for (start, name), count in zip(longest.items(), texts, strict=True):
        yield _with_marks(question, start, start + len(name), [name], count)


def authors_event(named: NamedAuthors, role: AuthorsRole, index: OpenIndex) -> Authors:
    """Return the event that names authors as records write them.

    Args:
        named: The authors.
        role: How the search uses them.
        index: The index.
    """
    if index.authors is None:
        raise ValueError(f"The index {index.name} finds no authors.")
    names = named.names[:_SHOWN_NAMES]
    docids = [docid for name in names for docid in index.authors.newest_of_authors([name], 1)]
    records = [each.record for each in index.store.fetch(docids) if each is not None]
    written = {value_key(author): shown_value(author) for each in records for author in each.authors}
    return Authors(tuple(written.get(name, name) for name in names), len(named.names), role)
