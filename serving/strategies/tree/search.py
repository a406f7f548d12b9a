"""The strategy tree (Tree-of-Question): answers a question through a tree of smaller questions, level by level.

Algorithm 1 of the Tree-of-Question paper goes depth first; here the questions of a level are worked on in parallel, so
that the time grows with the depth of the tree. A question waits for siblings only where it has slots for their answers.
"""

from __future__ import annotations

from collections.abc import Generator, Iterable, Sequence
from dataclasses import dataclass, field, replace

from shrag.serving.answering.answered_questions import AnsweredQuestion
from shrag.serving.concurrency import parallel_map
from shrag.serving.errors import BudgetExceeded
from shrag.serving.events import Budget, Event, Node, Truncated
from shrag.serving.request import Question
from shrag.serving.strategies.planning.answer_slots import fill_slots, find_slots
from shrag.serving.strategies.planning.merging import merge
from shrag.serving.strategies.planning.plan import Plan, PlanStrategy
from shrag.serving.strategies.planning.sub_answers import NO_ANSWER, SubAnswer
from shrag.serving.strategies.planning.subquery import SubqueryResult, find, question_key
from shrag.serving.strategies.tree.policy import ChildQuestions, ModelPolicy, RulePolicy


@dataclass(slots=True)
class TreeNode:
    """A node of the tree and what is known of it.

    Attributes:
        node: The node in its current state, as events report it.
        text: The question with its slots.
        level: Its level; the user's question is at level 1.
        awaited: Whether a sibling has a slot for its answer.
        found: What was found for it.
        span: The answer for the slots.
        events: Events that are not reported yet.
        exceeded: The budget that was used up while it was worked on.
    """

    node: Node
    text: str
    level: int
    awaited: bool = False
    found: SubqueryResult | None = None
    span: SubAnswer = NO_ANSWER
    events: list[Event] = field(default_factory=list)
    exceeded: BudgetExceeded | None = None

    @property
    def answered(self) -> bool:
        """Whether its question is answered."""
        return self.node.state == "answered"


