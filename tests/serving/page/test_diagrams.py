"""The question tree, and the geometry of the trace's drawings."""

from __future__ import annotations

from dataclasses import replace

import pytest

from shrag.corpora.records import Record
from shrag.serving.events import Assessment, ModelCall, Node, RankedRecord, Timings, Truncated
from shrag.serving.page.diagrams import (
    ModelWork,
    RankChange,
    StageShare,
    bar_lengths,
    model_work,
    node_view,
    rank_changes,
    stage_shares,
    tree_view,
)
from shrag.serving.page.rendering import render
from shrag.serving.page.request import PageRequest
from shrag.serving.page.state import PageState

ASKED = PageRequest("Q?", "en", strategy="tree")
ROOT = Node(0, None, "question", "Q?", "unanswered")
FIRST = Node(
    1, 0, "bridging", "Which network?", "answered", query="network", docids=("A", "B"), answer="LSTM", source="A"
)
SECOND = Node(2, 0, "bridging", "How good is [ANS_1] at [ANS_9]?", needs=(1,))


def _seen(*events: Node | Truncated | Timings) -> PageState:
    seen = PageState("Q?", "en")
    for event in events:
        seen.add(event)
    return seen


def _html(seen: PageState, asked: PageRequest = ASKED) -> str:
    return render("tree.html", asked, tree=tree_view(seen, asked))


def test_a_question_that_nothing_was_asked_on_the_way_to_has_no_tree() -> None:
    assert tree_view(_seen(), ASKED) is None
    assert _html(_seen()).strip() == ""


def test_a_question_and_its_query_are_shown_up_to_400_characters_and_an_answer_up_to_600() -> None:
    longest = replace(FIRST, question="q" * 400, query="k" * 400, answer="a" * 600)
    longer = replace(FIRST, question="q" * 401, query="k" * 401, answer="a" * 601)
    views = [node_view(node, _seen(ROOT, node), ASKED) for node in (longest, longer)]
    assert [view["question"][0][0] == node.question for view, node in zip(views, (longest, longer), strict=True)] == [
        True,
        False,
    ]
    assert [view["query"] == "k" * 400 for view in views] == [True, False]
    assert [view["answer"] == "a" * 600 for view in views] == [True, False]
    assert all(len(views[1][part]) <= most for part, most in (("query", 400), ("answer", 600)))


def test_questions_stand_below_the_one_that_they_were_made_from() -> None:
    third = Node(3, 1, "comparison", "Smaller?", "skipped")
    tree = tree_view(_seen(ROOT, FIRST, SECOND, third), ASKED)
    assert tree is not None
    (root,) = tree["roots"]
    assert [node["number"] for node in root["children"]] == [1, 2]
    assert [node["number"] for node in root["children"][0]["children"]] == [3]
    assert (tree["count"], tree["done"], tree["complete"], tree["explained_kinds"]) == (
        3,
        2,
        False,
        ["bridging", "comparison"],
    )


@pytest.mark.parametrize("parent", [1, 2, 7])
def test_a_question_without_one_above_it_is_shown_and_none_goes_round(parent: int) -> None:
    tree = tree_view(_seen(ROOT, replace(SECOND, number=1, parent=parent)), ASKED)
    assert tree is not None
    assert [node["number"] for node in tree["roots"]] == [0, 1]


def test_a_later_event_takes_the_place_of_the_one_before() -> None:
    seen = _seen(ROOT, SECOND, replace(SECOND, question="How good is LSTM?", state="answered", answer="0.91"))
    html = _html(seen)
    assert "How good is LSTM?" in html
    assert "ANS_" not in html
    assert html.count('<li id="node-2"') == 1


def test_the_place_of_an_answer_is_shown_as_one_until_it_is_filled_and_no_other_text_is() -> None:
    assert node_view(SECOND, _seen(), ASKED)["question"] == [
        ("How good is ", None), ("[ANS_1]", 1), (" at ", None), ("[ANS_9]", None), ("?", None),
    ]  # fmt: skip
    html = _html(_seen(ROOT, FIRST, SECOND))
    assert '<span class="slot" lang="en">[answer 1]</span> at [ANS_9]?' in html
    assert "contains the answer to" not in html
    filled = replace(SECOND, question="How good is LSTM?", state="unanswered")
    assert "This question contains the answer to 1." in _html(_seen(ROOT, FIRST, filled))


