"""Make an update: a small bundle with only those files of a new bundle that an old one does not have."""

from __future__ import annotations

import dataclasses
import tempfile
from pathlib import Path

from shrag.bundle.create import check_new_bundle, write_bundle
from shrag.bundle.errors import BundleError
from shrag.bundle.installer.check import check_bundle, read_manifest
from shrag.bundle.installer.manifest import BundleManifest
from shrag.corpora.files import disk_errors
from shrag.corpora.store.archive import open_archive
from shrag.messages.text import Text


def write_difference(old: Path, new: Path, path: Path, volume_bytes: int = 0) -> BundleManifest:
    """Write the bundle ``path``, which turns an installation of ``old`` into one of ``new``.

    Args:
        old: The bundle that is installed on the other side.
        new: A whole bundle.
        path: The bundle to write, with the suffix ``.tar``. It must not exist yet.
        volume_bytes: The largest size of a file; 0 for one file of any size.

    Returns:
        The manifest of the written bundle. Its identifier is that of ``new``.

    Raises:
        BundleError: ``path`` has another suffix, or ``new`` is itself an update, or is the same as ``old``.
        CorpusError: A bundle is damaged, or the file exists.
    """
    check_new_bundle(path)
    base = check_bundle(old)
    manifest = check_bundle(new)
    if manifest.base:
        raise BundleError(Text("{path} is an update itself: give the whole bundle.", path=new))
    if base.identifier == manifest.identifier:
        raise BundleError(Text("{old} and {new} are the same: there is nothing to update.", old=old, new=new))
    known = set(base.files.values())
    path.parent.mkdir(parents=True, exist_ok=True)
    with disk_errors(path.parent), tempfile.TemporaryDirectory(prefix=f".{path.name}.", dir=path.parent) as work:
        content: dict[str, Path | bytes] = {}
        with open_archive(new, "bundle") as archive:
            read_manifest(new, archive)
            for name, chunks in archive.members:
                if manifest.files[name] in known:
                    continue
                target = Path(work) / str(len(content))
                with target.open("wb") as stream:
                    for chunk in chunks:
                        stream.write(chunk)
                content[name] = target
        update = dataclasses.replace(manifest, base=base.identifier)
        write_bundle(path, update, content, volume_bytes)
    return update
