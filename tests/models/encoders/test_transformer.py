"""The transformer encoder against an implementation in plain torch."""

from __future__ import annotations

import gc
import json
import os
import shutil
import subprocess
import sys
from collections.abc import Callable, Mapping
from dataclasses import replace
from pathlib import Path
from typing import Any

import msgspec
import numpy as np
import pytest
import torch
from safetensors.torch import load_file, save_file

from shrag.models.encoder import Vectors
from shrag.models.encoders import network
from shrag.models.encoders import transformer as encoder_check
from shrag.models.encoders import weights as staging
from shrag.models.encoders.catalog import read_catalog
from shrag.models.encoders.choice import canonical_choice, choose_encoder
from shrag.models.encoders.gte_config import native_config
from shrag.models.encoders.transformer import TransformerEncoder, compute_golden_cosines, load_encoder
from shrag.models.errors import OutOfMemory, WeightsMissing, WeightsRejected
from shrag.models.reranker import Passage
from tests.support.checkpoints import (
    HIDDEN,
    SENTENCES,
    THETA,
    make_encoder,
    original_config,
    reference_outputs,
    tokeniser,
)

pytestmark = pytest.mark.slow

LONG = " ".join(SENTENCES * 3)
WEIGHTS = os.environ.get("SHRAG_WEIGHTS")


@pytest.fixture
def folder(encoder_folder: Path, tmp_path: Path) -> Path:
    """Return a copy of the tiny encoder's folder that a test may change."""
    return Path(shutil.copytree(encoder_folder, tmp_path / "tiny"))


def _load(folder: Path, length: int = 0) -> TransformerEncoder:
    choice = f"{folder}:{length}" if length else str(folder)
    return load_encoder(choose_encoder(choice, folder.parent), "cpu")


def _reference(folder: Path, text: str, length: int = HIDDEN, mean: bool = False) -> Vectors:
    outputs = reference_outputs(folder, tokeniser(folder).encode(text).ids[:127])
    row = (outputs.mean(dim=0) if mean else outputs[0])[:length]
    vector: Vectors = (row / row.norm()).numpy()
    return vector


def _worst(encoder: TransformerEncoder, reference: Callable[[str], Vectors]) -> float:
    rows = encoder.encode_queries(SENTENCES).astype(np.float64)
    return min(float(row @ reference(text)) for row, text in zip(rows, SENTENCES, strict=True))


@pytest.mark.parametrize("length", [HIDDEN, 48, 16])
def test_vectors_equal_the_reference_at_every_dimension(encoder_folder: Path, length: int) -> None:
    encoder = _load(encoder_folder, length)
    assert encoder.dimension == length
    assert _worst(encoder, lambda text: _reference(encoder_folder, text, length)) > 0.99999
    assert np.linalg.norm(encoder.encode_queries(SENTENCES), axis=1) == pytest.approx(np.ones(5), abs=1e-6)


def test_mean_pooling_ignores_padding(tmp_path: Path) -> None:
    folder = make_encoder(tmp_path / "mean", seed=3, pooling="mean")
    assert _worst(_load(folder), lambda text: _reference(folder, text, mean=True)) > 0.99999


def test_another_configuration_has_another_rotary_embedding(tmp_path: Path) -> None:
    folder = make_encoder(tmp_path / "other")
    changed = original_config(rope_theta=500.0, rope_scaling={"type": "ntk", "factor": 2.0})
    (folder / "config.json").write_text(json.dumps(changed))
    steps = torch.arange(0, 32, 2, dtype=torch.float64) / 32
    inverse = 1 / 1000.0**steps / 2 ** (2 / 32)

    def reference(text: str) -> Vectors:
        row = reference_outputs(folder, tokeniser(folder).encode(text).ids, inverse)[0]
        vector: Vectors = (row / row.norm()).numpy()
        return vector

    encoder = _load(folder)
    assert _worst(encoder, reference) > 0.99999
    assert _worst(encoder, lambda text: _reference(folder, text)) < 0.99


