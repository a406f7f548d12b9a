from __future__ import annotations

from pathlib import Path

import msgspec
import pytest

from shrag.corpora.records import Topic
from shrag.evaluation.errors import ExperimentRejected
from shrag.evaluation.experiments.judged_topics import (
    check_compared,
    read_questions,
    resolve_data_path,
    sample_topics,
)
from shrag.evaluation.experiments.spec import JudgedSet, Selection, UnanswerableSource
from shrag.evaluation.questions.reference_answers import Reference, ReferenceSource

SET = JudgedSet("s", topics="t.tsv", qrels="q.txt", index="i")


@pytest.fixture
def data(tmp_path: Path) -> Path:
    (tmp_path / "t.tsv").write_text("a\tone\nb\ttwo\nc\tthree\n")
    (tmp_path / "q.txt").write_text("c 0 d1 1\na 0 d1 0\na 0 d2 2\nz 0 d1 1\n")
    (tmp_path / "list.tsv").write_text("ko dev a\nen dev b\nko train c\n")
    return tmp_path


def test_judged_topics_are_asked_in_the_files_order_and_the_others_counted(data: Path) -> None:
    questions = read_questions(SET, data, seed=0)
    assert [topic.qid for topic in questions.topics] == ["a", "c"]
    assert questions.judged == {"a": {"d1": 0, "d2": 2}, "c": {"d1": 1}}
    assert (questions.unjudged_topics, questions.missing_topics) == (1, 1)


def test_the_digest_changes_with_a_question_and_with_a_judgement(data: Path) -> None:
    digests = {read_questions(SET, data, seed=0).digest}
    (data / "q.txt").write_text("c 0 d1 1\na 0 d1 0\na 0 d2 1\n")
    digests.add(read_questions(SET, data, seed=0).digest)
    (data / "t.tsv").write_text("a\tone!\nc\tthree\n")
    digests.add(read_questions(SET, data, seed=0).digest)
    assert len(digests) == 3


def test_a_list_limits_the_questions_by_its_first_columns(data: Path) -> None:
    chosen = msgspec.structs.replace(SET, subset=Selection("list.tsv", ("ko",)))
    assert [topic.qid for topic in read_questions(chosen, data, seed=0).topics] == ["a", "c"]
    chosen = msgspec.structs.replace(SET, subset=Selection("list.tsv", ("ko", "train")))
    assert [topic.qid for topic in read_questions(chosen, data, seed=0).topics] == ["c"]
    with pytest.raises(ExperimentRejected, match=r"list.tsv lists 'b', which is not in t.tsv or not judged in q.txt"):
        read_questions(msgspec.structs.replace(SET, subset=Selection("list.tsv")), data, seed=0)
    with pytest.raises(ExperimentRejected, match=r"list.tsv lists no question for fr"):
        read_questions(msgspec.structs.replace(SET, subset=Selection("list.tsv", ("fr",))), data, seed=0)


def test_nothing_to_ask_and_files_that_are_not_there_are_refused(data: Path) -> None:
    with pytest.raises(ExperimentRejected, match=r"give the folder of its files by --data or SHRAG_DATA"):
        read_questions(SET, data / "elsewhere", seed=0)
    (data / "q.txt").write_text("z 0 d1 1\n")
    with pytest.raises(ExperimentRejected, match=r"No question of t.tsv is judged in q.txt"):
        read_questions(SET, data, seed=0)


def test_without_judgements_what_has_a_reference_is_asked_and_the_others_counted(data: Path) -> None:
    (data / "r.jsonl").write_text('{"qid": "b", "answers": ["x"]}\n{"qid": "z", "answerable": false}\n')
    referenced = msgspec.structs.replace(SET, qrels="", references="r.jsonl")
    questions = read_questions(referenced, data, seed=0)
    assert [topic.qid for topic in questions.topics] == ["b"]
    assert questions.judged == {"b": {}}
    assert (questions.qrels, questions.unjudged_topics, questions.missing_topics) == ((), 2, 1)
    (data / "r.jsonl").write_text('{"qid": "z", "answers": ["x"]}\n')
    with pytest.raises(ExperimentRejected, match=r"No question of t.tsv is judged in r.jsonl"):
        read_questions(referenced, data, seed=0)


def test_with_judgements_a_reference_alone_makes_only_what_has_no_answer_a_question(data: Path) -> None:
    (data / "r.jsonl").write_text('{"qid": "b", "answers": ["x"]}\n')
    both = msgspec.structs.replace(SET, references="r.jsonl")
    assert [topic.qid for topic in read_questions(both, data, seed=0).topics] == ["a", "c"]
    (data / "r.jsonl").write_text('{"qid": "b", "answerable": false}\n')
    questions = read_questions(both, data, seed=0)
    assert [topic.qid for topic in questions.topics] == ["a", "b", "c"]
    assert (questions.unjudged_topics, questions.missing_topics) == (0, 1)


