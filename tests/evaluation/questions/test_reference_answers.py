from __future__ import annotations

import json
import unicodedata
from pathlib import Path

import pytest

from shrag.corpora.formats.topics import read_qrels, read_topics
from shrag.evaluation.errors import ExperimentRejected
from shrag.evaluation.questions.reference_answers import Reference, ReferenceSource, encode_references, read_references

SHIPPED = Path(__file__).resolve().parents[3] / "corpora" / "challenge"


def _read(tmp_path: Path, text: str, source: ReferenceSource | None = None) -> dict[str, Reference]:
    path = tmp_path / "references"
    path.write_text(text, encoding="utf-8")
    return read_references(path, source) if source else read_references(path)


def test_json_lines_and_tab_separated_lines_say_the_same(tmp_path: Path) -> None:
    wanted = {"a": Reference("a", ("서울", "Seoul")), "b": Reference("b")}
    assert _read(tmp_path, "a\t서울\t Seoul \t\n\nb\n") == wanted
    assert _read(tmp_path, '{"qid": "a", "answers": ["서울", "Seoul", " "]}\n{"qid": "b", "type": "x"}\n') == wanted


@pytest.mark.parametrize(
    ("answers", "yes"),
    [
        ('["yes"]', True),
        ('["아니요", "No."]', False),
        ('["yes", "no"]', None),
        ('["yes", "Seoul"]', None),
        ('["Yes, since 2019."]', None),
        ("[]", None),
    ],
)
def test_answers_that_are_all_one_word_for_yes_or_no_say_so(tmp_path: Path, answers: str, yes: bool | None) -> None:
    assert _read(tmp_path, f'{{"qid": "a", "answers": {answers}}}')["a"].yes_no is yes


def test_what_is_written_is_read_again(tmp_path: Path) -> None:
    given = (
        Reference("a", ("x\ty",), ("x",), yes_no=False),
        Reference("b", answerable=False),
        Reference("c", choices=("red", "blue"), choice="B"),
    )
    path = tmp_path / "references.jsonl"
    path.write_bytes(encode_references(given))
    assert tuple(read_references(path).values()) == given


GPQA = (
    "Record ID,Question,Correct Answer,Incorrect Answer 1,Incorrect Answer 2,Incorrect Answer 3\n"
    'r1,"Two\nlines?",right,wrong,no,never\n'
    "r2,What?,yes,b,c,d\n"
)


def test_a_file_of_gpqa_gives_the_choices_and_the_line_of_a_question_that_it_has_twice(tmp_path: Path) -> None:
    references = _read(tmp_path, GPQA)
    assert list(references) == ["r1", "r2"]
    first = references["r1"]
    assert sorted(first.choices) == ["never", "no", "right", "wrong"]
    assert first.choices["ABCD".index(first.choice)] == "right"
    with pytest.raises(ExperimentRejected, match="line 5 has r2 a second time: delete one of the two"):
        _read(tmp_path, GPQA + "r2,What?,yes,b,c,d\n")


def test_the_title_over_listed_questions_is_their_paper_and_that_of_a_question_is_not(tmp_path: Path) -> None:
    listed = '{"title": " On  Graphene", "qas": [{"qid": "a"}, {"qid": "b", "paper": "Another", "title": "x"}]}'
    alone = '{"qid": "c", "title": "Not a paper"}\n{"qid": "d", "paper": "Its own"}'
    references = _read(tmp_path, f"{listed}\n{alone}")
    assert {qid: each.paper for qid, each in references.items()} == {
        **{"a": "On Graphene", "b": "Another", "c": "", "d": "Its own"},
    }


@pytest.mark.parametrize(("count", "letter"), [(2, "B"), (10, "J")])
def test_two_to_ten_choices_are_read(tmp_path: Path, count: int, letter: str) -> None:
    choices = [f"choice {number}" for number in range(count)]
    (reference,) = _read(tmp_path, json.dumps({"qid": "a", "choices": choices, "choice": choices[-1]})).values()
    assert (len(reference.choices), reference.choice) == (count, letter)
    for wrong in (choices[:1], [*choices, *choices, "one more"][:11] if count == 10 else choices[:1]):
        with pytest.raises(ExperimentRejected, match="give 2 to 10 choices"):
            _read(tmp_path, json.dumps({"qid": "a", "choices": wrong, "choice": "A"}))


@pytest.mark.parametrize(
    ("choice", "letter"),
    [('"B"', "B"), ('" B "', "B"), ('"  no  way"', "B"), ('["maybe"]', "C"), ('"yes"', "A")],
)
def test_the_right_choice_is_its_letter_or_its_own_words(tmp_path: Path, choice: str, letter: str) -> None:
    line = f'{{"qid": "a", "choices": ["yes", "no\\n way", "maybe"], "choice": {choice}}}'
    assert _read(tmp_path, line) == {"a": Reference("a", choices=("yes", "no way", "maybe"), choice=letter)}


