"""Analyzed words that all builds of a data folder share, so that Kiwi analyzes each word once.

``cache/words`` in the data folder has token stores, each named by its analyzer and by its own SHA-256:
``ANALYZER-SHA256.sqlite``. A build links its analyzer's store into its workspace and verifies it. No other build can
change or remove this link. After the build, a new file with the build's own words added replaces the store. Shared
words make a build faster and do not change its result, so a build does without a store that is damaged, missing or
locked.
"""

from __future__ import annotations

import hashlib
import os
import shutil
import sqlite3
from contextlib import closing, suppress
from pathlib import Path

from shrag.corpora.files import DiskFailed, DiskFull, FolderBusy, lock_folder
from shrag.corpora.store.file_checksum import compute_checksum

LEAST_RECORDS = 2_048
"""Fewest records of a build that shares words. A smaller one analyzes them in less time than copying a file takes."""

_MOST_BYTES = 256 << 20
_MOST_FILES = 3
_ERRORS = (OSError, sqlite3.Error, FolderBusy, DiskFull, DiskFailed)


def cache_folder(indexes: Path) -> Path:
    """Return the folder of shared words beside the folder ``indexes``."""
    return indexes.parent / "cache" / "words"


def take_words(cache: Path, analyzer: str, target: Path) -> Path | None:
    """Link or copy the shared token store of an analyzer to ``target``.

    Args:
        cache: The folder of shared words.
        analyzer: The analyzer's fingerprint.
        target: The path of the link or copy.

    Returns:
        ``target``, or None if there is no intact store.
    """
    target.unlink(missing_ok=True)
    for path in _files(cache, analyzer):
        with suppress(*_ERRORS):
            try:
                os.link(path, target)
            except OSError:
                shutil.copyfile(path, target)
            if compute_checksum(target).sha256 == path.stem.partition("-")[2]:
                return target
            path.unlink()
        target.unlink(missing_ok=True)
    return None


def share_words(cache: Path, analyzer: str, store: Path) -> None:
    """Add the words of a token store to the shared words.

    Nothing is written if all of them are shared already, or if another build is adding words. A file that would become
    too large is replaced by the words of this build alone.
    """
    draft = cache / f"draft-{os.getpid()}"
    with suppress(*_ERRORS), lock_folder(cache):
        for left in cache.glob("draft-*"):
            left.unlink()
        try:
            known = take_words(cache, analyzer, draft)
            if known is None:
                shutil.copyfile(store, draft)
            elif not _add(draft, store):
                return
            elif draft.stat().st_size > _MOST_BYTES:
                shutil.copyfile(store, draft)
            digest = compute_checksum(draft).sha256
            draft.replace(cache / f"{_key(analyzer)}-{digest}.sqlite")
        finally:
            draft.unlink(missing_ok=True)
        for number, path in enumerate(_files(cache)):
            if number >= _MOST_FILES or (path.name.startswith(_key(analyzer)) and digest not in path.name):
                path.unlink()


def _add(path: Path, store: Path) -> bool:
    """Replace the link ``path`` by a copy that also has the words of ``store``; return whether any word was new."""
    copy = path.with_suffix(".copy")
    with closing(sqlite3.connect(":memory:")) as database:
        database.execute("ATTACH ? AS known", (f"{path.absolute()}",))
        database.execute("ATTACH ? AS store", (f"{store.absolute()}",))
        new = database.execute(
            "SELECT 1 FROM store.words WHERE word NOT IN (SELECT word FROM known.words) LIMIT 1"
        ).fetchone()
    if new is None:
        return False
    try:
        shutil.copyfile(path, copy)
        with closing(sqlite3.connect(copy, isolation_level=None)) as database:
            database.execute("PRAGMA journal_mode = OFF")
            database.execute("ATTACH ? AS store", (f"{store.absolute()}",))
            database.execute("INSERT OR IGNORE INTO words SELECT word, tokens FROM store.words")
        copy.replace(path)
    finally:
        copy.unlink(missing_ok=True)
    return True


def _files(cache: Path, analyzer: str = "") -> list[Path]:
    """Return the shared files of one analyzer, or of all if none is given, newest first."""
    found = []
    for path in cache.glob(f"{_key(analyzer) if analyzer else '*'}-*.sqlite"):
        with suppress(FileNotFoundError):
            found.append((path.stat().st_mtime_ns, path))
    return [path for _, path in sorted(found, reverse=True)]


def _key(analyzer: str) -> str:
    return hashlib.sha256(analyzer.encode()).hexdigest()[:16]
