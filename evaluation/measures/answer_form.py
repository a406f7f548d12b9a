"""Form of an answer: its sections in order, and the language of the question."""

from __future__ import annotations

import re
from typing import NamedTuple

from shrag.corpora.text.sentences import detect_language
from shrag.serving.answering.formats import HEADINGS
from shrag.serving.events import Part
from shrag.serving.request import AnswerLanguage

_HEADING = re.compile(r"^##[ \t]*(.+?)[ \t]*##[ \t]*$", re.MULTILINE)
_SIGN = re.compile(r"[*-]")


class AnswerForm(NamedTuple):
    """What is right and wrong about a written answer.

    ``missing`` are the sections it lacks or leaves empty, ``ordered`` says that those there stand in their order,
    ``language`` that its text is in the language asked for, ``signs`` how many of the signs ``*`` and ``-`` it has,
    which the challenge's form forbids.
    """

    missing: tuple[Part, ...]
    ordered: bool
    language: bool
    signs: int

    @property
    def correct(self) -> bool:
        """Nothing is missing, the order is right, and so is the language; signs are the challenge's matter alone."""
        return not self.missing and self.ordered and self.language


def answer_form(
    text: str, language: AnswerLanguage, parts: tuple[Part, ...] = ("title", "introduction", "body")
) -> AnswerForm:
    """Return the form of an answer in the formats ``cited`` and ``scienceon`` (docs/answers.md).

    ``parts`` are the sections asked for; the SHRAG paper asks for a title, an introduction and a main body, its
    prompt for a conclusion as well. An English title may stand inside the marks itself, as the challenge has it.
    """
    sections = _sections(text, language)
    order = list(HEADINGS[language])
    places = [order.index(part) for part, _ in sections]
    written = "\n".join(body for part, body in sections if part != "title") or text
    return AnswerForm(
        missing=tuple(part for part in parts if not any(found == part and body for found, body in sections)),
        ordered=places == sorted(set(places)),
        language=detect_language(written) == language,
        signs=len(_SIGN.findall(text)),
    )


def _sections(text: str, language: AnswerLanguage) -> list[tuple[Part, str]]:
    """Return the sections in the order of the text; headings that name none are part of the section they stand in."""
    named = {heading.casefold(): part for part, heading in HEADINGS[language].items()}
    found: list[tuple[Part, str]] = []
    at: tuple[Part, int] | None = None
    for place, match in enumerate(_HEADING.finditer(text)):
        part = named.get(match.group(1).casefold())
        if part is None and place == 0:
            found.append(("title", match.group(1)))
        elif part is not None:
            if at:
                found.append((at[0], text[at[1] : match.start()].strip()))
            at = (part, match.end())
    if at:
        found.append((at[0], text[at[1] :].strip()))
    return found
