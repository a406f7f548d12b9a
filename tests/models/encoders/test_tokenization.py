from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

from shrag.models.encoders.tokenization import Tokeniser
from shrag.models.errors import WeightsRejected
from tests.support.checkpoints import tokeniser


@pytest.fixture
def own(encoder_folder: Path) -> Tokeniser:
    """Return the tiny encoder's tokeniser, texts cut at 12 tokens."""
    return Tokeniser(encoder_folder / "tokenizer.json", 12)


def test_tokens_have_the_special_ones_and_are_cut_before_the_last(own: Tokeniser, encoder_folder: Path) -> None:
    (tokens,) = own.texts(["graphene film"])
    assert tokens.dtype == np.int32
    assert tokens.tolist() == tokeniser(encoder_folder).encode("graphene film").ids
    assert (tokens[0], tokens[-1]) == (0, 2)
    (cut,) = own.texts(["graphene " * 50])
    assert len(cut) == 12
    assert cut[-1] == 2
    assert own.texts([]) == []
    assert own.texts([""])[0].tolist() == [0, 2]


def test_pairs_are_the_question_then_each_passage(own: Tokeniser) -> None:
    first, second = own.pairs("film", ["waves", "graphene " * 50])
    (alone,) = own.texts(["film"])
    assert first[: len(alone)].tolist() == alone.tolist()
    assert first[len(alone)] == 2
    assert len(second) == 12
    assert second[: len(alone)].tolist() == alone.tolist()  # the longer one is cut


def test_half_a_surrogate_pair_as_a_terminal_of_another_encoding_gives_it_is_a_question_mark(own: Tokeniser) -> None:
    given, shown = own.texts(["graphene \udcff", "graphene ?"])
    assert given.tolist() == shown.tolist()
    assert own.pairs("\udcff", ["\udc00 a"])[0].tolist() == own.pairs("?", ["? a"])[0].tolist()


def test_what_is_no_tokeniser_is_refused(tmp_path: Path) -> None:
    (tmp_path / "tokenizer.json").write_text('{"model": {}}')
    with pytest.raises(WeightsRejected, match=r"tokenizer\.json is not a tokeniser"):
        Tokeniser(tmp_path / "tokenizer.json", 8)
