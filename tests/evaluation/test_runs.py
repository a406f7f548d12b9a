from __future__ import annotations

import io
import itertools
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from shrag.evaluation.errors import EvaluationError
from shrag.evaluation.runs import read_run, write_topic
from shrag.indexing.engine import Hit


@given(st.lists(st.floats(min_value=-1e6, max_value=1e6), max_size=30))
def test_scores_fall_strictly_as_32_bit_numbers_whatever_they_were(scores: list[float]) -> None:
    stream = io.StringIO()
    write_topic(stream, "q", [Hit(f"d{n}", score) for n, score in enumerate(scores)], "tag")
    written = [np.float32(line.split()[4]) for line in stream.getvalue().splitlines()]
    assert len(written) == len(scores)
    assert all(first > second for first, second in itertools.pairwise(written))


def test_a_run_is_read_as_it_was_written(tmp_path: Path) -> None:
    with (tmp_path / "r").open("w") as stream:
        write_topic(stream, "q1", [Hit("a#1", 2.5), Hit("b", 2.5)], "t")
        write_topic(stream, "q2", [], "t")
    lines = read_run(tmp_path / "r")
    assert [(line.qid, line.docid, line.rank, line.tag) for line in lines] == [
        ("q1", "a#1", 1, "t"),
        ("q1", "b", 2, "t"),
    ]
    assert lines[0].score == 2.5 > lines[1].score


@pytest.mark.parametrize("text", ["q Q0 d 1 2.0\n", "q Q0 d one 2.0 t\n", "q Q0 d 1 high t\n"])
def test_what_is_no_run_is_named_by_line(tmp_path: Path, text: str) -> None:
    (tmp_path / "r").write_text("q Q0 d 1 2.0 t\n" + text)
    with pytest.raises(EvaluationError, match="line 2 is no run line"):
        read_run(tmp_path / "r")


def test_a_tag_is_one_word() -> None:
    with pytest.raises(EvaluationError, match="cannot tag a run"):
        write_topic(io.StringIO(), "q", [], "two words")
