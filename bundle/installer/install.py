"""Install a bundle: verify it, extract it, make environments, import the data, then make it the current release.

After an interruption, finished work is not done again: extracted files are in the store, and data that is there already
is not imported twice. Only an unfinished environment is made anew. Until the link ``current`` is replaced, the earlier
release stays as it was.
"""

from __future__ import annotations

import dataclasses
import json
import os
import shlex
import shutil
import subprocess
import sys
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path

from shrag.bundle.installer.check import check_bundle, check_machine, check_wheel, describe_bundle, read_manifest
from shrag.bundle.installer.manifest import VLLM, WHEELS, BundleManifest, requirements_file, running_python
from shrag.bundle.installer.record import recorded_digest, recorded_files
from shrag.bundle.installer.releases import Installation, Release
from shrag.corpora.errors import CorpusError
from shrag.corpora.files import DiskFull, FolderBusy, lock_folder, sync_file, write_atomically
from shrag.corpora.store.archive import check_room, open_archive
from shrag.corpora.store.file_checksum import compute_checksum
from shrag.messages.text import Text, message_of

Report = Callable[[str], None]

_CONFIG = "shrag.toml"
_UNPACKED = 4
"""An environment takes at most this many times the bytes of its wheels."""

_REJECTED = 3
"""The exit status of `shrag corpus import` if the existing corpus has other records."""

_NOT_STARTED = 127
"""The exit status of a shell for a command that cannot be started."""

_IMPORTS = "imports.json"
"""A file in the folder of an unfinished release. It has the generation of each index that was current before."""


def install_bundle(path: Path, folder: Path, report: Report) -> Release:
    """Install a bundle into ``folder``, or upgrade the installation there. Return the release, now the current one.

    Args:
        path: The bundle, or the name that its volumes begin with.
        folder: The folder of the installation. It belongs to the user and has no other content.
        report: Called with a message for each step.

    Raises:
        CorpusError: The bundle is damaged or not for this machine, its base is not installed, another installer works
            in the folder, or a step failed.
        DiskFull: There is no room for the installation.
    """
    report(Text("verifying {path}", path=path))
    manifest = check_bundle(path)
    report(describe_bundle(path, manifest))
    check_machine(path, manifest)
    installation = Installation(folder)
    _check_folder(installation)
    fresh = not installation.folder.exists()
    try:
        with lock_folder(installation.folder):
            return _install(path, manifest, installation, report)
    except FolderBusy as busy:
        raise CorpusError(message_of(busy)) from None
    except (CorpusError, DiskFull):
        if fresh:
            shutil.rmtree(installation.folder, ignore_errors=True)
        raise


def undo_installation(folder: Path, report: Report) -> Release:
    """Make the release before the current one current again, with its generations of the indexes.

    Return the release that was undone.

    Raises:
        CorpusError: There is no earlier release, or another installer works in the folder.
    """
    installation = Installation(folder)
    try:
        with lock_folder(_existing(installation)):
            undone = installation.undoable()
            for name, generation in undone.generations.items():
                rolled = _run_shrag(installation, undone.previous, "index", "rollback", name, "--to", str(generation))
                if rolled.returncode:
                    report(Text("index {name}: {problem}", name=name, problem=_last_line(rolled)))
            installation.switch(undone.previous)
    except FolderBusy as busy:
        raise CorpusError(message_of(busy)) from None
    return undone


def _existing(installation: Installation) -> Path:
    if installation.current() is None:
        raise CorpusError(
            Text("There is no installation in {folder}: give its folder with --into.", folder=installation.folder)
        )
    return installation.folder


def _check_folder(installation: Installation) -> None:
    """Refuse a folder with other content, since an installation must not be mixed with it."""
    folder = installation.folder
    ours = {"bin", "current", "files", "home", "releases"}
    if folder.exists() and not folder.is_dir():
        raise CorpusError(Text("{folder} is not a folder: name another with --into.", folder=folder))
    others = sorted(each.name for each in folder.iterdir() if each.name not in ours) if folder.is_dir() else []
    others = [name for name in others if not name.startswith(".")]
    if others:
        raise CorpusError(
            Text("{folder} has other files ({name}): name a new folder with --into.", folder=folder, name=others[0])
        )


def _install(path: Path, manifest: BundleManifest, installation: Installation, report: Report) -> Release:
    before = installation.current()
    release = installation.release_folder(manifest.identifier)
    works = _works(installation, manifest.identifier)
    report(Text("extracting {count} files", count=len(manifest.files)))
    try:
        _extract(path, manifest, installation, unpacked=not works)
        if not works:
            report(Text("installing the packages"))
            listed = requirements_file(running_python())
            _make_environment(installation, manifest, release / "venv", WHEELS, listed)
        if not works and manifest.has_vllm:
            report(Text("installing vLLM"))
            _make_environment(installation, manifest, release / "vllm", f"{VLLM}/wheels", f"{VLLM}/requirements.txt")
        _place_files(installation, manifest, report)
        finished = _import_data(installation, manifest, before, report)
    except (CorpusError, DiskFull):
        if installation.read(manifest.identifier) is None:
            shutil.rmtree(release, ignore_errors=True)
        raise
    installation.finish(finished, manifest)
    (release / _IMPORTS).unlink(missing_ok=True)
    return finished


