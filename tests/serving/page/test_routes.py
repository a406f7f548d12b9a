from __future__ import annotations

import json
import re
from html import unescape
from urllib.parse import parse_qsl

import pytest
from starlette.testclient import TestClient

from shrag.indexing.errors import IndexDamaged
from shrag.indexing.record_filter import RecordFilter
from shrag.models.errors import ModelUnavailable
from shrag.serving.app import create_app
from shrag.serving.engine import Engine
from shrag.serving.errors import Overloaded, ShuttingDown
from shrag.serving.page.rendering import PAGE_FOLDER
from tests.support.scripted_models import ScriptedModel

QUESTION = "재택근무를 많이 할수록 일과 가정 사이의 갈등이 커지는가?"


@pytest.fixture
def client(demo: Engine) -> TestClient:
    """Return a client of the application, which does not close the engine."""
    return TestClient(create_app(demo), base_url="http://127.0.0.1", raise_server_exceptions=False)


def test_the_page_streams_its_fragments(client: TestClient) -> None:
    response = client.get("/stream", params={"q": QUESTION, "ui": "en"})
    assert response.headers["content-type"].startswith("text/event-stream")
    blocks = [block.split("\n") for block in response.text.strip().split("\n\n")]
    assert {name for name, _ in blocks} == {"event: fragment", "event: progress", "event: complete"}
    assert json.loads(blocks[-1][1].removeprefix("data: "))["message"] == "The answer is complete."


@pytest.mark.parametrize("path", ["/", "/stream"])
def test_what_was_done_without_the_model_is_counted_for_the_page_too(demo: Engine, path: str) -> None:
    model = ScriptedModel(ModelUnavailable("away."), ModelUnavailable("away."), [ModelUnavailable("away.")])
    app = create_app(Engine(demo.open_index, model))
    client = TestClient(app, base_url="http://127.0.0.1")
    assert client.get(path, params={"q": QUESTION}).status_code == 200
    metrics = client.get("/metrics").text
    for stage in ("keywords", "answer"):
        assert f'shrag_fallbacks_total{{cause="unavailable",stage="{stage}"}} 1.0' in metrics
        assert f'shrag_stage_duration_seconds_count{{stage="{stage}"}} 1.0' in metrics


@pytest.mark.parametrize("query", ["", "?q=", "?q=%20", f"?q={'a' * 2001}"])
def test_a_question_that_cannot_be_read_is_a_problem_and_no_stream(client: TestClient, query: str) -> None:
    response = client.get(f"/stream{query}")
    assert (response.status_code, response.headers["content-type"]) == (422, "application/problem+json")


def test_a_question_that_is_too_long_is_said_to_be_and_stays_whole_in_its_box(client: TestClient) -> None:
    for language, said in (("ko", "질문이 너무 깁니다."), ("en", "The question is too long")):
        refused = client.get("/", params={"q": "a b " * 501, "ui": language})
        assert refused.status_code == 422
        assert said in re.sub(r'data-\S+="[^"]*"', "", refused.text)
        assert f">\n{'a b ' * 501}</textarea>" in refused.text


def test_a_question_of_several_lines_is_read_as_one(client: TestClient) -> None:
    lines, line = (
        client.get("/", params={"q": q, "ui": "ko"}).text for q in ("재택근무와\r\n\r\n갈등", "재택근무와 갈등")
    )
    assert "<title>재택근무와 갈등 · SHRAG</title>" in lines
    assert re.findall(r"docid=([A-Z]+-[A-Z]+-\d+)", lines) == re.findall(r"docid=([A-Z]+-[A-Z]+-\d+)", line) != []


def test_references_are_files_of_the_records_named(client: TestClient) -> None:
    named = {"docid": ["DEMO-SOC-012", "DEMO-AI-005", "DEMO-SOC-012"]}
    bibtex = client.get("/references", params=named)
    assert bibtex.headers["content-type"] == "application/x-bibtex; charset=utf-8"
    assert bibtex.headers["content-disposition"] == 'attachment; filename="shrag.bib"'
    assert [line for line in bibtex.text.splitlines() if line.startswith("@")] == [
        "@article{DEMO-SOC-012,", "@article{DEMO-AI-005,",
    ]  # fmt: skip
    ris = client.get("/references", params=named | {"format": "ris"})
    assert ris.headers["content-disposition"] == 'attachment; filename="shrag.ris"'
    assert ris.text.count("ER  - ") == 2
    csl = client.get("/references", params=named | {"format": "csl-json"})
    assert client.get("/references", params=named | {"format": "csl"}).content == csl.content
    assert csl.headers["content-type"] == "application/vnd.citationstyles.csl+json; charset=utf-8"
    assert [item["id"] for item in csl.json()] == ["DEMO-SOC-012", "DEMO-AI-005"]
    table = client.get("/references", params=named | {"format": "csv"})
    assert table.headers["content-disposition"] == 'attachment; filename="shrag.csv"'
    assert len(table.text.splitlines()) == 3


