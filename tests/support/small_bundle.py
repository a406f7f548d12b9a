"""Small bundles: pip's own wheel, and a wheel named shrag whose command starts that of this checkout.

What the installer does with them is all that it does with large ones; collecting real packages needs a package index
and is tested by ``make airgap-test``.
"""

from __future__ import annotations

import base64
import ensurepip
import hashlib
import platform
import sys
import zipfile
from collections.abc import Mapping
from pathlib import Path

from shrag.bundle.create import write_bundle
from shrag.bundle.installer.manifest import BundleManifest, requirements_file, running_python
from shrag.bundle.wheelhouse import requirements_of
from shrag.corpora.store.file_checksum import compute_checksum

_MODULE = """\
import os, sys

VERSION = {version!r}

def main():
    if sys.argv[1:] == ["--version"]:
        print("shrag " + VERSION)
    else:
        os.execv({python!r}, [{python!r}, "-c", "from shrag.cli.main import main; main()", *sys.argv[1:]])
"""


def pip_wheel() -> Path:
    """Return the wheel of pip that Python itself carries."""
    return next((Path(ensurepip.__file__).parent / "_bundled").glob("pip-*.whl"))


def make_wheel(folder: Path, version: str, more: Mapping[str, bytes] | None = None) -> Path:
    """Write a wheel named shrag with a command ``shrag``, and with ``more`` files; return its path."""
    folder.mkdir(parents=True, exist_ok=True)
    info = f"shrag-{version}.dist-info"
    files = {
        "started_shrag.py": _MODULE.format(version=version, python=sys.executable).encode(),
        f"{info}/METADATA": f"Metadata-Version: 2.1\nName: shrag\nVersion: {version}\nLicense: Apache-2.0\n".encode(),
        f"{info}/WHEEL": b"Wheel-Version: 1.0\nGenerator: tests\nRoot-Is-Purelib: true\nTag: py3-none-any\n",
        f"{info}/entry_points.txt": b"[console_scripts]\nshrag = started_shrag:main\n",
        **(more or {}),
    }
    path = folder / f"shrag-{version}-py3-none-any.whl"
    with zipfile.ZipFile(path, "w", zipfile.ZIP_DEFLATED) as wheel:
        record = ""
        for name, data in files.items():
            wheel.writestr(zipfile.ZipInfo(name), data, zipfile.ZIP_DEFLATED)
            digest = base64.urlsafe_b64encode(hashlib.sha256(data).digest()).rstrip(b"=").decode()
            record += f"{name},sha256={digest},{len(data)}\n"
        wheel.writestr(zipfile.ZipInfo(f"{info}/RECORD"), f"{record}{info}/RECORD,,\n")
    return path


def write_small_bundle(
    path: Path,
    version: str = "1.0",
    more: Mapping[str, Path | bytes] | None = None,
    *,
    wheel: Path | None = None,
    volume_bytes: int = 0,
    base: str = "",
) -> BundleManifest:
    """Write a bundle of that version with ``more`` files, its installer and its list of checksums."""
    path.parent.mkdir(parents=True, exist_ok=True)
    wheels = [pip_wheel(), wheel or make_wheel(path.parent / "wheels", version)]
    content: dict[str, Path | bytes] = {f"wheels/{each.name}": each for each in wheels}
    content |= {requirements_file(running_python()): requirements_of(wheels), **(more or {})}
    manifest = BundleManifest(
        version=version,
        profile="cpu",
        pythons=(running_python(),),
        machine=platform.machine(),
        glibc="2.17",
        corpora=tuple(name[8:-4] for name in content if name.startswith("corpora/")),
        indexes=tuple(name[8:-4] for name in content if name.startswith("indexes/")),
        base=base,
        files={name: compute_checksum(file) for name, file in content.items()},
    )
    write_bundle(path, manifest, content, volume_bytes)
    return manifest
