"""The end of every plan: what its questions found as one search, the answer, and how the reader's question stands."""

from __future__ import annotations

from collections.abc import Generator, Iterable, Sequence
from dataclasses import replace

from shrag.serving.events import Answer, Event, Node, Timings
from shrag.serving.planning.finding import Found
from shrag.serving.planning.merging import merge
from shrag.serving.retrieval import finish
from shrag.serving.stopwatch import Stopwatch
from shrag.serving.strategy import Request, Resources


def conclude(
    root: Node, found: Sequence[Found], request: Request, resources: Resources, watch: Stopwatch, notes: str = ""
) -> Generator[Event, None, None]:
    """Yield the search that ``found`` makes, the answer if one is wanted, ``root`` as it stands then, the timings.

    The first of ``found`` is the reader's own question's. ``notes`` are what the plan worked out, for who writes the
    answer.
    """
    with watch.stage("ranking"):
        merged = merge(found, request)
    yield from merged.events()
    rest = finish(request, merged.words, merged.ranking, merged.pool, resources, watch, notes)
    yield from closing_with(root, rest, answered=bool(merged.ranking.records))


def closing_with(root: Node, rest: Iterable[Event], *, answered: bool) -> Generator[Event, None, None]:
    """Yield ``rest``, with ``root`` as it stands then before the timings.

    ``answered`` is how it stands where no answer is wanted.
    """
    for event in rest:
        if isinstance(event, Answer):
            answered = not event.reason
        if isinstance(event, Timings):
            yield replace(root, state="answered" if answered else "unanswered")
        yield event
