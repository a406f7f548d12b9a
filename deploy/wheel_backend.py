"""Build backend: setuptools, with Lucene's classes cut out of the jar of the pinned Pyserini, and the documentation.

Pyserini's jar has 166 MB, of which SHRAG needs only Lucene's own classes (4 MB). Before a build, these are written to
``indexing/lexical/java/lucene/``, which git ignores, with Lucene's license and notice. Pyserini is taken from this
environment if it is installed there. Otherwise pip downloads it, with pip's configuration.

Whole packages are kept: all of Lucene's core, and those of its analysis module that ``WhitespaceAnalyzer`` is made of.
A test checks that no kept class refers to one that is left out.

:mod:`build_docs` builds the documentation with packages that are installed only in the environment of the build. If
that fails, an editable installation is made without the documentation, and `/docs` says how to build it.
"""

from __future__ import annotations

import gzip
import hashlib
import os
import shutil
import subprocess
import sys
import tarfile
import tempfile
import zipfile
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from importlib.util import find_spec
from pathlib import Path
from typing import Any

import build_docs

PYSERINI = "1.6.0"
ANSERINI_JAR = "anserini-1.7.1-fatjar.jar"
ANSERINI_SHA256 = "183bf5b53c82441b249d475f66f73aaa3e7dedd8892dece747e3680a1fda34f3"
LUCENE = "9.9.1"

_ROOT = Path(__file__).resolve().parents[1]
FOLDER = _ROOT / "indexing" / "lexical" / "java" / "lucene"

_LUCENE = "org/apache/lucene/"

_CORE = ("codecs", "document", "geo", "index", "internal", "search", "store", "util")
"""Folders of Lucene's core, kept with their subfolders."""

_ANALYSIS = ("analysis", "analysis/core", "analysis/standard", "analysis/tokenattributes", "analysis/util")
"""Folders of analysis, kept without their subfolders, which have stemmers and stop words of forty languages."""

_OTHER_CODECS = ("blockterms", "blocktreeords", "bloom", "memory", "simpletext", "uniformsplit")
"""Folders of the module ``lucene-codecs`` among those of the core. They are left out: nothing writes these formats."""

_LICENCES = {"META-INF/LICENSE.txt": "LICENSE", "META-INF/NOTICE.txt": "NOTICE"}

_SERVICES = "META-INF/services/"
_VERSIONS = "META-INF/versions/"

_Settings = Mapping[str, Any] | None


class WrongJar(Exception):
    """Pyserini's jar is not the pinned one."""


def get_requires_for_build_wheel(config_settings: _Settings = None) -> list[str]:
    """Return the packages that the documentation is built with (PEP 517)."""
    return build_docs.requirements()


def get_requires_for_build_sdist(config_settings: _Settings = None) -> list[str]:
    """Return the packages that the documentation is built with (PEP 517)."""
    return build_docs.requirements()


def get_requires_for_build_editable(config_settings: _Settings = None) -> list[str]:
    """Return the packages that the documentation is built with (PEP 660)."""
    return build_docs.requirements()


def build_wheel(wheel_directory: str, config_settings: _Settings = None, metadata_directory: str | None = None) -> str:
    """Build the wheel (PEP 517)."""
    shutil.rmtree(_ROOT / "build" / "lib", ignore_errors=True)  # else setuptools packs files deleted since
    build_docs.make_docs()
    return str(_setuptools().build_wheel(wheel_directory, config_settings, metadata_directory))


def build_editable(
    wheel_directory: str, config_settings: _Settings = None, metadata_directory: str | None = None
) -> str:
    """Build the wheel of an editable installation (PEP 660)."""
    try:
        build_docs.make_docs()
    except build_docs.DocsNotBuilt as error:
        print(f"The documentation was not built: {error}", file=sys.stderr)  # noqa: T201
    return str(_setuptools().build_editable(wheel_directory, config_settings, metadata_directory))


