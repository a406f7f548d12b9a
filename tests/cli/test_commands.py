"""The commands, run as a user runs them, in one process."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from shrag.cli.main import COMMANDS, run

DEMO = Path(__file__).resolve().parents[2] / "corpora" / "demo"


def test_from_records_to_a_cited_answer(own_home: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert run(["corpus", "add", "demo", "--format", "scienceon", str(DEMO / "records.jsonl")]) == 0
    out = capsys.readouterr().out
    assert "corpus demo: 170 records (59 en, 111 ko), 162 complete" in out
    assert "170 lines read = 170 records + 0 rejected + 0 duplicates + 0 blank" in out
    assert run(["index", "demo"]) == 0
    assert "index demo: generation 1, 170 records" in capsys.readouterr().out
    assert run(["index", "demo"]) == 0
    assert "up to date" in capsys.readouterr().out
    assert run(["search", "demo", "그래핀 전자파 차폐", "-k", "1"]) == 0
    assert "DEMO-MAT-001" in capsys.readouterr().out
    assert run(["ask", "demo", "재택근무를 많이 할수록 갈등이 커지는가?"]) == 0
    out = capsys.readouterr().out
    assert out.startswith("[발췌 답변: 언어 모델 없이")
    assert "##결론##" in out
    assert "[1] DEMO-SOC-004  재택근무 강도와 일-가정 갈등: 직무 자율성의 조절효과" in out
    assert (own_home / "indexes" / "demo" / "CURRENT").is_file()


def test_a_run_and_its_evaluation(
    demo_home: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setenv("SHRAG_HOME", str(demo_home))
    output = tmp_path / "demo.run"
    assert run(["run", "demo", "--topics", str(DEMO / "topics.tsv"), "--output", str(output), "-k", "20"]) == 0
    arguments = ["--qrels", str(DEMO / "qrels.txt"), "--run", str(output), "--measures", "nDCG@10 Success@10"]
    assert run(["evaluate", *arguments]) == 0
    header, values = capsys.readouterr().out.splitlines()
    assert header == "run\tnDCG@10\tSuccess@10"
    path, ndcg, success = values.split("\t")
    assert (path, success) == (str(output), "1.0000")
    assert float(ndcg) == pytest.approx(0.965, abs=0.001)


def test_json_is_one_object_a_line(
    demo_home: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setenv("SHRAG_HOME", str(demo_home))
    assert run(["search", "demo", "salt marsh", "-k", "2", "--json"]) == 0
    records = [json.loads(line) for line in capsys.readouterr().out.splitlines()]
    assert [record["rank"] for record in records] == [1, 2]
    assert run(["ask", "demo", "salt marsh", "--json"]) == 0
    events = [json.loads(line)["event"] for line in capsys.readouterr().out.splitlines()]
    assert (events[0], events[-2:]) == ("keywords", ["answer", "timings"])


@pytest.mark.parametrize(
    ("arguments", "status", "says"),
    [
        (["serch"], 2, "There is no command 'serch'. Did you mean search?"),
        (["search"], 2, "Missing argument 'NAME'"),
        (["search", "demo", "q", "-k", "0"], 2, "0 is not in the range"),
        (["ask", "demo", "q", "--strategy", "x"], 2, "'x' is not one of"),
        (["corpus", "add", "demo", "--format", "csv", "x"], 2, "'csv' is not one of"),
        (["search", "demo", ""], 3, "The question is empty: write one."),
        (["ask", "demo", "가" * 100_000], 3, "has 100000 characters"),
        (["corpus", "add", "A b", "--format", "miracl", "x"], 3, "cannot be a name"),
        (["corpus", "add", "demo", "--format", "miracl", "nothing.jsonl"], 3, "nothing.jsonl does not exist"),
        (["index", "nothing"], 3, "There is no corpus 'nothing'"),
        (["evaluate", "--qrels", "none", "--run", "none"], 3, "none does not exist"),
        (["search", "nothing", "q"], 4, "There is no index 'nothing'"),
        (["ask", "nothing", "q"], 4, "build it with `shrag index nothing`"),
    ],
)
def test_what_goes_wrong_is_said_and_has_its_exit_status(
    demo_home: Path,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
    arguments: list[str],
    status: int,
    says: str,
) -> None:
    monkeypatch.setenv("SHRAG_HOME", str(demo_home))
    assert run(arguments) == status
    captured = capsys.readouterr()
    assert says in captured.err
    assert captured.out == ""
    assert "Traceback" not in captured.err


def test_a_question_with_nothing_to_find_says_why(
    demo_home: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setenv("SHRAG_HOME", str(demo_home))
    assert run(["search", "demo", "?!"]) == 0
    captured = capsys.readouterr()
    assert (captured.out, "no word to search for" in captured.err) == ("", True)
    assert run(["ask", "demo", "김치찌개는?"]) == 0
    assert capsys.readouterr().out == "질문의 낱말이 이 색인에 하나도 없습니다. 다른 낱말로 물어 보세요.\n"


def test_the_configuration_file_gives_options_and_misspelt_ones_are_refused(
    demo_home: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.delenv("SHRAG_HOME")
    config = tmp_path / "shrag.toml"
    config.write_text(f'home = "{demo_home}"\n[search]\nk = 2\n')
    assert run(["search", "demo", "salt marsh carbon"]) == 0
    assert capsys.readouterr().out.count("\n") == 4
    monkeypatch.setenv("SHRAG_SEARCH_K", "1")
    assert run(["search", "demo", "salt marsh carbon"]) == 0
    assert capsys.readouterr().out.count("\n") == 2
    for text, problem in (
        ("[search]\nkk = 2\n", "[search] in shrag.toml has no option 'kk'"),
        ("hom = 1\n", "unknown key 'hom'"),
        ("[search\n", "is not TOML"),
    ):
        config.write_text(text)
        assert run(["search", "demo", "q"]) == 2
        assert problem in capsys.readouterr().err


def test_doctor_finds_what_is_whole_and_what_is_damaged(own_home: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert run(["doctor"]) == 0
    out = capsys.readouterr().out
    assert "Java 21" in out
    assert "Lucene 9.9.1" in out
    assert "make one with `make index`" in out
    (own_home / "indexes" / "bad").mkdir(parents=True)
    (own_home / "indexes" / "bad" / "CURRENT").write_text("nonsense")
    assert run(["doctor", "--json"]) == 4
    findings = [json.loads(line) for line in capsys.readouterr().out.splitlines()]
    (bad,) = [finding for finding in findings if finding["status"] == "fail"]
    assert bad["what"] == "Index bad"


@pytest.mark.parametrize(
    "arguments", [["--help"], ["--version"], *([name, "--help"] for name in COMMANDS), ["corpus", "add", "-h"]]
)
def test_every_command_explains_itself(arguments: list[str], capsys: pytest.CaptureFixture[str]) -> None:
    assert run(arguments) == 0
    assert "shrag" in capsys.readouterr().out.lower()
