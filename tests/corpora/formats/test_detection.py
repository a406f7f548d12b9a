"""A file read as another format than its own: one sentence that says what it looks like."""

from __future__ import annotations

import gzip
import io
import json
import re
import zipfile
from pathlib import Path

import pytest

from shrag.corpora.errors import CorpusError
from shrag.corpora.formats.columns import NO_COLUMNS, Columns
from shrag.corpora.formats.detection import guess_format, inspect_file, read_source
from shrag.corpora.formats.registry import FORMATS, find_files
from tests.support.realistic_files import write_bibtex, write_ris

FILES = {
    "scienceon": json.dumps({"CN": "1", "title": "가", "abstract": "나"}),
    "miracl": json.dumps({"docid": "1#0", "title": "가", "text": "나"}),
    "beir": json.dumps({"_id": "1", "title": "가", "text": "나", "metadata": {}}),
    "papers": json.dumps({"paper_id": "1", "sections": [{"heading": "가", "text": "나"}]}),
    "trec": "<DOC><DOCNO>1</DOCNO><TEXT>a & b</TEXT></DOC>",
}


@pytest.mark.parametrize("right", FILES)
@pytest.mark.parametrize("wrong", FILES)
def test_a_file_of_another_format_is_refused_with_the_right_one(tmp_path: Path, wrong: str, right: str) -> None:
    path = tmp_path / "a"
    path.write_text(FILES[right] + "\n")
    if wrong == right:
        (line,) = read_source(path, FORMATS[right])
        assert not isinstance(line.outcome, str)
    elif wrong == "papers" and right != "trec":  # a text with an identifier is a paper, too
        assert len(list(read_source(path, FORMATS[wrong]))) == 1
    else:
        with pytest.raises(CorpusError, match=rf"did you mean --format {right}\?"):
            list(read_source(path, FORMATS[wrong]))


def test_objects_of_no_format_are_answered_with_the_format_that_maps_their_keys(tmp_path: Path) -> None:
    path = tmp_path / "a.jsonl"
    path.write_text('{"doi": "1", "summary": "a"}\n' * 3)
    with pytest.raises(CorpusError, match=r"objects with doi, summary, so did you mean --format table\?"):
        list(read_source(path, FORMATS["scienceon"]))


UNKNOWN = {
    "empty.csv": (b"", "empty.csv is empty: leave it out"),
    "fake.pdf": (b"PDF\0\1\xff", "is neither text nor another known kind of file"),
    "noise.dat": (bytes(range(1, 200)), "begins with"),
    "page.html": (b"<html><body>x</body></html>", "is XML or HTML without <record> or <DOC>"),
    "medline.txt": (b"PMID- 1\nTI  - A title\nAB  - A text\nAU  - Kim A\n", "begins with 'PMID- 1'"),
    "a.zip": (b"PK\x03\x04" + bytes(40), "damaged ZIP archive"),
    "numbers.csv": ("번호,이름\n1,가\n".encode(), "the columns 번호, 이름, none of which is known as a title"),
    "numbers.json": (b'[{"a": 1, "b": 2}]', "objects with a, b, none of which is known as a title"),
    "list.json": (b"[1, 2, 3]", "holds no objects"),
    "old.hwp": (b"\xd0\xcf\x11\xe0" + bytes(100), "is an HWP document; save it as HWPX"),
    "utf32.csv": ("제목,초록\n".encode("utf-32"), "is UTF-32: convert it to UTF-8"),
    "binary.txt": ("가\0나\n".encode(), "is neither text nor another known kind of file"),
    "three_tags.txt": (b"PMID- 1\nTI  - A\nAB  - B\n" + b"more\n" * 6, "begins with 'PMID- 1'"),
    "long.dat": (b"x" * 80, f"begins with '{'x' * 60}'."),
    "unnamed.csv": (b"title,\na,b\n", "begins with 'title,'"),
    "one_column.csv": (b"title\nabc\n", "begins with 'title'"),
    "prose": (b"title,text\nwe say, indeed, that\nit is\n", "begins with 'title,text'"),
    "document.xml": (b"<!DOCTYPE x><document/>", "is XML or HTML without <record> or <DOC>"),
    "keys.json": (
        json.dumps({f"k{number}": 1 for number in range(14)}).encode(),
        "with k0, k1, k2, k3, k4, k5, k6, k7, k8, k9, k10, k11, none",
    ),
    "columns.csv": (
        ",".join(f"k{number}" for number in range(14)).encode(),
        "columns k0, k1, k2, k3, k4, k5, k6, k7, k8, k9, k10, k11, none",
    ),
}


