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
    AnswerPart,
    AnswerSentence,
    Event,
    Fallback,
    Hits,
    Keywords,
    ModelCall,
    Node,
    Queries,
    Ranking,
    Timings,
    Truncated,
)
from shrag.serving.page.diagrams import node_view, tree_view
from shrag.serving.page.rendering import interface_texts, render
from shrag.serving.page.request import PageRequest
from shrag.serving.page.state import PageState
from shrag.serving.page.views import answer_view, records_view, sentence_view, trace_view
from shrag.serving.request import Question

Region = Literal["answer", "draft", "node", "records", "trace", "tree"]
"""The part of the page that a fragment replaces. A draft fragment is appended; a replaced node keeps its children."""


@dataclass(frozen=True, slots=True)
class Fragment:
    """An HTML fragment for a region of the page."""

    region: Region
    html: str
    event: Literal["fragment"] = "fragment"


@dataclass(frozen=True, slots=True)
class Progress:
    """A message on what has just been done. With ``discard_draft``, the answer is written again from its beginning."""

    message: str
    discard_draft: bool = False
    event: Literal["progress"] = "progress"


@dataclass(frozen=True, slots=True)
class Complete:
    """The page is complete: the last event."""

    message: str
    event: Literal["complete"] = "complete"


PageEvent = Fragment | Progress | Complete


def page_events(run: EventRun[Event], engine: Engine, asked: PageRequest, question: Question) -> EventRun[PageEvent]:
    """Return the pieces of the page of ``question``, which ``run`` answers."""
    return run.map(PageStream(engine, asked, PageState(question.text, question.language, cached=run.cached)).fragments)


class PageStream:
    """Makes the pieces of one question's page, event by event; ``seen`` is its state before the first."""

    def __init__(self, engine: Engine, asked: PageRequest, seen: PageState) -> None:
        self._asked = asked
        self._analyzer = engine.open_index.analyzer
        self._seen = seen
        self._part: AnswerPart | None = None
        self._counted = ""

    def fragments(self, event: Event) -> Iterator[PageEvent]:
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
                yield Fragment(
                    "answer", render("answer.html", self._asked, answer=answer_view(self._seen, self._asked))
                )
            case Queries() | ModelCall():
                pass  # part of the next trace
            case _:
                assert_never(event)

    def _found(self, event: Keywords | Hits | Ranking | Timings) -> Iterator[PageEvent]:
        words = interface_texts()[self._asked.language]
        if isinstance(event, Timings):
            if self._seen.nodes:
                yield self._tree()
            yield self._records()
        yield self._trace()
        if isinstance(event, Ranking):
            yield self._records()
        match event:
            case Keywords():
                yield Progress(words["progress_keywords"].format(count=len(event.keywords)))
            case Hits():
                yield Progress(words["progress_candidates"].format(count=len(event.candidates)))
            case Ranking():
                yield Progress(words["progress_ranking"].format(count=len(event.records)))
            case Timings():
                yield Complete(words["progress_complete"])

    def _node(self, node: Node) -> Iterator[PageEvent]:
        """Draw a question of the tree; how many there are is said where that has changed."""
        tree = tree_view(self._seen, self._asked)
        if tree is None or len(self._seen.nodes) == 1:
            yield self._tree()
            return
        yield Fragment(
            "node", render("node.html", self._asked, tree=tree, node=node_view(node, self._seen, self._asked))
        )
        counted = interface_texts()[self._asked.language]["tree_count"].format(count=tree["count"], done=tree["done"])
        if counted != self._counted:
            self._counted = counted
            yield Progress(counted)

    def _fallen_back(self, fallback: Fallback) -> Progress:
        discard_draft = fallback.stage == "answer"
        self._part = None if discard_draft else self._part
        purpose = interface_texts()[self._asked.language][f"purpose_{fallback.stage}"]
        return Progress(f"{purpose}: {FALLBACKS[self._asked.language][fallback.cause]}", discard_draft)

    def _tree(self) -> Fragment:
        return Fragment("tree", render("tree.html", self._asked, tree=tree_view(self._seen, self._asked)))

    def _trace(self) -> Fragment:
        return Fragment("trace", render("trace.html", self._asked, trace=trace_view(self._seen, self._asked)))

    def _records(self) -> Fragment:
        records = records_view(self._seen, self._asked, self._analyzer)
        return Fragment("records", render("records.html", self._asked, records=records))

    def _sentence(self, said: AnswerSentence) -> Fragment:
        begins = said.part != self._part
        self._part = said.part
        sentence = sentence_view(said.part, said.sentence, self._seen.language)
        return Fragment("draft", render("sentence.html", self._asked, sentence=sentence, begins=begins))
