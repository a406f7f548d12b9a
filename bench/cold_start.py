"""Benchmark of cold start, build time and retrieval quality (`make bench`).

Everything runs through the command line, in a temporary home. The development corpora are read from SHRAG_DATA
(default: ../shared/data beside the project); measurements whose corpus is absent are skipped with one line.
"""

from __future__ import annotations

import os
import platform
import statistics
import subprocess
import sys
import tempfile
import time
from pathlib import Path

from bench.data import DATA, DEMO

SHRAG = [str(Path(sys.executable).with_name("shrag"))]

COLD_RUNS = 7
COLD_QUESTIONS = {
    "Korean, words in the index": "인공지능 교육에서 설명 가능한 인공지능은 어떤 의미가 있나요?",
    "Korean, with an unknown word": "인공지능을 처음배우겠다던 학생은 무엇을 하나요?",
    "English": "What are the benefits of deep learning for cancer detection?",
}
MEASURES = ("Success@1", "Success@10", "nDCG@10", "RR@10")
BIGRAM_BASELINE = {"wiki-ko": (0.898, 0.994), "wiki-en": (0.731, 0.930)}


def main() -> None:
    """Print every measurement."""
    print(f"Python {platform.python_version()}, {os.cpu_count()} cores, {platform.machine()}\n")
    with tempfile.TemporaryDirectory() as home:
        os.environ["SHRAG_HOME"] = home
        measure_cold_start(Path(home))
        measure_quality(Path(home), "demo", "scienceon", DEMO / "records.jsonl", DEMO)
        for name in ("wiki-ko", "wiki-en"):
            folder = DATA / name
            if folder.is_dir():
                measure_quality(Path(home), name, "miracl", folder / "corpus", folder)
            else:
                print(f"{name}: skipped, {folder} is absent (SHRAG_DATA)\n")


def measure_cold_start(home: Path) -> None:
    """Time `shrag search` as a whole process, from its start to its end."""
    records = DATA / "scholarly-ko" / "records.jsonl.gz"
    source = records if records.is_file() else DEMO / "records.jsonl"
    shrag("corpus", "add", "cold", "--format", "scienceon", str(source))
    seconds, built = shrag("index", "cold")
    print(f"build: {built.strip()} ({seconds:.1f} s as a whole process)")
    print(f"cold start of `shrag search`, whole process, {COLD_RUNS} runs on {source.parent.name}:")
    for what, question in COLD_QUESTIONS.items():
        times = [shrag("search", "cold", question, "-k", "5")[0] for _ in range(COLD_RUNS)]
        print(f"  {what:<34} median {statistics.median(times):.2f} s, longest {max(times):.2f} s")
    print()


def measure_quality(home: Path, name: str, format_name: str, source: Path, judged: Path) -> None:
    """Run every topic by each strategy and evaluate the runs."""
    shrag("corpus", "add", name, "--format", format_name, str(source))
    shrag("index", name)
    runs: list[str] = []
    for strategy in ("shrag", "bm25"):
        run = home / f"{name}-{strategy}.run"
        topics = ("--topics", str(judged / "topics.tsv"), "--output", str(run), "-k", "10", "--strategy", strategy)
        seconds, _ = shrag("run", name, *topics)
        print(f"{name}, {strategy}: all topics in {seconds:.1f} s")
        runs += ["--run", str(run)]
    _, table = shrag("evaluate", "--qrels", str(judged / "qrels.txt"), *runs, "--measures", " ".join(MEASURES))
    header, *rows = table.splitlines()
    print("  " + " ".join(f"{cell:>11}" for cell in ["", *header.split("\t")[1:]]))
    if name in BIGRAM_BASELINE:
        print(
            "  "
            + " ".join(f"{cell:>11}" for cell in ["bigram BM25", *(f"{value:.3f}" for value in BIGRAM_BASELINE[name])])
        )
    for row, strategy in zip(rows, ("shrag", "bm25"), strict=True):
        print("  " + " ".join(f"{cell:>11}" for cell in [strategy, *row.split("\t")[1:]]))
    print()


def shrag(*arguments: str) -> tuple[float, str]:
    """Run one command and return its seconds and standard output."""
    started = time.perf_counter()
    done = subprocess.run([*SHRAG, *arguments], capture_output=True, text=True, check=False)
    if done.returncode:
        raise SystemExit(f"shrag {' '.join(arguments)} ended with {done.returncode}: {done.stderr}")
    return time.perf_counter() - started, done.stdout


if __name__ == "__main__":
    main()
