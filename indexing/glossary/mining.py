"""Evidence → term pairs.

Brackets say most, but not where the Korean term begins; records of two languages say which single terms go together,
which tells it. So terms are aligned first, then boundaries chosen, then terms aligned again with what was chosen.
"""

from __future__ import annotations

import math
import re
from collections import Counter, defaultdict
from collections.abc import Iterable, Iterator, Mapping, Sequence
from functools import lru_cache
from pathlib import Path
from typing import NamedTuple

from shrag.corpora.records import Record
from shrag.indexing.analysis.analyzer import Analyzer
from shrag.indexing.glossary.alignment import Bitext, TermPair, align_terms
from shrag.indexing.glossary.evidence import Context, EvidenceCollector
from shrag.indexing.glossary.parentheticals import is_acronym
from shrag.indexing.glossary.store import MOST_TERMS, Entry, Source, phrase_terms, read_general_terms
from shrag.indexing.glossary.term_boundaries import (
    Candidate,
    choose_term,
    count_candidates,
    explained_share,
    phrase_words,
)
from shrag.indexing.glossary.transliteration import (
    may_be_borrowed,
    opens_with_vowel,
    sound_distance,
    sound_key,
    spelling_keys,
    vowel_openings,
)

_HANGUL = re.compile("[\uac00-\ud7a3]")

# Below these an aligned pair is as often wrong as right; measured in docs/glossary.md.
_LEAST_SHARE = 0.35
_LEAST_BACK_SHARE = 0.35
_LEAST_ASSOCIATION = 15.0
_LEAST_TOGETHER = 3
_SURE_ASSOCIATION = 15.0
_NEARLY_BEST = 0.7

_SOUNDS_ALIKE = 0.08  # of words of four syllables or more
_SHORT_SOUNDS_ALIKE = 0.035  # of three; two need to be seen together
_SOUNDS_ALIKE_SEEN_TOGETHER = 0.14
_SOUNDS_UNLIKE = 0.25
_CLEAR = 0.05
_ASSOCIATION_OF_BORROWED = 8.0
_MOST_BORROWED = 20_000
_LEAST_BORROWED = 3  # of words seen twice a third were no borrowed words, or of a word that is not there
_LEAST_SCORE = 0.55
_GENERAL_STRENGTH = 0.9
_LEAST_EXPLAINED = 0.3
_MOST_ENTRIES = 300_000
_MOST_KOREAN_WORDS = 100_000

Texts = Iterable[Record]


def mine_glossary(records: Texts, analyzer: Analyzer, scratch: Path) -> list[Entry]:
    """Return the pairs that ``records`` hold, in the order of their terms; ``scratch`` is a file of this call's own."""
    evidence = EvidenceCollector(analyzer, scratch)
    try:
        for record in records:
            evidence.add(record)
        return _Miner(evidence, analyzer).entries()
    finally:
        evidence.close()


class _Meaning(NamedTuple):
    """What an acronym stands for."""

    phrase: str
    terms: tuple[str, ...]


