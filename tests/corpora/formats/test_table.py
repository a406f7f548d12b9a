from __future__ import annotations

import json
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path

import pytest

from shrag.corpora.errors import CorpusError, RejectedLine
from shrag.corpora.formats import table
from shrag.corpora.formats.bibtex import parse_entry
from shrag.corpora.formats.columns import Columns, Mapped, map_columns, parse_columns
from shrag.corpora.formats.csl_json import parse_csl
from shrag.corpora.formats.detection import read_source
from shrag.corpora.formats.registry import table_format
from shrag.corpora.formats.ris import parse_reference
from shrag.corpora.formats.table import find_value, inspect_table, parse_row, read_table
from shrag.corpora.readers.item import ParsedItem
from shrag.corpora.records import Record
from tests.support.realistic_files import write_xlsx

NESTED = {
    "doi": "10.1/x",
    "meta": {"title": "그래핀", "date": {"year": 2020}},
    "abstract": ["첫째이다.", "둘째이다."],
    "sections": [{"text": "셋째이다."}, {"none": 1}, {"text": ["넷째이다."]}],
    "authors": [{"name": "홍길동"}, {"name": "Kim, A."}],
    "topics": ["차폐", "그래핀"],
    "a.b": "dotted",
}
COLUMNS = (
    "id=doi title=meta.title text=abstract text=sections.text author=authors.name year=meta.date.year journal=a.b "
    "keyword=topics doi="
).split()


def read(tmp_path: Path, objects: list[object], *columns: str) -> list[ParsedItem]:
    path = tmp_path / "a.jsonl"
    path.write_text("".join(json.dumps(found) + "\n" for found in objects))
    return list(read_source(path, table_format(parse_columns(columns))))


def test_paths_lead_into_objects_and_through_lists(tmp_path: Path) -> None:
    (line,) = read(tmp_path, [NESTED], *COLUMNS)
    assert line.outcome == Record(
        docid="10.1/x",
        title="그래핀",
        text="첫째이다. 둘째이다. 셋째이다. 넷째이다.",
        language="ko",
        complete=True,
        authors=("홍길동", "Kim, A."),
        journal="dotted",
        year=2020,
        keywords=("차폐", "그래핀"),
        other=(("sections.none", "1"),),
    )


def test_common_names_need_no_options(tmp_path: Path) -> None:
    row = {"ID": 7, "Title": "T", "Text": "a b", "Author(s)": "A;B", "URL": ["x", "y"], "Shelf": "3"}
    (line,) = read(tmp_path, [row])
    assert line.outcome == Record(
        "7", "T", "a b", "en", complete=True, authors=("A", "B"), link="x", other=(("Shelf", "3"),)
    )


def test_known_names_are_found_in_the_objects_of_a_list(tmp_path: Path) -> None:
    row = {"id": 7, "title": "T", "authors": [{"name": "Kim"}, {"name": "Lee"}], "abstract": [{"text": "A."}]}
    (line,) = read(tmp_path, [row])
    assert line.outcome == Record("7", "T", "A.", "en", complete=True, authors=("Kim", "Lee"))


@pytest.mark.parametrize(
    ("names", "mapped"),
    [
        ("논문명 초록 저자 발행년도 학술지명 DOI 관리번호", "title text author year journal doi id"),
        ("논문 제목|국문초록|저자명|키워드|권|호|페이지", "title text author keyword volume issue pages"),
        ("Article Title|Author Full Names|Source Title|Document Type", "title author journal type"),
        ("metadata.title.ko|metadata.creators.name|abstract.text", "title author text"),
        ("초록|국문초록|제목", "text - title"),
        ("번호|비고", "- -"),
        ("lang|language", "- -"),
        ("title|authors.name|authors.id|authors.url|authors.type", "title author - - -"),
        ("title|journal.name|journal.id|journal.title|journal.volume|journal.year", "title journal - - volume year"),
        ("bib.title|bib.license.url|bib.link.url|bib.references.doi|bib.keywords.text", "title - link - keyword"),
        ("id|abstract|journal.title", "id text journal"),
        ("title.en|title.ko|abstract.ko|abstract.en|keywords.en|keywords.name", "- title text - - keyword"),
        ("b.c.title|x.title", "- title"),
        ("meta.id|meta.title|identifiers.doi|content.abstract|date.year", "id title doi text year"),
    ],
)  # fmt: skip
def test_what_names_of_columns_are_taken_for(names: str, mapped: str) -> None:
    columns = names.split("|") if "|" in names else names.split()
    found = {name: field for field, group in map_columns(columns, parse_columns([])).items() for name in group}
    assert " ".join(found.get(name, "-") for name in columns) == mapped


