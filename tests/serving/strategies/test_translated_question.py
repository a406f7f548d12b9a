"""The glossary at work: questions in one language over records written only in the other."""

from __future__ import annotations

from dataclasses import replace

import pytest

from shrag.serving.engine import Engine
from shrag.serving.page.rendering import render_page
from shrag.serving.page.request import PageRequest

KOREAN = "집에서 화상으로 물리치료사의 운동 지도를 받으면 노인이 덜 넘어지는가?"
ENGLISH = "Does biocide or steam cleaning keep lichen from growing back on granite monuments for longer?"


def test_a_question_finds_the_record_written_in_the_other_language(demo: Engine) -> None:
    question = "탄소세가 제조업 고용에 미친 영향"
    with_it = demo.search(question)
    without = Engine(replace(demo.open_index, glossary=None)).search(question)
    assert "en" not in {ranked.record.language for ranked in without.ranking.records[:3]}
    assert with_it.ranking.records[0].record.docid == "DEMO-ECO-005"


def test_keywords_have_their_translations(demo: Engine) -> None:
    found = demo.search("machine learning with sensors")
    carried = {keyword.text: keyword.translations for keyword in found.keywords.keywords}
    assert carried["sensors"][0] == "센서"
    assert any("센서" in query for query in found.queries.queries)


def test_bm25_translates_nothing(demo: Engine) -> None:
    found = demo.search("machine learning with sensors", strategy="bm25")
    assert all(keyword.translations == () for keyword in found.keywords.keywords)
    assert len(found.queries.queries) == 1


@pytest.mark.parametrize("question", [KOREAN, ENGLISH])
def test_translations_never_lower_the_score_of_a_record_in_the_questions_language(demo: Engine, question: str) -> None:
    without = Engine(replace(demo.open_index, glossary=None)).search(question).ranking.records
    with_it = demo.search(question).ranking.records
    language = "ko" if question == KOREAN else "en"
    before = {ranked.record.docid: ranked.score for ranked in without if ranked.record.language == language}
    after = {ranked.record.docid: ranked.score for ranked in with_it if ranked.record.language == language}
    shared = before.keys() & after.keys()
    assert shared
    assert all(after[docid] >= before[docid] for docid in shared)


def test_the_page_shows_the_translation_of_a_keyword(demo: Engine) -> None:
    page = render_page(demo, PageRequest("machine learning with sensors", "en"))
    assert '<span class="translations">→ <bdi>센서</bdi></span>' in page
    assert "after an arrow" in page
