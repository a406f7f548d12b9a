"""Files that cost too much to read, or end their reader, are rejects: the files before and after them are read."""

from __future__ import annotations

import fcntl
import os
import re
import signal
import sys
import threading
import zipfile
from collections.abc import Iterator
from contextlib import contextmanager
from itertools import chain
from pathlib import Path

import pytest

from shrag.cli.commands.corpus.adding import add
from shrag.cli.main import run
from shrag.corpora.errors import CorpusError, TooManyRejectedLines
from shrag.corpora.formats.columns import parse_columns
from shrag.corpora.formats.registry import FORMATS, table_format
from shrag.corpora.ingest.add import add_corpus
from shrag.corpora.ingest.parser import Parser, ParserLimits
from shrag.corpora.ingest.sources import preview_sources
from shrag.corpora.records import Record
from shrag.corpora.store.open_corpus import open_corpus, stored_rejects
from shrag.messages.text import in_language
from tests.support.parser_bombs import repeated_title, shared_stream_pdf, wide_json
from tests.support.realistic_files import write_xlsx

pytestmark = [pytest.mark.process, pytest.mark.slow]

MIB = 2**20
LINE = '{"CN": "%d", "title": "A title", "abstract": "This studyis new."}\n'


def _documents(folder: Path, name: str, data: bytes) -> list[Path]:
    """Write the file between two good ones."""
    paths = [folder / "0.txt", folder / name, folder / "2.txt"]
    for path, content in zip(paths, (b"A paper.\n\nIts text.", data, b"Another.\n\nIts text."), strict=True):
        path.write_bytes(content)
    return paths


BOMBS = [
    ("1.pdf", shared_stream_pdf(4_999), ParserLimits(seconds=2), "it takes more than 2 s of processor time; .*seconds"),
    ("1.json", wide_json(2 * MIB), ParserLimits(memory=160 * MIB), "it needs more than 160 MiB of memory; .*--max-mem"),
    (
        "1.json",
        repeated_title(100_000, 40),
        ParserLimits(output=MIB, output_ratio=0),
        "beyond the item on this line: it becomes more than 1 MiB of records",
    ),
]


@pytest.mark.parametrize(("name", "data", "limits", "reason"), BOMBS, ids=["time", "memory", "output"])
def test_a_file_beyond_a_limit_is_one_reject_and_the_files_around_it_are_read(
    tmp_path: Path, name: str, data: bytes, limits: ParserLimits, reason: str
) -> None:
    paths = _documents(tmp_path, name, data)
    manifest = add_corpus(tmp_path, "c", "papers", paths, limits=limits, max_rejects=1).manifest
    (reject,) = stored_rejects(tmp_path, "c")
    assert (reject.file, reject.line, reject.offset) == (str(paths[1]), 1, 0)
    assert re.search(reason, reject.reason)
    before, faulty, after = manifest.sources
    assert (before.records, before.rejected, after.records, after.rejected) == (1, 0, 1, 0)
    assert faulty.rejected == 1
    assert faulty.lines == faulty.records + 1
    assert (faulty.bytes, len(faulty.sha256)) == (len(data), 64)
    docids = [record.docid for record in open_corpus(tmp_path, "c")[1]]
    assert docids == ["0#0", *(f"p#{number}" for number in range(faulty.records)), "2#0"]


def _spreadsheet_with_a_stray_cell(path: Path) -> bytes:
    """Return a spreadsheet with a cell in the last row and column that there are; the cells between need 400 GB."""
    with zipfile.ZipFile(write_xlsx(path)) as archive:
        parts = {name: archive.read(name) for name in archive.namelist()}
    sheet = "xl/worksheets/sheet1.xml"
    cell = b'<row r="1048576"><c r="XFD1048576" t="inlineStr"><is><t>x</t></is></c></row></sheetData>'
    parts[sheet] = parts[sheet].replace(b"</sheetData>", cell)
    with zipfile.ZipFile(path, "w") as archive:
        for name, data in parts.items():
            archive.writestr(name, data)
    return path.read_bytes()


