"""Read the ``<record>`` elements of an XML file, one at a time.

The parser is Python's expat. Document type declarations are refused, so no entity is expanded and nothing is fetched.
"""

from __future__ import annotations

import io
import re
from collections import deque
from collections.abc import Iterator
from pathlib import Path
from xml.parsers import expat
from xml.parsers.expat import errors

from shrag.corpora.errors import CorpusError
from shrag.corpora.readers.encodings import Utf8Reader
from shrag.corpora.readers.item import SourceItem
from shrag.corpora.readers.source import LONGEST_LINE, is_utf16, open_source, read_head
from shrag.messages.text import Text

_CHUNK = 2**16
_DEEPEST = 100
_DECLARATION = 200
# UTF-8 and UTF-16 are the only multibyte encodings that expat knows, so SHRAG converts CP949 itself.
_CP949 = re.compile(
    rb"""<\?xml[^>]{0,100}\bencoding\s*=\s*["'](?:euc-kr|cp949|ms949|uhc|ks_c_5601-1987)["']""", re.IGNORECASE
)


def read_xml(path: Path) -> Iterator[SourceItem]:
    """Yield the records of ``path`` as fields by name; only one is in memory at a time.

    A field is ``<item metaCode="Title">…</item>`` (or ``metaName``), or an element named after the field. The values of
    a repeated field are joined by ``;``.

    Raises:
        CorpusError: As :func:`shrag.corpora.readers.source.open_source`, or the file is not well-formed, has a document
            type declaration, or is an error message of the search interface.
    """
    reader = _RecordParser(path)
    fed = 0
    try:
        is_cp949 = _CP949.match(read_head(path, _DECLARATION)) is not None
        with open_source(path) as source:
            stream = io.BufferedReader(Utf8Reader(path, source, "cp949")) if is_cp949 else source
            # A file that is converted to UTF-8 is parsed as UTF-8, whatever encoding it declares.
            parser = expat.ParserCreate("utf-8" if is_cp949 or is_utf16(path) else None, namespace_separator=" ")
            reader.attach(parser)
            while chunk := stream.read(_CHUNK):
                parser.Parse(chunk, False)
                fed += len(chunk)
                yield from reader.take_finished()
                if fed - parser.CurrentByteIndex > LONGEST_LINE:
                    raise CorpusError(
                        Text(
                            "{path} line {number}: a piece of XML is longer than {longest_line} bytes.",
                            path=path,
                            number=parser.CurrentLineNumber,
                            longest_line=LONGEST_LINE,
                        )
                    )
            parser.Parse(b"", True)
            yield from reader.take_finished()
    except expat.ExpatError as error:
        what = expat.ErrorString(error.code)
        if what == errors.XML_ERROR_NO_MEMORY:
            raise MemoryError from None
        raise CorpusError(
            Text(
                "{path} line {number}, column {column}, is not well-formed XML ({problem}): export it again.",
                path=path,
                number=error.lineno,
                column=error.offset + 1,
                problem=what,
            )
        ) from None
    except (ValueError, LookupError) as error:  # the file declares an encoding that expat does not know
        raise CorpusError(
            Text("{path} is not UTF-8 ({error}): convert it and its declaration to UTF-8.", path=path, error=error)
        ) from None
    reader.check_error()


class _RecordParser:
    """Collects the fields of each record from the events of expat."""

    def __init__(self, path: Path) -> None:
        self._path = path
        self._done: deque[SourceItem] = deque()
        self._depth = 0
        self._record_depth = 0  # 0 outside records
        self._field = ""
        self._skipped_depth = 0  # inside a group of items within an item
        self._parts: list[str] = []
        self._fields: dict[str, str] = {}
        self._size = 0
        self._count = 0
        self._position = (0, 0)
        self._outer: dict[str, str] = {}

    def attach(self, parser: expat.XMLParserType) -> None:
        """Register as the handler of ``parser``'s events."""
        self._parser = parser
        parser.buffer_text = True
        parser.StartElementHandler = self._start
        parser.EndElementHandler = self._end
        parser.CharacterDataHandler = self._characters
        parser.StartDoctypeDeclHandler = self._doctype

    def take_finished(self) -> Iterator[SourceItem]:
        """Yield the records that ended since the last call."""
        while self._done:
            yield self._done.popleft()

    def check_error(self) -> None:
        """Raise :class:`CorpusError` if the file is an error message without records."""
        code = self._outer.get("errorcode", "")
        if code and not self._count:
            raise CorpusError(
                Text(
                    "{path} is not a list of records but an error response of the search API ({code} {message!r}): "
                    "send the request again.",
                    path=self._path,
                    code=code,
                    message=self._outer.get("errormessage", ""),
                )
            )

    def _doctype(self, *_: object) -> None:
        raise CorpusError(
            Text("{path} has a document type declaration, which is refused: delete <!DOCTYPE …>.", path=self._path)
        )

    def _start(self, name: str, attributes: dict[str, str]) -> None:
        self._depth += 1
        if self._depth > _DEEPEST:
            raise CorpusError(
                Text(
                    "{path} nests XML deeper than {deepest} elements: these are not records.",
                    path=self._path,
                    deepest=_DEEPEST,
                )
            )
        name = name.rpartition(" ")[2]
        if not self._record_depth:
            self._parts = []
            if name.casefold() == "record":
                self._record_depth = self._depth
                self._position = (self._parser.CurrentLineNumber, self._parser.CurrentByteIndex)
                self._fields, self._field, self._size = {}, "", 0
        elif self._depth == self._record_depth + 1:
            self._field = attributes.get("metaCode") or attributes.get("metaName") or name
            self._parts = []
        elif name == "item" and not self._skipped_depth:
            self._skipped_depth = self._depth

    def _end(self, name: str) -> None:
        if not self._record_depth:
            self._outer.setdefault(name.rpartition(" ")[2].casefold(), "".join(self._parts).strip()[:500])
        elif self._depth == self._skipped_depth:
            self._skipped_depth = 0
        elif self._depth == self._record_depth:
            self._finish()
        elif self._depth == self._record_depth + 1:
            self._add_value("".join(self._parts))
        self._depth -= 1

    def _add_value(self, value: str) -> None:
        if value.strip():
            earlier = self._fields.get(self._field)
            self._fields[self._field] = f"{earlier};{value}" if earlier else value
        self._parts = []

    def _finish(self) -> None:
        self._count += 1
        number, offset = self._position
        too_long = self._size > LONGEST_LINE
        reason = Text("record {count}: longer than {longest_line} bytes", count=self._count, longest_line=LONGEST_LINE)
        self._done.append(SourceItem(number, offset, reason if too_long else dict(self._fields)))
        self._record_depth, self._fields, self._parts = 0, {}, []

    def _characters(self, text: str) -> None:
        self._size += len(text.encode("utf-8", "surrogatepass")) if self._record_depth else 0
        if self._skipped_depth or self._size > LONGEST_LINE or (not self._record_depth and len(self._parts) > 100):
            return
        self._parts.append(text)
