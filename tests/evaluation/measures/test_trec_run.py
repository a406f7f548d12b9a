from __future__ import annotations

import io
import itertools
import unicodedata
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from shrag.evaluation.errors import EvaluationError
from shrag.evaluation.measures.trec_run import RunLine, open_run, read_run, trec_order, write_topic
from shrag.indexing.search_engine import Hit


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
    with pytest.raises(EvaluationError, match="line 2 is not a run line"):
        read_run(tmp_path / "r")


@pytest.mark.parametrize(
    ("line", "message"),
    [
        ("q Q0 d 2 1.0 t", "line 3 has the document d of topic q a second time"),
        ("q Q0 e 2 nan t", "line 3 has a score that is not a number"),
        ("\xff", "line 3 is not UTF-8"),
    ],
)
def test_a_line_that_would_change_the_measures_silently_is_named(tmp_path: Path, line: str, message: str) -> None:
    (tmp_path / "r").write_bytes(b"q Q0 d 1 2.0 t\n\n" + line.encode("latin-1") + b"\n")
    with pytest.raises(EvaluationError, match=message):
        read_run(tmp_path / "r")


def test_a_document_may_stand_for_two_topics_and_an_empty_file_is_a_run(tmp_path: Path) -> None:
    (tmp_path / "r").write_text("q Q0 d 1 2.0 t\nr Q0 d 1 2.0 t\n")
    assert [line.qid for line in read_run(tmp_path / "r")] == ["q", "r"]
    (tmp_path / "r").write_text("")
    assert read_run(tmp_path / "r") == []


def test_gzip_is_read_and_written_the_same_bytes_each_time(tmp_path: Path) -> None:
    for name in ("one.gz", "two.gz", "plain"):
        with open_run(tmp_path / name) as stream:
            write_topic(stream, "q", [Hit("가", 2.0), Hit("b", 1.0)], "t")
    assert (tmp_path / "one.gz").read_bytes() == (tmp_path / "two.gz").read_bytes()
    assert (tmp_path / "one.gz").read_bytes()[:2] == b"\x1f\x8b"
    assert read_run(tmp_path / "one.gz") == read_run(tmp_path / "plain")
    assert [line.docid for line in read_run(tmp_path / "plain")] == ["가", "b"]


def test_a_run_that_breaks_off_is_refused(tmp_path: Path) -> None:
    with open_run(tmp_path / "r.gz") as stream:
        write_topic(stream, "q", [Hit(f"d{n}", 1.0) for n in range(500)], "t")
    (tmp_path / "r.gz").write_bytes((tmp_path / "r.gz").read_bytes()[:-20])
    with pytest.raises(EvaluationError, match="damaged gzip"):
        read_run(tmp_path / "r.gz")


def test_a_tag_is_one_word() -> None:
    with pytest.raises(EvaluationError, match="cannot be the tag of a run"):
        write_topic(io.StringIO(), "q", [], "two words")


def _run(*scored: tuple[str, float]) -> list[RunLine]:
    return [RunLine("q", docid, rank, score, "t") for rank, (docid, score) in enumerate(scored, 1)]


def test_scores_decide_and_ranks_do_not() -> None:
    assert trec_order(_run(("a", 1.0), ("b", 3.0), ("c", -2.0))) == {"q": ["b", "a", "c"]}


def test_ties_stand_in_falling_order_of_identifiers_and_32_bits_decide_what_is_a_tie() -> None:
    assert trec_order(_run(("a", 3.0), ("c", 3.0), ("b", 3.0000001))) == {"q": ["c", "b", "a"]}
    assert trec_order(_run(("가", 1.0), ("a", 1.0), ("나", 1.0))) == {"q": ["나", "가", "a"]}


def test_scores_beyond_32_bits_are_infinite_and_tied() -> None:
    assert trec_order(_run(("a", 1e39), ("b", 1e40), ("c", 1e38), ("d", float("inf")))) == {"q": ["d", "b", "a", "c"]}


def test_topics_are_apart_and_no_run_has_none() -> None:
    lines = [RunLine("q1", "a", 1, 1.0, "t"), RunLine("q2", "a", 1, 1.0, "t")]
    assert trec_order(lines) == {"q1": ["a"], "q2": ["a"]}
    assert trec_order([]) == {}


def test_a_document_twice_or_a_score_that_is_no_number_is_named() -> None:
    with pytest.raises(EvaluationError, match="Topic q has b twice in the run"):
        trec_order(_run(("a", 1.0), ("b", 2.0), ("b", 1.0)))
    with pytest.raises(EvaluationError, match="Topic q has a score for b that is not a number"):
        trec_order(_run(("a", 1.0), ("b", float("nan"))))


def test_a_run_with_decomposed_hangul_has_the_identifiers_of_the_judgements(tmp_path: Path) -> None:
    line = "질문1 Q0 논문#1 1 2.0 t\n"
    (tmp_path / "r").write_text(unicodedata.normalize("NFD", line))
    assert read_run(tmp_path / "r") == [RunLine("질문1", "논문#1", 1, 2.0, "t")]
    (tmp_path / "r").write_text(line + unicodedata.normalize("NFD", line))
    with pytest.raises(EvaluationError, match="line 2 has the document 논문#1 of topic 질문1 a second time"):
        read_run(tmp_path / "r")
