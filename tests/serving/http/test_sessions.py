from __future__ import annotations

import hmac

import pytest

from shrag.serving.http.access import Access
from shrag.serving.http.api_key import ApiKey
from shrag.serving.http.sessions import COOKIE, SECONDS, Sessions, end_session


class _Clock:
    now = 1_000_000.0

    def __call__(self) -> float:
        return self.now


def _pair(header: str) -> str:
    return header.partition(";")[0]


def test_a_cookie_holds_for_twelve_hours_and_no_script_or_other_site_gets_it() -> None:
    clock = _Clock()
    sessions = Sessions(clock)
    header = sessions.begin(secure=False)
    assert header.endswith("; Path=/; Max-Age=43200; HttpOnly; SameSite=Strict")
    assert sessions.begin(secure=True).endswith("; Secure")
    cookie = _pair(header)
    assert sessions.is_valid(cookie)
    assert sessions.is_valid(f'theme="dark"; {{"odd": 1}}; {cookie}; a=b')
    clock.now += SECONDS - 1
    assert sessions.is_valid(cookie)
    clock.now += 1
    assert not sessions.is_valid(cookie)


def test_a_cookie_of_another_process_or_one_that_was_changed_does_not_hold() -> None:
    clock = _Clock()
    cookie = _pair(Sessions(clock).begin(secure=False))
    sessions = Sessions(clock)
    assert not sessions.is_valid(cookie)
    own = _pair(sessions.begin(secure=False))
    name, _, value = own.partition("=")
    until, nonce, signature = value.split(".")
    for forged in (
        f"{int(until) + 1}.{nonce}.{signature}",
        f"{until}.{nonce}0.{signature}",
        f"{until}.{nonce}.{signature[:-1]}",
        f"{until}.{nonce}.{'0' * 64}",
        f"{until}.{nonce}.",
        f"{until}.{nonce}",
        signature,
    ):
        assert not sessions.is_valid(f"{name}={forged}")
    assert not sessions.is_valid(f"other={value}")


def test_a_cookie_of_another_process_with_the_same_key_holds() -> None:
    key, other = "0123456789abcdefghijklmnopqrstuvw", "0123456789abcdefghijklmnopqrstuvx"
    cookie = _pair(Access(key=ApiKey(key)).sessions.begin(secure=False))
    assert Access(key=ApiKey(key)).sessions.is_valid(cookie)
    assert not Access(key=ApiKey(other)).sessions.is_valid(cookie)
    assert not Access().sessions.is_valid(cookie)


def test_a_signature_is_compared_in_a_time_that_does_not_tell_how_much_of_it_is_right(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    compare, compared = hmac.compare_digest, list[tuple[bytes, bytes]]()

    def watch(given: bytes, own: bytes) -> bool:
        compared.append((given, own))
        return compare(given, own)

    monkeypatch.setattr(hmac, "compare_digest", watch)
    sessions = Sessions(_Clock())
    cookie = _pair(sessions.begin(secure=False))
    assert sessions.is_valid(cookie)
    assert not sessions.is_valid(cookie[:-1])
    (whole, own), (cut, again) = compared
    assert (own, again, cut) == (whole, whole, whole[:-1])
    assert len(whole) == 64


@pytest.mark.parametrize(
    "header", ["", ";", "=", COOKIE, f"{COOKIE}=", f"{COOKIE}=.", f"{COOKIE}=가.나.다", "\udcff=\udcff"]
)
def test_what_is_no_cookie_of_ours_does_not_hold(header: str) -> None:
    assert not Sessions().is_valid(header)


def test_no_two_cookies_are_the_same_and_ending_one_empties_it() -> None:
    sessions = Sessions(_Clock())
    assert sessions.begin(secure=False) != sessions.begin(secure=False)
    assert end_session().startswith(f"{COOKIE}=; Path=/; Max-Age=0;")
