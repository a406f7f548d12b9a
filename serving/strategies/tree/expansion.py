"""Level-by-level expansion of the question tree.

Algorithm 1 of the Tree-of-Question paper goes depth first; here a level is worked on side by side, so that a tree takes
the time of its depth and not of its nodes. A question waits for siblings only where it has a place for their answer.
"""

from __future__ import annotations

from collections.abc import Generator, Iterable, Sequence
from dataclasses import dataclass, field, replace

from shrag.serving.concurrency import parallel_map
from shrag.serving.errors import BudgetExceeded
from shrag.serving.events import Budget, Event, Node, Truncated
from shrag.serving.request import Question, Request
from shrag.serving.strategies.planning.answer_slots import NO_SPAN, AnswerSpan, fill, needed
from shrag.serving.strategies.planning.merging import merge
from shrag.serving.strategies.planning.sub_answers import Response
from shrag.serving.strategies.planning.subquery import SubqueryResult, find, question_key
from shrag.serving.strategies.tree.policy import RECORDS, Branches, Hand
from shrag.serving.strategy import Resources, StageTimer

_NONE = Branches("bridging", ())


@dataclass(frozen=True, slots=True)
class Limits:
    """How deep a tree may be, the reader's question being level 1, and how many questions it may have."""

    depth: int = 4
    nodes: int = 24


@dataclass(slots=True)
class Twig:
    """A node and what is known of it. ``awaited`` says that a sibling has a place for its answer."""

    node: Node
    text: str
    level: int
    awaited: bool = False
    found: SubqueryResult | None = None
    span: AnswerSpan = NO_SPAN
    told: list[Event] = field(default_factory=list)
    spent: BudgetExceeded | None = None

    @property
    def valid(self) -> bool:
        """Whether its question is answered."""
        return self.node.state == "answered"


