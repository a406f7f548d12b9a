"""Answers as text, and the Korean and English labels, warnings and reasons that are shown with them.

cited       Headings are written as ``##Introduction##``. Each sentence has the numbers of its records. In an extractive
            answer, the titles of the records are the headings; the number of a record follows its title and its
            paragraph, and ``[…]`` marks what a quotation leaves out.
scienceon   This is the form of the ScienceON AI Challenge (SHRAG paper, appendix A.2), with its headings. An English
            answer has its title itself as ``##title##``. There are no numbers and no ``*``, and hyphens become
            non-breaking. An extractive answer is the leading record alone, divided into introduction, body, conclusion.
plain       The titles of records and the sentences of each section are paragraphs, and there is nothing else.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from typing import Literal

from shrag.indexing.record_filter import VALUE_FIELDS, FacetCounts, RecordFilter, ValueField
from shrag.serving.events import (
    Answer,
    AnswerPart,
    Authors,
    AuthorsRole,
    Confidence,
    ConfidenceLevel,
    EmptyReason,
    FollowUp,
    ListingKind,
    Section,
    Sentence,
    SentenceIssue,
)
from shrag.serving.request import LETTERS, AnswerLanguage, shows_language

_FOLLOW_UPS: Mapping[AnswerLanguage, str] = {
    "ko": "앞의 질문에 이어 다음과 같이 이해했습니다: {question}",
    "en": "Together with the earlier questions, this was understood as: {question}",
}

_AUTHORS: Mapping[AnswerLanguage, tuple[str, str]] = {
    "ko": ("이 이름의 저자:", "이 이름의 저자 {count:,}명:"),
    "en": ("Author of this name:", "{count:,} authors of this name:"),
}

AUTHORS_ROLES: Mapping[AnswerLanguage, Mapping[AuthorsRole, str]] = {
    "ko": {
        "listed": "",
        "first": "이 저자의 문헌 가운데 질문에 맞는 것을 먼저 보여 드립니다.",
        "unmatched": "이 저자의 문헌 가운데 질문의 나머지 내용에 맞는 것이 없어 전체 문헌에서 검색했습니다.",
        "possible": "",
    },
    "en": {
        "listed": "",
        "first": "Their records that match the question come first.",
        "unmatched": "None of their records matches the rest of the question, so all records were searched.",
        "possible": "",
    },
}
"""How the search used the authors that a question names, by language; empty if the records themselves show it."""

HEADINGS: Mapping[AnswerLanguage, Mapping[AnswerPart, str]] = {
    "ko": {
        "title": "제목",
        "introduction": "서론",
        "body": "본론",
        "conclusion": "결론",
        "record": "질문에 답하는 문헌",
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
        "ko": "발췌 답변: 언어 모델을 쓰지 않고 검색한 문헌의 문장을 그대로 옮겼습니다.",
        "en": "Extractive answer: the sentences are copied from the records found. No language model wrote them.",
    },
    "generated": {
        "ko": "생성 답변: 언어 모델({model})이 검색한 문헌을 근거로 작성했습니다.",
        "en": "Generated answer: written by the language model {model} from the records found.",
    },
    "closed_book": {
        "ko": "검색 없이 쓴 답변: 언어 모델({model})이 문헌을 검색하지 않고 작성했습니다. "
        "근거를 확인하지 않은 내용입니다.",
        "en": "Closed-book answer: written by the language model {model} without a search. Nothing in it was checked.",
    },
}

ISSUES: Mapping[AnswerLanguage, Mapping[SentenceIssue, str]] = {
    "ko": {
        "no_citation": "근거 문헌을 밝히지 않았습니다",
        "no_such_record": "검색 결과에 없는 문헌을 인용했습니다",
        "number": "근거 문헌에 없는 수치가 있습니다",
        "name": "근거 문헌에 없는 이름이 있습니다",
        "quote": "인용문이 근거 문헌에 없습니다",
        "unrelated": "근거 문헌과 일치하는 단어가 거의 없습니다",
    },
    "en": {
        "no_citation": "cites no record",
        "no_such_record": "cites a record that is not among the results",
        "number": "has a number that the records cited do not have",
        "name": "has a name that the records cited do not have",
        "quote": "quotes what the records cited do not say",
        "unrelated": "shares almost no words with the records cited",
    },
}
"""Message for each issue of a sentence, by language."""

FALLBACKS: Mapping[AnswerLanguage, Mapping[str, str]] = {
    "ko": {
        "unavailable": "언어 모델이 응답하지 않아 모델 없이 처리했습니다.",
        "refused": "언어 모델이 요청을 거부해 모델 없이 처리했습니다.",
        "invalid_output": "언어 모델의 출력을 해석할 수 없어 모델 없이 처리했습니다.",
    },
    "en": {
        "unavailable": "The language model does not answer, so this step was done without it.",
        "refused": "The language model refused the request, so this step was done without it.",
        "invalid_output": "The output of the language model could not be used, so this step was done without it.",
    },
}
"""Message for a stage that was done without the model, by language and cause (``Fallback.cause``)."""

REASONS: Mapping[AnswerLanguage, Mapping[EmptyReason, str]] = {
    "ko": {
        "no_keywords": "질문에 검색할 단어가 없습니다. 저장된 문헌의 제목과 초록에서 답변을 찾으므로, "
        "찾으려는 주제를 나타내는 단어를 넣어 주세요.",
        "unknown_words": "질문의 단어가 이 색인의 제목과 초록에 하나도 없습니다. 다른 단어로 질문해 주세요.",
        "nothing_found": "답변의 근거로 쓸 수 있는 문헌(제목과 초록이 모두 있는 문헌)을 찾지 못했습니다.",
        "filtered_out": "조건에 맞는 문헌 가운데 질문의 단어가 있는 것이 없습니다. 조건을 줄이거나 바꿔 보세요.",
        "nothing_fits": "이 질문에 답하는 문헌을 찾지 못했습니다.",
        "names_author": "저자 이름으로 찾은 문헌입니다(발행 연도를 알면 최신순). 답변이 필요하면 주제를 질문해 주세요.",
        "not_searched": "이 방식은 문헌을 검색하지 않습니다. 언어 모델이 검색 없이 답변합니다.",
        "past_end": "검색 결과가 더 없습니다. 순위에 오른 문헌은 모두 앞 페이지에 있습니다.",
    },
    "en": {
        "no_keywords": "The question has no word to search for. Answers are found in the titles and abstracts of the "
        "records here: add words that name the subject.",
        "unknown_words": "None of the question's words is in a title or abstract of this index. Ask in other words.",
        "nothing_found": "No record was found that can support an answer (one with a title and an abstract).",
        "filtered_out": "No record that matches the filter has words of the question. Widen the filter or remove it.",
        "nothing_fits": "No record was found that answers this question.",
        "names_author": "These records are by authors of this name, newest first where the year is known. "
        "For an answer, ask about a subject.",
        "not_searched": "This strategy does not search for records. The language model answers without them.",
        "past_end": "There are no more results. All ranked records are on the earlier pages.",
    },
}

CONFIDENCE_LEVELS: Mapping[AnswerLanguage, Mapping[ConfidenceLevel, str]] = {
    "ko": {"high": "높음", "medium": "보통", "low": "낮음"},
    "en": {"high": "high", "medium": "medium", "low": "low"},
}
"""The levels of a confidence in words."""

_CONFIDENCE: Mapping[AnswerLanguage, str] = {"ko": "답변 확신도", "en": "Confidence"}
_QUOTED_LANGUAGE: Mapping[AnswerLanguage, str] = {
    "ko": "질문에 가장 가까운 문헌의 초록이 영어로 되어 있어 원문 그대로 인용합니다.",
    "en": "The abstract of the closest record is in Korean; it is quoted in its own language.",
}
_UNCERTAIN: Mapping[AnswerLanguage, str] = {
    "ko": "이 질문에 답하는 문헌이 있는지 확실하지 않아 가장 가까운 문헌을 인용합니다.",
    "en": "It is not certain that a record answers this question; the closest one is quoted.",
}
_LISTINGS: Mapping[AnswerLanguage, Mapping[ListingKind, str]] = {
    "ko": {
        "subject": "질문의 주제가 넓어, 이 주제를 다룬 문헌을 개괄적인 것부터 보여 드립니다. "
        "알고 싶은 점을 구체적으로 질문하면 그에 답하는 문헌을 찾아 드립니다.",
        "undefined": "주제를 정의한 문장을 찾지 못해, 이 주제를 다룬 문헌을 개괄적인 것부터 보여 드립니다.",
        "mentions": "제목에 이 주제가 드러난 문헌이 적어, 초록에서 언급한 문헌을 보여 드립니다. "
        "알고 싶은 점을 구체적으로 질문하면 그에 답하는 문헌을 찾아 드립니다.",
        "comparison": "둘을 비교한 문헌을 보여 드립니다. 비교가 주된 내용이 아닐 수 있습니다.",
        "separate": "둘을 비교한 문헌을 찾지 못해, 각각을 다룬 문헌을 보여 드립니다.",
    },
    "en": {
        "subject": "The subject of the question is broad: records about it are listed, general ones first. "
        "Ask about a specific aspect for a direct answer.",
        "undefined": "No definition was found. Records about the subject are listed, general ones first.",
        "mentions": "Few titles name the subject of the question: records that mention it are listed. "
        "Ask about a specific aspect for a direct answer.",
        "comparison": "What was found compares the two, perhaps only in passing.",
        "separate": "No record was found that compares the two. Records about each of them are listed.",
    },
}
_LANGUAGE_NOTES: Mapping[AnswerLanguage, Mapping[str, str]] = {
    "ko": {"en": " (영어 초록)", "ko": " (한국어 초록)"},
    "en": {"en": " (abstract in English)", "ko": " (abstract in Korean)"},
}
_UNCOVERED: Mapping[AnswerLanguage, str] = {
    "ko": "가장 가까운 문헌에서 찾지 못한 질문의 단어: {words}",
    "en": "Words of the question not found in the closest records: {words}",
}
_LACKING: Mapping[AnswerLanguage, str] = {
    "ko": "인용한 문헌에서 찾지 못한 질문의 단어: {words}",
    "en": "Words of the question not found in the quoted record: {words}",
}
_SUGGESTION: Mapping[AnswerLanguage, str] = {
    "ko": "혹시 다음을 찾으셨나요? {question}",
    "en": "Did you mean: {question}",
}
_NEAREST: Mapping[AnswerLanguage, str] = {"ko": "가장 가까운 문헌:", "en": "Nearest titles:"}


_CHOSEN: Mapping[AnswerLanguage, str] = {"ko": "선택한 답변: {letter}. {choice}", "en": "Answer: {letter}. {choice}"}
_UNSUPPORTED: Mapping[AnswerLanguage, str] = {
    "ko": " (근거 문헌이 없습니다)",
    "en": " (no record supports this)",
}
_NOT_CHOSEN: Mapping[AnswerLanguage, str] = {
    "ko": "선택지를 고르지 못했습니다.",
    "en": "No choice could be selected.",
}


def for_reader(answer: Answer, question: str, reader: AnswerLanguage) -> Answer:
    """Return the answer with its labels in the reader's language, unless the question's words show its own language.

    An answer of a language model keeps its language.

    Args:
        answer: The answer.
        question: The question it answers.
        reader: The language of the page, or of the command's locale.
    """
    if answer.kind != "extractive" or shows_language(question):
        return answer
    return replace(answer, language=reader)


def choice_line(answer: Answer, choices: Sequence[str]) -> str:
    """Return the line that names the chosen one of ``choices``, or says that none was chosen.

    The line says so if no record supports the choice.
    """
    if not answer.choice:
        return _NOT_CHOSEN[answer.language]
    unsupported = answer.kind == "closed_book" or answer.reason
    text = choices[LETTERS.index(answer.choice)]
    line = _CHOSEN[answer.language].format(letter=answer.choice, choice=text)
    return line + (_UNSUPPORTED[answer.language] if unsupported else "")


def answer_label(answer: Answer) -> str:
    """Return the sentence that says how the answer was written, in the answer's language."""
    return _LABELS[answer.kind][answer.language].format(model=answer.model)


