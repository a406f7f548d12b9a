"""``shrag evaluate`` and ``shrag compare`` over small files."""

from __future__ import annotations

import gzip
import json
import re
from pathlib import Path

import pytest

from shrag.cli.commands.compare import print_comparison
from shrag.cli.main import run
from shrag.evaluation.statistics.comparison import compare, largest_changes

QRELS = "q1\tQ0\t1#0\t1\nq2\tQ0\t2#0\t1\nq3\tQ0\t3#0\t1\n"
A = "q1 Q0 9#0 1 2.0 a\nq1 Q0 1#0 2 1.0 a\nq2 Q0 2#1 1 1.0 a\n"
B = "q1 Q0 1#0 1 2.0 b\nq2 Q0 2#0 1 2.0 b\nq3 Q0 3#0 1 2.0 b\n"


@pytest.fixture(autouse=True)
def files(tmp_path: Path) -> None:
    (tmp_path / "qrels").write_text(QRELS)
    (tmp_path / "a").write_text(A)
    (tmp_path / "b.gz").write_bytes(gzip.compress(B.encode()))
    (tmp_path / "topics").write_text("q1\t그래핀은?\nq2\tWhat?\nq3\tWhy?\n")


def _table(capsys: pytest.CaptureFixture[str]) -> list[list[str]]:
    return [line.split("\t") for line in capsys.readouterr().out.splitlines()]


def test_runs_are_rows_and_topics_without_a_line_are_said(capsys: pytest.CaptureFixture[str]) -> None:
    names = "RR QSR@5 QSR(level='article')@5 RR"
    assert run(["evaluate", "--qrels", "qrels", "--run", "a", "--run", "b.gz", "--measures", names]) == 0
    captured = capsys.readouterr()
    assert captured.out.splitlines() == [
        "run\tRR\tQSR@5\tQSR(level='article')@5",
        "a\t0.1667\t0.3333\t0.6667",
        "b.gz\t1.0000\t1.0000\t1.0000",
    ]
    assert captured.err == "a has no line for 1 of 3 judged topics: they score 0.\n"


def test_intervals_and_tests_are_columns_behind_each_measure(capsys: pytest.CaptureFixture[str]) -> None:
    arguments = ["--qrels", "qrels", "--baseline", "a", "--run", "b.gz", "--measures", "RR", "--intervals"]
    assert run(["evaluate", *arguments]) == 0
    header, first, second = _table(capsys)
    assert header == ["run", "RR", "RR.low", "RR.high", "RR.difference", "RR.p", "RR.p_holm"]
    assert [first[0], *first[4:]] == ["a", "", "", ""]
    # Differences 0.5, 1, 1: two of the eight exchanges are as large. All of b's values are 1: Wilson's [0.4385, 1].
    assert second == ["b.gz", "1.0000", "0.4385", "1.0000", "+0.8333", "0.25", "0.25"]


def test_topics_are_lines_and_everything_is_json_too(capsys: pytest.CaptureFixture[str]) -> None:
    assert run(["evaluate", "--qrels", "qrels", "--run", "a", "--measures", "RR", "--per-topic"]) == 0
    assert _table(capsys) == [["run", "qid", "RR"], ["a", "q1", "0.5000"], ["a", "q2", "0.0000"], ["a", "q3", "0.0000"]]
    assert run(["evaluate", "--qrels", "qrels", "--run", "a", "--measures", "RR", "--per-topic", "--json"]) == 0
    first = capsys.readouterr().out.splitlines()[0]
    assert json.loads(first) == {"run": "a", "qid": "q1", "measures": {"RR": 0.5}}
    assert run(["evaluate", "--qrels", "qrels", "--baseline", "a", "--run", "b.gz", "--measures", "RR", "--json"]) == 0
    rows = [json.loads(line) for line in capsys.readouterr().out.splitlines()]
    assert rows[0] == {"run": "a", "measures": {"RR": {"mean": pytest.approx(1 / 6)}}}
    assert rows[1]["measures"]["RR"]["difference"]["wins"] == 3
    assert list(rows[1]["measures"]["RR"]["difference"]) == [
        *("mean", "interval", "p", "p_holm", "wins", "ties", "losses"),
    ]


