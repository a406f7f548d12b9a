"""Simulation of a power loss: a replay of the system calls of a process without those that were not synced.

The strictest file system that POSIX allows: the content of a file is on the disk once the file was synced, a name once
its folder was; any of the changes after that may, or may not, have reached the disk.
"""

from __future__ import annotations

import os
import re
import shutil
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import NamedTuple

TRACED = (
    "openat,write,pwrite64,writev,pwritev,ftruncate,fallocate,sendfile,copy_file_range,fsync,fdatasync,"
    "rename,renameat,renameat2,link,linkat,unlink,unlinkat,mkdir,mkdirat,rmdir"
)
_CALL = re.compile(r"^(\d+) +(?:<\.\.\. )?(\w+)(?:\(| resumed>)(.*)$")
_RESULT = re.compile(r"\) += (\d+)(?:<.*>)?$")
_STRING = re.compile(r'"([^"]*)"')
_DESCRIPTOR = re.compile(r"^\d+<([^>]*)>")
_PRIVATE = ("build-", "old-", ".")
"""The beginnings of names that nobody reads but the process that makes them."""

_SINK = {"sendfile": 0, "copy_file_range": 2}


class Call(NamedTuple):
    """A system call that succeeded: its name, the paths in its arguments, and the arguments."""

    name: str
    paths: tuple[Path, ...]
    arguments: str


def strace_command(strace: str, output: Path) -> list[str]:
    """Return the beginning of a command whose system calls are written to ``output``."""
    return [strace, "-f", "-y", "-s", "0", "--seccomp-bpf", "-e", f"trace={TRACED}", "-o", str(output)]


def read_calls(trace: Path, folder: Path) -> list[Call]:
    """Return the calls that concern ``folder``, in the order in which they returned."""
    begun: dict[str, str] = {}
    calls = []
    for line in trace.read_text(errors="replace").splitlines():
        match = _CALL.match(line)
        if match is None:
            continue
        process, name, rest = match.groups()
        if rest.endswith("<unfinished ...>"):
            begun[process] = rest.removesuffix("<unfinished ...>")
            continue
        if " resumed>" in line:
            rest = begun.pop(process, "") + rest
        if not _RESULT.search(rest):
            continue
        call = Call(name, tuple(_paths(name, rest)), rest)
        if any(path.is_relative_to(folder) for path in call.paths):
            calls.append(call)
    return calls


def _paths(name: str, arguments: str) -> Iterator[Path]:
    if name in ("openat", "rename", "renameat", "renameat2", "link", "linkat", "mkdir", "mkdirat", "unlink", "rmdir"):
        yield from map(Path, _STRING.findall(arguments))
    elif name == "unlinkat":
        at = _DESCRIPTOR.match(arguments)
        yield Path(at.group(1) if at else "") / _STRING.findall(arguments)[0]
    else:
        parts = arguments.split(", ")
        sink = _DESCRIPTOR.match(parts[_SINK[name]] if name == "copy_file_range" else arguments)
        if sink is not None:
            yield Path(sink.group(1).removesuffix(" (deleted)"))


class _File:
    """A file: where its content is to be found, and whether all of it is synced."""

    def __init__(self, content: Path | None = None) -> None:
        self.content = content
        self.synced = content is not None


class _Folder:
    """A folder: its names now, and those on the disk."""

    def __init__(self) -> None:
        self.now: dict[str, _File | _Folder] = {}
        self.disk: dict[str, _File | _Folder] = {}


