from __future__ import annotations

from pathlib import Path

from shrag.corpora.formats.ris import read_ris
from shrag.corpora.records import Record


def test_titles_and_abstracts_of_repeated_tags_are_joined_and_of_other_fields_the_first_is_taken(
    tmp_path: Path,
) -> None:
    tags = (
        "TY JOUR|ID a|ID b|TI One|TI 둘|AB First.|AB 둘째.|AU Kim|AU Lee|T2 J. One|T2 J. Two|PY 2020|PY 2021|SP 1|SP 3"
        "|EP 9|DO 10.1/a|DO 10.1/b|UR http://a|UR http://b|KW x|KW y|SN 1|SN 2|XX u|XX v|ER "
    )
    path = tmp_path / "a.ris"
    path.write_text("".join(f"{line[:2]}  - {line[3:]}\n" for line in tags.split("|")))
    (item,) = read_ris(path)
    assert item.outcome == Record(
        docid="a",
        title="One 둘",
        text="First. 둘째.",
        language="ko",
        complete=True,
        authors=("Kim", "Lee"),
        journal="J. One",
        year=2020,
        link="http://a",
        keywords=("x", "y"),
        doi="10.1/a",
        pages="1-9",
        type="article-journal",
        other=(("issn", "1; 2"), ("XX", "u; v")),
    )
