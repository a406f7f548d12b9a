"""The malformed-corpus set: what damage, haste and malice make of a corpus's files, and what each must end in.

Every case makes its files in an empty folder and says what is kept of them. ``G1`` and ``G2`` are good records that
stand before and after the damage wherever a file has room for them.
"""

from __future__ import annotations

import gzip
import io
import json
import os
import random
import socket
import unicodedata
import zipfile
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

Builder = Callable[[Path], list[Path]]


@dataclass(frozen=True)
class Case:
    """What a case is made by, and ends in: an error, or the docids kept and (line, offset, reason) of each reject."""

    name: str
    build: Builder
    kept: tuple[str, ...] = ("G1", "G2")
    rejects: tuple[tuple[int, int, str], ...] = ()
    error: str = ""
    duplicates: int = 0
    blank: int = 0


def good(docid: str, title: str = "좋은 기록") -> bytes:
    """Return the line of a good record."""
    return json.dumps({"CN": docid, "title": title, "abstract": "잃어서는 안 되는 초록."}, ensure_ascii=False).encode()


G1, G2 = good("G1"), good("G2")
SECOND = len(G1) + 1
"""Where the second line begins."""


def _record(**fields: object) -> bytes:
    return json.dumps({"CN": "B", "title": "제목", "abstract": "초록."} | fields).encode()


def _files(*contents: bytes, names: tuple[str, ...] = ()) -> Builder:
    def build(folder: Path) -> list[Path]:
        paths = [folder / (names[n] if names else f"{n}.jsonl") for n in range(len(contents))]
        for path, content in zip(paths, contents, strict=True):
            path.write_bytes(content)
        return paths

    return build


def _between(line: bytes) -> Builder:
    return _files(b"\n".join((G1, line, G2)) + b"\n")


def _bad(name: str, line: bytes, reason: str) -> Case:
    return Case(name, _between(line), rejects=((2, SECOND, reason),))


def _kept(name: str, line: bytes, docid: str = "B") -> Case:
    return Case(name, _between(line), kept=("G1", docid, "G2"))