class Disk:
    """A folder to which system calls are applied.

    Args:
        folder: Its path in the calls; its content after all of them.
        before: A copy of its content before them, all of it synced.
    """

    def __init__(self, folder: Path, before: Path) -> None:
        self._path = folder
        self._root = _read(before)
        self._made: list[_File] = []

    def apply(self, calls: Sequence[Call]) -> Iterator[None]:
        """Apply the calls in order; yield before each and after the last."""
        for call in calls:
            yield
            self._apply(call)
        yield

    def resolve(self, calls: Sequence[Call]) -> None:
        """Find the content of each file that is made, by applying all calls to a copy that ends as the folder did."""
        for _ in self.apply(calls):
            pass
        self._find(self._root, self._path)

    def states(self) -> Iterator[_Folder]:
        """Yield what may be on the disk: nothing that is not synced, or one further change of a name."""
        yield _durable(self._root, None)
        for folder in _folders(self._root):
            for name in folder.now.keys() | folder.disk.keys():
                if folder.now.get(name) is not folder.disk.get(name):
                    yield _durable(self._root, (folder, name))

    @property
    def made(self) -> list[_File]:
        """The files that were made, in order."""
        return self._made

    def _apply(self, call: Call) -> None:
        match call.name:
            case "openat":
                self._open(call)
            case "mkdir" | "mkdirat":
                folder, name = self._parent(call.paths[-1])
                folder.now[name] = _Folder()
            case "rename" | "renameat" | "renameat2" | "link" | "linkat":
                folder, name = self._parent(call.paths[0])
                target, new = self._parent(call.paths[1])
                target.now[new] = folder.now[name] if call.name.startswith("link") else folder.now.pop(name)
            case "unlink" | "unlinkat" | "rmdir":
                folder, name = self._parent(call.paths[0])
                folder.now.pop(name, None)
            case _:
                self._write_or_sync(call)

    def _open(self, call: Call) -> None:
        if "O_CREAT" not in call.arguments and "O_TRUNC" not in call.arguments:
            return
        folder, name = self._parent(call.paths[-1])
        file = folder.now.get(name)
        if not isinstance(file, _File):
            file = folder.now[name] = _File()
            self._made.append(file)
        if "O_TRUNC" in call.arguments:
            file.synced = False

    def _write_or_sync(self, call: Call) -> None:
        entry, is_sync = self._entry(call.paths[0]), call.name in ("fsync", "fdatasync")
        if isinstance(entry, _File):
            entry.synced = is_sync
        elif entry is not None and is_sync:
            entry.disk = dict(entry.now)

    def _parent(self, path: Path) -> tuple[_Folder, str]:
        found = self._entry(path.parent)
        if not isinstance(found, _Folder):
            raise FileNotFoundError(path)
        return found, path.name

    def _entry(self, path: Path) -> _File | _Folder | None:
        found: _File | _Folder | None = self._root
        for name in path.relative_to(self._path).parts:
            found = found.now.get(name) if isinstance(found, _Folder) else None
        return found

    def _find(self, folder: _Folder, path: Path) -> None:
        for name, entry in folder.now.items():
            if isinstance(entry, _Folder):
                self._find(entry, path / name)
            elif entry.content is None:
                entry.content = path / name


def crash_states(folder: Path, before: Path, calls: Sequence[Call], scratch: Path) -> Iterator[list[Path]]:
    """Yield, before each call and after the last, the folders that a loss of power may leave, each state once.

    A folder is written only for a state that was not there before, and removed afterwards.
    """
    finished = Disk(folder, before)
    finished.resolve(calls)
    disk = Disk(folder, before)
    seen: set[tuple[tuple[str, str], ...]] = set()
    for _ in disk.apply(calls):
        for file, known in zip(disk.made, finished.made, strict=False):
            file.content = known.content
        left: list[Path] = []
        for state in disk.states():
            content = tuple(sorted(_listing(state, "")))
            if content not in seen:
                seen.add(content)
                left.append(scratch / f"state-{len(seen)}")
                _write(state, left[-1])
        yield left
        for path in left:
            shutil.rmtree(path)


def _read(path: Path) -> _Folder:
    folder = _Folder()
    for entry in path.iterdir():
        folder.now[entry.name] = _read(entry) if entry.is_dir() else _File(entry)
    folder.disk = dict(folder.now)
    return folder


def _folders(folder: _Folder) -> Iterator[_Folder]:
    yield folder
    for name, entry in folder.now.items():
        if isinstance(entry, _Folder) and not name.startswith(_PRIVATE):
            yield from _folders(entry)


def _durable(folder: _Folder, also: tuple[_Folder, str] | None) -> _Folder:
    """Return a copy of what is on the disk; of the change ``also``, a folder and a name in it, too."""
    names = dict(folder.disk)
    if also is not None and also[0] is folder:
        names.pop(also[1], None)
        if also[1] in folder.now:
            names[also[1]] = folder.now[also[1]]
    copy = _Folder()
    for name, entry in names.items():
        if not name.startswith(_PRIVATE):
            copy.now[name] = _durable(entry, also) if isinstance(entry, _Folder) else entry
    return copy


def _listing(folder: _Folder, path: str) -> Iterator[tuple[str, str]]:
    for name, entry in folder.now.items():
        if isinstance(entry, _Folder):
            yield f"{path}{name}/", ""
            yield from _listing(entry, f"{path}{name}/")
        else:
            yield f"{path}{name}", str(entry.content) if entry.synced else ""


def _write(folder: _Folder, path: Path) -> None:
    path.mkdir()
    for name, entry in folder.now.items():
        if isinstance(entry, _Folder):
            _write(entry, path / name)
        elif entry.synced and entry.content is not None:
            os.link(entry.content, path / name)
        else:
            (path / name).touch()