def build_sdist(sdist_directory: str, config_settings: _Settings = None) -> str:
    """Build the source distribution (PEP 517), which has Lucene's jar and the documentation too.

    With ``SOURCE_DATE_EPOCH`` the same sources give the same bytes, as setuptools does for wheels.
    """
    build_docs.make_docs()
    name = str(_setuptools().build_sdist(sdist_directory, config_settings))
    if os.environ.get("SOURCE_DATE_EPOCH"):
        _pack_again(Path(sdist_directory, name), int(os.environ["SOURCE_DATE_EPOCH"]))
    return name


def prepare_metadata_for_build_wheel(metadata_directory: str, config_settings: _Settings = None) -> str:
    """Write the metadata (PEP 517), which name Lucene's license and notice."""
    return str(_setuptools().prepare_metadata_for_build_wheel(metadata_directory, config_settings))


def prepare_metadata_for_build_editable(metadata_directory: str, config_settings: _Settings = None) -> str:
    """Write the metadata (PEP 660), which name Lucene's license and notice."""
    return str(_setuptools().prepare_metadata_for_build_editable(metadata_directory, config_settings))


def _setuptools() -> Any:  # noqa: ANN401  (a module)
    """Make Lucene's jar, and return setuptools' build backend."""
    from setuptools import build_meta

    if os.environ.get("SOURCE_DATE_EPOCH"):
        os.umask(0o022)  # a wheel keeps the permissions of its source files

    make_lucene_jar()
    return build_meta


def _pack_again(archive: Path, epoch: int) -> None:
    """Rewrite a source distribution with sorted members, no owners, the time ``epoch`` and fixed permissions."""
    partial = archive.with_suffix(".part")
    with (
        tarfile.open(archive) as old,
        partial.open("wb") as file,
        gzip.GzipFile("", "wb", 9, file, epoch) as packed,
        tarfile.open(mode="w", fileobj=packed, format=tarfile.PAX_FORMAT) as new,
    ):
        for member in sorted(old.getmembers(), key=lambda each: each.name):
            member.mtime, member.pax_headers = epoch, {}
            member.uid = member.gid = 0
            member.uname = member.gname = ""
            member.mode = 0o755 if member.isdir() or member.mode & 0o100 else 0o644
            new.addfile(member, old.extractfile(member) if member.isreg() else None)
    partial.rename(archive)


def make_lucene_jar(folder: Path = FOLDER) -> Path:
    """Write Lucene's jar, license and notice to ``folder`` unless they are there; return the path of the jar."""
    jar = folder / f"lucene-{LUCENE}.jar"
    if _is_made(jar):
        return jar
    with _anserini_jar() as source:
        cut(source, jar)
    return jar


def cut(source: Path, target: Path) -> None:
    """Write the jar ``target`` with Lucene's classes of the jar ``source``, and the license and notice beside it.

    The same source gives the same bytes.

    Raises:
        WrongJar: ``source`` is not the pinned jar.
    """
    with source.open("rb") as file:
        digest = hashlib.file_digest(file, "sha256").hexdigest()
    if digest != ANSERINI_SHA256:
        raise WrongJar(f"{source} has the SHA-256 {digest}; Pyserini {PYSERINI} has {ANSERINI_SHA256}.")
    if target.parent.exists():
        shutil.rmtree(target.parent)  # that of another version
    target.parent.mkdir(parents=True)
    with zipfile.ZipFile(source) as jar:
        kept = sorted(name for name in jar.namelist() if is_kept(name))
        classes = {name.removesuffix(".class").replace("/", ".") for name in kept}
        partial = target.with_suffix(".part")
        with zipfile.ZipFile(partial, "w", zipfile.ZIP_DEFLATED, compresslevel=9) as small:
            for name in ("META-INF/MANIFEST.MF", *_LICENCES, *kept):
                data = jar.read(name)
                if name.startswith(_SERVICES):
                    data = _kept_services(data, classes)
                small.writestr(zipfile.ZipInfo(name), data, zipfile.ZIP_DEFLATED)
            small.comment = _mark()
        for name, licence in _LICENCES.items():
            (target.parent / licence).write_bytes(jar.read(name))
    partial.rename(target)