def test_the_least_grade_holds_for_measures_that_do_not_name_one(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    (tmp_path / "graded").write_text("q1 0 9#0 1\nq1 0 1#0 2\n")
    command = ["evaluate", "--qrels", "graded", "--run", "a", "--measures", "RR RR(rel=1) Success@1"]
    assert run(command) == 0
    assert _table(capsys)[1:] == [["a", "1.0000", "1.0000", "1.0000"]]
    assert run([*command, "--min-grade", "2"]) == 0
    assert _table(capsys)[1:] == [["a", "0.5000", "1.0000", "0.0000"]]


def test_two_runs_compare_with_the_questions_that_changed_most(capsys: pytest.CaptureFixture[str]) -> None:
    arguments = ["a", "b.gz", "--qrels", "qrels", "--measures", "RR QSR@5", "--topics", "topics", "-n", "2"]
    assert run(["compare", *arguments]) == 0
    table = _table(capsys)
    assert table[0] == "measure A B difference low high p p_holm wins ties losses".split()
    assert table[1][:4] == ["RR", "0.1667", "1.0000", "+0.8333"]
    assert table[1][6:] == ["0.25", "0.5", "3", "0", "0"]
    assert table[2][6:] == ["0.5", "0.5", "2", "1", "0"]
    assert table[3:] == [
        [""],
        ["qid", "A", "B", "RR", "question"],
        ["q2", "0.0000", "1.0000", "+1.0000", "What?"],
        ["q3", "0.0000", "1.0000", "+1.0000", "Why?"],
    ]
    assert run(["compare", *arguments, "--by", "QSR@5", "--json"]) == 0
    rows = [json.loads(line) for line in capsys.readouterr().out.splitlines()]
    assert [row.get("qid", row["measure"]) for row in rows] == ["RR", "QSR@5", "q2", "q3"]
    assert rows[2] == {"measure": "QSR@5", "qid": "q2", "a": 0.0, "b": 1.0, "question": "What?"}


def test_json_names_the_set_that_was_compared(capsys: pytest.CaptureFixture[str]) -> None:
    differences = compare({"RR": {"q1": 0.0}}, {"RR": {"q1": 1.0}})
    changes = largest_changes({"q1": 0.0}, {"q1": 1.0}, 1)
    for name in ("wiki-ko", "wiki-en"):
        print_comparison(differences, "RR", changes, {}, as_json=True, set_name=name)
    rows = [json.loads(line) for line in capsys.readouterr().out.splitlines()]
    assert [(row["set"], row.get("qid")) for row in rows] == [
        *(("wiki-ko", None), ("wiki-ko", "q1"), ("wiki-en", None), ("wiki-en", "q1")),
    ]


def test_without_topics_there_is_no_column_of_questions(capsys: pytest.CaptureFixture[str]) -> None:
    assert run(["compare", "a", "b.gz", "--qrels", "qrels", "--measures", "RR", "-n", "1"]) == 0
    assert _table(capsys)[-2:] == [["qid", "A", "B", "RR"], ["q2", "0.0000", "1.0000", "+1.0000"]]


def test_a_run_compared_with_itself_has_no_difference(capsys: pytest.CaptureFixture[str]) -> None:
    assert run(["compare", "a", "a", "--qrels", "qrels", "--measures", "RR"]) == 0
    assert _table(capsys)[1:] == [
        ["RR", "0.1667", "0.1667", "+0.0000", "+0.0000", "+0.0000", "1", "1", "0", "3", "0"],
    ]


@pytest.mark.parametrize(
    ("arguments", "status", "says"),
    [
        (["evaluate", "--qrels", "qrels"], 2, "Missing option '--run'"),
        (["evaluate", "--qrels", "qrels", "--run", "a", "--measures", " "], 2, "--measures is empty"),
        (["evaluate", "--qrels", "qrels", "--run", "a", "--per-topic", "--intervals"], 2, "--per-topic excludes"),
        (["evaluate", "--qrels", "qrels", "--run", "a", "--level", "1"], 2, "1.0 is not in the range"),
        (["evaluate", "--qrels", "qrels", "--run", "a", "--measures", "Nope@5"], 3, "'Nope@5' is not a measure"),
        (["evaluate", "--qrels", "qrels", "--run", "topics"], 3, "topics line 1 is not a run line"),
        (["evaluate", "--qrels", "a", "--run", "a"], 3, "a line 1 is not a judgement"),
        (["compare", "a", "b.gz", "--qrels", "qrels", "--by", "AP"], 2, "--by AP is not among --measures"),
        (["compare", "a", "b.gz", "--qrels", "qrels", "-n", "-1"], 2, "-1 is not in the range x>=0"),
        (["compare", "a", "none", "--qrels", "qrels"], 3, "none does not exist"),
    ],
)
def test_what_cannot_be_judged_is_said_in_one_line(
    capsys: pytest.CaptureFixture[str], arguments: list[str], status: int, says: str
) -> None:
    assert run(arguments) == status
    captured = capsys.readouterr()
    assert says in captured.err
    assert captured.out == ""


OUTCOMES = (
    '{"qid":"q1","num_retrieved":1,"top_docids":["1#0"],"confidence":0.9,"threshold":0.3}\n'
    '{"qid":"q2","num_retrieved":1,"top_docids":["9#0"],"confidence":0.2,"threshold":0.3}\n'
    '{"qid":"x1","num_retrieved":1,"top_docids":["9#0"],"confidence":0.5,"threshold":0.3}\n'
    '{"qid":"x2","num_retrieved":1,"top_docids":["9#0"],"confidence":0.1,"threshold":0.3}\n'
    '{"qid":"y","num_retrieved":1,"top_docids":["9#0"],"confidence":0.1,"threshold":0.3}\n'
)


@pytest.fixture
def outcomes(tmp_path: Path) -> list[str]:
    (tmp_path / "o.jsonl").write_text(OUTCOMES)
    (tmp_path / "x").write_text("x1\tone?\nx2\ttwo?\n")
    (tmp_path / "kinds").write_text("qid\tkind\nx1\tnear\nx2\tfar\n")
    return ["evaluate", "--qrels", "qrels", "--outcomes", "o.jsonl", "--unanswerable", "x"]


def test_questions_left_out_are_counted_on_stderr_and_not_among_the_data(
    outcomes: list[str], tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    (tmp_path / "x").write_text("x1\tone?\nx2\ttwo?\nx3\tthree?\n")
    assert run(outcomes) == 0
    captured = capsys.readouterr()
    assert "o.jsonl: 1 questions are neither judged nor unanswerable: left out.\n" in captured.err
    assert re.search(r"^o\.jsonl has no outcome of \d questions: left out\.$", captured.err, re.MULTILINE)
    assert "left out" not in captured.out


def test_the_confidence_of_outcomes_is_scored_in_three_tables(
    outcomes: list[str], capsys: pytest.CaptureFixture[str]
) -> None:
    assert run([*outcomes, "--kinds", "kinds", "--min-grade", "1"]) == 0
    captured = capsys.readouterr()
    kinds, served, curve = captured.out.split("\n\n")
    rows = [line.split("\t") for line in kinds.splitlines()]
    assert rows[0] == [
        *("outcomes", "kind", "questions", "refused", "refused.low", "refused.high", "auc", "auc.low", "auc.high"),
    ]
    # Confidences 0.9 and 0.2 of the answerable questions; 0.5 is near, 0.1 far.
    assert [(row[1], row[2], row[3], row[6]) for row in rows[1:]] == [
        ("answerable", "2", "0.5000", ""),
        ("far", "1", "1.0000", "1.0000"),
        ("near", "1", "0.0000", "0.5000"),
        ("unanswerable", "2", "0.5000", "0.7500"),
    ]
    # Served are q1, right, and x1. In the order of the confidence: right, wrong, wrong, wrong.
    assert served.splitlines() == [
        "outcomes\taurc\tserved.coverage\tserved.confidence\tserved.answered\tserved.risk\tserved.cited_risk",
        f"o.jsonl\t{(0 + 1 / 2 + 2 / 3 + 3 / 4) / 4:.4f}\t0.5000\t0.5000\t2\t0.5000\t",
    ]
    assert curve.splitlines() == [
        "outcomes\tcoverage\tconfidence\tanswered\trisk\tcited_risk",
        "o.jsonl\t0.2500\t0.9000\t1\t0.0000\t",
        "o.jsonl\t0.5000\t0.5000\t2\t0.5000\t",
        "o.jsonl\t0.7500\t0.2000\t3\t0.6667\t",
        "o.jsonl\t1.0000\t0.1000\t4\t0.7500\t",
    ]
    assert captured.err.splitlines() == [
        "o.jsonl: 1 questions are neither judged nor unanswerable: left out.",
        "o.jsonl has no outcome of 1 questions: left out.",
    ]


def test_where_no_question_is_answered_what_is_served_is_a_row_of_empty_cells(
    outcomes: list[str], tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    (tmp_path / "o.jsonl").write_text(OUTCOMES.replace("0.3}", "0.95}"))
    assert run(outcomes) == 0
    header, row = capsys.readouterr().out.split("\n\n")[1].splitlines()
    assert header.count("\t") == 6
    assert row.split("\t")[2:] == ["", "", "", "", ""]


def test_unanswerable_questions_need_no_kinds_and_runs_may_stand_before(
    outcomes: list[str], capsys: pytest.CaptureFixture[str]
) -> None:
    assert run([*outcomes, "--run", "a", "--measures", "RR"]) == 0
    runs, kinds, _, _ = capsys.readouterr().out.split("\n\n")
    assert runs.splitlines() == ["run\tRR", "a\t0.1667"]
    assert [line.split("\t")[1:4] for line in kinds.splitlines()[1:]] == [
        ["answerable", "2", "0.5000"],
        ["unanswerable", "2", "0.5000"],
    ]
    assert run([*outcomes, "--json"]) == 0
    (line,) = capsys.readouterr().out.splitlines()
    scores = json.loads(line)["confidence"]
    assert (scores["kinds"][1]["auc"]["value"], len(scores["curve"])) == (0.75, 4)


@pytest.mark.slow
def test_the_curve_is_drawn_as_svg_or_png(outcomes: list[str], tmp_path: Path) -> None:
    assert run([*outcomes, "--plot", "risk.svg"]) == 0
    assert ">coverage<" in (tmp_path / "risk.svg").read_text(encoding="utf-8")
    assert run([*outcomes, "--plot", "risk.png"]) == 0
    assert (tmp_path / "risk.png").read_bytes().startswith(b"\x89PNG")


def test_a_plot_of_no_known_kind_is_refused_before_anything_is_printed(
    outcomes: list[str], capsys: pytest.CaptureFixture[str]
) -> None:
    assert run([*outcomes, "--run", "a", "--plot", "risk.pdf"]) == 2
    assert capsys.readouterr().out == ""


@pytest.mark.parametrize(
    ("arguments", "status", "says"),
    [
        (["--unanswerable", "x"], 2, "--unanswerable, --kinds and --plot need --outcomes."),
        ([], 2, "Missing option '--run': give at least one run, or --outcomes."),
        (["--outcomes", "a"], 3, "a has no outcomes of questions"),
        (["--outcomes", "o.jsonl", "--unanswerable", "topics"], 3, "q1 is judged in qrels and also unanswerable"),
        (["--outcomes", "o.jsonl", "--plot", "risk.pdf"], 2, "--plot risk.pdf must end in .png or .svg."),
        (["--outcomes", "y.jsonl"], 3, "y.jsonl has no question of qrels: give files that belong together."),
    ],
)
def test_outcomes_that_cannot_be_scored_are_refused(
    outcomes: list[str],
    tmp_path: Path,
    arguments: list[str],
    status: int,
    says: str,
    capsys: pytest.CaptureFixture[str],
) -> None:
    (tmp_path / "y.jsonl").write_text(OUTCOMES.splitlines()[-1] + "\n")
    assert run([*outcomes[:3], *arguments]) == status
    assert says in capsys.readouterr().err
