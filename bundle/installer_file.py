"""Make the installer: one file that Python runs, made of a few modules of this project."""

from __future__ import annotations

import io
import zipfile
from importlib.resources import files

MODULES = (
    "shrag.bundle.installer.check",
    "shrag.bundle.installer.file_store",
    "shrag.bundle.installer.install",
    "shrag.bundle.installer.main",
    "shrag.bundle.installer.manifest",
    "shrag.bundle.installer.record",
    "shrag.bundle.installer.releases",
    "shrag.bundle.installer.signature",
    "shrag.corpora.errors",
    "shrag.corpora.files",
    "shrag.corpora.store.archive",
    "shrag.corpora.store.file_checksum",
    "shrag.corpora.store.volumes",
    "shrag.messages.language",
    "shrag.messages.text",
)
"""The modules of the installer. They import only each other and Python's standard library."""

_CATALOGUE = ("shrag.messages", "locale/ko/LC_MESSAGES/shrag.mo")

_MAIN = b"""\
import sys

if sys.version_info < (3, 11):
    sys.exit("SHRAG needs Python 3.11 or newer, this is " + sys.version.split()[0])

from shrag.bundle.installer.main import main

sys.exit(main())
"""


def make_installer() -> bytes:
    """Return the installer, a zip file that Python runs. The same source gives the same bytes."""
    data = io.BytesIO(b"#!/usr/bin/env python3\n")
    data.seek(0, io.SEEK_END)
    packages = {module.rpartition(".")[0] for module in MODULES}
    packages |= {package.rpartition(".")[0] for package in packages}
    with zipfile.ZipFile(data, "a", zipfile.ZIP_DEFLATED) as archive:
        _write(archive, "__main__.py", _MAIN)
        for package in sorted(packages):
            _write(archive, f"{package.replace('.', '/')}/__init__.py", b"")
        for module in MODULES:
            package, _, name = module.rpartition(".")
            _write(archive, f"{module.replace('.', '/')}.py", files(package).joinpath(f"{name}.py").read_bytes())
        package, path = _CATALOGUE
        _write(archive, f"{package.replace('.', '/')}/{path}", files(package).joinpath(path).read_bytes())
    return data.getvalue()


def _write(archive: zipfile.ZipFile, name: str, data: bytes) -> None:
    archive.writestr(zipfile.ZipInfo(name), data, zipfile.ZIP_DEFLATED)
