"""Mine a bilingual glossary from records.

Parentheticals are the richest source, but do not tell where the Korean term begins. Word alignment over bilingual
records tells which single terms correspond, and thus helps to find the boundary. So terms are aligned first. Then the
boundaries are chosen, and terms are aligned again with the chosen pairs.
"""

from __future__ import annotations

import heapq
import math
import re
from collections import Counter, defaultdict
from collections.abc import Iterable, Iterator, Mapping, Sequence
from functools import lru_cache
from pathlib import Path
from typing import NamedTuple, get_args

from shrag.indexing.analysis.analyzer import Analyzer
from shrag.indexing.glossary.alignment import Bitext, TermPair, align_terms
from shrag.indexing.glossary.evidence import CountedEvidence, EvidenceCollector, TermContext
from shrag.indexing.glossary.parentheticals import MAX_WORDS, is_acronym
from shrag.indexing.glossary.store import MAX_TERMS, Entry, Source, phrase_terms
from shrag.indexing.glossary.term_boundaries import (
    Candidate,
    choose_term,
    count_candidates,
    mean_confidence,
    phrase_words,
)
from shrag.indexing.glossary.transliteration import (
    consonant_key,
    english_consonant_keys,
    may_be_loanword,
    possible_vowel_starts,
    starts_with_vowel,
    transliteration_distance,
)
from shrag.indexing.glossary.vocabulary_selection import DocumentFrequencies, select_vocabulary, weigh_vocabulary

_HANGUL = re.compile("[\uac00-\ud7a3]")

# Below these, an aligned pair is as often wrong as right; see docs/en/explanation/glossary.md.
_MIN_SHARE = 0.35
_MIN_BACK_SHARE = 0.35
_MIN_ASSOCIATION = 15.0
_MIN_TOGETHER = 3
_FULL_ASSOCIATION = 15.0
_MIN_SHARE_OF_BEST = 0.7

_MAX_DISTANCE = 0.08  # of words of four syllables or more
_MAX_SHORT_DISTANCE = 0.035  # of three syllables; words of two need an association
_MAX_ASSOCIATED_DISTANCE = 0.14
_UNRELATED_DISTANCE = 0.25
_MIN_LEAD = 0.05
_MIN_LOANWORD_ASSOCIATION = 8.0
_MAX_LOANWORDS = 20_000
_MIN_LOANWORD_COUNT = 3  # a third of the words seen twice were no loanwords, or came from a word not in the corpus
_MIN_SCORE = 0.55
_GENERAL_STRENGTH = 0.9
_BESIDE_VOCABULARY = 0.3
_MIN_CONFIDENCE = 0.3
_MAX_TERMS_OF_ONE = 100  # Korean terms of one English term; each is found among all of its contexts
_MAX_ENTRIES = 300_000
_MAX_KOREAN_WORDS = 100_000


class MinedGlossary(NamedTuple):
    """What records say about words: pairs of terms, sorted, and acronyms with their usual expansions."""

    entries: list[Entry]
    acronyms: list[tuple[str, str]]


def mine_glossary(
    counted: Iterable[CountedEvidence], analyzer: Analyzer, frequencies: DocumentFrequencies, scratch: Path
) -> MinedGlossary:
    """Mine term pairs from records, and add those of the vocabulary that the records have in at least one language.

    Args:
        counted: The evidence of all records, in their order.
        analyzer: The index's analyzer.
        frequencies: The document frequencies of terms in the records.
        scratch: Path of a temporary file, which is overwritten and removed.
    """
    with EvidenceCollector(scratch) as evidence:
        for each in counted:
            evidence.add(each)
        return MinedGlossary(_Miner(evidence, analyzer, frequencies).entries(), evidence.acronyms(analyzer))


class _Meaning(NamedTuple):
    """The expansion of an acronym."""

    phrase: str
    terms: tuple[str, ...]


