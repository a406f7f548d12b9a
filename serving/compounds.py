"""Compound keywords (free textbook), which the SHRAG paper compares with single words (free, textbook).

Where no language model chooses them, two keywords of the question with nothing but space between them make one: the
neighbours of Metzler and Croft, *A Markov random field model for term dependencies*, SIGIR 2005.
"""

from __future__ import annotations

from collections.abc import Sequence
from itertools import pairwise

from shrag.serving.search_settings import WordChoice
from shrag.serving.words import Word


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
