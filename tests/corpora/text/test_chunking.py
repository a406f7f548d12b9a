from __future__ import annotations

import unicodedata
from collections.abc import Callable
from itertools import pairwise

import pytest
from hypothesis import given
from hypothesis import strategies as st

from shrag.corpora.text.chunking import LARGEST_OVERLAP, LONGEST_CHUNK, split_chunks, split_sentence_chunks
from shrag.corpora.text.cleaning import clean_text

SENTENCE = "그래핀 필름의 차폐 효율은 30 dB였다."


TEXT = " ".join(SENTENCE.replace("30", str(number)) for number in range(40))

Splitter = Callable[..., list[str]]
both = pytest.mark.parametrize("split", [split_chunks, split_sentence_chunks])


def shared_characters(earlier: str, later: str) -> int:
    """Return how many characters at the end of one chunk the next one begins with."""
    return next((size for size in range(LARGEST_OVERLAP, 0, -1) if earlier.endswith(later[:size])), 0)


def test_neighbours_share_their_last_words_of_up_to_120_characters() -> None:
    chunks = split_chunks(TEXT)
    assert all(chunk.endswith("dB였다.") for chunk in chunks)
    shared = [shared_characters(earlier, later) for earlier, later in pairwise(chunks)]
    assert len(chunks) == 3
    assert shared == [119, 119]


def merge_as_langchain_does(words: list[str], longest: int, overlap: int) -> list[str]:
    """Merge words into chunks by the rule of LangChain's text splitters, written after their documentation."""
    chunks: list[str] = []
    current: list[str] = []
    for word in words:
        if current and len(" ".join([*current, word])) > longest:
            chunks.append(" ".join(current))
            while current and (len(" ".join(current)) > overlap or len(" ".join([*current, word])) > longest):
                current.pop(0)
        current.append(word)
    return [*chunks, " ".join(current)] if current else chunks


@given(st.lists(st.integers(1, 30), min_size=1, max_size=200), st.integers(40, 120), st.integers(0, 30))
def test_without_sentence_ends_the_chunks_are_those_of_langchains_rule(
    lengths: list[int], longest: int, overlap: int
) -> None:
    words = [chr(0xAC00 + number) * length for number, length in enumerate(lengths)]
    assert split_chunks(" ".join(words), longest, overlap) == merge_as_langchain_does(words, longest, overlap)


def test_chunks_of_sentences_begin_and_end_with_one() -> None:
    chunks = split_sentence_chunks(TEXT)
    assert all(chunk.startswith("그래핀") and chunk.endswith("dB였다.") for chunk in chunks)
    assert [len(chunk) for chunk in chunks[:-1]] == [493, 479]
    for earlier, later in pairwise(chunks):
        assert 80 < shared_characters(earlier, later) <= LARGEST_OVERLAP


@both
def test_a_sentence_longer_than_a_chunk_is_cut_at_a_space_and_a_word_where_it_must(split: Splitter) -> None:
    assert split("가나 다라 마바", longest=5, overlap=0) == ["가나 다라", "마바"]
    assert split("가나다라마바", longest=4, overlap=0) == ["가나다라", "마바"]


@pytest.mark.parametrize(
    ("longest", "overlap", "chunks"),
    [
        (14, 0, ["하나를 쟀다. 둘을 쟀다.", "셋을 쟀다."]),
        (13, 0, ["하나를 쟀다.", "둘을 쟀다. 셋을 쟀다."]),
        (12, 0, ["하나를 쟀다.", "둘을 쟀다.", "셋을 쟀다."]),
        (14, 6, ["하나를 쟀다. 둘을 쟀다.", "둘을 쟀다. 셋을 쟀다."]),
        (14, 5, ["하나를 쟀다. 둘을 쟀다.", "셋을 쟀다."]),
        (21, 99, ["하나를 쟀다. 둘을 쟀다. 셋을 쟀다."]),
    ],
)
def test_whole_sentences_fill_a_chunk_and_its_overlap_up_to_the_limits(
    longest: int, overlap: int, chunks: list[str]
) -> None:
    assert split_sentence_chunks("하나를 쟀다. 둘을 쟀다. 셋을 쟀다.", longest, overlap) == chunks


def test_a_sentence_is_repeated_only_if_the_next_one_fits_beside_it() -> None:
    text = "하나를 쟀다. 둘을 쟀다. 셋을 오래오래 다시 쟀다."
    assert split_sentence_chunks(text, 18, 8) == ["하나를 쟀다. 둘을 쟀다.", "셋을 오래오래 다시 쟀다."]


@both
def test_no_chunk_begins_with_punctuation(split: Splitter) -> None:
    assert split("(그림 1) 차폐를 쟀다.") == ["그림 1) 차폐를 쟀다."]
    assert split("… ) . “차폐”") == ["차폐”"]


@both
@pytest.mark.parametrize("text", ["", "...", "( ) [ ]"])
def test_where_no_word_is_there_is_no_chunk(text: str, split: Splitter) -> None:
    assert split(text) == []


@both
@given(
    st.lists(st.sampled_from(["그래핀", "30.5", "다.", "end.", "“", "(", "e.g.", ",", "!", "long"]), max_size=100),
    st.integers(20, 200),
)
def test_chunks_are_bounded_parts_of_the_text_that_lose_no_word(
    split: Splitter, words: list[str], longest: int
) -> None:
    text = clean_text(" ".join(_unlike(number, word) for number, word in enumerate(words)))
    overlap = longest // 4
    chunks = split(text, longest, overlap)
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