@pytest.mark.parametrize("name", UNKNOWN)
def test_what_is_not_known_is_refused_with_what_it_has(tmp_path: Path, name: str) -> None:
    data, says = UNKNOWN[name]
    path = tmp_path / name
    path.write_bytes(data)
    with pytest.raises(CorpusError, match=re.escape(says)):
        inspect_file(path, None, NO_COLUMNS)


CSL = {"type": "article", "title": "A", "issued": {"date-parts": [[2020]]}}

KNOWN = {
    "cn.csv": ("CN,제목,초록\n1,가,나\n", "scienceon", "is a table with a column CN"),
    "title.csv": ("번호,제목,초록\n1,가,나\n", "table", "is a table whose first line names columns"),
    "dates.json": (json.dumps([CSL]), "csl-json", "holds CSL-JSON"),
    "authors.json": (
        json.dumps([{"type": "book", "title": "A", "author": [{"family": "Kim"}]}]),
        *("csl-json", "holds CSL-JSON"),
    ),
    "year.json": (json.dumps([{**CSL, "issued": {"year": 2020}}]), "table", "holds objects with type, title, issued"),
    "text.json": (json.dumps([{**CSL, "issued": "2020"}]), "table", "holds objects with type, title, issued"),
    "untyped.json": (
        json.dumps([{"title": "A", "issued": {"date-parts": [[2020]]}}]),
        *("table", "holds objects with title, issued"),
    ),
    "record.xml": ("<records><record><item/></record></records>", "scienceon", "holds <record> elements"),
    "notes.md": ("# 서론\n가\n", "papers", "is text with headings"),
    "plain.txt": ("가나다\n", "papers", "is a text file named .txt, which is read as one paper"),
    "two_tags.txt": ("PMID- 1\nTI  - A\n", "papers", "is a text file named .txt, which is read as one paper"),
    "few_tags.txt": (
        "PMID- 1\nTI  - A\nAB  - B\n" + "more\n" * 7,
        *("papers", "is a text file named .txt, which is read as one paper"),
    ),
    "heading": ("Abstract\n가\n", "papers", "is text with headings"),
    "two.csv": ("title,text\na,b\n", "table", "is a table whose first line names columns"),
    "header": ("title,text\n", "table", "is a table whose first line names columns"),
    "semicolons": (
        "title;abstract;year\n가;나, 다;2020\n라;마;2\n",
        "table",
        "is a table whose first line names columns",
    ),
    "quoted": ('title,text\n"a, b",c\nd,e\n', "table", "is a table whose first line names columns"),
    "metadata.xml": ("<MetaData><x/></MetaData>", "scienceon", "holds <record> elements"),
    "small.xml": ("<doc><docno>1</docno></doc>", "trec", "holds <DOC> elements"),
    "body.json": (json.dumps([{"title": "A", "body_text": []}]), "papers", "holds objects with sections"),
    "later.json": (json.dumps([{"type": "book", "title": "A"}] * 19 + [CSL]), "csl-json", "holds CSL-JSON"),
    "much_later.json": (
        json.dumps([{"type": "book", "title": "A"}] * 20 + [CSL]),
        *("table", "holds objects with type, title"),
    ),
    "editors.json": (
        json.dumps([{"type": "book", "title": "A", "author": ["Lee", {"family": "Kim"}]}]),
        *("csl-json", "holds CSL-JSON"),
    ),
}


@pytest.mark.parametrize("name", KNOWN)
def test_what_is_known_is_named_with_what_it_has_and_of_a_table_the_columns(tmp_path: Path, name: str) -> None:
    text, format, why = KNOWN[name]
    path = tmp_path / name
    path.write_text(text)
    guess = inspect_file(path, None, NO_COLUMNS)
    assert (guess.name, guess.why) == (format, why)
    assert bool(guess.fields) is (format == "table")


@pytest.mark.parametrize(
    ("text", "column"),
    [
        (KNOWN["cn.csv"][0], "제목"),
        (KNOWN["dates.json"][0], "title"),
        (json.dumps({"paper_id": "1", "text": "A"}), "text"),
        (json.dumps({"title": "A", "sections": "B"}), "sections"),
    ],
    ids=["CN", "CSL-JSON", "paper", "sections"],
)
def test_what_has_columns_that_the_user_names_is_a_table(tmp_path: Path, text: str, column: str) -> None:
    path = tmp_path / "a"
    path.write_text(text)
    guess = inspect_file(path, None, Columns((("text", column),)))
    assert guess.name == "table"
    assert f"text ← {column}" in guess.fields


