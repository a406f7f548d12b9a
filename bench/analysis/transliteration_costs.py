"""Learn the tables of ``indexing/glossary/spelling/costs.py`` from the vocabulary that comes with SHRAG; print them.

    python -m bench.analysis.transliteration_costs

Pairs of a Korean and an English word with a small ``transliteration_distance`` are aligned by expectation maximization.
Each sound of the Korean word gets zero to five letters of the English word. Rare sounds keep their costs.
"""

from __future__ import annotations

import math
import re
from collections import Counter, defaultdict
from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import NamedTuple

from shrag.indexing.glossary.spelling.costs import SPELLING_COSTS
from shrag.indexing.glossary.spelling.model import sounds
from shrag.indexing.glossary.transliteration import (
    consonant_key,
    english_consonant_keys,
    may_be_loanword,
    transliteration_distance,
)
from shrag.indexing.glossary.vocabulary import read_vocabulary

_ITERATIONS = 6
_MOST_LETTERS = 5
_MAX_DISTANCE = 0.12
_UNCERTAIN_DISTANCE = 0.2
_KNOWN_SPELLING = 0.3  # pseudo-count of the spellings that the table has
_MIN_PROBABILITY = 0.0025
_MIN_COUNT = 30
_MIN_SPELLING_COUNT = 1.25
_SMOOTHING, _SYLLABLES = 0.3, 1500
_MOST_LOG_ODDS = 4

Probabilities = Mapping[str, Mapping[str, float]]


class Pair(NamedTuple):
    """The sounds of a Korean loanword, and its English origin."""

    sounds: tuple[str, ...]
    english: str


def main() -> None:
    """Print the costs of spellings in tenths, then the syllables by their log-odds."""
    origins, others = loanwords()
    pairs = [Pair(sounds(korean), english) for korean, english in sorted(origins)]
    loans = {korean for korean, _ in origins}
    print(f"{len(pairs)} pairs, {len(others)} other words")
    counts = align(pairs)
    for sound in sorted({*SPELLING_COSTS, *counts}):
        found = counts.get(sound, {})
        total = sum(found.values())
        likely = {
            spelling: -math.log(count / total)
            for spelling, count in found.items()
            if count >= max(_MIN_SPELLING_COUNT, _MIN_PROBABILITY * total)
        }
        chosen = likely if total >= _MIN_COUNT else SPELLING_COSTS.get(sound, likely)
        print(sound, " ".join(f"{spelling or '-'}:{max(0, round(10 * cost))}" for spelling, cost in _ordered(chosen)))
    for log_odds, syllables in sorted(syllable_log_odds(loans, others).items()):
        print(log_odds, "".join(sorted(syllables)))


def loanwords() -> tuple[set[tuple[str, str]], set[str]]:
    """Return pairs of a loanword and its origin, and the Korean words that have no origin among their translations."""
    pairs: set[tuple[str, str]] = set()
    uncertain: set[str] = set()
    words: set[str] = set()
    for term in read_vocabulary():
        for korean in re.findall("[\uac00-\ud7a3]{2,}", term.korean):
            words.add(korean)
            for english in re.findall("[a-z]{3,}", term.english.lower()):
                if consonant_key(korean) in english_consonant_keys(english):
                    distance = transliteration_distance(korean, english, _UNCERTAIN_DISTANCE)
                    alike = _MAX_DISTANCE if len(korean) > 2 or may_be_loanword(korean) else 0.0
                    if distance <= alike:
                        pairs.add((korean, english))
                    elif distance < _UNCERTAIN_DISTANCE:
                        uncertain.add(korean)
    loans = {korean for korean, _ in pairs}
    parts = re.compile("|".join(sorted(loan for loan in loans if len(loan) > 2)))
    return pairs, {word for word in words - loans - uncertain if not parts.search(word)}


def align(pairs: Sequence[Pair]) -> dict[str, dict[str, float]]:
    """Return the expected count of each spelling of each sound."""
    known = {sound: list(spellings) for sound, spellings in SPELLING_COSTS.items()}
    probabilities: Probabilities = {
        sound: {spelling: 0.8 / len(spellings) for spelling in spellings} for sound, spellings in known.items()
    }
    counts: dict[str, dict[str, float]] = {}
    for _ in range(_ITERATIONS):
        counts = {sound: dict.fromkeys(spellings, _KNOWN_SPELLING) for sound, spellings in known.items()}
        for pair in pairs:
            for sound, spelling, expected in _expected(pair, probabilities):
                of_sound = counts.setdefault(sound, {})
                of_sound[spelling] = of_sound.get(spelling, 0.0) + expected
        probabilities = {
            sound: {spelling: count / sum(found.values()) for spelling, count in found.items()}
            for sound, found in counts.items()
        }
    return counts


def _expected(pair: Pair, probabilities: Probabilities) -> Iterator[tuple[str, str, float]]:
    """Yield the posterior probability of each spelling of each sound of a pair (forward-backward algorithm)."""
    length = len(pair.english)

    def arcs(sound: str, start: int) -> Iterator[tuple[int, str, float]]:
        known = probabilities.get(sound, {})
        for end in range(start, min(length, start + _MOST_LETTERS) + 1):
            spelling = pair.english[start:end]
            yield end, spelling, known.get(spelling, 5e-5 * 26.0 ** -len(spelling))

    forward = [[1.0, *[0.0] * length]]
    for sound in pair.sounds:
        row = [0.0] * (length + 1)
        for start, before in enumerate(forward[-1]):
            for end, _, probability in arcs(sound, start) if before else ():
                row[end] += before * probability
        forward.append(row)
    after = [*[0.0] * length, 1.0]
    for position in range(len(pair.sounds) - 1, -1, -1):
        sound, before_row = pair.sounds[position], forward[position]
        row = [0.0] * (length + 1)
        for start, before in enumerate(before_row):
            for end, spelling, probability in arcs(sound, start):
                row[start] += probability * after[end]
                expected = before * probability * after[end] / forward[-1][length]
                if expected > 1e-4:
                    yield sound, spelling, expected
        after = row


def syllable_log_odds(loans: Iterable[str], others: Iterable[str]) -> dict[int, list[str]]:
    """Return the syllables by their rounded log-odds of being in a loanword, without those whose log-odds are 0."""
    ours, theirs = Counter("".join(sorted(loans))), Counter("".join(sorted(others)))
    found: dict[int, list[str]] = defaultdict(list)
    for syllable in ours | theirs:
        share, other_share = (
            (counts[syllable] + _SMOOTHING) / (counts.total() + _SMOOTHING * _SYLLABLES) for counts in (ours, theirs)
        )
        log_odds = max(-_MOST_LOG_ODDS, min(_MOST_LOG_ODDS, round(math.log(share / other_share))))
        if log_odds:
            found[log_odds].append(syllable)
    return found


def _ordered(costs: Mapping[str, float]) -> list[tuple[str, float]]:
    return sorted(costs.items(), key=lambda pair: (pair[1], pair[0]))


if __name__ == "__main__":
    main()
