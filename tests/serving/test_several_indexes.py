"""Several indexes behind one server, each by its name."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import ExitStack, closing
from pathlib import Path

import pytest
from starlette.testclient import TestClient

from shrag.corpora.ingest.add import add_corpus
from shrag.indexing.build.builder import build_index
from shrag.serving.answer_cache import AnswerCache
from shrag.serving.app import create_app
from shrag.serving.engine import open_engine
from shrag.serving.runtime.leases import FixedEngine

QUESTION = "How do tides move sand?"


@pytest.fixture(scope="module")
def client(demo_home: Path, tmp_path_factory: pytest.TempPathFactory) -> Iterator[TestClient]:
    """Return a client of a server of the demonstration and of another index of one record."""
    home = tmp_path_factory.mktemp("several")
    source = home / "tides.jsonl"
    source.write_text('{"docid": "T&1", "title": "Tides", "text": "Tides move sand along the beach."}\n')
    add_corpus(home / "corpora", "tides", "miracl", [source])
    build_index(home / "corpora", home / "indexes", "tides")
    cache = AnswerCache()
    with ExitStack() as stack:
        engines = [
            stack.enter_context(closing(open_engine(folder / "indexes", name, cache=cache)))
            for folder, name in ((demo_home, "demo"), (home, "tides"))
        ]
        app = create_app([FixedEngine(engine) for engine in engines])
        yield stack.enter_context(TestClient(app, base_url="http://127.0.0.1"))


def test_searches_and_answers_are_of_the_index_that_is_named(client: TestClient) -> None:
    for named, index in (({}, "demo"), ({"index": "tides"}, "tides"), ({"index": "demo"}, "demo")):
        found = client.post("/v1/search", json={"question": QUESTION, **named}).json()
        by_query = client.get("/v1/search", params={"q": QUESTION, **named}).json()
        answer = client.post("/v1/ask", json={"question": QUESTION, "min_confidence": 0, **named}).json()
        assert [found["index"], by_query["index"], answer["search"]["index"]] == [index] * 3
        assert found["records"] == by_query["records"]
        if index == "tides":
            assert [ranked["record"]["docid"] for ranked in found["records"]] == ["T&1"]
            assert [citation["docid"] for citation in answer["answer"]["citations"]] == ["T&1"]
        streamed = client.post("/v1/ask", json={"question": QUESTION, "stream": True, **named}).text
        assert f'"index":"{index}"' in streamed.split("\n\n")[0]


def test_records_are_read_from_their_index(client: TestClient) -> None:
    assert client.get("/v1/documents", params={"docid": "T&1"}).status_code == 404
    assert client.get("/v1/documents", params={"docid": "T&1", "index": "tides"}).json()["title"] == "Tides"
    assert [each["name"] for each in client.get("/v1/indexes").json()["indexes"]] == ["demo", "tides"]


def test_an_unknown_index_is_refused_with_the_nearest_name(client: TestClient) -> None:
    for response in (
        client.post("/v1/search", json={"question": QUESTION, "index": "tide"}),
        client.get("/v1/search", params={"q": QUESTION, "index": "tide"}),
        client.post("/v1/ask", json={"question": QUESTION, "index": "tide"}),
        client.get("/v1/documents", params={"docid": "x", "index": "tide"}),
        client.get("/stream", params={"q": QUESTION, "index": "tide"}),
    ):
        problem = response.json()
        assert (response.status_code, problem["code"]) == (404, "unknown_index")
        assert problem["detail"] == "There is no index 'tide' here: use one of demo, tides. Did you mean tides?"
    page = client.get("/", params={"q": QUESTION, "index": "tide", "ui": "ko"})
    assert page.status_code == 404
    assert "해당 이름의 색인이 없습니다." in page.text


def test_each_index_is_a_model_of_chats(client: TestClient) -> None:
    names = [each["id"] for each in client.get("/v1/models").json()["data"]]
    assert names == ["demo/shrag", "tides/shrag"]
    asked = {"model": "tides/shrag", "messages": [{"role": "user", "content": "Do tides move sand?"}]}
    reply = client.post("/v1/chat/completions", json=asked).json()
    assert reply["shrag"]["index"] == "tides"
    (annotation,) = reply["choices"][0]["message"]["annotations"]
    assert annotation["url_citation"]["url"] == "http://127.0.0.1/record?docid=T%261&index=tides"


def test_health_and_metrics_are_of_each_index(client: TestClient) -> None:
    health = client.get("/health").json()
    assert [health["index"], health["records"]] == ["demo", 235]
    assert [(each["name"], each["records"], each["files"]) for each in health["indexes"]] == [
        ("demo", 235, "verified"), ("tides", 1, "verified"),
    ]  # fmt: skip
    metrics = client.get("/metrics").text
    for name in ("demo", "tides"):
        assert f'name="{name}"' in metrics
        assert f'shrag_index_refused{{index="{name}"}} 0.0' in metrics


def test_the_page_offers_the_indexes_and_keeps_the_one_chosen_in_its_links(client: TestClient) -> None:
    first = client.get("/", params={"ui": "en"}).text
    assert '<option value="" selected>demo</option><option value="tides">tides</option>' in first
    html = client.get("/", params={"q": QUESTION, "ui": "en", "index": "tides", "language": "en"}).text
    assert '<option value="">demo</option><option value="tides" selected>tides</option>' in html
    assert '<input type="hidden" name="index" value="tides">' in html
    assert 'href="/record?ui=en&amp;docid=T%261&amp;q=How+do+tides+move+sand%3F&amp;index=tides"' in html
    assert "/references?format=bibtex&amp;index=tides&amp;docid=T%261" in html
    for path in ("/record", "/record/text"):
        shown = client.get(path, params={"docid": "T&1", "index": "tides", "ui": "en"})
        assert shown.status_code == 200
        assert "along the beach" in shown.text
    references = client.get("/references", params={"docid": "T&1", "index": "tides"})
    assert "Tides" in references.text
    streamed = client.get("/stream", params={"q": QUESTION, "index": "tides"}).text
    assert "index=tides" in streamed


def test_the_page_of_one_index_offers_none(demo_home: Path) -> None:
    with TestClient(create_app(open_engine(demo_home / "indexes", "demo")), base_url="http://127.0.0.1") as alone:
        assert 'name="index"' not in alone.get("/").text
