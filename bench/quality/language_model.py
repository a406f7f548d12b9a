"""Benchmark of a language model on a GPU under its memory plan (`make bench-llm`).

SHRAG's own supervisor starts vLLM with the options of `shrag plan`. As in the plan, an encoder and a re-ranker are on
the same card. The memory in use is compared with the plan. Then prompts of several lengths are timed, one at a time and
as many at once as the plan allows. Without `--weights` the model has a profile's shape and random weights
(`--load-format dummy`). It is as large and as fast as the trained model, but its answers mean nothing.
"""

from __future__ import annotations

import argparse
import json
import os
import tempfile
import threading
import time
import tomllib
from collections.abc import Callable, Iterator, Mapping
from concurrent.futures import ThreadPoolExecutor
from contextlib import closing, contextmanager
from dataclasses import replace
from datetime import UTC, datetime
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
import torch
from tokenizers import Tokenizer, decoders, models, pre_tokenizers, trainers

from bench.data import DEMO
from bench.quality.gpu import random_passages, write_random_mgte
from shrag.models.chat.settings import LlmSettings
from shrag.models.encoders.choice import choose_encoder
from shrag.models.encoders.transformer import TransformerEncoder, load_encoder
from shrag.models.language_model import Completion, Message
from shrag.models.memory_plan.byte_sizes import gib, parse_size
from shrag.models.memory_plan.gpu_use import compare_use, read_gpu, to_gpu_card
from shrag.models.memory_plan.model_size import find_language_model
from shrag.models.memory_plan.plan import MemoryPlan, PlanRequest
from shrag.models.memory_plan.retrieval_memory import DEFAULT_ENCODER, DEFAULT_RERANKER, retrieval_parts
from shrag.models.memory_plan.suggestions import plan_memory
from shrag.models.model_server.command import memory_flags
from shrag.models.model_server.served_model import ServedModel
from shrag.models.model_server.server import ModelServer, ServerState, SupervisionPolicy

SHAPES = Path(__file__).with_name("random_models.toml")
SPECIAL = ["<|endoftext|>", "<|im_start|>", "<|im_end|>"]
CHAT_TEMPLATE = (
    "{% for message in messages %}<|im_start|>{{ message['role'] }}\n{{ message['content'] }}<|im_end|>\n{% endfor %}"
    "{% if add_generation_prompt %}<|im_start|>assistant\n{% endif %}"
)
BATCH_TOKENS = 32_768
ANSWER = 256
SCHEMA = {
    "type": "object",
    "properties": {"answer": {"type": "string", "maxLength": 400}},
    "required": ["answer"],
    "additionalProperties": False,
}


class Load(NamedTuple):
    """Requests that are sent at once: their number, and the tokens of each prompt."""

    requests: int
    tokens: int


