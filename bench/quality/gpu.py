"""Benchmark of encoding, re-ranking and vector search on a GPU (`make bench-gpu`; `--small` runs without a GPU).

Without `--weights` the network is mGTE with random weights, which is as fast as the trained one. Its tokenizer makes
one token per byte, so only `--weights FOLDER` measures the cost of mGTE's own tokenizer. The GPU's rate of matrix
products is measured in the same run, and results are also given as a share of it.
"""

from __future__ import annotations

import argparse
import json
import os
import platform
import random
import tempfile
import time
from collections.abc import Callable, Sequence
from concurrent.futures import ThreadPoolExecutor
from datetime import UTC, datetime
from pathlib import Path
from typing import NamedTuple

import numpy as np
import torch
from tokenizers import Tokenizer, models, pre_tokenizers, processors
from transformers import GteConfig, GteModel, PreTrainedModel
from transformers.utils import logging

from shrag.indexing.vectors.ann_search import FlatSearch, IvfSearch
from shrag.indexing.vectors.exact_search import BlockSearch, cosines
from shrag.indexing.vectors.faiss_index import FLAT_MAX_ROWS, build_index, count_gpus
from shrag.indexing.vectors.store import Float16Vectors
from shrag.models.encoder import Vectors
from shrag.models.encoders.choice import choose_encoder
from shrag.models.encoders.transformer import TransformerEncoder, load_encoder
from shrag.models.memory_plan.byte_sizes import gib
from shrag.models.memory_plan.gpu_use import read_gpu
from shrag.models.reranker import Passage

NEEDS = (
    "This needs a CUDA GPU that torch sees, and FAISS's build for it: `make setup-gpu`, then `make bench-gpu`. "
    "`python bench/quality/gpu.py --small` runs a tiny network on the processor, to see that it runs."
)
SPECIAL = ["<s>", "<pad>", "</s>", "<unk>"]
POOL_TOKENS = 256
SUBJECTS = 4_096
HITS = 100
LARGEST_BATCH = 64


class Size(NamedTuple):
    """Sizes of the measurement."""

    config: dict[str, int]
    lengths: tuple[int, ...]
    tokens: int
    pool: int
    vectors: int
    dimension: int
    matrix: int


WHOLE = Size({}, (32, 128, 256, 512, 2048), 8_000_000, 100, 1_486_752, 768, 8_192)
SMALL = Size(
    {
        "vocab_size": 300,
        "hidden_size": 64,
        "num_hidden_layers": 2,
        "num_attention_heads": 2,
        "intermediate_size": 128,
    },
    (32, 128),
    4_000,
    8,
    20_000,
    64,
    512,
)


def main() -> None:
    """Print every measurement, with the GPU's name and the date."""
    parser = argparse.ArgumentParser()
    parser.add_argument("--small", action="store_true", help="a tiny network and few vectors, on any machine")
    parser.add_argument("--weights", type=Path, help="the folder of real weights to encode with")
    parser.add_argument("--tokens", type=int, help="tokens to encode of each length (8 million)")
    parser.add_argument(
        "--vectors", type=int, help="vectors to search (1,486,752); 0: none, for which no FAISS is needed"
    )
    chosen = parser.parse_args()
    if not torch.cuda.is_available() and not chosen.small:
        raise SystemExit(NEEDS)
    size = SMALL if chosen.small else WHOLE
    size = size._replace(
        tokens=size.tokens if chosen.tokens is None else chosen.tokens,
        vectors=size.vectors if chosen.vectors is None else chosen.vectors,
    )
    device = "cuda" if torch.cuda.is_available() else "cpu"
    card = torch.cuda.get_device_name() if device == "cuda" else platform.processor() or platform.machine()
    print(f"{card}, torch {torch.__version__}, {datetime.now(UTC):%Y-%m-%d}{', small' * chosen.small}")
    rate = matrix_rate(size.matrix, device)
    print(f"matrix rate, {'half' if device == 'cuda' else 'single'} precision: {rate / 1e12:.2f} TFLOP/s\n")
    with tempfile.TemporaryDirectory() as name:
        folder = chosen.weights or write_random_mgte(Path(name) / "random-mgte", size.config)
        choice = choose_encoder(str(folder.absolute()), Path(name))
        encoder = load_encoder(choice, device)
        shape = json.loads((folder / "config.json").read_text())
        measure_agreement(encoder, load_encoder(choice, "cpu"))
        measure_encoding(encoder, size, rate, shape)
        measure_reranking(encoder, size, Path(name))
        if device == "cuda":
            measure_memory_limit(encoder)
    if size.vectors:
        measure_search(size)


