"""The folder of an installation: its releases, the link to the current one, and the programs in ``bin``.

INTO/current                 a link to the current release, replaced by one rename
INTO/releases/ID/            an environment, and installed.json once all of it is there
INTO/files/SHA-256           the files of the bundles of these releases
INTO/home/                   corpora, indexes, weights, keys, shrag.toml: no release changes what a user put there
INTO/bin/shrag               starts the current release
"""

from __future__ import annotations

import json
import shlex
import shutil
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

from shrag.bundle.installer.file_store import FileStore
from shrag.bundle.installer.manifest import MANIFEST, BundleManifest, decode_manifest, encode_manifest
from shrag.corpora.errors import CorpusError
from shrag.corpora.files import sync_file, write_atomically
from shrag.messages.text import Text

_RECORD = "installed.json"
_CURRENT = "current"

_PROGRAM = """\
#!/bin/sh
[ -n "$SHRAG_HOME" ] || SHRAG_HOME={home}
export SHRAG_HOME
exec {program} "$@"
"""


@dataclass(frozen=True, slots=True)
class Release:
    """A release that is installed completely, and what it replaced.

    Attributes:
        identifier: The identifier of its bundle, which is the name of its folder.
        previous: The release that was current before; empty if there was none.
        generations: For each index that it changed, the generation that was current before.
        brought: For each corpus and index of its bundle, the fingerprint or the generation that was current after the
            installation. If that differs later, the user changed it, and the next bundle does not replace it.
    """

    identifier: str
    previous: str
    generations: dict[str, int]
    brought: dict[str, str]


class Installation:
    """The folder of an installation."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder.resolve()
        self.home = self.folder / "home"
        self.store = FileStore(self.folder / "files")

    def release_folder(self, identifier: str) -> Path:
        """Return the folder of a release. It need not exist."""
        return self.folder / "releases" / identifier

    def program(self, identifier: str, name: str) -> Path:
        """Return the path of a program of a release, such as ``shrag``."""
        return self.release_folder(identifier) / _program(name)

    def current(self) -> Release | None:
        """Return the current release, or None."""
        link = self.folder / _CURRENT
        return self.read(link.readlink().name) if link.is_symlink() else None

    def read(self, identifier: str) -> Release | None:
        """Return a release, or None if it is missing or incomplete."""
        try:
            values: dict[str, Any] = json.loads((self.release_folder(identifier) / _RECORD).read_bytes())
            return Release(**values)
        except (FileNotFoundError, ValueError, TypeError):
            return None

    def releases(self) -> list[tuple[Release, BundleManifest]]:
        """Return all complete releases that are here, and their bundles' manifests."""
        found = (
            (self.read(path.parent.name), path) for path in sorted((self.folder / "releases").glob(f"*/{MANIFEST}"))
        )
        return [(release, decode_manifest(path.read_bytes())) for release, path in found if release is not None]

    def finish(self, release: Release, manifest: BundleManifest) -> None:
        """Record that a release is complete, and make it the current one."""
        folder = self.release_folder(release.identifier)
        write_atomically(folder / MANIFEST, encode_manifest(manifest))
        write_atomically(folder / _RECORD, json.dumps(asdict(release), indent=1).encode() + b"\n")
        self.switch(release.identifier)
        self._prune(release)

    def switch(self, identifier: str) -> None:
        """Make a complete release the current one with one rename, and write the programs that start it."""
        link = self.folder / f".{_CURRENT}.new"
        link.unlink(missing_ok=True)
        link.symlink_to(Path("releases") / identifier)
        link.rename(self.folder / _CURRENT)
        sync_file(self.folder)
        programs = self.folder / "bin"
        programs.mkdir(exist_ok=True)
        for name in ("shrag", "shrag-serve", "vllm"):
            program = self.folder / _CURRENT / _program(name)
            if not program.exists():
                (programs / name).unlink(missing_ok=True)  # of a release that had it
                continue
            text = _PROGRAM.format(home=shlex.quote(str(self.home)), program=shlex.quote(str(program)))
            write_atomically(programs / name, text.encode())
            (programs / name).chmod(0o755)

    def undoable(self) -> Release:
        """Return the current release if the release that it replaced is still there.

        Raises:
            CorpusError: There is no earlier release.
        """
        release = self.current()
        if release is None or self.read(release.previous) is None:
            raise CorpusError(
                Text("{folder} has no release before the current one: install its bundle instead.", folder=self.folder)
            )
        return release

    def _prune(self, release: Release) -> None:
        """Delete all releases but this one and its predecessor, and the files that only deleted releases had."""
        kept = {release.identifier, release.previous}
        for folder in (self.folder / "releases").iterdir():
            if folder.name not in kept:
                shutil.rmtree(folder, ignore_errors=True)
        manifests = (self.folder / "releases" / name / MANIFEST for name in kept if name)
        self.store.prune(
            file for path in manifests if path.exists() for file in decode_manifest(path.read_bytes()).files.values()
        )


def _program(name: str) -> Path:
    """Return the path of a program in the folder of a release. vLLM has an environment of its own."""
    return Path("vllm" if name == "vllm" else "venv") / "bin" / name