@pytest.mark.parametrize("format", [None, "table"])
def test_a_file_that_ends_the_process_that_looks_for_its_format_is_one_reject(
    tmp_path: Path, format: str | None
) -> None:
    stray = _spreadsheet_with_a_stray_cell(tmp_path / "stray.xlsx")
    paths = [tmp_path / name for name in ("0.csv", "1.xlsx", "2.csv")]
    for path, data in zip(paths, (b"id,title\na,A\n", stray, b"id,title\nb,B\n"), strict=True):
        path.write_bytes(data)
    with pytest.raises(TooManyRejectedLines, match=r"1\.xlsx line 1: the file was not read: .* ended by SIGABRT"):
        add_corpus(tmp_path, "c", format, paths)
    manifest = add_corpus(tmp_path, "c", format, paths, max_rejects=1).manifest
    assert [(source.records, source.rejected) for source in manifest.sources] == [(1, 0), (0, 1), (1, 0)]
    assert manifest.sources[1].bytes == len(stray)
    (reject,) = stored_rejects(tmp_path, "c")
    assert reject.reason.startswith(
        "the file was not read: the process that read it was ended by SIGABRT: the file may"
    )
    previews = list(preview_sources(format, paths))
    assert [(len(preview.records), len(preview.rejects)) for preview in previews] == [(1, 0), (0, 1), (1, 0)]


UNREADABLE = [
    ("scienceon", "a.csv", b"CN,title\n1,2,3\n", "1번째 행: 칸이 3개인데 머리글은 2개입니다"),
    ("scienceon", "a.csv", b"CN,title\n\xff,2\n", "1번째 행: UTF-8도 CP949도 아닙니다"),
    ("scienceon", "a.jsonl", b"[1]\n", "JSON 객체가 아닙니다: Expected `object`, got `array`"),
    ("scienceon", "a.jsonl", b'{"CN": 1, "CN": 2}\n', "한 객체에 'CN' 키가 두 번 이상 나옵니다. 하나만 남겨 주세요"),
    ("scienceon", "a.json", b'[{"a": 1}, 2]', "2번째 요소: JSON 객체가 아닙니다: Expected `object`, got `int`"),
    ("scienceon", "a.jsonl", b'{"CN": ["a"]}\n', "'CN'의 값이 목록입니다. 텍스트여야 합니다"),
    ("ris", "a.ris", b"TY  - JOUR\n", "서지가 ER로 끝나지 않습니다"),
    ("ris", "a.ris", b"loose\n", "TY와 ER 사이가 아닌 곳에 글자가 있습니다"),
    ("bibtex", "a.bib", b"@article{a, title = {open\n", "BibTeX 항목이 아닙니다: "),
    ("papers", "a.txt", b" ", "논문 a: 참고문헌, 감사의 글, 부록을 빼면 본문이 없습니다"),
]


@pytest.mark.parametrize(("format", "name", "data", "korean"), UNREADABLE)
def test_the_reason_of_a_reject_can_be_shown_in_korean(
    tmp_path: Path, format: str, name: str, data: bytes, korean: str
) -> None:
    path = tmp_path / name
    path.write_bytes(data)
    with Parser(ParserLimits()) as parser:
        items = [item for batch in parser.read(path, FORMATS[format], repair=False) for item in batch.items]
    reasons = [item.outcome for item in items if isinstance(item.outcome, str)]
    assert korean in in_language(reasons[-1], "ko")
    with pytest.raises(TooManyRejectedLines) as failed:
        add_corpus(tmp_path, "c", format, [path])
    assert in_language(reasons[0], "ko") in in_language(failed.value, "ko")


def test_the_reason_of_a_file_beyond_a_limit_can_be_shown_in_korean(tmp_path: Path) -> None:
    path = tmp_path / "a.json"
    path.write_bytes(repeated_title(100_000, 40))
    with Parser(ParserLimits(output=MIB, output_ratio=0)) as parser:
        items = [item for batch in parser.read(path, FORMATS["papers"], repair=False) for item in batch.items]
    shown = "이 줄의 항목까지만 파일을 읽었습니다: 문헌으로 바꾸면 1MiB보다 커집니다"
    assert in_language(items[-1].outcome, "ko") == shown