def confidence_line(confidence: Confidence, language: AnswerLanguage) -> str:
    """Return the line that gives a confidence in words and as a number."""
    value = math.floor(100 * confidence.value + 1e-9) / 100  # 0.199 is low, and 0.20 the least medium confidence
    return f"{_CONFIDENCE[language]}: {CONFIDENCE_LEVELS[language][confidence.level]} ({value:.2f})"


def quotation_lines(answer: Answer) -> list[str]:
    """Return the lines that say if the quoted record may not answer, is one of many, or is in the other language."""
    uncertain = _UNCERTAIN[answer.language] if answer.uncertain else ""
    quoted = _QUOTED_LANGUAGE[answer.language] if answer.quoted_language else ""
    return list(filter(None, [listing_line(answer, answer.language) or uncertain, quoted]))


def listing_line(answer: Answer, language: AnswerLanguage) -> str:
    """Return the line that says what the answer lists.

    It is empty where the answer does not list records, and where a comparison is not uncertain.
    """
    if answer.listing == "comparison" and not answer.uncertain:
        return ""
    return _LISTINGS[language].get(answer.listing, "")


def uncovered_line(answer: Answer) -> str:
    """Return the line with the question's words that the closest records, or the quoted one, do not have.

    It is empty where there are none.
    """
    lines = _LACKING if answer.kind == "extractive" and not answer.reason else _UNCOVERED
    return lines[answer.language].format(words=", ".join(answer.uncovered)) if answer.uncovered else ""