def main() -> None:
    """Print the plan, the memory in use at each step, and the speeds."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--llm", default="qwen3.8-27b-fp8", help="the profile to plan (%(default)s)")
    parser.add_argument("--weights", type=Path, help="the folder of its weights; without it they are random")
    parser.add_argument("--budget", default="50GB", help="memory for all of SHRAG (%(default)s)")
    parser.add_argument("--python", default=".venv-vllm-gpu/bin/python", help="vLLM's Python (%(default)s)")
    parser.add_argument("--prompts", type=int, nargs="+", default=[1_024, 4_096, 8_192], help="tokens (%(default)s)")
    parser.add_argument("--flags", default="", help="further options of vLLM")
    parser.add_argument("--log", type=Path, default=Path("vllm.log"), help="vLLM's log (%(default)s)")
    chosen = parser.parse_args()
    with tempfile.TemporaryDirectory() as name:
        folder = chosen.weights or write_random_model(Path(name) / chosen.llm, chosen.llm)
        plan = make_plan(chosen.llm, folder, chosen.budget)
        card = read_gpu()
        print(f"{card.name}, {datetime.now(UTC):%Y-%m-%d}: {chosen.llm} within {chosen.budget}")
        print(f"options of vLLM: {' '.join(memory_flags(plan))}", flush=True)
        retrieval = measure_retrieval(Path(name), plan)
        settings = LlmSettings(
            command=[chosen.python, "-m", "vllm.entrypoints.openai.api_server"],
            weights=str(folder),
            flags=[*memory_flags(plan), *chosen.flags.split(), *([] if chosen.weights else ["--load-format", "dummy"])],
            log=str(chosen.log.absolute()),
            keyword_timeout=300.0,  # the benchmark waits for whole answers
        )
        settled = threading.Event()

        def on_change(state: ServerState) -> None:
            if state.phase in {"ready", "down"}:
                settled.set()

        policy = SupervisionPolicy(tries=1)
        with peak_use() as peak, ModelServer(settings, Path(name), policy=policy, on_change=on_change) as server:
            started = time.perf_counter()
            settled.wait(settings.start_timeout)
            if server.state.phase != "ready":
                raise SystemExit(f"vLLM did not start: {server.state.text}")
            print(f"vLLM is ready after {time.perf_counter() - started:.0f} s")
            print(f"  the card's memory: {compare_use(plan, read_gpu()).text}", flush=True)
            with closing(ServedModel(settings, server)) as model:
                measure_speed(model, plan, chosen.prompts)
            print(f"at the end: {compare_use(plan, read_gpu()).text}")
        print(f"peak: {gib(peak())}, budget {gib(plan.request.budget)}, beside {len(retrieval)} encoders", flush=True)


def make_plan(profile: str, folder: Path, budget: str) -> MemoryPlan:
    """Plan a profile on this machine's card, beside the default encoder and re-ranker."""
    request = PlanRequest(
        card=to_gpu_card(read_gpu()),
        budget=parse_size(budget),
        model=replace(find_language_model(profile, Path()), path=str(folder)),
        retrieval=retrieval_parts([DEFAULT_ENCODER], DEFAULT_RERANKER, [], Path()),
    )
    return plan_memory(request)


