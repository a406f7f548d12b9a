from __future__ import annotations

import gzip
import hashlib
import json
import os
from pathlib import Path

import pytest

from shrag.corpora.errors import CorpusError, TooManyRejectedLines
from shrag.corpora.files import lock_folder
from shrag.corpora.ingest.add import add_corpus
from shrag.corpora.store.manifest import MANIFEST_FILE, read_previous
from shrag.corpora.store.open_corpus import FAILED_REJECTS, open_corpus, stored_rejects

GOOD = '{"CN": "A1", "title": "가", "abstract": "초록 하나."}'
OTHER = '{"CN": "A2", "title": "나", "abstract": "초록 둘."}'


def _source(folder: Path, *lines: str | bytes, name: str = "records.jsonl") -> Path:
    path = folder / name
    path.write_bytes(b"\n".join(line.encode() if isinstance(line, str) else line for line in lines) + b"\n")
    return path


def test_every_line_read_is_accounted_for(tmp_path: Path) -> None:
    source = _source(tmp_path, GOOD, "", OTHER, GOOD, "{broken", '{"CN": "A3"}', "   ")
    manifest = add_corpus(tmp_path, "c", "scienceon", [source], max_rejects=2).manifest
    (account,) = manifest.sources
    assert (account.lines, account.records, account.rejected, account.duplicates, account.blank) == (7, 2, 2, 1, 2)
    assert account.sha256 == hashlib.sha256(source.read_bytes()).hexdigest()
    before = len("\n".join([GOOD, "", OTHER, GOOD, ""]).encode())
    rejects = list(stored_rejects(tmp_path, "c"))
    assert [(reject.line, reject.offset) for reject in rejects] == [(5, before), (6, before + len("{broken\n"))]
    assert {reject.file for reject in rejects} == {str(source)}
    assert "not a JSON object" in rejects[0].reason
    assert "neither a title nor an abstract" in rejects[1].reason


def test_records_come_back_as_they_went_in(tmp_path: Path) -> None:
    lines = [
        json.dumps({"CN": f"D{n}", "title": f"제목 {n}", "abstract": "가" * (n % 7), "year": 2000 + n % 9})
        for n in range(5000)
    ]
    manifest = add_corpus(tmp_path, "c", "scienceon", [_source(tmp_path, *lines)]).manifest
    stored, records = open_corpus(tmp_path, "c")
    found = list(records)
    assert stored == manifest
    assert [record.docid for record in found] == [f"D{n}" for n in range(5000)]
    assert found[8].year == 2008
    assert manifest.records == 5000
    assert manifest.complete == sum(record.complete for record in found) == 4285


def test_the_fingerprint_is_of_the_records_and_their_order(tmp_path: Path) -> None:
    def fingerprint(*lines: str) -> str:
        return add_corpus(tmp_path, "c", "scienceon", [_source(tmp_path, *lines)], replace=True).manifest.fingerprint

    first = fingerprint(GOOD, OTHER)
    assert fingerprint(GOOD, "", OTHER, GOOD) == first
    assert fingerprint(OTHER, GOOD) != first
    assert fingerprint(GOOD) != first


@pytest.mark.parametrize(
    ("line", "reason"),
    [
        ("not json", "not a JSON object"),
        ("[1, 2]", "not a JSON object"),
        ("null", "not a JSON object"),
        ('{"CN": "A9", "title": "잘린', "not a JSON object"),
        ('{"a":' * 5000 + "1" + "}" * 5000, "not a JSON object"),
        ('{"CN": "A9", "title": "\\ud800"}', "not a JSON object"),
        (b'{"CN": "A9", "title": "\xb1\xd7"}', "not UTF-8: byte 0xb1 at position 23"),
        ('{"title": "이름 없는 기록"}', "no identifier"),
        ('{"CN": "A9"}', "neither a title nor an abstract"),
    ],
)
def test_a_bad_line_stops_the_addition_unless_it_is_allowed_and_costs_no_good_record(
    tmp_path: Path, line: str | bytes, reason: str
) -> None:
    source = _source(tmp_path, GOOD, line, OTHER)
    with pytest.raises(TooManyRejectedLines, match=rf"1 of 3 lines .* line 2: .*{reason}.*--max-rejects 1"):
        add_corpus(tmp_path, "c", "scienceon", [source])
    assert (tmp_path / "c" / FAILED_REJECTS).read_text().count("\n") == 1
    with pytest.raises(CorpusError, match="There is no corpus 'c'"):
        open_corpus(tmp_path, "c")
    manifest = add_corpus(tmp_path, "c", "scienceon", [source], max_rejects=1).manifest
    assert [record.docid for record in open_corpus(tmp_path, "c")[1]] == ["A1", "A2"]
    assert not (tmp_path / "c" / FAILED_REJECTS).exists()
    assert manifest.sources[0].rejected == 1


