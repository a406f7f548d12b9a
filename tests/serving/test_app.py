from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path

import pytest
from starlette.testclient import TestClient

from shrag.corpora.ingest.add import add_corpus
from shrag.indexing.build.builder import build_index
from shrag.serving.answer_cache import AnswerCache
from shrag.serving.app import create_app
from shrag.serving.engine import Engine, open_engine

QUESTION = "재택근무를 많이 할수록 일과 가정 사이의 갈등이 커지는가?"


@pytest.fixture(scope="module")
def client(demo_home: Path) -> Iterator[TestClient]:
    """Return a client of the application over an engine of its own, which the application closes."""
    engine = open_engine(demo_home / "indexes", "demo")
    with TestClient(create_app(engine), base_url="http://127.0.0.1") as opened:
        yield opened


def test_search_returns_what_the_engine_ranks(client: TestClient, demo: Engine) -> None:
    body = client.post("/v1/search", json={"question": QUESTION, "k": 3}).json()
    ranked = demo.search(QUESTION, k=3).ranking.records
    assert [record["record"]["docid"] for record in body["records"]] == [r.record.docid for r in ranked]
    assert (body["language"], body["index"], body["index_generation"], body["reason"]) == ("ko", "demo", 1, "")
    assert [keyword["text"] for keyword in body["keywords"]][:2] == ["갈등", "재택근무"]
    assert body["reranker_is_model"] is False
    assert set(body["seconds"]) == {"keywords", "search", "ranking"}


def test_a_search_by_vectors_says_what_found(client: TestClient) -> None:
    body = client.post("/v1/search", json={"question": QUESTION, "strategy": "hybrid"}).json()
    assert (body["encoder"], body["encoder_is_model"], len(body["dense"])) == ("LSA", False, 10)
    assert {hit["docid"] for hit in body["dense"]} <= {*body["candidates"], *body["incomplete"]}
    assert set(body["seconds"]) == {"keywords", "vectors", "search", "ranking"}


def test_what_the_index_lacks_is_a_problem_that_says_what_to_do(demo: Engine) -> None:
    client = TestClient(create_app(Engine(replace(demo.open_index, dense=None))), base_url="http://127.0.0.1")
    response = client.post("/v1/search", json={"question": QUESTION, "strategy": "hybrid"})
    assert (response.status_code, response.json()["code"]) == (409, "strategy_unavailable")
    assert "shrag index demo --encoder lsa" in response.json()["detail"]


def test_a_question_with_choices_is_answered_by_a_letter_and_wrong_choices_are_refused(client: TestClient) -> None:
    question = "At four weeks, how large was the error of the LSTM network for onion prices?"
    asked = {"question": question, "choices": ["groundwater", "boosting"]}
    assert client.post("/v1/ask", json=asked).json()["answer"]["choice"] == "B"
    assert client.post("/v1/ask", json={"question": question}).json()["answer"]["choice"] == ""
    refused = client.post("/v1/ask", json=asked | {"choices": ["one"]})
    assert (refused.status_code, refused.json()["code"]) == (422, "choices_invalid")


def test_ask_returns_a_labelled_answer_whose_citations_are_documents(client: TestClient) -> None:
    body = client.post("/v1/ask", json={"question": QUESTION}).json()
    answer = body["answer"]
    assert answer["kind"] == "extractive"
    assert "언어 모델을 쓰지 않고" in answer["label"]
    assert answer["text"].startswith("##재택근무 강도와 일·가정 갈등")
    for citation in answer["citations"]:
        document = client.get("/v1/documents", params={"docid": citation["docid"]})
        assert document.status_code == 200
        assert document.json()["title"] == citation["title"]