def measure_retrieval(folder: Path, plan: MemoryPlan) -> list[TransformerEncoder]:
    """Load an encoder and a network of the re-ranker's size, encode full batches, and print the memory in use.

    Both are returned, since they take memory only as long as they are held.
    """
    before = read_gpu().used
    weights = write_random_mgte(folder / "random-mgte", {})
    loaded = [load_encoder(choose_encoder(str(weights), folder), "cuda") for _ in range(2)]
    loaded[0].encode_passages(random_passages(4 * BATCH_TOKENS // 256, 256))
    torch.cuda.synchronize()
    planned = sum(part.size for part in plan.request.retrieval)
    used = read_gpu().used - before
    print(
        f"retrieval: {gib(used)} in use, {gib(torch.cuda.max_memory_allocated())} of them by tensors; planned "
        f"{gib(planned)}",
        flush=True,
    )
    return loaded


@contextmanager
def peak_use() -> Iterator[Callable[[], int]]:
    """Watch the memory in use on the card, and yield a function that returns its highest value in bytes."""
    highest, done = [0], threading.Event()

    def watch() -> None:
        while not done.wait(0.5):
            highest[0] = max(highest[0], read_gpu().used)

    thread = threading.Thread(target=watch, daemon=True)
    thread.start()
    try:
        yield lambda: highest[0]
    finally:
        done.set()
        thread.join()


def measure_speed(model: ServedModel, plan: MemoryPlan, lengths: list[int]) -> None:
    """Time prompts and answers, one and several at once, and then answers that follow a schema."""
    texts = prompt_source()
    ask(model, texts, Load(1, lengths[0]), ANSWER)
    print(f"\nprompts and answers of {ANSWER} tokens, {plan.max_num_seqs} at most at once")
    print(f"{'at once':>8} {'prompt':>7} {'first token, s':>15} {'whole, s':>9} {'tokens/s each':>14} {'in all':>8}")
    for requests in sorted({1, plan.max_num_seqs // 2, plan.max_num_seqs}):
        for tokens in lengths:
            load = Load(requests, tokens)
            first, _ = ask(model, texts, load, 1)
            whole, done = ask(model, texts, load, ANSWER + 1)
            prompt = float(np.mean([each.prompt_tokens for each in done]))
            each = np.mean([(each.completion_tokens - 1) / (each.seconds - first) for each in done])
            made = sum(each.completion_tokens for each in done)
            print(
                f"{requests:8} {prompt:7,.0f} {first:15.3f} {whole:9.2f} {each:14.1f} {made / whole:8.1f}", flush=True
            )
    for requests in (1, plan.max_num_seqs):
        load = Load(requests, lengths[0])
        seconds, done = ask(model, texts, load, 2 * ANSWER, SCHEMA)
        valid = sum(is_object(each.text) for each in done)
        tokens = sum(each.completion_tokens for each in done)
        print(f"by schema, {requests} at once: {tokens / seconds:.1f} tokens/s in all, {valid} of {requests} whole")


def ask(
    model: ServedModel,
    texts: Callable[[int], str],
    load: Load,
    answer: int,
    schema: Mapping[str, object] | None = None,
) -> tuple[float, list[Completion]]:
    """Send requests at once; return the seconds until all are answered, and the answers.

    An answer has at most ``answer`` tokens.
    """
    prompts = [[Message("user", texts(load.tokens))] for _ in range(load.requests)]
    started = time.perf_counter()
    with ThreadPoolExecutor(load.requests) as pool:
        done = list(pool.map(lambda prompt: model.complete(prompt, schema, max_tokens=answer), prompts))
    return time.perf_counter() - started, done


def is_object(text: str) -> bool:
    """Return whether an answer is a whole JSON object."""
    try:
        return isinstance(json.loads(text), dict)
    except ValueError:
        return False


def prompt_source() -> Callable[[int], str]:
    """Return a function that makes prompts of a number of tokens from random places of the demonstration records."""
    tokenizer, whole = train_tokenizer(), "\n".join(record_texts())
    offsets = tokenizer.encode(whole + whole).offsets
    rng = np.random.default_rng(0)

    def make(tokens: int) -> str:
        start = int(rng.integers(len(offsets) - tokens))
        return (whole + whole)[offsets[start][0] : offsets[start + tokens - 16][0]]

    return make


def record_texts() -> list[str]:
    """Return every text of the demonstration records."""
    lines = (DEMO / "records.jsonl").read_text(encoding="utf-8").splitlines()
    return [value for line in lines for value in json.loads(line).values() if isinstance(value, str)]


def train_tokenizer(size: int = 1_024) -> Tokenizer:
    """Train a byte-level BPE on the demonstration records."""
    tokenizer = Tokenizer(models.BPE())
    tokenizer.pre_tokenizer = pre_tokenizers.ByteLevel(add_prefix_space=False)
    tokenizer.decoder = decoders.ByteLevel()
    alphabet = pre_tokenizers.ByteLevel.alphabet()
    trainer = trainers.BpeTrainer(
        vocab_size=size, special_tokens=SPECIAL, initial_alphabet=alphabet, show_progress=False
    )
    tokenizer.train_from_iterator(record_texts(), trainer)
    return tokenizer


def write_random_model(folder: Path, profile: str) -> Path:
    """Write a profile's configuration, and a tokenizer whose vocabulary is as large as the model's."""
    folder.mkdir()
    shape: dict[str, Any] = tomllib.loads(SHAPES.read_text())[profile]
    config = shape["config"]
    text = config.get("text_config", config)
    layers = range(text["num_hidden_layers"])
    kept = [name.format(layer=layer) for name in shape["unquantized"] for layer in (layers if "{" in name else [0])]
    config["quantization_config"] = {
        "quant_method": "fp8",
        "fmt": "e4m3",
        "activation_scheme": "dynamic",
        "weight_block_size": [128, 128],
        "modules_to_not_convert": kept,
    }
    text["eos_token_id"] = SPECIAL.index("<|im_end|>")
    (folder / "config.json").write_text(json.dumps(config))
    tokenizer = json.loads(train_tokenizer().to_str())
    vocabulary = tokenizer["model"]["vocab"]
    # A random model writes any token, so each must be text.
    vocabulary |= {f"unused{number}": number for number in range(len(vocabulary), text["vocab_size"])}
    (folder / "tokenizer.json").write_text(json.dumps(tokenizer))
    settings = {
        "tokenizer_class": "PreTrainedTokenizerFast",
        "eos_token": "<|im_end|>",
        "pad_token": "<|endoftext|>",
        "chat_template": CHAT_TEMPLATE,
    }
    (folder / "tokenizer_config.json").write_text(json.dumps(settings))
    return folder


if __name__ == "__main__":
    os.environ["TOKENIZERS_PARALLELISM"] = "false"
    main()