def test_what_was_only_looked_up_is_found_and_not_answered() -> None:
    part = Node(1, 0, "part", "Part?", "answered", docids=("A",))
    states = [(part, "retrieved"), (FIRST, "answered"), (replace(part, state="unanswered"), "unanswered")]
    assert [node_view(node, _seen(), ASKED)["state"] for node, _ in states] == [state for _, state in states]
    assert node_view(replace(ROOT, state="answered"), _seen(), ASKED)["state"] == "answered"


def test_the_readers_question_is_open_until_all_is_over() -> None:
    assert node_view(ROOT, _seen(), ASKED)["state"] == "open"
    assert node_view(ROOT, _seen(Timings({})), ASKED)["state"] == "unanswered"


def test_what_it_was_searched_by_is_shown_where_it_is_not_the_question_itself() -> None:
    assert node_view(FIRST, _seen(), ASKED)["query"] == "network"
    assert node_view(replace(FIRST, query=FIRST.question), _seen(), ASKED)["query"] == ""
    assert node_view(SECOND, _seen(), ASKED)["query"] == ""


def test_what_was_looked_up_and_not_found_is_told_from_what_was_not_looked_up() -> None:
    assert "Records: 0." in _html(_seen(ROOT, replace(SECOND, state="unanswered", query="network")))
    assert "Records:" not in _html(_seen(ROOT, SECOND, replace(SECOND, number=3, state="skipped")))


@pytest.mark.parametrize(
    ("valid", "judge", "language", "says"),
    [
        (
            True,
            "m<1>",
            "en",
            "This answer is sufficient. Score: 7.5 of 10 (relevance to the question 8, answerability 70%). "
            "Judged by the language model",
        ),
        (
            False,
            "",
            "en",
            "Judged without a model: the answer and the title of its record contain 70% of the words of the question, "
            "where rare words count more. It counts as an answer from 90% on.</p>",
        ),
        (
            True,
            "",
            "ko",
            "질문 단어의 70%가 들어 있습니다(드문 단어일수록 크게 반영). 90% 이상이면 답변한 것으로 봅니다. "
            "다만 앞에서 찾은 이름에 관한 문헌을 찾았으므로 답변한 것으로 봅니다.</p>",
        ),
        (
            False,
            "m<1>",
            "ko",
            "이 답변은 질문에 충분히 답하지 못합니다. "
            "10점 만점에 7.5점(질문 관련성 8, 답변 확신도 70%). 판정: 언어 모델",
        ),
    ],
)
def test_a_judgement_says_its_mark_and_who_gave_it(valid: bool, judge: str, language: str, says: str) -> None:
    judged = replace(FIRST, assessment=Assessment(8, 70, 7.5, valid, judge))
    html = _html(_seen(ROOT, judged), PageRequest("Q?", "ko" if language == "ko" else "en"))
    assert says in html
    assert ("<bdi>m&lt;1&gt;</bdi>" in html) == bool(judge)
    unsaid = replace(judged, answer="", source="")
    assert "70%" not in _html(_seen(ROOT, unsaid), PageRequest("Q?", "en"))


def test_a_judgement_that_the_final_answer_left_behind_is_told_from_one_of_it() -> None:
    judged = replace(ROOT, answer="LSTM", assessment=Assessment(1, 1, 1.0, valid=False, judge=""))
    before = (
        "This is an intermediate answer. The final answer was written later, from all records found. "
        "Judged without a model:"
    )
    html = _html(_seen(replace(judged, state="answered"), Timings({})))
    assert before in html
    assert "✓</i> searched" in html
    assert "✓</i> answered" not in html
    held = replace(judged, assessment=Assessment(9, 90, 9.0, valid=True, judge=""), state="answered")
    for node in (judged, held, replace(FIRST, assessment=judged.assessment)):
        assert "This is an intermediate answer" not in _html(_seen(node, Timings({})))


@pytest.mark.parametrize(
    ("cut", "english", "korean"),
    [
        (Truncated("depth", 4), "maximum depth (4 levels).", "깊이(4단계)"),
        (Truncated("nodes", 24), "maximum number (24).", "24개"),
        (Truncated("calls", 48), "maximum number (48).", "48회"),
        (Truncated("seconds", 90.0), "time limit (90 seconds)", "90초"),
    ],
    ids=lambda each: each.exhausted if isinstance(each, Truncated) else "",
)
def test_the_bound_that_ended_a_tree_is_said_once_and_plainly(cut: Truncated, english: str, korean: str) -> None:
    seen = _seen(ROOT, cut, replace(cut))
    assert _html(seen).count(english) == 1
    assert "The answer was written from what had been found by then." in _html(seen)
    assert korean in _html(seen, PageRequest("Q?", "ko"))
    both = _html(_seen(ROOT, cut, Truncated("calls", 1)))
    assert both.count("what had been found by then") == 1
    assert english in _html(_seen(cut))  # also of a plan that tells of no question