@pytest.mark.parametrize(
    ("question", "reason"),
    [("…?!", "no_keywords"), ("zzzz qqqq", "unknown_words"), ("<zzz onqqq=>", "unknown_words")],
)
def test_a_question_with_nothing_to_find_is_answered_with_its_reason(
    client: TestClient, question: str, reason: str
) -> None:
    response = client.post("/v1/search", json={"question": question})
    body = response.json()
    assert (response.status_code, body["reason"], body["records"]) == (200, reason, [])
    assert body["message"]
    assert client.post("/v1/ask", json={"question": question}).json()["answer"]["citations"] == []


@pytest.mark.parametrize(
    ("body", "code"),
    [
        ({"question": ""}, "question_empty"),
        ({"question": "\u200b"}, "question_empty"),
        ({"question": "가" * 100_000}, "question_too_long"),
        ({"question": "a", "strategy": "nope"}, "unknown_strategy"),
        ({"question": "a", "strategy": "retrieve(10) > filter(0.6)"}, "unknown_strategy"),
        ({"question": "a", "strategy": "retrieve(10000)"}, "unknown_strategy"),
        ({"question": "a", "strategy": "retrieve(10) > " * 10_000}, "unknown_strategy"),
        ({"question": "a", "k": 0}, "invalid_request"),
        ({"question": "a", "k": 10**9}, "invalid_request"),
        ({"question": 7}, "invalid_request"),
        ({"question": "a", "path": "/etc/passwd"}, "invalid_request"),
        ({}, "invalid_request"),
        ([], "invalid_request"),
    ],
)
def test_what_cannot_be_read_is_a_problem_with_a_code(client: TestClient, body: object, code: str) -> None:
    for path in ("/v1/search", "/v1/ask"):
        response = client.post(path, json=body)
        assert response.status_code == 422
        assert response.headers["content-type"] == "application/problem+json"
        assert response.json()["code"] == code
    assert client.get("/health").status_code == 200


def test_a_line_of_stages_is_a_strategy(client: TestClient) -> None:
    line = "augment(2) > retrieve(10) > rrf(15) > rerank(3)"
    found = client.post("/v1/search", json={"question": "salt marsh blue carbon", "strategy": line}).json()
    assert (found["strategy"], len(found["records"]), len(found["queries"])) == (line, 3, 3)
    assert list(found["seconds"]) == ["keywords", "augment", "retrieve", "rrf", "rerank"]


def test_a_filter_is_applied_shown_and_counted_alike_by_body_and_by_query_string(client: TestClient) -> None:
    limits = {"year_from": 2022, "year_to": 2024, "language": ["ko", "und"]}
    asked = {"question": QUESTION, "filter": limits, "facets": True, "k": 30}
    found = client.post("/v1/search", json=asked).json()
    assert found["filter"] == {**limits, "journal": [], "type": [], "author": []}
    records = [ranked["record"] for ranked in found["records"]]
    assert records
    assert all(2022 <= record["year"] <= 2024 and record["language"] != "en" for record in records)
    assert found["facets"]["total"] >= len(records)
    assert {each["value"] for each in found["facets"]["language"]} >= {"ko", "en"}
    unknown = client.get("/v1/search", params={"q": QUESTION, "language": "und", "facets": True}).json()
    assert unknown["message"].endswith("검색 결과에 있는 값: ko, en.")
    query = "year_from=2022&year_to=2024&language=ko&language=und&facets=true&k=30"
    by_query = client.get(f"/v1/search?q={QUESTION}&{query}").json()
    assert [by_query[name] for name in ("records", "facets", "filter")] == [
        found[name] for name in ("records", "facets", "filter")
    ]
    answered = client.post("/v1/ask", json={"question": QUESTION, "filter": limits}).json()
    assert answered["search"]["filter"] == found["filter"]
    assert answered["search"]["facets"] is None
    streamed = client.post("/v1/ask", json={**asked, "stream": True}).text
    assert streamed.index("event: ranking") < streamed.index("event: facets") < streamed.index("event: answer")


