"""The notebook of the documentation runs from its first cell to its last, and prints what stands in it."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

pytestmark = [pytest.mark.process, pytest.mark.slow]

NOTEBOOK = Path(__file__).resolve().parents[2] / "docs" / "quickstart.ipynb"

# In a process of its own, since Jupyter's packages raise warnings, which are errors here.
_EXECUTE = """
import sys, nbclient, nbformat
notebook = nbformat.read(sys.argv[1], 4)
nbclient.NotebookClient(notebook, timeout=300, kernel_name="python3").execute()
nbformat.write(notebook, "executed.ipynb")
"""


def _printed(path: Path) -> list[str]:
    """Return what each cell prints; on a busy machine a kernel sends one line in several pieces."""
    cells = json.loads(path.read_text(encoding="utf-8"))["cells"]
    return ["".join(map(_text, cell["outputs"])) for cell in cells if cell["cell_type"] == "code"]


def _text(output: dict[str, Any]) -> str:
    text = output["text"] if output["output_type"] == "stream" else output["data"]["text/plain"]
    return text if isinstance(text, str) else "".join(text)


def test_the_notebook_runs_and_prints_what_it_says(tmp_path: Path) -> None:
    environment = {**os.environ, "SHRAG_HOME": str(tmp_path / "home"), "JUPYTER_RUNTIME_DIR": str(tmp_path / "jupyter")}
    subprocess.run([sys.executable, "-c", _EXECUTE, str(NOTEBOOK)], cwd=tmp_path, env=environment, check=True)
    printed = _printed(tmp_path / "executed.ipynb")
    assert printed == _printed(NOTEBOOK)
    assert sum(map(bool, printed)) >= 8
