"""Text: a message in English that keeps its template and values, so that it can be shown in Korean."""

from __future__ import annotations

import gettext
from collections.abc import Iterable, Mapping
from functools import cache
from importlib.resources import files
from pathlib import Path
from string import Formatter
from typing import Any, Literal

Language = Literal["en", "ko"]

DOMAIN = "shrag"
LOCALE = Path(__file__).parent / "locale"
"""gettext's folder: ``ko/LC_MESSAGES/shrag.po``, and the ``.mo`` that is compiled from it."""

_FORMATTER = Formatter()


class Text(str):
    """A message made of a template and its values. As a ``str`` it is English.

    Logs, stored reasons and JSON have the English text; :meth:`in_language` gives another language. Values are rendered
    at once, so a text can be pickled with any values. A value that is a text itself, or an exception whose message is a
    text, is translated too.

    >>> Text("{name} has {count:,} records.", name="demo", count=1200)
    'demo has 1,200 records.'
    """

    __slots__ = ("_fields", "_template")
    _template: str
    _fields: Mapping[str, str]

    def __new__(cls, template: str, /, **values: object) -> Text:
        """Fill in ``template``, which has the form of :meth:`str.format` with named fields."""
        fields = {
            _field(name, spec, conversion): _rendered(values[name], spec, conversion)
            for _, name, spec, conversion in _FORMATTER.parse(template)
            if name is not None
        }
        return cls._filled(template, fields)

    @classmethod
    def _filled(cls, template: str, fields: Mapping[str, str]) -> Text:
        text = super().__new__(cls, _fill(template, fields))
        text._template, text._fields = template, fields
        return text

    def in_language(self, language: Language) -> str:
        """Return the message in ``language``, or in English if there is no translation."""
        if language == "en":
            return str(self)
        fields = {field: in_language(value, language) for field, value in self._fields.items()}
        return _fill(translate(self._template, language), fields)

    def __reduce__(self) -> tuple[object, ...]:
        """Pickle the template and the rendered values."""
        return Text._filled, (self._template, self._fields)


Packed = str | dict[str, Any]
"""A text as JSON: a plain string as it is, a :class:`Text` as its template and its values."""


def packed(text: str) -> Packed:
    """Return ``text`` as JSON, for another process; :func:`unpacked` reads it.

    >>> unpacked(packed(Text("{path} is empty.", path="a.csv")))
    'a.csv is empty.'
    """
    if not isinstance(text, Text):
        return text
    return {"template": text._template, "fields": {name: packed(value) for name, value in text._fields.items()}}


def unpacked(data: Packed) -> str:
    """Return the text that :func:`packed` was given."""
    if isinstance(data, str):
        return data
    return Text._filled(data["template"], {name: unpacked(value) for name, value in data["fields"].items()})


def joined(parts: Iterable[str], separator: str) -> Text:
    """Join ``parts`` into one text, in which each part is translated by itself.

    >>> joined(["a", "b"], " or ")
    'a or b'
    """
    values = {f"part{number}": part for number, part in enumerate(parts)}
    fields = [f"{{{name}}}" for name in values]
    return Text("{separator}".join(fields), separator=separator, **values)


def in_language(text: object, language: Language) -> str:
    """Return ``text``, or an exception's message, in ``language`` if it is a :class:`Text`, else as it is."""
    text = _message(text)
    return text.in_language(language) if isinstance(text, Text) else str(text)


def message_of(error: Exception) -> str:
    """Return the message of ``error``, which is a :class:`Text` if the error was raised with one."""
    message = _message(error)
    return message if isinstance(message, Text) else str(error)


def translate(template: str, language: Language) -> str:
    """Return the translation of a template or of a fixed text; in English if there is none."""
    return _catalogue(language).gettext(template) if template else ""


@cache
def _catalogue(language: Language) -> gettext.NullTranslations:
    if language == "en":
        return gettext.NullTranslations()
    # gettext.translation cannot read a file inside a zip, which one of the installers is.
    with files("shrag.messages").joinpath("locale", language, "LC_MESSAGES", f"{DOMAIN}.mo").open("rb") as stream:
        return gettext.GNUTranslations(stream)


def _message(value: object) -> object:
    """Return the only argument of an exception, and any other value as it is."""
    return value.args[0] if isinstance(value, Exception) and len(value.args) == 1 else value


def _rendered(value: object, spec: str | None, conversion: str | None) -> str:
    if not spec and not conversion:
        message = _message(value)
        return message if isinstance(message, Text) else str(value)
    converted = _FORMATTER.convert_field(value, conversion) if conversion else value
    return format(converted, spec or "")


def _field(name: str, spec: str | None, conversion: str | None) -> str:
    return name + (f"!{conversion}" if conversion else "") + (f":{spec}" if spec else "")


def _fill(template: str, fields: Mapping[str, str]) -> str:
    return "".join(
        literal + ("" if name is None else fields[_field(name, spec, conversion)])
        for literal, name, spec, conversion in _FORMATTER.parse(template)
    )