def test_a_letter_that_is_also_a_choices_own_word_is_a_letter(tmp_path: Path) -> None:
    assert _read(tmp_path, '{"qid": "a", "choices": ["B", "A"], "choice": "A"}')["a"].choice == "A"


def test_a_file_in_others_words_is_read_by_their_keys(tmp_path: Path) -> None:
    source = ReferenceSource("f", answers="long_answer", choices=("yes", "no", "maybe"), choice="answers")
    line = '{"qid": "a", "answers": ["maybe"], "long_answer": "It depends.", "choices": ["left", "alone"]}'
    wanted = Reference("a", ("It depends.",), choices=("yes", "no", "maybe"), choice="C")
    assert _read(tmp_path, line, source) == {"a": wanted}
    source = ReferenceSource("f", choices="options", choice="answer")
    assert _read(tmp_path, '{"qid": "a", "options": ["x", "y"], "answer": "B"}', source)["a"].choice == "B"


def test_answers_under_their_text_are_each_a_reference(tmp_path: Path) -> None:
    line = '{"text": "…", "qas": [{"qid": "a", "answer": "Yes"}, {"qid": "b", "answer": "two"}]}\n{"qas": []}'
    assert _read(tmp_path, line, ReferenceSource("f", answers="answer")) == {
        "a": Reference("a", ("Yes",), yes_no=True),
        "b": Reference("b", ("two",)),
    }


@pytest.mark.parametrize(
    ("text", "says"),
    [
        ("", "has no reference"),
        ("\t서울", "line 1 has no qid"),
        ("a\tx\na\ty", "line 2 has a a second time"),
        ('{"answers": ["x"]}', "line 1 is not a reference"),
        ('{"qid": "a", "answers": 5}', "line 1 is not a reference"),
        ('{"qid": "a", "answers": [5]}', "line 1 is not a reference"),
        ('{"qas": [{"qid": "a"}, 7]}', "line 1 is not a reference"),
        ('{"qas": [{"qid": "a"}, {"qid": "a"}]}', "line 1 has a a second time"),
        ('{"qid": "a", "choices": ["x", "y"]}', "line 1 has 2 choices and the right choice ''"),
        ('{"qid": "a", "choices": ["x", "y"], "choice": "C"}', "line 1 has 2 choices and the right choice 'C'"),
        ('{"qid": "a", "choices": ["x", "y", "z"], "choice": "AB"}', "line 1 has 3 choices and the right choice 'AB'"),
        ('{"qid": "a", "choices": ["x"], "choice": "A"}', "line 1 has 1 choices and the right choice 'A'"),
        ('{"qid": "a", "choice": "A"}', "line 1 has 0 choices and the right choice 'A'"),
        (f'{{"qid": "a", "choices": {list("ABCDEFGHIJK")}, "choice": "A"}}'.replace("'", '"'), "line 1 has 11 choices"),
        ('{"qid": "a", "choices": ["x", "y"], "choice": ["x", "y"]}', "line 1 is not a reference"),
        (
            '{"qid": "a", "choices": ["x", "y"], "choice": "A", "answerable": false}',
            "line 1 has an answer to a but says",
        ),
        (
            '{"qid": "a", "answers": ["x"], "answerable": false}',
            "line 1 has an answer to a but says that it is not answerable",
        ),
        ('{"qid": "a", ', "line 1 is not a reference"),
    ],
)
def test_a_line_that_is_no_reference_is_named(tmp_path: Path, text: str, says: str) -> None:
    with pytest.raises(ExperimentRejected, match=says):
        _read(tmp_path, text)


def test_the_projects_own_are_of_its_questions_and_judged_where_they_can_be_answered() -> None:
    references = read_references(SHIPPED / "references.jsonl")
    topics = {topic.qid: topic.text for topic in read_topics(SHIPPED / "topics.tsv")}
    assert list(references) == list(topics)
    answerable = {qid for qid, reference in references.items() if reference.answerable}
    assert (len(answerable), len(references)) == (16, 20)
    assert {qrel.qid for qrel in read_qrels(SHIPPED / "qrels.txt") if qrel.relevance == 2} == answerable
    demo = {topic.qid: topic.text for topic in read_topics(SHIPPED.parent / "demo" / "topics.tsv")}
    assert {qid: topics[qid] for qid in answerable} == {qid: demo[qid] for qid in answerable}
    assert all(reference.answers for qid, reference in references.items() if qid in answerable)


@pytest.mark.parametrize("text", ["질문1\tSeoul\n", '{"qid": "질문1", "answers": ["Seoul"]}'])
def test_a_qid_with_decomposed_hangul_is_that_of_the_topic(tmp_path: Path, text: str) -> None:
    assert _read(tmp_path, unicodedata.normalize("NFD", text)) == {"질문1": Reference("질문1", ("Seoul",))}
