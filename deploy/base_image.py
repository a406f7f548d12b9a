"""Make a base image from this machine's own Python, for a machine that has neither a network nor a base image.

    python3 deploy/base_image.py | podman import --change 'ENV PATH=BIN:/usr/bin:/bin' - localhost/python

BIN is the folder of the Python that runs this script, which prints it. The image has that Python with its standard
library, the shared libraries that Python and the packages of a wheel are linked with, a shell, chmod and env. It has no
package manager. The script needs only Python, ldd and tar.
"""

from __future__ import annotations

import os
import re
import subprocess
import sys
import sysconfig
from collections.abc import Iterable, Iterator
from pathlib import Path

_LEFT_OUT = {"__pycache__", "dist-packages", "idlelib", "site-packages", "test", "tkinter", "turtledemo"}
_PROGRAMS = ("/bin/sh", "/bin/chmod", "/usr/bin/env")

# Packages bring modules of their own, some in C++, which may need more shared libraries than Python does.
_LIBRARIES = ("libstdc++.so.6", "libgcc_s.so.1", "libz.so.1", "librt.so.1", "libdl.so.2", "libpthread.so.0")
_FILES = ("/etc/os-release", "/etc/nsswitch.conf")


def main() -> None:
    """Write the image's files to standard output as a tar."""
    files = sorted({*image_files(), "tmp"})
    subprocess.run(
        ["tar", "-chf", "-", "--owner=0", "--group=0", "--numeric-owner", "--no-recursion", "--null", "--files-from=-"],  # noqa: S607
        input="\0".join(files).encode(),
        cwd="/",
        check=True,
    )
    print(f"{len(files):,} files; ENV PATH={Path(sys.executable).parent}:/usr/bin:/bin", file=sys.stderr)


def image_files() -> set[str]:
    """Return the paths of all files, relative to the root."""
    library = Path(sysconfig.get_path("stdlib"))
    standard = {path for path in library.rglob("*") if path.is_file() and not _LEFT_OUT & set(path.parts)}
    programs = {Path(sys.executable).with_name("python3"), *map(Path, _PROGRAMS)}
    modules = {path for path in standard if path.suffix == ".so"}
    linked = set(_libraries([*programs, *modules]))
    near = {folder / name for folder in {path.parent for path in linked} for name in _LIBRARIES}
    found = {path for path in (*near, *map(Path, _FILES)) if path.exists()}
    found |= set(_libraries(found))
    return {os.fspath(path).lstrip("/") for path in (*standard, *programs, *linked, *found)}


def _libraries(files: Iterable[Path]) -> Iterator[Path]:
    """Yield the shared libraries that the files are linked with, and their loader."""
    for file in files:
        done = subprocess.run(["ldd", file], capture_output=True, text=True, check=False)  # noqa: S603, S607
        yield from (Path(path) for path in re.findall(r"(?:=> |^\s*)(/\S+) \(0x", done.stdout, re.MULTILINE))


if __name__ == "__main__":
    main()
