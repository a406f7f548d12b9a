"""LRU cache of answers, bounded in bytes.

A cached answer consists of the events of its question. Both whole answers and streams are made from them. A returned
answer has timings of its own, which say that it is cached. It has no model calls, since none is made again.
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
from shrag.serving.events import Answer, Event, Fallback, ModelCall, Timings, Truncated
from shrag.serving.request import Request

MOST_BYTES = 256 << 20
"""Default memory for cached answers. It holds some 7,000 answers, or twice as many if each is requested only once."""


@dataclass(frozen=True, slots=True)
class AnswerKey:
    """Everything that determines an answer; ``request`` has the parsed question, the settings and the strategy."""

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
    """Counters of a cache.

    ``hits``, ``misses``, ``joined`` (requests that joined a run in flight) and ``evicted`` count since the cache was
    made. ``answers`` and ``bytes`` say what is in it now.
    """

    hits: int
    misses: int
    joined: int
    evicted: int
    answers: int
    bytes: int


class CachedAnswer(EventRun[Event]):
    """A run that yields the events of a cached answer, and at its end the timings of the look-up."""

    def __init__(self, cache: AnswerCache, key: AnswerKey, entry: _Entry, started: float) -> None:
        super().__init__(SingleFlight(self._give), cached=True)
        self.key = key
        self.timings = Timings({"cache": time.perf_counter() - started}, cached=True)
        self._cache = cache
        self._entry = entry

    @property
    def events(self) -> tuple[Event, ...]:
        """All events, unpacked anew at each access."""
        return (*unpack_events(self._entry.packed), self.timings)

    @property
    def observed(self) -> tuple[Event, ...]:
        """The events that metrics are made of: the answer, if there is one, and the timings."""
        return (*unpack_events(self._entry.packed, "answer"), self.timings)

    def take_all(self) -> tuple[Event, ...]:
        """See :meth:`EventRun.take_all`."""
        if self.closed:
            return ()
        self.close()
        return self.events

    def encoded(self, form: str) -> bytes | None:
        """Return the encoding of the answer that is cached under the name ``form``, or None."""
        return self._entry.encoded.get(form)

    def cache_encoding(self, form: str, data: bytes) -> None:
        """Cache ``data`` as the encoding ``form`` of the answer. Its size counts as part of the cache's."""
        self._cache.cache_encoding(self.key, self._entry, form, data)

    def _give(self) -> Generator[Event, None, None]:
        yield from self.events


class AnswerCache:
    """The most recently used answers, in at most ``most_bytes``; 0 caches none. Safe to share between threads.

    ``settings`` is part of every key. It names what else determines answers: the re-ranker's threshold, and the
    :attr:`~shrag.models.chat.settings.LlmSettings.fingerprint` of a language model.
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
        """The current counters."""
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
        """Return the run for ``key``: a :class:`CachedAnswer`, one more subscriber of a run in flight, or a new run.

        An answer is cached if it ends with its timings, has no fallback, and ``may_cache`` allows it. Neither the
        model's token limit nor a plan's time limit may have cut it off. All subscribers get the exception of a run that
        fails; it is not cached.

        Args:
            key: What determines the answer.
            owner: The engine. Only requests to the same engine share a run in flight, since each of them leases it.
            begin: Begins a new run; called when its first event is taken.
            cancel: Stops what a new run waits for.
            may_cache: Returns, at the end of a new run, whether it may be cached.
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
        """Cache ``data`` with the answer of ``key`` unless it was evicted. Only :class:`CachedAnswer` calls this."""
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
        """Remove a run from those in flight, and cache its events if they may be cached."""
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
    """The packed events of an answer, without model calls and timings; and its encodings by name."""

    packed: bytes
    size: int
    encoded: dict[str, bytes] = field(default_factory=dict)


_EMPTY_SIZE = sys.getsizeof(_Entry(b"", 0)) + sys.getsizeof({"": b""})

_FlightKey = tuple[Hashable, AnswerKey]


def _make_entry(key: AnswerKey, events: tuple[Event, ...]) -> _Entry:
    packed = pack_events([each for each in events if not isinstance(each, ModelCall | Timings)])
    return _Entry(packed, memory_size((key, packed)) + _EMPTY_SIZE)


def _is_complete(events: tuple[Event, ...]) -> bool:
    """Return whether the events end as a stream does, and nothing in them was cut off or done without the model."""
    return isinstance(events[-1], Timings) and not any(map(_is_incomplete, events))


def _is_incomplete(event: Event) -> bool:
    match event:
        case Fallback() | Answer(complete=False):
            return True
        case Truncated(exhausted="seconds"):  # the other budgets end a plan at the same place each time
            return True
        case _:
            return False


_DECODERS = {kind.__dataclass_fields__["event"].default: msgspec.msgpack.Decoder(kind) for kind in get_args(Event)}
_encode = msgspec.msgpack.Encoder().encode
_decode_pairs = msgspec.msgpack.Decoder(tuple[tuple[str, msgspec.Raw], ...]).decode


def pack_events(events: Iterable[Event]) -> bytes:
    """Return ``events`` as MessagePack: pairs of the name of a kind and an event of that kind.

    The result takes some 60 % of the memory of the objects, and its size is known.
    """
    return _encode([(event.event, event) for event in events])


def unpack_events(packed: bytes, kind: str = "") -> tuple[Event, ...]:
    """Return the events that :func:`pack_events` packed, or only those of one ``kind``."""
    return tuple(_DECODERS[name].decode(event) for name, event in _decode_pairs(packed) if kind in ("", name))


def memory_size(value: object) -> int:
    """Return the bytes of ``value`` and of all objects in it, each counted once, without the allocator's overhead.

    The objects in dataclasses, structs, tuples, lists and dicts are counted.
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
        elif isinstance(each, msgspec.Struct):
            waiting.extend(getattr(each, name) for name in each.__struct_fields__)
        elif isinstance(each, dict):
            waiting.extend(each.keys())
            waiting.extend(each.values())
        elif isinstance(each, tuple | list):
            waiting.extend(each)
    return size
