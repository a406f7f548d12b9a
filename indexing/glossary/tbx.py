"""Read term lists in TBX (TermBase eXchange, ISO 30042), with the elements of its 2008 and 2019 editions.

The parser is Python's expat. A document type declaration may name a DTD, which is not read. A declaration with a part
in the file itself (``[ … ]``) is refused. So no entity is expanded and nothing is fetched.
"""

from __future__ import annotations

import re
from typing import NamedTuple
from xml.parsers import expat

from shrag.indexing.errors import GlossaryRejected
from shrag.messages.text import Text

_CONCEPTS = frozenset({"termEntry", "conceptEntry"})
_LANGUAGES = frozenset({"langSet", "langSec"})
_DEEPEST = 100
_LONGEST_TERM = 500
_XML_LANG = "http://www.w3.org/XML/1998/namespace lang"


class ConceptTerms(NamedTuple):
    """The Korean and the English terms of one concept, and the line where its element begins."""

    korean: tuple[str, ...]
    english: tuple[str, ...]
    line: int


def is_tbx(content: bytes) -> bool:
    """Return whether a file's content begins as XML does."""
    return content.removeprefix(b"\xef\xbb\xbf").lstrip().startswith(b"<")


def parse_tbx(content: bytes, name: str) -> list[ConceptTerms]:
    """Return the concepts that have a Korean and an English term.

    Args:
        content: The file.
        name: Its name, for error messages.

    Raises:
        GlossaryRejected: The file is not well-formed, declares entities, or has no such concept; the message names the
            line.
    """
    reader = _TbxParser(name)
    parser = expat.ParserCreate(namespace_separator=" ")
    reader.attach(parser)
    try:
        parser.Parse(content, True)
    except expat.ExpatError as error:
        raise GlossaryRejected(
            Text(
                "{name}, line {number}: not well-formed XML ({problem}): export it again.",
                name=name,
                number=error.lineno,
                problem=expat.ErrorString(error.code),
            )
        ) from None
    except (ValueError, LookupError) as error:  # an encoding that expat does not know
        raise GlossaryRejected(
            Text("{name} is not UTF-8 ({error}): save it as UTF-8.", name=name, error=error)
        ) from None
    if not reader.concepts:
        raise GlossaryRejected(
            Text(
                "{name} has no concept with a Korean and an English term: TBX has them as <langSec "
                'xml:lang="ko"> (or langSet) and <langSec xml:lang="en"> of one <conceptEntry> (or termEntry).',
                name=name,
            )
        )
    return reader.concepts


class _TbxParser:
    """Collects the terms of each concept from the events of expat."""

    def __init__(self, name: str) -> None:
        self._name = name
        self.concepts: list[ConceptTerms] = []
        self._terms: dict[str, list[str]] = {}
        self._line = 0
        self._language = ""
        self._parts: list[str] | None = None  # the text of the term that is open
        self._depth = 0

    def attach(self, parser: expat.XMLParserType) -> None:
        """Register as the handler of ``parser``'s events."""
        self._parser = parser
        parser.buffer_text = True
        parser.StartElementHandler = self._start
        parser.EndElementHandler = self._end
        parser.CharacterDataHandler = self._characters
        parser.StartDoctypeDeclHandler = self._doctype
        parser.SkippedEntityHandler = self._entity

    def _reject(self, why: str) -> GlossaryRejected:
        return GlossaryRejected(
            Text(
                "{name}, line {number}: {why}",
                name=self._name,
                number=self._parser.CurrentLineNumber,
                why=why,
            )
        )

    def _doctype(self, name: str, system_id: str | None, public_id: str | None, has_internal_subset: int) -> None:
        if has_internal_subset:
            raise self._reject(Text("a document type declaration with [ … ] is refused: delete that part."))

    def _entity(self, name: str, is_parameter_entity: bool) -> None:
        raise self._reject(Text("the entity &{name}; is not known: write the character itself.", name=name))

    def _start(self, name: str, attributes: dict[str, str]) -> None:
        self._depth += 1
        if self._depth > _DEEPEST:
            raise self._reject(
                Text("XML nested deeper than {deepest} elements: this is not a list of terms.", deepest=_DEEPEST)
            )
        name = name.rpartition(" ")[2]
        if name in _CONCEPTS:
            self._terms, self._line = {"ko": [], "en": []}, self._parser.CurrentLineNumber
        elif name in _LANGUAGES:
            self._language = re.split("[-_]", (attributes.get(_XML_LANG) or attributes.get("lang", "")).lower())[0]
        elif name == "term":
            self._parts = []

    def _end(self, name: str) -> None:
        self._depth -= 1
        name = name.rpartition(" ")[2]
        if name == "term" and self._parts is not None:
            term = " ".join("".join(self._parts).split())
            if len(term) > _LONGEST_TERM:
                raise self._reject(
                    Text(
                        "a term of {term_count} characters; the longest may have {longest_term}.",
                        term_count=len(term),
                        longest_term=_LONGEST_TERM,
                    )
                )
            if term and self._language in self._terms:
                self._terms[self._language].append(term)
            self._parts = None
        elif name in _LANGUAGES:
            self._language = ""
        elif name in _CONCEPTS:
            korean, english = tuple(self._terms["ko"]), tuple(self._terms["en"])
            if korean and english:
                self.concepts.append(ConceptTerms(korean, english, self._line))
            self._terms = {}

    def _characters(self, text: str) -> None:
        if self._parts is not None:
            self._parts.append(text)
