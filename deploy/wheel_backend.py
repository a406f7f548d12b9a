"""Build backend: setuptools, with Lucene's classes cut out of the jar of the pinned Pyserini, and the documentation.

Pyserini's jar has 166 MB, of which SHRAG needs Lucene's own classes (4 MB). Before a wheel or an editable installation
is made, they are written to ``indexing/lexical/java/lucene/``, which git ignores, with Lucene's licence and notice.
Pyserini is taken from this environment if it is installed, else downloaded by pip, with pip's configuration.

Whole packages are kept: all of Lucene's core, and of its analysis module those that ``WhitespaceAnalyzer`` is made of.
A test checks that no class refers to one that is left out.

The documentation is built by :mod:`build_docs`, with packages that are installed in the environment of the build only.
An editable installation is made without it where that fails: `/docs` then says how to build it.
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
"""Folders of Lucene's core, with the folders in them."""

_ANALYSIS = ("analysis", "analysis/core", "analysis/standard", "analysis/tokenattributes", "analysis/util")
"""Folders of analysis, without the folders in them: those have the stemmers and stop words of forty languages."""

_OTHER_CODECS = ("blockterms", "blocktreeords", "bloom", "memory", "simpletext", "uniformsplit")
"""Folders of the module ``lucene-codecs``, which lie among those of the core; nothing writes these formats."""

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
    shutil.rmtree(_ROOT / "build" / "lib", ignore_errors=True)  # setuptools would pack what was deleted since
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
    """Write the metadata (PEP 517), which name Lucene's licence and notice."""
    return str(_setuptools().prepare_metadata_for_build_wheel(metadata_directory, config_settings))


def prepare_metadata_for_build_editable(metadata_directory: str, config_settings: _Settings = None) -> str:
    """Write the metadata (PEP 660), which name Lucene's licence and notice."""
    return str(_setuptools().prepare_metadata_for_build_editable(metadata_directory, config_settings))


def _setuptools() -> Any:  # noqa: ANN401  (a module)
    """Return setuptools' build backend, after Lucene's jar was made."""
    from setuptools import build_meta

    if os.environ.get("SOURCE_DATE_EPOCH"):
        os.umask(0o022)  # a wheel has the rights of the files that it is packed from

    make_lucene_jar()
    return build_meta


def _pack_again(archive: Path, epoch: int) -> None:
    """Write a source distribution again, sorted, of nobody, with the time ``epoch`` and rights that all have."""
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
    """Write Lucene's jar, licence and notice to ``folder`` unless they are there; return the path of the jar."""
    jar = folder / f"lucene-{LUCENE}.jar"
    if _is_made(jar):
        return jar
    with _anserini_jar() as source:
        cut(source, jar)
    return jar


def cut(source: Path, target: Path) -> None:
    """Write the jar ``target`` with Lucene's classes of the jar ``source``, and the licence and notice beside it.

    The same source gives the same bytes. Raises :class:`WrongJar` for a jar other than the pinned one.
    """
    with source.open("rb") as file:
        digest = hashlib.file_digest(file, "sha256").hexdigest()
    if digest != ANSERINI_SHA256:
        raise WrongJar(f"{source} has the SHA-256 {digest}; Pyserini {PYSERINI} has {ANSERINI_SHA256}.")
    if target.parent.exists():
        shutil.rmtree(target.parent)  # another version's
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
    """Return whether the entry ``name`` of Pyserini's jar belongs into Lucene's."""
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
    """Return a file of ``META-INF/services`` without classes that are left out, which would be an error of Java's."""
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
    """Yield the path of the pinned Pyserini's jar: of the installed one, else of one downloaded meanwhile."""
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