def test_the_page_of_a_record_has_the_tags_that_zotero_reads(client: TestClient) -> None:
    html = client.get("/record", params={"docid": "DEMO-SOC-012"}).text
    assert html.count('<meta name="citation_author"') == 2
    assert '<meta name="citation_publication_date" content="2024">' in html
    assert "citation_title" not in client.get("/").text


@pytest.mark.parametrize(
    ("query", "status"),
    [
        ("", 422),
        ("?docid=a&format=html", 422),
        ("?docid=nothing", 404),
        ("?docid=DEMO-SOC-012&docid=../../etc/passwd", 404),
        ("?" + "&".join(f"docid={n}" for n in range(51)), 422),
    ],
)
def test_references_of_what_is_not_there_are_a_problem(client: TestClient, query: str, status: int) -> None:
    response = client.get(f"/references{query}")
    assert (response.status_code, response.headers["content-type"]) == (status, "application/problem+json")


def test_filters_in_the_address_are_applied_and_chosen_in_the_form(client: TestClient, demo: Engine) -> None:
    html = client.get("/", params={"q": QUESTION, "ui": "en", "year_from": "2022", "language": "en"}).text
    found = demo.search(QUESTION, record_filter=RecordFilter(year_from=2022, language=("en",)), facets=True)
    assert html.count('<li id="record-') == len(found.ranking.records) > 0
    assert found.facets is not None
    assert f"{len(found.ranking.records)} of {found.facets.total} found" in html
    assert '<details class="filter" open>' in html
    counts = {each.value: each.count for each in found.facets.language}
    assert f'name="language" value="en" checked> <bdi>English</bdi> <small>{counts["en"]}</small>' in html
    assert f'name="language" value="ko"> <bdi>Korean</bdi> <small>{counts["ko"]}</small>' in html
    assert '<input name="year_from" inputmode="numeric" pattern="[0-9]{1,4}" size="4" value="2022"' in html


def test_a_single_year_is_said_and_not_drawn(client: TestClient) -> None:
    asked = {"q": "재택근무와 일과 가정 갈등", "ui": "ko"}
    assert 'class="histogram"' in client.get("/", params=asked).text
    html = client.get("/", params=asked | {"journal": "낙농과 기후", "year_from": "1990", "year_to": "1999"}).text
    assert 'class="histogram"' not in html
    assert re.search(r"<p>20\d\d년: 1건</p>", html)


def test_filters_that_nothing_passes_stay_chosen_and_can_be_cleared(client: TestClient) -> None:
    html = client.get("/", params={"q": QUESTION, "ui": "en", "journal": "<none>", "year_to": "1901"}).text
    assert html.count('<li id="record-') == 0
    assert 'name="journal" value="&lt;none&gt;" checked> <bdi>&lt;none&gt;</bdi> <small>0</small>' in html
    cleared = re.search(r'<p class="nothing-passes">No record matches these filters. <a href="([^"]*)"', html)
    assert cleared is not None
    assert "journal" not in cleared[1]
    assert '<li id="record-1"' in client.get(cleared[1].replace("&amp;", "&")).text


@pytest.mark.parametrize(
    ("query", "ko", "en"),
    [
        ("year_from=x", "필터 조건을 해석할 수 없습니다", "The filter&#39;s year_from is &#39;x&#39;: use a year"),
        (
            "language=fr",
            "필터 조건을 해석할 수 없습니다",
            "language is &#39;fr&#39;: use ko, en or und.",
        ),
        (
            "lang=ko",
            "이 페이지가 지원하지 않는 항목이 있습니다",
            "query.lang: there is no such parameter, use q, after, ui, k",
        ),
    ],
)
def test_what_the_address_has_wrong_is_a_page_that_says_so(client: TestClient, query: str, ko: str, en: str) -> None:
    for language, said in (("ko", ko), ("en", en)):
        refused = client.get(f"/?q=film&ui={language}&{query}")
        assert refused.status_code == 422
        assert said in refused.text
        assert ">\nfilm</textarea>" in refused.text
    assert client.get(f"/stream?q=film&{query}").status_code == 422


