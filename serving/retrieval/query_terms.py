"""QueryTerm: a question's content words with idf and translations; phrases of neighbouring words."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from collections.abc import Set as AbstractSet
from itertools import pairwise
from typing import NamedTuple

from shrag.indexing.analysis.analyzer import KEYWORD_KINDS, TokenKind
from shrag.indexing.bm25 import idf
from shrag.indexing.glossary.query_translation import AnalyzedQuestion, Translation, analyze_question
from shrag.indexing.open_index import OpenIndex
from shrag.indexing.search_engine import FieldStatistics
from shrag.serving.events import Reason
from shrag.serving.search_settings import WordChoice

_CONTENT_KINDS: frozenset[TokenKind] = KEYWORD_KINDS | {"predicate"}


class QueryTerm(NamedTuple):
    """A word of a question, as written, with the index terms any of which is a match: ``GPT-4`` is gpt4, gpt or 4.

    Attributes:
        text: The word as the question has it.
        terms: Its index terms, each once.
        idf: That of its rarest term that the index has, or of an unseen term where it has none.
        frequency: How often the question has it.
        keyword: Whether its kind makes a keyword.
        known: Whether the index has it or a translation of it.
        translations: Its translations, the surest first.
        start: Where its first use begins in the question.
        end: Where that ends.
        parts: The words of a phrase, all of which a match must have; its terms are theirs together.
    """

    text: str
    terms: tuple[str, ...]
    idf: float
    frequency: int
    keyword: bool
    known: bool
    translations: tuple[Translation, ...] = ()
    start: int = 0
    end: int = 0
    parts: tuple[QueryTerm, ...] = ()


def query_terms(question: AnalyzedQuestion) -> list[QueryTerm]:
    """Return a question's content words in order of first use, each once; stop words and affixes are left out."""
    contents = question.statistics.contents
    found: dict[tuple[str, ...], QueryTerm] = {}
    for segment, translations in zip(question.segments, question.translations, strict=True):
        tokens = [token for token in segment.tokens if token.kind in _CONTENT_KINDS]
        if not tokens:
            continue
        terms = tuple(dict.fromkeys([token.term for token in tokens]))
        start, end = tokens[0].start, max([token.end for token in tokens])
        earlier = found.get(terms)
        frequencies = _frequencies(terms, contents)
        translated = [frequency for each in translations for frequency in _frequencies(each.terms, contents)]
        found[terms] = QueryTerm(
            text=earlier.text if earlier else question.text[start:end],
            terms=terms,
            idf=idf(min(frequencies or translated, default=0), contents.documents),
            frequency=earlier.frequency + 1 if earlier else 1,
            keyword=any(token.kind in KEYWORD_KINDS for token in tokens),
            known=bool(frequencies or translated),
            translations=tuple(dict.fromkeys((*(earlier.translations if earlier else ()), *translations))),
            start=earlier.start if earlier else start,
            end=earlier.end if earlier else end,
        )
    return list(found.values())


def text_terms(text: str, index: OpenIndex) -> list[QueryTerm]:
    """Return the content words of any text, translated by the index's glossary, as :func:`query_terms` does."""
    return query_terms(analyze_question(text, index.analyzer, index.searcher, index.glossary))


def searchable(terms: Iterable[QueryTerm]) -> list[QueryTerm]:
    """Return those that can be keywords: nouns, foreign words and numbers that the index has in some language."""
    return [term for term in terms if term.keyword and term.known]


def matched_share(query: Sequence[QueryTerm], terms: AbstractSet[str]) -> float:
    """Return the share of the query's idf that is in ``terms``: 1 where every word is, 0 where none is.

    A translation is there where all of its terms are.
    """
    total = sum([word.idf for word in query])
    found = sum(
        [
            word.idf
            for word in query
            if not terms.isdisjoint(word.terms) or any(terms >= frozenset(each.terms) for each in word.translations)
        ]
    )
    return found / total if total else 0.0


def why_nothing(terms: Sequence[QueryTerm]) -> Reason:
    """Return why a question of these words found no record."""
    if any(term.keyword and term.known for term in terms):
        return "nothing_found"
    return "unknown_words" if any(term.keyword for term in terms) else "no_keywords"


def join_terms(parts: Sequence[QueryTerm]) -> QueryTerm:
    """Return the phrase that is where every one of its ``parts`` is; a single part is itself.

    Its idf is the sum of theirs, as if they occurred in documents independently of each other.
    """
    if len(parts) == 1:
        return parts[0]
    return QueryTerm(
        text=" ".join(part.text for part in parts),
        terms=tuple(dict.fromkeys(term for part in parts for term in part.terms)),
        idf=sum(part.idf for part in parts),
        frequency=min(part.frequency for part in parts),
        keyword=True,
        known=all(part.known for part in parts),
        start=parts[0].start,
        end=parts[-1].end,
        parts=tuple(parts),
    )


def choose_phrases(keywords: Sequence[QueryTerm], question: str, choice: WordChoice) -> list[QueryTerm]:
    """Return the keywords as ``choice`` has them: single, neighbours joined to phrases (free textbook), or both.

    Two keywords of the question with nothing but space between them are neighbours; one without a neighbour stays
    single. The SHRAG paper compares single words with compound ones. Source of the neighbours: Metzler and Croft, *A
    Markov random field model for term dependencies*, SIGIR 2005.
    """
    if choice == "split":
        return list(keywords)
    pairs = [pair for pair in pairwise(keywords) if _are_neighbours(*pair, question)]
    joined = [join_terms(pair) for pair in pairs]
    paired = {word.terms for pair in pairs for word in pair}
    single = [word for word in keywords if choice == "both" or word.terms not in paired]
    return sorted([*joined, *single], key=lambda word: (word.start, -word.end))


def _frequencies(terms: Iterable[str], contents: FieldStatistics) -> list[int]:
    """Return the document frequencies of the terms that the index has."""
    return [frequency for term in terms if (frequency := contents.document_frequencies[term])]


def _are_neighbours(left: QueryTerm, right: QueryTerm, question: str) -> bool:
    return left.end <= right.start and not question[left.end : right.start].strip()
