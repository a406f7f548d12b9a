"""Select the vocabulary's pairs that a corpus has in at least one language, and weigh them by the corpus's evidence.

One side is enough, because a word that only a question has can be translated into a word of the corpus.

The confidence of a pair is multiplied by ½ + ½·s. The support s depends on the evidence:

- If bilingual records have both terms together more often than by chance (Dunning's G² ≥ 10.83, p < 0.001), s is ¾ +
  ¼·n/√(a·b). Here n records have both terms, a records the Korean one and b records the English one.
- Otherwise s is ½·√(x·y). Here x is log(1 + df) of the English term, divided by the same value of the Korean term's
  most frequent translation in the vocabulary. In the same way y compares the Korean term with the translations of the
  English term. If the corpus has the pair in one language only, the ratio of the other language does not count.

So a pair that bilingual records confirm outweighs a pair whose terms the corpus only contains. Among the latter,
frequent translations outweigh rare ones.
"""

from __future__ import annotations

import math
from collections import defaultdict
from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from functools import cache
from itertools import product
from typing import Literal

from shrag.indexing.analysis.analyzer import Analyzer
from shrag.indexing.glossary.alignment import Bitext, log_likelihood_ratio
from shrag.indexing.glossary.store import Entry, Language
from shrag.indexing.glossary.vocabulary import forms_of, read_vocabulary

DocumentFrequencies = Callable[[Sequence[str]], Mapping[str, int]]
"""Terms → the number of documents of the index with each."""

_SIGNIFICANT = 10.83
_INCOMPLETE = 0.7


def select_vocabulary(frequencies: DocumentFrequencies, analyzer: Analyzer) -> list[Entry]:
    """Return the vocabulary's entries whose Korean or English terms all occur in the corpus, unweighted.

    Args:
        frequencies: Document frequencies of the corpus.
        analyzer: The index's analyzer.
    """
    vocabulary = read_vocabulary()
    forms = forms_of((phrase for pair in vocabulary for phrase in (pair.korean, pair.english)), analyzer)
    occurring = _occurring({form.terms for each in forms.values() for form in each}, frequencies)
    found: dict[tuple[tuple[str, ...], tuple[str, ...]], Entry] = {}
    for pair in vocabulary:
        for (ours, is_complete), (theirs, _) in product(forms[pair.korean], forms[pair.english]):
            if not (ours in occurring or theirs in occurring):
                continue
            only: Language | Literal[""] = "" if {ours, theirs} <= occurring else "ko" if ours in occurring else "en"
            score = pair.confidence * (1 if is_complete else _INCOMPLETE)
            known = found.get((ours, theirs))
            if known is None or known.score < score:
                found[ours, theirs] = Entry(pair.korean, pair.english, ours, theirs, 0, "general", score, only)
    return list(found.values())


def _occurring(phrases: Collection[tuple[str, ...]], frequencies: DocumentFrequencies) -> set[tuple[str, ...]]:
    """Return the phrases that have terms, all of which occur in the corpus."""
    counts = frequencies(list(dict.fromkeys(term for terms in phrases for term in terms)))
    return {terms for terms in phrases if terms and all(counts[term] for term in terms)}


def weigh_vocabulary(
    entries: Sequence[Entry], frequencies: DocumentFrequencies, bitexts: Sequence[Bitext]
) -> list[Entry]:
    """Return the entries with their scores changed by the corpus's evidence, by the module's formula.

    Args:
        entries: The entries of :func:`select_vocabulary`.
        frequencies: Document frequencies of the corpus.
        bitexts: The terms of its bilingual records.
    """
    counts = frequencies(list(dict.fromkeys(term for entry in entries for term in _terms(entry))))

    @cache
    def commonness(phrase: tuple[str, ...]) -> float:
        return math.log1p(min(counts[term] for term in phrase))

    most: dict[tuple[str, tuple[str, ...]], float] = defaultdict(float)
    for entry in entries:
        ours, theirs = entry.korean_terms, entry.english_terms
        most["ko", ours] = max(most["ko", ours], commonness(theirs))
        most["en", theirs] = max(most["en", theirs], commonness(ours))
    in_korean = _Occurrences([bitext.korean for bitext in bitexts], (entry.korean_terms for entry in entries))
    in_english = _Occurrences([bitext.english for bitext in bitexts], (entry.english_terms for entry in entries))
    weighed: list[Entry] = []
    for entry in entries:
        with_korean, with_english = in_korean.of(entry.korean_terms), in_english.of(entry.english_terms)
        counted = len(with_korean & with_english), len(with_korean), len(with_english)
        if counted[0] and log_likelihood_ratio(*counted, len(bitexts)) >= _SIGNIFICANT:
            support = 0.75 + 0.25 * counted[0] / math.sqrt(counted[1] * counted[2])
        else:
            shares = [
                share / largest
                for share, largest in (
                    (commonness(entry.english_terms), most["ko", entry.korean_terms]),
                    (commonness(entry.korean_terms), most["en", entry.english_terms]),
                )
                if share
            ]
            support = 0.5 * math.sqrt(math.prod(shares))
        weighed.append(entry._replace(score=entry.score * (0.5 + 0.5 * support)))
    return weighed


class _Occurrences:
    """Finds the texts, by number, that have all terms of a phrase."""

    def __init__(self, texts: Sequence[Collection[str]], phrases: Iterable[tuple[str, ...]]) -> None:
        self._texts: dict[str, set[int]] = {term: set() for phrase in phrases for term in phrase}
        for number, terms in enumerate(texts):
            for term in self._texts.keys() & terms:
                self._texts[term].add(number)

    def of(self, phrase: tuple[str, ...]) -> set[int]:
        return set.intersection(*(self._texts[term] for term in phrase))


def _terms(entry: Entry) -> tuple[str, ...]:
    return entry.korean_terms + entry.english_terms
