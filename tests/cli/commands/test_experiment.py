"""``shrag experiment``, ``shrag report`` and ``shrag compare`` over results folders."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest

from shrag.cli.main import run
from shrag.evaluation.experiments.run_card import read_card
from tests.conftest import DEMO
from tests.support.fake_endpoint import Endpoint, answers, serving
from tests.support.no_network import run_without_network
from tests.support.small_experiment import contents

SHRAG = [sys.executable, "-c", "from shrag.cli.main import main; main()"]

EXPERIMENT = """
title = "Two ways"
question = "Which is better?"
measures = ["nDCG@10"]
k = 20
baseline = "or"
[[sets]]
name = "demo"
corpus = {format = "scienceon", paths = ["shrag:demo/records.jsonl"]}
topics = "shrag:demo/topics.tsv"
qrels = "shrag:demo/qrels.txt"
[[conditions]]
name = "or"
[[conditions]]
name = "and"
settings = {queries = "longest"}
grid = {ands = [1, 9]}
"""


@pytest.fixture
def home(demo_home: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.setenv("SHRAG_HOME", str(demo_home))
    Path("two.toml").write_text(EXPERIMENT)
    return demo_home


def test_an_experiment_its_report_and_a_comparison(home: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert run(["experiment", "two.toml", "--output", "results", "--sample", "6", "--conditions", "and-ands-9"]) == 0
    told = capsys.readouterr()
    assert told.out == Path("results/table.md").read_text(encoding="utf-8")
    assert "## demo (6 questions)" in told.out
    assert "12 questions asked; next: shrag report results" in told.err
    assert sorted(path.name for path in Path("results/demo").glob("*.run")) == ["and-ands-9.run", "or.run"]
    assert run(["report", "results"]) == 0
    assert capsys.readouterr().out == "results/report.html\n"
    assert "Which is better?" in Path("results/report.html").read_text(encoding="utf-8")
    assert run(["report", "results", "--markdown"]) == 0
    assert capsys.readouterr().out == "results/results.md\n"
    assert "### demo (6 questions)" in Path("results/results-tables.md").read_text(encoding="utf-8")
    assert "[all tables](results-tables.md)" in Path("results/results.md").read_text(encoding="utf-8")
    assert run(["compare", "results", "results:and-ands-9", "--by", "num_candidates", "-n", "1"]) == 0
    lines = capsys.readouterr().out.splitlines()
    assert [line.split("\t")[0] for line in lines[1:5]] == [
        "nDCG@10",
        "num_candidates",
        "candidate_recall",
        "candidate_success",
    ]
    assert lines[6] == "qid\tA\tB\tnum_candidates\tquestion"
    assert len(lines) == 8
    assert run(["compare", "results", "results:and-ands-9", "--json"]) == 0
    assert capsys.readouterr().out.startswith('{"measure":"nDCG@10"')


def test_an_index_is_asked_questions_of_ones_own_and_the_card_is_checked_by_the_archive(
    home: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    Path("carried/qrels").mkdir(parents=True)
    Path("carried/queries.jsonl").write_text('{"_id": "1", "text": "그래핀 전자파 차폐"}\n', encoding="utf-8")
    Path("carried/qrels/test.tsv").write_text("query-id\tcorpus-id\tscore\n1\tDEMO-MAT-001\t2\n", encoding="utf-8")
    own = ["experiment", "--index", "demo", "--data", "carried", "--output", "results"]
    assert run(own) == 0
    assert "## demo (1 questions)" in capsys.readouterr().out
    assert run(["index", "export", "demo", "demo.tar"]) == 0
    capsys.readouterr()
    assert run(["report", "results", "--check", "demo.tar"]) == 0
    said = capsys.readouterr().out.splitlines()
    assert said[0].startswith("They agree: the index demo of the run card is the index demo in demo.tar, with 235 ")
    assert said[1] == "The 9 files in results are those of the run card."
    card = Path("results/card.json").read_text(encoding="utf-8")
    Path("forged.json").write_text(card.replace('"records": 235', '"records": 999'), encoding="utf-8")
    assert run(["report", "forged.json", "--check", "demo.tar"]) == 4
    assert "The run card was changed after it was written" in capsys.readouterr().err
    Path("carried/queries.jsonl").unlink()
    assert run([*own[:-1], "other"]) == 3
    assert "carried has none of topics.tsv, topics.txt, queries.tsv, queries.jsonl" in capsys.readouterr().err
    assert run(["experiment", "--index", "nope", "--data", str(DEMO), "--output", "other"]) == 4


def test_an_experiment_asks_two_language_models_each_at_its_own_address(
    home: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    models = """
