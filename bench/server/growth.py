"""Growth with the number of records: ``python -m bench.server.growth --home FOLDER [--records N …] [--plot SVG]``.

Corpora of resampled words (:func:`bench.corpora.resample_passages`) are added, indexed, searched and updated by one
percent. A build is also killed halfway and followed by another one. Commands run as whole processes; only warm searches
run in this one. The figures are kept in ``FOLDER/growth.json``, and a later run does not repeat the builds and updates.
Cold starts of all sizes are measured in turn, so that other work on the machine slows all of them alike. Exponents are
fitted to the logarithms: 1 is linear growth, 0 is none.
"""

from __future__ import annotations

import argparse
import json
import math
import os
import signal
import statistics
import subprocess
import time
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING

from bench.corpora import resample_passages, write_passages
from bench.data import DATA, DEMO
from bench.server.build_speed import SHRAG, run
from shrag.corpora.formats.topics import read_topics
from shrag.indexing.storage.generations import current_generation
from shrag.serving.engine import Engine, open_engine

if TYPE_CHECKING:
    from matplotlib.figure import Figure

SIZES = (10_000, 100_000, 1_000_000)
COLD_RUNS = 9
QUESTIONS = 200
COLD_QUESTION = "인공지능 교육에서 설명 가능한 인공지능은 어떤 의미가 있나요?"
MEASURES = {
    "add": "corpus add, s",
    "build": "index, s",
    "work": "index, processor s",
    "memory": "index, peak memory of all processes, MiB",
    "size": "index on disk, MiB",
    "cold": "cold start of search, s",
    "cold_dropped": "cold start, page cache dropped, s",
    "p50": "search, p50, ms",
    "p95": "search, p95, ms",
    "work50": "processor time of a search, p50, ms",
    "work95": "processor time of a search, p95, ms",
    "update": "index --update by 1 %, s",
    "resumed": "index after a kill half-way, s",
}
"""Measure → its title in the table."""

Figures = dict[str, dict[str, float]]
"""Number of records (as text) → measure → figure."""


