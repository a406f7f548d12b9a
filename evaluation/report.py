"""A report: folders of results as one HTML page that needs nothing else and asks for nothing."""

from __future__ import annotations

import base64
import hashlib
from collections.abc import Sequence
from importlib.metadata import version
from pathlib import Path

from shrag.evaluation.report_view import result_view
from shrag.evaluation.result_folder import open_results
from shrag.serving.rendering import PAGE_FOLDER, open_templates

PAGE = Path(__file__).parent / "report_page"

DEFAULT_QUESTIONS = 100
"""Questions of each set whose way is shown, those on which the conditions are furthest apart."""


def render_report(folders: Sequence[Path], *, questions: int = DEFAULT_QUESTIONS) -> str:
    """Return the page of finished results, in the order given.

    Raises :class:`~shrag.evaluation.errors.ResultsMismatch` for a folder that holds none, or not all of them.
    """
    views = [
        result_view(*open_results(folder), anchor=f"result-{number}", questions=questions)
        for number, folder in enumerate(folders, 1)
    ]
    files = (PAGE_FOLDER / "static" / "palette.css", PAGE / "report.css", PAGE / "report.js")
    palette, look, script = (file.read_text(encoding="utf-8") for file in files)
    style = palette + look
    return (
        open_templates(PAGE)
        .get_template("report.html")
        .render(
            results=views,
            style=style,
            script=script,
            policy=_policy(style, script),
            version=version("shrag"),
        )
    )


def _policy(style: str, script: str) -> str:
    """Return what the page may do: its own style and script, pictures that stand in it, nothing else."""
    return (
        f"default-src 'none'; style-src '{_digest(style)}'; script-src '{_digest(script)}'; img-src data:; "
        "base-uri 'none'; form-action 'none'"
    )


def _digest(text: str) -> str:
    return "sha256-" + base64.b64encode(hashlib.sha256(text.encode()).digest()).decode()