@pytest.mark.parametrize(
    "wrong",
    [
        {"rope_type": "default", "rope_theta": THETA * 8},  # loads without a word
        {"rope_type": "linear", "rope_theta": THETA * 8, "factor": 8.0},
        {"rope_type": "default", "rope_theta": THETA},
    ],
)
def test_with_a_wrong_rotary_embedding_this_comparison_fails(
    folder: Path, monkeypatch: pytest.MonkeyPatch, wrong: dict[str, object]
) -> None:
    def wrongly(config: Mapping[str, Any], architecture: str) -> dict[str, Any]:
        return {**native_config(config, architecture), "rope_parameters": wrong}

    monkeypatch.setattr(staging, "native_config", wrongly)
    assert _worst(_load(folder), lambda text: _reference(folder, text)) < 0.999


def test_a_passage_is_read_as_title_and_text_and_a_question_alone(transformer: TransformerEncoder) -> None:
    (row,) = transformer.encode_passages([Passage("graphene film", "shielding of waves", [], [])])
    (same,) = transformer.encode_queries(["graphene film shielding of waves"])
    assert float(row @ same) > 0.999999
    (bare,) = transformer.encode_passages([Passage("", "graphene", [], [])])
    assert float(bare @ transformer.encode_queries(["graphene"])[0]) > 0.999999


def test_prefixes_stand_before_questions_and_passages(folder: Path) -> None:
    prompts = {"prompts": {"query": "film: ", "passage": "waves: "}}
    (folder / "config_sentence_transformers.json").write_text(json.dumps(prompts))
    encoder = _load(folder)
    text = "graphene"
    assert float(encoder.encode_queries([text])[0] @ _reference(folder, "film: graphene")) > 0.99999
    assert (
        float(encoder.encode_passages([Passage("", text, [], [])])[0] @ _reference(folder, "waves: graphene")) > 0.99999
    )
    assert "prefixes 'film: ' and 'waves: '" in encoder.settings


def test_rows_stand_in_the_order_of_the_texts_whatever_their_lengths(transformer: TransformerEncoder) -> None:
    texts = [" ".join(SENTENCES[: 1 + number % 4]) for number in range(30)] + ["", LONG]
    together = transformer.encode_queries(texts)
    for text, row in zip(texts, together, strict=True):
        np.testing.assert_allclose(row, transformer.encode_queries([text])[0], atol=2e-6)
    assert not together[30].any()


def test_a_text_too_long_is_cut_at_the_models_length(transformer: TransformerEncoder, encoder_folder: Path) -> None:
    ids = tokeniser(encoder_folder).encode(LONG * 4).ids
    assert len(ids) > 128
    row = reference_outputs(encoder_folder, [*ids[:127], 2])[0]
    (found,) = transformer.encode_queries([LONG * 4])
    assert float(found @ (row / row.norm()).numpy()) > 0.99999


