from __future__ import annotations

from shrag.evaluation.questions.outcome import QuestionOutcome
from shrag.evaluation.questions.tree_figures import TREE_FIGURES, resolved_level, tree_figures
from shrag.serving.events import Assessment, Node

VALID, INVALID = Assessment(9, 90, 9.05, valid=True), Assessment(3, 10, 2.45, valid=False)


def tree(*parents: int, valid: bool) -> tuple[Node, ...]:
    """Return a finished tree: its root, and a node for each parent."""
    root = Node(0, None, "question", "?", assessment=VALID if valid else INVALID)
    return (root, *(Node(number, parent, "bridging", "?", "answered") for number, parent in enumerate(parents, 1)))


TREES = {
    "at once": tree(valid=True),
    "at level 2": tree(0, 0, valid=True),
    "at level 4": tree(0, 1, 1, 3, valid=True),
    "never": tree(0, 1, valid=False),
    "also never": tree(valid=False),
}


def test_a_question_is_resolved_at_the_depth_of_its_finished_tree() -> None:
    assert [resolved_level(nodes) for nodes in TREES.values()] == [1, 2, 4, None, None]


def test_tables_4_and_5_follow_from_the_stored_nodes() -> None:
    outcomes = [QuestionOutcome(qid, nodes=nodes) for qid, nodes in TREES.items()]
    figures = tree_figures([*outcomes, QuestionOutcome("no tree", nodes=(Node(0, None, "question", "?"),))])
    assert {name: sum(values.values()) / len(values) for name, values in figures.items()} == {
        **{"valid_by_level_1": 0.2, "valid_by_level_2": 0.4, "valid_by_level_3": 0.4, "valid_by_level_4": 0.6},
        **{"resolved_by_level_2": 0.25, "resolved_by_level_3": 0.25, "resolved_by_level_4": 0.5},
    }
    assert tree_figures([QuestionOutcome("q")]) == {}
    assert tuple(figures) == TREE_FIGURES


def test_only_questions_whose_first_answer_was_not_valid_can_be_resolved_later() -> None:
    first = [QuestionOutcome(qid, nodes=tree(valid=True)) for qid in "abc"]
    assert set(tree_figures(first)) == {f"valid_by_level_{level}" for level in (1, 2, 3, 4)}
    figures = tree_figures([*first, QuestionOutcome("d", nodes=tree(0, valid=True))])
    assert figures["resolved_by_level_2"] == {"d": 1.0}
