"""Answers kept, and identical questions answered once.

What is kept are a question's events, whole: a search, an answer and a stream of the same question are the same events.
Their timings are those of the time when they were made.
"""

from __future__ import annotations

import threading
from collections import OrderedDict
from collections.abc import Callable, Generator, Hashable
from dataclasses import dataclass
from functools import partial
from typing import NamedTuple

from shrag.serving.asking import Asking
from shrag.serving.events import Event, Fallback, Timings
from shrag.serving.memory_size import memory_size
from shrag.serving.shared_question import Outcome, SharedQuestion
from shrag.serving.strategy import Request

MOST_BYTES = 64 << 20
"""Memory that answers kept may take, where nothing else is said: some 1,800 over the demonstration's records."""


@dataclass(frozen=True, slots=True)
class AnswerKey:
    """Everything that determines an answer. ``request`` has the question as it is read, k and the keywords' order."""

    index: str
    generation: int
    manifest: str
    request: Request
    strategy: str
    prompts: str
    model: str
    reranker: str
    settings: str


@dataclass(frozen=True, slots=True)
class CacheCounters:
    """What a cache did since it was made, and what it holds now.

    Questions answered from what was kept, made, and joined while they were made for another; answers pushed out by
    others. Then the answers kept, and their bytes.
    """

    hits: int
    misses: int
    joined: int
    evicted: int
    answers: int
    bytes: int


class AnswerCache:
    """Keeps the answers asked for last, in at most ``most_bytes``; 0 keeps none. Safe to share between threads.

    ``settings`` stands for what determines answers and has no name in their keys: the re-ranker's least score, and of a
    language model :attr:`~shrag.models.llm_settings.LlmSettings.fingerprint`.
    """

    def __init__(self, most_bytes: int = MOST_BYTES, settings: str = "") -> None:
        if most_bytes < 0:
            raise ValueError(f"most_bytes must be at least 0, got {most_bytes}.")
        self.settings = settings
        self._most_bytes = most_bytes
        self._turn = threading.Lock()
        self._kept: OrderedDict[AnswerKey, _Kept] = OrderedDict()
        self._bytes = 0
        self._asked: dict[_Place, SharedQuestion] = {}
        self._hits = self._misses = self._joined = self._evicted = 0

    @property
    def counters(self) -> CacheCounters:
        """What it did and holds."""
        with self._turn:
            return CacheCounters(self._hits, self._misses, self._joined, self._evicted, len(self._kept), self._bytes)

    def ask(self, key: AnswerKey, owner: Hashable, begin: Callable[[], Asking], may_keep: Callable[[], bool]) -> Asking:
        """Return the events for ``key``: those kept, those being made for others, or those that ``begin`` makes.

        Only askers of one ``owner`` share what is being made: an engine, which each of them keeps open for itself.
        Kept is what ends with its timings, has no fallback, and of which ``may_keep`` says so at its end. A failure is
        given to all who wait for it, and the next one who asks begins anew.
        """
        place = (owner, key)
        with self._turn:
            kept = self._kept.get(key)
            if kept is not None:
                self._kept.move_to_end(key)
                self._hits += 1
                return Asking(_replay(kept.events), None)
            began = False
            while (asking := self._join(place)) is None:
                self._asked[place] = SharedQuestion(begin(), partial(self._over, place, may_keep))
                began = True
            self._misses += began
            self._joined += not began
            return asking

    def _join(self, place: _Place) -> Asking | None:
        shared = self._asked.get(place)
        return shared.join() if shared is not None else None

    def _over(self, place: _Place, may_keep: Callable[[], bool], shared: SharedQuestion, outcome: Outcome) -> None:
        """Count a question out, and keep its events where they may be kept."""
        key = place[1]
        keep = outcome is not None and _is_whole(outcome) and may_keep()
        size = memory_size((key, outcome)) if keep else 0
        with self._turn:
            if self._asked.get(place) is shared:
                del self._asked[place]
            if outcome is None or not keep or size > self._most_bytes:
                return
            self._bytes += size - self._kept.pop(key, _NOTHING).size
            self._kept[key] = _Kept(outcome, size)
            while self._bytes > self._most_bytes:
                self._bytes -= self._kept.popitem(last=False)[1].size
                self._evicted += 1


class _Kept(NamedTuple):
    events: tuple[Event, ...]
    size: int


_NOTHING = _Kept((), 0)

_Place = tuple[Hashable, AnswerKey]


def _is_whole(events: tuple[Event, ...]) -> bool:
    """Say whether the events end as a stream does, and nothing was done without a model that there is."""
    return isinstance(events[-1], Timings) and not any(isinstance(event, Fallback) for event in events)


def _replay(events: tuple[Event, ...]) -> Generator[Event, None, None]:
    yield from events
