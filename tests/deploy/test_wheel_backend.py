"""The build backend: what it keeps of Pyserini's jar."""

from __future__ import annotations

import re
import struct
import zipfile
from collections.abc import Callable, Iterator
from importlib.util import find_spec
from pathlib import Path

import pytest

import build_docs
import wheel_backend
from shrag.indexing.lexical.jvm import LUCENE_VERSION, lucene_jar
from tests.conftest import ROOT

LEFT_OUT = {
    "org/apache/lucene/analysis/en/AbstractWordsFileFilterFactory",
    "org/apache/lucene/analysis/en/EnglishAnalyzer",
    "org/apache/lucene/analysis/fr/FrenchAnalyzer",
}
"""Classes that are referred to by two factories of token filters (stop words, elision), which nothing here creates."""

_SIZES = {3: 5, 4: 5, 5: 9, 6: 9, 7: 3, 8: 3, 9: 5, 10: 5, 11: 5, 12: 5, 15: 4, 16: 3, 17: 5, 18: 5, 19: 3, 20: 3}
"""Tag of a constant of a class file → its bytes, but for text (tag 1). Java Virtual Machine Specification, 4.4."""


def _texts(data: bytes) -> Iterator[str]:
    """Yield the texts of a class file's constants: names of classes, and types with such names."""
    count = int(struct.unpack_from(">H", data, 8)[0])
    place, number = 10, 1
    while number < count:
        tag = data[place]
        if tag == 1:
            length = int(struct.unpack_from(">H", data, place + 1)[0])
            yield data[place + 3 : place + 3 + length].decode("utf-8", "replace")
            place += 3 + length
        else:
            place += _SIZES[tag]
        number += 2 if tag in {5, 6} else 1


def _references(data: bytes) -> set[str]:
    names: set[str] = set()
    for text in _texts(data):
        if re.fullmatch(r"org/apache/lucene/[\w/$]+", text):
            names.add(text)
        names |= set(re.findall(r"L(org/apache/lucene/[\w/$]+);", text))
    return names


def test_no_class_of_the_jar_refers_to_one_that_is_left_out() -> None:
    with zipfile.ZipFile(lucene_jar()) as jar:
        names = set(jar.namelist())
        there = {re.sub(r"^META-INF/versions/\d+/", "", name).removesuffix(".class") for name in names}
        referred = {each for name in names if name.endswith(".class") for each in _references(jar.read(name))}
    # Constants that are packages or resources, not classes, begin with a small letter.
    missing = {name for name in referred - there if name.rpartition("/")[2][:1].isupper()}
    assert missing == LEFT_OUT


def test_the_services_of_the_jar_name_only_classes_that_are_there() -> None:
    with zipfile.ZipFile(lucene_jar()) as jar:
        names = set(jar.namelist())
        services = [name for name in names if name.startswith("META-INF/services/")]
        listed = {
            line
            for name in services
            for line in jar.read(name).decode().splitlines()
            if line.strip() and not line.startswith("#")
        }
    assert "org.apache.lucene.codecs.lucene99.Lucene99Codec" in listed
    assert {name for name in listed if f"{name.replace('.', '/')}.class" not in names} == set()


def test_the_jar_has_lucene_its_licence_and_nothing_else() -> None:
    with zipfile.ZipFile(lucene_jar()) as jar:
        names = jar.namelist()
        assert b"Apache License" in jar.read("META-INF/LICENSE.txt")
        assert jar.read("META-INF/NOTICE.txt").lstrip().startswith(b"Apache Lucene")
    other = [name for name in names if "org/apache/lucene/" not in name and "services/org.apache.lucene." not in name]
    assert other == ["META-INF/MANIFEST.MF", "META-INF/LICENSE.txt", "META-INF/NOTICE.txt"]
    assert lucene_jar().stat().st_size < 6 * 2**20
    assert {path.name for path in lucene_jar().parent.iterdir()} == {lucene_jar().name, "LICENSE", "NOTICE"}


def test_the_backend_and_the_program_name_the_same_versions() -> None:
    assert wheel_backend.LUCENE == LUCENE_VERSION
    assert f"pyserini=={wheel_backend.PYSERINI}\n" in (ROOT / "constraints.txt").read_text(encoding="utf-8")


def _installed() -> Path | None:
    spec = find_spec("pyserini")
    folders = (spec.submodule_search_locations or ()) if spec else ()
    return next((Path(each, "resources", "jars", wheel_backend.ANSERINI_JAR) for each in folders), None)