def test_a_named_column_goes_before_a_known_one_and_an_empty_name_leaves_the_field_out() -> None:
    mapped = map_columns(["Title", "제목", "Year"], parse_columns(["title=제목", "year="]))
    assert mapped == {"title": ("제목",), "year": ()}


@pytest.mark.parametrize("option", ["title", "titel=제목", "=x"])
def test_an_option_that_is_malformed_names_the_fields(option: str) -> None:
    with pytest.raises(CorpusError, match="write FIELD=NAME, where FIELD is one of id, title, text, author"):
        parse_columns([option])


@pytest.mark.parametrize(
    ("path", "value"),
    [
        ("meta.title", "그래핀"),
        ("meta.none", None),
        ("none.title", None),
        ("doi.x", None),
        ("", None),
        ("a.b", "dotted"),
    ],
)
def test_what_a_path_finds(path: str, value: object) -> None:
    assert find_value(NESTED, path) == value


@pytest.mark.parametrize(
    ("change", "reason"),
    [
        ({"doi": None}, "no identifier: 'doi' is missing or empty; this one has doi, meta.*--column id=NAME"),
        ({"abstract": {"en": "a"}}, r"'abstract' is an object, expected text: name a key in it \(abstract.en\)"),
        ({"meta": {}, "abstract": "", "sections": []}, r"neither a title nor a text: 'meta.title' and 'abstract' and"),
    ],
)
def test_what_is_missing_is_said_with_the_option_that_helps(change: dict[str, object], reason: str) -> None:
    with pytest.raises(RejectedLine, match=reason):
        parse_row({**NESTED, **change}, map_columns([], parse_columns(COLUMNS)))


def test_of_several_columns_of_the_identifier_the_first_is_named_where_all_are_missing() -> None:
    mapped = map_columns([], parse_columns(["id=number", "id=code", "title=t"]))
    with pytest.raises(RejectedLine, match="no identifier: 'number' is missing or empty; this one has t"):
        parse_row({"t": "A"}, mapped)


def test_a_column_that_no_record_has_is_an_error_and_not_a_lost_field(tmp_path: Path) -> None:
    objects: list[object] = [{"id": 1, "text": "a"}, {"id": 2, "text": "b"}]
    with pytest.raises(CorpusError, match="has no 'titel' in its 2 records: their columns are id, text"):
        read(tmp_path, objects, "title=titel")
    assert len(read(tmp_path, objects, "title=")) == 2


def test_without_an_identifier_it_is_the_doi_else_a_digest_that_stays(tmp_path: Path) -> None:
    rows: list[object] = [
        {"title": "A", "doi": "https://doi.org/10.1/a"},
        {"title": "B", "doi": ""},
        {"doi": None, "title": "B"},
    ]
    docids = [line.outcome.docid for line in read(tmp_path, rows) if isinstance(line.outcome, Record)]
    assert docids[0] == "10.1/a"
    assert docids[1] == docids[2] == "row-20bdc3cf1d745c8052b4"
    layout = inspect_table(tmp_path / "a.jsonl", parse_columns([]))
    assert layout.shown() == ["id ← doi, else a digest of the row", "title ← title", "doi ← doi"]


def test_korean_names_between_commas_are_several_authors(tmp_path: Path) -> None:
    rows: list[object] = [
        {"id": 1, "title": "A", "author": "홍길동, 김철수"},
        {"id": 2, "title": "A", "author": "Kim, A."},
        {"id": 3, "title": "A", "author": []},
    ]
    authors = [line.outcome.authors for line in read(tmp_path, rows) if isinstance(line.outcome, Record)]
    assert authors == [("홍길동", "김철수"), ("Kim, A.",), ()]