def test_further_records_are_found_at_an_offset_by_body_and_by_query_string(client: TestClient, demo: Engine) -> None:
    first = client.post("/v1/search", json={"question": QUESTION, "k": 3}).json()
    second = client.post("/v1/search", json={"question": QUESTION, "k": 3, "offset": 3}).json()
    assert [each["rank"] for each in second["records"]] == [4, 5, 6]
    found = demo.search(QUESTION, k=3, offset=3)
    assert [each["record"]["docid"] for each in second["records"]] == [each.record.docid for each in found]
    assert (second["confidence"], second["reason"]) == (first["confidence"], "")
    by_query = client.get("/v1/search", params={"q": QUESTION, "k": 3, "offset": 3}).json()
    assert by_query["records"] == second["records"]
    end = client.get("/v1/search", params={"q": "그래핀", "offset": 90}).json()
    assert (end["records"], end["reason"]) == ([], "past_end")
    assert end["message"].startswith("검색 결과가 더 없습니다.")
    refused = client.post("/v1/search", json={"question": QUESTION, "k": 3, "offset": 28})
    assert (refused.status_code, refused.json()["code"]) == (422, "offset_out_of_range")
    assert client.post("/v1/ask", json={"question": QUESTION, "offset": 3}).json()["code"] == "invalid_request"


def test_answers_with_another_filter_offset_or_facets_are_cached_apart(demo_home: Path) -> None:
    engine = open_engine(demo_home / "indexes", "demo", cache=AnswerCache())
    with TestClient(create_app(engine), base_url="http://127.0.0.1") as cached:
        asked: list[dict[str, object]] = [
            {}, {"facets": True}, {"filter": {"language": ["en"]}}, {"filter": {"language": ["ko"]}, "facets": True},
            {"offset": 10},
        ]  # fmt: skip
        first = [cached.post("/v1/search", json={"question": QUESTION, **each}).json() for each in asked]
        again = [cached.post("/v1/search", json={"question": QUESTION, **each}).json() for each in asked]
    assert [each["cached"] for each in first] == [False] * 5
    assert [each["cached"] for each in again] == [True] * 5
    for name in ("records", "facets", "filter"):
        assert [each[name] for each in first] == [each[name] for each in again]
    assert len({str(each["records"]) + str(each["facets"]) for each in first}) == 5


@pytest.mark.parametrize(
    ("limits", "detail"),
    [
        ({"year": 2020}, "body.filter.year: there is no such field, use year_from, year_to, language, journal, type"),
        ({"language": ["kr"]}, 'body.filter.language.0: expected one of "en", "ko", "und", got "kr".'),
        ({"author": "Kim"}, 'body.filter.author: expected a list of at most 50 items, got "Kim".'),
        ({"author": [" "]}, "A value of the filter's author is empty: write it, or leave it out."),
    ],
)
def test_a_filter_that_cannot_be_read_is_a_problem(client: TestClient, limits: dict[str, object], detail: str) -> None:
    refused = client.post("/v1/search", json={"question": QUESTION, "filter": limits})
    assert refused.status_code == 422
    assert refused.json()["detail"].startswith(detail)


def test_settings_reach_the_search_and_wrong_ones_are_problems_that_name_the_rule(client: TestClient) -> None:
    asked = {"question": QUESTION, "settings": {"keywords": 2, "glossary": False}}
    found = client.post("/v1/search", json=asked).json()
    assert [len(found["keywords"]), max(map(len, found["queries"]))] == [2, 2]
    tree = client.post("/v1/ask", json={"question": QUESTION, "strategy": "tree", "settings": {"tree_depth": "1"}})
    assert tree.status_code == 200
    for settings, said in (
        ({"tree_depth": 9}, "The setting tree_depth is 9: use a whole number from 1 to 8."),
        (
            {"tree_depth": 2},
            "The strategy shrag has no setting tree_depth: leave it out, or ask with another strategy.",
        ),
    ):
        refused = client.post("/v1/ask", json={"question": QUESTION, "settings": settings})
        assert (refused.status_code, refused.json()["code"], refused.json()["detail"]) == (422, "invalid_setting", said)