def test_more_records_can_be_asked_for(client: TestClient) -> None:
    html = client.get("/", params={"q": QUESTION, "ui": "ko", "k": "20"}).text
    assert '<span aria-current="true">20</span>' in html
    assert '<input type="hidden" name="k" value="20">' in html
    assert "&amp;k=50" in html
    assert html.count('<li id="record-') > 10


def _page_links(html: str) -> dict[str, str]:
    nav = html[html.index('<nav class="pages"') :].partition("</nav>")[0] if '<nav class="pages"' in html else ""
    return {rel: unescape(url) for url, rel in re.findall(r'<a href="([^"]*)" rel="(prev|next)">', nav)}


def test_links_lead_from_page_to_page_of_the_records_with_the_filter_and_back(client: TestClient, demo: Engine) -> None:
    asked = {"q": QUESTION, "ui": "en", "year_from": "2020"}
    first = client.get("/", params=asked).text
    links = _page_links(first)
    assert set(links) == {"next"}
    assert dict(parse_qsl(links["next"].partition("?")[2])) == asked | {"offset": "10"}
    second = client.get(links["next"]).text
    found = demo.search(QUESTION, record_filter=RecordFilter(year_from=2020), facets=True)
    assert found.facets is not None
    assert f"11–20 of {found.facets.total} found" in second
    assert [int(rank) for rank in re.findall(r'<li id="record-(\d+)"', second)] == list(range(11, 21))
    assert f"<title>{QUESTION} (11–20) · SHRAG</title>" in second
    assert 'id="answer-title"' not in second
    assert '<form class="follow-up"' not in second
    assert '<input type="hidden" form="ask" name="year_from" value="2020">' in second
    assert "&amp;offset=10" in re.findall(r'<a id="switch" href="([^"]*)"', second)[0]
    back = _page_links(second)
    assert parse_qsl(back["prev"].partition("?")[2]) == [("ui", "en"), ("q", QUESTION), ("year_from", "2020")]
    seen = 20
    while "next" in _page_links(second):
        second = client.get(_page_links(second)["next"]).text
        seen += second.count('<li id="record-')
    assert seen == len(demo.search(QUESTION, k=100, record_filter=RecordFilter(year_from=2020)))


def test_the_page_behind_all_records_says_so_and_leads_to_the_first(client: TestClient) -> None:
    for language, said in (("ko", "검색 결과가 더 없습니다."), ("en", "There are no more results.")):
        html = client.get("/", params={"q": "그래핀", "ui": language, "offset": "90"}).text
        assert f'<p class="nothing-passes">{said}' in html
        assert parse_qsl(_page_links(html)["prev"].partition("?")[2]) == [("ui", language), ("q", "그래핀")]
    refused = client.get("/", params={"q": "그래핀", "ui": "ko", "offset": "91"})
    assert (refused.status_code, "k가 10이면 offset은 0 이상 90 이하여야" in refused.text) == (422, True)
    assert "record-1" in client.get("/", params={"q": "그래핀", "offset": "x"}).text


def test_the_last_page_that_can_be_reached_says_how_to_see_other_records(client: TestClient) -> None:
    asked = {
        "q": "PM2.5 농도가 오르면 며칠 안에 소아 천식 환자의 응급실 방문이 늘어나는가?",
        "ui": "en",
        "offset": "90",
    }
    html = client.get("/", params=asked).text
    assert set(_page_links(html)) == {"prev"}
    assert (
        "Results are shown up to record 100. To see other records, raise the number of records or narrow the "
        "results with a filter." in html
    )


def test_a_damaged_index_is_said_on_the_page(client: TestClient, demo: Engine, monkeypatch: pytest.MonkeyPatch) -> None:
    # The engine notes the damage; this test's end takes the note back, since other tests share the engine.
    for name in ("state", "_problem"):
        monkeypatch.setattr(demo.open_index.checksums, name, getattr(demo.open_index.checksums, name))

    def damaged(*_: object, **__: object) -> None:
        raise IndexDamaged("The index <x> is damaged: build it again.")

    monkeypatch.setattr(Engine, "run", damaged)
    page = client.get("/", params={"q": QUESTION, "ui": "en"})
    assert page.status_code == 503
    assert "The index &lt;x&gt; is damaged: build it again." in page.text


def test_the_scripts_and_styles_name_no_outside_address_and_make_html_in_one_place() -> None:
    static = PAGE_FOLDER / "static"
    texts = {path.name: path.read_text(encoding="utf-8") for path in static.iterdir()}
    assert len(texts) > 10
    assert not [name for name, text in texts.items() if "//" in text.replace("// ", "") and name.endswith(".js")]
    for sink in ("innerHTML", "outerHTML", "insertAdjacentHTML", "document.write", "eval(", "createContextualFragment"):
        assert [name for name, text in texts.items() if sink in text] in ([], ["fragments.js"]), sink
    assert not [name for name, text in texts.items() if "style=" in text or 'setAttribute("style"' in text]