def test_an_unreadable_source_leaves_the_corpus_as_it_was(tmp_path: Path) -> None:
    before = add_corpus(tmp_path, "c", "scienceon", [_source(tmp_path, GOOD, OTHER)]).manifest
    files = sorted((tmp_path / "c").iterdir())
    broken = tmp_path / "broken.jsonl.gz"
    broken.write_bytes(gzip.compress(GOOD.encode() * 999)[:-20])
    with pytest.raises(CorpusError, match="damaged gzip"):
        add_corpus(tmp_path, "c", "scienceon", [broken], max_rejects=999)
    assert open_corpus(tmp_path, "c")[0] == before
    assert sorted((tmp_path / "c").iterdir()) == files


def test_replacing_keeps_the_version_before_and_no_other(tmp_path: Path) -> None:
    add_corpus(tmp_path, "c", "scienceon", [_source(tmp_path, GOOD)])
    for lines in ((GOOD, OTHER), (OTHER,)):
        manifest = add_corpus(tmp_path, "c", "scienceon", [_source(tmp_path, *lines)], replace=True).manifest
        before = read_previous(tmp_path / "c")
        assert before is not None
        kept = {name for each in (manifest, before) for name in (each.records_file, each.rejects_file)}
        assert {path.name for path in (tmp_path / "c").iterdir()} == {".lock", MANIFEST_FILE, *kept}


def test_a_source_of_nothing_is_an_error(tmp_path: Path) -> None:
    with pytest.raises(CorpusError, match="No record was found"):
        add_corpus(tmp_path, "c", "scienceon", [_source(tmp_path, "", "")])
    assert not (tmp_path / "c" / FAILED_REJECTS).exists()


def test_a_source_of_rejects_alone_is_an_error_that_names_the_first_and_keeps_all(tmp_path: Path) -> None:
    source = _source(tmp_path, '{"CN": "A9"}', "[]")
    reason = (
        r"No record was found in .*: 2 lines were rejected \(all of them in .*\), the first is .* line 1: .*neither"
    )
    with pytest.raises(CorpusError, match=reason):
        add_corpus(tmp_path, "c", "scienceon", [source], max_rejects=2)
    assert (tmp_path / "c" / FAILED_REJECTS).read_text().count("\n") == 2


def test_names_cannot_leave_the_folder(tmp_path: Path) -> None:
    for name in ("../x", "a/b", "", ".", "A", "x" * 65, "-x", "a b", "가"):
        with pytest.raises(CorpusError, match="cannot be a name"):
            add_corpus(tmp_path, name, "scienceon", [tmp_path])


def test_two_additions_at_once_are_one_too_many(tmp_path: Path) -> None:
    with lock_folder(tmp_path / "c"), pytest.raises(CorpusError, match=r"being written by process \d+"):
        add_corpus(tmp_path, "c", "scienceon", [_source(tmp_path, GOOD)])


def test_progress_is_told(tmp_path: Path) -> None:
    told: list[tuple[str, int]] = []
    lines = [GOOD.replace("A1", f"A{n}") for n in range(2500)]
    add_corpus(tmp_path, "c", "scienceon", [_source(tmp_path, *lines)], report=lambda *what: told.append(what))
    assert told == [("lines read", 1000), ("lines read", 2000), ("lines read", 2500)]


