"""The result of one check of ``shrag doctor``."""

from __future__ import annotations

from typing import Literal, NamedTuple

from shrag.messages.text import Text

DoctorStatus = Literal["ok", "warning", "failure"]

INSTALL_AGAIN = Text(
    "install SHRAG again from what it came in: `python3 NAME.install.pyz install NAME.tar --into FOLDER` for a bundle, "
    "`pip install --no-index --find-links FOLDER --force-reinstall shrag` for a folder of wheels"
)
"""How to repair an installation without a network and without a checkout."""


class DoctorFinding(NamedTuple):
    """The result of one check.

    Attributes:
        check: What was checked.
        status: A warning is about something that may be intended or may fail later. A failure stops something from
            working.
        message: What was found.
        exit_status: The exit status of ``shrag doctor`` because of it, 0 unless it is a failure.
        repair: How to repair it on a machine without a network or a checkout; empty for ``ok``.
    """

    check: str
    status: DoctorStatus
    message: str
    exit_status: int = 0
    repair: str = ""
