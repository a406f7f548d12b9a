from __future__ import annotations

from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from shrag.indexing.errors import DictionaryRejected
from shrag.indexing.user_dictionary import (
    NO_WORDS,
    DictionaryWord,
    UserDictionary,
    parse_dictionary,
    read_dictionary,
)


def test_words_are_read_with_their_defaults_and_kept_in_one_normal_form() -> None:
    lines = ["# 낱말", "", "인공신경망\tNNG\t2.5", "  지식   그래프 \r", "Ｋ－방역\t\t", '"C++",', "지식 그래프"]
    dictionary = parse_dictionary(lines, "words.tsv")
    assert dictionary.words == (
        DictionaryWord("C++", "NNP", 0.0),
        DictionaryWord("K-방역", "NNP", 0.0),
        DictionaryWord("인공신경망", "NNG", 2.5),
        DictionaryWord("지식 그래프", "NNP", 0.0),
    )
    assert dictionary.text == "C++\tNNP\t0\nK-방역\tNNP\t0\n인공신경망\tNNG\t2.5\n지식 그래프\tNNP\t0\n"
    assert dictionary.fingerprint == (
        "4 words, sha256 1dda2d93026f8edc22d5c516b9b83df966124ccea6e1d114e77e50b34d0910de"
    )
    assert NO_WORDS.fingerprint == "none"


@pytest.mark.parametrize(
    ("line", "rule"),
    [
        ("\tNNG", "no letter and no digit"),
        ("…!?", "no letter and no digit"),
        ("가", "a single syllable"),
        ("가" * 65, "at most 64 are allowed"),
        ("인공신경망\tSL", "the tag 'SL' is none of NNP NNG NNB NR XR MAG VV VA"),
        ("인공신경망\tNNG\tmuch", "the score 'much' is no number from -20 to 20"),
        ("인공신경망\tNNG\tnan", "the score 'nan' is no number"),
        ("인공신경망\tNNG\t1e9", "the score '1e9' is no number"),
        ("인공신경망\tNNG\t1\tx", "4 fields, at most 3"),
    ],
)
def test_a_broken_rule_is_named_with_its_line(line: str, rule: str) -> None:
    with pytest.raises(DictionaryRejected, match=r"^words.tsv line 2: .*") as error:
        parse_dictionary(["그래프", line], "words.tsv")
    assert rule in str(error.value)


def test_one_word_twice_with_another_tag_is_refused_naming_both_lines() -> None:
    with pytest.raises(DictionaryRejected, match=r"line 3: '그래프' stands in line 1 with another tag or score"):
        parse_dictionary(["그래프\tNNG", "그래프\tNNG", "그래프"], "words.tsv")


def test_a_file_that_is_no_text_is_refused(tmp_path: Path) -> None:
    path = tmp_path / "words.tsv"
    path.write_bytes("그래프\n".encode() + b"\xff\n")
    with pytest.raises(DictionaryRejected, match=r"words.tsv line 2 is not UTF-8: convert"):
        read_dictionary(path)
    path.write_bytes(b"x\n" * (9 << 20))
    with pytest.raises(DictionaryRejected, match=r"larger than 16 MiB"):
        read_dictionary(path)
    path.write_bytes("\ufeff그래프\r\n".encode())
    assert [word.word for word in read_dictionary(path).words] == ["그래프"]
    with pytest.raises(DictionaryRejected, match=r"none.tsv cannot be read \(No such file"):
        read_dictionary(tmp_path / "none.tsv")


@given(st.lists(st.text(max_size=20), max_size=8))
def test_any_lines_are_read_or_refused_and_the_normal_form_reads_back_the_same(lines: list[str]) -> None:
    try:
        dictionary = parse_dictionary(lines, "any")
    except DictionaryRejected:
        return
    again = parse_dictionary(dictionary.text.split("\n"), "again")
    assert again == dictionary
    assert again.fingerprint == dictionary.fingerprint == UserDictionary(again.words).fingerprint
