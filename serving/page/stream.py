"""Turn the events of a question into HTML fragments that update the page while the question is being answered."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Literal, assert_never

from shrag.serving.answering.formats import FALLBACKS, HEADINGS
from shrag.serving.engine import Engine
from shrag.serving.event_run import EventRun
from shrag.serving.events import (
    Answer,
    AnswerPart,
    AnswerSentence,
    Authors,
    Citation,
    Event,
    Facets,
    Fallback,
    FollowUp,
    Hits,
    Keywords,
    ModelCall,
    Node,
    Queries,
    Ranking,
    Timings,
    Truncated,
)
from shrag.serving.page.answer_views import answer_view, sentence_view
from shrag.serving.page.diagrams import node_view, tree_view
from shrag.serving.page.rendering import interface_texts, render
from shrag.serving.page.request import PageRequest
from shrag.serving.page.snippets import LONGEST_TITLE, shorten
from shrag.serving.page.state import PageState
from shrag.serving.page.views import records_view, trace_view
from shrag.serving.request import Question

Region = Literal["answer", "draft", "node", "records", "trace", "tree"]
"""The part of the page where a fragment goes. A fragment replaces its part, but a node of the tree of sub-questions
keeps its children. Fragments of the answer's draft are appended to the draft."""


@dataclass(frozen=True, slots=True)
class Fragment:
    """An HTML fragment for a region of the page."""

    region: Region
    html: str
    event: Literal["fragment"] = "fragment"


@dataclass(frozen=True, slots=True)
class Progress:
    """A message about the step that has just ended. ``discard_draft``: delete the draft, since the answer restarts."""

    message: str
    discard_draft: bool = False
    event: Literal["progress"] = "progress"


@dataclass(frozen=True, slots=True)
class Complete:
    """The page is complete, and ``message`` says so. This is the last event."""

    message: str
    event: Literal["complete"] = "complete"


PageEvent = Fragment | Progress | Complete


def page_events(run: EventRun[Event], engine: Engine, request: PageRequest, question: Question) -> EventRun[PageEvent]:
    """Return the events that update the page; ``run`` answers ``question``, which was parsed from ``request``."""
    state = PageState(question.text, question.language, cached=run.cached)
    return run.map(PageStream(engine, request, state).translate)


class PageStream:
    """Translates the events of one question into those of its page, and adds them to ``state``. Not thread-safe."""

    def __init__(self, engine: Engine, request: PageRequest, state: PageState) -> None:
        self._request = request
        self._texts = interface_texts()[request.language]
        self._analyzer = engine.open_index.analyzer
        self._store = engine.open_index.store
        self._state = state
        self._draft_part: tuple[AnswerPart, Citation | None] | None = None
        self._last_message = ""

    def translate(self, event: Event) -> Iterator[PageEvent]:
        """Yield the changes that an event makes to the page. Call this once for each event, in order."""
        self._state.add(event)
        match event:
            case Keywords() | Hits() | Ranking():
                yield from self._retrieval(event)
            case Facets():
                yield self._records()  # the filter beside the records shows the counts
            case Node():
                yield from self._node(event)
            case Truncated():
                yield self._tree()
            case AnswerSentence():
                yield self._draft(event)
            case Fallback():
                yield self._fallback(event)
            case Answer():
                yield self._fragment("answer", answer=answer_view(self._state, self._request, self._analyzer))
            case Timings():
                yield from self._end()
            case FollowUp() | Authors() | Queries() | ModelCall():
                pass  # the next fragment of the trace shows it
            case _:
                assert_never(event)

    def _retrieval(self, event: Keywords | Hits | Ranking) -> Iterator[PageEvent]:
        yield self._trace()
        match event:
            case Keywords():
                step, count = "keywords", len(event.keywords)
            case Hits():
                step, count = "candidates", len(event.candidates)
            case Ranking():
                step, count = "ranking", len(event.records)
        yield Progress(self._texts[f"progress_{step}"].format(count=count))

    def _end(self) -> Iterator[PageEvent]:
        if self._state.nodes:
            yield self._tree()
        yield from (self._records(), self._trace(), Complete(self._texts["progress_complete"]))

    def _node(self, node: Node) -> Iterator[PageEvent]:
        """Yield the node's fragment, or the whole tree for the first node; and a message if the counts changed."""
        tree = tree_view(self._state, self._request)
        if tree is None or len(self._state.nodes) == 1:
            yield self._tree()
            return
        yield self._fragment("node", tree=tree, node=node_view(node, self._state, self._request))
        message = self._texts["tree_count"].format(count=tree["count"], done=tree["done"])
        if message != self._last_message:
            self._last_message = message
            yield Progress(message)

    def _fallback(self, fallback: Fallback) -> Progress:
        discard_draft = fallback.stage == "answer"
        if discard_draft:
            self._draft_part = None
        purpose, cause = self._texts[f"purpose_{fallback.stage}"], FALLBACKS[self._request.language][fallback.cause]
        return Progress(f"{purpose}: {cause}", discard_draft)

    def _draft(self, event: AnswerSentence) -> Fragment:
        """Return a sentence of the draft. Citations have no links before the answer is complete."""
        part = event.part, event.source
        starts_part, self._draft_part = part != self._draft_part, part
        citations = [{"number": number, "rank": None} for number in event.sentence.citations]
        source = event.source
        title = shorten(source.title or source.docid, LONGEST_TITLE) if source is not None else ""
        html = render(
            "sentence.html",
            self._request,
            sentence=sentence_view(event.sentence, self._state.language, citations),
            part=event.part,
            heading=title or HEADINGS[self._state.language][event.part],
            begins=starts_part,
        )
        return Fragment("draft", html)

    def _tree(self) -> Fragment:
        return self._fragment("tree", tree=tree_view(self._state, self._request))

    def _trace(self) -> Fragment:
        return self._fragment("trace", trace=trace_view(self._state, self._request, self._store))

    def _records(self) -> Fragment:
        return self._fragment("records", records=records_view(self._state, self._request, self._analyzer))

    def _fragment(self, region: Region, **values: object) -> Fragment:
        return Fragment(region, render(f"{region}.html", self._request, **values))
