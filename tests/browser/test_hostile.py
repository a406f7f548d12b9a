"""Records, questions and model outputs that attack the page: a browser shows them as text and does nothing else."""

from __future__ import annotations

import json
import re
from collections.abc import Iterator, Sequence
from dataclasses import replace
from urllib.parse import quote_plus

import pytest
from playwright.sync_api import Error, Page, expect

from shrag.corpora.ingest.add import add_corpus
from shrag.indexing.analyzed_record import AnalyzedRecord
from shrag.indexing.build.builder import build_index
from shrag.serving.engine import Engine, open_engine
from tests.browser.conftest import Reader, Serve
from tests.browser.models import writing_model
from tests.browser.payloads import PAYLOADS
from tests.support.scripted_models import ScriptFile

FORBIDDEN = ":is(main, title, #card) :is(script, img, iframe, base, style, math, object, embed, link, meta)"


# `make soak` takes every payload to every place.
some = pytest.mark.parametrize("every", [4, pytest.param(1, marks=pytest.mark.soak)])

_UNSEEN = re.compile(r"[\s\x00-\x1f\x7f-\x9f\xad\u061c\u200b-\u202f\u2060-\u206f\ufeff]")


@pytest.fixture(scope="module")
def hostile(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Engine]:
    """Return an engine over records each of whose fields is a payload, and a word to find it by."""
    home = tmp_path_factory.mktemp("hostile")
    rows = [
        {
            # An identifier with a space or a control character is no record: the corpus refuses it.
            "CN": f"{_UNSEEN.sub('', payload)[:400]}#{number}",
            "title": f"graphene {payload}",
            "abstract": f"We made graphene films number {number}. Graphene {payload} shields well. It is new.",
            "author": f"{payload};Lee, A.;" * (250 if number == 0 else 1),
            "journal": f"J {payload}",
            "publisher": payload,
            "year": "2020",
            "link": payload,
            "keyword": payload,
        }
        for number, payload in enumerate(PAYLOADS)
    ]
    (home / "records.jsonl").write_text("".join(f"{json.dumps(row)}\n" for row in rows), encoding="utf-8")
    add_corpus(home / "corpora", "hostile", "scienceon", [home / "records.jsonl"])
    build_index(home / "corpora", home / "indexes", "hostile")
    engine = open_engine(home / "indexes", "hostile")
    assert engine.manifest.records == len(PAYLOADS) == 60
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


def _fits_a_phone(page: Page) -> None:
    page.set_viewport_size({"width": 360, "height": 740})
    assert page.evaluate("document.documentElement.scrollWidth") == 360
    page.set_viewport_size({"width": 1280, "height": 800})


def _docids(engine: Engine) -> list[str]:
    found = engine.search("graphene", k=100, strategy="bm25", every_record=True).ranking.records
    return [each.record.docid for each in found]


def test_what_breaks_the_policy_is_noticed_and_refused(reader: Reader, plain: str) -> None:
    page = reader.open(plain)
    page.evaluate("document.body.append(Object.assign(new Image(), {src: 'http://evil.example/p.png'}))")
    with pytest.raises(Error, match="requires 'TrustedScript' assignment"):
        page.evaluate("document.body.setAttribute('onclick', 'window.ran = 1')")
    assert "img-src" in {report.partition(" ")[0] for report in reader.reports}
    assert any("Content Security Policy" in complaint for complaint in reader.complaints)
    page.wait_for_timeout(100)  # a violation is reported by a task of its own
    assert reader.foreign() == ["http://evil.example/p.png"]  # asked for by the page, refused before it was sent
    reader.reports.clear()
    reader.complaints.clear()
    reader.requests.clear()


def test_hostile_records_are_shown_as_text_whole_and_streamed(reader: Reader, serve: Serve, hostile: Engine) -> None:
    address = serve(engine=hostile)
    page = reader.open(address, "/?q=graphene&k=50&year_from=2000")
    expect(page.locator(".records > ol > li")).to_have_count(50)
    _harmless(page)
    _fits_a_phone(page)
    for summary in page.locator(".records > ol summary").all()[:10]:
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


