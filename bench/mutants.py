"""Mutation testing of a random sample: ``make mutants``, or ``python -m bench.mutants --count 300 --seed 17``.

A mutant is the source with one small mistake in it (Cosmic Ray's operators): ``<`` for ``<=``, ``and`` for ``or``, a
number off by one, a loop that never runs. Each mutant is tried in a copy of the working tree. The test file that
mirrors its module runs first, then the quick tests of other files that import the module, then the contract tests that
do. If no file mirrors the module, all tests that import it run first. The tests of the mirroring folder and of the
folders above it, except ``tests`` itself, follow. Last comes the test of how dataclasses and structs are declared. A
mutant is found when a test fails or does not end, but passes without the mistake.

Results are appended to ``--output``, one JSON object per line. Mutants that the file already has belong to the sample
and are not run again, even if their lines have moved since. ``--again`` runs the survivors among them again. Mutants
whose lines have changed are left out, and others are drawn instead.
"""

from __future__ import annotations

import argparse
import ast
import difflib
import json
import os
import random
import re
import resource
import shutil
import signal
import subprocess
import sys
import tempfile
import threading
import time
import tomllib
from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import asdict, dataclass, replace
from itertools import groupby
from pathlib import Path
from queue import Empty, SimpleQueue

from cosmic_ray.ast import ast_nodes, get_ast
from cosmic_ray.mutating import mutate_code
from cosmic_ray.plugins import get_operator

ROOT = Path(__file__).resolve().parent.parent
_SETUPTOOLS = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))["tool"]["setuptools"]
PACKAGES = tuple(folder for name, folder in _SETUPTOOLS["package-dir"].items() if name.count(".") == 1)
BINARY = (
    "Add_Sub Sub_Add Mul_Div Div_Mul Div_FloorDiv FloorDiv_Div FloorDiv_Mul Mod_FloorDiv Pow_Mul "
    "BitOr_BitAnd BitAnd_BitOr"
)
COMPARISON = (
    "Eq_NotEq NotEq_Eq Is_IsNot IsNot_Is Lt_LtE Lt_GtE LtE_Lt LtE_Gt Gt_GtE Gt_LtE GtE_Gt GtE_Lt"  # boundary, opposite
)
OPERATORS = (
    *(f"ReplaceBinaryOperator_{pair}" for pair in BINARY.split()),
    *(f"ReplaceComparisonOperator_{pair}" for pair in COMPARISON.split()),
    *"AddNot ReplaceUnaryOperator_USub_UAdd ReplaceUnaryOperator_Delete_Not ReplaceTrueWithFalse".split(),
    *"ReplaceFalseWithTrue ReplaceAndWithOr ReplaceOrWithAnd ReplaceBreakWithContinue".split(),
    *"ReplaceContinueWithBreak ExceptionReplacer NumberReplacer RemoveDecorator ZeroIterationForLoop".split(),
)
BUILT = ("indexing/lexical/java/lucene", "serving/page/docs")
"""Folders that tests use and that no commit has, because they are built."""

BUILDING = ("corpora", "evaluation", "indexing", "models")
"""Packages where a mistake may change the indexes and results that tests build once and share."""

SELECTION = "not (soak or vllm or data or ray)"
QUICK = "not (browser or data or process or slow or soak or vllm or ray)"
"""Pytest's marks of the tests to run. ``QUICK`` is for files that only import a module that another file mirrors."""

TIMEOUT = 600
MEMORY = 8 << 30


@dataclass(frozen=True, slots=True)
class Mutant:
    """One mistake: the operator's ``occurrence``-th place in a file."""

    path: str
    line: int
    operator: str
    occurrence: int


@dataclass(frozen=True, slots=True)
class Outcome:
    """The result of a mutant's tests. ``found_by`` is empty for a survivor; ``change`` is the mutant's diff."""

    mutant: Mutant
    found_by: str
    seconds: float
    change: str


