"""Files that are small and cost much to read, and cuts of whole ones: PDF, XML, gzip, JSON and Parquet, from a seed."""

from __future__ import annotations

import gzip
import json
import random
import zlib
from collections.abc import Callable, Iterator
from typing import NamedTuple


class Bomb(NamedTuple):
    """A file to add: its kind, its format on the command line, and its name."""

    kind: str
    format: str
    name: str
    data: bytes


def pdf_of(objects: list[bytes]) -> bytes:
    """Return a PDF of these objects, of which the first is the catalogue."""
    out, places = bytearray(b"%PDF-1.7\n"), []
    for number, body in enumerate(objects, 1):
        places.append(len(out))
        out += b"%d 0 obj\n%s\nendobj\n" % (number, body)
    start = len(out)
    out += b"xref\n0 %d\n0000000000 65535 f \n" % (len(objects) + 1)
    out += b"".join(b"%010d 00000 n \n" % place for place in places)
    out += b"trailer << /Size %d /Root 1 0 R >>\nstartxref\n%d\n%%%%EOF" % (len(objects) + 1, start)
    return bytes(out)


def stream(data: bytes, times: int = 1) -> bytes:
    """Return a stream that is compressed as often as given."""
    for _ in range(times):
        data = zlib.compress(data, 9)
    return b"<< /Length %d /Filter [%s] >>\nstream\n%s\nendstream" % (len(data), b"/FlateDecode " * times, data)


def shared_stream_pdf(pages: int, lines: int = 200, words: bytes = b"(a word) Tj 0 -1 Td\n") -> bytes:
    """Return a PDF whose pages are one object, listed again and again."""
    return pdf_of(
        [
            b"<< /Type /Catalog /Pages 2 0 R >>",
            b"<< /Type /Pages /Kids [%s] /Count %d >>" % (b"3 0 R " * pages, pages),
            b"<< /Type /Page /Parent 2 0 R /MediaBox [0 0 9 9] /Contents 4 0 R"
            b" /Resources << /Font << /F 5 0 R >> >> >>",
            stream(b"BT /F 9 Tf\n" + words * lines + b"ET"),
            b"<< /Type /Font /Subtype /Type1 /BaseFont /Helvetica >>",
        ]
    )


def wide_json(elements: int) -> bytes:
    """Return a line of JSON that takes fifty times its size in memory."""
    return b'{"CN": "W", "title": "w", "x": [' + b"[]," * elements + b"[]]}\n"


def repeated_title(title: int, chunks: int) -> bytes:
    """Return a paper whose title, of so many characters, is repeated in each chunk."""
    text = " ".join(f"This is sentence {number} of a text." for number in range(chunks * 40))
    return json.dumps({"paper_id": "p", "title": "t" * title, "text": text}).encode()


def damaged(seed: int, whole: bytes) -> bytes:
    """Return a file that is cut, has another byte, or has others inserted."""
    return _damaged(random.Random(seed), whole)


def bombs(count: int, seed: int, parquet: bytes) -> Iterator[Bomb]:
    """Yield files of all kinds in turn; ``parquet`` is a Parquet file to cut."""
    chance = random.Random(seed)
    for number in range(count):
        kind, make = _KINDS[number % len(_KINDS)]
        format, name, data = make(chance, parquet)
        yield Bomb(kind, format, name, data)


_Made = tuple[str, str, bytes]


def _deep_pages(chance: random.Random, _: bytes) -> _Made:
    depth = chance.choice([50, 900, 20_000])
    nodes = [b"<< /Type /Pages /Kids [%d 0 R] /Count 1 >>" % (number + 3) for number in range(depth)]
    return "papers", "a.pdf", pdf_of([b"<< /Type /Catalog /Pages 2 0 R >>", *nodes, b"<< /Type /Page >>"])


