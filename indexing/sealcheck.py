"""Checking an index's seals when it is opened: every byte first, or the sizes first and the bytes while it is used."""

from __future__ import annotations

import threading
from pathlib import Path
from typing import Literal

from shrag.indexing.errors import IndexDamaged
from shrag.indexing.generations import check_files
from shrag.indexing.manifest import IndexManifest
from shrag.indexing.seals import Verify

State = Literal["whole", "checking", "damaged"]


class SealCheck:
    """The check of one generation's files. Safe to share between threads."""

    def __init__(self, folder: Path, manifest: IndexManifest, verify: Verify) -> None:
        """Check now what ``verify`` says; raises :class:`IndexDamaged`."""
        self._problem: IndexDamaged | None = None
        self._closed = threading.Event()
        self._thread: threading.Thread | None = None
        check_files(folder, manifest, contents=verify == "full")
        if verify == "quick":
            self._thread = threading.Thread(target=self._check, args=(folder, manifest), name="seals", daemon=True)
            self._thread.start()

    @property
    def state(self) -> State:
        """How far the check is."""
        if self._problem is not None:
            return "damaged"
        return "checking" if self._thread is not None and self._thread.is_alive() else "whole"

    def raise_if_damaged(self) -> None:
        """Raise :class:`IndexDamaged` where the check has met with damage: no answer is given from then on."""
        if self._problem is not None:
            raise IndexDamaged(str(self._problem))

    def wait(self, seconds: float | None = None) -> State:
        """Wait for the check to end, at most ``seconds``, and return how far it is."""
        if self._thread is not None:
            self._thread.join(seconds)
        return self.state

    def close(self) -> None:
        """Make nothing of what the check finds from now on: the generation may have been removed."""
        self._closed.set()

    def _check(self, folder: Path, manifest: IndexManifest) -> None:
        try:
            check_files(folder, manifest)
        except IndexDamaged as damage:
            # A generation that a newer one has pushed out is gone, not damaged: what is open stays readable.
            if folder.exists() and not self._closed.is_set():
                self._problem = damage
