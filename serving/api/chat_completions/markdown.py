"""Escape text of records and models for Markdown: no picture, link, HTML or code block comes of it."""

from __future__ import annotations

import re
from collections.abc import Iterator

_ACTIVE = re.compile(r"[\\`]|!\[|\]\(|\]\[|\]:|<(?![\s=\d])|&(?=[#A-Za-z])|~{3,}")

# Readers of GitHub's Markdown, and those with linkify-it, make links of these without any mark. A backslash does not
# help: some look for addresses after escapes are undone. In a code span none does. Adjacent ones share a span, since
# their backticks would run together.
_ADDRESS = re.compile(
    r"(?:(?:[a-z][a-z0-9+.-]{0,30}:)?//[!-~]*|www\.[!-~]*|"
    r"(?:mailto:|xmpp:)?[\w.!#$%&'*+/=?^{|}~-]{1,64}@[\w-]+(?:\.[\w-]+)+[!-~]*)+",
    re.IGNORECASE,
)
# linkify-it makes links of names too that end in a known domain, as "results.In" does.
_DOMAIN = re.compile(
    r"(?<=\w)\.(?=(?:[a-z]{2}|xn--[a-z0-9-]+|biz|com|edu|gov|net|org|pro|web|xxx|aero|asia|coop|info|museum|name|shop|рф)"
    r"(?![a-z0-9_-]))",
    re.IGNORECASE,
)
_BACKTICKS = re.compile("`+")


def escape_markdown(text: str) -> str:
    r"""Escape ``text`` so that no Markdown renderer makes a picture, a link, HTML or a code block of it.

    The URL of a picture or a link from a record or a model could leak the conversation (EchoLeak, CVE-2025-32711). An
    address becomes a code span.

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
    """Return ``text`` between more backticks than it has in a row."""
    fence = "`" * (1 + max((len(run) for run in _BACKTICKS.findall(text)), default=0))
    blank = " " if text.startswith("`") or text.endswith("`") else ""
    return f"{fence}{blank}{text}{blank}{fence}"