def test_a_lone_surrogate_in_a_question_is_only_a_character(client: TestClient) -> None:
    body = b'{"question": "\\ud800 blue carbon"}'
    response = client.post("/v1/search", content=body, headers={"content-type": "application/json"})
    assert response.status_code in (200, 422)
    assert client.get("/health").status_code == 200


def test_broken_json_and_wrong_methods_and_paths_are_problems_too(client: TestClient) -> None:
    broken = client.post("/v1/search", content=b"{", headers={"content-type": "application/json"})
    assert (broken.status_code, broken.json()["code"]) == (422, "invalid_json")
    wrong = client.put("/v1/search")
    assert (wrong.status_code, wrong.json()["code"]) == (405, "method_not_allowed")
    assert wrong.headers["allow"] == "GET, HEAD, POST"
    assert client.get("/nothing").json()["code"] == "not_found"


@pytest.mark.parametrize("docid", ["nothing", "../../etc/passwd", "a#b", "%00", "x" * 500])
def test_a_missing_document_is_a_404_whatever_its_name(client: TestClient, docid: str) -> None:
    response = client.get("/v1/documents", params={"docid": docid})
    assert (response.status_code, response.json()["code"]) == (404, "document_missing")


def test_health_says_what_is_served(client: TestClient) -> None:
    assert client.get("/health/live").json() == {"status": "live"}
    ready = {
        "status": "ready",
        "index": "demo",
        "index_generation": 1,
        "index_problem": "",
        "records": 235,
        "files": "verified",
    }
    ready |= {"files": "verified", "generator_status": "extractive", "generator_failure": "", "language_model": None}
    ready |= {"background_problem": "", "endpoints": []}
    index = {"name": "demo", "generation": 1, "problem": "", "records": 235, "files": "verified"}
    ready |= {"indexes": [index | {"reranker_problem": ""}]}
    assert client.get("/health/ready").json() == client.get("/health").json() == ready


def test_the_openapi_file_describes_every_route(client: TestClient) -> None:
    paths = client.get("/openapi.json").json()["paths"]
    assert set(paths) == {
        "/v1/search", "/v1/ask", "/v1/documents", "/v1/indexes", "/v1/models", "/v1/models/{model}",
        "/v1/chat/completions", "/v1/embeddings", "/health", "/health/live", "/health/ready", "/metrics",
    }  # fmt: skip


def test_another_host_name_is_refused_on_every_route(client: TestClient) -> None:
    for path in ("/", "/v1/documents?docid=a", "/static/page.css", "/health", "/openapi.json"):
        for host in ("evil.example", "127.0.0.1.evil.example", "", "localhost.evil:8080"):
            assert client.get(path, headers={"host": host}).status_code == 400
        for host in ("localhost:8080", "127.0.0.1", "[::1]:9", "LOCALHOST"):
            assert client.get(path, headers={"host": host}).status_code != 400


def test_every_response_forbids_foreign_content_and_scripts_but_the_servers_own_files(client: TestClient) -> None:
    for path in ("/", "/?q=a", "/static/page.css", "/v1/documents?docid=a", "/nothing"):
        policy = client.get(path).headers["content-security-policy"]
        assert policy.startswith("default-src 'none'; style-src 'self'")
        assert "script-src 'self';" in policy
        assert "connect-src 'self';" in policy
        assert "require-trusted-types-for 'script'" in policy
        assert "unsafe" not in policy
        assert client.get(path).headers["x-content-type-options"] == "nosniff"


