"""Damaged, incomplete and hostile bundles: each is refused with one sentence, and nothing is left behind."""

from __future__ import annotations

import dataclasses
import io
import json
import platform
import random
import shutil
import sys
import tarfile
from collections.abc import Callable
from pathlib import Path

import pytest

from shrag.bundle.installer.check import check_bundle, check_machine, check_wheel
from shrag.bundle.installer.main import main
from shrag.bundle.installer.manifest import MANIFEST, decode_manifest, encode_manifest
from shrag.bundle.installer.signature import checksum_list, write_checksums
from shrag.corpora.errors import CorpusError
from shrag.corpora.store.archive import HEADER
from shrag.corpora.store.file_checksum import compute_checksum
from tests.support.small_bundle import make_wheel, write_small_bundle

Members = list[tuple[tarfile.TarInfo, bytes]]
Change = Callable[[Members], Members]

_DAMAGES = 200


@pytest.fixture(scope="module")
def whole(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Return a bundle with its list of checksums."""
    path = tmp_path_factory.mktemp("carried") / "small.tar"
    write_small_bundle(path, more={"shrag.toml": b"[search]\nk = 5\n", "weights/tiny/config.json": b"{}" * 500})
    return path


def _refused(bundle: Path, folder: Path, capsys: pytest.CaptureFixture[str]) -> str:
    """Install a bundle, which must fail; return the one line that says why."""
    before = sorted(folder.parent.iterdir())
    assert main(["install", str(bundle), "--into", str(folder)]) in {3, 5}
    captured = capsys.readouterr()
    lines = captured.err.splitlines()
    assert len(lines) == 1, captured.err
    assert lines[0].startswith("shrag: ")
    assert "Traceback" not in lines[0]
    assert sorted(folder.parent.iterdir()) == before
    return lines[0]


def test_two_hundred_damaged_bundles_are_refused_and_leave_nothing(
    whole: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    chance, data = random.Random(20), whole.read_bytes()
    bundle = tmp_path / "carried" / whole.name
    bundle.parent.mkdir()
    shutil.copyfile(checksum_list(whole), checksum_list(bundle))
    damages: list[Callable[[bytearray], bytes]] = [
        lambda old: bytes(old[: chance.randrange(len(old))]),
        lambda old: bytes(old) + chance.randbytes(chance.randrange(1, 2000)),
        lambda old: _swapped(old, chance),
        lambda old: _flipped(old, chance),
    ]
    for number in range(_DAMAGES):
        bundle.write_bytes(damages[number % len(damages)](bytearray(data)))
        _refused(bundle, tmp_path / "there", capsys)


def _flipped(data: bytearray, chance: random.Random) -> bytes:
    data[chance.randrange(len(data))] ^= 1 << chance.randrange(8)
    return bytes(data)


def _swapped(data: bytearray, chance: random.Random) -> bytes:
    """Exchange two blocks of the file that differ."""
    while True:
        first, second = (slice(start, start + 512) for start in chance.sample(range(0, len(data) - 512, 512), 2))
        if data[first] != data[second]:
            data[first], data[second] = data[second], data[first]
            return bytes(data)


def _members(path: Path) -> Members:
    with tarfile.open(path) as opened:
        return [(member, (opened.extractfile(member) or io.BytesIO()).read()) for member in opened]


def _pack(path: Path, members: Members) -> None:
    """Write a bundle as an attacker would, with a list of checksums that agrees with it."""
    path.parent.mkdir(exist_ok=True)
    with tarfile.open(path, "w", format=tarfile.PAX_FORMAT) as opened:
        for member, data in members:
            opened.addfile(member, io.BytesIO(data))
    write_checksums(path, [path])


def _json(number: int, change: Callable[[dict[str, object]], object]) -> Change:
    """Change a member that is JSON, and its size; of the manifest also its checksum in the header."""

    def changed(members: Members) -> Members:
        values = json.loads(members[number][1])
        change(values)
        data = json.dumps(values).encode()
        member = members[number][0]
        member.size = len(data)
        members[number] = (member, data)
        if member.name == MANIFEST:
            checksum = dataclasses.asdict(compute_checksum(data))
            return _json(0, lambda header: header["files"].update({MANIFEST: checksum}))(members)  # type: ignore[attr-defined]
        return members

    return changed


def _renamed(name: str) -> Change:
    def changed(members: Members) -> Members:
        last = members[-1][0].name

        def rename(values: dict[str, dict[str, object]]) -> None:
            values["files"][name] = values["files"].pop(last)

        members = _json(1, rename)(_json(0, rename)(members))  # type: ignore[arg-type]
        members[-1][0].name = name
        return members

    return changed


def _typed(kind: bytes) -> Change:
    def changed(members: Members) -> Members:
        member, _ = members[-1]
        member.type, member.linkname, member.size = kind, "/etc/passwd", 0
        return [*members[:-1], (member, b"")]

    return changed


def _file(values: dict[str, object], name: str) -> dict[str, object]:
    return values["files"][name]  # type: ignore[index, no-any-return]


HOSTILE: dict[str, tuple[Change, str]] = {
    "empty": (lambda members: [], "damaged or no archive|first member"),
    "without a header": (lambda members: members[1:], "first member is not"),
    "without a manifest": (lambda members: [members[0], *members[2:]], "no bundle.json|differs from its header"),
    "without its last file": (lambda members: members[:-1], "breaks off"),
    "with a file twice": (lambda members: [*members, members[-1]], "differs from its header"),
    "with another file": (lambda members: [*members, (tarfile.TarInfo("more"), b"")], "differs from its header"),
    "in another order": (lambda members: [members[0], members[2], members[1], *members[3:]], "no bundle.json"),
    "with a file outside": (_renamed("../../escaped"), "outside its folder"),
    "with an absolute file": (_renamed("/tmp/escaped"), "outside its folder"),
    "with a symbolic link": (_typed(tarfile.SYMTYPE), "differs from its header"),
    "with a hard link": (_typed(tarfile.LNKTYPE), "differs from its header"),
    "with a device": (_typed(tarfile.CHRTYPE), "differs from its header"),
    "with a wrong size": (_json(0, lambda header: _file(header, MANIFEST).update(bytes=1)), "differs from its header"),
    "with a huge size": (
        _json(1, lambda manifest: _file(manifest, "shrag.toml").update(bytes=2**60)),
        "do not agree on 'shrag.toml'",
    ),
    "with a negative size": (_json(0, lambda header: _file(header, MANIFEST).update(bytes=-1)), "cannot be read"),
    "with a wrong hash": (_json(0, lambda header: _file(header, MANIFEST).update(sha256="0" * 64)), "checksum"),
    "with a file that only the manifest has": (
        _json(1, lambda manifest: manifest["files"].update(more=_file(manifest, "shrag.toml"))),  # type: ignore[attr-defined]
        "do not agree on 'more'",
    ),
    "with another manifest's checksum": (
        _json(1, lambda manifest: _file(manifest, "shrag.toml").update(sha256="0" * 64)),
        "do not agree on 'shrag.toml'",
    ),
    "with a manifest that is a list": (_json(1, lambda manifest: manifest.update(files=[])), "no bundle.json"),
    "with an index's name outside": (_json(1, lambda manifest: manifest.update(indexes=["../a"])), "no bundle.json"),
    "with a base outside": (_json(1, lambda manifest: manifest.update(base="../../a")), "no bundle.json"),
    "with a version outside": (_json(1, lambda manifest: manifest.update(version="../a")), "no bundle.json"),
    "with a checksum that leads outside": (
        _json(1, lambda manifest: _file(manifest, "shrag.toml").update(sha256="../" * 20 + "etc/")),
        "no bundle.json",
    ),
    "with the checksum of a file that it does not carry outside": (
        _json(1, lambda manifest: manifest["files"].update(more={"bytes": 1, "sha256": "../" * 20 + "etc/"})),  # type: ignore[attr-defined]
        "no bundle.json",
    ),
    "with files in a list": (_json(0, lambda header: header.update(files=[])), "cannot be read"),
    "of a later format": (_json(1, lambda manifest: manifest.update(format=2)), "bundle format 2"),
    "of a corpus": (_json(0, lambda header: header.update(kind="corpus")), "holds the corpus"),
    "with names of numbers": (_json(0, lambda header: header.update(name=3)), "cannot be read"),
}


@pytest.mark.parametrize("kind", HOSTILE)
def test_a_hostile_bundle_is_refused_though_its_checksums_agree(
    kind: str, whole: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    change, expected = HOSTILE[kind]
    bundle = tmp_path / "carried" / "hostile.tar"
    _pack(bundle, change(_members(whole)))
    message = _refused(bundle, tmp_path / "there", capsys)
    assert any(part in message for part in expected.split("|")), message
    assert not list(tmp_path.rglob("*escaped*"))


def test_a_missing_a_short_and_an_exchanged_volume_are_refused(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    bundle = tmp_path / "carried" / "small.tar"
    write_small_bundle(bundle, volume_bytes=600_000)
    volumes = sorted(bundle.parent.glob("small.tar.*"))
    assert len(volumes) >= 3
    assert {volume.stat().st_size for volume in volumes[:-1]} == {600_000}
    assert check_bundle(bundle).version == "1.0"
    kept = [volume.read_bytes() for volume in volumes]
    for number, data in ((1, None), (len(volumes) - 1, None), (0, kept[0][:-1]), (1, kept[2]), (1, kept[1] + b"x")):
        if data is None:
            volumes[number].unlink()
        else:
            volumes[number].write_bytes(data)
        _refused(bundle, tmp_path / "there", capsys)
        checksum_list(bundle).rename(tmp_path / "list")
        _refused(bundle, tmp_path / "there", capsys)  # its content alone gives it away too
        (tmp_path / "list").rename(checksum_list(bundle))
        volumes[number].write_bytes(kept[number])
    volumes[0].unlink()
    assert "small.tar.001 is missing: copy it too." in _refused(bundle, tmp_path / "there", capsys)
    checksum_list(bundle).unlink()
    assert "cannot be read" in _refused(bundle, tmp_path / "there", capsys)


def test_a_wheel_that_unpacks_to_far_more_than_it_has_is_refused(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    bomb = make_wheel(tmp_path / "bomb", "1.0", {"zeros": bytes(2**27)})
    assert bomb.stat().st_size < 2**18
    bundle = tmp_path / "carried" / "bomb.tar"
    write_small_bundle(bundle, wheel=bomb)
    assert "would unpack to 134," in _refused(bundle, tmp_path / "there", capsys)


@pytest.mark.parametrize(
    ("changes", "expected"),
    [
        ({"pythons": ("2.7", "3.10")}, "has packages for Python 2.7, 3.10, and this is 3."),
        ({"machine": "pdp11"}, "was made for pdp11 processors"),
        ({"glibc": "9.9"}, "needs glibc 9.9 or newer"),
    ],
)
def test_a_bundle_for_another_machine_is_refused(changes: dict[str, object], expected: str, whole: Path) -> None:
    manifest = check_bundle(whole)
    check_machine(whole, manifest)
    with pytest.raises(CorpusError, match=expected):
        check_machine(whole, dataclasses.replace(manifest, **changes))  # type: ignore[arg-type]
    assert manifest.pythons == (f"{sys.version_info.major}.{sys.version_info.minor}",)
    assert manifest.machine == platform.machine()


def test_a_manifest_is_read_as_it_was_written_and_names_its_content(whole: Path) -> None:
    manifest = check_bundle(whole)
    assert decode_manifest(encode_manifest(manifest)) == manifest
    assert manifest.under("weights") == {"tiny/config.json": manifest.files["weights/tiny/config.json"]}
    other = dataclasses.replace(manifest, files={**manifest.files, "more": compute_checksum(b"")})
    assert manifest.identifier.startswith("1.0-")
    assert other.identifier != manifest.identifier
    assert dataclasses.replace(manifest, base="0.9-0123").identifier == manifest.identifier
    assert _members(whole)[0][0].name == HEADER


@pytest.mark.parametrize(
    ("change", "says"),
    [
        (lambda data: data[:-30], "File is not a zip file"),
        (lambda data: data.replace("가".encode(), b"\xff\xff\xff"), "codec can't decode"),
        (lambda data: data.replace(b"PK\x01\x02\x14\x03\x14", b"PK\x01\x02\x14\x03\xff"), "zip file version 25.5"),
    ],
    ids=["cut", "a name that is not UTF-8", "a later version"],
)
def test_a_file_that_python_cannot_read_as_a_zip_is_no_wheel(
    tmp_path: Path, change: Callable[[bytes], bytes], says: str
) -> None:
    wheel = make_wheel(tmp_path, "1.0", {"가.py": b""})
    check_wheel(wheel.name, wheel, compute_checksum(wheel))
    wheel.write_bytes(change(wheel.read_bytes()))
    with pytest.raises(CorpusError, match=f"{wheel.name} is not a wheel .*{says}"):
        check_wheel(wheel.name, wheel, compute_checksum(wheel))
