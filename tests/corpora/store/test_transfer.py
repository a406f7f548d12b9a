"""A corpus carried as one file: whole, or refused with nothing left behind."""

from __future__ import annotations

import io
import json
import random
import shutil
import tarfile
from collections.abc import Callable
from pathlib import Path

import pytest

from shrag.corpora.errors import CorpusError
from shrag.corpora.files import DiskFull
from shrag.corpora.ingest.add import add_corpus
from shrag.corpora.store.archive import HEADER
from shrag.corpora.store.manifest import read_manifest
from shrag.corpora.store.open_corpus import hold_corpus, list_corpora, open_corpus
from shrag.corpora.store.transfer import export_corpus, import_corpus
from shrag.corpora.store.versions import undo_change

Members = list[tuple[tarfile.TarInfo, bytes]]


def _add(corpora: Path, count: int, text: str = "그래핀 필름") -> None:
    path = corpora.parent / "a.jsonl"
    rows = [{"docid": f"d{n}", "title": f"t {n}", "text": f"{text} {n}"} for n in range(count)]
    path.write_text("\n".join(map(json.dumps, rows)), encoding="utf-8")
    add_corpus(corpora, "lib", "miracl", [path], replace=True)


@pytest.fixture
def here(tmp_path: Path) -> Path:
    corpora = tmp_path / "here" / "corpora"
    corpora.parent.mkdir()
    _add(corpora, 30)
    return corpora


@pytest.fixture
def carried(here: Path, tmp_path: Path) -> Path:
    path = tmp_path / "lib.tar"
    export_corpus(here, "lib", path)
    return path


@pytest.fixture
def there(tmp_path: Path) -> Path:
    return tmp_path / "there" / "corpora"


def test_a_corpus_arrives_as_it_was_exported_under_its_name_or_another(here: Path, carried: Path, there: Path) -> None:
    for name, shown in (("", "lib"), ("books", "books")):
        manifest, stored = import_corpus(there, carried, name)
        assert (manifest.name, stored) == (shown, True)
        assert manifest.fingerprint == read_manifest(here / "lib").fingerprint
        assert list(open_corpus(there, shown)[1]) == list(open_corpus(here, "lib")[1])
        assert import_corpus(there, carried, name) == (manifest, False)
    assert list_corpora(there) == ["books", "lib"]


def test_the_same_corpus_gives_the_same_bytes(here: Path, carried: Path, tmp_path: Path) -> None:
    again = tmp_path / "again.tar"
    export_corpus(here, "lib", again)
    assert again.read_bytes() == carried.read_bytes()
    with pytest.raises(CorpusError, match="exists already"):
        export_corpus(here, "lib", again)


def test_other_records_are_replaced_only_where_that_is_said_and_come_back_by_undo(carried: Path, there: Path) -> None:
    there.parent.mkdir()
    _add(there, 7, "한지")
    before = read_manifest(there / "lib")
    with pytest.raises(CorpusError, match=r"has other records than .*--replace, or .*--name"):
        import_corpus(there, carried)
    assert read_manifest(there / "lib") == before
    assert import_corpus(there, carried, replace=True)[0].records == 30
    assert undo_change(there, "lib")[0].records == 7


def test_an_import_keeps_the_files_of_two_versions_and_those_that_a_build_reads(
    here: Path, there: Path, tmp_path: Path
) -> None:
    for count in (1, 2, 3, 4):
        _add(here, count)
        export_corpus(here, "lib", tmp_path / f"{count}.tar")
    for count in (1, 2, 3):
        import_corpus(there, tmp_path / f"{count}.tar", replace=True)
    assert len(_left(there)) == 1 + 2 * 2
    with hold_corpus(there, "lib"):
        import_corpus(there, tmp_path / "4.tar", replace=True)
        assert len(_left(there)) == 1 + 3 * 2
    import_corpus(there, tmp_path / "1.tar", replace=True)
    assert len(_left(there)) == 1 + 2 * 2
    assert undo_change(there, "lib")[0].records == 4


@pytest.mark.parametrize("replace", [False, True])
@pytest.mark.parametrize("missing", [False, True])
def test_importing_the_same_records_mends_damaged_files(
    carried: Path, there: Path, replace: bool, missing: bool
) -> None:
    there.parent.mkdir()
    _add(there, 7, "한지")
    manifest, _ = import_corpus(there, carried, replace=True)
    for file in (manifest.records_file, manifest.rejects_file):
        path = there / "lib" / file
        whole = path.read_bytes()
        path.unlink() if missing else path.write_bytes(b"damaged")
        assert import_corpus(there, carried, replace=replace)[1]
        assert path.read_bytes() == whole
    assert import_corpus(there, carried) == (read_manifest(there / "lib"), False)
    assert undo_change(there, "lib")[0].records == 7


