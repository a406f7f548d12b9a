"""Build the documentation with Sphinx: ``docs/en`` and ``docs/ko`` become the HTML that the server has at ``/docs``.

The build backend and ``make docs`` run this script. Git ignores the HTML; the wheel includes it.
"""

from __future__ import annotations

import hashlib
import shutil
import subprocess
import sys
import tempfile
from pathlib import Path

_ROOT = Path(__file__).resolve().parents[1]
SOURCE = _ROOT / "docs"
FOLDER = _ROOT / "serving" / "page" / "docs"
LANGUAGES = ("en", "ko")

PACKAGES = (
    "accessible-pygments",
    "alabaster",
    "babel",
    "beautifulsoup4",
    "certifi",
    "charset-normalizer",
    "docutils",
    "furo",
    "idna",
    "imagesize",
    "jinja2",
    "markdown-it-py",
    "markupsafe",
    "mdit-py-plugins",
    "mdurl",
    "myst-parser",
    "packaging",
    "pygments",
    "pyyaml",
    "requests",
    "roman-numerals",
    "snowballstemmer",
    "soupsieve",
    "sphinx-basic-ng",
    "sphinx",
    "sphinxcontrib-applehelp",
    "sphinxcontrib-devhelp",
    "sphinxcontrib-htmlhelp",
    "sphinxcontrib-jsmath",
    "sphinxcontrib-qthelp",
    "sphinxcontrib-serializinghtml",
    "typing-extensions",
    "urllib3",
)
"""Sphinx, its theme, its reader of Markdown, and all that they need."""


class DocsNotBuilt(Exception):
    """Sphinx is not installed, or failed."""


def requirements() -> list[str]:
    """Return :data:`PACKAGES` at the versions of ``constraints.txt``."""
    lines = (_ROOT / "constraints.txt").read_text(encoding="utf-8").splitlines()
    return [line for line in lines if line.partition("==")[0] in PACKAGES]


def make_docs(folder: Path = FOLDER) -> None:
    """Write the HTML of both languages to ``folder``, unless it already has the HTML of the same sources.

    A source distribution has the HTML without its sources, so its HTML is left unchanged.

    Raises:
        DocsNotBuilt: Sphinx is not installed, failed, or warned.
    """
    mark = folder / "sources.sha256"
    if not (SOURCE / "conf.py").is_file():
        return
    digest = _digest()
    if mark.is_file() and mark.read_text(encoding="utf-8") == digest:
        return
    folder.parent.mkdir(parents=True, exist_ok=True)
    with tempfile.TemporaryDirectory(prefix=".docs-", dir=folder.parent) as name:
        made = Path(name, "docs")
        for language in LANGUAGES:
            _build(language, made / language, Path(name, "doctrees", language))
        (made / mark.name).write_text(digest, encoding="utf-8")
        made.chmod(0o755)
        shutil.rmtree(folder, ignore_errors=True)
        made.rename(folder)


def _build(language: str, html: Path, doctrees: Path) -> None:
    sphinx = [sys.executable, "-m", "sphinx", "--quiet", "--fail-on-warning", "-c", str(SOURCE)]
    folders = ["-d", str(doctrees), str(SOURCE / language), str(html)]
    done = subprocess.run(  # noqa: S603
        [*sphinx, "-D", f"language={language}", *folders], capture_output=True, text=True, check=False
    )
    if done.returncode:
        raise DocsNotBuilt(done.stderr.strip() or f"Sphinx ended with {done.returncode}.")


def _digest() -> str:
    """Return the SHA-256 of everything that the HTML is made of."""
    total = hashlib.sha256()
    for path in (Path(__file__), _ROOT / "pyproject.toml", *sorted(SOURCE.rglob("*"))):
        if path.is_file() and "__pycache__" not in path.parts:
            total.update(f"{path.name}\0".encode())
            total.update(hashlib.sha256(path.read_bytes()).digest())
    return total.hexdigest()


if __name__ == "__main__":
    try:
        make_docs()
        print(FOLDER)  # noqa: T201
    except DocsNotBuilt as error:
        sys.exit(str(error))