@pytest.mark.parametrize(
    ("error", "status"), [(Overloaded("full", 9), 429), (ShuttingDown("going"), 503), (RuntimeError("secret"), 500)]
)
def test_what_a_browser_is_refused_is_a_page_and_what_a_program_is_refused_a_problem(
    client: TestClient, monkeypatch: pytest.MonkeyPatch, error: Exception, status: int
) -> None:
    def fails(*_: object, **__: object) -> None:
        raise error

    monkeypatch.setattr(Engine, "run", fails)
    page = client.get("/", params={"q": QUESTION, "ui": "en"})
    assert (page.status_code, page.headers["content-type"]) == (status, "text/html; charset=utf-8")
    assert "secret" not in page.text
    assert page.headers["x-request-id"]
    stream = client.get("/stream", params={"q": QUESTION, "ui": "en"})
    assert (stream.status_code, stream.headers["content-type"]) == (status, "application/problem+json")
    assert page.headers.get("retry-after") == stream.headers.get("retry-after")


def test_a_record_has_a_page_and_one_that_is_not_there_has_one_that_says_so(client: TestClient) -> None:
    for docid, status in (("DEMO-SOC-012", 200), ("nothing", 404), ("../../etc/passwd", 404)):
        page = client.get("/record", params={"docid": docid, "ui": "en"})
        assert (page.status_code, page.headers["content-type"]) == (status, "text/html; charset=utf-8")
        assert client.get("/record/text", params={"docid": docid}).status_code == status
    for wrong in ({}, {"docid": ""}, {"docid": "x" * 513}, {"docid": "a", "part": "0"}, {"docid": "a", "part": "x"}):
        assert client.get("/record", params=wrong).status_code == 422, wrong


def test_a_page_of_50_records_holds_passages_and_not_whole_abstracts(client: TestClient, demo: Engine) -> None:
    html = client.get("/", params={"q": "재택근무와 교육 data 연구", "ui": "ko", "k": "50"}).text
    assert html.count('<li id="record-') == 50
    assert len(html.encode()) < 130_000
    ranked = demo.search("재택근무와 교육 data 연구", k=50).ranking.records
    abstracts = [each.record.text for each in ranked[1:] if each.record.text]  # the answer quotes the first
    assert len(abstracts) > 40
    assert not [abstract for abstract in abstracts if abstract in html]


def test_a_follow_up_question_is_asked_below_the_answer_and_says_how_it_was_read(client: TestClient) -> None:
    first = "How much does milk yield fall in dairy cows under heat stress?"
    asked = client.get("/", params={"q": first, "ui": "en"}).text
    assert f'<input type="hidden" name="after" value="{first}">' in asked
    assert "this was understood as" not in asked
    named = {"q": "And what about their conception rate?", "after": [first], "ui": "en"}
    answered = client.get("/", params=named).text
    assert "And what about their conception rate? milk yield fall dairy cows heat stress" in answered
    assert "DEMO-AGR-008" in answered
    assert answered.count('name="after"') == 3  # one in the form of the filter
    assert "milk yield fall dairy cows heat stress" in client.get("/stream", params=named).text


def _fields(form: str) -> list[tuple[str, str]]:
    """Return the names and values of hidden fields, but for the questions."""
    hidden = re.findall(r'<input type="hidden"(?: form="ask")? name="(\w+)" value="([^"]*)"', form)
    return [(name, value) for name, value in hidden if name not in {"q", "ui"}]


def test_a_follow_up_question_keeps_the_filter_the_strategy_and_the_number_of_records(client: TestClient) -> None:
    asked = {"q": QUESTION, "ui": "en", "strategy": "bm25", "k": "20", "year_from": "2022", "language": ["en", "ko"]}
    html = client.get("/", params=asked).text
    form = html[html.index('<form class="follow-up"') :]
    assert _fields(form[: form.index("</form>")]) == [
        ("after", QUESTION), ("strategy", "bm25"), ("k", "20"), ("year_from", "2022"), ("language", "en"),
        ("language", "ko"),
    ]  # fmt: skip