def suggestion_line(answer: Answer) -> str:
    """Return the line with the question as it may have been meant; empty if nothing is misspelled."""
    return _SUGGESTION[answer.language].format(question=answer.suggestion) if answer.suggestion else ""


AnswerFormat = Literal["cited", "scienceon", "plain"]

# The form does not allow "-", which would look like the dash of a list.
_SCIENCEON_CHARACTERS = str.maketrans({"*": "", "-": "\N{NON-BREAKING HYPHEN}"})


_FIELDS: Mapping[AnswerLanguage, Mapping[ValueField, str]] = {
    "ko": {"language": "언어", "journal": "학술지", "type": "자료 유형", "author": "저자"},
    "en": {name: name for name in VALUE_FIELDS},
}
_VALUES_THERE: Mapping[AnswerLanguage, str] = {
    "ko": "필터({field}: {values})에 맞는 검색 결과가 없습니다. 검색 결과에 있는 값: {known}.",
    "en": "No hit passes the filter {field}: {values}. Values of the hits: {known}.",
}
_NO_VALUE: Mapping[AnswerLanguage, str] = {"ko": "없음", "en": "none"}


def unknown_value_line(record_filter: RecordFilter, facets: FacetCounts | None, language: AnswerLanguage) -> str:
    """Return a line with the hits' values in a field of the filter that none of the hits passes.

    It is empty if a hit passes the filter, if other fields leave no hit, or if nothing was counted.
    """
    if facets is None or facets.total:
        return ""
    limited = list(record_filter.to_mapping())
    for name in VALUE_FIELDS:
        known = ", ".join(each.value for each in facets.values(name))
        if record_filter.values(name) and (known or limited == [name]):
            return _VALUES_THERE[language].format(
                field=_FIELDS[language][name],
                values=", ".join(record_filter.values(name)),
                known=known or _NO_VALUE[language],
            )
    return ""


