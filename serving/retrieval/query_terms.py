"""Question → QueryTerms with idf, compounds and translations.

Where no language model chooses them, two keywords of the question with nothing but space between them make one: the
neighbours of Metzler and Croft, *A Markov random field model for term dependencies*, SIGIR 2005.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from collections.abc import Set as AbstractSet
from itertools import pairwise
from typing import NamedTuple

from shrag.indexing.analysis.analyzer import KEYWORD_KINDS, Analyzer, TokenKind
from shrag.indexing.bm25 import idf
from shrag.indexing.glossary.query_translation import Phrasebook, Way, all_terms, carry_over, weigh_translations
from shrag.indexing.search_engine import FieldStatistics, SearchEngine
from shrag.serving.events import Reason
from shrag.serving.strategy import WordChoice

_CONTENT_KINDS: frozenset[TokenKind] = KEYWORD_KINDS | {"predicate"}


class Word(NamedTuple):
    """One word of a question, as written, with the terms any of which is a match: ``GPT-4`` is gpt4, gpt or 4.

    ``idf`` is that of its rarest term that the index has, or of an unseen term where it has none; ``uses`` says how
    often the question has the word; ``keyword`` whether its kind makes a keyword; ``known`` whether the index has it or
    a translation of it; ``ways`` are its translations. ``start`` and ``end`` bound its first use in the question.
    ``parts`` are the words of a compound, which a match must all have; its terms are theirs together.
    """

    text: str
    terms: tuple[str, ...]
    idf: float
    uses: int
    keyword: bool
    known: bool
    ways: tuple[Way, ...] = ()
    start: int = 0
    end: int = 0
    parts: tuple[Word, ...] = ()


def question_words(
    question: str, analyzer: Analyzer, engine: SearchEngine, glossary: Phrasebook | None = None
) -> list[Word]:
    """Return the question's content words in order of first use, each once; stop words and affixes are none."""
    (tokens,) = analyzer.tokens([question])
    spoken = carry_over((token for token in tokens if token.kind in _CONTENT_KINDS), glossary)
    contents = engine.statistics(sorted(all_terms(spoken))).contents
    words: dict[tuple[str, ...], Word] = {}
    for each, ways in zip(spoken, weigh_translations(spoken, contents), strict=True):
        terms = each.terms
        earlier = words.get(terms)
        known = _known(terms, contents)
        carried = [frequency for way in ways for frequency in _known(way.terms, contents)]
        words[terms] = Word(
            text=earlier.text if earlier else question[each.start : each.end],
            terms=terms,
            idf=idf(min(known or carried, default=0), contents.documents),
            uses=earlier.uses + 1 if earlier else 1,
            keyword=any(token.kind in KEYWORD_KINDS for token in each.tokens),
            known=bool(known or carried),
            ways=tuple(dict.fromkeys((*(earlier.ways if earlier else ()), *ways))),
            start=earlier.start if earlier else each.start,
            end=earlier.end if earlier else each.end,
        )
    return list(words.values())


def searchable(words: Iterable[Word]) -> list[Word]:
    """Return the words that can be keywords: nouns, foreign words and numbers that the index has in some language."""
    return [word for word in words if word.keyword and word.known]


def _known(terms: Iterable[str], contents: FieldStatistics) -> list[int]:
    """Return the document frequencies of the terms that the index has."""
    return [frequency for term in terms if (frequency := contents.document_frequencies[term])]


def matched_share(words: Sequence[Word], terms: AbstractSet[str]) -> float:
    """Return which share of the words' idf stands in ``terms``: 1 where every word does, 0 where none does.

    A translation stands there where all of its terms do.
    """
    total = sum(word.idf for word in words)
    found = sum(
        word.idf
        for word in words
        if not terms.isdisjoint(word.terms) or any(terms >= frozenset(way.terms) for way in word.ways)
    )
    return found / total if total else 0.0


def why_nothing(words: Sequence[Word]) -> Reason:
    """Return why a question of these words found no record."""
    if any(word.keyword and word.known for word in words):
        return "nothing_found"
    return "unknown_words" if any(word.keyword for word in words) else "no_keywords"


def join_words(parts: Sequence[Word]) -> Word:
    """Return the keyword that stands where every one of its ``parts`` does; a single part is itself.

    Its idf is the sum of theirs, as if they stood in documents independently of each other.
    """
    if len(parts) == 1:
        return parts[0]
    return Word(
        text=" ".join(part.text for part in parts),
        terms=tuple(dict.fromkeys(term for part in parts for term in part.terms)),
        idf=sum(part.idf for part in parts),
        uses=min(part.uses for part in parts),
        keyword=True,
        known=all(part.known for part in parts),
        start=parts[0].start,
        end=parts[-1].end,
        parts=tuple(parts),
    )


def choose_words(keywords: Sequence[Word], question: str, choice: WordChoice) -> list[Word]:
    """Return the keywords as ``choice`` has them: neighbours joined, those and the single words, or these alone.

    A keyword without a neighbour stays as it is.
    """
    if choice == "split":
        return list(keywords)
    pairs = [pair for pair in pairwise(keywords) if _side_by_side(*pair, question)]
    joined = [join_words(pair) for pair in pairs]
    paired = {word.terms for pair in pairs for word in pair}
    single = [word for word in keywords if choice == "both" or word.terms not in paired]
    return sorted([*joined, *single], key=lambda word: (word.start, -word.end))


def _side_by_side(left: Word, right: Word, question: str) -> bool:
    return left.end <= right.start and not question[left.end : right.start].strip()