def main() -> None:
    """Measure what is missing, and print all."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--home", type=Path, required=True, help="folder of corpora, indexes and figures, kept")
    parser.add_argument("--records", type=int, nargs="+", default=SIZES, help="sizes (%(default)s)")
    parser.add_argument(
        "--most-changed", type=int, default=100_000, help="largest size to kill and update (%(default)s)"
    )
    parser.add_argument("--plot", type=Path, help="SVG to write")
    chosen = parser.parse_args()
    chosen.home.mkdir(parents=True, exist_ok=True)
    os.environ["SHRAG_HOME"] = str(chosen.home)
    path = chosen.home / "growth.json"
    figures: Figures = json.loads(path.read_text()) if path.exists() else {}
    for records in chosen.records:
        of_size = figures.setdefault(str(records), {})
        if "build" not in of_size:
            of_size |= measure_build(chosen.home, records)
            path.write_text(json.dumps(figures, indent=1))
        if "resumed" not in of_size and records <= chosen.most_changed:
            of_size["resumed"] = measure_resumed(chosen.home, records, of_size["build"])
            path.write_text(json.dumps(figures, indent=1))
    for records, measured in measure_searches(chosen.home, chosen.records).items():
        figures[str(records)] |= measured
    path.write_text(json.dumps(figures, indent=1))
    for records in chosen.records:
        if "update" not in figures[str(records)] and records <= chosen.most_changed:
            figures[str(records)]["update"] = measure_update(chosen.home, records)
            path.write_text(json.dumps(figures, indent=1))
    print(table({size: figures[size] for size in map(str, chosen.records)}))
    print(f"\n{os.cpu_count()} cores, load {os.getloadavg()[0]:.1f} at the end")
    if chosen.plot:
        from shrag.evaluation.reports.plots import save_figure

        chosen.plot.write_bytes(save_figure(lambda: draw(figures), "svg", "growth"))


def measure_build(home: Path, records: int) -> dict[str, float]:
    """Add and index ``records`` records."""
    source, name = home / "source.jsonl", f"g{records}"
    write_passages(source, resample_passages(DATA, records))
    added, _, _, _ = run([*SHRAG, "corpus", "add", name, "--format", "miracl", str(source)])
    source.unlink()
    built, work, memory, _ = run([*SHRAG, "index", name])
    _, manifest = current_generation(home / "indexes" / name)
    size = sum(file.bytes for file in manifest.files.values()) / 2**20
    return {"add": added, "build": built, "work": work, "memory": memory, "size": size}


def measure_resumed(home: Path, records: int, seconds: float) -> float:
    """Kill a build halfway, and time the next one, which must give the same index."""
    index = home / "indexes" / f"g{records}"
    before = current_generation(index)[1]
    process = subprocess.Popen(
        [*SHRAG, "index", index.name, "--force"],
        stdout=subprocess.DEVNULL,
        stderr=subprocess.DEVNULL,
        start_new_session=True,
    )
    time.sleep(seconds / 2)
    os.killpg(process.pid, signal.SIGKILL)
    process.wait()
    resumed, _, _, _ = run([*SHRAG, "index", index.name, "--force"])
    after = current_generation(index)[1]
    names = [name for name in before.files if not name.startswith("lucene/")]
    if after.generation == before.generation or any(after.files[name] != before.files[name] for name in names):
        raise SystemExit(f"{index}: the resumed build is not the same index")
    return resumed


def measure_searches(home: Path, sizes: Sequence[int]) -> dict[int, dict[str, float]]:
    """Measure the cold starts of all sizes in turn, then the searches of each size."""
    warm: dict[int, list[float]] = {size: [] for size in sizes}
    dropped: dict[int, list[float]] = {size: [] for size in sizes}
    for _ in range(COLD_RUNS):
        for size in sizes:
            if os.geteuid() == 0:
                dropped[size].append(cold_start(size, drop=True))
            warm[size].append(cold_start(size, drop=False))
    found: dict[int, dict[str, float]] = {}
    for size in sizes:
        found[size] = {"cold": statistics.median(warm[size])}
        if dropped[size]:
            found[size]["cold_dropped"] = statistics.median(dropped[size])
        print(f"{size:,}: cold starts {sorted(round(each, 2) for each in warm[size])}", flush=True)
    for size in sizes:
        with open_engine(home / "indexes", f"g{size}") as engine:
            found[size] |= measure_questions(engine)
    return found


def measure_questions(engine: Engine) -> dict[str, float]:
    """Ask every question twice; return the percentiles of the second time, when the index is in memory."""
    for question in questions():
        engine.search(question)
    times, work = [], []
    for question in questions():
        started, worked = time.perf_counter(), time.process_time()
        engine.search(question)
        times.append(1e3 * (time.perf_counter() - started))
        work.append(1e3 * (time.process_time() - worked))
    found: dict[str, float] = {}
    for name, each in (("p", sorted(times)), ("work", sorted(work))):
        found |= {f"{name}50": each[len(each) // 2], f"{name}95": each[int(len(each) * 0.95)]}
    return found


def cold_start(records: int, *, drop: bool) -> float:
    """Return the seconds of `shrag search` as a whole process, after dropping the page cache if ``drop``."""
    if drop:
        subprocess.run(["sync"], check=True)
        Path("/proc/sys/vm/drop_caches").write_text("3")
    started = time.perf_counter()
    run_quietly("search", f"g{records}", COLD_QUESTION, "-k", "5")
    return time.perf_counter() - started


def questions() -> list[str]:
    """Return questions of the development sets, or else the demonstration's."""
    sets = [DATA / name for name in ("wiki-ko", "wiki-en")] if DATA.is_dir() else [DEMO]
    return [topic.text for each in sets for topic in read_topics(each / "topics.tsv")[: QUESTIONS // len(sets)]]


def measure_update(home: Path, records: int) -> float:
    """Add one percent of new records, and time the update of the index."""
    source, name = home / "source.jsonl", f"g{records}"
    write_passages(source, resample_passages(DATA, records // 100, seed=2, first=records))
    run_quietly("corpus", "add", name, "--format", "miracl", str(source))
    source.unlink()
    seconds, _, _, _ = run([*SHRAG, "index", name, "--update", "--keep", "1"])
    return seconds


def run_quietly(*arguments: str) -> None:
    """Run one command."""
    subprocess.run([*SHRAG, *arguments], check=True, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)


def exponent(figures: Mapping[str, Mapping[str, float]], measure: str) -> float | None:
    """Return the exponent of growth, fitted to the logarithms by least squares; None for fewer than two sizes."""
    points = [(math.log(int(size)), math.log(each[measure])) for size, each in figures.items() if measure in each]
    if len(points) < 2:
        return None
    return statistics.linear_regression(*zip(*points, strict=True)).slope


def table(figures: Mapping[str, Mapping[str, float]]) -> str:
    """Return the figures as a Markdown table."""
    lines = [
        "| | " + " | ".join(f"{int(size):,}" for size in figures) + " | exponent |",
        "| --- |" + " --- |" * (len(figures) + 1),
    ]
    for measure, title in MEASURES.items():
        if any(measure in each for each in figures.values()):
            cells = [
                f"{each[measure]:,.{1 + (each[measure] < 10)}f}" if measure in each else "" for each in figures.values()
            ]
            slope = exponent(figures, measure)
            lines.append(f"| {title} | " + " | ".join(cells) + f" | {'' if slope is None else f'{slope:.2f}'} |")
    return "\n".join(lines)


def draw(figures: Mapping[str, Mapping[str, float]]) -> Figure:
    """Draw seconds, sizes and milliseconds over the number of records, on logarithmic axes."""
    from matplotlib.figure import Figure

    from shrag.evaluation.reports.plots import COLOURS, MARKERS

    panels = {
        "seconds": ("add", "build", "resumed", "update", "cold", "cold_dropped"),
        "MiB": ("memory", "size"),
        "milliseconds": ("p50", "p95", "work50", "work95"),
    }
    figure = Figure(figsize=(14.4, 4.4), layout="constrained")
    for position, (unit, measures) in enumerate(panels.items(), 1):
        axes = figure.add_subplot(1, len(panels), position)
        for number, measure in enumerate(measures):
            points = [(int(size), each[measure]) for size, each in figures.items() if measure in each]
            if points:
                (line,) = axes.plot(*zip(*points, strict=True), color=COLOURS[number], marker=MARKERS[number])
                line.set_label(MEASURES[measure].rpartition(",")[0])
        axes.set_xscale("log")
        axes.set_yscale("log")
        axes.set_xlabel("records")
        axes.set_ylabel(unit)
        axes.legend(frameon=False, fontsize="small")
    return figure


if __name__ == "__main__":
    main()
