"""A refused question with its misspelt words as the records spell them."""

from __future__ import annotations

from dataclasses import replace

import pytest

from shrag.serving.answering.spelling import suggest_spelling
from shrag.serving.engine import Engine
from shrag.serving.request import parse_question


def _suggested(demo: Engine, question: str) -> str:
    return suggest_spelling(parse_question(question), demo.open_index)


@pytest.mark.parametrize(
    ("question", "suggestion"),
    [
        ("Does grapene shield?", "Does graphene shield?"),  # a letter left out
        ("Does grahpene shield?", "Does graphene shield?"),  # two in the wrong order
        ("Do studnets learn?", "Do students learn?"),  # in the form that was asked for, not in that of the stem
        ("Stduents and techers", "Students and teachers"),
        ("grapene을 쓰면", "graphene을 쓰면"),
        ("Does graphene shield?", ""),
        ("Does xylophone music help?", ""),  # unknown, but like no word of the records
        ("detectors of directors", ""),  # not detections of directions: the ending is another
        ("the hraphene", ""),  # the first letter is taken to be right
        ("GRAPENE and GraPene", ""),  # a name or an acronym
        ("grapene-like", ""),
        ("그레핀은 무엇인가?", ""),
    ],
)
def test_a_word_that_no_record_has_is_written_as_a_frequent_one_that_is_spelt_alike(
    demo: Engine, question: str, suggestion: str
) -> None:
    assert _suggested(demo, question) == suggestion


def test_of_many_unknown_words_the_first_five_are_looked_up(demo: Engine) -> None:
    assert _suggested(demo, "grapene " * 7) == " ".join(["graphene"] * 5 + ["grapene"] * 2)


def test_a_question_that_words_of_earlier_ones_were_added_to_is_left_alone(demo: Engine) -> None:
    question = replace(parse_question("grapene shielding"), asked=7)
    assert suggest_spelling(question, demo.open_index) == ""


def test_an_engine_that_finds_no_terms_spelt_alike_suggests_nothing(demo: Engine) -> None:
    index = replace(demo.open_index, spelling=None)
    assert suggest_spelling(parse_question("Does grapene shield?"), index) == ""


def test_terms_spelt_alike_are_one_edit_away_or_two_from_eight_letters_on_and_have_three_records(demo: Engine) -> None:
    spelling = demo.open_index.spelling
    assert spelling is not None
    assert spelling.similar_terms("grapen", 3) == ["graphen"]
    assert spelling.similar_terms("grpen", 3) == []
    assert spelling.similar_terms("elctrmagnet", 3) == ["electromagnet"]
    assert spelling.similar_terms("", 3) == []
    assert spelling.similar_terms("grapen", 0) == []


@pytest.mark.parametrize(
    ("question", "suggestion"),
    [
        ("Does grapene cure measles?", "Does graphene cure measles?"),  # refused
        ("thresohld", "threshold"),  # no record has a word of it
        ("How long should a lecture video be?", ""),  # answered
    ],
)
def test_only_what_is_not_answered_for_certain_has_a_suggestion(demo: Engine, question: str, suggestion: str) -> None:
    answer = demo.ask(question).answer
    assert answer.suggestion == suggestion


class _Alike:
    """Finds the same terms spelt alike for every term, and keeps how many it was asked for."""

    def __init__(self, *terms: str) -> None:
        self._terms = list(terms)
        self.most: list[int] = []

    def similar_terms(self, term: str, most: int) -> list[str]:
        self.most.append(most)
        return self._terms


@pytest.mark.parametrize(
    ("question", "alike", "suggestion"),
    [
        ("a carbn film", "carbon", "a carbon film"),  # five letters
        ("the onin price", "onion", ""),  # four letters resemble too much
        ("Onionn price", "onion", "Onion price"),
        ("the onoin price", "onion", ""),  # four letters of five are in the same order
        ("a grapne film", "graphen", ""),  # two letters more
    ],
)
def test_a_word_is_spelt_as_one_that_is_alike_and_about_as_long(
    demo: Engine, question: str, alike: str, suggestion: str
) -> None:
    spelling = _Alike("nowhere", "nothing", alike)
    assert suggest_spelling(parse_question(question), replace(demo.open_index, spelling=spelling)) == suggestion
    assert set(spelling.most) <= {3}
