"""Passages for benchmarks: a mixture of the development sets, or any number made of resampled words."""

from __future__ import annotations

import gzip
import json
import random
from collections.abc import Iterator
from itertools import accumulate, cycle, islice, zip_longest
from pathlib import Path

from bench.data import DEMO

SETS = {
    "wiki-ko": ("wiki-ko/corpus/docs-0.jsonl.gz",),
    "wiki-en": ("wiki-en/corpus/docs-0.jsonl.gz",),
    "scholarly-ko": ("scholarly-ko/records.jsonl.gz",),
    "scholarly-en": ("scholarly-en/records-acl.jsonl.gz", "scholarly-en/records-arxiv.jsonl.gz"),
    "multihop": ("multihop-ko/corpus/docs-0.jsonl.gz", "multihop-en/corpus/docs-0.jsonl.gz"),
}
"""The sets of the mixture. Each gives one passage in turn until it has no more."""

Passage = dict[str, str]
"""``docid``, ``title`` and ``text``, as in the format ``miracl``."""


def mix_passages(data: Path, count: int) -> list[Passage]:
    """Return ``count`` passages from all sets in turn, with new docids.

    If the sets have fewer passages, they are repeated from the first one.
    """
    sets = [_read(data, paths) for paths in SETS.values()]
    in_turn = (passage for row in zip_longest(*sets) for passage in row if passage is not None)
    passages = cycle(in_turn)
    return [{**passage, "docid": f"m{number:07}"} for number, passage in enumerate(islice(passages, count))]


def resample_passages(data: Path, count: int, seed: int = 1, first: int = 0) -> Iterator[Passage]:
    """Yield ``count`` artificial passages, numbered from ``first``.

    The words of a passage are drawn by their frequency in one development set, or in the demonstration if there are no
    development sets. The lengths are those of real passages. Every fiftieth word is new (a word followed by a number),
    so the vocabulary grows as in real text and cannot be cached completely.
    """
    rng = random.Random(seed)
    sets = []
    for folder, paths in [(data, paths) for paths in SETS.values()] if data.is_dir() else [(DEMO, ("records.jsonl",))]:
        passages = list(_read(folder, paths))
        words: dict[str, int] = {}
        for passage in passages:
            for word in passage["text"].split():
                words[word] = words.get(word, 0) + 1
        sets.append((passages, list(words), list(accumulate(words.values()))))
    for number in range(first, first + count):
        passages, words_of, weights = sets[number % len(sets)]
        template = rng.choice(passages)
        drawn = rng.choices(words_of, cum_weights=weights, k=max(len(template["text"].split()), 1))
        for position in range(rng.randrange(50), len(drawn), 50):
            drawn[position] += str(rng.randrange(10**7))
        title = rng.choices(words_of, cum_weights=weights, k=max(len(template["title"].split()), 1))
        yield {"docid": f"r{number:08}", "title": " ".join(title), "text": " ".join(drawn) + "."}


def write_passages(path: Path, passages: Iterator[Passage] | list[Passage]) -> None:
    """Write passages as JSON Lines."""
    with path.open("w", encoding="utf-8") as stream:
        for passage in passages:
            stream.write(json.dumps(passage, ensure_ascii=False) + "\n")


def _read(data: Path, paths: tuple[str, ...]) -> list[Passage]:
    passages = []
    for path in paths:
        read = gzip.open if path.endswith(".gz") else open
        with read(data / path, "rt", encoding="utf-8") as stream:
            for line in stream:
                found = json.loads(line)
                text = found.get("text") or found.get("abstract") or ""
                passages.append({"docid": "", "title": found.get("title") or "", "text": text})
    return passages
