"""LRU cache of answers, bounded in bytes.

What is kept are a question's events: an answer and a stream of the same question are the same events. Given again,
they say so and have timings of their own; calls of a model, which are not made again, are not among them.
"""

from __future__ import annotations

import sys
import threading
import time
from collections import OrderedDict
from collections.abc import Callable, Hashable, Iterable
from dataclasses import dataclass, field, fields, is_dataclass
from functools import partial
from typing import get_args

import msgspec

from shrag.serving.concurrency import Asking, one_by_one
from shrag.serving.events import Event, Fallback, ModelCall, Timings
from shrag.serving.single_flight import Outcome, SharedQuestion
from shrag.serving.strategy import Request

_KINDS = {kind.__dataclass_fields__["event"].default: msgspec.msgpack.Decoder(kind) for kind in get_args(Event)}
_encode = msgspec.msgpack.Encoder().encode
_parts = msgspec.msgpack.Decoder(tuple[tuple[str, msgspec.Raw], ...])


def pack_events(events: Iterable[Event]) -> bytes:
    """Return ``events`` as MessagePack: pairs of a kind's name and an event of it."""
    return _encode([(event.event, event) for event in events])


def unpack_events(packed: bytes, kind: str = "") -> tuple[Event, ...]:
    """Return the events that :func:`pack_events` packed, of one ``kind`` alone where one is named."""
    return tuple(_KINDS[name].decode(event) for name, event in _parts.decode(packed) if kind in ("", name))


def memory_size(value: object) -> int:
    """Return the bytes of ``value`` and all it holds: dataclasses, tuples, lists, dicts, and what has no parts.

    An object met twice counts once. What the allocator adds is not in it: some percent.
    """
    counted: set[int] = set()
    waiting = [value]
    size = 0
    while waiting:
        each = waiting.pop()
        if id(each) in counted:
            continue
        counted.add(id(each))
        size += sys.getsizeof(each)
        if is_dataclass(each):
            waiting.extend(getattr(each, field.name) for field in fields(each))
        elif isinstance(each, dict):
            waiting.extend(each.keys())
            waiting.extend(each.values())
        elif isinstance(each, tuple | list):
            waiting.extend(each)
    return size


MOST_BYTES = 256 << 20
"""Memory that answers kept may take, where nothing else is said: some 7,000, or twice as many asked once each."""


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


class KeptAnswer:
    """An answer found in a cache: its events as they are given again, and what they were encoded as before."""

    def __init__(self, cache: AnswerCache, key: AnswerKey, kept: _Kept, started: float) -> None:
        self.key = key
        self.timings = Timings({"cache": time.perf_counter() - started}, cached=True)
        self._cache = cache
        self._kept = kept

    @property
    def events(self) -> tuple[Event, ...]:
        """The events, the timings of finding them last; unpacked each time."""
        return (*unpack_events(self._kept.packed), self.timings)

    @property
    def counted(self) -> tuple[Event, ...]:
        """Those of the events that a server counts: the answer, where there is one, and the timings."""
        return (*unpack_events(self._kept.packed, "answer"), self.timings)

    def asking(self) -> Asking:
        """Return the events as of a question being answered."""
        return Asking(one_by_one(self.events), None, cached=True)

    def encoded(self, form: str) -> bytes | None:
        """Return what :meth:`keep_encoded` was given under the name ``form``, None where nothing was."""
        return self._kept.encoded.get(form)

    def keep_encoded(self, form: str, data: bytes) -> None:
        """Keep ``data`` beside the answer, as long as that is kept; it counts in the cache's bytes."""
        self._cache.keep_encoded(self.key, self._kept, form, data)


class AnswerCache:
    """Keeps the answers asked for last, in at most ``most_bytes``; 0 keeps none. Safe to share between threads.

    ``settings`` stands for what determines answers and has no name in their keys: the re-ranker's least score, and of a
    language model :attr:`~shrag.models.chat.settings.LlmSettings.fingerprint`.
    """

    def __init__(self, most_bytes: int = MOST_BYTES, settings: str = "") -> None:
        if most_bytes < 0:
            raise ValueError(f"most_bytes must be at least 0, got {most_bytes}.")
        self.settings = settings
        self.most_bytes = most_bytes
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
        started = time.perf_counter()
        with self._turn:
            if (kept := self._find(key)) is not None:
                return KeptAnswer(self, key, kept, started).asking()
            began = False
            while (asking := self._join(place)) is None:
                self._asked[place] = SharedQuestion(begin(), partial(self._over, place, may_keep))
                began = True
            self._misses += began
            self._joined += not began
            return asking

    def find(self, key: AnswerKey) -> KeptAnswer | None:
        """Return the answer kept for ``key``; None where there is none, which counts only once it is asked for."""
        started = time.perf_counter()
        with self._turn:
            kept = self._find(key)
        return KeptAnswer(self, key, kept, started) if kept is not None else None

    def keep_encoded(self, key: AnswerKey, kept: _Kept, form: str, data: bytes) -> None:
        """Keep ``data`` beside what is kept for ``key``, unless that is gone; for :class:`KeptAnswer`."""
        size = memory_size((form, data))
        with self._turn:
            if self._kept.get(key) is not kept or form in kept.encoded or kept.size + size > self.most_bytes:
                return
            kept.encoded[form] = data
            kept.size += size
            self._bytes += size
            self._push_out()

    def _find(self, key: AnswerKey) -> _Kept | None:
        kept = self._kept.get(key)
        if kept is not None:
            self._kept.move_to_end(key)
            self._hits += 1
        return kept

    def _join(self, place: _Place) -> Asking | None:
        shared = self._asked.get(place)
        return shared.join() if shared is not None else None

    def _over(self, place: _Place, may_keep: Callable[[], bool], shared: SharedQuestion, outcome: Outcome) -> None:
        """Count a question out, and keep its events where they may be kept."""
        key = place[1]
        kept = _keep(key, outcome) if outcome is not None and _is_whole(outcome) and may_keep() else None
        with self._turn:
            if self._asked.get(place) is shared:
                del self._asked[place]
            if kept is None or kept.size > self.most_bytes:
                return
            if (before := self._kept.pop(key, None)) is not None:
                self._bytes -= before.size
            self._kept[key] = kept
            self._bytes += kept.size
            self._push_out()

    def _push_out(self) -> None:
        while self._bytes > self.most_bytes:
            self._bytes -= self._kept.popitem(last=False)[1].size
            self._evicted += 1


@dataclass(slots=True, eq=False)
class _Kept:
    """Events without those that are of their first time alone; what they were encoded as, by its name."""

    packed: bytes
    size: int
    encoded: dict[str, bytes] = field(default_factory=dict)


_EMPTY_SIZE = sys.getsizeof(_Kept(b"", 0)) + sys.getsizeof({"": b""})

_Place = tuple[Hashable, AnswerKey]


def _keep(key: AnswerKey, events: tuple[Event, ...]) -> _Kept:
    packed = pack_events(each for each in events if not isinstance(each, ModelCall | Timings))
    return _Kept(packed, memory_size((key, packed)) + _EMPTY_SIZE)


def _is_whole(events: tuple[Event, ...]) -> bool:
    """Say whether the events end as a stream does, and nothing was done without a model that there is."""
    return isinstance(events[-1], Timings) and not any(isinstance(event, Fallback) for event in events)