def main() -> None:
    """Run the sample that the command line asks for, and print the report."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--count", type=int, default=300, help="mutants in the sample (%(default)s)")
    parser.add_argument("--seed", type=int, default=17, help="of the sample (%(default)s)")
    parser.add_argument("--workers", type=int, default=os.cpu_count() or 1, help="mutants at once (%(default)s)")
    parser.add_argument("--output", type=Path, default=ROOT / "var" / "mutants.jsonl", help="results (%(default)s)")
    parser.add_argument("--again", action="store_true", help="run the survivors of earlier runs again")
    parser.add_argument("--minutes", type=float, default=600, help="begin no mutant after these (%(default)s)")
    chosen = parser.parse_args()
    chosen.output.parent.mkdir(parents=True, exist_ok=True)
    done = relocate(read_outcomes(chosen.output))
    mutants = [*done, *(mutant for mutant in sample(chosen.count, chosen.seed) if mutant not in done)][: chosen.count]
    waiting = SimpleQueue[Mutant]()
    for mutant in mutants:
        if mutant not in done or (chosen.again and not done[mutant].found_by):
            waiting.put(mutant)
    end, writing = time.monotonic() + 60 * chosen.minutes, threading.Lock()

    def work() -> None:
        with tempfile.TemporaryDirectory(prefix="shrag-mutants-") as folder:
            tree = copy_tree(Path(folder))
            broken: set[str] = set()
            while time.monotonic() < end:
                try:
                    mutant = waiting.get_nowait()
                except Empty:
                    return
                outcome = try_mutant(tree, mutant, broken)
                with writing, chosen.output.open("a", encoding="utf-8") as file:
                    done[mutant] = outcome
                    file.write(json.dumps(asdict(outcome), ensure_ascii=False) + "\n")
                    state = f"found by {outcome.found_by}" if outcome.found_by else "SURVIVED"
                    name = f"{mutant.path}:{mutant.line} {mutant.operator}"
                    print(f"{waiting.qsize()} wait, {name}: {state}, {outcome.seconds:.0f} s", flush=True)

    with ThreadPoolExecutor(chosen.workers) as pool:
        for worker in [pool.submit(work) for _ in range(chosen.workers)]:
            worker.result()
    print(report([done[mutant] for mutant in mutants if mutant in done], len(mutants)))


def sample(count: int, seed: int) -> list[Mutant]:
    """Return mutants drawn without replacement. A place counts once, however many operators fit there.

    Cosmic Ray cannot replace an exception with a dotted name, so such mutants are left out.
    """
    places = [
        list(group)
        for package in PACKAGES
        for path in sorted((ROOT / package).rglob("*.py"))
        for _, group in groupby(
            sorted(_mutants(path), key=lambda found: (found[0], found[1].operator)), key=lambda found: found[0]
        )
    ]
    draw = random.Random(seed)
    print(
        f"{len(places):,} places for a mistake; {min(count, len(places))} of them are tried (seed {seed})", flush=True
    )
    drawn = [draw.choice(place)[1] for place in draw.sample(places, min(count, len(places)))]
    return [mutant for mutant in drawn if _can_be_made(mutant)]


def _can_be_made(mutant: Mutant) -> bool:
    try:
        _mutated((ROOT / mutant.path).read_text(encoding="utf-8"), mutant)
    except AttributeError:
        return False
    return True


def _mutants(path: Path) -> Iterator[tuple[tuple[int, int], Mutant]]:
    """Yield a file's mutants with their places, except those in annotations, which never run."""
    source = path.read_text(encoding="utf-8")
    nodes = list(ast_nodes(get_ast(source)))
    skipped = _annotations(source)
    for name in OPERATORS:
        operator = get_operator(f"core/{name}")()
        places = (place for node in nodes for place, _ in operator.mutation_positions(node))
        for occurrence, place in enumerate(places):
            if not any(start <= place < end for start, end in skipped):
                yield place, Mutant(str(path.relative_to(ROOT)), place[0], name, occurrence)


def _annotations(source: str) -> list[tuple[tuple[int, int], tuple[int, int]]]:
    """Return the start and end of each annotation and ``TYPE_CHECKING`` block, as pairs of line and column."""
    found: list[ast.AST | None] = []
    for node in ast.walk(ast.parse(source)):
        match node:
            case ast.arg() | ast.AnnAssign():
                found.append(node.annotation)
            case ast.FunctionDef() | ast.AsyncFunctionDef():
                found.append(node.returns)
            case ast.If(test=ast.Name(id="TYPE_CHECKING")):
                found.append(node)
    return [
        ((node.lineno, node.col_offset), (node.end_lineno or 0, node.end_col_offset or 0))
        for node in found
        if isinstance(node, ast.expr | ast.stmt)
    ]