def follow_up_line(follow_up: FollowUp, language: AnswerLanguage) -> str:
    """Return the sentence that says how a follow-up question was read."""
    return _FOLLOW_UPS[language].format(question=follow_up.question)


def authors_heading(authors: Authors, language: AnswerLanguage) -> str:
    """Return the label in front of the names of a question's authors."""
    one, several = _AUTHORS[language]
    return one if authors.count == 1 else several.format(count=authors.count)


def authors_lines(authors: Authors, language: AnswerLanguage) -> list[str]:
    """Return the sentences that name the authors of a question, and say how the search used them.

    Args:
        authors: The authors.
        language: The language of the sentences.
    """
    names, role = "; ".join(authors.names), AUTHORS_ROLES[language][authors.role]
    end = "; …" if authors.count > len(authors.names) else "" if names.endswith(".") else "."
    return [f"{authors_heading(authors, language)} {names}{end}", *([role] if role else [])]


def answer_text(answer: Answer, form: AnswerFormat = "cited") -> str:
    """Return the answer as text, or the message of ``answer.reason`` where nothing could be answered."""
    return _refusal_text(answer) if answer.reason else _FORMATS[form](answer)


def _refusal_text(answer: Answer) -> str:
    """Return why there is no answer, the question's words that are not covered, and the nearest titles."""
    nearest = [f"- {each.title or each.docid} ({each.docid})" for each in answer.nearest]
    lines = [REASONS[answer.language][answer.reason], uncovered_line(answer), suggestion_line(answer)]
    if nearest and answer.reason != "names_author":
        lines.append(_NEAREST[answer.language])
    return "\n".join(filter(None, [*lines, *nearest]))