class Growth:
    """Grows the tree of one question; not to be shared."""

    def __init__(self, request: Request, resources: Resources, hand: Hand, limits: Limits, timer: StageTimer) -> None:
        self._request = request
        # Queries are written by the hand, so no model is asked for keywords.
        self._resources = replace(resources, model=None)
        self._hand = hand
        self._limits = limits
        self._timer = timer
        self._spent: set[Budget] = set()
        self.twigs = [Twig(Node(0, None, "question", request.question.text), request.question.text, 1)]

    def grow(self) -> Generator[Event, None, None]:
        """Yield every question as it comes up and as it is answered; :attr:`twigs` are the tree then."""
        root = self.twigs[0]
        yield root.node
        wave = [root]
        while wave:
            yield from self._work_off(wave)
            if root.level != wave[0].level and not self._out:
                yield from self._look_back(root)
            if root.valid or self._out:
                return
            wave = yield from self._branch([twig for twig in wave if not twig.valid])

    @property
    def root(self) -> Node:
        """The reader's question as it stands."""
        return self.twigs[0].node

    def found(self) -> list[SubqueryResult]:
        """Return what the tree found: for the reader's question first, then the best of each that was answered."""
        first = self.twigs[0].found or find(self._request.question, self._request, self._resources)
        kept = [twig.found for twig in self.twigs[1:] if twig.valid and twig.found is not None]
        return [first, *map(_best, kept)]

    @property
    def _out(self) -> bool:
        return bool(self._spent & {"calls", "seconds"})

    def _work_off(self, wave: Sequence[Twig]) -> Generator[Event, None, None]:
        """Work on the questions of one level, those first that wait for nothing."""
        waiting = list(wave)
        settled: set[int] = set()
        numbers = {twig.node.number for twig in wave}
        while waiting:
            ready = [twig for twig in waiting if not (set(twig.node.needs) & numbers) - settled]
            waiting = [twig for twig in waiting if twig not in ready]
            with self._timer.stage("nodes"):
                parallel_map(self._work, ready)
            for twig in ready:
                settled.add(twig.node.number)
                yield from self._tell(twig)
                yield twig.node

    def _work(self, twig: Twig) -> None:
        """Search for a question's answer, judge it, and pick the words that others wait for."""
        spans = {other.node.number: other.span.text for other in self.twigs}
        text = fill(twig.text, spans) if twig.node.needs else twig.text
        if not text:
            twig.node = replace(twig.node, state="skipped")
            return
        question = Question(text, self._request.question.language)
        twig.node = replace(twig.node, question=text, state="unanswered")
        try:
            query, told = self._hand.query(question)
            twig.told += told
            found = twig.found = self._hand.sift(question, find(query, self._request, self._resources))
            docids = tuple(ranked.record.docid for ranked in found.ranking.records[:RECORDS])
            twig.node = replace(twig.node, query=query.text, docids=docids)
            response, told = self._hand.respond(question, found)
            twig.told += told
            self._settle(twig, question, response, found)
            if twig.awaited:
                twig.span, told = self._hand.span(question, found)
                twig.told += told
        except BudgetExceeded as spent:
            twig.spent = spent
            if twig.found is None:
                twig.node = replace(twig.node, state="skipped")

    def _settle(self, twig: Twig, question: Question, response: Response, found: SubqueryResult) -> None:
        twig.node = replace(twig.node, answer=response.text, source=response.docid)
        assessment, told = self._hand.assess(question, response, found)
        twig.told += told
        twig.node = replace(twig.node, assessment=assessment, state="answered" if assessment.valid else "unanswered")

    def _look_back(self, root: Twig) -> Generator[Event, None, None]:
        """Answer the reader's question anew from what the tree has found, and judge that."""
        merged = merge(self.found(), self._request)
        if root.found is None:
            return
        gathered = replace(root.found, ranking=merged.ranking, candidates=merged.candidates, terms=merged.terms)
        with self._timer.stage("nodes"):
            try:
                response, told = self._hand.respond(self._request.question, gathered)
                root.told += told
                self._settle(root, self._request.question, response, replace(gathered, terms=root.found.terms))
            except BudgetExceeded as spent:
                root.spent = spent
        yield from self._tell(root)
        yield root.node

    def _branch(self, unanswered: Sequence[Twig]) -> Generator[Event, None, list[Twig]]:
        """Let the questions that were not answered grow smaller ones; return those."""
        growing = [twig for twig in unanswered if twig.found is not None]
        if growing and growing[0].level == self._limits.depth:
            yield from self._run_out("depth", self._limits.depth)
            return []
        with self._timer.stage("plan"):
            proposed = parallel_map(self._propose, growing)
        grown: list[Twig] = []
        for twig, branches in zip(growing, proposed, strict=True):
            yield from self._tell(twig)
            room = self._limits.nodes - len(self.twigs)
            if len(branches.questions) > room:
                yield from self._run_out("nodes", self._limits.nodes)
            young = self._sprout(twig, Branches(branches.kind, branches.questions[:room]))
            self.twigs += young
            grown += young
        yield from (twig.node for twig in grown)
        return grown

    def _propose(self, twig: Twig) -> Branches:
        question = Question(twig.node.question, self._request.question.language)
        try:
            branches, told = self._hand.branch(question, twig.found) if twig.found else (_NONE, [])
        except BudgetExceeded as spent:
            twig.spent = spent
            return _NONE
        twig.told += told
        return branches

    def _sprout(self, parent: Twig, branches: Branches) -> list[Twig]:
        """Return the twigs of branches that are not asked already; their places get the numbers of the tree."""
        first = self.twigs[-1].node.number + 1
        asked = {question_key(twig.node.question) for twig in self.twigs}
        places = {slot: f"[ANS_{first + slot - 1}]" for slot in range(1, len(branches.questions) + 1)}
        texts = [fill(question, places) for question in branches.questions]
        awaited = {slot for text in texts for slot in needed(text)}
        return [
            Twig(
                Node(number, parent.node.number, branches.kind, text, needs=needed(text)),
                text,
                parent.level + 1,
                awaited=number in awaited,
            )
            for number, text in enumerate(texts, first)
            if question_key(text) not in asked
        ]

    def _tell(self, twig: Twig) -> Iterable[Event]:
        told, twig.told = twig.told, []
        yield from told
        if twig.spent is not None:
            yield from self._run_out(twig.spent.exhausted, twig.spent.allowed)

    def _run_out(self, spent: Budget, allowed: float) -> Iterable[Event]:
        self._spent.add(spent)
        yield Truncated(spent, allowed)


def _best(found: SubqueryResult) -> SubqueryResult:
    return found.only(found.ranking.records[:RECORDS])
