"""Tests of commands in Korean: messages, help and click's own words, with the same exit statuses."""

import json

import pytest

from shrag.cli.main import run


@pytest.fixture(autouse=True)
def korean(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("SHRAG_LANG")
    monkeypatch.setenv("LC_ALL", "ko_KR.UTF-8")


def test_a_usage_error_is_korean_with_the_same_status(capsys: pytest.CaptureFixture[str]) -> None:
    assert run(["serch"]) == 2
    shown = capsys.readouterr().err
    assert "사용법:" in shown
    assert "오류: 'serch': 없는 명령입니다. search 항목을 찾으셨나요?" in shown


def test_clicks_own_errors_are_korean(capsys: pytest.CaptureFixture[str]) -> None:
    assert run(["search", "demo", "x", "-k", "0"]) == 2
    assert "'-k'의 값이 올바르지 않습니다. 0: 1<=x<=1000 범위에 있지 않습니다." in capsys.readouterr().err


def test_help_is_korean_and_english_again_in_the_next_run(
    capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    assert run(["corpus", "add", "--help"]) == 0
    assert "거부를 허용할 최대 행 수." in capsys.readouterr().out
    monkeypatch.setenv("SHRAG_LANG", "en")
    assert run(["corpus", "add", "--help"]) == 0
    assert "Most lines that may be rejected." in capsys.readouterr().out


def test_json_stays_english(capsys: pytest.CaptureFixture[str]) -> None:
    run(["doctor", "--json"])
    lines = [json.loads(line) for line in capsys.readouterr().out.splitlines()]
    assert "GiB free at" in next(line["message"] for line in lines if line["check"] == "Disk")