def test_the_page_shows_the_answer_its_records_and_the_way(client: TestClient) -> None:
    page = client.get("/", params={"q": QUESTION, "ui": "ko"})
    html = page.text
    assert page.status_code == 200
    assert '<html lang="ko">' in html
    assert "발췌 답변" in html
    assert '<a class="mark" href="#record-1"' in html
    assert 'id="record-1"' in html
    assert "<mark>재택근무</mark>" in html
    assert html.count('<li><span class="query">') == 8  # in Korean and in English


def test_the_page_speaks_the_browsers_language_and_can_be_switched(client: TestClient) -> None:
    korean = client.get("/", headers={"accept-language": "ko-KR,ko;q=0.9"}).text
    english = client.get("/", headers={"accept-language": "fr, en-GB;q=0.8"}).text
    assert '<html lang="ko">' in korean
    assert '<html lang="en">' in english
    assert 'href="/?ui=en&amp;q=a%26b"' in client.get("/", params={"q": "a&b", "ui": "ko"}).text
    assert "Extractive answer" in client.get("/", params={"q": QUESTION, "ui": "en"}).text


@pytest.mark.parametrize(
    "question", ["", " ", "가" * 3000, "?!…", "zzzz", "' OR 1=1 --", '"><script>alert(1)</script>', "{{7*7}}"]
)
def test_the_page_lives_through_any_question(client: TestClient, question: str) -> None:
    page = client.get("/", params={"q": question, "ui": "en"})
    assert page.status_code == (422 if not question.strip() or len(question) > 2000 else 200)
    assert (
        page.text.count("<script") == page.text.count('<script src="/static/') + page.text.count("<script type=") == 2
    )
    assert "49" not in page.text.partition("<form")[2].partition("</form>")[0]


def test_a_question_in_no_language_is_answered_in_the_readers(client: TestClient) -> None:
    assert "질문에 검색할 단어가 없습니다" in client.get("/", params={"q": "?!", "ui": "ko"}).text
    assert "no word to search for" in client.get("/", params={"q": "?!", "ui": "en"}).text


def test_the_page_has_no_outside_address(client: TestClient) -> None:
    html = client.get("/", params={"q": QUESTION}).text + client.get("/static/page.css").text
    assert "http://" not in html
    assert "https://" not in html
    assert "url(" not in html
    assert "@import" not in html


@pytest.mark.slow
def test_hostile_records_are_shown_as_text(tmp_path: Path) -> None:
    hostile = (
        '{"CN": "X<img>1", "title": "<script>alert(1)</script> graphene", '
        '"abstract": "graphene <img src=x onerror=alert(1)> [x](http://evil.example) \\u202e &lt;svg onload=1&gt;", '
        '"author": "<b onclick=1>;", "journal": "<iframe>", "year": "2020"}'
    )
    (tmp_path / "records.jsonl").write_text(hostile, encoding="utf-8")
    add_corpus(tmp_path / "corpora", "hostile", "scienceon", [tmp_path / "records.jsonl"])
    build_index(tmp_path / "corpora", tmp_path / "indexes", "hostile")
    engine = open_engine(tmp_path / "indexes", "hostile")
    with TestClient(create_app(engine), base_url="http://127.0.0.1") as client:
        html = client.get("/", params={"q": "graphene"}).text
    assert "&lt;script&gt;alert(1)&lt;/script&gt;" in html
    assert html.count("<script") == 2  # the page's own
    for active in ("<script>", "<img", "<svg onload", "<iframe", "<b onclick", "\u202e", 'href="http'):
        assert active not in html


def test_an_unexpected_failure_is_a_500_that_tells_nothing(demo: Engine, monkeypatch: pytest.MonkeyPatch) -> None:
    def fail(*_: object, **__: object) -> None:
        raise RuntimeError("secret")

    monkeypatch.setattr(Engine, "run", fail)
    client = TestClient(create_app(demo), base_url="http://127.0.0.1", raise_server_exceptions=False)
    response = client.post("/v1/search", json={"question": "a"})
    assert (response.status_code, response.json()["code"]) == (500, "unexpected")
    assert "secret" not in response.text
