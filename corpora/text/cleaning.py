"""Clean raw text of fields: remove markup, resolve entities, and normalize whitespace and Unicode (NFC).

ScienceON's search results have entities that are escaped once or twice, tags of several publishers' markup, formulas in
``<TEX>``, and line breaks as ``&amp;#xD;``. Records store the clean text, which is indexed, shown and quoted.
"""

from __future__ import annotations

import html
import re
import unicodedata
from functools import cache
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from pylatexenc.latex2text import LatexNodes2Text

# Markup is removed until nothing changes. One pass removes three layers of entities and one layer of tags. Real data
# have two layers; deeper nesting is malicious.
_ENTITY_LAYERS = 3
_PASSES = 6
_MARKS = str.maketrans("", "", "&<>")

_ENTITY = re.compile(r"&#?\w{1,32};")
_LONG_NUMBER = re.compile(r"&#\d{1000,};?")

# Only known tags are removed, since a title such as "SikuGPT2: <SikuGPT2> for …" has text that only looks like a tag.
_BLOCK_TAGS = (
    "p|br|div|li|ul|ol|dl|dt|dd|h[1-6]|sec|section|title|abstract|table|tr|td|th|"
    "jats:(?:p|title|sec|list|list-item|label)|ce:(?:para|list|list-item|label|section-title|abstract-sec|simple-para)"
)
_INLINE_TAGS = (
    "b|i|u|s|em|strong|italic|bold|it|small|big|tt|sc|sub|sup|inf|span|font|a|img|display|formula|"
    "jats:[a-z-]+|mml:[a-z]+|ce:[a-z-]+|math|mrow|mi|mo|mn|msub|msup|mtext"
)
# Only name=value pairs may follow the name of a tag, so "if b <a then c> d" stays an inequality. The quantifiers are
# possessive for linear time: with plain ones, 3,000 spaces after "<p a=" took more than a minute.
_ATTRIBUTES = r"(?:\s++[\w:-]++\s*+=[^<>]*+|\s*+/?)"
# "▼1" and "▼2" are ScienceON's tags around the languages of an abstract.
_BLOCK = re.compile(rf"</?(?:(?:{_BLOCK_TAGS}){_ATTRIBUTES}|▼\d)>", re.IGNORECASE)
_INLINE = re.compile(rf"</?(?:{_INLINE_TAGS}){_ATTRIBUTES}>", re.IGNORECASE)
# A formula is short. If it is not closed, the search for its end stops at the next opening tag.
_FORMULA = re.compile(r"<tex>((?:(?!<tex>).){0,4000}?)</tex>", re.IGNORECASE | re.DOTALL)
_SCRIPT_MARK = re.compile(r"_|\^(?!\d)|(?<!\d)\^")

# Invisible characters split or join words, or reorder the text around them (Trojan Source).
_INVISIBLE = re.compile("[\u00ad\u200b-\u200f\u202a-\u202e\u2060-\u2069\ufeff\ufff9-\ufffb]")
_CONTROL = re.compile("[\x00-\x1f\x7f-\x9f]")
_SURROGATE = re.compile("[\ud800-\udfff]")
_ODD = re.compile(f"{_INVISIBLE.pattern}|{_CONTROL.pattern}|{_SURROGATE.pattern}")

_ABSENT = frozenset(
    "|없음|초록 없음|초록없음|내용 없음|내용없음|해당 없음|해당없음|초록이 없습니다|n/a|na|none|null|nil|no abstract|"
    "no abstract available|abstract not available|not available".split("|")
)
_EDGE_PUNCTUATION = " .,:;-–—_/()[]<>*\"'"


def clean_text(raw: str, *, is_link: bool = False) -> str:
    r"""Return ``raw`` as one line of NFC text without entities, tags, control or invisible characters.

    Text that is clean already does not change. Markup that is nested too deeply only loses its ``&``, ``<`` and ``>``.
    In a link, ``&copy=2`` is a parameter; only what ends with a semicolon is an entity.

    >>> clean_text("<P>p &amp;lt; 0.05&amp;#xD; 이다.</P>")
    'p < 0.05 이다.'
    >>> clean_text("H<SUB>2</SUB>O와 <TEX>${\\mu}m$</TEX>")
    'H2O와 μm'
    """
    text = plain_line(raw)
    for _ in range(_PASSES):
        if "&" not in text and "<" not in text:
            return text
        before, text = text, _undo_layer(_unescape(text, is_link=is_link))
        if text == before:
            return text
    return plain_line(text.translate(_MARKS))


def plain_line(text: str) -> str:
    r"""Return ``text`` as one line of NFC text without control or invisible characters; markup is kept.

    >>> plain_line(" a <b> \u202ec\td ")
    'a <b> c d'
    """
    if _ODD.search(text):
        text = _INVISIBLE.sub("", _CONTROL.sub(" ", _SURROGATE.sub("\ufffd", text)))
    return " ".join(unicodedata.normalize("NFC", text).split())


def is_absent(text: str) -> bool:
    """Return whether a clean text only says that a value is absent: ``없음``, ``N/A``, a lone full stop.

    >>> is_absent("(없음)"), is_absent("No abstract available."), is_absent("없음이란 무엇인가")
    (True, True, False)
    """
    return text.strip(_EDGE_PUNCTUATION).lower() in _ABSENT


def _unescape(text: str, *, is_link: bool) -> str:
    for _ in range(_ENTITY_LAYERS):
        escaped = text
        try:
            text = _ENTITY.sub(lambda match: html.unescape(match.group()), text) if is_link else html.unescape(text)
        except ValueError:  # a number of thousands of digits, which Python does not convert
            return _LONG_NUMBER.sub("\ufffd", text)
        if text == escaped:
            break
    return text


def _undo_layer(text: str) -> str:
    text = _FORMULA.sub(lambda match: _plain_formula(match.group(1)), text)
    return plain_line(_INLINE.sub("", _BLOCK.sub(" ", text)))


def _plain_formula(tex: str) -> str:
    """Convert a TeX formula to plain characters: ``$A_1$`` → ``A1``, ``$10^{18}$`` → ``10^18``."""
    try:
        text: str = _tex_converter().latex_to_text(tex)
    except MemoryError:
        raise
    except Exception:  # pylatexenc raises many, such as IndexError, for macros without their arguments
        return tex
    return _SCRIPT_MARK.sub("", text).replace("∼", "~")


@cache
def _tex_converter() -> LatexNodes2Text:
    from pylatexenc.latex2text import LatexNodes2Text

    return LatexNodes2Text(math_mode="text", keep_comments=True)