def _cited(answer: Answer) -> str:
    paragraphs: list[str] = []
    part = ""
    for section in answer.sections:
        heading = f"##{HEADINGS[answer.language][section.part]}##\n" if section.part != part else ""
        part = section.part
        if section.source is None:
            paragraphs.append(heading + " ".join(_with_citations(sentence) for sentence in section.sentences))
            continue
        mark = f" [{section.source.number}]"
        title = (section.source.title or section.source.docid) + mark
        if paragraphs and section.language != answer.language:  # quotation_lines() says it of the first one
            title += _LANGUAGE_NOTES[answer.language].get(section.language, "")
        title = f"##{title}##" if section.part == "record" else heading + title
        text = f"{_sentences(section)}{mark}" if section.sentences else ""
        paragraphs.append("\n".join(filter(None, (title, text))))
    notes, uncovered = quotation_lines(answer), uncovered_line(answer)
    if answer.uncertain:  # the missing words come first, since they are the reason
        paragraphs = [*notes[:1], uncovered, suggestion_line(answer), *notes[1:], *paragraphs]
    else:
        answering = sum(section.part != "related" for section in answer.sections)
        paragraphs = [*notes, *paragraphs[:answering], uncovered, *paragraphs[answering:]]
    return "\n\n".join(filter(None, paragraphs))


def _scienceon(answer: Answer) -> str:
    return "\n\n".join(_scienceon_section(section, answer.language) for section in _in_parts(answer.sections))


def _scienceon_section(section: Section, language: AnswerLanguage) -> str:
    text = " ".join(sentence.text for sentence in section.sentences).translate(_SCIENCEON_CHARACTERS)
    if section.part == "title" and language == "en":
        return f"##{text}##"
    return f"##{HEADINGS[language][section.part]}##\n{text}"


def _in_parts(sections: Sequence[Section]) -> list[Section]:
    """Return the sections in the paper's form: the answer's own ones, or the leading record divided into parts."""
    lead = next((section for section in sections if section.part == "record"), None)
    if lead is None or lead.source is None:
        return list(sections)
    title = Sentence(lead.source.title or lead.source.docid, (lead.source.number,))
    first, middle, last = lead.sentences[:1], lead.sentences[1:-1], lead.sentences[1:][-1:]
    if not middle:  # one sentence is the body; two are introduction and body
        first, middle, last = (first, last, ()) if last else ((), first, ())
    parts: list[tuple[AnswerPart, tuple[Sentence, ...]]] = [
        ("title", (title,)),
        ("introduction", first),
        ("body", middle),
        ("conclusion", last),
    ]
    return [Section(part, sentences) for part, sentences in parts if sentences]


def _plain(answer: Answer) -> str:
    paragraphs = ((section.source.title if section.source else "", _sentences(section)) for section in answer.sections)
    return "\n\n".join("\n".join(filter(None, paragraph)) for paragraph in paragraphs)


_FORMATS: Mapping[AnswerFormat, Callable[[Answer], str]] = {"cited": _cited, "scienceon": _scienceon, "plain": _plain}


def _sentences(section: Section) -> str:
    """Return the sentences of a section, with a mark where a quotation leaves something out."""
    return " ".join(f"[…] {each.text}" if each.after_gap else each.text for each in section.sentences)


def page_text(page: str, language: AnswerLanguage) -> str:
    """Return a citation's page or pages as ``p. 3``, ``pp. 3-4`` or ``3쪽``, nothing where there is none."""
    if not page:
        return ""
    return f"{page}쪽" if language == "ko" else f"{'pp.' if '-' in page else 'p.'} {page}"


def title_and_page(title: str, page: str, language: AnswerLanguage) -> str:
    """Return what a citation names: the title of the record, and the page where it has one."""
    return ", ".join(filter(None, (title, page_text(page, language))))


def _with_citations(sentence: Sentence) -> str:
    marks = "".join(f"[{number}]" for number in sentence.citations)
    return f"{sentence.text} {marks}" if marks else sentence.text