@pytest.mark.skipif(_installed() is None, reason="Pyserini is not installed: its jar would be downloaded")
def test_the_same_pyserini_gives_the_same_jar_and_a_jar_that_is_there_is_kept(tmp_path: Path) -> None:
    made = wheel_backend.make_lucene_jar(tmp_path / "lucene")
    again = wheel_backend.make_lucene_jar(tmp_path / "again")
    assert made.read_bytes() == again.read_bytes()
    before = made.stat().st_mtime_ns
    assert wheel_backend.make_lucene_jar(tmp_path / "lucene").stat().st_mtime_ns == before
    made.write_bytes(made.read_bytes()[:1000])  # an interrupted copy
    assert wheel_backend.make_lucene_jar(tmp_path / "lucene").read_bytes() == again.read_bytes()


def test_an_editable_installation_is_made_without_the_documentation_where_that_cannot_be_built(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    class _Setuptools:
        def __getattr__(self, name: str) -> Callable[..., str]:
            return lambda *_: name

    def fail() -> None:
        raise build_docs.DocsNotBuilt("No module named sphinx")

    monkeypatch.setattr(wheel_backend, "_setuptools", _Setuptools)
    monkeypatch.setattr(build_docs, "make_docs", fail)
    assert wheel_backend.build_editable("folder") == "build_editable"
    assert "The documentation was not built: No module named sphinx" in capsys.readouterr().err
    with pytest.raises(build_docs.DocsNotBuilt):
        wheel_backend.build_sdist("folder")


def test_the_packages_of_a_build_are_pinned() -> None:
    for needed in (
        wheel_backend.get_requires_for_build_wheel(),
        wheel_backend.get_requires_for_build_sdist(),
        wheel_backend.get_requires_for_build_editable(),
    ):
        assert needed == build_docs.requirements()
        assert "sphinx==9.0.4" in needed


def test_another_jar_is_refused(tmp_path: Path) -> None:
    other = tmp_path / "other.jar"
    with zipfile.ZipFile(other, "w") as jar:
        jar.writestr("org/apache/lucene/util/Version.class", b"")
    with pytest.raises(wheel_backend.WrongJar, match=r"other\.jar has the SHA-256 .* Pyserini 1\.6\.0 has 183bf5b5"):
        wheel_backend.cut(other, tmp_path / "lucene" / "lucene.jar")
    assert not (tmp_path / "lucene").exists()


@pytest.mark.parametrize(
    ("name", "kept"),
    [
        ("org/apache/lucene/index/IndexWriter.class", True),
        ("org/apache/lucene/codecs/lucene99/Lucene99Codec.class", True),
        ("org/apache/lucene/codecs/simpletext/SimpleTextCodec.class", False),
        ("org/apache/lucene/analysis/core/WhitespaceAnalyzer.class", True),
        ("org/apache/lucene/analysis/ko/KoreanAnalyzer.class", False),
        ("META-INF/versions/21/org/apache/lucene/store/MemorySegmentIndexInput.class", True),
        ("META-INF/services/org.apache.lucene.codecs.Codec", True),
        ("META-INF/services/java.sql.Driver", False),
        ("io/anserini/index/IndexCollection.class", False),
        ("org/apache/lucene/index/", False),
    ],
)
def test_whole_folders_are_kept(name: str, kept: bool) -> None:
    assert wheel_backend.is_kept(name) == kept


def test_every_class_of_lucene_that_the_source_names_is_in_the_jar() -> None:
    named = set()
    for room in ("indexing", "serving", "evaluation", "cli"):
        for file in (ROOT / room).rglob("*.py"):
            if file.name != "anserini.py":  # which takes its analysers from Pyserini's jar
                named |= set(re.findall(r'lucene_class\("([\w.$]+)"\)', file.read_text(encoding="utf-8")))
    for file in (ROOT / "indexing" / "lexical" / "java").rglob("*.java"):
        imports = re.findall(r"^import org\.apache\.lucene\.([\w.]+);", file.read_text(encoding="utf-8"), re.MULTILINE)
        named |= {re.sub(r"(?<=[a-z0-9]\.)([A-Z]\w*)\.(?=[A-Z])", r"\1$", each) for each in imports}
    with zipfile.ZipFile(lucene_jar()) as jar:
        there = set(jar.namelist())
    assert len(named) > 40
    assert {name for name in named if f"org/apache/lucene/{name.replace('.', '/')}.class" not in there} == set()