def test_a_damaged_corpus_is_not_exported(here: Path, tmp_path: Path) -> None:
    path = here / "lib" / read_manifest(here / "lib").records_file
    data = bytearray(path.read_bytes())
    data[len(data) // 2] ^= 1
    path.write_bytes(data)
    with pytest.raises(CorpusError):
        export_corpus(here, "lib", tmp_path / "b.tar")
    assert not list(tmp_path.glob("*b.tar*"))


def _members(path: Path) -> Members:
    with tarfile.open(path) as opened:
        return [(member, (opened.extractfile(member) or io.BytesIO()).read()) for member in opened]


def _pack(path: Path, members: Members) -> None:
    with tarfile.open(path, "w", format=tarfile.PAX_FORMAT) as opened:
        for member, data in members:
            opened.addfile(member, io.BytesIO(data))


def _header(change: Callable[[dict[str, dict[str, object]]], object]) -> Callable[[Members], Members]:
    def changed(members: Members) -> Members:
        (first, data), *rest = members
        header = json.loads(data)
        change(header["files"])
        data = json.dumps(header).encode()
        first.size = len(data)
        return [(first, data), *rest]

    return changed


def _rename(name: str) -> Callable[[Members], Members]:
    def changed(members: Members) -> Members:
        last = members[-1][0].name
        members = _header(lambda files: files.update({name: files.pop(last)}))(members)
        members[-1][0].name = name
        return members

    return changed


def _link(kind: bytes) -> Callable[[Members], Members]:
    def changed(members: Members) -> Members:
        member, _ = members[-1]
        member.type, member.linkname, member.size = kind, "/etc/passwd", 0
        return [*members[:-1], (member, b"")]

    return changed


HOSTILE: dict[str, Callable[[Members], Members]] = {
    "empty": lambda members: [],
    "without a header": lambda members: members[1:],
    "without its last file": lambda members: members[:-1],
    "with a file twice": lambda members: [*members, members[-1]],
    "with another file": lambda members: [*members, (tarfile.TarInfo("more"), b"")],
    "in another order": lambda members: [members[1], members[0], *members[2:]],
    "with a file outside": _rename("../../escaped"),
    "with an absolute file": _rename("/tmp/escaped"),
    "with a symbolic link": _link(tarfile.SYMTYPE),
    "with a hard link": _link(tarfile.LNKTYPE),
    "with a device": _link(tarfile.CHRTYPE),
    "with a wrong size": _header(lambda files: files["manifest.json"].update(bytes=1)),
    "with a huge size": _header(lambda files: files["manifest.json"].update(bytes=2**60)),
    "with a wrong hash": _header(lambda files: files["manifest.json"].update(sha256="0" * 64)),
    "with a swapped manifest": lambda members: [*members[:1], (members[1][0], b"x" * members[1][0].size), *members[2:]],
    "with a file that the manifest does not name": _rename("records-other.parquet"),
}


@pytest.mark.parametrize("kind", HOSTILE)
def test_a_hostile_archive_is_refused_and_leaves_nothing(kind: str, carried: Path, there: Path, tmp_path: Path) -> None:
    _pack(tmp_path / "hostile.tar", HOSTILE[kind](_members(carried)))
    with pytest.raises((CorpusError, DiskFull)):
        import_corpus(there, tmp_path / "hostile.tar")
    assert _left(there) == []
    assert sorted(path.name for path in tmp_path.iterdir() if path.name.startswith("esc")) == []


def _left(there: Path) -> list[str]:
    return sorted(path.name for path in there.rglob("*") if path.is_file() and path.name != ".lock")


def test_no_damage_is_stored(carried: Path, here: Path, there: Path, tmp_path: Path) -> None:
    whole, data, chance = list(open_corpus(here, "lib")[1]), carried.read_bytes(), random.Random(17)
    path = tmp_path / "damaged.tar"
    refused = 0
    for _ in range(60):
        path.write_bytes(data[: chance.randrange(len(data) - 10_240)])  # tar's last block of zeros says nothing
        with pytest.raises(CorpusError):
            import_corpus(there, path, "lib")
        assert _left(there) == []
        flipped = bytearray(data)
        flipped[chance.randrange(len(data))] ^= 1 << chance.randrange(8)
        path.write_bytes(flipped)
        try:
            import_corpus(there, path, "lib")
        except CorpusError:
            refused += 1
            assert _left(there) == []
        else:  # a bit of the padding, or of a time or an owner
            assert list(open_corpus(there, "lib")[1]) == whole
            shutil.rmtree(there)
    assert refused > 20


def test_a_file_that_is_no_archive_is_refused(there: Path, tmp_path: Path) -> None:
    for name, data in (("text", b"hello"), ("empty", b""), ("gzip", b"\x1f\x8b" + b"0" * 600)):
        (tmp_path / name).write_bytes(data)
        with pytest.raises(CorpusError, match=name):
            import_corpus(there, tmp_path / name)
    with pytest.raises(CorpusError, match="cannot be read"):
        import_corpus(there, tmp_path / "missing")
    with pytest.raises(CorpusError, match="not a regular file"):
        import_corpus(there, tmp_path)


def test_an_archive_that_does_not_fit_the_disk_is_refused_before_anything_is_written(
    carried: Path, there: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    usage = shutil.disk_usage(there.parents[1])
    monkeypatch.setattr(shutil, "disk_usage", lambda path: usage._replace(free=100))
    with pytest.raises(DiskFull, match="and 100 are left"):
        import_corpus(there, carried)
    assert _left(there) == []


def test_the_header_names_every_file(carried: Path) -> None:
    (first, data), *rest = _members(carried)
    assert first.name == HEADER
    assert list(json.loads(data)["files"]) == [member.name for member, _ in rest]
    assert {(member.mtime, member.uid, member.gid, member.mode) for member, _ in [(first, data), *rest]} == {
        (0, 0, 0, 0o644)
    }
