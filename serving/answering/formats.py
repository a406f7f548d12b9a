"""Answers as text, and the Korean and English labels, warnings and reasons that are shown with them.

cited       headings as ``##Introduction##``, each sentence with the numbers of its records
scienceon   the form of the ScienceON AI Challenge (SHRAG paper, appendix A.2): its headings, in an English answer the
            title itself as ``##title##``, no numbers, no ``*``; a hyphen becomes a non-breaking one
plain       the sentences of each section as a paragraph, and nothing else
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Literal

from shrag.serving.events import Answer, AnswerPart, EmptyReason, Section, Sentence, SentenceIssue
from shrag.serving.request import AnswerLanguage

HEADINGS: Mapping[AnswerLanguage, Mapping[AnswerPart, str]] = {
    "ko": {
        "title": "제목",
        "introduction": "서론",
        "body": "본론",
        "conclusion": "결론",
        "record": "답하는 문헌",
        "related": "관련 문헌",
    },
    "en": {
        "title": "Title",
        "introduction": "Introduction",
        "body": "Main Body",
        "conclusion": "Conclusion",
        "record": "Record that answers",
        "related": "Related records",
    },
}

_LABELS: Mapping[str, Mapping[AnswerLanguage, str]] = {
    "extractive": {
        "ko": "발췌 답변: 언어 모델 없이, 찾은 기록의 문장을 그대로 옮겼습니다.",
        "en": "Extractive answer: sentences copied from the records found, written by no language model.",
    },
    "generated": {
        "ko": "생성 답변: 언어 모델 {model}이(가) 찾은 기록에 근거해 썼습니다.",
        "en": "Generated answer: written by the language model {model} from the records found.",
    },
    "closed_book": {
        "ko": "근거 없는 답변: 언어 모델 {model}이(가) 기록을 찾지 않고 아는 대로 썼습니다. 확인된 것이 없습니다.",
        "en": "Closed-book answer: written by the language model {model} from what it knows. Nothing was searched or "
        "checked.",
    },
}

ISSUES: Mapping[AnswerLanguage, Mapping[SentenceIssue, str]] = {
    "ko": {
        "no_citation": "근거로 든 기록이 없습니다",
        "no_such_record": "없는 기록을 근거로 들었습니다",
        "number": "근거로 든 기록에 없는 수가 있습니다",
        "name": "근거로 든 기록에 없는 이름이 있습니다",
        "quote": "따온 말이 근거로 든 기록에 없습니다",
        "unrelated": "근거로 든 기록과 겹치는 말이 거의 없습니다",
    },
    "en": {
        "no_citation": "cites no record",
        "no_such_record": "cites a record that is not there",
        "number": "has a number that the records cited do not have",
        "name": "has a name that the records cited do not have",
        "quote": "quotes what the records cited do not say",
        "unrelated": "shares hardly a word with the records cited",
    },
}
"""Message for each issue of a sentence, by language."""

FALLBACKS: Mapping[AnswerLanguage, Mapping[str, str]] = {
    "ko": {
        "unavailable": "언어 모델이 응답하지 않아 모델 없이 처리했습니다.",
        "refused": "언어 모델이 요청을 거절해 모델 없이 처리했습니다.",
        "invalid_output": "언어 모델이 쓴 것을 쓸 수 없어 모델 없이 처리했습니다.",
    },
    "en": {
        "unavailable": "The language model does not answer; this step was done without it.",
        "refused": "The language model refused; this step was done without it.",
        "invalid_output": "What the language model wrote could not be used; this step was done without it.",
    },
}
"""Message for a stage that was done without the model, by language and cause (``Fallback.cause``)."""

REASONS: Mapping[AnswerLanguage, Mapping[EmptyReason, str]] = {
    "ko": {
        "no_keywords": "질문에 검색할 낱말이 없습니다. 찾으려는 주제를 나타내는 낱말을 넣어 주세요.",
        "unknown_words": "질문의 낱말이 이 색인에 하나도 없습니다. 다른 낱말로 물어 보세요.",
        "nothing_found": "답의 근거로 쓸 수 있는 기록(제목과 초록이 모두 있는 기록)을 찾지 못했습니다.",
        "nothing_fits": "찾은 기록 가운데 이 질문에 답하는 문장이 없습니다. 아래 기록은 가장 가까운 것들입니다.",
        "not_searched": "이 방식은 기록을 찾지 않습니다. 언어 모델이 아는 대로 답합니다.",
    },
    "en": {
        "no_keywords": "The question has no word to search for. Add words that name the subject.",
        "unknown_words": "None of the question's words is in this index. Ask in other words.",
        "nothing_found": "No record was found that can support an answer (one with a title and an abstract).",
        "nothing_fits": "No sentence of the records found answers this question. The records below come closest.",
        "not_searched": "This strategy does not search: the language model answers from what it knows.",
    },
}


_CHOSEN: Mapping[AnswerLanguage, str] = {"ko": "답: {letter}. {choice}", "en": "Answer: {letter}. {choice}"}
_UNSUPPORTED: Mapping[AnswerLanguage, str] = {
    "ko": " (뒷받침하는 기록이 없습니다)",
    "en": " (no record supports this)",
}
_NOT_CHOSEN: Mapping[AnswerLanguage, str] = {
    "ko": "선택지 가운데 하나를 고르지 못했습니다.",
    "en": "No choice could be selected.",
}


def choice_line(answer: Answer, choices: Sequence[str]) -> str:
    """Return the line that names the chosen one of ``choices``, or says that none was chosen.

    It is marked where no record supports the choice.
    """
    if not answer.choice:
        return _NOT_CHOSEN[answer.language]
    unsupported = answer.kind == "closed_book" or answer.reason
    text = choices[ord(answer.choice) - ord("A")]
    line = _CHOSEN[answer.language].format(letter=answer.choice, choice=text)
    return line + (_UNSUPPORTED[answer.language] if unsupported else "")


def answer_label(answer: Answer) -> str:
    """Return the sentence that says how the answer was written, in the answer's language."""
    return _LABELS[answer.kind][answer.language].format(model=answer.model)


AnswerFormat = Literal["cited", "scienceon", "plain"]

# The form does not allow "-", which would look like the dash of a list.
_SCIENCEON_CHARACTERS = str.maketrans({"*": "", "-": "\N{NON-BREAKING HYPHEN}"})


def answer_text(answer: Answer, form: AnswerFormat = "cited") -> str:
    """Return the answer as text, or the message of ``answer.reason`` where nothing could be answered."""
    if answer.reason:
        return REASONS[answer.language][answer.reason]
    return "\n\n".join(_FORMATS[form](section, answer) for section in answer.sections)


def _cited(section: Section, answer: Answer) -> str:
    heading = HEADINGS[answer.language][section.part]
    return f"##{heading}##\n" + " ".join(_with_citations(sentence) for sentence in section.sentences)


def _scienceon(section: Section, answer: Answer) -> str:
    text = _plain(section, answer).translate(_SCIENCEON_CHARACTERS)
    if section.part == "title" and answer.language == "en":
        return f"##{text}##"
    return f"##{HEADINGS[answer.language][section.part]}##\n{text}"


def _plain(section: Section, _: Answer) -> str:
    return " ".join(sentence.text for sentence in section.sentences)


_FORMATS: Mapping[AnswerFormat, Callable[[Section, Answer], str]] = {
    "cited": _cited,
    "scienceon": _scienceon,
    "plain": _plain,
}


def _with_citations(sentence: Sentence) -> str:
    marks = "".join(f"[{number}]" for number in sentence.citations)
    return f"{sentence.text} {marks}" if marks else sentence.text
