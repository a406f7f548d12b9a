from __future__ import annotations

import json
from pathlib import Path

import pytest

from shrag.cli.main import run

pytestmark = pytest.mark.slow

RECORDS = [
    ("G1", "고체 전해질의 계면", "전지의 고체 전해질(solid electrolyte)을 다룬다."),
    ("G2", "고체 전해질 합성", "새로운 고체 전해질(solid electrolyte)을 만든다."),
]


@pytest.fixture
def corpus(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    lines = [json.dumps({"CN": docid, "title": title, "abstract": text}) for docid, title, text in RECORDS]
    (tmp_path / "records.jsonl").write_text("\n".join(lines), encoding="utf-8")
    assert run(["corpus", "add", "small", "--format", "scienceon", "records.jsonl"]) == 0
    assert run(["index", "small"]) == 0
    capsys.readouterr()


def test_a_term_is_looked_up_from_either_language(corpus: None, capsys: pytest.CaptureFixture[str]) -> None:
    assert run(["glossary", "small"]) == 0
    assert capsys.readouterr().out == (
        "고체 전해질\tsolid electrolyte\t2\tparenthetical\t1.00\n"
        "고체\tsolid\t0\tgeneral\t0.71\n"
        "전해질\telectrolyte\t0\tgeneral\t0.71\n"
    )
    assert run(["glossary", "small", "Solid-electrolytes", "--json"]) == 0
    entry = json.loads(capsys.readouterr().out)
    assert (entry["korean"], entry["english_terms"], entry["records"]) == ("고체 전해질", ["solid", "electrolyt"], 2)
    assert run(["glossary", "small", "전지"]) == 0
    captured = capsys.readouterr()
    assert (captured.out, captured.err) == ("", "The glossary of small has no '전지'.\n")
    assert run(["glossary", "small", "없는고체"]) == 0
    captured = capsys.readouterr()
    assert captured.out.startswith("고체\tsolid\t")
    assert captured.err == "Only part of '없는고체' was looked up: 고체.\n"


def test_corrections_are_part_of_the_index_and_stay_with_it(
    corpus: None, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    mine = tmp_path / "mine.tsv"
    mine.write_text("-\t고체 전해질\tsolid electrolyte\n전지\tbattery\n", encoding="utf-8")
    for arguments, says in (
        (["--glossary", str(mine)], "generation 2"),
        (["--glossary", str(mine)], "up to date"),
        ([], "up to date"),
        (["--force"], "generation 3"),
    ):
        assert run(["index", "small", *arguments]) == 0
        assert says in capsys.readouterr().out
    assert run(["glossary", "small"]) == 0
    assert capsys.readouterr().out.splitlines()[0] == "전지\tbattery\t0\tuser\t1.00"
    assert run(["glossary", "small", "고체 전해질"]) == 0
    assert capsys.readouterr().out == ""
    mine.write_text("", encoding="utf-8")
    assert run(["index", "small", "--glossary", str(mine)]) == 0
    capsys.readouterr()
    assert run(["glossary", "small", "전해질"]) == 0
    assert run(["glossary", "small", "고체 전해질"]) == 0
    assert "solid electrolyte" in capsys.readouterr().out


def test_corrections_that_cannot_be_read_end_with_3(
    corpus: None, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    (tmp_path / "bad.tsv").write_text("전지 battery\n", encoding="utf-8")
    assert run(["index", "small", "--glossary", "bad.tsv"]) == 3
    assert "bad.tsv, line 1: '전지 battery' is not a pair" in capsys.readouterr().err
    assert run(["index", "small", "--glossary", "none.tsv"]) == 3
    assert run(["glossary", "none"]) == 4