def copy_tree(folder: Path) -> Path:
    """Copy the working tree with its built folders, and link its packages as ``shrag`` in ``links`` beside it."""
    tree = folder / "tree"
    listed = subprocess.run(
        ["git", "ls-files", "-z", "--cached", "--others", "--exclude-standard"],
        cwd=ROOT,
        capture_output=True,
        check=True,
    )
    for name in listed.stdout.decode().split("\0"):
        if name and (ROOT / name).is_file():
            (tree / name).parent.mkdir(parents=True, exist_ok=True)
            shutil.copy2(ROOT / name, tree / name)
    for built in BUILT:
        if (ROOT / built).is_dir():
            shutil.copytree(ROOT / built, tree / built)
    package = folder / "links" / "shrag"
    package.mkdir(parents=True)
    for target in (*PACKAGES, "shrag/__init__.py", "shrag/py.typed"):
        (package / Path(target).name).symlink_to(tree / target)
    where = [sys.executable, "-c", "import shrag.cli.main; print(shrag.cli.main.__file__)"]
    imported = subprocess.run(where, cwd=tree, env=_environment(tree), capture_output=True, text=True, check=True)
    assert imported.stdout.startswith(str(package)), f"tests would import {imported.stdout}"
    return tree


def try_mutant(tree: Path, mutant: Mutant, broken: set[str]) -> Outcome:
    """Make the mistake in ``tree``, run the tests in stages until one fails, and undo the mistake.

    ``broken`` has the tests that also fail without a mistake. They are not run, and newly found ones are added.
    """
    file = tree / mutant.path
    source = file.read_text(encoding="utf-8")
    mutated = _mutated(source, mutant)
    shared = tree.parent / "built"
    shared.mkdir(exist_ok=True)
    built = None if mutant.path.startswith(BUILDING) else shared
    start = time.monotonic()
    found = ""
    stages = _stages(tree, mutant.path)
    for stage, files in stages.items():
        selection = QUICK if stages["mirror"] and stage in {"importing", "beside"} else SELECTION
        while files:
            file.write_text(mutated, encoding="utf-8")
            kept = set(shared.iterdir())
            try:
                failure = run_tests(tree, files, built, selection, broken)
            finally:
                file.write_text(source, encoding="utf-8")
                for made in set(shared.iterdir()) - kept:  # made with the mistake, so not for other runs
                    shutil.rmtree(made, ignore_errors=True)
            # Run the same on the unchanged source: a test that fails or does not end there too has found nothing.
            if failure and not run_tests(tree, [failure] if "::" in failure else files, built, selection):
                found = f"{stage}: {failure}"
            elif "::" in failure and failure not in broken:
                broken.add(failure)
                continue
            break
        if found:
            break
    return Outcome(mutant, found, time.monotonic() - start, _change(source, mutated))


def _mutated(source: str, mutant: Mutant) -> str:
    mutated: str | None = mutate_code(source, get_operator(f"core/{mutant.operator}")(), mutant.occurrence)
    assert mutated is not None
    return mutated


def _change(source: str, mutated: str) -> str:
    """Return the removed and added lines of the diff."""
    return "\n".join(
        line
        for line in difflib.unified_diff(source.splitlines(), mutated.splitlines(), lineterm="", n=0)
        if line[0] in "+-" and line[:3] not in ("+++", "---")
    )


def _stages(tree: Path, path: str) -> dict[str, list[str]]:
    """Return the test files to run for a module: stage → files, no file twice."""
    module = Path(path)
    folder = tree / "tests" / module.parent
    parent, stem = "shrag." + ".".join(module.parent.parts), module.stem
    imported = re.compile(rf"(from|import) {re.escape(parent)}\.{stem}\b|from {re.escape(parent)} import .*\b{stem}\b")
    mirror = [file for file in (folder / f"test_{stem}.py",) if file.exists()]
    importing = [
        file
        for file in sorted((tree / "tests").rglob("test_*.py"))
        if file not in mirror
        and not {"browser", "architecture", "vllm"} & set(file.parts)
        and imported.search(file.read_text(encoding="utf-8"))
    ]
    folders = [] if mirror else [tree / "tests" / each for each in (module.parent, *module.parent.parents[:-1])]
    beside = [file for each in folders for file in sorted(each.glob("test_*.py")) if file not in importing]
    contracts = [file for file in importing if file.parent.name == "contracts"]
    others = [file for file in importing if file not in contracts]
    declared = [tree / "tests" / "architecture" / "test_values.py"]
    stages = {"mirror": mirror, "importing": others, "contracts": contracts, "beside": beside, "declared": declared}
    return {stage: [str(file.relative_to(tree)) for file in files] for stage, files in stages.items()}


