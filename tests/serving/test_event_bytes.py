from __future__ import annotations

import math
from typing import get_args

from shrag.corpora.records import Record
from shrag.serving.event_bytes import pack_events, unpack_events
from shrag.serving.events import (
    Answer,
    AnswerSentence,
    Assessment,
    Citation,
    CutShort,
    Event,
    Fallback,
    Found,
    Hits,
    Keyword,
    Keywords,
    ModelCall,
    Node,
    Queries,
    RankedRecord,
    Ranking,
    Section,
    Sentence,
    Timings,
)
from shrag.serving.memory_size import memory_size

RECORD = Record("D-1", "그래핀 film", "본문 \u202e 😀 'q' " * 60, "ko", complete=True, authors=("김", "Lee"), year=1999)
SENTENCE = Sentence("A sentence.", (1, 2), sound=False, doubt="number")

EVERY: tuple[Event, ...] = (
    ModelCall("answer", "m", 1, 2, 3.0, 0.5, repaired=True),
    Fallback("keywords", "refused", "no"),
    Node(0, None, "question", "q?", assessment=Assessment(7, 80, 0.5, valid=True)),
    Node(1, 0, "bridging", "r?", "answered", (0,), "r", ("D-1",), "span", "D-1"),
    CutShort("calls", 48.0),
    Keywords((Keyword("film", ("film",), 1.5, ("막",)),), ("zz",), "model", "m"),
    Queries((("a", "b"), ())),
    Hits(((Found("D-1", 2.0), Found("D-2", 1e-300)), ()), ("D-1",), ("D-2",), (Found("D-1", -1.0),), "lsa"),
    Ranking((RankedRecord(1, 1, -math.inf, RECORD, ("D-9",)), RankedRecord(2, 2, 1 / 3, RECORD)), "r", True),
    AnswerSentence("body", SENTENCE),
    Answer(
        "generated", "ko", (Section("body", (SENTENCE,)),), (Citation(1, "D-1", "그래핀 film"),), "", "m", 0.1 + 0.2
    ),
    Timings({"a": 1e-9, "b": 0.0}, cached=True),
)


def test_events_of_every_kind_come_back_as_they_were() -> None:
    assert {type(event) for event in EVERY} == set(get_args(Event))
    unpacked = unpack_events(pack_events(EVERY))
    assert unpacked == EVERY
    assert repr(unpacked) == repr(EVERY)  # 1 and 1.0 are equal, and not the same
    assert unpack_events(pack_events(())) == ()


def test_those_of_one_kind_come_back_in_their_order() -> None:
    packed = pack_events(EVERY)
    assert unpack_events(packed, "node") == tuple(event for event in EVERY if isinstance(event, Node))
    assert unpack_events(packed, "no such") == ()


def test_they_take_less_than_two_thirds_of_the_memory_of_the_values() -> None:
    records = [Record(f"D-{number}", f"제목 {number}", "재택근무 " * 60, "ko", complete=True) for number in range(10)]
    ranking = Ranking(tuple(RankedRecord(n, n, n / 3, record) for n, record in enumerate(records, 1)), "r", True)
    hits = Hits(tuple(tuple(Found(f"D-{n}", n / 7) for n in range(10)) for _ in range(10)), (), ())
    assert memory_size(pack_events((ranking, hits))) < memory_size((ranking, hits)) * 2 / 3