def test_bounds_are_told_in_one_order_whichever_was_met_first() -> None:
    calls, nodes = Truncated("calls", 48), Truncated("nodes", 24)
    assert _html(_seen(ROOT, calls, nodes)) == _html(_seen(ROOT, nodes, calls))
    assert "24" in _html(_seen(ROOT, calls, nodes)).partition("48 times")[0]


def test_a_tree_that_grew_nothing_says_so_once_it_is_whole() -> None:
    assert "The question was searched for as it is, without decomposition." not in _html(_seen(ROOT))
    assert "The question was searched for as it is, without decomposition." in _html(
        _seen(ROOT, Timings({"nodes": 0.1}))
    )
    assert "The question was searched for as it is, without decomposition." not in _html(
        _seen(Truncated("calls", 1), Timings({}))
    )


def test_the_tree_is_a_list_of_lists_with_a_name_and_a_title() -> None:
    html = "".join(_html(_seen(ROOT, FIRST, SECOND)).split("\n"))
    assert '<section class="tree" aria-labelledby="tree-title">' in html
    assert html.count('<ol role="list">') == html.count("</ol>") == 2
    assert html.index('id="node-0"') < html.index('id="node-1"') < html.index('id="node-2"') < html.index("</ol>")


def test_whatever_a_model_wrote_is_escaped_and_cut_for_display() -> None:
    evil = "<img src=x onerror=alert(1)> [ANS_1]"
    long = "w" * 9_000
    node = Node(
        1, 0, "hybrid", evil, "answered", (1,), query=f"{evil} {long}", docids=("<b>",), answer=f"{evil} {long}",
        source='"><b>', assessment=Assessment(1, 1, 1.0, valid=True, judge=evil),
    )  # fmt: skip
    html = _html(_seen(ROOT, node))
    assert "<img" not in html
    assert "<b>&" not in html
    assert "docid=%22%3E%3Cb%3E&amp;" in html
    assert len(html) < 6_000


def test_the_longest_bar_fills_the_drawing_and_nothing_is_no_bar() -> None:
    assert bar_lengths([10, 5, 0, 1]) == [100.0, 50.0, 0.0, 10.0]
    assert bar_lengths([0, 0]) == [0.0, 0.0]
    assert bar_lengths([]) == []


def test_a_line_runs_from_the_row_before_to_the_row_after_re_ranking() -> None:
    ranked = [
        RankedRecord(rank, candidate_rank, 1.0, Record(docid, "t", "x", "ko", complete=True))
        for rank, (docid, candidate_rank) in enumerate([("A", 7), ("B", 2), ("C", 90)], 1)
    ]
    assert rank_changes(ranked, {"B"}) == [
        RankChange(7, 1, 24.0, 8.0, cited=False),
        RankChange(2, 2, 8.0, 24.0, cited=True),
        RankChange(90, 3, 40.0, 40.0, cited=False),
    ]
    assert rank_changes([], {"B"}) == []


def test_the_stages_share_the_width_in_their_order() -> None:
    assert stage_shares({"keywords": 0.01, "search": 0.03}) == [
        StageShare("keywords", 0.0, 25.0, 10.0),
        StageShare("search", 25.0, 75.0, 30.0),
    ]
    assert [(each.x, each.width) for each in stage_shares({"one": 1, "two": 2})] == [(0.0, 33.33), (33.33, 66.67)]
    assert stage_shares({"keywords": 0.0}) == [StageShare("keywords", 0.0, 0.0, 0.0)]
    assert stage_shares({}) == []


def test_what_a_model_was_asked_is_summed_by_what_for() -> None:
    calls = [
        ModelCall("query", "m", 100, 10, 0.5, 0.1),
        ModelCall("step", "m", 300, 30, 0.25, 0.1),
        ModelCall("query", "m", 50, 5, 0.25, 0.1, repaired=True),
    ]
    assert model_work(calls) == [ModelWork("query", 2, 165, 750.0), ModelWork("step", 1, 330, 250.0)]
    assert model_work([]) == []