class _Miner:
    def __init__(self, evidence: EvidenceCollector, analyzer: Analyzer) -> None:
        self._evidence = evidence
        self._analyzer = analyzer
        self._terms_of = lru_cache(maxsize=100_000)(self._find_terms)
        self._stems = _stems(evidence.english_words, analyzer)
        self._written: dict[str, str] = {}
        for word, stem in self._stems.items():
            self._written.setdefault(stem, word)
        self._expansions = {
            acronym: _Meaning(phrase, phrase_terms(analyzer, phrase))
            for acronym, (phrase, _) in evidence.expansions().items()
        }
        self._bitexts = self._two_language_bitexts()
        self._general = list(self._analysed_general())
        self._general_terms = {
            (entry.korean_terms[0], entry.english_terms[0])
            for entry in self._general
            if len(entry.korean_terms) == len(entry.english_terms) == 1
        }
        self._aligned: dict[tuple[str, str], TermPair] = {}

    def entries(self) -> list[Entry]:
        self._align(self._bitexts)
        chosen = list(self._choose())
        self._align([*self._bitexts, *(_bitext(entry) for entry in chosen)])
        found: dict[tuple[tuple[str, ...], tuple[str, ...]], Entry] = {}
        for entry in (
            *self._choose(),
            *self._keyword_entries(),
            *self._general_entries(),
            *self._aligned_entries(),
            *self._borrowed_entries(),
        ):
            key = entry.korean_terms, entry.english_terms
            found[key] = _merged(found[key], entry) if key in found else entry
        best = sorted(found.values(), key=lambda entry: (-entry.score, -entry.records, entry.korean, entry.english))
        return sorted(best[:_MOST_ENTRIES], key=lambda entry: (entry.korean_terms, entry.english_terms))

    def _two_language_bitexts(self) -> list[Bitext]:
        bitexts: list[Bitext] = []
        for korean, english in self._evidence.two_language_texts():
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
        self._explains = lru_cache(maxsize=200_000)(self._explain)

    def _explain(self, korean: str, english: str) -> float:
        """Return how surely the terms mean the same, by what was aligned and by their sound."""
        pair = self._aligned.get((korean, english))
        strength = _GENERAL_STRENGTH if (korean, english) in self._general_terms else 0.0
        if pair is not None:
            strength = max(strength, max(pair.share, pair.back_share) * min(1.0, pair.association / _SURE_ASSOCIATION))
        if strength < 1 and len(korean) > 1 and may_be_borrowed(korean):
            distance = sound_distance(korean, self._written.get(english, english), _SOUNDS_UNLIKE)
            strength = max(strength, 1 - distance / _SOUNDS_UNLIKE)
        return strength

    def _find_terms(self, words: tuple[str, ...]) -> tuple[str, ...]:
        return phrase_terms(self._analyzer, " ".join(words))

    def _choose(self) -> Iterator[Entry]:
        for english_terms, contexts in self._evidence.contexts():
            if len(english_terms) <= MOST_TERMS:
                yield from self._choose_for(english_terms, contexts)

    def _choose_for(self, english_terms: tuple[str, ...], contexts: list[Context]) -> Iterator[Entry]:
        """Yield the Korean terms of one English term: the best, then the best of the contexts without it, and so on."""
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
                    closed = size < len(context.words) or len(context.words) < 5
                    chains[context.words[-size:], closed] += context.records
        english = min(written, key=lambda text: (-written[text], text))
        # What an acronym stands for tells more of its meaning than its letters.
        expansion = self._expansions.get(english_terms[0]) if len(english_terms) == 1 else None
        meaning = expansion.terms if expansion else english_terms
        total = sum(written.values())
        for words, count in sorted(exact.items()):
            yield from self._accept(
                Candidate(words, self._terms_of(words), count, count), count, total, english, english_terms, meaning
            )
        while chains:
            left = sum(chains.values())
            best = choose_term(
                count_candidates(chains, self._terms_of), self._length(meaning, english), left, self._explains
            )
            if best is None:
                return
            candidate = best[0]
            size = len(candidate.terms)
            covered = [key for key in chains if self._terms_of(key[0])[-size:] == candidate.terms]
            if not covered:
                return
            count = sum(chains.pop(key) for key in covered)
            yield from self._accept(candidate, count, total, english, english_terms, meaning)

    def _length(self, meaning: tuple[str, ...], english: str) -> tuple[str, ...]:
        """Return the terms to compare with; an acronym that nobody spells out counts as a term for each letter."""
        if len(meaning) == 1 and is_acronym(english):
            return tuple(letter for letter in english if letter.isupper())
        return meaning

    def _accept(
        self,
        candidate: Candidate,
        count: int,
        total: int,
        english: str,
        english_terms: tuple[str, ...],
        meaning: tuple[str, ...],
    ) -> Iterator[Entry]:
        if not _names_something(candidate) or len(candidate.terms) > MOST_TERMS:
            return
        score = self._score(candidate, count, total, english, meaning)
        if score >= _LEAST_SCORE:
            korean = " ".join(candidate.words)
            yield Entry(korean, english, candidate.terms, english_terms, count, "brackets", score)
            expansion = self._expansions.get(english_terms[0]) if len(english_terms) == 1 else None
            if expansion and explained_share(candidate.terms, expansion.terms, self._explains) >= _LEAST_EXPLAINED:
                yield Entry(korean, expansion.phrase, candidate.terms, expansion.terms, count, "brackets", score)

    def _score(self, candidate: Candidate, count: int, total: int, english: str, meaning: tuple[str, ...]) -> float:
        explained = explained_share(candidate.terms, meaning, self._explains)
        compared = self._length(meaning, english)
        length = abs(len(candidate.terms) - len(compared))
        often = min(1.0, math.log2(count) / 3) if count else 0.0
        share = count / total
        begins = candidate.beginnings / max(candidate.contexts, 1)
        score = (
            0.52 + 0.5 * explained + 0.2 * often + 0.1 * begins - 0.15 * length - 0.25 * (1 - share) * (1 - explained)
        )
        score -= 0.08 * max(0, len(compared) - len(candidate.terms))  # the English says more: a part of the term
        acronym = len(compared) > 1 and len(meaning) == 1
        if acronym and count == 1:
            # 모델(BERT), 대학교(KAIST): an example, unless there is a word for each letter.
            score -= 0.15 + 0.15 * (length > 0)
        elif len(meaning) == 1 and not acronym and explained < 0.2:
            lower = self._evidence.english_words[english.lower()]
            if english[0].isupper() and not lower:
                score -= 0.3  # 검색엔진(Google): a name
        return max(0.0, min(1.0, score))

    def _keyword_entries(self) -> Iterator[Entry]:
        for pairing, count in sorted(self._evidence.keywords.items()):
            korean = self._terms_of(tuple(pairing.korean.split()))
            english = phrase_terms(self._analyzer, pairing.english)
            if 0 < len(korean) <= MOST_TERMS and 0 < len(english) <= MOST_TERMS:
                explained = explained_share(korean, english, self._explains)
                length = abs(len(korean) - len(english))
                score = min(1.0, 0.6 + 0.5 * explained + 0.1 * min(count - 1, 3) - 0.12 * length)
                if score >= _LEAST_SCORE:
                    yield Entry(pairing.korean, pairing.english, korean, english, count, "keywords", score)

    def _analysed_general(self) -> Iterator[Entry]:
        for korean, english, sureness in read_general_terms():
            ours, theirs = self._terms_of(tuple(korean.split())), phrase_terms(self._analyzer, english)
            if ours and theirs:
                yield Entry(korean, english, ours, theirs, 0, "general", sureness)

    def _general_entries(self) -> Iterator[Entry]:
        """Yield the general terms that the records use in both languages."""
        korean_words = "\n".join(self._evidence.korean_words)
        stems = set(self._stems.values())
        for entry in self._general:
            if stems.issuperset(entry.english_terms) and all(
                part in korean_words for part in re.findall("[\uac00-\ud7a3]+", entry.korean)
            ):
                yield entry

    def _aligned_entries(self) -> Iterator[Entry]:
        """Yield the aligned pairs whose terms have each other for their best."""
        best: dict[str, float] = {}
        for pair in self._aligned.values():
            for term in (pair.korean, pair.english):
                best[term] = max(best.get(term, 0.0), _mutual(pair))
        for pair in self._aligned.values():
            if (
                len(pair.korean) > 1
                and pair.english in self._written
                and pair.share >= _LEAST_SHARE
                and pair.back_share >= _LEAST_BACK_SHARE
                and pair.together >= _LEAST_TOGETHER
                and pair.association >= _LEAST_ASSOCIATION
                and _mutual(pair) >= _NEARLY_BEST * max(best[pair.korean], best[pair.english])
            ):
                score = min(1.0, 0.5 * (pair.share + pair.back_share) + min(0.3, pair.association / 200))
                written = self._written[pair.english]
                yield Entry(pair.korean, written, (pair.korean,), (pair.english,), pair.together, "alignment", score)

    def _borrowed_entries(self) -> Iterator[Entry]:
        """Yield words that sound like an English word of the corpus, as borrowed ones do."""
        spelled: dict[tuple[str, bool], list[str]] = defaultdict(list)
        for word in self._stems:
            for key in spelling_keys(word) if len(word) > 3 else ():
                for opens in vowel_openings(word):
                    spelled[key, opens].append(word)
        seen_together = {pair.korean for pair in self._aligned.values() if pair.association >= _ASSOCIATION_OF_BORROWED}
        for korean, count in self._borrowed_words():
            alike = _SOUNDS_ALIKE if len(korean) > 3 else _SHORT_SOUNDS_ALIKE if len(korean) == 3 else 0.0
            most = alike + _CLEAR if alike else 0.0
            if korean in seen_together:
                most = max(most, _SOUNDS_ALIKE_SEEN_TOGETHER)
            elif not alike:
                continue
            spellings = spelled.get((sound_key(korean), opens_with_vowel(korean)), ())
            near = sorted((sound_distance(korean, word, most), word) for word in spellings)
            if not near or near[0][0] > most:
                continue
            distance, word = near[0]
            stem = self._stems[word]
            clear = all(other > distance + _CLEAR for other, rival in near[1:] if self._stems[rival] != stem)
            pair = self._aligned.get((korean, stem))
            together = pair is not None and pair.association >= _ASSOCIATION_OF_BORROWED
            if (clear and 0 < alike >= distance) or (together and distance <= _SOUNDS_ALIKE_SEEN_TOGETHER):
                yield Entry(korean, word, (korean,), (stem,), count, "sound", max(0.0, 0.95 - 3 * distance))

    def _borrowed_words(self) -> list[tuple[str, int]]:
        words = [
            word
            for word, count in self._evidence.korean_words.most_common(_MOST_KOREAN_WORDS)
            if count > 1 and may_be_borrowed(word[:-1])
        ]
        counts: Counter[str] = Counter()
        for word, tokens in zip(words, self._analyzer.tokens(words), strict=True):
            for token in tokens:
                if token.kind == "noun" and len(token.term) > 1 and may_be_borrowed(token.term):
                    counts[token.term] += self._evidence.korean_words[word]
        frequent = (pair for pair in counts.most_common(_MOST_BORROWED) if pair[1] >= _LEAST_BORROWED)
        return sorted(frequent)


def _stems(words: Mapping[str, int], analyzer: Analyzer) -> dict[str, str]:
    """Return the term of each word seen twice, in lower case, the most frequent first."""
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


_RANK: Mapping[Source, int] = {"brackets": 0, "keywords": 1, "general": 2, "alignment": 3, "sound": 4, "user": 5}


def _merged(first: Entry, second: Entry) -> Entry:
    """Return one entry for two of the same terms: two ways to find a pair make it surer."""
    best = min(first, second, key=lambda entry: (_RANK[entry.source], -entry.records))
    return best._replace(records=max(first.records, second.records), score=1 - (1 - first.score) * (1 - second.score))
