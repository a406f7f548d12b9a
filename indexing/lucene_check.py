"""Lucene's own look at its files: ``CheckIndex``, from the jar that searches them."""

from __future__ import annotations

from pathlib import Path

from shrag.indexing.errors import IndexingError
from shrag.indexing.jvm import java, java_errors, lucene

_SAYS = ("FAILED", "ERROR", "WARNING", "Exception")


def check_lucene(folder: Path) -> list[str]:
    """Return what ``CheckIndex`` finds wrong with a Lucene index, one sentence each; nothing where it is sound.

    Terms, postings, stored fields and doc values are walked through and compared with each other, and every file's own
    checksum is computed. Nothing is written, not even a lock: the index is a published one.
    """
    doing = f"checking {folder}"
    try:
        with java_errors(doing):
            unlocked = lucene("store.NoLockFactory").INSTANCE
            directory = lucene("store.FSDirectory").open(java("java.nio.file.Paths").get(str(folder)), unlocked)
            told = java("java.io.ByteArrayOutputStream")()
            checker = lucene("index.CheckIndex")(directory, directory.obtainLock("check"))
            try:
                checker.setInfoStream(java("java.io.PrintStream")(told), False)
                status = checker.checkIndex()
            finally:
                checker.close()
                directory.close()
            if status.clean:
                return []
            lines = [line.strip() for line in str(told.toString("UTF-8")).splitlines()]
    except IndexingError as error:
        return [str(error)]
    return [line for line in lines if any(word in line for word in _SAYS)] or ["CheckIndex finds it not clean"]