[[models]]
name = "flash"
[[models]]
name = "pro"
model = "large"
[[conditions]]
name = "flash"
model = "flash"
[[conditions]]
name = "pro"
model = "pro"
"""
    Path("models.toml").write_text(EXPERIMENT + models)
    said = answers('{"keywords": ["graphene", "그래핀"]}')
    configured, flash, pro = Endpoint(said), Endpoint(said), Endpoint(said, models=("small", "large"))
    with serving(configured) as first, serving(flash) as second, serving(pro) as third:
        monkeypatch.setenv("SHRAG_LLM_URL", first)
        monkeypatch.setenv("SHRAG_LLM_API_KEY", "secret")
        options = ["--conditions", "flash,pro", "--sample", "2", "--output", "results", "--no-plots"]
        named = ["--model", f"flash={second}", "--model", f"pro={third}"]
        assert run(["experiment", "models.toml", *options, *named]) == 0
    assert [len(each.asked) for each in (configured, flash, pro)] == [4, 4, 4]  # the baseline asks the configured one
    assert ({each["model"] for each in flash.asked}, {each["model"] for each in pro.asked}) == ({"m"}, {"large"})
    # The key is for the configured endpoint alone.
    assert all("secret" in each["authorization"] for each in configured.headers)
    assert not any("secret" in str(each) for each in (*flash.headers, *pro.headers))
    models_of_card = read_card(Path("results")).identity.models
    assert {name: each.name for name, each in models_of_card.items()} == {"flash": "m", "pro": "large"}


DOWN = "http://127.0.0.1:1/v1"


@pytest.mark.parametrize("url", [DOWN, f"{DOWN},http://127.0.0.1:2/v1"])
def test_a_language_model_that_does_not_answer_stops_an_experiment_that_uses_it_and_no_other(
    own_home: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str], url: str
) -> None:
    monkeypatch.setenv("SHRAG_LLM_URL", url)
    away = EXPERIMENT.replace("shrag:demo/topics.tsv", "away.tsv")
    for text, options, status in (  # the text ends within its last condition
        (away, [], 6),
        (away + "model = false\n", [], 6),
        (away.replace('name = "or"', 'name = "or"\nmodel = false') + "model = false\n", [], 3),
        (away, ["--no-model"], 3),
    ):
        Path("two.toml").write_text(text)
        assert run(["experiment", "two.toml", *options]) == status, (text, options)
        said = capsys.readouterr().err
        if status == 6:
            assert f"shrag: {DOWN} does not answer (" in said
            assert said.endswith("Start the model's server, or leave the model out with --no-model.\n")
        else:
            assert "The experiment's away.tsv does not exist" in said
    assert not own_home.exists() or not list(own_home.glob("indexes/*"))


def test_of_the_language_models_of_an_experiment_only_those_that_are_asked_must_answer(
    own_home: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setenv("SHRAG_LLM_URL", DOWN)
    models = f"""