@some
def test_the_page_of_each_hostile_record_shows_it_as_text(
    reader: Reader, serve: Serve, hostile: Engine, every: int
) -> None:
    address = serve(engine=hostile)
    page = reader.open(address)
    docids = _docids(hostile)
    assert len(docids) == len(PAYLOADS)
    for docid in docids[::every]:
        response = page.goto(f"{address}/record?docid={quote_plus(docid)}&q=graphene", wait_until="domcontentloaded")
        assert response is not None
        assert response.status == 200
        assert page.locator(".record .docid").first.inner_text() == docid
        _harmless(page)
    _fits_a_phone(page)


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
    _fits_a_phone(page)


@some
def test_a_hostile_question_stays_a_question(reader: Reader, serve: Serve, hostile: Engine, every: int) -> None:
    address = serve(engine=hostile)
    page = reader.open(address)
    asked = [payload for payload in PAYLOADS if len(payload) <= 2_000][::every]
    for question in asked:
        limits = "&".join(f"{name}={quote_plus(question[:200])}" for name in ("journal", "type", "author", "k"))
        refused = f"q=x&year_from={quote_plus(question)}&{quote_plus(question)}=x"
        for query in (refused, f"q={quote_plus(question)}&{limits}"):
            page.goto(f"{address}/?{query}", wait_until="domcontentloaded")
            assert page.evaluate("typeof window.ran") == "undefined"
            assert page.locator(FORBIDDEN).count() == 0
            assert page.locator("body > script, body > style, body > img").count() == 0
    page.goto(address)
    expect(page.locator("#history li")).to_have_count(min(30, len(asked)))
    assert page.evaluate("typeof window.ran") == "undefined"


class _Planner(ScriptFile):
    """A model whose smaller questions, queries and answers are payloads, and to which they are an answer once asked."""

    def __init__(self) -> None:
        super().__init__("tree")
        self.payloads: Sequence[str] = ()
        self._grown = False
        self.make("query", self._query)
        self.make("branch", self._branch)
        self.make("respond", self._respond)
        self.make("evaluate", self._evaluate)
        self.make("span", lambda: json.dumps({"text": "graphene films", "record": 1}))
        self.make("keywords", lambda: json.dumps({"keywords": ["graphene", *(one[:60] for one in self.payloads)]}))
        self.make("substeps", self._steps)
        self.make("logical", lambda: json.dumps({"explanation": f"graphene {self._any()}"[:900]}))
        self.make("solve", lambda: json.dumps({"solution": self._any()[:1_500], "record": 1}))

    def ask(self, payloads: Sequence[str]) -> None:
        """Write these from now on."""
        self.payloads, self._grown = payloads, False

    def _any(self) -> str:
        return " | ".join(self.payloads)

    def _query(self) -> str:
        return json.dumps({"query": f"graphene {self._any()}"[:300]})

    def _respond(self) -> str:
        return json.dumps({"answer": self._any()[:600], "record": 1})

    def _branch(self) -> str:
        self._grown = True
        questions = [f"graphene [ANS_1] {payload}"[:300] for payload in self.payloads]
        return json.dumps({"kind": "hybrid", "questions": questions})

    def _evaluate(self) -> str:
        return json.dumps({"coherence": 5, "answerability": 50, "valid": self._grown})

    def _steps(self) -> str:
        steps = [
            {"question": f"graphene {payload}"[:300], "query": f"films {payload}"[:300]} for payload in self.payloads
        ]
        return json.dumps({"steps": steps})


