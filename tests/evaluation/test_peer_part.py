from __future__ import annotations

from pathlib import Path

import msgspec
import pytest

from shrag.corpora.store import open_corpus
from shrag.corpora.topics import read_topics
from shrag.evaluation.errors import EvaluationError
from shrag.evaluation.experiment import Condition
from shrag.evaluation.part import Part, read_outcomes
from shrag.evaluation.peer_part import check_peer
from shrag.evaluation.peers import rank
from shrag.evaluation.runs import read_run
from tests.evaluation.small_experiment import OR, SMALL, run_small


def test_a_peer_ranks_the_sets_own_records_beside_us(demo_home: Path, tmp_path: Path) -> None:
    conditions = (OR, Condition("kiwi", peer="bm25s-kiwi", group="kiwi"))
    experiment = msgspec.structs.replace(SMALL, conditions=conditions, plots=())
    ran = run_small(demo_home, tmp_path / "r", experiment)
    assert ran.asked == 20
    _, peer = ran.table.sets[0].rows
    assert peer.cells["nDCG@10"].mean > 0.5
    assert peer.cells["nDCG@10"].against is not None
    topics = read_topics(tmp_path / "r" / "demo" / "topics.tsv")
    lines = rank("bm25s-kiwi", list(open_corpus(demo_home / "corpora", "demo")[1]), topics, 20)
    written = read_run(tmp_path / "r" / "demo" / "kiwi.run")
    assert [(line.qid, line.docid, line.rank) for line in written] == [
        (line.qid, line.docid, line.rank) for line in lines
    ]
    outcomes = read_outcomes(tmp_path / "r", Part("demo", "kiwi"))
    assert all(outcome.collected == outcome.found and not outcome.keywords for outcome in outcomes)


def test_a_peer_there_is_not_is_found_out_before_anything_else() -> None:
    check_peer("bm25s")
    with pytest.raises(EvaluationError, match="There is no peer 'nope'"):
        check_peer("nope")
