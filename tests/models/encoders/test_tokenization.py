from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

from shrag.models.encoders.token_workers import TokenWorkers
from shrag.models.encoders.tokenization import Tokeniser
from shrag.models.errors import WeightsRejected
from tests.support.checkpoints import SENTENCES, tokeniser


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


def test_what_is_no_tokeniser_is_refused(tmp_path: Path) -> None:
    (tmp_path / "tokenizer.json").write_text('{"model": {}}')
    with pytest.raises(WeightsRejected, match=r"tokenizer\.json is not a tokeniser"):
        Tokeniser(tmp_path / "tokenizer.json", 8)


def test_processes_give_the_same_tokens_in_the_same_order(own: Tokeniser) -> None:
    workers = TokenWorkers(own, 2)
    chunks = [SENTENCES[start : start + 2] for start in range(0, len(SENTENCES), 2)] + [[], ["\ud55c\uae00 \U0001f9ea"]]
    for found, chunk in zip(workers.tokens(chunks), chunks, strict=True):
        assert [each.tolist() for each in found] == [each.tolist() for each in own.texts(chunk)]
    processes = list(workers._processes)
    assert 1 <= len(processes) <= 2
    workers.close()
    assert all(process.poll() is not None for process in processes)


def test_a_process_that_died_costs_nothing_but_its_time(own: Tokeniser) -> None:
    workers = TokenWorkers(own, 1)
    assert [len(each) for each in workers.tokens([SENTENCES])] == [5]
    for _ in range(2):  # the second time by a process started anew
        workers._processes[-1].kill()
        (found,) = workers.tokens([SENTENCES])
        assert [each.tolist() for each in found] == [each.tolist() for each in own.texts(SENTENCES)]
        assert [len(each) for each in workers.tokens([SENTENCES])] == [5]
    workers.close()
