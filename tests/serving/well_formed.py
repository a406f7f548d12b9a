"""What holds of the events of one question, whoever wrote the answer."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from typing import TypeVar

import msgspec

from shrag.serving.choices import LETTERS
from shrag.serving.event_bytes import pack_events, unpack_events
from shrag.serving.events import Answer, CutShort, Event, Hits, Keywords, Node, Queries, Ranking, Timings

_Kind = TypeVar("_Kind")

ONCE = (Keywords, Queries, Hits, Ranking, Answer, Timings)


def first(kind: type[_Kind], events: Sequence[Event]) -> _Kind:
    """Return the first event of a kind."""
    return next(event for event in events if isinstance(event, kind))


def check_events(events: Sequence[Event], choices: int = 0) -> None:
    """Check the events of a question with so many ``choices`` that wants an answer."""
    assert [type(event) for event in events if type(event) in ONCE] == list(ONCE)
    answer, ranking = first(Answer, events), first(Ranking, events)
    assert bool(answer.reason) == (not answer.sections) or answer.kind == "unaided"
    cited = {number for section in answer.sections for sentence in section.sentences for number in sentence.citations}
    assert cited == {citation.number for citation in answer.citations}
    assert {citation.docid for citation in answer.citations} <= {one.record.docid for one in ranking.records}
    assert answer.choice in ("", *LETTERS[:choices])
    numbers = {event.number for event in events if isinstance(event, Node)}
    assert numbers == set(range(len(numbers)))
    spent = Counter(event.spent for event in events if isinstance(event, CutShort))
    assert max(spent.values(), default=1) == 1
    assert list(unpack_events(pack_events(events))) == list(events)
    for event in events:
        assert msgspec.json.decode(msgspec.json.encode(event), type=type(event)) == event