def test_objects_are_surely_a_table_where_several_have_the_same_keys(tmp_path: Path) -> None:
    path = tmp_path / "a.jsonl"
    for lines, certain in (
        ('{"doi": "1", "summary": "a"}\n' * 3, True),
        ('{"doi": "1", "summary": "a"}\n', False),
        ('{"doi": "1", "summary": "a"}\n' * 2, False),
        ('{"doi": "1", "summary": "a"}\n' * 2 + "{broken\n" + '{"doi": "1", "summary": "a"}\n', True),
        ('{"summary": "a"}\n' * 3, False),
        ('{"doi": "1", "summary": "a"}\n' * 2 + '{"doi": "1", "summary": "a", "title": "b"}\n', False),
    ):
        path.write_text(lines)
        guess = guess_format(path)
        assert (guess is not None and guess.name == "table") is certain


@pytest.mark.parametrize(
    ("name", "guess"),
    [
        ("a.ods", "table"),
        ("A.ODS", "table"),
        ("a.ods.gz", "table"),
        ("a.odt", None),
    ],
)
def test_a_spreadsheet_of_open_document_is_known_by_its_ending(tmp_path: Path, name: str, guess: str | None) -> None:
    data = io.BytesIO()
    with zipfile.ZipFile(data, "w") as archive:
        archive.writestr("content.xml", "<office/>")
    path = tmp_path / name
    path.write_bytes(gzip.compress(data.getvalue()) if name.endswith(".gz") else data.getvalue())
    found = guess_format(path)
    assert (found and found.name) == guess


@pytest.mark.parametrize("name", ["refs.ris", "refs.bib", "refs.txt"])
def test_references_are_no_paper(tmp_path: Path, name: str) -> None:
    path = tmp_path / name
    (write_bibtex if name.endswith("bib") else write_ris)(path)
    with pytest.raises(CorpusError, match=r"it is a list of references.*did you mean --format (ris|bibtex)\?"):
        list(read_source(path, FORMATS["papers"]))


def test_a_file_with_one_good_record_is_never_suspected(tmp_path: Path) -> None:
    path = tmp_path / "a.jsonl"
    path.write_text((FILES["miracl"] + "\n") * 60 + FILES["scienceon"] + "\n")
    with pytest.raises(CorpusError, match="did you mean --format miracl"):
        list(read_source(path, FORMATS["scienceon"]))
    path.write_text(FILES["scienceon"] + "\n" + (FILES["miracl"] + "\n") * 60)
    assert sum(isinstance(line.outcome, str) for line in read_source(path, FORMATS["scienceon"])) == 60


def test_the_first_reject_is_the_reason_and_a_file_of_its_own_format_is_read_to_its_end(tmp_path: Path) -> None:
    path = tmp_path / "a.jsonl"
    path.write_text('{"CN": "1", "title": "가", "docid": "a b"}\n' + (FILES["scienceon"] + "\n") * 60)
    with pytest.raises(CorpusError, match=r"does not look like miracl \(line 1: the identifier 'a b' has whitespace"):
        list(read_source(path, FORMATS["miracl"]))
    path.write_text('{"CN": "1", "title": "가", "docid": "1#0", "text": "나"}\n' + (FILES["scienceon"] + "\n") * 60)
    assert len(list(read_source(path, FORMATS["miracl"]))) == 61
    path.write_text('{"CN": "a b", "title": "가"}\n' * 60)
    assert len(list(read_source(path, FORMATS["scienceon"]))) == 60


def test_the_encoding_of_text_is_said_and_binary_files_have_none(tmp_path: Path) -> None:
    path = tmp_path / "a.csv"
    path.write_bytes("CN,제목\n1,가나다\n".encode("cp949"))
    assert inspect_file(path, None, NO_COLUMNS).why == "is a table with a column CN (CP949)"
    assert inspect_file(path, FORMATS["scienceon"], NO_COLUMNS).why == ""
    path.write_bytes(b"%PDF-1.7\n" + "가나다라마바사".encode("cp949"))
    assert inspect_file(path, None, NO_COLUMNS).why == "is a PDF"


def test_a_folder_without_a_file_of_the_format_is_answered_with_the_formats_it_has(tmp_path: Path) -> None:
    (tmp_path / "a.pdf").touch()
    (tmp_path / "README.md").touch()
    with pytest.raises(CorpusError, match=r"holds no beir file .*; there are files that may be papers\."):
        find_files(FORMATS["beir"], [tmp_path])
    assert [path.name for path in find_files(FORMATS["papers"], [tmp_path])] == ["a.pdf"]


def test_a_column_that_the_header_of_a_table_lacks_is_refused_before_any_row_is_read(tmp_path: Path) -> None:
    path = tmp_path / "목록.csv"
    path.write_text("관리번호,논문 제목,초록\n1,가,나\n", encoding="utf-8")
    with pytest.raises(CorpusError, match=r"has no column '서명': its columns are 관리번호, 논문 제목, 초록\."):
        inspect_file(path, None, Columns((("title", "서명"),)))
    assert inspect_file(path, None, Columns((("title", "초록"),))).name == "table"
