"""The self-test of Java and Lucene, with a jar that is missing, damaged or another one, as ``shrag doctor`` says it."""

from __future__ import annotations

import shutil
import subprocess
import sys
import zipfile
from collections.abc import Callable
from pathlib import Path

import pytest

from shrag.indexing.errors import DependencyMissing
from shrag.indexing.lexical import jvm
from shrag.indexing.maintenance.self_test import check_java_and_lucene

_PROGRAM = (
    "import sys; from pathlib import Path; from shrag.indexing.lexical import jvm; from shrag.cli.main import run; "
    "jvm._LUCENE_JAR = Path(sys.argv[1]); sys.exit(run(['doctor']))"
)


def test_it_says_the_versions_that_it_used() -> None:
    assert f"Lucene {jvm.LUCENE_VERSION} ({jvm.lucene_jar()})" in check_java_and_lucene()


def test_another_lucene_is_refused(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("shrag.indexing.maintenance.self_test.LUCENE_VERSION", "10.0.0")
    with pytest.raises(DependencyMissing, match=r"has Lucene 9\.9\.1, and SHRAG needs 10\.0\.0: install SHRAG again"):
        check_java_and_lucene()


def _remove(jar: Path) -> None:
    jar.unlink()


def _truncate(jar: Path) -> None:
    jar.write_bytes(jar.read_bytes()[: 2**20])


def _lose_codecs(jar: Path) -> None:
    whole = jar.with_name("whole.jar")
    shutil.move(jar, whole)
    with zipfile.ZipFile(whole) as source, zipfile.ZipFile(jar, "w") as target:
        for name in source.namelist():
            if "/codecs/lucene99/" not in name:
                target.writestr(name, source.read(name))


@pytest.mark.process
@pytest.mark.parametrize(
    ("damage", "words"),
    [
        (_remove, "Lucene's classes are missing ("),
        (_truncate, "Java cannot find the class org.apache.lucene.search.IndexSearcher"),
        (_lose_codecs, "Lucene"),
    ],
)
def test_the_doctor_finds_a_jar_with_which_a_build_would_fail(
    damage: Callable[[Path], None], words: str, tmp_path: Path
) -> None:
    jar = Path(shutil.copy(jvm.lucene_jar(), tmp_path / "lucene.jar"))
    damage(jar)
    done = subprocess.run([sys.executable, "-c", _PROGRAM, str(jar)], capture_output=True, text=True, check=False)
    (line,) = (line for line in done.stdout.splitlines() if "Java and Lucene" in line)
    assert line.startswith("FAIL")
    assert words in line
    assert done.returncode == 6
