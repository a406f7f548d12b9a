"""Which records are a pair of texts in two languages."""

from __future__ import annotations

import pytest

from shrag.corpora.records import Record
from shrag.corpora.text.sentences import detect_language
from shrag.indexing.glossary.bilingual_fields import BilingualPair
from shrag.indexing.glossary.evidence import _bilingual_record

KOREAN, ENGLISH = "더위에 지친 젖소의 우유", "Milk of dairy cows under heat stress"


@pytest.mark.parametrize(
    ("title", "text", "pair"),
    [
        (KOREAN, ENGLISH, BilingualPair(KOREAN, ENGLISH)),
        (ENGLISH, KOREAN, BilingualPair(KOREAN, ENGLISH)),
        (ENGLISH, "Milk.", None),
        (KOREAN, "우유.", None),
        (ENGLISH, f"{ENGLISH} fell.", None),
        ("2021", ENGLISH, None),
        (ENGLISH, "2021", None),
        (KOREAN, "2021", None),
    ],
)
def test_a_title_and_a_text_are_a_pair_where_one_is_korean_and_the_other_english(
    title: str, text: str, pair: BilingualPair | None
) -> None:
    record = Record("d", title, text, detect_language(text), complete=True)
    assert _bilingual_record(record) == pair
