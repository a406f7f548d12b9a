"""Escape text of records and models for Markdown, so that it makes no picture, link, HTML or code block."""

from __future__ import annotations

import re
from collections.abc import Iterator

_ACTIVE = re.compile(r"[\\`]|!\[|\]\(|\]\[|\]:|<(?![\s=\d])|&(?=[#A-Za-z])|~{3,}")

# Renderers of GitHub's Markdown, and those with linkify-it, make links of bare addresses. A backslash does not help:
# some renderers look for addresses after they resolve escapes. No renderer looks for them in a code span. Adjacent
# addresses share a span, since their backticks would run together. Behind mailto:, linkify-it takes any domain.
_ADDRESS = re.compile(
    r"(?:(?:[a-z][a-z0-9+.-]{0,30}:)?//[!-~]*|www\.[!-~]*|"
    r"(?:mailto|xmpp):\S+|[\w.!#$%&'*+/=?^{|}~-]{1,64}@[\w-]+(?:\.[\w-]+)+[!-~]*)+",
    re.IGNORECASE,
)
# linkify-it also makes links of words that end in a known domain, such as "results.In".
_DOMAIN = re.compile(
    r"(?<=\w)\.(?=(?:[a-z]{2}|xn--[a-z0-9-]+|biz|com|edu|gov|net|org|pro|web|xxx|aero|asia|coop|info|museum|name|shop|рф)"
    r"(?![a-z0-9_-]))",
    re.IGNORECASE,
)
_BACKTICKS = re.compile("`+")


def escape_markdown(text: str) -> str:
    r"""Escape ``text`` so that no Markdown renderer makes a picture, a link, HTML or a code block of it.

    Records and models are not trusted: the URL of a picture or a link of theirs could leak the conversation (EchoLeak,
    CVE-2025-32711). An address becomes a code span.

    >>> escape_markdown("![x](http://evil.example) <img src=x> a < b [1]")
    '!\\[x]\\(`http://evil.example)` \\<img src=x> a < b [1]'
    """
    return "".join(_escaped(text))


def _escaped(text: str) -> Iterator[str]:
    end = 0
    for address in _ADDRESS.finditer(text):
        yield _escape(text[end : address.start()])
        yield _code_span(address.group())
        end = address.end()
    yield _escape(text[end:])


def _escape(text: str) -> str:
    return _DOMAIN.sub(r"\.", _ACTIVE.sub(lambda match: match.group()[:-1] + "\\" + match.group()[-1], text))


def _code_span(text: str) -> str:
    """Return ``text`` as a code span, whose fences have more backticks than ``text`` has in a row."""
    fence = "`" * (1 + max((len(run) for run in _BACKTICKS.findall(text)), default=0))
    blank = " " if text.startswith("`") or text.endswith("`") else ""
    return f"{fence}{blank}{text}{blank}{fence}"
