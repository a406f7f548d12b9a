"""No Markdown reader makes a link, a picture or HTML of a record's or a model's text."""

from __future__ import annotations

import html
import random
import re
import time
from collections.abc import Callable

import cmarkgfm
import commonmark
import pytest
from cmarkgfm.cmark import Options
from markdown_it import MarkdownIt

from shrag.serving.api.chat_completions.markdown import escape_markdown
from shrag.serving.api.chat_completions.response import AnswerText
from shrag.serving.events import Answer, AnswerSentence, Citation, Section, Sentence

READERS: dict[str, Callable[[str], str]] = {
    "cmark-gfm": lambda text: cmarkgfm.github_flavored_markdown_to_html(text, Options.CMARK_OPT_UNSAFE),
    "markdown-it": MarkdownIt("gfm-like", {"html": True, "linkify": True}).render,
    "commonmark": commonmark.commonmark,
}
ALIVE = re.compile(r"<(?!/?(?:p|h[1-6]|em|strong|code|pre|ul|ol|li|blockquote|br|hr|del|s)\b)[a-z!/?]", re.IGNORECASE)

HOSTILE = (
    "https://evil.example/?q=secret",
    "HTTPS://EVIL.EXAMPLE",
    "http://evil.example.",
    "ftp://evil.example/a_b_c*d*",
    "//evil.example/x.png",
    "www.evil.example",
    "WWW.evil.com/path?a=b",
    "근거(https://evil.example)에서",
    "에서https://evil.example/한국",
    "a@evil.example",
    "a.b+c@evil.co.kr",
    "mailto:a@evil.example",
    "xmpp:a@evil.example/b",
    "mailto:a@b",
    "MAILTO:a@localhost?subject=secret",
    "(mailto:a@b)에게 mailto:가@나",
    "xmpp:a@b mailto:a@b",
    "mailto: a@b",
    "evil.com",
    "결과는 evil.co.kr이다",
    "xn--e1afmkfd.xn--p1ai results.In fact",
    "https\\://evil.example",
    "https&colon;//evil.example",
    "https&#58;//evil.example www&period;evil.example a&commat;evil.example",
    "\\https://evil.example \\www.evil.example",
    "` https://evil.example `",
    "a `` b https://evil.example/` c",
    "https://evil.example/``x`` https://evil.example/`",
    "\\` https://evil.example",
    "![x](http://evil.example/?q=secret)",
    "\\![x](http://evil.example)",
    "!\\[x](http://evil.example)",
    "[x]\\(http://evil.example)",
    "[ref]: http://evil.example",
    "[ref]: evil\\n\\n[ref]",
    "[a][ref] ![b][ref]",
    "[click](javascript:alert(1))",
    "[click](/relative)",
    "<img src=x onerror=alert(1)>",
    "\\<img src=x onerror=alert(1)>",
    "\\\\<script>alert(1)</script>",
    "</div><!-- a --><?php ?><![CDATA[x]]>",
    "<https://evil.example>",
    "<a@evil.example>",
    "```html <b>x</b>",
    "~~~ x",
    "p < 0.05 [1], 30 > 20, nDCG@10 and P@5.2, e.g. 3.5 at A&B; R&amp;D",
)


def _shown(rendered: str) -> str:
    return " ".join(html.unescape(re.sub(r"<[^>]*>", "", rendered)).split())


@pytest.mark.parametrize("reader", READERS)
@pytest.mark.parametrize("text", HOSTILE)
def test_nothing_is_alive_and_every_character_is_shown(text: str, reader: str) -> None:
    rendered = READERS[reader](f"x {escape_markdown(text)} y")
    assert not ALIVE.search(rendered), rendered
    if not re.search(r"[*_]|~~", text):  # emphasis is not escaped
        assert _shown(rendered) == " ".join(f"x {text} y".split())


@pytest.mark.parametrize("reader", READERS)
def test_nothing_is_alive_in_any_place_of_an_answer(reader: str) -> None:
    for text in HOSTILE:
        citation = Citation(1, text, text)
        whole = AnswerText("en", lambda docid: f"/d?{docid}")
        for part in ("title", "body"):
            whole.feed(AnswerSentence(part, Sentence(text, (1,))))
        whole.feed(AnswerSentence("record", Sentence(text, (1,)), citation))
        section = Section("body", (Sentence(text, (1,)),))
        whole.feed(Answer("generated", "en", (section,), (citation,), "", text, None, uncovered=(text,)))
        rendered = READERS[reader](whole.text)
        assert not ALIVE.search(rendered), (text, rendered)


@pytest.mark.parametrize("reader", READERS)
def test_nothing_is_alive_in_random_mixtures(reader: str) -> None:
    chance = random.Random(7)
    pieces = [
        *HOSTILE,
        "`",
        "``",
        "\\",
        "&",
        "<",
        "[",
        "](",
        "!",
        ":",
        "//",
        "@",
        ".com",
        "www.",
        "가",
        " ",
        "https:",
        "mailto:",
        "a@b",
        "&#58;",
    ]
    for _ in range(1500):
        text = "".join(chance.choices(pieces, k=chance.randrange(1, 7)))
        rendered = READERS[reader](f"x {escape_markdown(text)} y")
        assert not ALIVE.search(rendered), (text, rendered)


@pytest.mark.parametrize("text", ["a" * 200_000, "a@" * 100_000, "a." * 100_000, "a:" * 100_000, "`" * 200_000])
def test_long_texts_take_linear_time(text: str) -> None:
    started = time.process_time()
    escape_markdown(text)
    assert time.process_time() - started < 5