class _Miner:
    def __init__(self, evidence: EvidenceCollector, analyzer: Analyzer, frequencies: DocumentFrequencies) -> None:
        self._evidence = evidence
        self._analyzer = analyzer
        self._terms_of = lru_cache(maxsize=100_000)(self._find_terms)
        self._stems = _stems(evidence.english_words, analyzer)
        self._spellings: dict[str, str] = {}
        for word, stem in self._stems.items():
            self._spellings.setdefault(stem, word)
        self._expansions = {
            acronym: _Meaning(phrase, phrase_terms(analyzer, phrase))
            for acronym, phrase in evidence.expansions().items()
        }
        self._bitexts = self._bilingual_bitexts()
        self._general = weigh_vocabulary(select_vocabulary(frequencies, analyzer), frequencies, self._bitexts)
        self._general_terms = {
            (entry.korean_terms[0], entry.english_terms[0])
            for entry in self._general
            if len(entry.korean_terms) == len(entry.english_terms) == 1
        }
        self._aligned: dict[tuple[str, str], TermPair] = {}

    def entries(self) -> list[Entry]:
        self._align(self._bitexts)
        chosen = list(self._parenthetical_entries())
        self._align([*self._bitexts, *(_bitext(entry) for entry in chosen)])
        found: dict[tuple[tuple[str, ...], tuple[str, ...]], Entry] = {}
        for entry in (
            *self._parenthetical_entries(),
            *self._keyword_entries(),
            *self._general,
            *self._aligned_entries(),
            *self._loanword_entries(),
        ):
            key = entry.korean_terms, entry.english_terms
            found[key] = _merged(found[key], entry) if key in found else entry
        best = sorted(found.values(), key=lambda entry: (-entry.score, -entry.records, entry.korean, entry.english))
        return sorted(best[:_MAX_ENTRIES], key=lambda entry: (entry.korean_terms, entry.english_terms))

    def _bilingual_bitexts(self) -> list[Bitext]:
        bitexts: list[Bitext] = []
        for korean, english in self._evidence.bilingual_texts():
            ours, theirs = self._analyzer.tokens([korean, english])
            bitexts.append(
                Bitext(
                    frozenset(token.term for token in ours if token.kind == "noun" and _HANGUL.search(token.term)),
                    frozenset(
                        token.term for token in theirs if token.kind == "foreign" and not _HANGUL.search(token.term)
                    ),
                )
            )
        return bitexts

    def _align(self, bitexts: Sequence[Bitext]) -> None:
        self._aligned = {(pair.korean, pair.english): pair for pair in align_terms(bitexts)}
        self._confidence = lru_cache(maxsize=200_000)(self._compute_confidence)

    def _compute_confidence(self, korean: str, english: str) -> float:
        """Return how likely two terms mean the same, from 0 to 1, by the vocabulary, alignment and transliteration."""
        pair = self._aligned.get((korean, english))
        strength = _GENERAL_STRENGTH if (korean, english) in self._general_terms else 0.0
        if pair is not None:
            strength = max(strength, max(pair.share, pair.back_share) * min(1.0, pair.association / _FULL_ASSOCIATION))
        if strength < 1 and len(korean) > 1 and may_be_loanword(korean):
            distance = transliteration_distance(korean, self._spellings.get(english, english), _UNRELATED_DISTANCE)
            strength = max(strength, 1 - distance / _UNRELATED_DISTANCE)
        return strength

    def _find_terms(self, words: tuple[str, ...]) -> tuple[str, ...]:
        return phrase_terms(self._analyzer, " ".join(words))

    def _parenthetical_entries(self) -> Iterator[Entry]:
        for english_terms, contexts in self._evidence.contexts():
            if len(english_terms) <= MAX_TERMS:
                yield from self._entries_of(english_terms, contexts)

    def _entries_of(self, english_terms: tuple[str, ...], contexts: list[TermContext]) -> Iterator[Entry]:
        """Yield the entries of one English term.

        The best Korean candidate is chosen and its contexts are removed. This is repeated with the remaining contexts,
        at most :data:`_MAX_TERMS_OF_ONE` times: thousands of different words stand before the name of a manufacturer.
        """
        written: Counter[str] = Counter()
        chains: Counter[tuple[tuple[str, ...], bool]] = Counter()
        exact: Counter[tuple[str, ...]] = Counter()
        for context in contexts:
            written[context.english] += context.records
            if context.exact:
                exact[context.words] += context.records
            else:
                size = phrase_words(context.words, self._analyzer.tokens(context.words))
                if size:
                    closed = size < len(context.words) or len(context.words) < MAX_WORDS
                    chains[context.words[-size:], closed] += context.records
        english = min(written, key=lambda text: (-written[text], text))
        # An acronym's expansion tells more of its meaning than its letters.
        expansion = self._expansions.get(english_terms[0]) if len(english_terms) == 1 else None
        meaning = expansion.terms if expansion else english_terms
        total = sum(written.values())
        for words, count in sorted(exact.items()):
            yield from self._candidate_entries(
                Candidate(words, self._terms_of(words), count, count), count, total, english, english_terms, meaning
            )
        for _ in range(_MAX_TERMS_OF_ONE):
            if not chains:
                return
            left = sum(chains.values())
            candidate = choose_term(
                count_candidates(chains, self._terms_of), self._length(meaning, english), left, self._confidence
            )
            if candidate is None:
                return
            size = len(candidate.terms)
            covered = [key for key in chains if self._terms_of(key[0])[-size:] == candidate.terms]
            if not covered:
                return
            count = sum(chains.pop(key) for key in covered)
            yield from self._candidate_entries(candidate, count, total, english, english_terms, meaning)

    def _length(self, meaning: tuple[str, ...], english: str) -> tuple[str, ...]:
        """Return the terms whose number is compared. An acronym without expansion counts as one term per letter."""
        if len(meaning) == 1 and is_acronym(english):
            return tuple(letter for letter in english if letter.isupper())
        return meaning

    def _candidate_entries(
        self,
        candidate: Candidate,
        count: int,
        total: int,
        english: str,
        english_terms: tuple[str, ...],
        meaning: tuple[str, ...],
    ) -> Iterator[Entry]:
        if not _names_something(candidate) or len(candidate.terms) > MAX_TERMS:
            return
        score = self._score(candidate, count, total, english, meaning)
        if score >= _MIN_SCORE:
            korean = " ".join(candidate.words)
            yield Entry(korean, english, candidate.terms, english_terms, count, "parenthetical", score)
            expansion = self._expansions.get(english_terms[0]) if len(english_terms) == 1 else None
            if expansion and mean_confidence(candidate.terms, expansion.terms, self._confidence) >= _MIN_CONFIDENCE:
                yield Entry(korean, expansion.phrase, candidate.terms, expansion.terms, count, "parenthetical", score)

    def _score(self, candidate: Candidate, count: int, total: int, english: str, meaning: tuple[str, ...]) -> float:
        agreement = mean_confidence(candidate.terms, meaning, self._confidence)
        compared = self._length(meaning, english)
        length = abs(len(candidate.terms) - len(compared))
        often = min(1.0, math.log2(count) / 3) if count else 0.0
        share = count / total
        begins = candidate.beginnings / max(candidate.contexts, 1)
        score = (
            0.52 + 0.5 * agreement + 0.2 * often + 0.1 * begins - 0.15 * length - 0.25 * (1 - share) * (1 - agreement)
        )
        score -= 0.08 * max(0, len(compared) - len(candidate.terms))  # the Korean is only part of the English term
        acronym = len(compared) > 1 and len(meaning) == 1
        if acronym and count == 1:
            # 모델(BERT), 대학교(KAIST): an instance, not a translation, unless there is a word for each letter.
            score -= 0.15 + 0.15 * (length > 0)
        elif len(meaning) == 1 and not acronym and agreement < 0.2:
            lower = self._evidence.english_words[english.lower()]
            if english[0].isupper() and not lower:
                score -= 0.3  # 검색엔진(Google): a name
        return max(0.0, min(1.0, score))

    def _keyword_entries(self) -> Iterator[Entry]:
        for pairing, count in sorted(self._evidence.keywords.items()):
            korean = self._terms_of(tuple(pairing.korean.split()))
            english = phrase_terms(self._analyzer, pairing.english)
            if 0 < len(korean) <= MAX_TERMS and 0 < len(english) <= MAX_TERMS:
                agreement = mean_confidence(korean, english, self._confidence)
                length = abs(len(korean) - len(english))
                score = min(1.0, 0.6 + 0.5 * agreement + 0.1 * min(count - 1, 3) - 0.12 * length)
                if score >= _MIN_SCORE:
                    yield Entry(pairing.korean, pairing.english, korean, english, count, "keywords", score)

    def _aligned_entries(self) -> Iterator[Entry]:
        """Yield the aligned pairs whose terms are (nearly) each other's best translation."""
        best: dict[str, float] = {}
        for pair in self._aligned.values():
            for term in (pair.korean, pair.english):
                best[term] = max(best.get(term, 0.0), _mutual(pair))
        for pair in self._aligned.values():
            if (
                len(pair.korean) > 1
                and pair.english in self._spellings
                and pair.share >= _MIN_SHARE
                and pair.back_share >= _MIN_BACK_SHARE
                and pair.together >= _MIN_TOGETHER
                and pair.association >= _MIN_ASSOCIATION
                and _mutual(pair) >= _MIN_SHARE_OF_BEST * max(best[pair.korean], best[pair.english])
            ):
                score = min(1.0, 0.5 * (pair.share + pair.back_share) + min(0.3, pair.association / 200))
                written = self._spellings[pair.english]
                yield Entry(pair.korean, written, (pair.korean,), (pair.english,), pair.together, "alignment", score)

    def _loanword_entries(self) -> Iterator[Entry]:
        """Yield loanwords: Korean words that are transliterations of an English word of the corpus.

        If the vocabulary has only other translations of the Korean word (네이버, which is not *naive*), the pair gets a
        low score, unless bilingual records have both words together. *bigdata* counts as the vocabulary's *big data*
        for 빅데이터.
        """
        known = self._english_of_vocabulary()
        spelled: dict[tuple[str, bool], list[str]] = defaultdict(list)
        for word in self._stems:
            for key in english_consonant_keys(word) if len(word) > 3 else ():
                for opens in possible_vowel_starts(word):
                    spelled[key, opens].append(word)
        seen_together = {
            pair.korean for pair in self._aligned.values() if pair.association >= _MIN_LOANWORD_ASSOCIATION
        }
        for korean, count in self._loanword_candidates():
            alike = _MAX_DISTANCE if len(korean) > 3 else _MAX_SHORT_DISTANCE if len(korean) == 3 else 0.0
            most = alike + _MIN_LEAD if alike else 0.0
            if korean in seen_together:
                most = max(most, _MAX_ASSOCIATED_DISTANCE)
            elif not alike:
                continue
            spellings = spelled.get((consonant_key(korean), starts_with_vowel(korean)), ())
            near = sorted((transliteration_distance(korean, word, most), word) for word in spellings)
            if not near or near[0][0] > most:
                continue
            distance, word = near[0]
            stem = self._stems[word]
            clear = all(other > distance + _MIN_LEAD for other, rival in near[1:] if self._stems[rival] != stem)
            pair = self._aligned.get((korean, stem))
            together = pair is not None and pair.association >= _MIN_LOANWORD_ASSOCIATION
            if (clear and 0 < alike >= distance) or (together and distance <= _MAX_ASSOCIATED_DISTANCE):
                score = max(0.0, 0.95 - 3 * distance)
                if korean in known and stem not in known[korean] and not together:
                    score *= _BESIDE_VOCABULARY
                yield Entry(korean, word, (korean,), (stem,), count, "transliteration", score)

    def _english_of_vocabulary(self) -> dict[str, set[str]]:
        """Return the English terms of each Korean term of the vocabulary, without the spaces between them."""
        known: dict[str, set[str]] = defaultdict(set)
        for entry in self._general:
            if len(entry.korean_terms) == 1:
                known[entry.korean_terms[0]].add("".join(entry.english_terms))
        return known

    def _loanword_candidates(self) -> list[tuple[str, int]]:
        words = [
            word
            for word, count in _most_frequent(self._evidence.korean_words, _MAX_KOREAN_WORDS)
            if count > 1 and may_be_loanword(word[:-1])
        ]
        counts: Counter[str] = Counter()
        for word, tokens in zip(words, self._analyzer.tokens(words), strict=True):
            for token in tokens:
                if token.kind == "noun" and len(token.term) > 1 and may_be_loanword(token.term):
                    counts[token.term] += self._evidence.korean_words[word]
        frequent = (pair for pair in _most_frequent(counts, _MAX_LOANWORDS) if pair[1] >= _MIN_LOANWORD_COUNT)
        return sorted(frequent)


