"""The plan's KV arithmetic against vLLM: what its server prints for tiny models, and its own code for made-up layers.

``SHRAG_VLLM_PYTHON`` names the Python of an environment that has vLLM's CPU build; nothing is downloaded.
"""

from __future__ import annotations

import json
import os
import random
import re
import signal
import subprocess
import time
from pathlib import Path

import pytest

from shrag.models.memory_plan.attention_layers import (
    FullAttention,
    Layer,
    LinearAttention,
    SlidingAttention,
    attention_layers,
)
from shrag.models.memory_plan.byte_sizes import GIB, MIB
from shrag.models.memory_plan.kv_cache import KV_BYTES, KvCache, KvOptions
from shrag.models.memory_plan.model_size import load_profiles, profile_size
from shrag.models.model_server.command import OFFLINE

# Written out, so that a change of the module's own is noticed.
CPU_BLOCK = 128

pytestmark = pytest.mark.vllm

ARITHMETIC = Path(__file__).parent / "vllm_kv_arithmetic.py"
SECONDS = 240
BATCH = 2_048
PRINTED = re.compile(r"KV cache size: ([\d,]+) tokens, Maximum concurrency for ([\d,]+) tokens per request: ([\d.]+)x")

SHAPE: dict[str, object] = {
    "vocab_size": 16, "hidden_size": 128, "intermediate_size": 256, "num_attention_heads": 4, "num_key_value_heads": 2,
    "head_dim": 64, "max_position_embeddings": 8192, "dtype": "bfloat16", "hidden_act": "silu", "rms_norm_eps": 1e-6,
    "rope_parameters": {"rope_type": "default", "rope_theta": 10_000.0}, "tie_word_embeddings": False,
}  # fmt: skip
QWEN3 = {**SHAPE, "model_type": "qwen3", "architectures": ["Qwen3ForCausalLM"], "num_hidden_layers": 4}
EXAONE4 = {**SHAPE, "model_type": "exaone4", "architectures": ["Exaone4ForCausalLM"], "sliding_window": 256}
EVEN = ["sliding_attention", "sliding_attention", "sliding_attention", "full_attention"] * 2
ODD = ["sliding_attention", "sliding_attention", "sliding_attention", "full_attention", "full_attention"]


@pytest.fixture
def vllm_python() -> str:
    """Return the interpreter that has vLLM."""
    python = os.environ.get("SHRAG_VLLM_PYTHON")
    if not python:
        pytest.skip("SHRAG_VLLM_PYTHON names no Python with vLLM")
    return python


@pytest.mark.parametrize(
    ("config", "pool", "longest", "tokens", "concurrency"),
    [
        (QWEN3, 64 * MIB, 8_192, 32_768, "4.00"),
        # A server takes a minute to start: the shapes above and below stand for these two, which `make soak` has.
        pytest.param(QWEN3, 24 * MIB, 1_000, 12_000, "12.00", marks=pytest.mark.soak),
        ({**EXAONE4, "num_hidden_layers": 8, "layer_types": EVEN}, 64 * MIB, 8_192, 34_663, "4.23"),
        pytest.param(
            {**EXAONE4, "num_hidden_layers": 5, "layer_types": ODD},
            64 * MIB,
            4_096,
            29_959,
            "7.31",
            marks=pytest.mark.soak,
        ),
    ],
)
def test_a_server_prints_the_size_and_the_concurrency_that_were_planned(
    vllm_python: str,
    tmp_path: Path,
    config: dict[str, object],
    pool: int,
    longest: int,
    tokens: int,
    concurrency: str,
) -> None:
    options = KvOptions(block=CPU_BLOCK, batch=BATCH, batches_in_flight=1)
    cache = KvCache(attention_layers(config), options)
    planned = (cache.size_in_tokens(pool, longest), f"{cache.concurrency(pool, longest):.2f}")
    assert planned == (tokens, concurrency)
    assert printed(vllm_python, tmp_path, config, pool, longest) == planned


def test_vllms_own_code_gives_the_same_for_every_profile_and_hundreds_of_made_up_models(vllm_python: str) -> None:
    chance = random.Random(0)
    models = [profile_size(name, Path("weights")).layers for name in load_profiles()]
    models += [made_up(chance) for _ in range(400)]
    models = [layers for layers in models if not all(isinstance(layer, LinearAttention) for layer in layers)]
    cases, planned = [], []
    for layers in models:
        options = KvOptions(
            chance.choice(["auto", "fp8"]),
            batch=chance.choice([64, BATCH]),
            batches_in_flight=chance.choice([1, 2]),
            prefix_caching=chance.random() < 0.5,
        )
        longest, cache = chance.randint(100, 20_000), KvCache(layers, options)
        cases.append(case(cache, GIB, longest))
        planned.append([cache.size_in_tokens(GIB, longest), cache.concurrency(GIB, longest)])
    done = subprocess.run(
        [vllm_python, str(ARITHMETIC)],
        input=json.dumps(cases),
        capture_output=True,
        text=True,
        check=True,
        timeout=SECONDS,
        env=environment(),
    )
    assert json.loads(done.stdout.splitlines()[-1]) == planned
    assert len(planned) > 350


