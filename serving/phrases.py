"""The words around an answer, in the language of the answer; the page's own words are in ``page/words.toml``."""

from __future__ import annotations

from collections.abc import Mapping

from shrag.serving.events import Part, Reason
from shrag.serving.question import AnswerLanguage

HEADINGS: Mapping[AnswerLanguage, Mapping[Part, str]] = {
    "ko": {"title": "제목", "introduction": "서론", "body": "본론", "conclusion": "결론"},
    "en": {"title": "Title", "introduction": "Introduction", "body": "Main Body", "conclusion": "Conclusion"},
}

EXTRACTIVE_LABEL: Mapping[AnswerLanguage, str] = {
    "ko": "발췌 답변: 언어 모델 없이, 찾은 기록의 문장을 그대로 옮겼습니다.",
    "en": "Extractive answer: sentences copied from the records found, written by no language model.",
}

REASONS: Mapping[AnswerLanguage, Mapping[Reason, str]] = {
    "ko": {
        "no_keywords": "질문에 검색할 낱말이 없습니다. 찾으려는 주제를 나타내는 낱말을 넣어 주세요.",
        "unknown_words": "질문의 낱말이 이 색인에 하나도 없습니다. 다른 낱말로 물어 보세요.",
        "nothing_found": "답의 근거로 쓸 수 있는 기록(제목과 초록이 모두 있는 기록)을 찾지 못했습니다.",
        "nothing_fits": "찾은 기록 가운데 이 질문에 답하는 문장이 없습니다. 아래 기록은 가장 가까운 것들입니다.",
    },
    "en": {
        "no_keywords": "The question has no word to search for. Add words that name the subject.",
        "unknown_words": "None of the question's words is in this index. Ask in other words.",
        "nothing_found": "No record was found that can support an answer (one with a title and an abstract).",
        "nothing_fits": "No sentence of the records found answers this question. The records below come closest.",
    },
}
