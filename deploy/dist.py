"""Build a release, or prepare the next one.

``python deploy/dist.py`` builds the current commit into ``dist/``: sdist and wheel, twice with the same bytes, and
SHA256SUMS. ``make dist`` also tests the wheel. The version comes from ``pyproject.toml``, so an archive without git can
be built too. If the commit has a tag ``vVERSION``, it must have that version, and the changelog must have its entry.

``python deploy/dist.py --prepare VERSION`` (``make dist VERSION=…``) writes the version and the date where they belong.
It runs before the commit that is tagged.
"""

from __future__ import annotations

import argparse
import hashlib
import os
import re
import shutil
import subprocess
import sys
import tarfile
import tempfile
import time
import tomllib
from collections.abc import Iterator, Mapping
from datetime import UTC, date, datetime
from pathlib import Path

ROOT = Path(__file__).resolve().parents[1]
SUMS = "SHA256SUMS"

_NOT_SOURCE = shutil.ignore_patterns(".*", "*.egg-info", "__pycache__")
_BUILT = {"var", "build", "dist"}  # at the top: indexing/build is a package
_BACKEND = "import sys, wheel_backend; wheel_backend.{hook}(sys.argv[1])"

# Differences that must not change the bytes: folder, permissions of new files, time zone, language, order of sets.
_MACHINES = (
    ("one", 0o022, {"TZ": "UTC", "LC_ALL": "C.UTF-8", "PYTHONHASHSEED": "1"}),
    ("another-folder", 0o077, {"TZ": "Asia/Seoul", "LC_ALL": "C", "PYTHONHASHSEED": "2"}),
)


class ReleaseProblem(Exception):
    """A release cannot be built or prepared from this tree."""


