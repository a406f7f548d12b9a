from __future__ import annotations

import json
import re
import shlex
from pathlib import Path

import pytest

from shrag.cli.main import run


def test_fifty_gigabytes_of_an_h200_are_planned_without_a_gpu(capsys: pytest.CaptureFixture[str]) -> None:
    assert run(["plan", "--card", "H200"]) == 0
    out = capsys.readouterr().out
    assert "Budget  50.00 GB (46.57 GiB); 46.57 GiB planned at most" in out
    assert " 27.66 GiB  estimate  language model weights " in out
    assert " 46.57 GiB            in all" in out
    assert "At once: 38 × 2,048, 25 × 4,096, 16 × 8,192, 9 × 16,384 tokens (--max-num-seqs 9)" in out
    assert "--gpu-memory-utilization 0.301 --kv-cache-memory-bytes 11482M --max-model-len 16384 --max-num-seqs 9" in out


def test_json_says_the_same_in_bytes_on_one_line(capsys: pytest.CaptureFixture[str]) -> None:
    assert run(["plan", "--card", "H200", "--json"]) == 0
    (line,) = capsys.readouterr().out.splitlines()
    plan = json.loads(line)
    assert sum(part["bytes"] for part in plan["parts"]) <= plan["budget_bytes"] == 50 * 10**9
    assert (plan["kv_cache"]["bytes_per_token"], plan["kv_cache"]["bytes"]) == (65_536, 11_482 * 2**20)
    assert plan["sequences"] == {"2048": 38, "4096": 25, "8192": 16, "16384": 9}
    assert set(plan["flags"]) <= set(shlex.split(plan["command"]))
    assert plan["comparison"] is None


@pytest.mark.parametrize("key", ["budget", "slack"])
def test_a_size_without_a_unit_is_refused_in_the_file_as_on_the_command_line(
    capsys: pytest.CaptureFixture[str], key: str
) -> None:
    Path("shrag.toml").write_text(f"[plan]\n{key} = 50\n")
    assert run(["plan", "--card", "H200"]) == 2
    assert f"Invalid value for '--{key}': '50' is not a size" in capsys.readouterr().err