def test_weights_in_use_are_in_memory_once_and_no_longer_than_they_are_used(
    folder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    loaded: list[object] = []
    load = network._load

    def count(*given: Any) -> object:  # noqa: ANN401
        loaded.append(given)
        return load(*given)

    monkeypatch.setattr(network, "_load", count)
    first, second = _load(folder), load_encoder(choose_encoder(str(folder), folder.parent), "cpu")
    assert len(loaded) == 1
    np.testing.assert_array_equal(first.encode_queries(SENTENCES), second.encode_queries(SENTENCES))
    del first, second
    gc.collect()
    _load(folder)
    assert len(loaded) == 2
    tensors = load_file(folder / "model.safetensors")
    changed = {name: tensor + 0.01 for name, tensor in tensors.items()}
    save_file(changed, folder / "model.safetensors", metadata={"format": "pt"})
    _load(folder)
    assert len(loaded) == 3


def test_out_of_memory_halves_the_batch_and_the_vectors_are_the_same(folder: Path) -> None:
    encoder = _load(folder)
    texts = [f"{text} {number}" for number in range(8) for text in SENTENCES]
    expected = encoder.encode_queries(texts)
    model = encoder._model
    whole, sizes = model._module, []

    def small(features: dict[str, torch.Tensor]) -> object:
        sizes.append(features["input_ids"].numel())
        if sizes[-1] > 200:
            raise torch.OutOfMemoryError("CUDA out of memory. Tried to allocate 2.00 GiB.")
        return whole(features)

    model._module = small
    np.testing.assert_allclose(encoder.encode_queries(texts), expected, atol=2e-6)
    assert max(sizes) > 200
    assert model.budget.tokens <= 400
    sizes.clear()
    np.testing.assert_allclose(encoder.encode_queries(texts), expected, atol=2e-6)
    assert max(sizes) <= 400  # it does not try again what did not fit

    def never(features: dict[str, torch.Tensor]) -> object:
        raise torch.OutOfMemoryError("CUDA out of memory.")

    model._module = never
    with pytest.raises(OutOfMemory, match=r"A text of \d+ tokens does not fit into memory"):
        encoder.encode_queries(texts)


def test_a_missing_tensor_is_rejected(folder: Path) -> None:
    tensors = load_file(folder / "model.safetensors")
    del tensors["new.encoder.layer.1.mlp.down_proj.weight"]
    save_file(tensors, folder / "model.safetensors")
    with pytest.raises(
        WeightsRejected, match=r"lacks 1 tensors of the expected shape, layers\.1\.mlp\.down_proj\.weight among"
    ):
        _load(folder)


def test_tensors_of_another_shape_are_refused(folder: Path) -> None:
    (folder / "config.json").write_text(json.dumps(original_config(vocab_size=500)))
    with pytest.raises(
        WeightsRejected, match=r"lacks 1 tensors of the expected shape, embeddings\.word_embeddings\.weight among"
    ):
        _load(folder)


def test_a_model_that_needs_code_of_its_own_is_refused(folder: Path) -> None:
    changed = original_config(model_type="very-new")
    (folder / "config.json").write_text(json.dumps(changed))
    with pytest.raises(WeightsRejected, match="cannot be loaded as the model that its config"):
        _load(folder)


def test_numbers_that_are_not_finite_are_refused_at_load(folder: Path) -> None:
    tensors = load_file(folder / "model.safetensors")
    tensors["new.encoder.layer.0.attn_ln.weight"][0] = float("nan")
    save_file(tensors, folder / "model.safetensors")
    with pytest.raises(WeightsRejected, match=r"encodes wrongly: .*not finite"):
        _load(folder)


def test_a_wrong_golden_cosine_is_rejected_at_load(encoder_folder: Path) -> None:
    choice = choose_encoder(str(encoder_folder), encoder_folder.parent)
    golden = read_catalog().encoders[0].golden
    changed = replace(choice, card=msgspec.structs.replace(choice.card, golden=golden))
    with pytest.raises(WeightsRejected, match=r"“Which planet is known as the Red Planet.” has the cosines"):
        load_encoder(changed, "cpu")


@pytest.mark.process
def test_loading_and_encoding_open_no_connection(encoder_folder: Path) -> None:
    code = (
        "import socket, sys\n"
        "from pathlib import Path\n"
        "def refuse(*_, **__): raise AssertionError('a connection')\n"
        "socket.socket.connect = socket.getaddrinfo = refuse\n"
        "from shrag.models.encoders.choice import choose_encoder\n"
        "from shrag.models.encoders.transformer import load_encoder\n"
        "folder = Path(sys.argv[1])\n"
        "print(load_encoder(choose_encoder(str(folder), folder.parent), 'cpu').encode_queries(['graphene']).shape)\n"
        "import os; print(os.environ['HF_HUB_OFFLINE'], 'transformers_modules' in sys.modules)"
    )
    command = [sys.executable, "-W", "error", "-c", code, str(encoder_folder)]
    done = subprocess.run(command, capture_output=True, text=True, check=True)
    assert (done.stdout.splitlines(), done.stderr) == (["(1, 64)", "1 False"], "")


def test_settings_name_what_determines_the_vectors_and_the_digest_is_the_weights(encoder_folder: Path) -> None:
    choice = choose_encoder(f"{encoder_folder}:32", encoder_folder.parent)
    assert choice.settings == (
        "transformer 1: tiny-encoder, 32 of 64 dimensions, cls pooling, 128 tokens, prefixes '' and '', "
        f"weights {choice.weights.digest[:16]}"
    )
    other = choose_encoder(str(encoder_folder), encoder_folder.parent)
    assert (other.weights.digest, other.dimension) == (choice.weights.digest, 64)
    assert other.settings != choice.settings


def test_a_choice_has_one_canonical_spelling(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    assert canonical_choice("GTE:256") == "gte-multilingual-base:256"
    assert canonical_choice("kure") == "KURE-v1"
    assert canonical_choice("./w:64") == f"{tmp_path / 'w'}:64"
    assert canonical_choice("word2vec") is None
    assert canonical_choice(":64") is None


def test_vectors_are_only_cut_where_the_model_was_trained_for_it(encoder_folder: Path, tmp_path: Path) -> None:
    with pytest.raises(WeightsMissing, match="The catalogue has no encoder 'word2vec'"):
        choose_encoder("word2vec", tmp_path)
    with pytest.raises(WeightsRejected, match="can have from 1 to 64 dimensions, not 65"):
        choose_encoder(f"{encoder_folder}:65", tmp_path)
    shutil.copytree(encoder_folder, tmp_path / "KURE-v1")
    with pytest.raises(WeightsRejected, match="Vectors of KURE-v1 can have only 1024 dimensions, not 256"):
        choose_encoder("kure:256", tmp_path)
    with pytest.raises(WeightsRejected, match="gives vectors of 64 numbers, its model card says 1024"):
        load_encoder(choose_encoder("kure", tmp_path), "cpu")


@pytest.mark.parametrize(
    ("pooling", "says"),
    [
        (None, "its pooling is not known"),
        ({"pooling_mode_max_tokens": True}, "pooling_mode_max_tokens"),
        ({"pooling_mode_cls_token": True, "pooling_mode_mean_tokens": True}, "supports cls and mean"),
        ({"pooling_mode": "lasttoken"}, "lasttoken"),
        ({}, r"sets the pooling \[\]"),
    ],
)
def test_an_unknown_pooling_is_rejected(folder: Path, pooling: dict[str, object] | None, says: str) -> None:
    path = folder / "1_Pooling" / "config.json"
    path.unlink()
    if pooling is not None:
        path.write_text(json.dumps(pooling))
    with pytest.raises(WeightsRejected, match=says):
        choose_encoder(str(folder), folder.parent)


@pytest.mark.skipif(not WEIGHTS, reason="SHRAG_WEIGHTS names no folder with gte-multilingual-base in it")
def test_the_real_mgte_gives_its_golden_cosines() -> None:
    encoder = load_encoder(choose_encoder("gte", Path(str(WEIGHTS))))
    golden = encoder._card.golden
    assert golden is not None
    assert compute_golden_cosines(encoder, golden) == pytest.approx(np.array(golden.cosines), abs=0.01)
    assert encoder_check.GOLDEN_TOLERANCE >= 0.01
    short = load_encoder(choose_encoder("gte:256", Path(str(WEIGHTS))))
    whole = encoder.encode_queries(SENTENCES)[:, :256]
    whole /= np.linalg.norm(whole, axis=1, keepdims=True)
    np.testing.assert_allclose(short.encode_queries(SENTENCES), whole, atol=2e-3)
