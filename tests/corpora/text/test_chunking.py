from __future__ import annotations

import unicodedata
from itertools import pairwise

import pytest
from hypothesis import given
from hypothesis import strategies as st

from shrag.corpora.text.chunking import LARGEST_OVERLAP, LONGEST_CHUNK, split_chunks
from shrag.corpora.text.cleaning import clean_text

SENTENCE = "그래핀 필름의 차폐 효율은 30 dB였다."


def test_chunks_end_with_sentences_and_share_their_edges() -> None:
    text = " ".join(SENTENCE.replace("30", str(number)) for number in range(40))
    chunks = split_chunks(text)
    assert all(chunk.startswith("그래핀") and chunk.endswith("dB였다.") for chunk in chunks)
    assert [len(chunk) for chunk in chunks[:-1]] == [493, 479]
    for earlier, later in pairwise(chunks):
        shared = next(size for size in range(LARGEST_OVERLAP, 0, -1) if earlier.endswith(later[:size]))
        assert 80 < shared <= LARGEST_OVERLAP


def test_a_sentence_longer_than_a_chunk_is_cut_at_a_space_and_a_word_where_it_must() -> None:
    assert split_chunks("가나 다라 마바", longest=5, overlap=0) == ["가나 다라", "마바"]
    assert split_chunks("가나다라마바", longest=4, overlap=0) == ["가나다라", "마바"]


def test_no_chunk_begins_with_punctuation() -> None:
    assert split_chunks("(그림 1) 차폐를 쟀다.") == ["그림 1) 차폐를 쟀다."]
    assert split_chunks("… ) . “차폐”") == ["차폐”"]


@pytest.mark.parametrize("text", ["", "...", "( ) [ ]"])
def test_where_no_word_is_there_is_no_chunk(text: str) -> None:
    assert split_chunks(text) == []


@given(
    st.lists(st.sampled_from(["그래핀", "30.5", "다.", "end.", "“", "(", "e.g.", ",", "!", "long"]), max_size=100),
    st.integers(20, 200),
)
def test_chunks_are_bounded_parts_of_the_text_that_lose_no_word(words: list[str], longest: int) -> None:
    text = clean_text(" ".join(_unlike(number, word) for number, word in enumerate(words)))
    overlap = longest // 4
    chunks = split_chunks(text, longest, overlap)
    end = 0
    for chunk in chunks:
        assert 0 < len(chunk) <= longest
        assert not unicodedata.category(chunk[0]).startswith("P")
        at = text.index(chunk, max(0, end - overlap))
        assert not any(character.isalnum() for character in text[end:at])
        assert at + len(chunk) > end
        end = at + len(chunk)
    assert not any(character.isalnum() for character in text[end:])


def _unlike(number: int, word: str) -> str:
    """Make every word of a text another one, so that each chunk has one place."""
    if word == "long":
        return "".join(chr(0xAC00 + number * 90 + letter) for letter in range(90))
    return f"{number:03}{word}" if word[0].isalnum() else word


def test_the_papers_figures_are_the_default() -> None:
    assert (LONGEST_CHUNK, LARGEST_OVERLAP) == (500, 120)
