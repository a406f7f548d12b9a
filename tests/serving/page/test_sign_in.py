"""People before a server with a key: the form, its cookie, and where it leads."""

from __future__ import annotations

import re

import pytest
from starlette.testclient import TestClient

from shrag.serving.app import create_app
from shrag.serving.engine import Engine
from shrag.serving.http.access import Access
from shrag.serving.http.api_key import ApiKey
from shrag.serving.page.sign_in import local_address
from tests.serving.http.test_access import KEY
from tests.support.live import KeptEngine

PAGE = {"accept": "text/html,application/xhtml+xml,*/*;q=0.8"}


@pytest.fixture
def client(demo: Engine) -> TestClient:
    app = create_app(KeptEngine(demo.open_index), Access(key=ApiKey(KEY)))
    return TestClient(app, base_url="http://127.0.0.1", follow_redirects=False)


def test_a_person_is_asked_for_the_key_in_place_of_the_page_and_led_on_to_it(client: TestClient) -> None:
    asked = client.get("/?q=%EA%B7%B8+%22%3E%3Cb%3E&ui=en", headers=PAGE)
    assert (asked.status_code, asked.headers["www-authenticate"]) == (401, 'Bearer realm="shrag"')
    assert asked.headers["referrer-policy"] == "same-origin"  # else the form's Origin is null
    assert asked.headers["cache-control"] == "no-store"
    assert "style-src 'self'" in asked.headers["content-security-policy"]
    assert "<script" not in asked.text
    (wanted,) = re.findall(r'name="next" value="([^"]*)"', asked.text)
    signed = client.post("/sign-in", data={"key": KEY, "next": wanted.replace("&amp;", "&")})
    assert signed.status_code == 303
    assert signed.headers["location"] == "/?q=%EA%B7%B8+%22%3E%3Cb%3E&ui=en"
    assert "; HttpOnly; SameSite=Strict" in signed.headers["set-cookie"]
    assert KEY not in str(signed.headers)
    page = client.get(signed.headers["location"], headers=PAGE)
    assert page.status_code == 200
    assert client.get("/v1/indexes").status_code == 200
    assert client.get("/static/page.js").status_code == 200


def test_the_form_speaks_the_readers_language(client: TestClient) -> None:
    assert "API 키" in client.get("/sign-in", headers=PAGE | {"accept-language": "ko"}).text
    assert "API key" in client.get("/sign-in", headers=PAGE | {"accept-language": "en"}).text


def test_a_wrong_key_shows_the_form_again_with_what_is_wrong_and_then_slows_down(client: TestClient) -> None:
    for _ in range(10):
        wrong = client.post("/sign-in?ui=en", data={"key": "x" * 40, "next": "/?q=a"})
        assert (wrong.status_code, wrong.headers.get("set-cookie")) == (401, None)
        assert "This is not an API key of this server." in wrong.text.replace("&#39;", "'")
        assert 'name="next" value="/?q=a"' in wrong.text
        assert "x" * 40 not in wrong.text
    slowed = client.post("/sign-in?ui=en", data={"key": KEY, "next": "/"})
    assert (slowed.status_code, slowed.headers["retry-after"]) == (429, "1")
    assert "Too many wrong keys" in slowed.text


def test_signing_out_takes_the_cookie_away(client: TestClient) -> None:
    client.post("/sign-in", data={"key": KEY})
    assert '<a href="/sign-in?ui=en">Sign out</a>' in client.get("/?ui=en", headers=PAGE).text
    assert "Sign out" in client.get("/sign-in?ui=en").text
    out = client.post("/sign-out")
    assert (out.status_code, out.headers["location"]) == (303, "/sign-in")
    assert "Sign out" not in client.get("/sign-in?ui=en").text
    assert client.get("/v1/indexes").status_code == 401


def test_a_page_that_nobody_signed_in_to_leads_to_no_way_out(demo: Engine) -> None:
    client = TestClient(create_app(KeptEngine(demo.open_index)), base_url="http://127.0.0.1")
    assert "Sign out" not in client.get("/?ui=en", headers=PAGE).text


def test_the_cookie_is_for_tls_only_where_the_browser_came_over_it(demo: Engine) -> None:
    access = Access(("search.example",), ApiKey(KEY))
    client = TestClient(create_app(KeptEngine(demo.open_index), access), base_url="http://search.example")
    for origin, secure in (("https://search.example", True), ("http://search.example", False)):
        headers = {"origin": origin}
        signed = client.post("/sign-in", data={"key": KEY}, headers=headers, follow_redirects=False)
        assert signed.headers["set-cookie"].endswith("; Secure") is secure


def test_a_page_of_another_site_cannot_sign_anyone_in_or_out(client: TestClient) -> None:
    for path in ("/sign-in", "/sign-out"):
        for headers in ({"origin": "http://evil.example"}, {"origin": "null"}, {"sec-fetch-site": "cross-site"}):
            assert client.post(path, data={"key": KEY}, headers=headers).status_code == 403


@pytest.mark.parametrize(
    "body",
    [b"", b"key", b"key=", b"\xff\xfe", b"key=%ff", b"&" * 5_000, b"key=a&" * 50, b"x" * 100_000],
    ids=["empty", "no value", "empty value", "no UTF-8", "escaped", "separators", "many", "long"],
)
def test_a_form_that_cannot_be_read_is_a_wrong_key(client: TestClient, body: bytes) -> None:
    form = {"content-type": "application/x-www-form-urlencoded"}
    assert client.post("/sign-in", content=body, headers=form).status_code == 401


def test_what_is_no_form_is_refused(client: TestClient) -> None:
    response = client.post("/sign-in", json={"key": KEY})
    assert (response.status_code, response.json()["code"]) == (415, "encoding_not_read")


@pytest.mark.parametrize(
    "wanted",
    [
        "", "x", "//evil.example", "/\\evil.example", "\\\\evil.example", "https://evil.example", "javascript:alert(1)",
        "/\t/evil.example", "/a\r\nSet-Cookie: a=b", "/a\\..\\b", " //evil.example", "data:text/html,x", "/\x00",
    ],
)  # fmt: skip
def test_it_leads_nowhere_but_to_this_server(client: TestClient, wanted: str) -> None:
    assert local_address(wanted) == "/"
    signed = client.post("/sign-in", data={"key": KEY, "next": wanted})
    assert (signed.status_code, signed.headers["location"]) == (303, "/")


def test_addresses_of_this_server_are_kept_as_they_are() -> None:
    assert local_address("/?q=%EA%B0%80+a&ui=ko") == "/?q=%EA%B0%80+a&ui=ko"
    assert local_address("/references?docid=A%231") == "/references?docid=A%231"
    assert local_address("/?q=가") == "/?q=%EA%B0%80"