def matrix_rate(side: int, device: str) -> float:
    """Return the operations per second of a product of two square matrices, best of ten."""
    dtype = torch.float16 if device == "cuda" else torch.float32
    one, other = (torch.randn(side, side, device=device, dtype=dtype) for _ in range(2))
    return 2 * side**3 / best_of(10, lambda: one @ other)


def measure_agreement(encoder: TransformerEncoder, on_processor: TransformerEncoder) -> None:
    """Compare the vectors of passages of several lengths with those that a processor computes in single precision."""
    passages = [passage for length in (32, 128, 512) for passage in random_passages(16, length)]
    cosine = smallest_cosine(encoder.encode_passages(passages), on_processor.encode_passages(passages))
    print(f"smallest cosine of {len(passages)} vectors with those of the processor: {cosine:.6f}")


def measure_memory_limit(encoder: TransformerEncoder) -> None:
    """Encode with less GPU memory than a batch needs. Batches are then halved, and the vectors stay the same."""
    passages = random_passages(256, 512)

    def encode() -> Vectors:
        return encoder.encode_passages(passages)

    rows, free = encode(), seconds_of(encode)
    torch.cuda.empty_cache()
    total = torch.cuda.get_device_properties(0).total_memory
    torch.cuda.set_per_process_memory_fraction((torch.cuda.memory_allocated() + 256 * 2**20) / total)
    first, limited = seconds_of(encode), seconds_of(encode)
    cosine = smallest_cosine(rows, encode())
    torch.cuda.set_per_process_memory_fraction(1.0)
    print(f"\nlimited to 256 MiB for batches: {first:.2f} s with the failed attempts, then {limited:.2f} s")
    print(f"  without a limit: {free:.2f} s; smallest cosine of the two vectors of a passage: {cosine:.6f}")


def smallest_cosine(one: Vectors, other: Vectors) -> float:
    """Return the smallest inner product of rows at the same place. All rows have unit length."""
    return float((one * other).sum(axis=1).min())


