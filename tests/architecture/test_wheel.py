"""The wheel has every module and data file of the packages."""

from __future__ import annotations

import shutil
import subprocess
import sys
import zipfile
from pathlib import Path

import pytest

from shrag.indexing.lexical.jvm import lucene_jar

pytestmark = pytest.mark.process

ROOT = Path(__file__).resolve().parents[2]
ROOMS = ("messages", "corpora", "models", "prompts", "indexing", "serving", "evaluation", "bundle", "cli")


@pytest.mark.skipif(
    not (ROOT / ".git").exists() or shutil.which("git") is None,
    reason="no git, or not a git checkout: what belongs to it is not known",
)
def test_the_wheel_holds_every_file_of_every_room(built_docs: Path, tmp_path: Path) -> None:
    source = tmp_path / "source"
    files = subprocess.run(
        ["git", "ls-files", "--cached", "--others", "--exclude-standard"],
        cwd=ROOT, capture_output=True, text=True, check=True,
    ).stdout.splitlines()  # fmt: skip
    for name in files:
        if (ROOT / name).is_file():
            (source / name).parent.mkdir(parents=True, exist_ok=True)
            (source / name).write_bytes((ROOT / name).read_bytes())
    shutil.copytree(built_docs, source / "serving" / "page" / "docs", dirs_exist_ok=True)  # not built again
    build = [sys.executable, "-m", "pip", "wheel", "--quiet", "--no-deps", "--no-build-isolation", "--no-index"]
    subprocess.run([*build, "--wheel-dir", str(tmp_path), str(source)], check=True, capture_output=True)
    (wheel,) = tmp_path.glob("*.whl")
    packed = {name for name in zipfile.ZipFile(wheel).namelist() if ".dist-info/" not in name}
    wanted = {f"shrag/{name}" for name in files if name.partition("/")[0] in ROOMS}
    wanted |= {name for name in files if name.startswith("shrag/")}
    lucene = "shrag/indexing/lexical/java/lucene"
    wanted |= {f"{lucene}/{name}" for name in ("LICENSE", "NOTICE", lucene_jar().name)}
    built = source / "serving/page/docs"
    wanted |= {f"shrag/{path.relative_to(source)}" for path in built.rglob("*") if path.is_file()}
    assert {f"shrag/serving/page/docs/{language}/index.html" for language in ("en", "ko")} <= packed
    assert packed == wanted
