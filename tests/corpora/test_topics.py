from __future__ import annotations

from pathlib import Path

import pytest

from shrag.corpora.errors import CorpusError
from shrag.corpora.records import Qrel, Topic
from shrag.corpora.topics import read_qrels, read_topics


def test_topics_are_tab_separated(tmp_path: Path) -> None:
    (tmp_path / "t").write_text("1\t무엇인가?\n\n2\twhat\tis\t\n")
    assert read_topics(tmp_path / "t") == [Topic("1", "무엇인가?"), Topic("2", "what\tis")]


@pytest.mark.parametrize(
    ("text", "problem"),
    [
        ("1 no tab\n", "line 1 is no topic"),
        ("1\ta\n1\tb\n", "line 2 gives topic 1 a second time"),
        ("", "holds no topic"),
    ],
)
def test_what_is_no_topics_file_is_named_by_line(tmp_path: Path, text: str, problem: str) -> None:
    (tmp_path / "t").write_text(text)
    with pytest.raises(CorpusError, match=problem):
        read_topics(tmp_path / "t")


def test_qrels_are_read_with_any_whitespace(tmp_path: Path) -> None:
    (tmp_path / "q").write_text("1\tQ0\t5#0\t1\n1 0 6#2   0\n")
    assert read_qrels(tmp_path / "q") == [Qrel("1", "5#0", 1), Qrel("1", "6#2", 0)]


@pytest.mark.parametrize(
    ("text", "problem"), [("1 0 a\n", "line 1 is no judgement"), ("1 0 a b\n", "line 1"), ("", "no jud")]
)
def test_what_is_no_qrels_file_is_named_by_line(tmp_path: Path, text: str, problem: str) -> None:
    (tmp_path / "q").write_text(text)
    with pytest.raises(CorpusError, match=problem):
        read_qrels(tmp_path / "q")


def test_text_that_is_not_utf_8_is_named_by_line(tmp_path: Path) -> None:
    (tmp_path / "t").write_bytes(b"1\tok\n2\t\xb0\xa1\n")
    with pytest.raises(CorpusError, match="line 2 is not UTF-8"):
        read_topics(tmp_path / "t")
