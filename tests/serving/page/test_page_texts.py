from __future__ import annotations

import re
from pathlib import Path
from typing import get_args, get_type_hints

from shrag.corpora.readers.document_types import DOCUMENT_TYPES
from shrag.prompts.prompt import FOLDER as PROMPTS
from shrag.serving.answering import formats
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
from tests.conftest import ROOT


def test_both_languages_have_the_same_texts_with_the_same_blanks() -> None:
    words = interface_texts()
    assert words["ko"].keys() == words["en"].keys()
    blanks = re.compile(r"\{(\w+)\}")
    for key in words["ko"]:
        assert sorted(blanks.findall(words["ko"][key])) == sorted(blanks.findall(words["en"][key])), key


def test_every_text_is_used_and_every_text_used_is_there() -> None:
    templates = "".join(path.read_text(encoding="utf-8") for path in (PAGE_FOLDER / "templates").iterdir())
    used = set(re.findall(r"texts\.(?!get\()(\w+)", templates))
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
    # What a strategy lacks has texts of its own.
    computed |= {f"problem_{code}_detail" for code in {*PROBLEM_CODES, "unreachable"} - {"strategy_unavailable"}}
    computed |= {f"type_{name}" for name in DOCUMENT_TYPES}
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
    # What a name has in brackets is the method's own name, which is the same in both languages.
    methods = {
        name: [re.findall(r"\(.+\)|RAISE", said[each]["name"]) for each in ("ko", "en")] for name, said in words.items()
    }
    assert [name for name, (korean, english) in methods.items() if korean != english] == []
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


_CODE = re.compile(r"^```.*?^```$", re.MULTILINE | re.DOTALL)

# Words that the Korean texts do not use, and what they use instead.
_REPLACED = {
    r"기록": "문헌, 로그",
    r"질의(?!응답)": "검색식",
    r"사다리": "단계별 검색식",
    r"찾은 말|맞은 말": "검색어, 일치한 검색어",
    r"낱말": "단어",
    r"문턱": "임계값",
    r"재순위": "재정렬",
    # The verb 답하다 stays.
    r"(?<![가-힣])답(?=$|[^가-힣]|[은을이의과에도](?![가-힣])|으로)": "답변",
    r"묻기|물어 보|물었습니다": "질문하기, 물어보",
    r"거르기|걸러": "결과 좁히기, 필터",
    r"조건 지우기": "필터 초기화",
    r"저자 주제어": "저자 키워드",
    r"순위 모으기": "순위 융합(RRF)",
    r"다른 언어로": "교차 언어 확장",
    r"지어낸 글|짐작한 답": "가상 문서(HyDE), 가상 답변",
    r"\}번(?!째|의)": "회",
    r"화면 밝기": "화면 테마",
    r"잘못[이은을의]": "오류",
    r"운영하는 사람": "관리자",
    r"(?<!실행 )카드": "미리보기",
    r"말뭉치": "자료",
    r"따온": "인용문",
    r"이\(가\)|을\(를\)|은\(는\)": "언어 모델({model})이",
    r"저절로": "자동으로",
}


def test_korean_texts_keep_to_one_vocabulary() -> None:
    texts = [*interface_texts()["ko"].items()]
    texts += [(name, f"{said['ko']['name']} {said['ko']['description']}") for name, said in strategy_texts().items()]
    texts += [("formats", line) for line in Path(formats.__file__).read_text(encoding="utf-8").splitlines()]
    texts += [(path.name, path.read_text(encoding="utf-8")) for path in sorted(PROMPTS.glob("*.ko.txt"))]
    pages = [ROOT / "README.ko.md", *sorted((ROOT / "docs/ko").rglob("*.md"))]
    texts += [(path.name, _CODE.sub("", path.read_text(encoding="utf-8"))) for path in pages]
    wrong = [
        f"{name}: {found.group()} → {used}"
        for name, text in texts
        for pattern, used in _REPLACED.items()
        if (found := re.search(pattern, text))
    ]
    assert wrong == []


def test_the_words_that_are_replaced_are_recognized() -> None:
    for text in (
        "찾은 기록",
        "답을 찾습니다.",
        "임시 답",
        "{calls}번",
        "이 답은 성립합니다.",
        "질의 만들기",
        "언어 모델 {model}이(가)",
    ):
        assert any(re.search(pattern, text) for pattern in _REPLACED), text
    for text in (
        "질문에 답하는 문헌",
        "답변을 복사",
        "{parts}부분 중 {part}번째",
        "질의응답",
        "{numbers}번의 답변",
        "대답",
    ):
        assert not any(re.search(pattern, text) for pattern in _REPLACED), text