BAD_LINES = [
    _bad("invalid UTF-8", b'{"CN": "B", "title": "\xff\xfe"}', r"not UTF-8: byte 0xff at position 22"),
    _bad("another encoding", '{"CN": "B", "title": "한글"}'.encode("cp949"), "not UTF-8"),
    _bad("overlong UTF-8", b'{"CN": "B", "title": "\xc0\xaf"}', "not UTF-8"),
    _bad("a surrogate as UTF-8", b'{"CN": "B", "title": "\xed\xa0\x80"}', "not UTF-8"),
    _bad("a lone escaped surrogate", b'{"CN": "B", "title": "\\ud83d"}', "not a JSON object"),
    _bad("a raw NUL", b'{"CN": "B", "title": "\x00"}', "not a JSON object"),
    _bad("a line of NULs", b"\x00" * 4096, "not a JSON object"),
    _bad("a mark of byte order inside", b"\xef\xbb\xbf" + _record(), "not a JSON object"),
    _bad("a line cut off", b'{"CN": "B", "title": "cu', "not a JSON object"),
    _bad("something behind the object", _record() + b" x", "not a JSON object"),
    _bad("two objects on a line", _record() + _record(), "not a JSON object"),
    _bad("single quotes", b"{'CN': 'B', 'title': 'x'}", "not a JSON object"),
    _bad("a comment", b"# CN, title", "not a JSON object"),
    _bad("a list", b"[" + _record() + b"]", "not a JSON object"),
    _bad("null", b"null", "not a JSON object"),
    _bad("a number", b"1", "not a JSON object"),
    _bad("a text", b'"CN"', "not a JSON object"),
    _bad("NaN", b'{"CN": "B", "title": "x", "year": NaN}', "not a JSON object"),
    _bad("a key twice", b'{"CN": "B", "title": "a", "title": "b"}', "the key 'title' occurs more than once"),
    _bad("an identifier twice", b'{"CN": "A", "title": "a", "CN": "B"}', "the key 'CN' occurs more than once"),
    _bad("nested too deeply", b'{"CN":' + b'{"a":' * 9_000 + b"1" + b"}" * 9_001, "not a JSON object"),
    _bad("lists nested too deeply", b'{"CN":"B","title":' + b"[" * 99_999, "not a JSON object"),
    _bad("a line without an end", b'{"CN": "B", "title": "' + b"x" * (16 * 2**20), "longer than"),
    _bad("no identifier", b'{"title": "x"}', "no identifier"),
    _bad("an identifier of null", _record(CN=None), "no identifier"),
    _bad("an empty identifier", _record(CN=""), "no identifier"),
    _bad("a blank identifier", _record(CN=" \t "), "no identifier"),
    _bad("a list as identifier", _record(CN=["B"]), "'CN' is a list"),
    _bad("an object as identifier", _record(CN={"id": 1}), "'CN' is an object"),
    _bad("true as identifier", _record(CN=True), "'CN' is true or false"),
    _bad("an identifier with a space", _record(CN="A B"), "whitespace or control"),
    _bad("an identifier with a tab", _record(CN="A\tB"), "whitespace or control"),
    _bad("an identifier with a newline", _record(CN="A\nB"), "whitespace or control"),
    _bad("an identifier with a NUL", _record(CN="A\x00B"), "whitespace or control"),
    _bad("an identifier with a hard space", _record(CN="A\u00a0B"), "whitespace or control"),
    _bad("an identifier with a zero-width space", _record(CN="A\u200bB"), "whitespace or control"),
    _bad("an identifier written backwards", _record(CN="A\u202eB"), "whitespace or control"),
    _bad("an identifier of 4 KB", _record(CN="x" * 4096), "has 4096 characters"),
    _bad("neither title nor abstract", b'{"CN": "B"}', "neither a title nor an abstract"),
    _bad("title and abstract of null", _record(title=None, abstract=None), "neither a title nor an abstract"),
    _bad("title and abstract that say there is none", _record(title="(없음)", abstract="N/A"), "neither a title"),
    _bad("title and abstract of mark-up alone", _record(title="<p> </p>", abstract="&nbsp;"), "neither a title"),
    _bad("a list as title", _record(title=["a", "b"]), "'title' is a list"),
    _bad("an object as title", _record(title={"ko": "a"}), "'title' is an object"),
    _bad("a list as abstract", _record(abstract=["a"]), "'abstract' is a list"),
    _bad("false as abstract", _record(abstract=False), "'abstract' is true or false"),
]

ODD_BUT_GOOD = [
    _kept("decomposed Hangul", _record(title=unicodedata.normalize("NFD", "분해된 한글"))),
    _kept("half-width and compatibility jamo", _record(title="ﾡﾢ ㄱㄴ ᄀ")),
    _kept("controls of direction and width", _record(title="\u202e뒤\u200b집\u2066힌\u2069 글\ufeff")),
    _kept("an escaped NUL", _record(title="a\x00b")),
    _kept(
        "HTML and a script", _record(title="<script>alert(1)</script>", abstract="<b>굵은</b> <img src=x onerror=y>")
    ),
    _kept("a formula", _record(title="{{7*7}} ${jndi:ldap://x} '; DROP TABLE seen; --")),
    _kept(
        "other line separators", _record(title="가\u2028나\u0085다\x0b라\x0c마").replace(b"\\u2028", "\u2028".encode())
    ),
    _kept("numbers as text", b'{"CN": 20240101, "title": 42, "abstract": 0.5, "year": 2024}', "20240101"),
    _kept("a year out of bounds", _record(year=10**30)),
    _kept("nested objects beside the fields", _record(extra={"a": [{"b": None}] * 99})),
    _kept("an empty abstract", _record(abstract="")),
    _kept("a title of null", _record(title=None)),
    _kept("an identifier like a path", _record(CN="../../etc/passwd"), "../../etc/passwd"),
    _kept("an identifier of signs", _record(CN="a/b#1%00;'\"<x>"), "a/b#1%00;'\"<x>"),
    _kept("an identifier like an option", _record(CN="--force"), "--force"),
    _kept("an identifier in Hangul, decomposed", _record(CN=unicodedata.normalize("NFD", "가나")), "가나"),
    _kept("an identifier of 512 characters", _record(CN="가" * 512), "가" * 512),
    _kept("spaces around an identifier", _record(CN=" B\n")),
    _kept("a document of 10 MB", _record(abstract="아주 긴 초록이다. " * 500_000).decode("unicode_escape").encode()),
    _kept("a token of 1 MB", _record(abstract="a" * 2**20)),
]