def test_a_source_that_changes_while_it_is_read_is_refused(tmp_path: Path) -> None:
    before = add_corpus(tmp_path, "c", "scienceon", [_source(tmp_path, GOOD)]).manifest
    source = _source(tmp_path, *(GOOD.replace("A1", f"A{n}") for n in range(5000)), name="other.jsonl")

    def shrink(stage: str, done: int) -> None:
        os.truncate(source, 200_000)

    with pytest.raises(CorpusError, match=r"other\.jsonl changed while it was read"):
        add_corpus(tmp_path, "c", "scienceon", [source], max_rejects=9, report=shrink)
    assert open_corpus(tmp_path, "c")[0] == before


@pytest.mark.parametrize("way", ["written in place", "replaced"])
def test_a_source_that_changes_between_reading_and_hashing_is_refused_though_its_size_stays(
    tmp_path: Path, way: str
) -> None:
    source = _source(tmp_path, *(GOOD.replace("A1", f"A{n}") for n in range(1500)))

    def change(stage: str, done: int) -> None:
        if done == 1500:  # all lines were read
            state, data = source.stat(), source.read_bytes().replace(b"A1", b"B1")
            if way == "written in place":
                source.write_bytes(data)
            else:
                source.with_name("new").write_bytes(data)
                os.utime(source.with_name("new"), ns=(state.st_atime_ns, state.st_mtime_ns))
                source.with_name("new").replace(source)

    with pytest.raises(CorpusError, match=r"changed while it was read: wait until nothing writes to it"):
        add_corpus(tmp_path, "c", "scienceon", [source], report=change)


FAULTY = json.dumps({"CN": "F", "title": "Labels", "abstract": "Abstract Thisstudy is new.We test. Results: It works."})


def test_repairs_are_stored_and_counted_by_source(tmp_path: Path) -> None:
    manifest = add_corpus(tmp_path, "c", "scienceon", [_source(tmp_path, FAULTY)]).manifest
    assert [record.text for record in open_corpus(tmp_path, "c")[1]] == ["This study is new. We test. It works."]
    assert [account.repairs for account in manifest.sources] == [
        {"fused words": 1, "missing blanks": 1, "section labels": 2}
    ]


@pytest.mark.parametrize(
    ("format", "row", "other"),
    [
        ("scienceon", {"CN": "1", "title": "A", "year": "20l9", "ISSN": "1"}, (("year", "20l9"), ("ISSN", "1"))),
        ("table", {"id": "1", "title": "A", "발행년": "20l9", "ISSN": "1"}, (("year", "20l9"), ("ISSN", "1"))),
        ("beir", {"_id": "1", "text": "A", "metadata": {"year": "2019"}}, (("year", "2019"),)),
    ],
)
def test_years_that_cannot_be_read_are_kept_and_counted(
    tmp_path: Path, format: str, row: dict[str, object], other: tuple[tuple[str, str], ...]
) -> None:
    manifest = add_corpus(tmp_path, "c", format, [_source(tmp_path, json.dumps(row), name="corpus.jsonl")]).manifest
    assert [record.other for record in open_corpus(tmp_path, "c")[1]] == [other]
    assert manifest.sources[0].repairs == ({} if format == "beir" else {"unread years": 1})


def test_without_repair_the_text_is_stored_as_it_is(tmp_path: Path) -> None:
    source = _source(tmp_path, FAULTY)
    manifest = add_corpus(tmp_path, "c", "scienceon", [source], repair=False).manifest
    assert [record.text for record in open_corpus(tmp_path, "c")[1]] == [json.loads(FAULTY)["abstract"]]
    assert [(account.format, account.repairs) for account in manifest.sources] == [("scienceon no-repair", {})]
    merged = add_corpus(tmp_path, "c", "scienceon", [source])
    assert (merged.stored, merged.changes.changed) == (True, 1)
    again = add_corpus(tmp_path, "c", "scienceon", [source])
    assert not again.stored
    assert [account.repairs for account in again.manifest.sources][1] == {
        "fused words": 1,
        "missing blanks": 1,
        "section labels": 2,
    }