def test_the_command_alone_can_be_run_as_it_is_printed(own_home: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert run(["plan", "--card", "H200", "--command", "--max-num-seqs", "4", "--kv-cache-dtype", "fp8"]) == 0
    words = shlex.split(capsys.readouterr().out)
    assert words[words.index("--model") + 1] == str(own_home / "weights" / "qwen3.8-27b-fp8")
    assert words[words.index("--uds") + 1] == str(own_home / "llm.sock")
    assert words[words.index("--max-num-seqs") + 1] == "4"
    assert words[words.index("--kv-cache-dtype") + 1] == "fp8"


@pytest.mark.parametrize(
    ("arguments", "status", "says"),
    [
        (["--card", "24GB"], 5, "The smallest change that fits: --llm qwen3.5-4b (or: --card L40S)."),
        (["--card", "H200", "--budget", "50"], 2, "'50' is not a size"),
        (["--card", "H200", "--budget", "0GB"], 2, "budget must be at least 1 byte"),
        (["--card", "Z1"], 2, "There is no GPU 'Z1'"),
        (["--card", "H200", "--llm", "gpt-7"], 2, "There is no language model 'gpt-7'"),
        (["--card", "H200", "--encoder", "x"], 2, "There are no weights of 'x'"),
        (["--card", "H200", "--llm", "qwen3-0.6b", "--max-model-len", "50000"], 2, "has a context of 40,960 tokens"),
        (["--card", "H200", "--index", "nothing"], 4, "There is no index 'nothing'"),
        (["--card", "H200", "--index", "../etc"], 3, "cannot be a name"),
        (["--card", "H200", "--llm", "folder"], 6, "config.json"),
        (["--card", "H200", "--kv-cache-dtype", "int4"], 2, "'int4' is not one of"),
        ([], 6, "There is no nvidia-smi here"),
        (["--card", "H200", "--pid", "7"], 2, "--pid needs --compare"),
        (["--card", "H200", "--command", "--json"], 2, "--command excludes --compare"),
        (["--card", "H200", "--compare"], 6, "There is no nvidia-smi here"),
    ],
)
def test_what_cannot_be_planned_is_said_and_has_its_exit_status(
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
    arguments: list[str],
    status: int,
    says: str,
) -> None:
    (tmp_path / "folder").mkdir()
    monkeypatch.setenv("PATH", str(tmp_path))
    assert run(["plan", *arguments]) == status
    captured = capsys.readouterr()
    assert says in captured.err
    assert (captured.out, "Traceback" in captured.err) == ("", False)


def test_an_indexs_vectors_take_two_bytes_a_number(
    demo_home: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    from shrag.indexing.storage.generations import current_generation

    card = current_generation(demo_home / "indexes" / "demo")[1].vectors
    assert card is not None
    monkeypatch.setenv("SHRAG_HOME", str(demo_home))
    assert run(["plan", "--card", "H200", "--index", "demo", "--json"]) == 0
    parts = {part["name"]: part["bytes"] for part in json.loads(capsys.readouterr().out)["parts"]}
    assert parts["FAISS vectors"] == card.rows * card.dimension * 2


def test_the_card_here_is_asked_and_its_real_use_compared(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    smi = tmp_path / "nvidia-smi"
    smi.write_text(
        "#!/bin/sh\ncase \"$*\" in\n*compute-apps*) printf '11, 40000\\n12, 6000\\n';;\n"
        "*) echo 'NVIDIA H200, 143771, 49000, 94771, 9.0';;\nesac\n"
    )
    smi.chmod(0o755)
    monkeypatch.setenv("PATH", f"{tmp_path}:/usr/bin:/bin")
    assert run(["plan", "--compare", "--pid", "11", "--pid", "12"]) == 0
    captured = capsys.readouterr()
    assert "Card    NVIDIA H200: 140.40 GiB usable" in captured.out
    assert "In use: planned 45.07 GiB, in use 44.92 GiB, -0.3%" in captured.out
    assert run(["plan"]) == 0
    assert capsys.readouterr().err == ""
    smi.write_text(smi.read_text().replace("94771", "30000"))
    assert run(["plan"]) == 0
    told = "Warning: vLLM would not start now: it needs 42.12 GiB of free memory, and 29.30 GiB is free"
    assert told in capsys.readouterr().err
    assert run(["plan", "--compare"]) == 0
    captured = capsys.readouterr()
    assert "Warning: planned 45.07 GiB, in use 47.85 GiB, +6.2%: correct the plan" in captured.err
    assert run(["plan", "--compare", "--json"]) == 0
    assert json.loads(capsys.readouterr().out)["comparison"]["used_bytes"] == 49_000 * 2**20


@pytest.mark.parametrize(
    ("arguments", "note"),
    [
        (["--card", "A100-80"], "this GPU (compute capability 8.0) does not compute in FP8"),
        (["--card", "H200", "--llm", "kanana-2-30b-a3b-awq"], "the licence of these weights is unknown"),
        (["--card", "H200", "--prefix-caching"], "prefix caching doubles the recurrent states"),
    ],
)
def test_what_the_numbers_do_not_say_is_noted(
    capsys: pytest.CaptureFixture[str], arguments: list[str], note: str
) -> None:
    assert run(["plan", *arguments]) == 0
    assert f"Note: {note}" in capsys.readouterr().out
    assert run(["plan", "--card", "H200", "--llm", "qwen3-30b-a3b-2507-fp8"]) == 0
    assert "Note:" not in capsys.readouterr().out


def test_a_machine_without_free_disk_or_memory_holds_no_records(capsys: pytest.CaptureFixture[str]) -> None:
    for option, limit in (("--disk", "disk"), ("--memory", "memory")):
        assert run(["plan", "--records", "1000", option, "0GB", "--json"]) == 5
        plan = json.loads(capsys.readouterr().out)
        assert (plan["machine"][limit], plan["limits"][limit]) == (0, 0)


def test_the_size_of_an_index_is_planned_as_on_the_page(own_home: Path, capsys: pytest.CaptureFixture[str]) -> None:
    page = (Path(__file__).resolve().parents[3] / "docs/en/reference/memory-plan.md").read_text(encoding="utf-8")
    ((command, shown),) = re.findall(r"^```console\n\$ shrag (plan --records .*?)\n(.*?)^```$", page, re.M | re.S)
    assert run(shlex.split(command)) == 0
    assert capsys.readouterr().out == shown
    assert not own_home.exists()


def test_the_size_of_an_index_on_this_machine_is_one_object(capsys: pytest.CaptureFixture[str]) -> None:
    assert run(["plan", "--records", "5", "--tokens-per-record", "100", "--dimension", "0", "--json"]) == 0
    plan = json.loads(capsys.readouterr().out)
    assert (plan["records"], plan["tokens"], plan["engine"], plan["cluster"]["dense_index"]) == (
        5,
        100,
        "lucene",
        "none",
    )
    assert (plan["embedded"]["index"], plan["machine"]["memory"] > 2**30) == (5 * 100 * 13.7 + 5 * 160, True)


@pytest.mark.parametrize("form", [[], ["--json"]])
def test_records_that_do_not_fit_this_machine_end_with_5_as_a_model_that_does_not_fit_its_card(
    capsys: pytest.CaptureFixture[str], form: list[str]
) -> None:
    machine = ["--memory", "128GB", "--disk", "2TB", "--cores", "16"]
    assert run(["plan", "--records", "25836339", *machine, *form]) == 0
    assert run(["plan", "--records", "25836340", *machine, *form]) == 5
    assert "milvus" in capsys.readouterr().out


def test_an_index_of_one_record_can_be_planned(capsys: pytest.CaptureFixture[str]) -> None:
    assert run(["plan", "--records", "1", "--json"]) == 0
    assert json.loads(capsys.readouterr().out)
    assert run(["plan", "--records", "0"]) == 2
