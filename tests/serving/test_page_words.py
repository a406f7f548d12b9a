from __future__ import annotations

import re

from shrag.serving.events import Part, Reason
from shrag.serving.phrases import EXTRACTIVE_LABEL, HEADINGS, REASONS
from shrag.serving.rendering import PAGE_FOLDER, choose_language, page_words


def test_both_languages_have_the_same_words_with_the_same_blanks() -> None:
    words = page_words()
    assert words["ko"].keys() == words["en"].keys()
    blanks = re.compile(r"\{(\w+)\}")
    for key in words["ko"]:
        assert sorted(blanks.findall(words["ko"][key])) == sorted(blanks.findall(words["en"][key])), key


def test_every_word_is_used_and_every_word_used_is_there() -> None:
    templates = "".join(path.read_text(encoding="utf-8") for path in (PAGE_FOLDER / "templates").iterdir())
    used = set(re.findall(r"words\.(\w+)", templates))
    computed = {"question_empty", "question_too_long"}
    computed |= {f"language_{language}" for language in ("ko", "en", "und")}
    computed |= {f"stage_{stage}" for stage in ("keywords", "search", "ranking", "answer")}
    assert used | computed == page_words()["ko"].keys()


def test_every_part_and_reason_has_its_phrase_in_both_languages() -> None:
    parts, reasons = set(Part.__args__), set(Reason.__args__) - {""}  # type: ignore[attr-defined]
    for language in ("ko", "en"):
        assert HEADINGS[language].keys() == parts
        assert REASONS[language].keys() == reasons
        assert EXTRACTIVE_LABEL[language]


def test_the_interface_language_is_the_one_asked_for_or_the_browsers_first() -> None:
    assert choose_language("en", "ko") == "en"
    assert choose_language(None, "de, en;q=0.7, ko;q=0.3") == "en"
    assert choose_language("xx", "ko-KR") == "ko"
    assert choose_language(None, "") == "ko"