def main() -> None:
    """Build into the folder that ``--output`` names, or prepare the release that ``--prepare`` names."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--output", type=Path, default=ROOT / "dist", help="the folder to write")
    parser.add_argument("--prepare", metavar="VERSION", default="", help="write this version and today's date")
    arguments = parser.parse_args()
    try:
        if arguments.prepare:
            prepare(ROOT, arguments.prepare, datetime.now(UTC).date())
            print(
                f"Version {arguments.prepare} is written. Read the changes, then: git commit -am 'Release "
                f"{arguments.prepare}' && git tag v{arguments.prepare} && make dist"
            )
        else:
            build_release(ROOT, arguments.output)
    except ReleaseProblem as problem:
        sys.exit(str(problem))


def build_release(root: Path, output: Path) -> tuple[Path, Path]:
    """Build sdist and wheel of the current commit of ``root`` into ``output``, and return their paths.

    The wheel is built from the sdist. Both are built twice, with settings that differ as those of two machines.

    Raises:
        ReleaseProblem: The tree is not committed, its tag or changelog lacks the version, or the bytes differ.
    """
    version = project_version(root)
    check_committed(root, version)
    epoch = source_date(root)
    with tempfile.TemporaryDirectory(prefix="shrag-dist-") as name:
        built = []
        for folder, umask, environment in _MACHINES:
            started = time.monotonic()
            built.append(_build(root, Path(name, folder), umask, {**environment, "SOURCE_DATE_EPOCH": str(epoch)}))
            print(f"built in {time.monotonic() - started:.0f} s")
        sums = [{path.name: _sha256(path) for path in paths} for paths in built]
        if sums[0] != sums[1]:
            raise ReleaseProblem(f"The same sources gave other bytes the second time: {sums[0]} and {sums[1]}.")
        output.mkdir(parents=True, exist_ok=True)
        sdist, wheel = (Path(shutil.copy(path, output)) for path in built[0])
    lines = [f"{digest}  {name}\n" for name, digest in sums[0].items()]
    (output / SUMS).write_text("".join(lines), encoding="utf-8")
    for path in (sdist, wheel):
        print(f"{path}: {path.stat().st_size:,} bytes, SHA-256 {sums[0][path.name]}, the same twice")
    return sdist, wheel


def project_version(root: Path) -> str:
    """Return the version in ``pyproject.toml``. All other versions are compared with it."""
    return str(tomllib.loads((root / "pyproject.toml").read_text(encoding="utf-8"))["project"]["version"])


def source_date(root: Path) -> int:
    """Return the time of the sources in seconds: ``SOURCE_DATE_EPOCH``, else of the commit, else of the release day."""
    given = os.environ.get("SOURCE_DATE_EPOCH") or _git(root, "log", "-1", "--format=%ct")
    if given:
        return int(given)
    found = re.search(r'^RELEASED = "(.+)"$', (root / "cli" / "versions.py").read_text(encoding="utf-8"), re.MULTILINE)
    if found is None:
        raise ReleaseProblem("cli/versions.py has no RELEASED.")
    return int(datetime.fromisoformat(found[1]).replace(tzinfo=UTC).timestamp())


def check_committed(root: Path, version: str) -> None:
    """Raise :class:`ReleaseProblem` for uncommitted changes, a tag of another version, or a missing changelog entry.

    Without git nothing is checked.
    """
    if _git(root, "rev-parse", "HEAD") is None:
        return
    if changed := _git(root, "status", "--porcelain"):
        raise ReleaseProblem(f"There are changes that are not committed, and only a commit is built:\n{changed}")
    tags = [tag for tag in (_git(root, "tag", "--points-at", "HEAD", "v*") or "").split() if tag]
    if not tags:
        print(f"This commit has no tag v{version}: what is built is no release.")
    elif f"v{version}" not in tags:
        raise ReleaseProblem(f"The tag is {', '.join(tags)}, and pyproject.toml has the version {version}.")
    elif f"\n## {version} (" not in (root / "CHANGELOG.md").read_text(encoding="utf-8"):
        raise ReleaseProblem(f"CHANGELOG.md has no entry {version}: make dist VERSION={version} writes it.")


def prepare(root: Path, version: str, day: date) -> None:
    """Write ``version`` and ``day`` into the changelog, the project, the citation and the program.

    Raises:
        ReleaseProblem: The version is invalid, or a file lacks the line to change. Nothing is written then.
    """
    if not re.fullmatch(r"\d+\.\d+\.\d+((a|b|rc)\d+)?", version):
        raise ReleaseProblem(f"{version} is no version: write 1.2.3, or 1.2.3rc1.")
    written: dict[str, str] = {}
    for name, pattern, line in (
        ("CHANGELOG.md", r"^## Unreleased$", f"## {version} ({day})"),
        ("pyproject.toml", r'^version = ".*"$', f'version = "{version}"'),
        ("CITATION.cff", r"^version: .*$", f"version: {version}"),
        ("CITATION.cff", r"\n(date-released: .*\n)?license:", f"\ndate-released: {day}\nlicense:"),
        ("cli/versions.py", r'^RELEASED = ".*"$', f'RELEASED = "{day}"'),
    ):
        before = written.get(name) or (root / name).read_text(encoding="utf-8")
        written[name], count = re.subn(pattern, line, before, count=1, flags=re.MULTILINE)
        if not count:
            raise ReleaseProblem(f"{name} has no line {pattern}: has {version} been prepared already?")
    written["CHANGELOG.md"] = written["CHANGELOG.md"].replace(" There has been no release yet.", "")
    for name, text in written.items():
        (root / name).write_text(text, encoding="utf-8")


def _build(root: Path, folder: Path, umask: int, environment: Mapping[str, str]) -> tuple[Path, Path]:
    """Build the sdist from the committed files, and the wheel from the sdist, in new folders below ``folder``."""
    source, made = folder / "source", folder / "made"
    _copy_sources(root, source)
    made.mkdir()
    _call_backend("build_sdist", source, made, umask, environment)
    (sdist,) = made.glob("*.tar.gz")
    with tarfile.open(sdist) as archive:
        archive.extractall(folder, filter="data")
    _call_backend("build_wheel", folder / sdist.name.removesuffix(".tar.gz"), made, umask, environment)
    (wheel,) = made.glob("*.whl")
    return sdist, wheel


def _call_backend(hook: str, source: Path, made: Path, umask: int, environment: Mapping[str, str]) -> None:
    """Call a hook of the build backend (PEP 517) in ``source``, with the packages of this environment."""
    done = subprocess.run(  # noqa: S603 - this Python
        [sys.executable, "-c", _BACKEND.format(hook=hook), str(made)],
        cwd=source,
        env={**os.environ, **environment, "PYTHONPATH": "deploy", "PYTHONDONTWRITEBYTECODE": "1"},
        umask=umask,
        capture_output=True,
        text=True,
        check=False,
    )
    if done.returncode:
        raise ReleaseProblem(f"{hook} failed:\n{done.stdout[-2000:]}{done.stderr[-4000:]}")


def _copy_sources(root: Path, folder: Path) -> None:
    """Copy the committed files, and Lucene's jar if it is already made.

    Without git, copy all files except build products.
    """
    if _git(root, "rev-parse", "HEAD") is None:
        shutil.copytree(
            root, folder, ignore=lambda at, names: _NOT_SOURCE(at, names) | (_BUILT if Path(at) == root else set())
        )
        return
    for name in _committed_files(root):
        (folder / name).parent.mkdir(parents=True, exist_ok=True)
        shutil.copy2(root / name, folder / name)
    jar = Path("indexing", "lexical", "java", "lucene")
    if (root / jar).is_dir():  # the backend makes it again if it does not fit this source
        shutil.copytree(root / jar, folder / jar)


def _committed_files(root: Path) -> Iterator[str]:
    yield from (name for name in (_git(root, "ls-files", "-z") or "").split("\0") if name)


def _git(root: Path, *arguments: str) -> str | None:
    """Return git's output, or None if git fails or is not installed, or ``root`` is not a checkout."""
    if not (root / ".git").exists() or shutil.which("git") is None:
        return None
    done = subprocess.run(  # noqa: S603 - arguments of this file
        ["git", "-C", str(root), *arguments],  # noqa: S607
        capture_output=True,
        text=True,
        check=False,
    )
    return done.stdout.strip() if done.returncode == 0 else None


def _sha256(path: Path) -> str:
    with path.open("rb") as file:
        return hashlib.file_digest(file, "sha256").hexdigest()


if __name__ == "__main__":
    main()
