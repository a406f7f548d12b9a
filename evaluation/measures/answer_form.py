"""Check the form of an answer: its sections, their order, and its language."""

from __future__ import annotations

import re
from typing import NamedTuple

from shrag.corpora.text.sentences import detect_language
from shrag.serving.answering.formats import HEADINGS
from shrag.serving.events import AnswerPart
from shrag.serving.request import AnswerLanguage

_HEADING = re.compile(r"^##[ \t]*(.+?)[ \t]*##[ \t]*$", re.MULTILINE)
_SIGN = re.compile(r"[*-]")


class AnswerForm(NamedTuple):
    """The form of a written answer.

    Attributes:
        missing: The required sections that the answer lacks or leaves empty.
        ordered: Whether the other sections are in the required order, each once.
        language: Whether the text is in the language of the question.
        signs: Number of ``*`` and ``-`` in the text, which the ScienceON challenge forbids.
    """

    missing: tuple[AnswerPart, ...]
    ordered: bool
    language: bool
    signs: int

    @property
    def correct(self) -> bool:
        """Whether no section is missing and both order and language are right. ``signs`` do not count."""
        return not self.missing and self.ordered and self.language


def answer_form(
    text: str, language: AnswerLanguage, parts: tuple[AnswerPart, ...] = ("title", "introduction", "body")
) -> AnswerForm:
    """Return the form of an answer to a question in ``language``.

    The answer has the format ``cited`` or ``scienceon``. Its first heading may be the title itself, as in the
    challenge's English answers. ``parts`` are the required sections. The SHRAG paper requires a title, an introduction
    and a main body. Its prompt also requires a conclusion.
    """
    sections = _sections(text, language)
    order = list(HEADINGS[language])
    positions = [order.index(part) for part, _ in sections]
    body_text = "\n".join(body for part, body in sections if part != "title") or text
    return AnswerForm(
        missing=tuple(part for part in parts if not any(name == part and body for name, body in sections)),
        ordered=positions == sorted(set(positions)),
        language=detect_language(body_text) == language,
        signs=len(_SIGN.findall(text)),
    )


def _sections(text: str, language: AnswerLanguage) -> list[tuple[AnswerPart, str]]:
    """Return the part and the text of each section, in order.

    An unknown first heading is the title. Any other unknown heading belongs to the text of the section around it.
    """
    named = {heading.casefold(): part for part, heading in HEADINGS[language].items()}
    sections: list[tuple[AnswerPart, str]] = []
    current: tuple[AnswerPart, int] | None = None
    for number, match in enumerate(_HEADING.finditer(text)):
        part = named.get(match.group(1).casefold())
        if part is None and number == 0:
            sections.append(("title", match.group(1)))
        elif part is not None:
            if current:
                sections.append((current[0], text[current[1] : match.start()].strip()))
            current = (part, match.end())
    if current:
        sections.append((current[0], text[current[1] :].strip()))
    return sections