def is_kept(name: str) -> bool:
    """Return whether the entry ``name`` of Pyserini's jar belongs in Lucene's jar."""
    if name.endswith("/"):
        return False
    if name.startswith(_SERVICES):
        service = name.removeprefix(_SERVICES).replace(".", "/")
        return is_kept(f"{service}.class")
    if name.startswith(_VERSIONS):
        name = name.removeprefix(_VERSIONS).partition("/")[2]
    if not name.startswith(_LUCENE):
        return False
    folder, _, _ = name.removeprefix(_LUCENE).rpartition("/")
    package, _, inner = folder.partition("/")
    if package == "codecs" and inner.partition("/")[0] in _OTHER_CODECS:
        return False
    return package in _CORE or folder in _ANALYSIS


def _kept_services(data: bytes, classes: set[str]) -> bytes:
    """Return a file of ``META-INF/services`` without the classes that are left out, which Java could not load."""
    lines = data.decode().splitlines()
    return "".join(f"{line}\n" for line in lines if line.strip() in classes or line.startswith("#")).encode()


def _mark() -> bytes:
    """Return the comment of the jar: what it was made of, and how."""
    how = hashlib.sha256(Path(__file__).read_bytes()).hexdigest()
    return f"Lucene {LUCENE}, cut from {ANSERINI_JAR} of Pyserini {PYSERINI} by {how}".encode()


def _is_made(jar: Path) -> bool:
    if not all(path.is_file() for path in (jar, *(jar.with_name(licence) for licence in _LICENCES.values()))):
        return False
    try:
        with zipfile.ZipFile(jar) as opened:
            return opened.comment == _mark()
    except zipfile.BadZipFile:
        return False


@contextmanager
def _anserini_jar() -> Iterator[Path]:
    """Yield the path of the pinned Pyserini's jar, either the installed one or a temporary download."""
    spec = find_spec("pyserini")
    for folder in (spec.submodule_search_locations or ()) if spec else ():
        installed = Path(folder, "resources", "jars", ANSERINI_JAR)
        if installed.is_file():
            yield installed
            return
    with tempfile.TemporaryDirectory(prefix="shrag-lucene-") as name:
        yield _download(Path(name))


def _download(folder: Path) -> Path:
    print(f"Downloading Pyserini {PYSERINI} (165 MB) for its Lucene classes.", file=sys.stderr)  # noqa: T201
    pip = [sys.executable, "-m", "pip", "--disable-pip-version-check", "download", "--quiet", "--no-deps"]
    subprocess.run([*pip, "--dest", str(folder), f"pyserini=={PYSERINI}"], check=True)  # noqa: S603
    (archive,) = folder.glob("pyserini-*")
    jar = folder / ANSERINI_JAR
    if archive.suffix == ".whl":
        with zipfile.ZipFile(archive) as wheel:
            (name,) = (each for each in wheel.namelist() if each.endswith(f"/{ANSERINI_JAR}"))
            with wheel.open(name) as packed, jar.open("wb") as file:
                shutil.copyfileobj(packed, file)
        return jar
    with tarfile.open(archive) as sdist:
        for member in sdist:
            packed_jar = sdist.extractfile(member) if member.name.endswith(f"/{ANSERINI_JAR}") else None
            if packed_jar is not None:
                with jar.open("wb") as file:
                    shutil.copyfileobj(packed_jar, file)
                return jar
    raise WrongJar(f"{archive.name} has no {ANSERINI_JAR}.")


if __name__ == "__main__":
    print(make_lucene_jar())  # noqa: T201