class TreeSearch:
    """Grows and answers the tree of one plan."""

    def __init__(self, plan: Plan, policy: RulePolicy) -> None:
        self._plan = plan
        # The policy writes the queries, so no model is asked for keywords.
        self._resources = plan.resources_without_model
        self._policy = policy
        self._settings = plan.request.settings
        self._exhausted: set[Budget] = set()
        self._root = TreeNode(plan.root, plan.question.text, 1)
        self._nodes = [self._root]

    def run(self) -> Generator[Event, None, None]:
        """Grow the tree; yield each node as it is added and as it changes, and update the plan's root at the end."""
        level = [self._root]
        while level:
            yield from self._answer_level(level)
            if level[0] is not self._root and not self._out_of_calls:
                yield from self._answer_root_again()
            if self._root.answered or self._out_of_calls:
                break
            level = yield from self._expand([node for node in level if not node.answered])
        self._plan.root = self._root.node

    def found(self) -> list[SubqueryResult]:
        """Return what the tree found: for the user's question first, then the best records of each answered node."""
        first = self._root.found or find(self._plan.question, self._plan.request, self._resources)
        others = [node.found for node in self._nodes[1:] if node.answered and node.found is not None]
        return [first, *(found.only(found.ranking.records[: self._policy.records]) for found in others)]

    def answered(self) -> list[AnsweredQuestion]:
        """Return the questions below the user's question that have valid answers, with these answers."""
        nodes = [node.node for node in self._nodes[1:] if node.answered]
        return [AnsweredQuestion(node.question, node.answer, node.source) for node in nodes]

    @property
    def _out_of_calls(self) -> bool:
        return bool(self._exhausted & {"calls", "seconds"})

    def _answer_level(self, level: Sequence[TreeNode]) -> Generator[Event, None, None]:
        """Answer the questions of one level, first those that wait for no sibling."""
        waiting = list(level)
        pending = {node.node.number for node in level}
        while waiting:
            ready = [node for node in waiting if pending.isdisjoint(node.node.needs)]
            waiting = [node for node in waiting if node not in ready]
            with self._plan.timer.stage("nodes"):
                parallel_map(self._answer, ready)
            for node in ready:
                pending.remove(node.node.number)
                yield from self._report(node)
                yield node.node

    def _answer(self, node: TreeNode) -> None:
        """Search for a node's answer, assess it, and extract the words that siblings wait for."""
        spans = {other.node.number: other.span.text for other in self._nodes}
        text = fill_slots(node.text, spans) if node.node.needs else node.text
        if not text:
            node.node = replace(node.node, state="skipped")
            return
        question = Question(text, self._plan.question.language)
        node.node = replace(node.node, question=text, state="unanswered")
        try:
            query, events = self._policy.write_query(question)
            node.events += events
            found = find(query, self._plan.request, self._resources)
            found = node.found = self._policy.filter_records(question, found)
            node.node = replace(node.node, query=query.text, docids=found.docids[: self._policy.records])
            self._respond(node, question, found, found)
            if node.awaited:
                node.span, events = self._policy.extract_span(question, found)
                node.events += events
        except BudgetExceeded as exceeded:
            node.exceeded = exceeded
            if node.found is None:
                node.node = replace(node.node, state="skipped")

    def _respond(self, node: TreeNode, question: Question, evidence: SubqueryResult, assessed: SubqueryResult) -> None:
        """Answer a node from ``evidence`` and assess the answer by ``assessed``, which may have other query terms."""
        response, events = self._policy.respond(question, evidence)
        node.events += events
        node.node = replace(node.node, answer=response.text, source=response.docid)
        assessment, events = self._policy.assess(question, response, assessed)
        node.events += events
        node.node = replace(node.node, assessment=assessment, state="answered" if assessment.valid else "unanswered")

    def _answer_root_again(self) -> Generator[Event, None, None]:
        """Answer the user's question from all that the tree has found."""
        root = self._root
        merged = merge(self.found(), self._plan.request)
        if root.found is None:
            return
        gathered = replace(root.found, ranking=merged.ranking, candidates=merged.candidates, terms=merged.terms)
        with self._plan.timer.stage("nodes"):
            try:
                self._respond(root, self._plan.question, gathered, replace(gathered, terms=root.found.terms))
            except BudgetExceeded as exceeded:
                root.exceeded = exceeded
        yield from self._report(root)
        yield root.node

    def _expand(self, unanswered: Sequence[TreeNode]) -> Generator[Event, None, list[TreeNode]]:
        """Add children to the unanswered nodes that were searched for; return the children."""
        parents = [node for node in unanswered if node.found is not None]
        if parents and parents[0].level == self._settings.tree_depth:
            yield self._exhaust("depth", self._settings.tree_depth)
            return []
        with self._plan.timer.stage("plan"):
            proposed = parallel_map(self._propose, parents)
        added: list[TreeNode] = []
        for parent, (kind, questions) in zip(parents, proposed, strict=True):
            yield from self._report(parent)
            room = self._settings.tree_nodes - len(self._nodes)
            if len(questions) > room:
                yield self._exhaust("nodes", self._settings.tree_nodes)
            children = self._make_children(parent, ChildQuestions(kind, questions[:room]))
            self._nodes += children
            added += children
        yield from (node.node for node in added)
        return added

    def _propose(self, node: TreeNode) -> ChildQuestions:
        question = Question(node.node.question, self._plan.question.language)
        proposed, events = ChildQuestions("bridging", ()), list[Event]()
        try:
            if node.found is not None:
                proposed, events = self._policy.decompose(question, node.found)
        except BudgetExceeded as exceeded:
            node.exceeded = exceeded
        node.events += events
        return proposed

    def _make_children(self, parent: TreeNode, proposed: ChildQuestions) -> list[TreeNode]:
        """Return nodes for the questions that are not in the tree; their slots get the numbers of the tree's nodes."""
        first = self._nodes[-1].node.number + 1
        asked = {question_key(node.node.question) for node in self._nodes}
        slots = {slot: f"[ANS_{first + slot - 1}]" for slot in range(1, len(proposed.questions) + 1)}
        texts = [fill_slots(question, slots) for question in proposed.questions]
        awaited = {slot for text in texts for slot in find_slots(text)}
        return [
            TreeNode(
                Node(number, parent.node.number, proposed.kind, text, needs=find_slots(text)),
                text,
                parent.level + 1,
                awaited=number in awaited,
            )
            for number, text in enumerate(texts, first)
            if question_key(text) not in asked
        ]

    def _report(self, node: TreeNode) -> Iterable[Event]:
        """Yield the events of a node that are not reported yet."""
        events, node.events = node.events, []
        yield from events
        if node.exceeded is not None:
            yield self._exhaust(node.exceeded.exhausted, node.exceeded.allowed)

    def _exhaust(self, budget: Budget, allowed: float) -> Event:
        self._exhausted.add(budget)
        return Truncated(budget, allowed)


def answer_by_tree(plan: Plan) -> Generator[Event, None, None]:
    """Answer a question through a tree; without a model, rules take the policy's decisions."""
    analyzer, model, settings = plan.resources.index.analyzer, plan.resources.model, plan.request.settings
    tree = TreeSearch(plan, RulePolicy(analyzer, settings) if model is None else ModelPolicy(model, analyzer, settings))
    yield from tree.run()
    yield from plan.conclude(tree.found(), answered=tree.answered() if model is not None else ())


TREE = PlanStrategy("tree", answer_by_tree, limits=("step_records", "tree_depth", "tree_nodes", "tree_children"))