def measure_encoding(encoder: TransformerEncoder, size: Size, rate: float, shape: dict[str, int]) -> None:
    """Time the encoding of passages of several lengths, from text to vectors in memory."""
    print(f"{'tokens':>8} {'passages':>9} {'passages/s':>11} {'tokens/s':>11} {'TFLOP/s':>8} {'of matrix rate':>15}")
    for length in size.lengths:
        passages = random_passages(max(size.tokens // length, 8), length)
        encoder.encode_passages(passages[: len(passages) // 8])
        seconds = best_of(3, lambda passages=passages: encoder.encode_passages(passages))  # type: ignore[misc]
        work = len(passages) * length * flops_a_token(shape, length)
        speed = len(passages) / seconds
        print(
            f"{length:8} {len(passages):9,} {speed:11,.0f} {speed * length:11,.0f} {work / seconds / 1e12:8.2f} "
            f"{work / seconds / rate:15.1%}",
            flush=True,
        )


def flops_a_token(shape: dict[str, int], length: int) -> int:
    """Return the operations per token: two per weight of the layers, plus attention over ``length`` tokens."""
    hidden, inner = shape["hidden_size"], shape["intermediate_size"]
    layer = 4 * hidden * hidden + 3 * hidden * inner
    return shape["num_hidden_layers"] * (2 * layer + 4 * length * hidden)


def measure_reranking(encoder: TransformerEncoder, size: Size, folder: Path) -> None:
    """Time the re-ranking of one question's candidates: by stored vectors, and by encoding them as the paper does."""
    passages = random_passages(size.pool, POOL_TOKENS)
    rows = encoder.encode_passages(passages).astype(np.float16)
    (folder / "vectors").write_bytes(rows.tobytes())
    stored: Float16Vectors = np.memmap(folder / "vectors", dtype="<f2", mode="r", shape=rows.shape)
    numbers = random.Random(0).sample(range(size.pool), size.pool)
    question = random_passages(1, 16)[0].text

    def by_stored() -> None:
        cosines(stored, encoder.encode_queries([question])[0], numbers)

    def gather() -> None:
        cosines(stored, rows[0].astype(np.float32), numbers)

    def by_encoding() -> None:
        encoder.encode_passages(passages) @ encoder.encode_queries([question])[0]

    with_question, alone, encoded = best_of(10, by_stored), best_of(10, gather), best_of(5, by_encoding)
    print(f"\nre-ranking {size.pool} candidates of {POOL_TOKENS} tokens")
    print(f"  stored vectors, the question encoded: {with_question * 1e3:8.2f} ms")
    print(f"  stored vectors, gathering alone:      {alone * 1e3:8.2f} ms")
    print(
        f"  candidates encoded again:             {encoded * 1e3:8.2f} ms, {encoded / with_question:.1f} times as long"
    )


def measure_search(size: Size) -> None:
    """Time flat and inverted lists on the processor and the GPU, and compare their hits with an exact search."""
    devices = [False] + [True] * (count_gpus() > 0)
    for count in sorted({min(size.vectors, FLAT_MAX_ROWS), size.vectors}):
        vectors = unit_vectors(count, size.dimension, 0)
        questions = unit_vectors(LARGEST_BATCH, size.dimension, 1).astype(np.float32)
        questions /= np.linalg.norm(questions, axis=1, keepdims=True)
        started = time.perf_counter()
        index, card = build_index(vectors)
        made = time.perf_counter() - started
        print(f"\nsearch among {count:,} vectors of {size.dimension}: {card.factory}, built in {made:.1f} s")
        exact = BlockSearch(vectors, as_docids).search(questions, HITS)
        for on_gpu in devices:
            before = read_gpu().used if on_gpu else 0
            search = (IvfSearch if card.lists else FlatSearch)(vectors, as_docids, index, on_gpu=on_gpu)
            found = search.search(questions, HITS)
            recall = np.mean([len(set(a) & set(b)) / len(b) for a, b in zip(found, exact, strict=True)])
            taken = f", {gib(read_gpu().used - before)} of the card" if on_gpu else ""
            print(f"  {'GPU' if on_gpu else 'processor'}: {recall:.4f} of the {HITS} nearest{taken}")
            for batch in (1, 8, LARGEST_BATCH):
                seconds = best_of(5, lambda asked=questions[:batch], by=search: by.search(asked, HITS))  # type: ignore[misc]
                print(f"    {batch:3} questions: {seconds * 1e3:9.2f} ms, {batch / seconds:9,.0f} a second")


def unit_vectors(count: int, dimension: int, seed: int) -> Float16Vectors:
    """Return random unit vectors that cluster around the same directions for every seed, as texts do by subject."""
    centres = np.random.default_rng(0).standard_normal((SUBJECTS, dimension), dtype=np.float32)
    vectors: Float16Vectors = np.empty((count, dimension), dtype=np.float16)

    def fill(start: int) -> None:
        rng = np.random.default_rng((seed, start))
        size = min(100_000, count - start)
        block = centres[rng.integers(SUBJECTS, size=size)] + rng.standard_normal((size, dimension), dtype=np.float32)
        vectors[start : start + size] = block / np.linalg.norm(block, axis=1, keepdims=True)

    with ThreadPoolExecutor(os.cpu_count()) as pool:
        list(pool.map(fill, range(0, count, 100_000)))
    return vectors


def as_docids(numbers: Sequence[int]) -> list[str]:
    """Return a docid for each row."""
    return [str(number) for number in numbers]


def write_random_mgte(folder: Path, changes: dict[str, int], network: type[PreTrainedModel] = GteModel) -> Path:
    """Write a network of mGTE with random weights in half precision, and a tokenizer that makes one token per byte."""
    logging.disable_progress_bar()
    rope = {"rope_type": "linear", "rope_theta": 160_000.0, "factor": 8 ** (2 / 64)}
    torch.manual_seed(0)
    network(GteConfig(rope_parameters=rope, **changes)).half().save_pretrained(folder)
    pieces = [*SPECIAL, *sorted(pre_tokenizers.ByteLevel.alphabet())]
    tokeniser = Tokenizer(models.BPE({piece: number for number, piece in enumerate(pieces)}, []))
    tokeniser.pre_tokenizer = pre_tokenizers.ByteLevel(add_prefix_space=False)
    tokeniser.post_processor = processors.TemplateProcessing(
        single="<s> $A </s>", special_tokens=[("<s>", 0), ("</s>", 2)]
    )
    tokeniser.save(str(folder / "tokenizer.json"))
    (folder / "1_Pooling").mkdir()
    (folder / "1_Pooling" / "config.json").write_text(json.dumps({"pooling_mode": "cls"}))
    return folder


def random_passages(count: int, tokens: int) -> list[Passage]:
    """Return random passages of ``tokens`` tokens: one per byte and two special ones. About a fifth are spaces."""
    rng = random.Random(tokens)
    letters = "abcdefghijklmnopqrstuvwxyz      "
    return [Passage("", f"x{''.join(rng.choices(letters, k=tokens - 4))}x", [], []) for _ in range(count)]


def best_of(runs: int, work: Callable[[], object]) -> float:
    """Return the seconds of the fastest of several runs, after a warm-up run."""
    work()
    return min([seconds_of(work) for _ in range(runs)])


def seconds_of(work: Callable[[], object]) -> float:
    """Return the seconds of one run, until the GPU has finished it."""
    synchronise()
    started = time.perf_counter()
    work()
    synchronise()
    return time.perf_counter() - started


def synchronise() -> None:
    """Wait for the GPU to finish."""
    if torch.cuda.is_available():
        torch.cuda.synchronize()


if __name__ == "__main__":
    main()
