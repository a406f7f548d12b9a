"""Wheels of this project and of all that it needs, at the versions installed here, for the Pythons of the other side.

pip chooses and fetches them. A package that is published only as source (Kiwi's model) is built once, with the running
Python.
"""

from __future__ import annotations

import json
import os
import subprocess
import sys
from collections.abc import Iterable, Mapping, Sequence
from importlib.metadata import distributions, version
from pathlib import Path
from urllib.parse import unquote, urlparse

from packaging.utils import canonicalize_name, parse_wheel_filename

from shrag.bundle.errors import BundleError
from shrag.bundle.installer.manifest import running_python
from shrag.corpora.store.file_checksum import compute_checksum
from shrag.messages.text import Text

_EPOCH = "315532800"
"""1980-01-01, the first date that a zip can hold. With it, wheels built at different times have the same bytes."""

_GLIBC = "manylinux_"
_OLD_GLIBC = {"manylinux1": "2.5", "manylinux2010": "2.12", "manylinux2014": "2.17"}


def project_folder() -> Path | None:
    """Return the checkout that this editable installation uses, or None for an installation of a wheel."""
    # A checkout in the working folder has metadata too, but without the file that pip writes.
    texts = (each.read_text("direct_url.json") for each in distributions(name="shrag"))
    source = json.loads(next(filter(None, texts), "{}"))
    if not source.get("dir_info", {}).get("editable"):
        return None
    return Path(unquote(urlparse(source["url"]).path))


def build_project_wheel(folder: Path) -> Path:
    """Build the wheel of the installed checkout in ``folder``, and return its path.

    Raises:
        BundleError: This installation is not of a checkout, or the build fails.
    """
    project = project_folder()
    if project is None:
        raise BundleError(
            Text("This SHRAG was installed from a wheel: name that file with --wheel, so that the bundle has it.")
        )
    _pip("wheel", "--no-deps", "--wheel-dir", str(folder), str(project))
    return next(folder.glob("shrag-*.whl"))


def collect_wheels(
    project: Path, extras: Sequence[str], pythons: Sequence[str], folder: Path
) -> Mapping[str, Sequence[Path]]:
    """Fetch the wheels of the project, of pip and of all that they need, at the versions installed here.

    Args:
        project: The project's wheel.
        extras: The project's extras to include.
        pythons: Versions of Python, such as ``3.11``.
        folder: Where the wheels are written, one folder for each Python.

    Returns:
        The wheels for each Python, sorted by name.

    Raises:
        BundleError: pip fails. Its own message is on stderr.
    """
    constraints = folder / "constraints.txt"
    installed = {each.metadata["Name"]: each.version for each in distributions()}
    lines = (f"{name}=={number}\n" for name, number in sorted(installed.items()) if canonicalize_name(name) != "shrag")
    constraints.write_text("".join(lines), encoding="utf-8")
    wanted = [f"{project}[{','.join(extras)}]", f"pip=={version('pip')}", "--constraint", str(constraints)]
    here = folder / "here"
    _pip("wheel", "--wheel-dir", str(here), *wanted)
    found: dict[str, Sequence[Path]] = {}
    for python in pythons:
        target = here
        if python != running_python():
            target = folder / python
            only = ("--python-version", python, "--only-binary", ":all:", "--find-links", str(here))
            _pip("download", "--dest", str(target), *only, *wanted)
        found[python] = sorted(target.glob("*.whl"))
    return found


def download_pinned(requirements: Path, folder: Path) -> Sequence[Path]:
    """Fetch pip and the wheels of a requirements file with hashes; return their paths, sorted by name.

    A package that is published only as source is built with the running Python.

    Raises:
        BundleError: pip fails. Its own message is on stderr.
    """
    _pip("wheel", "--wheel-dir", str(folder), "--no-deps", "--require-hashes", "--requirement", str(requirements))
    _pip("download", "--dest", str(folder), f"pip=={version('pip')}")
    return sorted(folder.glob("*.whl"))


def requirements_of(wheels: Iterable[Path]) -> bytes:
    """Return a requirements file with exactly these wheels, each with its SHA-256."""
    lines = []
    for wheel in wheels:
        name, number, _, _ = parse_wheel_filename(wheel.name)
        lines.append(f"{name}=={number} --hash=sha256:{compute_checksum(wheel).sha256}\n")
    return "".join(sorted(lines)).encode()


def oldest_glibc(wheels: Iterable[Path]) -> str:
    """Return the oldest glibc with which all wheels run: the highest of the versions that they need at least.

    >>> oldest_glibc([Path("a-1-cp311-cp311-manylinux2014_x86_64.whl"), Path("b-1-py3-none-manylinux_2_28_x86_64.whl")])
    '2.28'
    """
    needed = [(0, 0)]
    for wheel in wheels:
        platforms = {tag.platform for tag in parse_wheel_filename(wheel.name)[3]}
        asked = [number for number in map(_glibc_of, platforms) if number]
        needed += [min(asked)] if asked else []
    return ".".join(map(str, max(needed)))


def _glibc_of(platform: str) -> tuple[int, int] | None:
    """Return the glibc that a platform tag (PEP 600) needs, or None for a tag without one."""
    if platform.startswith(_GLIBC):
        major, minor = platform.removeprefix(_GLIBC).split("_")[:2]
        return int(major), int(minor)
    old = _OLD_GLIBC.get(platform.partition("_")[0])
    return (int(old.partition(".")[0]), int(old.partition(".")[2])) if old else None


def _pip(*arguments: str) -> None:
    command = [sys.executable, "-m", "pip", "--disable-pip-version-check", "--quiet", *arguments]
    # Programs that pip runs fail if the environment names a locale that is not installed.
    environment = {"SOURCE_DATE_EPOCH": _EPOCH, **os.environ, "LC_ALL": "C.UTF-8"}
    done = subprocess.run(command, env=environment, check=False)  # noqa: S603
    if done.returncode:
        raise BundleError(
            Text("pip could not {command} what the bundle needs: see its message above.", command=arguments[0])
        )