def _works(installation: Installation, identifier: str) -> bool:
    """Return whether a release is complete and undamaged, and its command runs. Its Python may have been removed."""
    if installation.read(identifier) is None or not installation.program(identifier, "shrag").exists():
        return False
    packages = installation.release_folder(identifier).glob("*/lib/python*/site-packages")
    if not all(map(_is_whole, packages)):
        return False
    return _run_shrag(installation, identifier, "--version").returncode == 0


def _is_whole(packages: Path) -> bool:
    """Return whether the files of all packages in a folder match the SHA-256 in the packages' lists."""
    return all(
        recorded_digest(packages / name) == digest
        for record in packages.glob("*.dist-info/RECORD")
        for name, digest in recorded_files(record.read_text(encoding="utf-8"))
    )


def _extract(path: Path, manifest: BundleManifest, installation: Installation, *, unpacked: bool) -> None:
    """Write the files that the store does not have yet. If any file is refused, remove those that were written."""
    store = installation.store
    store.folder.mkdir(exist_ok=True)
    names = {file: name for name, file in manifest.files.items() if not store.has(file)}
    sizes = {
        suffix: sum(file.bytes for name, file in manifest.files.items() if name.endswith(suffix))
        for suffix in (".whl", ".tar")
    }
    needed = sum(file.bytes for file in names) + sizes[".tar"] + (_UNPACKED * sizes[".whl"] if unpacked else 0)
    check_room(path, needed, store.folder)
    lacking = set(names)
    try:
        with open_archive(path, "bundle") as archive:
            read_manifest(path, archive)
            for name, chunks in archive.members:
                if (file := manifest.files[name]) in lacking:
                    store.add(file, chunks)
                    lacking.remove(file)
        sync_file(store.folder)
        if lacking:
            raise CorpusError(  # noqa: TRY301  (added files are removed below)
                Text(
                    "{path} updates {base} and leaves out {name}, which is not installed here: install that bundle "
                    "first, or use a whole one.",
                    path=path,
                    base=manifest.base,
                    name=min(names[file] for file in lacking),
                )
            )
        for name, file in manifest.files.items():
            if name.endswith(".whl"):
                check_wheel(name, store.path(file), file)
    except CorpusError:
        for file in names.keys() - lacking:
            store.path(file).unlink(missing_ok=True)
        raise


def _make_environment(
    installation: Installation, manifest: BundleManifest, environment: Path, wheels: str, requirements: str
) -> None:
    """Make a virtual environment of the wheels of a bundle.

    pip runs from its wheel, so that this also works with Debian's Python, which has no pip for ``venv``.
    """
    shutil.rmtree(environment, ignore_errors=True)
    found = environment / "wheels"
    for name, file in manifest.under(wheels).items():
        installation.store.place(file, found / name)
    _run([sys.executable, "-m", "venv", "--without-pip", str(environment)])
    python = environment / "bin" / "python"
    pip = next(found.glob("pip-*.whl"))
    listed = installation.store.path(manifest.files[requirements])
    _run(
        [
            *(str(python), f"{pip}/pip", "--disable-pip-version-check", "--isolated", "install", "--quiet"),
            *("--no-index", "--no-deps", "--no-cache-dir", "--find-links", str(found)),
            *("--require-hashes", "--requirement", str(listed)),
        ]
    )
    shutil.rmtree(found)
    _run([str(python), "-c", "import pip"])


def _place_files(installation: Installation, manifest: BundleManifest, report: Report) -> None:
    """Put the weights, the questions and a first configuration into the home.

    An existing configuration stays, and so does a file that is not as a bundle brought it.
    """
    home, store = installation.home, installation.store
    home.mkdir(mode=0o700, exist_ok=True)
    known = {(name, file) for _, each in installation.releases() for name, file in each.files.items()}
    for folder, put in (("weights", store.place), ("questions", store.copy)):  # weights are large
        for name, file in manifest.under(folder).items():
            key, target = f"{folder}/{name}", home / folder / name
            if target.exists() and target.samefile(store.path(file)):
                continue
            found = compute_checksum(target) if target.exists() else None
            if found is None or (key, found) in known:
                put(file, target)
            elif found != file:
                _say_left(report, key, ["cp", store.path(file), target])
    config = manifest.files.get(_CONFIG)
    if config is not None and not (home / _CONFIG).exists():
        shutil.copyfile(installation.store.path(config), home / _CONFIG)


