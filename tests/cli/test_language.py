"""Tests of commands in Korean: messages, help and click's own words, with the same exit statuses."""

import json
import re
from pathlib import Path

import pytest

from shrag.cli.main import run
from shrag.serving.answering.formats import REASONS
from tests.conftest import ROOT


@pytest.fixture(autouse=True)
def korean(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("SHRAG_LANG")
    monkeypatch.setenv("LC_ALL", "ko_KR.UTF-8")


def test_a_usage_error_is_korean_with_the_same_status(capsys: pytest.CaptureFixture[str]) -> None:
    assert run(["serch"]) == 2
    shown = capsys.readouterr().err
    assert "사용법:" in shown
    assert "오류: 'serch' 명령은 없습니다. 혹시 찾으시는 것이 search인가요?" in shown
    assert "도움말: 'shrag --help'" in shown
    assert run(["corpus", "ad"]) == 2
    assert "'ad' 명령은 없습니다. 혹시 찾으시는 것이 'add'인가요?" in capsys.readouterr().err


def test_clicks_own_errors_are_korean(capsys: pytest.CaptureFixture[str]) -> None:
    assert run(["search", "demo", "x", "-k", "0"]) == 2
    assert "'-k'의 값이 올바르지 않습니다. 0: 1<=x<=1000 범위에 있지 않습니다." in capsys.readouterr().err
    assert run(["plan", "--budget", "50G"]) == 2
    assert "'--budget'의 값이 올바르지 않습니다. '50G': 크기가 아닙니다." in capsys.readouterr().err


@pytest.mark.parametrize(
    ("variable", "value", "says"),
    [
        ("RETRIES", "11", "retries가 11인데 0에서 10 사이여야 합니다"),
        ("TIMEOUT", "0", "timeout: 값이 0.0인데 0보다 크고 1000000 이하여야 합니다"),
        ("URL", "localhost:8000", "'localhost:8000': 엔드포인트의 주소가 아닙니다. http://HOST:PORT/v1이나"),
        ("COMMAND", "'vllm", "command: 셸처럼 단어로 나눌 수 없습니다(No closing quotation)"),
    ],
)
def test_what_is_wrong_in_the_settings_of_the_language_model_is_korean(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str], variable: str, value: str, says: str
) -> None:
    monkeypatch.setenv(f"SHRAG_LLM_{variable}", value)
    assert run(["ask", "demo", "x"]) == 2
    assert f"오류: 언어 모델의 설정이 올바르지 않습니다. {says}" in capsys.readouterr().err


def test_help_is_korean_and_english_again_in_the_next_run(
    capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    assert run(["corpus", "add", "--help"]) == 0
    assert "거부를 허용할 최대 항목 수." in capsys.readouterr().out
    assert run(["run", "--help"]) == 0
    assert "[필수]" in capsys.readouterr().out
    assert run(["ask", "--help"]) == 0
    assert "[기본값: (색인의 값);" in re.sub(r"\s+", " ", capsys.readouterr().out)
    monkeypatch.setenv("SHRAG_LANG", "en")
    assert run(["corpus", "add", "--help"]) == 0
    assert "Maximum number of lines" in capsys.readouterr().out


def test_the_configuration_file_chooses_the_language_and_the_variable_comes_before_it(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    config = tmp_path / "shrag.toml"
    config.write_text('lang = "en"\n')
    run(["serch"])
    assert "There is no command 'serch'." in capsys.readouterr().err
    monkeypatch.setenv("SHRAG_LANG", "ko")
    run(["serch"])
    assert "명령은 없습니다" in capsys.readouterr().err
    config.write_text('lang = "korean"\n')
    assert run(["serch"]) == 2
    assert f"{config}의 lang: 쓸 수 있는 값은 auto, ko, en입니다." in capsys.readouterr().err


def test_what_an_addition_says_is_korean(tmp_path: Path, own_home: Path, capsys: pytest.CaptureFixture[str]) -> None:
    table = tmp_path / "목록.csv"
    table.write_bytes("관리번호,논문 제목,초록,소장처\n1,야간 개관,이용자가 늘었다.,본관\n".encode("cp949"))
    assert run(["corpus", "add", "lib", str(table)]) == 0
    shown = capsys.readouterr()
    assert shown.err == (
        f"{table}: table 형식으로 읽습니다. 판단 근거: 첫 줄에 열 이름이 있는 표(CP949)\n"
        "  id ← 관리번호, title ← 논문 제목, text ← 초록\n"
        "  저장하지만 검색하지 않는 필드: 소장처\n"
        "다음 단계: shrag index lib\n"
    )
    assert shown.out == (
        "자료 lib: 문헌 1건(ko 1건), 답변의 근거로 쓸 수 있는 문헌 1건\n"
        "  읽은 항목 1 = 문헌 1 + 거부 0 + 중복 0 + 빈 항목 0\n"
        "  추가 1건, 변경 0건, 삭제 0건, 그대로 0건\n"
    )


def test_the_korean_tutorial_shows_what_the_dry_run_of_its_file_prints(
    tmp_path: Path, own_home: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    page = (ROOT / "docs" / "ko" / "tutorial.md").read_text(encoding="utf-8")
    (table,) = re.findall(r"<<'END'\n(.*?)END\n", page, re.DOTALL)
    (shown,) = re.findall(r"```text\n(catalogue\.csv: .*?)```", page, re.DOTALL)
    monkeypatch.chdir(tmp_path)
    (tmp_path / "catalogue.csv").write_bytes(table.encode("cp949"))
    assert run(["corpus", "add", "lib", "catalogue.csv", "--dry-run"]) == 0
    printed = capsys.readouterr()
    assert {*shown.splitlines()} - {*printed.out.splitlines(), *printed.err.splitlines()} == {"  …"}


def test_json_stays_english(capsys: pytest.CaptureFixture[str]) -> None:
    run(["doctor", "--json"])
    lines = [json.loads(line) for line in capsys.readouterr().out.splitlines()]
    assert "GiB free at" in next(line["message"] for line in lines if line["check"] == "Disk")


def test_a_refusal_is_in_the_language_of_the_question_or_of_the_locale_where_no_word_shows_one(
    demo_home: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("SHRAG_HOME", str(demo_home))
    for command in (["ask", "demo"], ["search", "demo"]):
        for question, said in (("ZQX5", REASONS["ko"]), ("What is ZQX5?", REASONS["en"])):
            assert run([*command, question]) == 0
            captured = capsys.readouterr()
            assert said["unknown_words"] in captured.out + captured.err