def _gz(data: bytes) -> bytes:
    return gzip.compress(data, 6, mtime=0)


TWO = b"\n".join((G1, G2)) + b"\n"
MANY = b"\n".join(good(f"D{n}", random.Random(n).randbytes(9).hex()) for n in range(3_000)) + b"\n"


def _flipped(data: bytes, place: float) -> bytes:
    at = int(len(data) * place)
    return data[:at] + bytes([data[at] ^ 16]) + data[at + 1 :]


def _zip() -> bytes:
    stream = io.BytesIO()
    with zipfile.ZipFile(stream, "w") as archive:
        archive.writestr("records.jsonl", TWO)
    return stream.getvalue()


WHOLE_FILES = [
    Case("carriage returns", _files(b"\r\n".join((G1, b"", G2)) + b"\r\n"), blank=1),
    Case("no newline at the end", _files(G1 + b"\n" + G2)),
    Case("blank lines", _files(b"\n \n".join((b"", G1, G2, b"\t\n"))), blank=5),
    Case("a mark of byte order", _files(b"\xef\xbb\xbf" + TWO)),
    Case("UTF-16", _files(TWO.decode().encode("utf-16"))),
    Case("UTF-16, big end first", _files(b"\xfe\xff" + TWO.decode().encode("utf-16-be"))),
    Case("UTF-16 cut in a character", _files(TWO.decode().encode("utf-16")[:-1]), error="is damaged UTF-16"),
    Case("CP949", _files(TWO.decode().encode("cp949"))),
    Case("UTF-32", _files(TWO.decode().encode("utf-32")), error="is UTF-32: convert it to UTF-8"),
    Case("UTF-32, big end first", _files(b"\0\0\xfe\xff" + TWO.decode().encode("utf-32-be")), error="is UTF-32"),
    Case("a column twice", _files(b"CN,title,title\nA,a,b\n", names=("0.csv",)), error="more than one column 'title'"),
    Case("an empty file", _files(b""), error="No record was found"),
    Case("an empty file beside a good one", _files(b"", TWO)),
    Case("a file of newlines", _files(b"\n" * 10_000, TWO), blank=10_000),
    Case("an identical record twice", _files(G1 + b"\n" + TWO), duplicates=1),
    Case("an identical record in two files", _files(TWO, G1), duplicates=1),
    Case(
        "identifiers that differ by normal form",
        _files(TWO, good("가"), good("가")),
        kept=("G1", "G2", "가"),
        duplicates=1,
    ),
    Case("identifiers that differ by a space", _files(TWO, good(" G1 ")), duplicates=1),
    Case(
        "one identifier, two contents",
        _files(TWO + good("G1", "다른 제목")),
        error=r"1 of 3 lines .* G1, in .*0\.jsonl line 1 and in .*0\.jsonl line 3",
    ),
    Case(
        "one identifier, two contents, two files",
        _files(TWO, good("G2", "다른 제목")),
        error=r"G2, in .*0\.jsonl line 2 and in .*1\.jsonl line 1",
    ),
    Case("gzip", _files(_gz(TWO), names=("0.jsonl.gz",))),
    Case("gzip of several members", _files(_gz(G1 + b"\n") + _gz(b"") + _gz(G2), names=("0.jsonl.gz",))),
    Case("gzip without its name", _files(_gz(TWO))),
    Case("a name of gzip without it", _files(TWO, names=("0.jsonl.gz",))),
    Case("gzip of nothing", _files(_gz(b""), TWO, names=("0.jsonl.gz", "1.jsonl"))),
    Case("gzip cut in half", _files(_gz(MANY)[: len(_gz(MANY)) // 2], TWO), error=r"0\.jsonl is damaged gzip"),
    Case("gzip without its last byte", _files(_gz(MANY)[:-1]), error="is damaged gzip"),
    Case("gzip with a wrong checksum", _files(_flipped(_gz(MANY), 0.99999)), error="is damaged gzip"),
    Case("gzip with a flipped bit", _files(_flipped(_gz(MANY), 0.5)), error="is damaged gzip"),
    Case("gzip with rubbish behind it", _files(_gz(TWO) + b"rubbish"), error="is damaged gzip"),
    Case("a header of gzip alone", _files(b"\x1f\x8b", TWO), error="is damaged gzip"),
    Case("gzip of gzip", _files(_gz(_gz(TWO)), TWO), error="gzip inside gzip"),
    Case("a zip archive", _files(_zip(), TWO), error=r"lines are not records"),
    Case("random bytes", _files(b"{" + random.Random(5).randbytes(5_000), TWO), error="lines are not records"),
]


def _link(target: str) -> Builder:
    def build(folder: Path) -> list[Path]:
        (folder / "0.jsonl").write_bytes(TWO)
        (folder / "1.jsonl").symlink_to(target)
        return [folder]

    return build


def _special(make: Callable[[Path], object]) -> Builder:
    def build(folder: Path) -> list[Path]:
        (folder / "0.jsonl").write_bytes(TWO)
        make(folder / "1.jsonl")
        return [folder]

    return build


def _socket(path: Path) -> None:
    here = Path.cwd()
    os.chdir(path.parent)  # a socket's path may have a hundred characters
    try:
        with socket.socket(socket.AF_UNIX) as opened:
            opened.bind(path.name)
    finally:
        os.chdir(here)


def _parent_link(folder: Path) -> list[Path]:
    (folder / "0.jsonl").write_bytes(TWO)
    (folder / "loop").symlink_to(folder)
    return [folder]


def _same_twice(folder: Path) -> list[Path]:
    path = _files(TWO)(folder)[0]
    return [path, path]


def _linked_twice(folder: Path) -> list[Path]:
    (folder / "0.jsonl").write_bytes(TWO)
    (folder / "1.jsonl").symlink_to("0.jsonl")
    return [folder]


def _named(name: bytes) -> Builder:
    def build(folder: Path) -> list[Path]:
        path = Path(os.fsdecode(os.fsencode(folder) + b"/" + name))
        path.write_bytes(TWO + b"{broken")
        return [path]

    return build


def _no_files(folder: Path) -> list[Path]:
    return [folder]


def _missing(folder: Path) -> list[Path]:
    return [folder / "0.jsonl"]


def _forbidden(path: Path) -> None:
    path.write_bytes(G1)
    path.chmod(0)


def _bomb(piece: bytes, mebibytes: int) -> Builder:
    stream = io.BytesIO()
    with gzip.GzipFile(fileobj=stream, mode="wb", compresslevel=9, mtime=0) as packed:
        for _ in range(mebibytes):
            packed.write(piece * (2**20 // len(piece)))
    return _files(stream.getvalue(), TWO)


FOLDERS = [
    Case("a folder of nothing", _no_files, error="holds no scienceon file"),
    Case("no file", _missing, error="does not exist"),
    Case("a link to itself", _link("1.jsonl"), error=r"1\.jsonl"),
    Case("a link to nothing", _link("gone.jsonl"), error=r"1\.jsonl does not exist"),
    Case("a device", _link("/dev/zero"), error="is not a regular file"),
    Case("a pipe", _special(os.mkfifo), error="is not a regular file"),
    Case("a socket", _special(_socket), error="is not a regular file"),
    Case("a folder named like a file", _special(Path.mkdir), error="is not a regular file"),
    Case("a file that may not be read", _special(_forbidden), error="cannot be read"),
    Case("a link to the folder itself", _parent_link),
    Case("a file named twice", _same_twice, error="named twice"),
    Case("a file and a link to it", _linked_twice, duplicates=2),
    Case("a name with a newline", _named(b"a\nb.jsonl"), rejects=((3, len(TWO), "not a JSON object"),)),
    Case("a name that is not UTF-8", _named(b"a\xff.jsonl"), rejects=((3, len(TWO), "not a JSON object"),)),
    Case("a name of an option", _named(b"--x.jsonl"), rejects=((3, len(TWO), "not a JSON object"),)),
]

BOMBS = [
    Case("a bomb of zeros", _bomb(b"\x00" * 2**20, 200), error="bomb"),
    Case("a small bomb of newlines", _bomb(b"\n" * 2**20, 1), blank=2**20),
]

CASES = [*BAD_LINES, *ODD_BUT_GOOD, *WHOLE_FILES, *FOLDERS, *BOMBS]