def _import_data(
    installation: Installation, manifest: BundleManifest, before: Release | None, report: Report
) -> Release:
    """Import the corpora and indexes that are new here, or that are still as the last bundle brought them.

    Those that were changed here since stay as they are: only the user decides to replace the user's records.
    """
    known = before.brought if before else {}
    brought: dict[str, str] = {}
    releases = [release for release, _ in installation.releases()]
    for name in manifest.corpora:
        report(Text("corpus {name}", name=name))
        here, key = _corpus_fingerprint(installation, name), f"corpora/{name}"
        # An undone release counts too: undoing it left the corpus that it brought.
        replaced = ["--replace"] if here and here in {each.brought.get(key) for each in releases} else []
        imported = _import(installation, manifest, "corpus", key, replaced, report)
        brought[key] = _corpus_fingerprint(installation, name) if imported else known.get(key, "")
    notes = installation.release_folder(manifest.identifier) / _IMPORTS
    generations: dict[str, int] = json.loads(notes.read_bytes()) if notes.exists() else {}
    for name in manifest.indexes:
        report(Text("index {name}", name=name))
        key = f"indexes/{name}"
        current = generations.setdefault(name, _current_generation(installation, name))
        write_atomically(notes, json.dumps(generations).encode())
        if current and str(current) != known.get(key):
            _say_left(report, key, _import_command(installation, manifest, "index", key))
            brought[key] = known.get(key, "")
            continue
        _import(installation, manifest, "index", key, [], report)
        brought[key] = str(_current_generation(installation, name))
    changed = {
        name: number for name, number in generations.items() if number and brought[f"indexes/{name}"] != str(number)
    }
    if before is not None and before.identifier == manifest.identifier:  # repaired
        return dataclasses.replace(before, brought=brought)
    return Release(manifest.identifier, before.identifier if before else "", changed, brought)


def _import(
    installation: Installation, manifest: BundleManifest, what: str, key: str, options: list[str], report: Report
) -> bool:
    """Import a corpus or an index. Return False if the existing corpus has other records; it stays as it is."""
    archive = str(installation.store.path(manifest.files[f"{key}.tar"]))
    done = _run_shrag(installation, manifest.identifier, what, "import", archive, *options)
    if done.returncode == _REJECTED and what == "corpus":
        _say_left(report, key, [*_import_command(installation, manifest, what, key), "--replace"])
        return False
    if done.returncode:
        raise CorpusError(_last_line(done))
    return True


def _import_command(installation: Installation, manifest: BundleManifest, what: str, key: str) -> list[str | Path]:
    archive = installation.store.path(manifest.files[f"{key}.tar"])
    return [installation.folder / "bin" / "shrag", what, "import", archive]


def _say_left(report: Report, key: str, command: Sequence[str | Path]) -> None:
    report(
        Text(
            "{key} was changed here, so it was not replaced. To replace it: {command}",
            key=key,
            command=shlex.join(map(str, command)),
        )
    )


def _corpus_fingerprint(installation: Installation, name: str) -> str:
    """Return the fingerprint of a corpus's records; empty if there is no such corpus."""
    try:
        manifest: dict[str, str] = json.loads((installation.home / "corpora" / name / "manifest.json").read_bytes())
        return manifest["fingerprint"]
    except (FileNotFoundError, ValueError, KeyError):
        return ""


def _current_generation(installation: Installation, name: str) -> int:
    """Return the number of an index's current generation, or 0. Its file ``CURRENT`` has ``gen-000007 SHA-256``."""
    try:
        line = (installation.home / "indexes" / name / "CURRENT").read_text(encoding="ascii")
    except FileNotFoundError:
        return 0
    number = line.partition(" ")[0].removeprefix("gen-")
    return int(number) if number.isdecimal() else 0


def _run_shrag(installation: Installation, identifier: str, *arguments: str) -> subprocess.CompletedProcess[str]:
    environment = {**_environment(), "SHRAG_HOME": str(installation.home)}
    command = [str(installation.program(identifier, "shrag")), *arguments]
    try:
        return subprocess.run(command, env=environment, cwd="/", capture_output=True, text=True, check=False)  # noqa: S603
    except OSError as error:  # the Python that the release was installed with was removed
        return subprocess.CompletedProcess(command, _NOT_STARTED, "", f"{command[0]}: {error.strerror}")


def _run(command: list[str]) -> None:
    """Run a program of the installation; raise :class:`CorpusError` with its last line of stderr if it fails."""
    done = subprocess.run(command, env=_environment(), capture_output=True, text=True, check=False)  # noqa: S603
    if done.returncode:
        raise CorpusError(
            Text("{program} failed: {problem}.", program=Path(command[0]).name, problem=_last_line(done).rstrip("."))
        )


def _environment() -> Mapping[str, str]:
    """Return the environment without the variables that change how Python and pip find packages."""
    return {name: value for name, value in os.environ.items() if not name.startswith(("PIP_", "PYTHON"))}


def _last_line(done: subprocess.CompletedProcess[str]) -> str:
    lines = [line for line in done.stderr.splitlines() if line.strip()]
    return lines[-1].removeprefix("shrag: ") if lines else Text("exit status {status}", status=done.returncode)