def made_up(chance: random.Random) -> tuple[Layer, ...]:
    """Return up to three kinds of layers, up to nine of each, shuffled."""
    kinds: list[Layer] = [
        FullAttention(chance.choice([256, 512, 768])),
        FullAttention(512),
        SlidingAttention(chance.choice([256, 512, 768]), chance.choice([64, 1_000])),
        SlidingAttention(512, 64),
        LinearAttention(chance.choice([1_000, 100_000])),
    ]
    layers = [kind for kind in chance.sample(kinds, chance.randint(1, 3)) for _ in range(chance.randint(1, 9))]
    chance.shuffle(layers)
    return tuple(layers)


def case(cache: KvCache, pool: int, longest: int) -> dict[str, object]:
    """Return one model for vLLM's code, sizes in values or, of a state, in bytes."""
    layers: list[tuple[str, int, int]] = []
    for layer in cache.layers:
        if isinstance(layer, LinearAttention):
            layers.append(("linear", layer.state_bytes, 0))
        elif isinstance(layer, SlidingAttention):
            layers.append(("sliding", layer.values, layer.window))
        else:
            layers.append(("full", layer.values, 0))
    return {
        "layers": layers,
        "block": cache.options.block,
        "page": None,
        "width": KV_BYTES[cache.options.dtype],
        "mamba": "align" if cache.options.prefix_caching else "none",
        "in_flight": cache.options.batch * cache.options.batches_in_flight,
        "longest": longest,
        "pool": pool,
    }


def printed(python: str, folder: Path, config: dict[str, object], pool: int, longest: int) -> tuple[int, str]:
    """Start a server with random weights, read what it prints of its cache, and stop it."""
    write_model(folder / "model", config)
    command = [
        *(python, "-m", "vllm.entrypoints.openai.api_server", "--model", str(folder / "model")),
        *("--load-format", "dummy", "--enforce-eager", "--uds", str(folder / "s"), "--max-num-seqs", "4"),
        *("--kv-cache-memory-bytes", f"{pool // MIB}M", "--max-model-len", str(longest)),
        *("--max-num-batched-tokens", str(BATCH)),
    ]
    log = folder / "log"
    with log.open("wb") as out:
        server = subprocess.Popen(
            command, stdout=out, stderr=subprocess.STDOUT, cwd=folder, env=environment(), start_new_session=True
        )
    try:
        end = time.monotonic() + SECONDS
        while (match := PRINTED.search(log.read_text(errors="replace"))) is None:
            assert server.poll() is None, log.read_text(errors="replace")[-3_000:]
            assert time.monotonic() < end, log.read_text(errors="replace")[-3_000:]
            time.sleep(0.5)
    finally:
        os.killpg(server.pid, signal.SIGKILL)
        server.wait()
    size, longest_printed, concurrency = match.groups()
    assert int(longest_printed.replace(",", "")) == longest
    return int(size.replace(",", "")), concurrency


def environment() -> dict[str, str]:
    """Return this process's environment, offline."""
    return {**os.environ, **OFFLINE, "OMP_NUM_THREADS": "2"}


def write_model(folder: Path, config: dict[str, object]) -> None:
    """Write a configuration and a tokenizer of a few words; the weights are vLLM's own random ones."""
    folder.mkdir()
    (folder / "config.json").write_text(json.dumps({**config, "eos_token_id": 0, "pad_token_id": 0}))
    vocabulary = {"<end>": 0, **{letter: place for place, letter in enumerate("abcdefghijklmn", 1)}}
    special = {"id": 0, "content": "<end>", "special": True}
    special |= dict.fromkeys(("single_word", "lstrip", "rstrip", "normalized"), False)
    tokenizer = {
        "version": "1.0", "truncation": None, "padding": None, "added_tokens": [special], "normalizer": None,
        "pre_tokenizer": {"type": "Whitespace"}, "post_processor": None, "decoder": None,
        "model": {"type": "WordLevel", "vocab": vocabulary, "unk_token": "<end>"},
    }  # fmt: skip
    (folder / "tokenizer.json").write_text(json.dumps(tokenizer))
    names = {"tokenizer_class": "PreTrainedTokenizerFast", "eos_token": "<end>", "pad_token": "<end>"}
    (folder / "tokenizer_config.json").write_text(json.dumps(names))
