"""Validation and representation of the language model's settings."""

from __future__ import annotations

import msgspec
import pytest

from shrag.models.chat.settings import LlmSettings


def test_without_an_address_or_a_command_there_is_no_model() -> None:
    settings = LlmSettings()
    assert (settings.url, settings.arguments) == ("", ())


def test_a_command_and_flags_are_words_as_a_shell_splits_them_or_a_list() -> None:
    one = LlmSettings(command="'/a b/python' -m vllm", weights="w", flags="--max-model-len 4096")
    assert one.arguments == ("/a b/python", "-m", "vllm")
    assert one.extra_flags == ("--max-model-len", "4096")
    assert LlmSettings(command=["/a b/python", "-m"], weights="w").arguments == ("/a b/python", "-m")


@pytest.mark.parametrize(
    ("given", "words"),
    [
        ({"url": "unix:/s", "command": "vllm", "weights": "w"}, "are alternatives"),
        ({"command": "vllm"}, "needs weights"),
        ({"command": " ", "weights": "w"}, "command is blank"),
        ({"command": ["", " "], "weights": "w"}, "command is blank"),
        ({"command": "'/a b/python -m vllm", "weights": "w"}, "command cannot be split as in a shell .No closing quot"),
        ({"command": "vllm", "weights": "w", "flags": "--dtype 'half"}, "flags cannot be split as in a shell"),
        ({"url": "localhost:8000"}, "no address"),
        ({"command": "vllm", "weights": "w", "flags": "--uds=/s"}, "flags holds --uds=/s"),
        ({"command": "vllm", "weights": "w", "flags": ["--host", "0.0.0.0"]}, "flags holds --host"),
        ({"command": "vllm", "weights": "w", "flags": "--served_model_name=x"}, "flags holds --served_model_name=x"),
        ({"timeout": 0}, "timeout is 0.0 and must be above 0"),
        ({"read_timeout": float("nan")}, "read_timeout is nan"),
        ({"timeout": float("inf")}, "timeout is inf and must be above 0 and at most 1000000"),
        ({"connect_timeout": 1e12}, "connect_timeout is 1000000000000.0 and must be"),
        ({"max_tokens": -1}, "max_tokens is -1"),
        ({"max_tokens": 0}, "max_tokens is 0"),
        ({"timeout": 1_000_000.5}, "timeout is 1000000.5 and must be"),
        ({"retries": 11}, "retries is 11"),
        ({"retries": -1}, "retries is -1"),
        ({"budget": "50GB"}, "budget is for a server that command starts: add command, or leave budget out"),
        ({"command": "vllm", "weights": "w", "budget": "50G"}, "'50G' is not a size"),
        ({"modle": "x"}, "unknown field `modle`"),
        ({"max_tokens": "many"}, "Expected `int`"),
    ],
)
def test_contradictory_settings_are_rejected(given: dict[str, object], words: str) -> None:
    with pytest.raises(msgspec.ValidationError, match=words):
        msgspec.convert(given, LlmSettings, strict=False)


def test_the_key_is_not_shown() -> None:
    shown = repr(LlmSettings(url="http://127.0.0.1:8000/v1", api_key="very-secret"))
    assert "very-secret" not in shown
    assert "api_key='…'" in shown
    assert "http://127.0.0.1:8000/v1" in shown


@pytest.mark.parametrize(
    "key", ["very-secret\r", "very-secret\n", " very-secret", "very secret", "very-secret-키", "\x7f"]
)
def test_a_key_that_no_request_can_carry_is_rejected_and_not_shown(key: str) -> None:
    with pytest.raises(msgspec.ValidationError, match="api_key has a space, a line break") as rejected:
        msgspec.convert({"url": "http://127.0.0.1:8000/v1", "api_key": key}, LlmSettings, strict=False)
    assert "secret" not in str(rejected.value)


def test_the_fingerprint_changes_with_what_determines_an_answer_and_with_nothing_else() -> None:
    settings = LlmSettings(url=["http://127.0.0.1:8000/v1"], model="m")
    same = LlmSettings(url="http://127.0.0.1:8000/v1", model="m", api_key="k", timeout=9.0, retries=0, log="a.log")
    others = [
        LlmSettings(url="http://127.0.0.1:8001/v1", model="m"),
        LlmSettings(url="http://127.0.0.1:8000/v1", model="n"),
        LlmSettings(url="http://127.0.0.1:8000/v1", model="m", max_tokens=9),
        LlmSettings(url="http://127.0.0.1:8000/v1", model="m", seed=1),
        LlmSettings(command="vllm", weights="w"),
        LlmSettings(command="vllm", weights="v"),
        LlmSettings(command="vllm", weights="w", flags="--dtype float16"),
    ]
    assert same.fingerprint == settings.fingerprint
    assert len({each.fingerprint for each in [settings, *others]}) == 8


def test_several_addresses_are_a_list_or_one_line_with_commas_and_each_is_checked() -> None:
    urls = ("http://10.0.0.1:8000/v1", "unix:/run/llm.sock")
    assert LlmSettings(url=list(urls)).urls == LlmSettings(url=f"{urls[0]}, {urls[1]},").urls == urls
    assert LlmSettings().urls == LlmSettings(url=[]).urls == ()
    with pytest.raises(ValueError, match="'localhost' is no address"):
        LlmSettings(url=f"{urls[0]},localhost")
    with pytest.raises(ValueError, match="an address twice"):
        LlmSettings(url=[urls[0], urls[0]])


def test_what_is_not_given_has_the_values_that_the_guide_names() -> None:
    settings = LlmSettings()
    assert (settings.connect_timeout, settings.read_timeout, settings.timeout) == (5, 120, 300)
    assert (settings.keyword_timeout, settings.start_timeout) == (20, 900)
    assert (settings.retries, settings.max_tokens, settings.seed) == (2, 2048, 0)


def test_the_ends_of_the_ranges_are_taken() -> None:
    settings = LlmSettings(max_tokens=1, retries=0, timeout=1_000_000, read_timeout=1e-6, api_key="!secret~")
    assert (settings.max_tokens, settings.retries, settings.timeout) == (1, 0, 1_000_000)
    assert LlmSettings(retries=10).retries == 10
    assert LlmSettings(command="vllm", weights="w", budget="50GB").budget == "50GB"
