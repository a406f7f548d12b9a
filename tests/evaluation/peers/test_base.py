from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import msgspec
import pytest

from shrag.corpora.formats.topics import read_topics
from shrag.corpora.records import Record, Topic
from shrag.corpora.store.open_corpus import open_corpus
from shrag.evaluation import experiment_runner
from shrag.evaluation.errors import EvaluationError
from shrag.evaluation.experiments import part as journal
from shrag.evaluation.experiments.part import ExperimentPart, read_outcomes, read_times
from shrag.evaluation.experiments.spec import Condition
from shrag.evaluation.measures.trec_run import read_run
from shrag.evaluation.peers.base import check_peer, rank
from shrag.evaluation.questions.outcome import QuestionRecord
from shrag.evaluation.reports.result_folder import open_results
from shrag.evaluation.reports.timings import read_times_file
from tests.support.small_experiment import OR, SMALL, contents, run_small

pytestmark = pytest.mark.slow


def test_a_peer_ranks_the_sets_own_records_beside_us(demo_home: Path, tmp_path: Path) -> None:
    conditions = (OR, Condition("kiwi", peer="bm25s-kiwi", group="kiwi"))
    experiment = msgspec.structs.replace(SMALL, conditions=conditions, plots=())
    ran = run_small(demo_home, tmp_path / "r", experiment)
    assert ran.questions_asked == 20
    _, peer = ran.table.sets[0].rows
    assert peer.cells["nDCG@10"].mean > 0.5
    assert peer.cells["nDCG@10"].difference is not None
    topics = read_topics(tmp_path / "r" / "demo" / "topics.tsv")
    lines = rank("bm25s-kiwi", list(open_corpus(demo_home / "corpora", "demo")[1]), topics, 20)
    written = read_run(tmp_path / "r" / "demo" / "kiwi.run")
    assert [(line.qid, line.docid, line.rank) for line in written] == [
        (line.qid, line.docid, line.rank) for line in lines
    ]
    outcomes = read_outcomes(tmp_path / "r", ExperimentPart("demo", "kiwi"))
    assert all(outcome.num_candidates == outcome.num_retrieved and not outcome.keywords for outcome in outcomes)
    times = read_times(tmp_path / "r", ExperimentPart("demo", "kiwi"))
    assert len(times) == 10
    assert all(list(each.seconds) == ["ranking"] and each.seconds["ranking"] > 0 for each in times)
    (taken,) = [each for each in read_times_file(open_results(tmp_path / "r")[0]) if each.part == "demo/kiwi"]
    assert (taken.questions, taken.tokens) == (10, 0)


class _Killed(BaseException):
    """What no part of the runner catches, as a kill is."""


@pytest.mark.parametrize("peer", ["bm25s", "anserini-en"])
def test_a_peer_killed_between_two_questions_goes_on_there_and_ends_in_the_same_files(
    demo_home: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, peer: str
) -> None:
    experiment = msgspec.structs.replace(SMALL, conditions=(Condition(peer, peer=peer, group=peer),), baseline="")
    whole = run_small(demo_home, tmp_path / "whole", experiment)
    real = journal.append_to_journal

    def append_to_journal(path: Path, coming: Iterator[QuestionRecord]) -> Iterator[QuestionRecord]:
        for number, each in enumerate(real(path, coming), 1):
            yield each
            if number == 3:
                raise _Killed

    with monkeypatch.context() as patched:
        patched.setattr(experiment_runner, "append_to_journal", append_to_journal)
        with pytest.raises(_Killed):
            run_small(demo_home, tmp_path / "stopped", experiment)
    assert (
        run_small(demo_home, tmp_path / "stopped", experiment, resume=True).questions_asked
        == whole.questions_asked - 3
        == 7
    )
    assert contents(tmp_path / "stopped") == contents(tmp_path / "whole")


def test_a_peer_finds_a_record_by_its_title_and_by_its_text_and_counts_ranks_from_1() -> None:
    records = [
        Record(docid, title, text, "en", complete=True)
        for docid, title, text in (("t", "graphene", "copper"), ("x", "onion", "graphene"), ("o", "onion", "soil"))
    ]
    lines = rank("bm25s", records, [Topic("1", "graphene")], 5)
    assert [(line.docid, line.rank) for line in lines] == [("t", 1), ("x", 2)]


def test_a_peer_there_is_not_is_found_out_before_anything_else() -> None:
    check_peer("bm25s")
    with pytest.raises(EvaluationError, match="There is no peer 'nope'"):
        check_peer("nope")
