"""Parsing of endpoint addresses."""

from __future__ import annotations

import pytest

from shrag.models.chat.endpoint import parse_address


@pytest.mark.parametrize(
    ("given", "base_url", "root", "socket"),
    [
        ("http://127.0.0.1:8000/v1", "http://127.0.0.1:8000/v1", "http://127.0.0.1:8000", ""),
        ("http://127.0.0.1:8000/v1/", "http://127.0.0.1:8000/v1", "http://127.0.0.1:8000", ""),
        ("http://127.0.0.1:8000", "http://127.0.0.1:8000/v1", "http://127.0.0.1:8000", ""),
        ("http://[::1]:8000", "http://[::1]:8000/v1", "http://[::1]:8000", ""),
        ("https://gpu.lab/llm/v1", "https://gpu.lab/llm/v1", "https://gpu.lab/llm", ""),
        ("https://gpu.lab/openai", "https://gpu.lab/openai", "https://gpu.lab/openai", ""),
        ("unix:/run/llm.sock", "http://localhost/v1", "http://localhost", "/run/llm.sock"),
        ("unix:///run/llm.sock", "http://localhost/v1", "http://localhost", "/run/llm.sock"),
    ],
)
def test_an_address_is_taken_apart(given: str, base_url: str, root: str, socket: str) -> None:
    address = parse_address(given)
    assert (address.base_url, address.root, address.socket, address.given) == (base_url, root, socket, given)


@pytest.mark.parametrize(
    ("given", "words"),
    [
        ("", "no address"),
        ("localhost:8000", "no address"),
        ("ftp://host/v1", "no address"),
        ("http://", "no address"),
        ("http://host:99999/v1", "no address"),
        ("http://host:port/v1", "no address"),
        ("http://host:0/v1", "no address"),
        ("unix:run/llm.sock", "names no socket"),
        ("unix:", "names no socket"),
        ("unix:///", "names no socket"),
        ("http://me:secret@host/v1", "name or password"),
        ("http://host/v1?key=1", "query"),
        ("http://host/v1#x", "query or a fragment"),
    ],
)
def test_invalid_addresses_are_rejected_without_showing_a_password(given: str, words: str) -> None:
    with pytest.raises(ValueError, match=words) as raised:
        parse_address(given)
    assert "secret" not in str(raised.value)


@pytest.mark.parametrize(
    ("given", "host"),
    [
        ("http://127.0.0.1:1/v1", "127.0.0.1:1"),
        ("https://gpu.lab/llm/v1", "gpu.lab"),
        ("unix:/run/llm.sock", "unix:/run/llm.sock"),
    ],
)
def test_the_host_is_that_of_the_address_or_the_socket(given: str, host: str) -> None:
    assert parse_address(given).host == host