[[models]]
name = "flash"
url = "{DOWN}"
[[models]]
name = "pro"
[[conditions]]
name = "flash"
model = "flash"
[[conditions]]
name = "pro"
model = "pro"
"""
    text = EXPERIMENT.replace("shrag:demo/topics.tsv", "away.tsv").replace('name = "or"', 'name = "or"\nmodel = false')
    Path("models.toml").write_text(text + models)
    with serving(Endpoint(answers("x"))) as url:
        options = ["experiment", "models.toml", "--model", f"pro={url}", "--conditions"]
        assert run([*options, "pro"]) == 3
        assert "The experiment's away.tsv does not exist" in capsys.readouterr().err
        assert run([*options, "flash"]) == 6
        assert f"shrag: {DOWN} does not answer (" in capsys.readouterr().err


@pytest.mark.parametrize(
    ("arguments", "status", "says"),
    [
        (["experiment"], 2, "No experiment is given"),
        (["experiment", "two.toml", "--model", "flash"], 2, "--model flash does not name an endpoint: write NAME=URL"),
        (["experiment", "two.toml", "--model", "x=http://h/v1"], 3, "There is no language model 'x': use one of none"),
        (["experiment", "nope"], 3, "There is no experiment 'nope'"),
        (["experiment", "two.toml", "--sets", "x"], 3, "There is no set 'x': use one of demo"),
        (
            ["experiment", "two.toml", "--output", "there"],
            4,
            "there already holds results: continue them with --resume",
        ),
        (["report", "nowhere"], 4, "holds no results"),
        (
            ["compare", "two.toml", "two.toml"],
            2,
            "two.toml is not a results folder: give two of them, or two run files with --qrels",
        ),
    ],
)
@pytest.mark.usefixtures("home")
def test_what_cannot_be_done_is_said_in_one_line(
    capsys: pytest.CaptureFixture[str], arguments: list[str], status: int, says: str
) -> None:
    Path("there").mkdir()
    Path("there/card.json").write_text("{}")
    assert run(arguments) == status
    assert says in " ".join(capsys.readouterr().err.split())


@pytest.mark.parametrize("option", ["gte", "gte=", "=weights", "gte=nowhere"])
def test_an_encoder_without_a_folder_is_refused_and_not_left_out(
    capsys: pytest.CaptureFixture[str], option: str
) -> None:
    Path("two.toml").write_text(EXPERIMENT + 'encoder = "gte"\n')
    Path("weights").mkdir()
    assert run(["experiment", "two.toml", "--encoder", option]) == 2
    assert f"--encoder {option} does not name a folder: write NAME=FOLDER." in capsys.readouterr().err


def test_missing_matplotlib_is_a_missing_dependency_before_anything_is_asked(
    home: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setitem(sys.modules, "matplotlib", None)
    monkeypatch.setitem(sys.modules, "matplotlib.figure", None)
    assert run(["experiment", "demo", "--output", "results"]) == 6
    assert "pip install 'shrag[plots]'" in capsys.readouterr().err
    assert not Path("results").exists()
    assert home.is_dir()


def test_the_experiments_that_come_with_shrag_are_listed(capsys: pytest.CaptureFixture[str]) -> None:
    assert run(["experiment", "--list"]) == 0
    assert "demo\tThe demonstration" in capsys.readouterr().out.splitlines()


@pytest.mark.process
def test_killed_at_any_moment_and_resumed_it_gives_the_files_of_one_that_was_not(home: Path, tmp_path: Path) -> None:
    environment = {**os.environ, "SHRAG_HOME": str(home)}
    command = [*SHRAG, "experiment", "two.toml", "--no-plots"]
    assert run(["experiment", "two.toml", "--no-plots", "--output", "whole"]) == 0
    kills = 0
    for place in ("demo/or.journal", "demo/and-ands-9.journal"):
        process = subprocess.Popen(
            [*command, "--output", "killed", *(["--resume"] if kills else [])],
            env=environment,
            stdout=subprocess.DEVNULL,
            stderr=subprocess.DEVNULL,
        )
        _wait_for(Path("killed") / place, process)
        process.send_signal(signal.SIGKILL)
        kills += process.wait() == -signal.SIGKILL
    done = subprocess.run(
        [*command, "--output", "killed", "--resume"], env=environment, check=True, capture_output=True, text=True
    )
    assert kills >= 1
    assert contents(tmp_path / "killed") == contents(tmp_path / "whole")
    assert "120 questions asked" not in done.stderr


def _wait_for(path: Path, process: subprocess.Popen[bytes]) -> None:
    """Wait until something was kept in a journal, or the process has ended before anyone looked."""
    while process.poll() is None and not (path.exists() and path.stat().st_size):
        time.sleep(0.005)


@pytest.mark.process
def test_an_experiment_and_its_report_need_no_network_at_all(tmp_path: Path) -> None:
    commands = """
        shrag experiment demo --output results --sample 6
        shrag report results --output report.html
    """
    said = run_without_network(commands, tmp_path / "home")
    assert "## demo (6 questions)" in said
    assert sorted(path.name for path in Path("results/plots").iterdir()) == ["plot-1.png", "plot-1.svg"]
    assert "The demonstration" in Path("report.html").read_text(encoding="utf-8")