def _most_frequent(counts: Counter[str], most: int) -> list[tuple[str, int]]:
    """Return the most frequent words with their counts; ties are in the order of the words."""
    return heapq.nsmallest(most, counts.items(), key=lambda pair: (-pair[1], pair[0]))


def _stems(words: Mapping[str, int], analyzer: Analyzer) -> dict[str, str]:
    """Return the term of each lower-case word with a count of at least 2, most frequent first."""
    counts: Counter[str] = Counter()
    for word, count in words.items():
        counts[word.lower()] += count
    ordered = sorted((word for word, count in counts.items() if count > 1), key=lambda word: (-counts[word], word))
    terms = analyzer.terms(ordered)
    return {word: found[0] for word, found in zip(ordered, terms, strict=True) if len(found) == 1}


def _mutual(pair: TermPair) -> float:
    return pair.share * pair.back_share


def _names_something(candidate: Candidate) -> bool:
    return any(_HANGUL.search(term) for term in candidate.terms) and sum(map(len, candidate.terms)) > 1


def _bitext(entry: Entry) -> Bitext:
    korean = frozenset(term for term in entry.korean_terms if _HANGUL.search(term))
    return Bitext(korean, frozenset(entry.english_terms), entry.records)


_RANK: Mapping[Source, int] = {source: rank for rank, source in enumerate(get_args(Source))}


def _merged(first: Entry, second: Entry) -> Entry:
    """Merge two entries of the same terms; a pair from two sources gets a higher score."""
    best = min(first, second, key=lambda entry: (_RANK[entry.source], -entry.records))
    score = 1 - (1 - first.score) * (1 - second.score)
    only = first.only if first.only == second.only else ""
    return best._replace(records=max(first.records, second.records), score=score, only=only)
