"""A question's words with their weights: what keywords are chosen from, and what an answer must hold."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from collections.abc import Set as AbstractSet
from typing import NamedTuple

from shrag.indexing.analysis import KEYWORD_KINDS, Analyzer, Kind, Token
from shrag.indexing.bm25 import idf
from shrag.indexing.engine import SearchEngine
from shrag.serving.events import Reason

_CONTENT_KINDS: frozenset[Kind] = KEYWORD_KINDS | {"predicate"}


class Word(NamedTuple):
    """One word of a question, as written, with the terms any of which is a match: ``GPT-4`` is gpt4, gpt or 4.

    ``idf`` is that of its rarest term that the index has, or of an unseen term where it has none; ``uses`` says how
    often the question has the word; ``keyword`` whether its kind makes a keyword; ``known`` whether the index has it.
    """

    text: str
    terms: tuple[str, ...]
    idf: float
    uses: int
    keyword: bool
    known: bool


def question_words(question: str, analyzer: Analyzer, engine: SearchEngine) -> list[Word]:
    """Return the question's content words in order of first use, each once; stop words and affixes are none."""
    (tokens,) = analyzer.tokens([question])
    groups = _overlapping(token for token in tokens if token.kind in _CONTENT_KINDS)
    contents = engine.statistics(sorted({token.term for token in tokens})).contents
    words: dict[tuple[str, ...], Word] = {}
    for group in groups:
        terms = tuple(dict.fromkeys(token.term for token in group))
        earlier = words.get(terms)
        frequencies = [contents.document_frequencies[term] for term in terms]
        known = [frequency for frequency in frequencies if frequency]
        words[terms] = Word(
            text=earlier.text if earlier else question[group[0].start : max(token.end for token in group)],
            terms=terms,
            idf=idf(min(known, default=0), contents.documents),
            uses=earlier.uses + 1 if earlier else 1,
            keyword=any(token.kind in KEYWORD_KINDS for token in group),
            known=bool(known),
        )
    return list(words.values())


def matched_share(words: Sequence[Word], terms: AbstractSet[str]) -> float:
    """Return which share of the words' idf stands in ``terms``: 1 where every word does, 0 where none does."""
    total = sum(word.idf for word in words)
    found = sum(word.idf for word in words if not terms.isdisjoint(word.terms))
    return found / total if total else 0.0


def why_nothing(words: Sequence[Word]) -> Reason:
    """Return why a question of these words found no record."""
    if any(word.keyword and word.known for word in words):
        return "nothing_found"
    return "unknown_words" if any(word.keyword for word in words) else "no_keywords"


def _overlapping(tokens: Iterable[Token]) -> list[list[Token]]:
    """Group tokens, which come by rising start, that share characters."""
    groups: list[list[Token]] = []
    end = -1
    for token in tokens:
        if token.start < end:
            groups[-1].append(token)
        else:
            groups.append([token])
        end = max(end, token.end)
    return groups
