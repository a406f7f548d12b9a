from __future__ import annotations

from shrag.corpora.records import Record
from shrag.serving.events import ModelCall, RankedRecord
from shrag.serving.way_picture import Line, Share, Work, bar_lengths, model_work, ranking_lines, stage_shares


def test_the_longest_bar_fills_the_drawing_and_nothing_is_no_bar() -> None:
    assert bar_lengths([10, 5, 0, 1]) == [100.0, 50.0, 0.0, 10.0]
    assert bar_lengths([0, 0]) == [0.0, 0.0]
    assert bar_lengths([]) == []


def test_a_line_runs_from_the_row_before_to_the_row_after_re_ranking() -> None:
    ranked = [
        RankedRecord(rank, pool_rank, 1.0, Record(docid, "t", "x", "ko", complete=True))
        for rank, (docid, pool_rank) in enumerate([("A", 7), ("B", 2), ("C", 90)], 1)
    ]
    assert ranking_lines(ranked, {"B"}) == [
        Line(7, 1, 24.0, 8.0, cited=False),
        Line(2, 2, 8.0, 24.0, cited=True),
        Line(90, 3, 40.0, 40.0, cited=False),
    ]
    assert ranking_lines([], {"B"}) == []


def test_the_stages_share_the_width_in_their_order() -> None:
    assert stage_shares({"keywords": 0.01, "search": 0.03}) == [
        Share("keywords", 0.0, 25.0, 10.0),
        Share("search", 25.0, 75.0, 30.0),
    ]
    assert stage_shares({"keywords": 0.0}) == [Share("keywords", 0.0, 0.0, 0.0)]
    assert stage_shares({}) == []


def test_what_a_model_was_asked_is_summed_by_what_for() -> None:
    calls = [
        ModelCall("query", "m", 100, 10, 0.5, 0.1),
        ModelCall("step", "m", 300, 30, 0.25, 0.1),
        ModelCall("query", "m", 50, 5, 0.25, 0.1, repaired=True),
    ]
    assert model_work(calls) == [Work("query", 2, 165, 750.0), Work("step", 1, 330, 250.0)]
    assert model_work([]) == []