@pytest.mark.parametrize("strategy", ["tree", "raise"])
def test_the_questions_of_a_hostile_model_are_shown_as_text(
    reader: Reader, serve: Serve, hostile: Engine, strategy: str
) -> None:
    model = _Planner()
    model.write("##제목##\nGraphene\n##본론##\nGraphene shields well [1].")
    address = serve(engine=Engine(hostile.open_index, model))
    page = reader.open(address, "/?ui=en")
    for start in range(0, len(PAYLOADS), 5):
        model.ask(PAYLOADS[start : start + 5])
        page.select_option("#strategy", strategy)
        page.fill("#q", f"graphene films {start}")
        page.press("#q", "Enter")
        expect(page).to_have_title(f"graphene films {start} · SHRAG")
        expect(page.locator(".answer:not(.waiting)")).to_be_visible()
        expect(page.locator("#status")).to_have_text("The answer is complete.")
        assert page.locator("#node-0 > ol > li").count() >= 4  # what has no letter is no question
        _harmless(page)
        _fits_a_phone(page)
    shown = page.locator(".tree").inner_text()
    assert "W" * 200 in shown
    model.ask(PAYLOADS[:5])
    page.goto(f"{address}/?ui=en&q=graphene+films&strategy={strategy}")
    assert page.locator(".tree .node-question").nth(1).inner_text().endswith(PAYLOADS[0])
    _harmless(page)


@some
def test_a_hostile_strategy_in_a_link_is_shown_as_text(reader: Reader, plain: str, every: int) -> None:
    page = reader.open(plain)
    for payload in PAYLOADS[::every]:
        page.goto(f"{plain}/?ui=en&q=graphene&strategy={quote_plus(payload)}", wait_until="domcontentloaded")
        expect(page.locator(".problem")).to_be_visible()
        assert page.evaluate("typeof window.ran") == "undefined"
        assert page.locator(FORBIDDEN).count() == 0
    _fits_a_phone(page)


class _Swollen:
    """A store whose every record has a text of ten megabytes, a title of 100,000 characters and 500 authors."""

    def __init__(self, engine: Engine) -> None:
        self._store = engine.open_index.store

    def fetch(self, docids: Sequence[str]) -> list[AnalyzedRecord | None]:
        """Return the records."""
        return [found and self._swell(found) for found in self._store.fetch(docids)]

    def sample(self, most: int) -> list[AnalyzedRecord]:
        """Return some of the records."""
        return [self._swell(found) for found in self._store.sample(most)]

    def _swell(self, found: AnalyzedRecord) -> AnalyzedRecord:
        text = found.record.text.rstrip(".") + "y" * 10_000_000  # as many sentences as before
        title, journal = f"{found.record.title} {'x' * 100_000}", "z" * 100_000
        authors = tuple(f"Author {number} {'n' * 1_000}" for number in range(500))
        record = replace(found.record, text=text, title=title, journal=journal, publisher=journal, authors=authors)
        return AnalyzedRecord(record, found.title, found.sentences)


def test_fields_of_ten_megabytes_make_a_page_no_larger_than_others(
    reader: Reader, serve: Serve, hostile: Engine
) -> None:
    endless = f"##제목##\n{'a' * 1_000_000}\n##본론##\n{'graphene ' * 1_000_000} [1]."
    swollen = replace(hostile.open_index, store=_Swollen(hostile))
    address = serve(engine=Engine(swollen, writing_model(endless)))
    page = reader.open(address)
    page.set_default_navigation_timeout(40_000)
    response = page.goto(f"{address}/?q=graphene+films&year_from=2000")
    assert response is not None
    assert len(response.body()) < 150_000
    expect(page.locator(".records > ol > li")).to_have_count(10)
    expect(page.locator(".answer.extractive .fallbacks")).to_be_visible()
    _harmless(page)
    _fits_a_phone(page)
    page.click("#record-1 summary")
    expect(page.locator("#record-1-whole .parts")).to_be_visible()
    with page.expect_popup() as opening:
        page.click("#record-1 h3 a")
    record = opening.value
    expect(record.locator(".record .parts")).to_contain_text("501")
    record.click("[rel=next]")
    expect(record.locator(".record .parts")).to_contain_text("2")
    _fits_a_phone(record)
    assert len(record.content()) < 100_000
