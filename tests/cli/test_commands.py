"""The commands, run in one process."""

from __future__ import annotations

import csv
import hashlib
import io
import json
import re
import shutil
from pathlib import Path

import pytest

from shrag.cli.main import COMMANDS, run
from shrag.corpora.store.open_corpus import open_corpus

DEMO = Path(__file__).resolve().parents[2] / "corpora" / "demo"


@pytest.mark.slow
def test_from_records_to_a_cited_answer(own_home: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert run(["corpus", "add", "demo", "--format", "scienceon", str(DEMO / "records.jsonl")]) == 0
    out = capsys.readouterr().out
    assert "corpus demo: 235 records (97 en, 138 ko), 226 complete" in out
    assert "235 lines read = 235 records + 0 rejected + 0 duplicates + 0 blank" in out
    assert run(["index", "demo"]) == 0
    assert "index demo: generation 1, 235 records" in capsys.readouterr().out
    assert run(["index", "demo"]) == 0
    assert "up to date" in capsys.readouterr().out
    assert run(["search", "demo", "그래핀 전자파 차폐", "-k", "1"]) == 0
    assert "DEMO-MAT-001" in capsys.readouterr().out
    assert run(["ask", "demo", "재택근무를 많이 할수록 갈등이 커지는가?"]) == 0
    out = capsys.readouterr().out
    assert out.startswith("[발췌 답변: 언어 모델을 쓰지 않고")
    assert "##재택근무 강도와 일·가정 갈등 : 직무 자율성의 조절 효과 [1]##" in out
    assert "[1] DEMO-SOC-012  재택근무 강도와 일·가정 갈등 : 직무 자율성의 조절 효과" in out
    assert (own_home / "indexes" / "demo" / "CURRENT").is_file()
    assert run(["search", "demo", "그래핀", "--strategy", "hybrid"]) == 4
    assert "build it with `shrag index demo --encoder lsa`" in capsys.readouterr().err
    assert run(["index", "demo", "--encoder", "lsa"]) == 0
    assert "index demo: generation 2, 235 records" in capsys.readouterr().out
    assert run(["search", "demo", "그래핀 전자파 차폐", "-k", "1", "--strategy", "hybrid"]) == 0
    assert run(["search", "demo", "그래핀 전자파 차폐", "--strategy", "retrieve(9) > rerank(1)"]) == 0
    assert "DEMO-MAT-001" in capsys.readouterr().out


def test_the_authors_that_a_question_names_are_said_with_the_option_that_filters_by_one(
    demo_home: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setenv("SHRAG_HOME", str(demo_home))
    assert run(["search", "demo", "papers by Ferrand"]) == 0
    printed = capsys.readouterr()
    assert "DEMO-MAT-001" in printed.out
    assert printed.err == "Author of this name: Maddox Ferrand.\n"
    assert run(["search", "demo", "Ferrand graphene", "-k", "1"]) == 0
    printed = capsys.readouterr()
    assert "DEMO-MAT-001" in printed.out
    assert "--author 'Maddox Ferrand' shows only the records of this author." in printed.err.splitlines()
    assert run(["ask", "demo", "Ferrand tides", "--author", "Maddox Ferrand"]) == 0
    assert "of this name" not in capsys.readouterr().err


@pytest.mark.slow
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
    assert float(ndcg) == pytest.approx(0.957, abs=0.001)


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
        (["ask", "demo", "q", "--strategy", "x"], 2, "There is no strategy 'x': use one of shrag, bm25"),
        (["search", "demo", "q", "--strategy", "retrive(5)"], 2, "'retrive': did you mean retrieve?"),
        (["ask", "demo", "q", "--strategy", "augment(2) > retrieve(5)"], 2, "ends with 3 lists: put rrf(15)"),
        (["corpus", "add", "demo", "--format", "csv", "x"], 2, "'csv' is not one of"),
        (["search", "demo", ""], 3, "The question is empty: write one."),
        (["ask", "demo", "가" * 100_000], 3, "has 100000 characters"),
        (["corpus", "add", "A b", "--format", "miracl", "x"], 3, "cannot be a name"),
        (["corpus", "add", "demo", "--format", "miracl", "nothing.jsonl"], 3, "nothing.jsonl does not exist"),
        (["index", "nothing"], 3, "There is no corpus 'nothing'"),
        (["evaluate", "--qrels", "none", "--run", "none"], 3, "none does not exist"),
        (["search", "demo", "q", "--set", "ands"], 2, "--set ands has no value: write KEY=VALUE"),
        (["search", "demo", "q", "--set", "and=1"], 2, "There is no setting 'and': use keywords, ands"),
        (
            ["search", "demo", "q", "--set", "words=big"],
            2,
            "The setting words is 'big': use one of auto, known, blanks, morphemes, compound, both",
        ),
        (["search", "demo", "q", "--strategy", "bm25", "--set", "ands=1"], 2, "The strategy bm25 has no setting ands"),
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


def test_a_corpus_shows_what_it_holds_and_what_it_left_out(
    own_home: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    good = '{"CN": "A1", "title": "가", "abstract": "나."}'
    (tmp_path / "a.jsonl").write_text(f"{good}\n{{broken\n{good}\n")
    add = ["corpus", "add", "c", "--format", "scienceon", "a.jsonl"]
    assert run(["corpus", "rejects", "c"]) == 3
    assert "There is no corpus 'c'" in capsys.readouterr().err
    assert run(add) == 3
    capsys.readouterr()
    assert run(["corpus", "list"]) == 0
    assert capsys.readouterr().out == ""
    assert run(["corpus", "rejects", "c"]) == 0
    told = capsys.readouterr()
    assert "was refused, and nothing of it was stored. The lines that it would have left out:" in told.err
    assert "stored corpus" not in told.err
    assert told.out.startswith("a.jsonl line 2 (byte 49): not a JSON object")
    assert run([*add, "--max-rejects", "1"]) == 0
    out = capsys.readouterr().out
    assert "3 lines read = 1 records + 1 rejected + 1 duplicates + 0 blank" in out
    assert "1 added, 0 changed, 0 deleted, 0 unchanged" in out
    assert run([*add, "--max-rejects", "1"]) == 0
    assert "0 added, 0 changed, 0 deleted, 1 unchanged: nothing to store" in capsys.readouterr().out
    assert run(["corpus", "show", "c"]) == 0
    out = capsys.readouterr().out
    assert "corpus c: 1 records (1 ko), 1 complete" in out
    assert f"SHA-256 {hashlib.sha256((tmp_path / 'a.jsonl').read_bytes()).hexdigest()}" in out
    assert run(["corpus", "show", "c", "--json"]) == 0
    manifest = json.loads(capsys.readouterr().out)
    assert (manifest["records"], manifest["linked"], manifest["sources"][0]["rejected"]) == (1, 0, 1)
    assert run(["corpus", "rejects", "c", "--json"]) == 0
    reject = json.loads(capsys.readouterr().out)
    assert (reject["file"], reject["line"], reject["offset"], reject["stored"]) == ("a.jsonl", 2, 49, True)
    assert run(["corpus", "list"]) == 0
    assert capsys.readouterr().out.startswith("c  1 records (1 ko), 1 complete  20")
    (tmp_path / "b.jsonl").write_text(good.replace("나", "다") + "\n")
    (tmp_path / "c.jsonl").write_text(good + "\n")
    assert run(["corpus", "replace", "c", "--format", "scienceon", "a.jsonl", "b.jsonl", "--max-rejects", "1"]) == 3
    assert "A1, in a.jsonl line 1 and in b.jsonl line 1" in capsys.readouterr().err
    assert run(["corpus", "rejects", "c", "--json"]) == 0  # of the failed addition, then those of what is stored
    told = capsys.readouterr()
    assert "\nThe lines that the stored corpus c left out:\n" in told.err
    found = [json.loads(line) for line in told.out.splitlines()]
    assert [(each["file"], each["stored"]) for each in found] == [
        ("a.jsonl", False),
        ("b.jsonl", False),
        ("a.jsonl", True),
    ]
    assert run(["corpus", "add", "c", "--format", "scienceon", "b.jsonl"]) == 0
    out = capsys.readouterr().out
    assert "1 superseded" in out
    assert "\n  rejects, superseded records: " in out
    assert "0 added, 1 changed, 0 deleted, 0 unchanged" in out
    assert run(["corpus", "add", "d", "--format", "scienceon", "--on-duplicate", "first", "b.jsonl", "c.jsonl"]) == 0
    assert re.search(r"^  superseded records: \S+$", capsys.readouterr().out, re.MULTILINE)


def test_a_year_that_is_none_is_kept_as_a_further_field_and_counted(
    own_home: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    (tmp_path / "y.csv").write_text("id,title,year\n1,One,이천이십\n2,Two,20l9\n3,Three,2019\n4,Four,\n")
    for options in (["a"], ["b", "--no-repair"]):
        assert run(["corpus", "add", *options, "y.csv"]) == 0
        assert "\n  values that are not years, kept as other fields: 2\n" in capsys.readouterr().out
    _, records = open_corpus(own_home / "corpora", "a")
    assert [(record.year, dict(record.other)) for record in records] == [
        (None, {"year": "이천이십"}),
        (None, {"year": "20l9"}),
        (2019, {}),
        (None, {}),
    ]


def test_a_question_with_nothing_to_find_says_why(
    demo_home: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setenv("SHRAG_HOME", str(demo_home))
    assert run(["search", "demo", "?!"]) == 0
    captured = capsys.readouterr()
    assert (captured.out, "no word to search for" in captured.err) == ("", True)
    assert run(["ask", "demo", "김치찌개는?"]) == 0
    assert (
        capsys.readouterr().out == "질문의 단어가 이 색인의 제목과 초록에 하나도 없습니다. 다른 단어로 질문해 주세요.\n"
    )


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
    assert "build the demonstration index with `shrag index demo`" in out
    (own_home / "indexes" / "bad").mkdir(parents=True)
    (own_home / "indexes" / "bad" / "CURRENT").write_text("nonsense")
    assert run(["doctor", "--json"]) == 4
    findings = [json.loads(line) for line in capsys.readouterr().out.splitlines()]
    (bad,) = [finding for finding in findings if finding["status"] == "failure"]
    assert bad["check"] == "Index bad"


def test_doctor_checks_the_weights_there_are(
    own_home: Path, encoder_folder: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert run(["doctor"]) == 0
    assert f"none under {own_home}/weights" in capsys.readouterr().out
    shutil.copytree(encoder_folder, own_home / "weights" / "KURE-v1")
    shutil.copytree(encoder_folder, own_home / "weights" / "gte")
    assert run(["doctor", "--json"]) == 6
    findings = {each["check"]: each for each in map(json.loads, capsys.readouterr().out.splitlines())}
    assert findings["KURE-v1"]["message"].startswith("complete; the catalogue has no checksums for this model")
    assert "is not the model.safetensors of gte-multilingual-base" in findings["gte-multilingual-base"]["message"]


@pytest.mark.parametrize(
    "arguments", [["--help"], ["--version"], *([name, "--help"] for name in COMMANDS), ["corpus", "add", "-h"]]
)
def test_every_command_explains_itself(arguments: list[str], capsys: pytest.CaptureFixture[str]) -> None:
    assert run(arguments) == 0
    assert "shrag" in capsys.readouterr().out.lower()


@pytest.mark.slow
def test_settings_reach_the_search_and_the_run(
    demo_home: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setenv("SHRAG_HOME", str(demo_home))

    def found(*arguments: str) -> list[str]:
        assert run(["search", "demo", "그래핀 전자파 차폐", "-k", "40", "--json", *arguments]) == 0
        return [json.loads(line)["record"]["docid"] for line in capsys.readouterr().out.splitlines()]

    few = found("--set", "ands=9", "--set", " languages = ko ")
    assert few[0] == "DEMO-MAT-001"
    assert len(few) < len(found())
    assert found("--set", "ands=9", "--set", "ands=0") == found()
    files = tmp_path / "few.run", tmp_path / "all.run"
    topics = ["--topics", str(DEMO / "topics.tsv")]
    assert run(["run", "demo", *topics, "--output", str(files[0]), "--set", "ands=9"]) == 0
    assert run(["run", "demo", *topics, "--output", str(files[1])]) == 0
    lines = [len(file.read_text(encoding="utf-8").splitlines()) for file in files]
    assert lines[0] < lines[1]


@pytest.mark.slow
def test_a_search_says_on_standard_error_what_was_not_found_whatever_is_printed(
    demo_home: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setenv("SHRAG_HOME", str(demo_home))
    for form in ([], ["--json"], ["--export", "bibtex"]):
        assert run(["search", "demo", "zzzqqq", *form]) == 0
        printed = capsys.readouterr()
        assert printed.out == ""
        assert "None of the question's words is in a title or abstract" in printed.err
    assert run(["search", "demo", "zzzqqq graphene", "-k", "1", "--json"]) == 0
    printed = capsys.readouterr()
    assert json.loads(printed.out)["rank"] == 1
    assert printed.err == "No record has these words: zzzqqq\n"


def test_a_search_exported_as_csv_is_a_table(
    demo_home: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setenv("SHRAG_HOME", str(demo_home))
    assert run(["search", "demo", "salt marsh carbon", "-k", "1", "--export", "csv"]) == 0
    printed = capsys.readouterr().out
    names, record = csv.reader(io.StringIO(printed.removeprefix("\ufeff")))
    assert (names[0], names[-1]) == ("docid", "text")
    assert "\\u" not in record[-1]


def test_a_search_says_which_records_not_leaves_out(
    demo_home: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setenv("SHRAG_HOME", str(demo_home))
    assert run(["search", "demo", 'learning outcomes NOT ("distance education" OR students)', "-k", "1"]) == 0
    assert "Left out are records with: distance education, students\n" in capsys.readouterr().err
    assert run(["search", "demo", "learning outcomes", "-k", "1"]) == 0
    assert "Left out" not in capsys.readouterr().err


def test_a_search_in_json_ends_with_a_summary_where_it_is_asked_for(
    demo_home: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setenv("SHRAG_HOME", str(demo_home))
    asked = ["search", "demo", "zzzqqq salt marsh carbon", "-k", "2", "--json"]
    assert run(asked) == 0
    records = capsys.readouterr().out
    assert run([*asked, "--summary"]) == 0
    printed = capsys.readouterr().out
    assert printed.startswith(records)
    summary = json.loads(printed.removeprefix(records))
    assert list(summary) == ["confidence", "reason", "message", "unknown_words"]
    assert list(summary["confidence"]) == ["value", "level", "uncovered", "threshold", "lacking"]
    assert (summary["reason"], summary["message"], summary["unknown_words"]) == ("", "", ["zzzqqq"])
    assert run(["search", "demo", "zzzqqq", "--json", "--summary"]) == 0
    nothing = json.loads(capsys.readouterr().out)
    assert (nothing["reason"], nothing["unknown_words"]) == ("unknown_words", ["zzzqqq"])
    assert nothing["message"].startswith("None of the question's words is in a title or abstract")
    assert run(["search", "demo", "salt", "--summary"]) == 2
    assert "--summary is a line of JSON: add --json." in capsys.readouterr().err


def test_a_search_goes_on_at_an_offset(
    demo_home: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setenv("SHRAG_HOME", str(demo_home))
    assert run(["search", "demo", "salt marsh carbon", "-k", "2", "--offset", "2", "--json"]) == 0
    assert [json.loads(line)["rank"] for line in capsys.readouterr().out.splitlines()] == [3, 4]
    assert run(["search", "demo", "그래핀", "--offset", "90"]) == 0
    assert capsys.readouterr().err.startswith("검색 결과가 더 없습니다.")
    assert run(["search", "demo", "그래핀", "--offset", "91"]) == 3
    assert "offset must be from 0 to 90 where k is 10, got 91" in capsys.readouterr().err


def test_a_topic_in_two_files_of_one_run_is_refused(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    topics = [tmp_path / "one.tsv", tmp_path / "two.tsv"]
    for path in topics:
        path.write_text("q7\tgraphene\n")
    files = [argument for path in topics for argument in ("--topics", str(path))]
    assert run(["run", "demo", *files, "--output", str(tmp_path / "a.run")]) == 2
    assert "Two of the topics files have the topic q7" in capsys.readouterr().err


def test_a_run_and_its_outcomes_are_not_written_to_one_file(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    for same in (tmp_path / "a.run", "sub/../a.run"):
        files = ["--output", "a.run", "--outcomes", str(same)]
        assert run(["run", "demo", "--topics", str(DEMO / "topics.tsv"), *files]) == 2
        assert "--output and --outcomes name the same file" in capsys.readouterr().err


@pytest.mark.parametrize("files", [["--output", "link.tsv"], ["--output", "a.run", "--outcomes", "sub/../one.tsv"]])
def test_a_run_does_not_overwrite_its_topics(
    tmp_path: Path, files: list[str], monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.chdir(tmp_path)
    Path("one.tsv").write_text("q7\tgraphene\n")
    Path("link.tsv").symlink_to("one.tsv")
    assert run(["run", "demo", "--topics", "one.tsv", *files]) == 2
    assert "one.tsv holds the topics and would be overwritten: write to another file." in capsys.readouterr().err


@pytest.mark.slow
def test_filters_reach_the_search_the_answer_and_the_run(
    demo_home: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setenv("SHRAG_HOME", str(demo_home))

    def years(*arguments: str) -> set[int]:
        assert run(["search", "demo", "그래핀 전자파 차폐", "-k", "100", "--json", *arguments]) == 0
        return {json.loads(line)["record"]["year"] for line in capsys.readouterr().out.splitlines()}

    assert years("--year", "2022") == {2022}
    assert min(years("--year", "2022-")) == 2022
    assert max(years("--year", "-2022")) == 2022
    assert years("--year", "2022 - 2023", "--language", "ko", "--language", "en") == {2022, 2023}
    assert run(["ask", "demo", "그래핀 전자파 차폐", "--journal", "No such journal", "--facets"]) == 0
    out = capsys.readouterr().out
    assert out.startswith("0 hits\njournal:\n")
    assert run(["search", "demo", "dairy cow heat stress", "--type", "nonsense"]) == 0
    assert "No hit passes the filter type: nonsense. Values of the hits: none." in capsys.readouterr().err
    assert run(["ask", "demo", "dairy cow heat stress", "--language", "und"]) == 0
    assert "No hit passes the filter language: und. Values of the hits: ko, en." in capsys.readouterr().err
    assert run(["search", "demo", "dairy cow heat stress", "--year", "2015-", "-k", "1"]) == 0
    captured = capsys.readouterr()
    assert captured.err == "hits without a year, which --year leaves out: 1\n"
    assert "hits" not in captured.out
    topics = ["--topics", str(DEMO / "topics.tsv")]
    assert run(["run", "demo", *topics, "--output", str(tmp_path / "ko.run"), "--language", "ko"]) == 0
    assert run(["run", "demo", *topics, "--output", str(tmp_path / "all.run")]) == 0
    lines = [len((tmp_path / name).read_text(encoding="utf-8").splitlines()) for name in ("ko.run", "all.run")]
    assert 0 < lines[0] < lines[1]
    for wrong in ("x", "2020-2010", "20155", "2015 2016", "-"):
        assert run(["search", "demo", "x", "--year", wrong]) == 2
    assert "--year - is not a range of years: write 2015, 2015-2020, 2015- or -2020." in capsys.readouterr().err