def _circular_pages(chance: random.Random, _: bytes) -> _Made:
    kids = b"2 0 R " * chance.choice([1, 2, 40])
    return (
        "papers",
        "a.pdf",
        pdf_of([b"<< /Type /Catalog /Pages 2 0 R >>", b"<< /Type /Pages /Kids [%s] /Count 9 >>" % kids]),
    )


def _shared_stream(chance: random.Random, _: bytes) -> _Made:
    return "papers", "a.pdf", shared_stream_pdf(chance.choice([10, 900, 4_999, 50_000]), chance.choice([2, 200, 9_000]))


def _swollen_stream(chance: random.Random, _: bytes) -> _Made:
    content = stream(b"BT (a) Tj ET " * chance.choice([10**5, 10**6, 10**7]), chance.choice([1, 2, 5]))
    return (
        "papers",
        "a.pdf",
        pdf_of(
            [
                b"<< /Type /Catalog /Pages 2 0 R >>",
                b"<< /Type /Pages /Kids [3 0 R] /Count 1 >>",
                b"<< /Type /Page /Parent 2 0 R /MediaBox [0 0 9 9] /Contents 4 0 R >>",
                content,
            ]
        ),
    )


def _character_map(chance: random.Random, _: bytes) -> _Made:
    last = chance.choice([b"00ff", b"ffff", b"00ffffff"])
    table = b"1 begincodespacerange <0000> <ffff> endcodespacerange 1 beginbfrange <0000> <%s> <0041> endbfrange" % last
    return (
        "papers",
        "a.pdf",
        pdf_of(
            [
                b"<< /Type /Catalog /Pages 2 0 R >>",
                b"<< /Type /Pages /Kids [3 0 R] /Count 1 >>",
                b"<< /Type /Page /Parent 2 0 R /MediaBox [0 0 9 9] /Contents 4 0 R"
                b" /Resources << /Font << /F 5 0 R >> >> >>",
                stream(b"BT /F 9 Tf <00410042> Tj ET"),
                b"<< /Type /Font /Subtype /Type0 /BaseFont /X /Encoding /Identity-H /ToUnicode 6 0 R >>",
                stream(table),
            ]
        ),
    )


def _damaged_pdf(chance: random.Random, _: bytes) -> _Made:
    return "papers", "a.pdf", _damaged(chance, shared_stream_pdf(3, 20))


def _nested_xml(chance: random.Random, _: bytes) -> _Made:
    return "scienceon", "a.xml", b"<r>" + b"<record>" * chance.choice([50, 10**4, 10**6])


def _entities(chance: random.Random, _: bytes) -> _Made:
    laughs = b"".join(b'<!ENTITY l%d "%s">' % (n, b"&l%d;" % (n - 1) * 10) for n in range(1, chance.choice([5, 30])))
    return "scienceon", "a.xml", b'<!DOCTYPE r [<!ENTITY l0 "ha">%s]><r><record>&l4;</record></r>' % laughs


