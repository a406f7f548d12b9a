from __future__ import annotations

from dataclasses import replace

from shrag.serving.engine import Engine
from shrag.serving.examples import example_terms, examples


def test_examples_are_terms_of_the_index_itself_and_are_answered(demo: Engine) -> None:
    terms = example_terms(demo.open_index)
    assert len(terms) == 4
    assert len(set(terms)) == 4
    for side, language in ((0, "ko"), (1, "en")):
        asked = examples(demo.open_index, "ko" if language == "ko" else "en", "{term}?")
        assert asked == [f"{names[side]}?" for names in terms]
        for question in asked:
            assert demo.ask(question).answer.citations, question


def test_an_index_without_a_glossary_has_no_examples(demo: Engine) -> None:
    assert examples(replace(demo.open_index, glossary=None), "ko", "{term}?") == []