def test_a_filter_in_use_is_shown_above_the_answer_stays_for_the_next_question_and_is_cleared_by_a_link(
    client: TestClient,
) -> None:
    asked = {"q": QUESTION, "after": "a?", "ui": "ko", "year_to": "2024", "language": "en", "author": "Kim & Lee"}
    for address in ("/", "/stream"):
        html = client.get(address, params=asked).text.replace('\\"', '"')
        line = html[html.index('<p class="limits">') : html.index('<article class="answer')]
        shown = re.sub(r"\s+", " ", re.sub(r"<[^>]*>|\\n", " ", line)).strip()
        assert shown == "적용 중인 필터: 끝 연도: 2024 언어: 영어 저자: Kim &amp; Lee 필터 초기화"
        assert line.count('<input type="hidden" form="ask" ') == 3
        assert _fields(line) == [("year_to", "2024"), ("language", "en"), ("author", "Kim &amp; Lee")]
        cleared = re.search(r'<a href="([^"]*)" data-asks>필터 초기화</a>', line)
        assert cleared is not None
        assert parse_qsl(unescape(cleared[1]).partition("?")[2]) == [("ui", "ko"), ("q", QUESTION), ("after", "a?")]
    assert 'class="limits"' not in client.get("/", params={"q": QUESTION}).text


def test_a_filter_of_a_follow_up_question_keeps_the_questions_before_it(client: TestClient) -> None:
    html = client.get("/", params={"q": "왜?", "after": [QUESTION, "언제?"], "ui": "ko"}).text
    form = html[html.index('<form id="filter"') :]
    assert _fields(form[: form.index("<fieldset>")])[:2] == [("after", QUESTION), ("after", "언제?")]


@pytest.mark.parametrize(("ui", "said"), [("ko", "이 말이 있는 문헌은 제외했습니다"), ("en", "Left out: records with")])
def test_the_page_shows_what_not_leaves_out(client: TestClient, ui: str, said: str) -> None:
    html = client.get("/", params={"q": "learning outcomes NOT students", "ui": ui}).text
    assert re.search(rf"<h4>{said}</h4>\s*<ul class=\"chips unknown\"><li><bdi>students</bdi></li></ul>", html)
    assert "<bdi>learning outcomes</bdi> <bdi>− students</bdi>" in html
    assert said not in client.get("/", params={"q": "learning outcomes", "ui": ui}).text


def test_an_unknown_address_is_a_page_to_browsers_and_json_to_programs(client: TestClient) -> None:
    browser = {"accept": "text/html,application/xhtml+xml,*/*;q=0.8", "accept-language": "ko-KR,ko;q=0.9,en;q=0.8"}
    for path in ("/nothing", "/v1/nothing", "/static/nothing.css"):
        page = client.get(path, headers=browser, params={"q": "x"})
        assert (page.status_code, page.headers["content-type"]) == (404, "text/html; charset=utf-8")
        assert "페이지를 찾을 수 없습니다" in page.text
        assert '<a href="/?ui=ko">새로 질문하기</a>' in page.text
        response = client.get(path)
        assert response.headers["content-type"].startswith("application/")
    assert "The page was not found" in client.get("/nothing", headers=browser | {"accept-language": "en"}).text
    assert client.get("/v1/ask", headers=browser).json()["code"] == "method_not_allowed"


@pytest.mark.parametrize(
    ("address", "status", "said"),
    [
        ("/record", 422, "query.docid"),
        ("/record?docid=DEMO-SOC-012&part=0", 422, "query.part"),
        ("/record?docid=DEMO-SOC-012&dcoid=x", 422, "query.dcoid: there is no such parameter"),
        ("/record?docid=DEMO-SOC-012&index=none", 404, "There is no index"),
        ("/references", 422, "query.docid"),
        ("/references?docid=DEMO-SOC-012&format=word", 422, "query.format: expected one of"),
        ("/references?docid=nothing", 404, "nothing"),
    ],
)
def test_an_address_of_a_record_that_cannot_be_read_is_a_page_to_browsers_and_a_problem_to_programs(
    client: TestClient, address: str, status: int, said: str
) -> None:
    page = client.get(address, headers={"accept": "text/html,*/*;q=0.8", "accept-language": "en"})
    assert (page.status_code, page.headers["content-type"]) == (status, "text/html; charset=utf-8")
    assert said in page.text
    problem = client.get(address)
    assert (problem.status_code, problem.headers["content-type"]) == (status, "application/problem+json")


def test_types_are_named_in_the_reader_s_language(client: TestClient) -> None:
    asked = {"q": QUESTION, "type": ["article-journal", "erratum"]}
    korean = client.get("/", params=asked | {"ui": "ko"}).text
    assert '<input type="checkbox" name="type" value="article-journal" checked> <bdi>학술지 논문</bdi>' in korean
    assert '<input type="checkbox" name="type" value="erratum" checked> <bdi>erratum</bdi>' in korean
    assert "<bdi>journal article</bdi>" in client.get("/", params=asked | {"ui": "en"}).text