def test_a_field_that_the_first_rows_lack_is_read_from_the_later_ones(tmp_path: Path) -> None:
    objects: list[object] = [{"id": number, "title": "A", "year": 2020} for number in range(25)]
    objects += [
        {"id": 25, "title": "A", "description": "note", "date": 1999},
        {"id": 26, "title": "A", "meta": {"abstract": "late"}, "description": "note", "year": 2020},
    ]
    *_, note, late = [line.outcome for line in read(tmp_path, objects) if isinstance(line.outcome, Record)]
    assert (note.text, note.year) == ("note", None)
    assert (late.text, late.year, late.complete) == ("late", 2020, True)


def test_an_abstract_of_openalex_is_text_and_its_words_are_no_fields(tmp_path: Path) -> None:
    works = [
        {
            "id": f"W{number}",
            "title": "A",
            "publication_year": 2020,
            "authorships": [{"author": {"id": "A1", "display_name": name}} for name in ("Kim", "Lee")],
            "biblio": {"volume": "7"},
            "keywords": [{"id": "k", "display_name": "shields"}],
            "abstract_inverted_index": index,
        }
        for number, index in enumerate([{"the": [0, 2], "volume": [3], "year.": [4, "x"], "In": [1], "issue": 5}, None])
    ]
    first, second = (item.outcome for item in read(tmp_path, list(works)))
    assert isinstance(first, Record)
    assert (first.text, first.complete) == ("the In the volume year.", True)
    assert first.other == (("authorships.author.id", "A1; A1"), ("keywords.id", "k"))
    assert (first.year, first.volume, first.issue) == (2020, "7", "")
    assert (first.authors, first.keywords) == (("Kim", "Lee"), ("shields",))
    assert isinstance(second, Record)
    assert (second.text, second.complete, second.year) == ("", False, 2020)