def test_time_and_output_grow_with_the_file() -> None:
    limits = ParserLimits()
    assert [limits.file_seconds(size) for size in (0, MIB, 100 * MIB)] == [120, 130, 1_120]
    assert [limits.file_output(size) // MIB for size in (0, MIB, 100 * MIB)] == [256, 320, 6_656]


def test_a_small_pdf_needs_little_memory(tmp_path: Path) -> None:
    path = tmp_path / "a.pdf"
    path.write_bytes(shared_stream_pdf(3, 20))
    with Parser(ParserLimits(memory=128 * MIB)) as parser:
        ((items, _),) = parser.read(path, FORMATS["papers"], repair=True)
    assert [type(item.outcome) for item in items] == [Record]


def test_a_reader_that_is_killed_ends_its_file_at_the_last_line_received_and_another_takes_its_place(
    tmp_path: Path,
) -> None:
    path = tmp_path / "a.jsonl"
    path.write_text("".join(LINE % number for number in range(5_000)))
    with Parser(ParserLimits()) as parser:
        batches = parser.read(path, FORMATS["scienceon"], repair=True)
        items = [*next(batches).items]
        assert parser._worker is not None
        parser._worker.process.send_signal(signal.SIGSEGV)
        items.extend(chain.from_iterable(batch.items for batch in batches))
        *records, last = items
        assert [item.number for item in records] == list(range(1, len(records) + 1))
        assert all(isinstance(item.outcome, Record) for item in records)
        assert len(records) < 5_000
        assert (last.number, last.offset) == (records[-1].number, records[-1].offset)
        assert isinstance(last.outcome, str)
        assert "the process that read it was ended by SIGSEGV: the file may be damaged" in last.outcome
        whole = list(parser.read(path, FORMATS["scienceon"], repair=True))
    assert sum(len(batch.items) for batch in whole) == 5_000
    assert sum(batch.repairs["fused words"] for batch in whole) == 5_000


def test_one_reader_reads_many_files_with_the_columns_of_the_user(tmp_path: Path) -> None:
    with Parser(ParserLimits()) as parser:
        readers = set()
        for number in range(3):
            path = tmp_path / f"{number}.jsonl"
            path.write_text(f'{{"n": {number}, "t": "A title", "text": "studyis"}}\n')
            ((items, _),) = parser.read(path, table_format(parse_columns(["id=n", "title=t"])), repair=False)
            assert [item.outcome for item in items] == [Record(str(number), "A title", "studyis", "en", True)]
            assert parser._worker is not None
            readers.add(parser._worker.process.pid)
    assert len(readers) == 1


def test_the_reason_of_a_reject_is_no_longer_than_500_characters(tmp_path: Path) -> None:
    with Parser(ParserLimits()) as parser:
        *_, ((item,), _) = parser.read(tmp_path / ("x" * 900), FORMATS["papers"], repair=False)
    assert isinstance(item.outcome, str)
    said, reason = item.outcome[:23], item.outcome[23:]
    assert said == "the file was not read: "
    assert reason.startswith(f"OSError: [Errno 36] File name too long: '{tmp_path}/xxx")
    assert len(reason) == 500


@contextmanager
def _blocked(path: Path) -> Iterator[None]:
    """Let other processes that open a file wait, by a lease of this one."""
    earlier = signal.signal(signal.SIGIO, signal.SIG_IGN)  # tells the holder that another process waits
    with path.open("rb+") as stream:
        fcntl.fcntl(stream, fcntl.F_SETLEASE, fcntl.F_WRLCK)
        try:
            yield
        finally:
            fcntl.fcntl(stream, fcntl.F_SETLEASE, fcntl.F_UNLCK)
    signal.signal(signal.SIGIO, earlier)


def test_a_file_whose_data_never_come_is_given_up(tmp_path: Path) -> None:
    path = tmp_path / "a.jsonl"
    path.write_text(LINE % 1)
    with Parser(ParserLimits(seconds=0.06)) as parser, _blocked(path):
        ((items, _), *_) = [batch for batch in parser.read(path, FORMATS["scienceon"], repair=True) if batch.items]
    assert [item.outcome for item in items] == [
        "the file was not read: the process that read it waited more than 3 s for its data"
    ]


def test_a_pipe_is_refused_though_a_writer_waits_for_its_reader(tmp_path: Path) -> None:
    pipe = tmp_path / "a.jsonl"
    os.mkfifo(pipe)
    opened = threading.Event()

    def write() -> None:
        os.close(os.open(pipe, os.O_WRONLY))
        opened.set()

    writer = threading.Thread(target=write)
    writer.start()
    try:
        with pytest.raises(CorpusError, match=r"a\.jsonl is not a regular file: pipes and devices"):
            add_corpus(tmp_path, "c", "scienceon", [tmp_path])
        assert not opened.is_set()
    finally:
        os.close(os.open(pipe, os.O_RDONLY))
        writer.join()


def test_the_error_of_a_file_whose_name_is_not_utf_8_has_its_name(tmp_path: Path) -> None:
    path = Path(os.fsdecode(os.fsencode(tmp_path) + b"/\xff.jsonl"))
    path.write_bytes('{"CN": "1"}'.encode("utf-32"))
    with pytest.raises(CorpusError) as caught:
        add_corpus(tmp_path, "c", "scienceon", [path])
    assert str(caught.value).startswith(f"{path} is UTF-32")


def test_the_limits_are_options_of_the_command(
    tmp_path: Path, own_home: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    defaults = {option.name: option.default for option in add.params}
    assert defaults["max_seconds"] == ParserLimits().seconds
    assert defaults["max_memory"] == ParserLimits().memory // MIB
    path = tmp_path / "a.pdf"
    path.write_bytes(shared_stream_pdf(4_999))
    assert run(["corpus", "add", "c", "--format", "papers", "--max-seconds", "1", str(path)]) == 3
    assert "more than 1 s of processor time; allow more with --max-seconds" in capsys.readouterr().err
    (tmp_path / "b.json").write_bytes(wide_json(2 * MIB))
    command = ["corpus", "add", "c", "--format", "scienceon", "--max-memory", "160", str(tmp_path / "b.json")]
    assert run(command) == 3
    assert "it needs more than 160 MiB of memory; allow more with --max-memory" in capsys.readouterr().err


@pytest.mark.parametrize("limit", [("--max-seconds", "604801"), ("--max-memory", "1048577")])
def test_a_limit_that_the_system_may_not_take_is_refused(
    own_home: Path, limit: tuple[str, str], capsys: pytest.CaptureFixture[str]
) -> None:
    assert run(["corpus", "add", "c", "a.jsonl", *limit]) == 2
    assert f"Invalid value for '{limit[0]}': {limit[1]} is not in the range" in capsys.readouterr().err


def test_a_time_that_the_system_does_not_take_is_the_reason_of_a_reject(tmp_path: Path) -> None:
    path = tmp_path / "a.jsonl"
    path.write_text(LINE % 1)
    with Parser(ParserLimits(seconds=1e30)) as parser:
        *_, batch = parser.read(path, FORMATS["scienceon"], repair=True)
    (item,) = batch.items
    assert str(item.outcome).startswith("the file was not read: OverflowError: ")


@pytest.mark.parametrize("sent", [rb"\xa3a\xffb", rb"\xc1", rb"\x01"])
def test_a_reader_that_sends_what_cannot_be_decoded_leaves_the_corpus_as_it_was(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, sent: bytes
) -> None:
    source = tmp_path / "records.jsonl"
    source.write_text(LINE % 1, encoding="utf-8")
    add_corpus(tmp_path / "corpora", "c", "scienceon", [source])
    before, _ = open_corpus(tmp_path / "corpora", "c")
    program = f"""
import struct, sys
import msgspec
from shrag.corpora.ingest.parser import ParsedBatch, send_message
send_message(sys.stdout.buffer, msgspec.msgpack.encode(ParsedBatch()))
sys.stdin.buffer.read(1)
send_message(sys.stdout.buffer, b"{sent.decode()}")
"""
    monkeypatch.setattr("shrag.corpora.ingest.parser.COMMAND", (sys.executable, "-c", program))
    more = tmp_path / "more.jsonl"
    more.write_text(LINE % 2, encoding="utf-8")
    with pytest.raises(
        CorpusError, match=r"^The process that reads files sent data that cannot be decoded \(.+\): run it again"
    ):
        add_corpus(tmp_path / "corpora", "c", "scienceon", [more], limits=ParserLimits(seconds=100))
    assert open_corpus(tmp_path / "corpora", "c")[0] == before