def test_what_comes_with_shrag_is_found_without_a_folder_of_data(tmp_path: Path) -> None:
    assert resolve_data_path("shrag:demo/topics.tsv", tmp_path / "none").read_bytes().startswith(b"ko-01\t")
    with pytest.raises(ExperimentRejected, match=r"shrag:demo/none.tsv does not exist \(/.*demo/none.tsv is missing\)"):
        resolve_data_path("shrag:demo/none.tsv", tmp_path)


def test_references_in_others_words_give_the_choices(data: Path) -> None:
    (data / "r.jsonl").write_text('{"qid": "a", "right": "no"}\n')
    source = ReferenceSource("r.jsonl", choices=("yes", "no"), choice="right")
    questions = read_questions(msgspec.structs.replace(SET, references=source), data, seed=0)
    assert [topic.qid for topic in questions.topics] == ["a", "c"]
    assert questions.references == (Reference("a", choices=("yes", "no"), choice="B"),)


def test_sets_are_compared_only_over_questions_that_are_judged_in_both(data: Path) -> None:
    (data / "r.jsonl").write_text('{"qid": "a", "answers": ["x"]}\n')
    (data / "one.tsv").write_text("c\n")
    sets = [
        SET,
        msgspec.structs.replace(SET, name="part", subset=Selection("one.tsv"), compare_with="s"),
        msgspec.structs.replace(SET, name="unjudged", qrels="", references="r.jsonl", compare_with="s"),
    ]
    questions = {each.name: read_questions(each, data, seed=0) for each in sets}
    check_compared(sets[:2], questions)
    with pytest.raises(ExperimentRejected, match="The sets unjudged and s have no judged question in common"):
        check_compared(sets, questions)


def test_a_sample_is_the_same_for_a_seed_and_a_larger_one_holds_it() -> None:
    topics = [Topic(f"q{number}", "?") for number in range(200)]
    small, large = sample_topics(topics, 20, 0), sample_topics(topics, 50, 0)
    assert len(small) == 20
    assert set(small) < set(large)
    assert [topic for topic in topics if topic in small] == small
    assert sample_topics(topics, 20, 1) != small
    assert sample_topics(topics[:5], 20, 0) == topics[:5]
    assert sorted(sample_topics(topics[::-1], 20, 0)) == sorted(small)
    assert [topic.qid for topic in sample_topics(topics, 3, 0)] == ["q13", "q16", "q17"]


def test_unanswerable_questions_follow_with_their_kinds_and_all_have_a_reference(data: Path) -> None:
    (data / "u.tsv").write_text("x\twhat\ny\twhy\n")
    (data / "kinds.tsv").write_text("qid\tkind\ny\tfar\n")
    chosen = msgspec.structs.replace(SET, unanswerable=UnanswerableSource("u.tsv", "kinds.tsv"), sample=1)
    questions = read_questions(chosen, data, seed=0)
    assert [topic.qid for topic in questions.topics][1:] == ["x", "y"]
    assert [(each.answerable, each.kind) for each in questions.references] == [(True, ""), (False, ""), (False, "far")]
    assert questions.judged["x"] == {}
    same = msgspec.structs.replace(SET, unanswerable="t.tsv")
    with pytest.raises(ExperimentRejected, match="The set s has 'a' among its questions and among the unanswerable"):
        read_questions(same, data, seed=0)


def test_a_table_limits_the_questions_by_the_values_of_its_columns(data: Path) -> None:
    (data / "kinds.tsv").write_text("qid\tquestion\trecord\na\tko\ten\nc\tko\tko\n")
    chosen = msgspec.structs.replace(SET, subset=Selection("kinds.tsv", {"question": "ko", "record": "en"}))
    assert [topic.qid for topic in read_questions(chosen, data, seed=0).topics] == ["a"]
    chosen = msgspec.structs.replace(SET, subset=Selection("kinds.tsv", {"question": "ko", "record": ("en", "ko")}))
    assert [topic.qid for topic in read_questions(chosen, data, seed=0).topics] == ["a", "c"]
    chosen = msgspec.structs.replace(SET, subset=Selection("kinds.tsv", {"question": "fr"}))
    with pytest.raises(ExperimentRejected, match=r"kinds.tsv lists no question for question fr"):
        read_questions(chosen, data, seed=0)
    chosen = msgspec.structs.replace(SET, subset=Selection("kinds.tsv", {"style": "x"}))
    with pytest.raises(ExperimentRejected, match="has no column 'style'"):
        read_questions(chosen, data, seed=0)
