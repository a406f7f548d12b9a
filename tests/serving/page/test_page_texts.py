from __future__ import annotations

import re
from typing import get_args, get_type_hints

from shrag.serving.answering.formats import FALLBACKS, HEADINGS, ISSUES, REASONS, answer_label
from shrag.serving.errors import Requirement
from shrag.serving.events import (
    Answer,
    AnswerPart,
    Budget,
    EmptyReason,
    Fallback,
    KeywordOrder,
    NodeKind,
    NodeState,
    Purpose,
    SentenceIssue,
)
from shrag.serving.page.record import RecordKind
from shrag.serving.page.rendering import PAGE_FOLDER, PROBLEM_CODES, interface_texts
from shrag.serving.page.start import strategy_texts
from shrag.serving.request import AnswerLanguage
from shrag.serving.strategies.pipeline.syntax import STAGE_KINDS
from shrag.serving.strategies.registry import STRATEGIES


def test_both_languages_have_the_same_texts_with_the_same_blanks() -> None:
    words = interface_texts()
    assert words["ko"].keys() == words["en"].keys()
    blanks = re.compile(r"\{(\w+)\}")
    for key in words["ko"]:
        assert sorted(blanks.findall(words["ko"][key])) == sorted(blanks.findall(words["en"][key])), key


def test_every_text_is_used_and_every_text_used_is_there() -> None:
    templates = "".join(path.read_text(encoding="utf-8") for path in (PAGE_FOLDER / "templates").iterdir())
    used = set(re.findall(r"texts\.(\w+)", templates))
    computed = {
        "question_empty",
        "question_too_long",
        "question_problem",
        "example",
        "filter_invalid",
        "unknown_index",
        "unknown_parameter",
    }
    computed |= {f"problem_{code}" for code in (*PROBLEM_CODES, "unreachable")}
    # What is wrong with an index or a strategy's line is said in the words of the error, which name it and the way out.
    in_words_of_the_error = {"index_damaged", "strategy_unavailable", "unknown_strategy"}
    computed |= {f"problem_{code}_detail" for code in {*PROBLEM_CODES, "unreachable"} - in_words_of_the_error}
    computed |= {f"kind_{kind}" for kind in get_args(RecordKind)}
    computed |= {f"progress_{step}" for step in ("keywords", "candidates", "ranking", "complete")}
    computed |= {f"language_{language}" for language in ("ko", "en", "und")}
    computed |= {f"order_{order}" for order in get_args(KeywordOrder)}
    computed |= {f"stage_{stage}" for stage in _stages()}
    computed |= {f"purpose_{purpose}" for purpose in get_args(Purpose)}
    computed |= {f"node_kind_{kind}" for kind in get_args(NodeKind)}
    computed |= {f"explain_{kind}" for kind in ("bridging", "intersection", "comparison", "hybrid")}
    computed |= {f"node_state_{state}" for state in (*get_args(NodeState), "retrieved")}
    computed |= {f"limit_{spent}" for spent in get_args(Budget)}
    computed |= {f"lacks_{lack}{detail}" for lack in get_args(Requirement) for detail in ("", "_detail")}
    computed |= {f"group_{group}" for group in (*{words["group"] for words in strategy_texts().values()}, "custom")}
    assert used | computed == interface_texts()["ko"].keys()


def _stages() -> set[str]:
    """Return every stage whose time is told: those that the sources name, and those that compositions are made of."""
    sources = (path.read_text(encoding="utf-8") for path in PAGE_FOLDER.parent.rglob("*.py"))
    named = {stage for text in sources for stage in re.findall(r'\.stage\(\s*"(\w+)"', text)}
    assert len(named) > 5
    return named | set(STAGE_KINDS) | {"cache", "facets"}


def test_every_strategy_has_its_texts_in_both_languages_and_stands_in_its_group() -> None:
    words = strategy_texts()
    assert words.keys() == STRATEGIES.keys()
    for name, said in words.items():
        assert said.keys() == {"group", "ko", "en"}, name
    for language in ("ko", "en"):
        assert all(said[language].keys() == {"name", "description"} for said in words.values())
        assert all(said[language]["description"].endswith(".") for said in words.values())
        assert len({said[language]["name"] for said in words.values()}) == len(words)
    assert {said["group"] for name, said in words.items() if name.startswith("pipeline-")} == {"pipelines"}


def test_every_part_and_reason_has_its_phrase_in_both_languages() -> None:
    parts, reasons, issues = (set(get_args(kind)) - {""} for kind in (AnswerPart, EmptyReason, SentenceIssue))
    causes = set(get_args(get_type_hints(Fallback)["cause"]))
    languages: tuple[AnswerLanguage, ...] = ("ko", "en")
    for language in languages:
        assert HEADINGS[language].keys() == parts
        assert REASONS[language].keys() == reasons
        assert ISSUES[language].keys() == issues
        assert FALLBACKS[language].keys() == causes
        labels = {answer_label(Answer(kind, language, (), (), model="M")) for kind in ("extractive", "generated")}
        assert len(labels) == 2
        assert sum("M" in label for label in labels) == 1