def _wide_xml(chance: random.Random, _: bytes) -> _Made:
    size = chance.choice([10**3, 10**6, 3 * 10**6])
    body = chance.choice(
        [
            b"<record " + b" ".join(b'a%d="x"' % n for n in range(size // 10)) + b"/>",
            b"<record><title>" + b"&#65;" * (size // 2) + b"</title></record>",
            b"<record>" + b"".join(b"<f%d>x</f%d>" % (n, n) for n in range(size // 10)) + b"</record>",
            b"<record><CN>1</CN><title>t</title></record>" * (size // 20),
        ]
    )
    return "scienceon", "a.xml", b"<r>" + body + b"</r>"


def _damaged_xml(chance: random.Random, _: bytes) -> _Made:
    whole = b"<r>" + b"".join(b"<record><CN>%d</CN><title>t %d</title></record>" % (n, n) for n in range(99)) + b"</r>"
    return "scienceon", "a.xml", _damaged(chance, whole)


def _gzip(chance: random.Random, _: bytes) -> _Made:
    piece = chance.choice([b"\0", b"\n", b'{"CN": "1", "title": "t"}\n', b"[[[[[[[[", b"1,2,3,4\n", b"<DOC></DOC>"])
    packed = gzip.compress(piece * (chance.choice([2**16, 2**24, 2**27]) // len(piece)), 9, mtime=0)
    format, suffix = chance.choice([("scienceon", "jsonl"), ("scienceon", "csv"), ("papers", "txt"), ("trec", "sgml")])
    return format, f"a.{suffix}.gz", packed


def _gzip_members(chance: random.Random, _: bytes) -> _Made:
    return "scienceon", "a.jsonl.gz", gzip.compress(chance.choice([b"", b"\n"]), mtime=0) * chance.choice([99, 99_999])


def _gzip_layers(chance: random.Random, _: bytes) -> _Made:
    data = wide_json(9)
    for _layer in range(chance.choice([2, 50])):
        data = gzip.compress(data, mtime=0)
    return "scienceon", "a.jsonl.gz", data


def _damaged_gzip(chance: random.Random, _: bytes) -> _Made:
    lines = b"".join(b'{"CN": "%d", "title": "t %d"}\n' % (n, n * n) for n in range(3_000))
    return "scienceon", "a.jsonl.gz", _damaged(chance, gzip.compress(lines, mtime=0))


def _json(chance: random.Random, _: bytes) -> _Made:
    size = chance.choice([10**2, 10**5, 4 * 10**6])
    data = chance.choice(
        [
            b'{"CN": "1", "title": ' + b"[" * size,
            b'{"CN": "1", "title": ' + b'{"a":' * size,
            b'[{"CN": "1"},' + b"," * size,
            wide_json(size),
            b'{"CN": "1", "title": "t", ' + b",".join(b'"k%d": 1' % n for n in range(size // 4)) + b"}\n",
            b'{"CN": "1", "title": "' + b"<b>&amp;$\\\\alpha_1$ " * (size // 40) + b'"}\n',
        ]
    )
    return "scienceon", "a.json", data


def _paper(chance: random.Random, _: bytes) -> _Made:
    return "papers", "a.json", repeated_title(chance.choice([10, 10**5, 10**6]), chance.choice([5, 200, 2_000]))


def _parquet(chance: random.Random, parquet: bytes) -> _Made:
    format, suffix = chance.choice([("scienceon", "jsonl"), ("scienceon", "xml"), ("papers", "pdf"), ("trec", "sgml")])
    return format, f"a.{suffix}", _damaged(chance, parquet)


def _damaged(chance: random.Random, whole: bytes) -> bytes:
    """Cut a file, change a byte of it, or insert others."""
    at = chance.randrange(1, len(whole))
    change = chance.choice(["cut", "change", "insert"])
    if change == "cut":
        return whole[:at]
    middle = chance.randbytes(1 if change == "change" else 99)
    return whole[:at] + middle + whole[at + (change == "change") :]


_KINDS: list[tuple[str, Callable[[random.Random, bytes], _Made]]] = [
    ("PDF, pages of one stream", _shared_stream),
    ("PDF, deep page tree", _deep_pages),
    ("PDF, circular page tree", _circular_pages),
    ("PDF, swollen stream", _swollen_stream),
    ("PDF, character map", _character_map),
    ("PDF, damaged", _damaged_pdf),
    ("XML, nested", _nested_xml),
    ("XML, entities", _entities),
    ("XML, wide", _wide_xml),
    ("XML, damaged", _damaged_xml),
    ("gzip, swollen", _gzip),
    ("gzip, many members", _gzip_members),
    ("gzip, in layers", _gzip_layers),
    ("gzip, damaged", _damaged_gzip),
    ("JSON, deep or wide", _json),
    ("JSON, repeated title", _paper),
    ("Parquet, damaged", _parquet),
]
