"""Extract the archives of a bundle's indexes, to compare them with indexes that come back from the other side."""

from __future__ import annotations

from collections import deque
from pathlib import Path, PurePosixPath

from shrag.bundle.errors import BundleError
from shrag.bundle.installer.check import read_manifest
from shrag.corpora.store.archive import open_archive
from shrag.messages.text import Text

_FOLDER = "indexes"


def extract_indexes(bundle: Path, folder: Path) -> list[Path]:
    """Check a bundle, write the archives of its indexes into ``folder``, and return their paths.

    Raises:
        BundleError: The bundle carries no index, or it is an update without an index that its base has.
        CorpusError: The bundle is damaged.
    """
    archives = []
    with open_archive(bundle, "bundle") as archive:
        manifest = read_manifest(bundle, archive)
        for name, chunks in archive.members:
            path = PurePosixPath(name)
            if str(path.parent) != _FOLDER:
                deque(chunks, maxlen=0)  # reading a member compares it with its checksum
                continue
            archives.append(folder / path.name)
            with archives[-1].open("wb") as stream:
                stream.writelines(chunks)
    if len(archives) != len(manifest.indexes) or not archives:
        raise BundleError(
            Text("{path} does not contain every index of its manifest: give the whole bundle.", path=bundle)
        )
    return archives