def run_tests(
    tree: Path,
    tests: Sequence[str],
    built: Path | None = None,
    selection: str = SELECTION,
    left_out: Iterable[str] = (),
) -> str:
    """Return the first test that failed, or another problem, or an empty string if all tests passed.

    ``built`` is a folder that runs share for what tests build once, or None if the mutant may change that.
    """
    command = [sys.executable, "-m", "pytest", "-x", "-p", "no:cacheprovider", "-m", selection, "--no-header", "-rfE"]
    temporary = tree.parent / "pytest"
    environment = _environment(tree)
    if built is not None:
        environment["SHRAG_BUILT_ONCE"] = str(built)
    with subprocess.Popen(
        [*command, f"--basetemp={temporary}", *(f"--deselect={test}" for test in left_out), *tests],
        cwd=tree, env=environment, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True, start_new_session=True,
    ) as process:  # fmt: skip
        resource.prlimit(process.pid, resource.RLIMIT_DATA, (MEMORY, MEMORY))
        try:
            output = process.communicate(timeout=TIMEOUT)[0]
        except subprocess.TimeoutExpired:
            return f"no end within {TIMEOUT} s"
        finally:
            _kill_group(process.pid)
    if process.returncode in {0, 5}:  # 5: no test of these files is selected
        return ""
    failed = re.search(r"^(?:FAILED|ERROR) (.+?)(?: - .*)?$", output, re.MULTILINE)
    return failed[1] if failed else (output.split("\n")[-2:] or [f"status {process.returncode}"])[0]


def _environment(tree: Path) -> dict[str, str]:
    """Return the environment in which ``shrag`` is the copy: PYTHONPATH puts it before the installed package."""
    # PYTHONSAFEPATH leaves out the working folder, whose ``shrag`` has no subpackages.
    path = os.pathsep.join([str(tree.parent / "links"), str(tree)])
    return {**os.environ, "PYTHONPATH": path, "PYTHONSAFEPATH": "1", "PYTHONDONTWRITEBYTECODE": ""}


def _kill_group(group: int) -> None:
    """Kill the processes that a test left running."""
    try:
        os.killpg(group, signal.SIGKILL)
    except ProcessLookupError:
        return


def read_outcomes(path: Path) -> Iterator[Outcome]:
    """Yield the outcomes of earlier runs."""
    if path.exists():
        for line in path.read_text(encoding="utf-8").splitlines():
            entry = json.loads(line)
            yield Outcome(Mutant(**entry["mutant"]), entry["found_by"], entry["seconds"], entry["change"])


def relocate(outcomes: Iterable[Outcome]) -> dict[Mutant, Outcome]:
    """Return the last outcome of each mutant that can still be made, by the mutant at its present line."""
    last = {(found.mutant, found.change): found for found in outcomes}
    places: dict[Path, list[Mutant]] = {}
    moved: dict[Mutant, Outcome] = {}
    for found in last.values():
        path = ROOT / found.mutant.path
        if not path.exists():
            continue
        if path not in places:
            places[path] = [mutant for _, mutant in _mutants(path)]
        source = path.read_text(encoding="utf-8")
        lines = source.splitlines()
        removed = {line[1:] for line in found.change.splitlines() if line.startswith("-")}
        same = [
            mutant
            for mutant in places[path]
            if mutant.operator == found.mutant.operator
            and lines[mutant.line - 1] in removed
            and _can_be_made(mutant)
            and _change(source, _mutated(source, mutant)) == found.change
        ]
        if same:
            nearest = min(same, key=lambda mutant: abs(mutant.line - found.mutant.line))
            moved[nearest] = replace(found, mutant=nearest)
    return moved


def report(outcomes: Sequence[Outcome], wanted: int) -> str:
    """Return a table by package, and the survivors."""
    run = Counter(_package(outcome) for outcome in outcomes)
    found = Counter(_package(outcome) for outcome in outcomes if outcome.found_by)
    mirror = Counter(_package(outcome) for outcome in outcomes if outcome.found_by.startswith("mirror"))
    lines = [f"{len(outcomes)} of {wanted} mutants run", "", "package     run  found  by the mirroring tests  survived"]
    for package in (*PACKAGES, "all"):
        total, seen, first = (sum(c.values()) if package == "all" else c[package] for c in (run, found, mirror))
        share = f"{seen / total:6.0%}" if total else "     –"
        lines.append(f"{package:10} {total:4} {share} {first:24} {total - seen:9}")
    lines += ["", "Survivors:"]
    for outcome in outcomes:
        if not outcome.found_by:
            lines += [f"{outcome.mutant.path}:{outcome.mutant.line} {outcome.mutant.operator}", outcome.change]
    return "\n".join(lines)


def _package(outcome: Outcome) -> str:
    return outcome.mutant.path.partition("/")[0]


if __name__ == "__main__":
    main()
