"""Tests of problems in the language that a client accepts: the same code, another title and detail."""

from collections.abc import Iterator
from pathlib import Path

import pytest
from starlette.testclient import TestClient

from shrag.serving.app import create_app
from shrag.serving.engine import open_engine


@pytest.fixture(scope="module")
def client(demo_home: Path) -> Iterator[TestClient]:
    engine = open_engine(demo_home / "indexes", "demo")
    with TestClient(create_app(engine), base_url="http://127.0.0.1") as opened:
        yield opened


@pytest.mark.parametrize(
    ("accepted", "language", "title", "detail"),
    [
        ("ko-KR,ko;q=0.9,en;q=0.8", "ko", "잘못된 요청", "body.k: 값이 올바르지 않습니다. 있어야 할 값: "),
        ("en", "en", "Request not valid", 'body.k: expected an integer from 1 to 1000, got "x".'),
        ("", "en", "Request not valid", 'body.k: expected an integer from 1 to 1000, got "x".'),
    ],
)
def test_a_problem_is_in_the_accepted_language(
    client: TestClient, accepted: str, language: str, title: str, detail: str
) -> None:
    response = client.post("/v1/search", json={"question": "a", "k": "x"}, headers={"accept-language": accepted})
    problem = response.json()
    assert response.status_code == 422
    assert (problem["code"], problem["title"]) == ("invalid_request", title)
    assert problem["detail"].startswith(detail)
    assert response.headers["content-language"] == language
    assert response.headers["vary"] == "Accept-Language"
