"""LRU cache of answers, bounded in bytes.

A cached answer is the events of its question: an answer and a stream of one question are the same events. Given again
they say so and have timings of their own; the model's calls, which are not made again, are not among them.
"""

from __future__ import annotations

import sys
import threading
import time
from collections import OrderedDict
from collections.abc import Callable, Generator, Hashable, Iterable
from dataclasses import dataclass, field, fields, is_dataclass
from functools import partial
from typing import get_args

import msgspec

from shrag.serving.event_run import ClosableIterator, EventRun, SingleFlight
from shrag.serving.events import Event, Fallback, ModelCall, Timings
from shrag.serving.request import Request

MOST_BYTES = 256 << 20
"""Memory for cached answers where nothing else is said: some 7,000, or twice as many asked once each."""


@dataclass(frozen=True, slots=True)
class AnswerKey:
    """Everything that determines an answer; the request has the question as parsed, its settings and the strategy."""

    index: str
    generation: int
    manifest: str
    prompts: str
    model: str
    reranker: str
    settings: str
    request: Request


@dataclass(frozen=True, slots=True)
class CacheCounters:
    """What a cache did since it was made: hits, answers made, questions joined in flight, answers evicted.

    Then what it holds now: answers, and their bytes.
    """

    hits: int
    misses: int
    joined: int
    evicted: int
    answers: int
    bytes: int


class CachedAnswer(EventRun[Event]):
    """An answer found in the cache: its events once more, the timings of finding them last."""

    def __init__(self, cache: AnswerCache, key: AnswerKey, entry: _Entry, started: float) -> None:
        super().__init__(SingleFlight(self._give), cached=True)
        self.key = key
        self.timings = Timings({"cache": time.perf_counter() - started}, cached=True)
        self._cache = cache
        self._entry = entry

    @property
    def events(self) -> tuple[Event, ...]:
        """The events, as taking them one by one gives them; unpacked each time."""
        return (*unpack_events(self._entry.packed), self.timings)

    @property
    def observed(self) -> tuple[Event, ...]:
        """Those of the events that a server counts: the answer, where there is one, and the timings."""
        return (*unpack_events(self._entry.packed, "answer"), self.timings)

    def take_all(self) -> tuple[Event, ...]:
        """Return all events, which need not be taken one by one."""
        self.close()
        return self.events

    def encoded(self, form: str) -> bytes | None:
        """Return what was cached of the answer under the name ``form``, None for nothing."""
        return self._entry.encoded.get(form)

    def cache_encoding(self, form: str, data: bytes) -> None:
        """Cache ``data`` with the answer, for as long as that stays; it counts in the cache's bytes."""
        self._cache.cache_encoding(self.key, self._entry, form, data)

    def _give(self) -> Generator[Event, None, None]:
        yield from self.events


