"""The documentation as it is served: redirect, policy, ETag, HEAD, no path outside, and what is there without it."""

from __future__ import annotations

from pathlib import Path

import pytest
from starlette.applications import Starlette
from starlette.routing import Mount, Route
from starlette.testclient import TestClient

from shrag.serving.page.documentation import Documentation, documentation


@pytest.fixture
def client(tmp_path: Path) -> TestClient:
    """Return a client of two pages, with a file beside their folder."""
    for language in ("ko", "en"):
        folder = tmp_path / "docs" / language
        folder.mkdir(parents=True)
        (folder / "index.html").write_text(f"<p>{language}</p>")
    (tmp_path / "secret.html").write_text("secret")
    (tmp_path / "docs" / "link.html").symlink_to(tmp_path / "secret.html")
    return _client(tmp_path / "docs")


def _client(folder: Path) -> TestClient:
    routes = [Route("/docs", documentation, methods=["GET"]), Mount("/docs", Documentation(folder))]
    return TestClient(Starlette(routes=routes), base_url="http://127.0.0.1", follow_redirects=False)


@pytest.mark.parametrize(("accepted", "language"), [("en-GB,en", "en"), ("ko", "ko"), ("fr", "ko"), ("", "ko")])
def test_the_beginning_is_in_the_language_of_the_request(client: TestClient, accepted: str, language: str) -> None:
    for path in ("/docs", "/docs/"):
        response = client.get(path, headers={"accept-language": accepted})
        while response.status_code == 307 and response.headers["location"].endswith("/docs"):
            response = client.get("/docs", headers={"accept-language": accepted})
        assert response.headers["location"] == f"/docs/{language}/"
    assert client.get(f"/docs/{language}/").text == f"<p>{language}</p>"


def test_a_page_has_its_policy_and_an_etag_and_is_not_sent_again(client: TestClient) -> None:
    page = client.get("/docs/en/")
    policy = page.headers["content-security-policy"]
    assert "script-src 'self'" in policy
    assert "unsafe" not in policy
    assert "http" not in policy
    again = client.get("/docs/en/", headers={"if-none-match": page.headers["etag"]})
    assert (again.status_code, again.content) == (304, b"")
    head = client.head("/docs/en/")
    assert (head.status_code, head.content) == (200, b"")
    assert head.headers["content-length"] == page.headers["content-length"]


@pytest.mark.parametrize(
    "path",
    [
        "/docs/../secret.html", "/docs/%2e%2e/secret.html", "/docs/en/..%2f..%2fsecret.html", "/docs//etc/passwd",
        "/docs/link.html", "/docs/en/%00", "/docs/..%5csecret.html", "/docs/" + "a" * 5000,
    ],
)  # fmt: skip
def test_no_path_leads_out_of_the_folder(client: TestClient, path: str) -> None:
    raw = client.build_request("GET", "http://127.0.0.1" + path)
    response = client.send(raw)
    assert response.status_code == 404
    assert "secret" not in response.text


def test_without_the_files_the_page_says_how_to_make_them(tmp_path: Path) -> None:
    client = _client(tmp_path / "none")
    korean = client.get("/docs/ko/", headers={"accept-language": "ko"})
    assert korean.status_code == 404
    assert "<code>make docs</code>" in korean.text
    assert "설명서" in korean.text
    assert "Build it" in client.get("/docs/en/", headers={"accept-language": "en"}).text


def test_files_made_later_are_served_without_a_restart(tmp_path: Path) -> None:
    client = _client(tmp_path / "docs")
    assert client.get("/docs/en/").status_code == 404
    (tmp_path / "docs" / "en").mkdir(parents=True)
    (tmp_path / "docs" / "en" / "index.html").write_text("made")
    assert client.get("/docs/en/").text == "made"
