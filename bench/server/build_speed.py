"""Passages indexed per second, beside the plain way, in one run: ``python -m bench.server.build_speed``.

The plain way is what the parts offer without SHRAG: Kiwi over whole texts on all cores, its morphemes joined by spaces
in JSON files, then Pyserini's own indexer (``IndexCollection``) over these with all cores. Both start from one file
and are timed as whole processes, processor seconds of all their processes beside.
``--count`` passages are mixed from the development sets (SHRAG_DATA); ``--grow`` measures SHRAG alone over 10,000,
100,000 and (``--grow 1000000``) more passages made of their words: passages per second and the memory it takes.
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

from bench.corpora import mixed, resampled, write
from bench.data import DATA, need_data

SHRAG = [str(Path(sys.executable).with_name("shrag"))]
PLAIN = [sys.executable, str(Path(__file__).with_name("pyserini_baseline.py"))]


def main() -> None:
    """Measure what the command line asks for."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--count", type=int, default=40_000, help="mixed passages, 0 for none (%(default)s)")
    parser.add_argument("--grow", type=int, default=0, help="passages of the largest of the growing corpora (none)")
    parser.add_argument("--no-quality", action="store_true", help="leave out nDCG@10 on wiki-ko")
    chosen = parser.parse_args()
    need_data()
    with tempfile.TemporaryDirectory() as folder:
        os.environ["SHRAG_HOME"] = f"{folder}/home"
        if chosen.count:
            compare_speed(Path(folder), chosen.count)
        if not chosen.no_quality:
            compare_quality(Path(folder))
        size = 10_000
        while size <= chosen.grow:
            measure_growth(Path(folder), size)
            size *= 10


def compare_speed(folder: Path, count: int) -> None:
    """Index the same passages both ways and print the ratio."""
    source = folder / "mixed.jsonl"
    write(source, mixed(DATA, count))
    run([*SHRAG, "corpus", "add", "mixed", "--format", "miracl", str(source)])
    plain, plain_work, _, _ = run([*PLAIN, "build", str(source), str(folder / "plain")])
    ours, our_work, memory, said = run([*SHRAG, "index", "mixed"])
    print(f"{count:,} mixed passages, {os.cpu_count()} cores, load {os.getloadavg()[0]:.1f}:")
    print(f"  the plain way {count / plain:8,.0f} passages/s ({plain:.1f} s, {plain_work:.1f} processor seconds)")
    print(f"  SHRAG         {count / ours:8,.0f} passages/s ({ours:.1f} s, {our_work:.1f} processor seconds)")
    print(f"  {plain / ours:.1f} times as fast, with {plain_work / our_work:.1f} times less work; {memory:,.0f} MiB")
    print(f"  {busy(said)}\n")


def compare_quality(folder: Path) -> None:
    """Index wiki-ko both ways and judge a run of each by nDCG@10."""
    source = DATA / "wiki-ko" / "corpus" / "docs-0.jsonl.gz"
    topics, qrels = DATA / "wiki-ko" / "topics.tsv", DATA / "wiki-ko" / "qrels.txt"
    run([*SHRAG, "corpus", "add", "wiki-ko", "--format", "miracl", str(source)])
    run([*SHRAG, "index", "wiki-ko"])
    run([*PLAIN, "build", str(source), str(folder / "plain-ko")])
    run([*PLAIN, "search", str(folder / "plain-ko"), str(topics), str(folder / "plain.run")])
    runs = {"the plain way": folder / "plain.run"}
    for strategy in ("bm25", "shrag"):
        runs[f"SHRAG, {strategy}"] = folder / f"{strategy}.run"
        arguments = ("--topics", str(topics), "--output", str(folder / f"{strategy}.run"), "-k", "10")
        run([*SHRAG, "run", "wiki-ko", *arguments, "--strategy", strategy])
    for name, path in runs.items():
        _, _, _, said = run([*SHRAG, "evaluate", "--qrels", str(qrels), "--run", str(path), "--measures", "nDCG@10"])
        print(f"  nDCG@10 on wiki-ko, {name:<13} {said.split()[-1]}")
    print()


def measure_growth(folder: Path, count: int) -> None:
    """Index ``count`` resampled passages and print what it took."""
    source = folder / "grown.jsonl"
    write(source, resampled(DATA, count))
    run([*SHRAG, "corpus", "add", f"grown-{count}", "--format", "miracl", str(source)])
    source.unlink()
    seconds, work, memory, said = run([*SHRAG, "index", f"grown-{count}"])
    print(
        f"{count:>9,} resampled passages: {count / seconds:,.0f} passages/s, {work / count * 1e6:,.0f} processor "
        f"microseconds each, {memory:,.0f} MiB in all processes, Java's included\n  {busy(said)}"
    )


def busy(said: str) -> str:
    """Return the line in which a build says how busy its stages were."""
    found = re.search(r"^busy: .*$", said, re.MULTILINE)
    return found.group() if found else ""


def run(command: Sequence[str]) -> tuple[float, float, float, str]:
    """Run a command; return its seconds, its processes' processor seconds and most memory (MiB), and its output."""
    started = time.perf_counter()
    process = subprocess.Popen(
        command, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True, start_new_session=True
    )
    watch = Watch(process.pid)
    watch.start()
    said, _ = process.communicate()
    seconds = time.perf_counter() - started
    watch.join()
    if process.returncode:
        raise SystemExit(f"{' '.join(command)} ended with {process.returncode}: {said}")
    return seconds, watch.work, watch.memory, said


class Watch(threading.Thread):
    """Reads, ten times a second, what the processes of a session take: processor seconds, and proportional memory."""

    def __init__(self, session: int) -> None:
        super().__init__(daemon=True)
        self._session = session
        self._work: dict[int, float] = {}
        self.memory = 0.0

    @property
    def work(self) -> float:
        """Processor seconds of all processes seen, to a tenth of a second each."""
        return sum(self._work.values())

    def run(self) -> None:
        """Watch until the session's first process ends."""
        turn = 0
        while Path(f"/proc/{self._session}/stat").exists() and (members := self._members()):
            self._work.update(members)
            if turn % 10 == 0:
                self.memory = max(self.memory, sum(map(_memory, members)))
            turn += 1
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
    """Return a process's memory in MiB, what it shares counted in equal parts."""
    try:
        lines = Path(f"/proc/{process}/smaps_rollup").read_text().splitlines()
    except OSError:
        return 0.0
    return next((int(line.split()[1]) / 1024 for line in lines if line.startswith("Pss:")), 0.0)


if __name__ == "__main__":
    main()
