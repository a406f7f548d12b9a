"""Indexing speed of SHRAG and of a baseline, in one run: ``python -m bench.server.build_speed``.

The baseline (:mod:`bench.server.pyserini_baseline`) runs Kiwi over whole texts on all cores, then Pyserini's indexer
(``IndexCollection``) over JSON files on all cores. SHRAG and the baseline read the same file. They are timed as whole
processes, with the processor seconds of all their processes. ``--count`` passages are mixed from the development sets
(SHRAG_DATA).
:mod:`bench.server.growth` measures SHRAG alone over more and more records.
"""

from __future__ import annotations

import argparse
import os
import re
import subprocess
import sys
import tempfile
import threading
import time
from collections.abc import Sequence
from pathlib import Path

from bench.corpora import mix_passages, write_passages
from bench.data import DATA, require_data

SHRAG = [str(Path(sys.executable).with_name("shrag"))]
BASELINE = [sys.executable, str(Path(__file__).with_name("pyserini_baseline.py"))]


def main() -> None:
    """Measure what the command line asks for."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--count", type=int, default=40_000, help="mixed passages, 0 for none (%(default)s)")
    parser.add_argument("--no-quality", action="store_true", help="leave out nDCG@10 on wiki-ko")
    chosen = parser.parse_args()
    require_data()
    with tempfile.TemporaryDirectory() as folder:
        os.environ["SHRAG_HOME"] = f"{folder}/home"
        if chosen.count:
            compare_speed(Path(folder), chosen.count)
        if not chosen.no_quality:
            compare_quality(Path(folder))


def compare_speed(folder: Path, count: int) -> None:
    """Index the same passages with both and print the ratio."""
    source = folder / "mixed.jsonl"
    write_passages(source, mix_passages(DATA, count))
    run([*SHRAG, "corpus", "add", "mixed", "--format", "miracl", str(source)])
    baseline, baseline_work, _, _ = run([*BASELINE, "build", str(source), str(folder / "baseline")])
    ours, our_work, memory, output = run([*SHRAG, "index", "mixed"])
    known, known_work, _, _ = run([*SHRAG, "index", "mixed", "--force"])
    print(f"{count:,} mixed passages, {os.cpu_count()} cores, load {os.getloadavg()[0]:.1f}:")
    print(f"  baseline {count / baseline:8,.0f} passages/s ({baseline:.1f} s, {baseline_work:.1f} processor seconds)")
    print(f"  SHRAG    {count / ours:8,.0f} passages/s ({ours:.1f} s, {our_work:.1f} processor seconds)")
    print(
        f"  {baseline / ours:.1f} times as fast, with {baseline_work / our_work:.1f} times less work; {memory:,.0f} MiB"
    )
    print(f"  {utilization(output)}")
    print(f"  again, with all words known: {known:.1f} s, {known_work:.1f} processor seconds\n")


def compare_quality(folder: Path) -> None:
    """Index wiki-ko with both and evaluate a run of each by nDCG@10."""
    source = DATA / "wiki-ko" / "corpus" / "docs-0.jsonl.gz"
    topics, qrels = DATA / "wiki-ko" / "topics.tsv", DATA / "wiki-ko" / "qrels.txt"
    run([*SHRAG, "corpus", "add", "wiki-ko", "--format", "miracl", str(source)])
    run([*SHRAG, "index", "wiki-ko"])
    run([*BASELINE, "build", str(source), str(folder / "baseline-ko")])
    run([*BASELINE, "search", str(folder / "baseline-ko"), str(topics), str(folder / "baseline.run")])
    runs = {"baseline": folder / "baseline.run"}
    for strategy in ("bm25", "shrag"):
        runs[f"SHRAG, {strategy}"] = folder / f"{strategy}.run"
        arguments = ("--topics", str(topics), "--output", str(folder / f"{strategy}.run"), "-k", "10")
        run([*SHRAG, "run", "wiki-ko", *arguments, "--strategy", strategy])
    for name, path in runs.items():
        _, _, _, output = run([*SHRAG, "evaluate", "--qrels", str(qrels), "--run", str(path), "--measures", "nDCG@10"])
        print(f"  nDCG@10 on wiki-ko, {name:<13} {output.split()[-1]}")
    print()


def utilization(output: str) -> str:
    """Return the line of a build's output that has the utilization of its stages."""
    found = re.search(r"^utilization: .*$", output, re.MULTILINE)
    return found.group() if found else ""


def run(command: Sequence[str]) -> tuple[float, float, float, str]:
    """Run a command; return its seconds, processor seconds of its processes, peak memory in MiB, and output."""
    started = time.perf_counter()
    process = subprocess.Popen(
        command, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True, start_new_session=True
    )
    monitor = ResourceMonitor(process.pid)
    monitor.start()
    output, _ = process.communicate()
    seconds = time.perf_counter() - started
    monitor.join()
    if process.returncode:
        raise SystemExit(f"{' '.join(command)} ended with {process.returncode}: {output}")
    return seconds, monitor.work, monitor.memory, output


class ResourceMonitor(threading.Thread):
    """Samples processor seconds (ten times per second) and memory (once per second) of a session's processes."""

    def __init__(self, session: int) -> None:
        super().__init__(daemon=True)
        self._session = session
        self._work: dict[int, float] = {}
        self.memory = 0.0

    @property
    def work(self) -> float:
        """Processor seconds of all processes of the session, each to a tenth of a second."""
        return sum(self._work.values())

    def run(self) -> None:
        """Sample until the session's first process ends."""
        tick = 0
        while Path(f"/proc/{self._session}/stat").exists() and (members := self._members()):
            self._work.update(members)
            if tick % 10 == 0:
                self.memory = max(self.memory, sum(map(_memory, members)))
            tick += 1
            time.sleep(0.1)

    def _members(self) -> dict[int, float]:
        found = {}
        for path in Path("/proc").glob("[0-9]*/stat"):
            try:
                fields = path.read_text().rpartition(")")[2].split()
            except OSError:
                continue
            if int(fields[3]) == self._session and fields[0] != "Z":
                found[int(path.parent.name)] = (int(fields[11]) + int(fields[12])) / os.sysconf("SC_CLK_TCK")
        return found


def _memory(process: int) -> float:
    """Return a process's proportional set size in MiB."""
    try:
        lines = Path(f"/proc/{process}/smaps_rollup").read_text().splitlines()
    except OSError:
        return 0.0
    return next((int(line.split()[1]) / 1024 for line in lines if line.startswith("Pss:")), 0.0)


if __name__ == "__main__":
    main()
