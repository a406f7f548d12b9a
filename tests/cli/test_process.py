"""The commands as processes: imports, network access, exit."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest

from tests.support.no_network import run_without_network

pytestmark = pytest.mark.process

SHRAG = [sys.executable, "-c", "from shrag.cli.main import main; main()"]
QUESTION = "재택근무를 많이 할수록 갈등이 커지는가?"
DEMO = Path(__file__).resolve().parents[2] / "corpora" / "demo"


def _environment(home: Path) -> dict[str, str]:
    return {**os.environ, "SHRAG_HOME": str(home)}


def test_a_search_imports_nothing_it_does_not_need(demo_home: Path) -> None:
    code = (
        "import sys; from shrag.cli.main import run\n"
        f"assert run(['search', 'demo', {QUESTION!r}, '-k', '1']) == 0\n"
        "heavy = {'torch', 'starlette', 'uvicorn', 'pyarrow', 'scipy', 'ir_measures', 'jinja2'}\n"
        "print(sorted(heavy & set(sys.modules)), file=sys.stderr)"
    )
    done = subprocess.run(
        [sys.executable, "-c", code], capture_output=True, text=True, env=_environment(demo_home), check=True
    )
    assert done.stderr.strip() == "[]"


def test_output_is_data_and_messages_are_apart(demo_home: Path) -> None:
    command = [*SHRAG, "search", "demo", QUESTION, "-k", "1"]
    done = subprocess.run(command, capture_output=True, text=True, env=_environment(demo_home), check=False)
    assert (done.returncode, done.stderr) == (0, "")
    assert [line.split()[0] for line in done.stdout.splitlines()] == ["1", "재택근무", "also"]


def test_a_closed_pipe_is_no_error(demo_home: Path) -> None:
    process = subprocess.Popen(
        [*SHRAG, "ask", "demo", QUESTION],
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
        env=_environment(demo_home),
    )
    assert process.stdout is not None
    process.stdout.close()
    assert process.stderr is not None
    assert process.stderr.read() == ""
    assert process.wait() == 0
    process.stderr.close()


def test_a_command_does_its_work_though_nobody_reads_its_messages(tmp_path: Path) -> None:
    process = subprocess.Popen(
        [*SHRAG, "corpus", "add", "demo", str(DEMO / "records.jsonl")],
        stderr=subprocess.PIPE,
        env=_environment(tmp_path),
    )
    assert process.stderr is not None
    process.stderr.close()
    assert process.wait() == 0
    assert (tmp_path / "corpora" / "demo" / "manifest.json").is_file()


def test_everything_works_with_no_network_at_all(tmp_path: Path) -> None:
    commands = f"""
        shrag corpus add demo --format scienceon {DEMO / "records.jsonl"}
        shrag index demo
        shrag ask demo "{QUESTION}"
        shrag run demo --topics {DEMO / "topics.tsv"} --output demo.run
        shrag evaluate --qrels {DEMO / "qrels.txt"} --run demo.run
    """
    assert "[1] DEMO-SOC-012" in run_without_network(commands, tmp_path / "home")
