"""Records, questions and model outputs that attack the page: a browser shows them as text and does nothing else."""

from __future__ import annotations

import json
import re
from collections.abc import Iterator
from urllib.parse import quote_plus

import pytest
from playwright.sync_api import Page, expect

from shrag.corpora.addition import add_corpus
from shrag.indexing.build import build_index
from shrag.serving.engine import Engine, open_engine
from tests.browser.conftest import Reader, Serve
from tests.browser.models import writing_model

PAYLOADS = [
    "<script>window.ran = 1</script>",
    "<img src=x onerror='window.ran = 1'>",
    "<img src='http://evil.example/p.png'>",
    "<svg onload='window.ran = 1'></svg>",
    "<iframe src='javascript:window.ran = 1'></iframe>",
    "</bdi></article></main><form action='http://evil.example'><input name=x>",
    "</template></pre><base href='http://evil.example/'>",
    '" autofocus onfocus="window.ran = 1" x="',
    "' onmouseover='window.ran = 1' x='",
    "<style>@import url(http://evil.example/x.css)</style>",
    "<a href='javascript:window.ran = 1'>a</a>",
    "[link](javascript:window.ran=1) ![image](http://evil.example/p.png)",
    "&lt;script&gt;window.ran = 1&lt;/script&gt;",
    "{{ 7 * 7 }} ${7 * 7} {% include 'page.html' %}",
    "<!-- --><math><mi xlink:href='javascript:window.ran=1'>",
    "\u202eevil\u202c \u2066x\u2069 \x00\x07\x1b[31m \ufeff\u200b",
]

FORBIDDEN = ":is(main, title, #card) :is(script, img, iframe, base, style, math, object, embed, link, meta)"


@pytest.fixture(scope="module")
def hostile(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Engine]:
    """Return an engine over records each of whose fields is a payload, and a word to find it by."""
    home = tmp_path_factory.mktemp("hostile")
    rows = [
        {
            # An identifier with a space or a control character is no record: the corpus refuses it.
            "CN": re.sub(r"[\s\x00-\x1f\u200b-\u202f\u2060-\u206f\ufeff]", "", payload) + f"#{number}",
            "title": f"graphene {payload}",
            "abstract": f"We made graphene films number {number}. Graphene {payload} shields well. It is new.",
            "author": f"{payload};Lee, A.;",
            "journal": f"J {payload}",
            "publisher": payload,
            "year": "2020",
            "link": payload,
        }
        for number, payload in enumerate(PAYLOADS)
    ]
    (home / "records.jsonl").write_text("".join(f"{json.dumps(row)}\n" for row in rows), encoding="utf-8")
    add_corpus(home / "corpora", "hostile", "scienceon", [home / "records.jsonl"])
    build_index(home / "corpora", home / "indexes", "hostile")
    engine = open_engine(home / "indexes", "hostile")
    yield engine
    engine.close()


def _harmless(page: Page) -> None:
    assert page.evaluate("typeof window.ran") == "undefined"
    assert page.locator(FORBIDDEN).count() == 0
    # The address of every link and form is the server's own, written by its templates.
    targets = page.evaluate("[...document.querySelectorAll('main a, form')].map(each => each.href ?? each.action)")
    assert targets
    assert [target for target in targets if not target.startswith(page.evaluate("location.origin") + "/")] == []
    handlers = "[...document.querySelectorAll('*')].filter(each => each.getAttributeNames().some(n => /^on/.test(n)))"
    assert page.evaluate(f"{handlers}.length") == 0
    text = page.evaluate("document.body.innerText")
    assert not [sign for sign in "\u202e\u2066\x00\x07\x1b" if sign in text]


def test_hostile_records_are_shown_as_text_whole_and_streamed(reader: Reader, serve: Serve, hostile: Engine) -> None:
    address = serve(engine=hostile)
    page = reader.open(address, "/?q=graphene&k=20")
    expect(page.locator(".records > ol > li")).to_have_count(len(PAYLOADS))
    expect(page.locator("main")).to_contain_text("graphene <script>window.ran = 1</script>")
    _harmless(page)
    for summary in page.locator(".records summary").all():
        summary.click()
    for mark in page.locator("a.mark").all():
        mark.hover()
        expect(page.locator("#card")).to_be_visible()
        _harmless(page)
    page.goto(address)
    page.fill("#q", "graphene films")
    page.press("#q", "Enter")
    expect(page.locator(".answer.extractive")).to_be_visible()
    _harmless(page)


def test_a_hostile_model_writes_only_text(reader: Reader, serve: Serve, hostile: Engine) -> None:
    sentences = " ".join(f"Graphene {payload} shields well [1]." for payload in PAYLOADS)
    written = f"##제목##\n{PAYLOADS[0]}\n##본론##\n{sentences}"
    address = serve(engine=Engine(hostile.open_index, writing_model(written)))
    page = reader.open(address)
    page.fill("#q", "graphene films")
    page.press("#q", "Enter")
    expect(page.locator(".answer:not(.waiting)")).to_be_visible()
    _harmless(page)
    page.goto(f"{address}/?q=graphene+films")
    _harmless(page)


def test_a_hostile_question_stays_a_question(reader: Reader, serve: Serve, hostile: Engine) -> None:
    address = serve(engine=hostile)
    page = reader.open(address)
    for payload in PAYLOADS:
        question = payload.replace("\x00", "")
        page.goto(f"{address}/?q={quote_plus(question)}&journal={quote_plus(question)}&from={quote_plus(question)}")
        assert page.evaluate("typeof window.ran") == "undefined"
        assert page.locator(FORBIDDEN).count() == 0
        assert page.locator("body > script, body > style, body > img").count() == 0
    page.goto(address)
    expect(page.locator("#history li")).to_have_count(len(PAYLOADS))
    assert page.evaluate("typeof window.ran") == "undefined"
