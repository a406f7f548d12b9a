from __future__ import annotations

import json
from pathlib import Path

import pytest

from shrag.models.errors import UnknownName, WeightsMissing, WeightsRejected
from shrag.models.memory_plan.retrieval_memory import (
    DEFAULT_ENCODER,
    DEFAULT_RERANKER,
    VectorTable,
    network_memory,
    retrieval_parts,
)

MIRACL_KO = VectorTable(1_486_752, 768)


def sizes(parts: tuple[tuple[str, int, bool, str], ...]) -> dict[str, int]:
    return {part[0]: part[1] for part in parts}


def test_the_usual_encoder_reranker_and_vectors_take_five_parts_and_one_context(tmp_path: Path) -> None:
    assert sizes(retrieval_parts([DEFAULT_ENCODER], DEFAULT_RERANKER, [MIRACL_KO], tmp_path)) == {
        "encoder gte-multilingual-base": 610_736_640,
        "re-ranker gte-multilingual-reranker-base": 611_919_362,
        "encoder activations": 32_768 * 28 * 1024,
        "FAISS vectors": 1_486_752 * 768 * 2,
        "FAISS scratch": 256 * 2**20,
        "retrieval's CUDA context": 900 * 2**20,
    }


def test_without_gpu_models_there_are_no_parts(tmp_path: Path) -> None:
    assert retrieval_parts(["none"], "none", [], tmp_path) == ()
    assert retrieval_parts(["lsa"], "none", [VectorTable(0, 768)], tmp_path) == ()


def test_the_short_name_of_the_default_encoder_is_known(tmp_path: Path) -> None:
    assert retrieval_parts(["gte"], "none", [], tmp_path)[0].size == 610_736_640


def test_a_model_of_several_indexes_is_counted_once_whatever_the_length_of_its_vectors(tmp_path: Path) -> None:
    parts = retrieval_parts(
        ["gte", "gte:256", "e5-small"], "gte-multilingual-base", [MIRACL_KO, VectorTable(10, 256)], tmp_path
    )
    assert [(part.name, part.size) for part in parts if part.name.startswith(("encoder", "re-ranker", "FAISS v"))] == [
        ("encoder gte-multilingual-base", 610_736_640),
        ("encoder multilingual-e5-small", 2 * 117_653_760),
        ("encoder activations", 32_768 * 28 * 1024),
        ("FAISS vectors", 1_486_752 * 768 * 2),
        ("FAISS vectors", 10 * 256 * 2),
    ]


def test_incomplete_weights_are_an_error_even_with_a_known_size(tmp_path: Path) -> None:
    (tmp_path / DEFAULT_ENCODER).mkdir()
    with pytest.raises(WeightsMissing, match=r"has neither model\.safetensors"):
        retrieval_parts([DEFAULT_ENCODER], "none", [], tmp_path)


def test_vectors_alone_still_need_a_context(tmp_path: Path) -> None:
    assert sizes(retrieval_parts(["none"], "none", [VectorTable(10, 4)], tmp_path)) == {
        "FAISS vectors": 80, "FAISS scratch": 256 * 2**20, "retrieval's CUDA context": 900 * 2**20,
    }  # fmt: skip


def test_existing_weights_are_read_and_counted_in_half_precision(tmp_path: Path) -> None:
    folder = tmp_path / DEFAULT_ENCODER
    folder.mkdir()
    header = json.dumps({"w": {"dtype": "F32", "shape": [6], "data_offsets": [0, 24]}}).encode()
    (folder / "model.safetensors").write_bytes(len(header).to_bytes(8, "little") + header + bytes(24))
    part = retrieval_parts([DEFAULT_ENCODER], "none", [], tmp_path)[0]
    assert (part.size, part.exact) == (12, True)
    assert retrieval_parts([str(folder)], "none", [], tmp_path / "other")[0].size == 12
    (folder / "model.safetensors").write_bytes(b"cut")
    with pytest.raises(WeightsRejected, match="is truncated"):
        retrieval_parts([DEFAULT_ENCODER], "none", [], tmp_path)


@pytest.mark.parametrize("name", ["my-encoder", ""])
def test_an_encoder_of_unknown_size_is_refused(tmp_path: Path, name: str) -> None:
    with pytest.raises(UnknownName, match=f"There are no weights of '{name}' under .*: give a folder, none, or one of"):
        retrieval_parts([name], "none", [], tmp_path)


def test_what_was_computed_is_exact_and_what_was_seen_is_an_estimate_with_its_source(tmp_path: Path) -> None:
    parts = retrieval_parts([DEFAULT_ENCODER], "none", [VectorTable(1_500, 768)], tmp_path)
    assert [(part.name, part.exact, part.source) for part in parts] == [
        ("encoder gte-multilingual-base", True, "305,368,320 parameters, in half precision"),
        ("encoder activations", False, "28 KiB for each of 32,768 tokens in a batch"),
        ("FAISS vectors", True, "1,500 × 768 × 2 bytes"),
        ("FAISS scratch", True, "set when the index is opened"),
        ("retrieval's CUDA context", False, "one process for all of retrieval"),
    ]


def test_torch_may_have_the_weights_a_batch_and_a_reserve_of_the_context(tmp_path: Path) -> None:
    parts = retrieval_parts([DEFAULT_ENCODER], DEFAULT_RERANKER, [MIRACL_KO], tmp_path)
    assert network_memory(parts) == 610_736_640 + 611_919_362 + 32_768 * 28 * 1024 + 256 * 2**20
    assert network_memory(retrieval_parts(["none"], "none", [MIRACL_KO], tmp_path)) == 0
