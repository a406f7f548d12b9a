"""Each strategy sends the endpoint what its paper's steps send, and searches as they do.

``pytest -s tests/serving/strategies/test_paper_steps.py`` prints both side by side, with the prompts in full.
"""

from __future__ import annotations

from typing import get_args

import pytest

from shrag.prompts.prompt import Language
from shrag.serving.engine import Engine
from tests.support.paper_steps import (
    ask_scripted_endpoint,
    expected_lines,
    paper_cases,
    read_case,
    side_by_side,
)

pytestmark = pytest.mark.slow


@pytest.mark.parametrize("language", get_args(Language))
@pytest.mark.parametrize("name", paper_cases())
def test_the_requests_and_searches_are_the_papers_steps(demo: Engine, name: str, language: Language) -> None:
    case = read_case(name)
    transcript = ask_scripted_endpoint(demo, name, language)
    assert sorted(transcript.lines) == sorted(expected_lines(case, language))
    print(side_by_side(case, language, transcript))
    final = transcript.requests[-1].user
    assert case.questions[language] in final
    for text in case.final.get(language, []):
        assert text in final
    cited = transcript.answer.citations
    assert all(f"{each.title}" in final for each in cited)
    assert (transcript.answer.kind, bool(cited)) == ("generated", True)