class AnswerCache:
    """The answers asked for last, in at most ``most_bytes``; 0 keeps none. Safe to share between threads.

    ``settings`` stands for what determines answers and has no name in their keys: the re-ranker's least score, and of a
    language model :attr:`~shrag.models.chat.settings.LlmSettings.fingerprint`.
    """

    def __init__(self, most_bytes: int = MOST_BYTES, settings: str = "") -> None:
        if most_bytes < 0:
            raise ValueError(f"most_bytes must be at least 0, got {most_bytes}.")
        self.settings = settings
        self.most_bytes = most_bytes
        self._lock = threading.Lock()
        self._entries: OrderedDict[AnswerKey, _Entry] = OrderedDict()
        self._bytes = 0
        self._flights: dict[_FlightKey, SingleFlight[Event]] = {}
        self._hits = self._misses = self._joined = self._evicted = 0

    @property
    def counters(self) -> CacheCounters:
        """What it did and holds."""
        with self._lock:
            return CacheCounters(self._hits, self._misses, self._joined, self._evicted, len(self._entries), self._bytes)

    def run(
        self,
        key: AnswerKey,
        owner: Hashable,
        begin: Callable[[], ClosableIterator[Event]],
        cancel: Callable[[], None],
        may_cache: Callable[[], bool],
    ) -> EventRun[Event]:
        """Return the run for ``key``: a :class:`CachedAnswer`, one in flight for others too, or a new one.

        An answer is cached that ends with its timings, has no fallback, and that ``may_cache`` allows at its end. A
        failure is raised to all who wait for it, and the next request begins anew.

        Args:
            key: What determines the answer.
            owner: Who answers. Runs in flight are shared within one owner only: an engine, which each of those who
                share it keeps open for itself.
            begin: Begins a new run; called when its first event is taken.
            cancel: Stops what a new run waits for.
            may_cache: Says at the end of a new run whether it may be cached.
        """
        started = time.perf_counter()
        flight_key = owner, key
        with self._lock:
            if (entry := self._entries.get(key)) is not None:
                self._entries.move_to_end(key)
                self._hits += 1
                return CachedAnswer(self, key, entry, started)
            if (flight := self._flights.get(flight_key)) is not None and (run := flight.subscribe()) is not None:
                self._joined += 1
                return run
            flight = self._flights[flight_key] = SingleFlight(begin, cancel, partial(self._done, flight_key, may_cache))
            return EventRun(flight)

    def cache_encoding(self, key: AnswerKey, entry: _Entry, form: str, data: bytes) -> None:
        """Cache ``data`` with the answer of ``key``, unless that is gone; for :class:`CachedAnswer`."""
        size = memory_size((form, data))
        with self._lock:
            if self._entries.get(key) is not entry or form in entry.encoded or entry.size + size > self.most_bytes:
                return
            entry.encoded[form] = data
            entry.size += size
            self._bytes += size
            self._evict()

    def _done(
        self,
        flight_key: _FlightKey,
        may_cache: Callable[[], bool],
        flight: SingleFlight[Event],
        events: tuple[Event, ...] | None,
    ) -> None:
        """Take a run out of those in flight, and cache its events where they may be."""
        key = flight_key[1]
        entry = _make_entry(key, events) if events is not None and _is_complete(events) and may_cache() else None
        with self._lock:
            self._misses += flight.started
            if self._flights.get(flight_key) is flight:
                del self._flights[flight_key]
            if entry is None or entry.size > self.most_bytes:
                return
            if (before := self._entries.pop(key, None)) is not None:
                self._bytes -= before.size
            self._entries[key] = entry
            self._bytes += entry.size
            self._evict()

    def _evict(self) -> None:
        while self._bytes > self.most_bytes:
            self._bytes -= self._entries.popitem(last=False)[1].size
            self._evicted += 1


@dataclass(slots=True, eq=False)
class _Entry:
    """Events without those of their first time alone, packed; ``encoded`` is what they were encoded as, by name."""

    packed: bytes
    size: int
    encoded: dict[str, bytes] = field(default_factory=dict)


_EMPTY_SIZE = sys.getsizeof(_Entry(b"", 0)) + sys.getsizeof({"": b""})

_FlightKey = tuple[Hashable, AnswerKey]


def _make_entry(key: AnswerKey, events: tuple[Event, ...]) -> _Entry:
    packed = pack_events([each for each in events if not isinstance(each, ModelCall | Timings)])
    return _Entry(packed, memory_size((key, packed)) + _EMPTY_SIZE)


def _is_complete(events: tuple[Event, ...]) -> bool:
    """Say whether the events end as a stream does, and nothing was done without a model that there is."""
    return isinstance(events[-1], Timings) and not any(isinstance(event, Fallback) for event in events)


_DECODERS = {kind.__dataclass_fields__["event"].default: msgspec.msgpack.Decoder(kind) for kind in get_args(Event)}
_encode = msgspec.msgpack.Encoder().encode
_decode_pairs = msgspec.msgpack.Decoder(tuple[tuple[str, msgspec.Raw], ...]).decode


def pack_events(events: Iterable[Event]) -> bytes:
    """Return ``events`` as MessagePack: pairs of a kind's name and an event of it.

    Packed they take some 60 % of the memory that the values take, and have a known length.
    """
    return _encode([(event.event, event) for event in events])


def unpack_events(packed: bytes, kind: str = "") -> tuple[Event, ...]:
    """Return the events that :func:`pack_events` packed, of one ``kind`` alone where one is named."""
    return tuple(_DECODERS[name].decode(event) for name, event in _decode_pairs(packed) if kind in ("", name))


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
            waiting.extend(getattr(each, attribute.name) for attribute in fields(each))
        elif isinstance(each, dict):
            waiting.extend(each.keys())
            waiting.extend(each.values())
        elif isinstance(each, tuple | list):
            waiting.extend(each)
    return size