def test_objects_that_all_have_keys_of_their_own_take_linear_time(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    mapped: list[int] = []

    def note(names: Sequence[str], columns: Columns) -> Mapped:
        mapped.append(len(names))
        return map_columns(names, columns)

    monkeypatch.setattr(table, "map_columns", note)
    objects = [{"id": number, "title": "A", "counts": {f"k{number}": 1}} for number in range(100)]
    objects[90] |= {"abstract": "late", "x": {"year": 1999}}
    objects[95] |= {"year": 2020}
    objects[99] = {"id": 99, "title": "A", "abstract": "last"}
    records = [item.outcome for item in read(tmp_path, list(objects)) if isinstance(item.outcome, Record)]
    assert len(records) == 100
    assert (records[90].text, records[90].year, records[95].year) == ("late", 1999, 2020)
    assert records[99].text == "last"
    assert max(mapped[1:]) < 10


def test_a_field_that_the_first_objects_have_is_not_read_from_a_better_key_of_later_ones(tmp_path: Path) -> None:
    objects: list[object] = [{"id": number, "title": "A"} for number in range(19)]
    objects += [{"id": 19, "title": "A", "summary": "first"}, {"id": 20, "title": "A", "abstract": "late"}]
    *_, last = read(tmp_path, objects)
    assert isinstance(last.outcome, Record)
    assert (last.outcome.text, last.outcome.other) == ("", (("abstract", "late"),))


def test_keys_are_found_four_objects_deep_and_named_deeper(tmp_path: Path) -> None:
    (line,) = read(tmp_path, [{"a": {"b": {"c": {"title": "A", "d": {"abstract": "B"}}}}}])
    assert isinstance(line.outcome, Record)
    assert (line.outcome.title, line.outcome.text) == ("A", "")
    assert line.outcome.other == (("a.b.c.d", '{"abstract":"B"}'),)
    (line,) = read(tmp_path, [{"a": {"b": {"c": {"title": "A", "d": {"abstract": "B"}}}}}], "text=a.b.c.d.abstract")
    assert isinstance(line.outcome, Record)
    assert (line.outcome.title, line.outcome.text) == ("A", "B")


def test_a_column_that_is_named_is_missed_only_where_there_are_records(tmp_path: Path) -> None:
    path = tmp_path / "a.jsonl"
    path.write_text('{"id": 1, "text": ""}\n')
    (item,) = read_table(path, parse_columns(["title=titel"]))
    assert str(item.outcome).startswith("record 1 has neither a title nor a text: 'titel' and 'text' empty")


@pytest.mark.parametrize(
    ("parse", "fields"),
    [
        (parse_reference, {"id": "k", "type_of_reference": "JOUR"}),
        (parse_entry, {"entry key": "k", "title": ""}),
        (parse_csl, {"id": "k"}),
    ],
)
def test_a_reference_of_nothing_names_no_columns(
    parse: Callable[[Mapping[str, object]], Record], fields: dict[str, object]
) -> None:
    with pytest.raises(RejectedLine, match=r"^record k has neither a title nor a text$"):
        parse(fields)


def test_a_column_that_is_empty_in_the_first_rows_of_a_spreadsheet_is_a_column(tmp_path: Path) -> None:
    rows: list[tuple[str, ...]] = [("제목", "초록"), *(("가", "") for _ in range(25)), ("나", "늦은 초록")]
    path = write_xlsx(tmp_path / "a.xlsx", rows)
    for columns in ([], ["text=초록"]):
        assert inspect_table(path, parse_columns(columns)).mapped["text"] == ("초록",)
        *_, last = read_source(path, table_format(parse_columns(columns)))
        assert isinstance(last.outcome, Record)
        assert last.outcome.text == "늦은 초록"


def test_what_is_left_of_an_object_that_is_read_in_part_is_stored(tmp_path: Path) -> None:
    row = {"meta": {"title": "A", "grant": "G-1", "n": {"x": 1}}, "authors": [{"name": "Kim", "at": "X"}, {"at": "Y"}]}
    (line,) = read(tmp_path, [row])
    assert isinstance(line.outcome, Record)
    assert line.outcome.other == (("meta.grant", "G-1"), ("meta.n.x", "1"), ("authors.at", "X; Y"))
    others = inspect_table(tmp_path / "a.jsonl", parse_columns([])).others
    assert others == tuple(name for name, _ in line.outcome.other)


@pytest.mark.parametrize("key", ["id", "doi", "abstract"])
def test_a_list_of_records_in_an_object_is_not_merged_into_one_record(tmp_path: Path, key: str) -> None:
    (line,) = read(tmp_path, [{"entry": {"hits": [{key: "10.1/a", "title": "A"}, {key: "10.1/b", "title": "B"}]}}])
    assert str(line.outcome).startswith("'entry.hits' is a list of records in one object")
    (line,) = read(tmp_path, [{"entry": {"hits": [{key: "10.1/a", "title": "A"}]}}])
    assert isinstance(line.outcome, Record)
    row = {"id": 1, "titles": [{"title": "A"}, {"title": "B"}], "descriptions": [{"abstract": "C"}, {"abstract": "D"}]}
    (line,) = read(tmp_path, [row])
    assert isinstance(line.outcome, Record)
    assert (line.outcome.title, line.outcome.text) == ("A B", "C D")


def test_a_spreadsheets_caption_is_no_header_and_its_rows_have_their_numbers(tmp_path: Path) -> None:
    rows = [("검색 결과",), ("제목", "연도"), ("가", "2020"), ("", ""), ("나", "2021")]
    items = list(read_source(write_xlsx(tmp_path / "a.xlsx", rows), table_format(parse_columns([]))))
    assert [(item.number, item.outcome and getattr(item.outcome, "title", None)) for item in items] == [
        (3, "가"), (4, None), (5, "나"),
    ]  # fmt: skip


def test_a_table_without_a_known_column_says_how_to_name_them(tmp_path: Path) -> None:
    path = tmp_path / "a.csv"
    path.write_text("번호,이름\n1,가\n")
    with pytest.raises(
        CorpusError, match=r"no column that is known as a title or a text: it has 번호, 이름; name them"
    ):
        list(read_source(path, table_format(parse_columns([]))))
