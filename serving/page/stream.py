"""Events → HTML fragments for live updates.

A script puts each piece where its ``place`` says. What a reader ends up with is what the whole page would have shown,
because the same templates made it.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Literal, assert_never

from shrag.serving.answering.formats import FALLBACKS
from shrag.serving.engine import Engine
from shrag.serving.event_run import EventRun
from shrag.serving.events import (
    Answer,
    AnswerSentence,
    Event,
    Fallback,
    Hits,
    Keywords,
    ModelCall,
    Node,
    Part,
    Queries,
    Ranking,
    Timings,
    Truncated,
)
from shrag.serving.page.diagrams import node_view, tree_view
from shrag.serving.page.rendering import page_words, render
from shrag.serving.page.request import Asked
from shrag.serving.page.state import Seen
from shrag.serving.page.views import answer_view, records_view, sentence_view, way_view
from shrag.serving.request import Question

Place = Literal["answer", "draft", "node", "records", "tree", "way"]
"""Where a piece belongs. What stood there goes, but for the draft, to which a piece is added, and a node, which takes
its place in the tree and leaves those below it."""


@dataclass(frozen=True, slots=True)
class Piece:
    """A piece of HTML for one place of the page."""

    place: Place
    html: str
    event: Literal["piece"] = "piece"


@dataclass(frozen=True, slots=True)
class Progress:
    """A sentence that says what has just been done. ``anew`` says that the draft so far counts for nothing."""

    says: str
    anew: bool = False
    event: Literal["step"] = "step"


@dataclass(frozen=True, slots=True)
class Whole:
    """The page is whole; the last of its pieces."""

    says: str
    event: Literal["whole"] = "whole"


PageEvent = Piece | Progress | Whole


def page_events(run: EventRun[Event], engine: Engine, asked: Asked, question: Question) -> EventRun[PageEvent]:
    """Return the pieces of the page of ``question``, which ``run`` answers."""
    return run.map(PageStream(engine, asked, Seen(question.text, question.language, cached=run.cached)).pieces)


class PageStream:
    """Makes the pieces of one question's page, event by event; ``seen`` is its state before the first."""

    def __init__(self, engine: Engine, asked: Asked, seen: Seen) -> None:
        self._asked = asked
        self._analyzer = engine.open_index.analyzer
        self._seen = seen
        self._part: Part | None = None
        self._counted = ""

    def pieces(self, event: Event) -> Iterator[PageEvent]:
        """Yield what an event changes on the page."""
        self._seen.add(event)
        match event:
            case Keywords() | Hits() | Ranking() | Timings():
                yield from self._found(event)
            case Node():
                yield from self._node(event)
            case Truncated():
                yield self._tree()
            case AnswerSentence():
                yield self._sentence(event)
            case Fallback():
                yield self._fallen_back(event)
            case Answer():
                yield Piece("answer", render("answer.html", self._asked, answer=answer_view(self._seen, self._asked)))
            case Queries() | ModelCall():
                pass  # the next picture of the way has them
            case _:
                assert_never(event)

    def _found(self, event: Keywords | Hits | Ranking | Timings) -> Iterator[PageEvent]:
        words = page_words()[self._asked.language]
        if isinstance(event, Timings):
            if self._seen.nodes:
                yield self._tree()
            yield self._records()
        yield self._way()
        if isinstance(event, Ranking):
            yield self._records()
        match event:
            case Keywords():
                yield Progress(words["step_keywords"].format(count=len(event.keywords)))
            case Hits():
                yield Progress(words["step_candidates"].format(count=len(event.candidates)))
            case Ranking():
                yield Progress(words["step_ranking"].format(count=len(event.records)))
            case Timings():
                yield Whole(words["step_whole"])

    def _node(self, node: Node) -> Iterator[PageEvent]:
        """Draw a question of the tree; how many there are is said where that has changed."""
        tree = tree_view(self._seen, self._asked)
        if tree is None or len(self._seen.nodes) == 1:
            yield self._tree()
            return
        yield Piece("node", render("node.html", self._asked, tree=tree, node=node_view(node, self._seen, self._asked)))
        counted = page_words()[self._asked.language]["tree_count"].format(count=tree["count"], done=tree["done"])
        if counted != self._counted:
            self._counted = counted
            yield Progress(counted)

    def _fallen_back(self, fallback: Fallback) -> Progress:
        anew = fallback.stage == "answer"
        self._part = None if anew else self._part
        purpose = page_words()[self._asked.language][f"purpose_{fallback.stage}"]
        return Progress(f"{purpose}: {FALLBACKS[self._asked.language][fallback.cause]}", anew)

    def _tree(self) -> Piece:
        return Piece("tree", render("tree.html", self._asked, tree=tree_view(self._seen, self._asked)))

    def _way(self) -> Piece:
        return Piece("way", render("way.html", self._asked, way=way_view(self._seen, self._asked)))

    def _records(self) -> Piece:
        records = records_view(self._seen, self._asked, self._analyzer)
        return Piece("records", render("records.html", self._asked, records=records))

    def _sentence(self, said: AnswerSentence) -> Piece:
        begins = said.part != self._part
        self._part = said.part
        sentence = sentence_view(said.part, said.sentence, self._seen.language)
        return Piece("draft", render("sentence.html", self._asked, sentence=sentence, begins=begins))
