"""Contract of peers: a reproducible ranking of the given records, and no files left over."""

from __future__ import annotations

import tempfile
from pathlib import Path

import pytest

from shrag.corpora.records import Record, Topic
from shrag.evaluation.errors import EvaluationError
from shrag.evaluation.peers.base import PEERS, find_peer, rank


def _record(docid: str, text: str, title: str = "") -> Record:
    return Record(docid, title, text, "und", complete=True)


RECORDS = [
    _record("b", "graphene shields radio waves", "Graphene"),
    _record("a", "graphene shields radio waves", "Graphene"),
    _record("c", "금속은 전자파 차폐 소재이다", "차폐"),
    _record("d", "salt marsh carbon"),
    _record("e", "the and of"),
    _record("f", "", "…"),
    _record("odd \U0001f600 id", "\ud55c\uae00 \u0000 \uffff 'quotes' AND NOT (a OR b) */"),
]
TOPICS = [
    Topic("1", "Which graphene shields?"),
    Topic("2", "전자파 차폐"),
    Topic("3", "zzzz"),
    Topic("4", ""),
    Topic("5", '한글 AND NOT ( ]}~^ "quotes'),
]
KOREAN_BY_SPACES_ALONE = {"anserini-en", "bm25s", "bm25s-english"}


@pytest.fixture(autouse=True)
def own_scratch(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    folder = tmp_path / "scratch"
    folder.mkdir()
    monkeypatch.setattr(tempfile, "tempdir", str(folder))
    return folder


@pytest.mark.parametrize("peer", PEERS)
def test_a_run_has_every_topic_in_order_with_ranks_from_one_and_scores_that_do_not_rise(
    peer: str, own_scratch: Path
) -> None:
    lines = rank(peer, RECORDS, TOPICS, 10)
    assert list(dict.fromkeys(line.qid for line in lines)) == ["1", "2", "5"]
    for qid in ("1", "2", "5"):
        found = [line for line in lines if line.qid == qid]
        assert [line.rank for line in found] == list(range(1, len(found) + 1))
        assert [line.score for line in found] == sorted((line.score for line in found), reverse=True)
        assert all(line.score > 0 and line.tag == peer for line in found)
        assert len({line.docid for line in found}) == len(found)
    assert list(own_scratch.iterdir()) == []


@pytest.mark.parametrize("peer", PEERS)
def test_equal_scores_are_ordered_by_docid_whatever_order_the_records_come_in(peer: str) -> None:
    lines = rank(peer, RECORDS, TOPICS, 10)
    assert [line.docid for line in lines[:2]] == ["a", "b"]
    assert lines[0].score == lines[1].score
    assert rank(peer, RECORDS[::-1], TOPICS, 10) == lines
    assert rank(peer, RECORDS, TOPICS, 10) == lines


@pytest.mark.parametrize("peer", PEERS)
def test_k_cuts_and_no_topic_changes_another(peer: str) -> None:
    lines = rank(peer, RECORDS, TOPICS, 10)
    assert rank(peer, RECORDS, TOPICS, 1) == [line for line in lines if line.rank == 1]
    assert rank(peer, RECORDS, TOPICS[1:2], 10) == [line for line in lines if line.qid == "2"]


@pytest.mark.parametrize("peer", PEERS)
def test_nothing_to_rank_is_ranked_as_nothing(peer: str) -> None:
    assert rank(peer, [], TOPICS, 10) == []
    assert rank(peer, RECORDS, [], 10) == []
    assert rank(peer, [_record("x", "…", "…")], TOPICS, 10) == []


@pytest.mark.parametrize("peer", PEERS)
def test_a_korean_noun_is_found_under_its_particle_by_those_that_analyse_korean(peer: str) -> None:
    found = rank(peer, [_record("c", "금속은 차폐를 한다"), _record("x", "우유 시세")], [Topic("1", "차폐의 정도")], 10)
    assert [line.docid for line in found] == ([] if peer in KOREAN_BY_SPACES_ALONE else ["c"])


@pytest.mark.parametrize("peer", sorted(PEERS.keys() - {"anserini-ko", "bm25s"}))
def test_an_english_word_is_found_in_another_form_by_those_that_stem(peer: str) -> None:
    found = rank(peer, [_record("c", "networks learned"), _record("x", "milk")], [Topic("1", "network learning")], 10)
    assert [line.docid for line in found] == ["c"]


def test_what_cannot_be_ranked_is_refused() -> None:
    with pytest.raises(EvaluationError, match=r"^There is no peer 'elastic': use one of anserini-ko, anserini-en"):
        find_peer("elastic")
    with pytest.raises(EvaluationError, match=r"^k must be at least 1, got 0\.$"):
        rank("bm25s", RECORDS, TOPICS, 0)
    with pytest.raises(EvaluationError, match=r"^1 records have the docid of another one"):
        rank("bm25s", [*RECORDS, RECORDS[0]], TOPICS, 1)
