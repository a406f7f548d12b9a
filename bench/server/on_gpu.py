"""Benchmark of all of SHRAG on one GPU: index the demonstration records with an encoder, serve them, search and ask.

    python -m bench.server.on_gpu [--llm PROFILE] [--budget SIZE] [--python PYTHON] [--flags FLAGS]
                                  [--seconds N]

`shrag-serve` plans the memory, starts vLLM, and has an encoder and a cross-encoder on the same card. All three have
random weights, so only memory and times mean anything. Such a language model writes until it may write no more, most
of what it writes is rejected, and the answer is then extractive. So a search waits for two responses of
:data:`RESPONSE_TOKENS`, and an answer for up to four.
"""

from __future__ import annotations

import argparse
import asyncio
import json
import os
import shlex
import subprocess
import tempfile
import time
import urllib.request
from collections import Counter
from collections.abc import Callable
from datetime import UTC, datetime
from itertools import cycle
from pathlib import Path

from transformers import GteForSequenceClassification

from bench.quality.gpu import write_random_mgte
from bench.quality.language_model import peak_use, write_random_model
from bench.server.http_client import LoadResult, ask_concurrently, connection, percentile, post
from bench.server.load import TOPICS
from bench.server.served import SERVER, RunningServer, run_server
from shrag.corpora.formats.topics import read_topics
from shrag.models.memory_plan.byte_sizes import gib, parse_size
from shrag.models.memory_plan.gpu_use import read_gpu
from shrag.models.memory_plan.model_size import find_language_model

SEARCHES, SEARCHES_WITH_MODEL, ASKS = 60, 10, 4
SEARCHING, ASKING = 16, 9
RESPONSE_TOKENS = 128
LONGEST_START = 900


def main() -> None:
    """Print the time of each step, and the memory in use."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--llm", default="qwen3.8-27b-fp8", help="the profile to serve (%(default)s)")
    parser.add_argument("--budget", default="50GB", help="memory for all of SHRAG (%(default)s)")
    parser.add_argument("--python", default=".venv-vllm-gpu/bin/python", help="vLLM's Python (%(default)s)")
    parser.add_argument("--flags", default="", help="further options of vLLM")
    parser.add_argument("--seconds", type=int, default=60, help="how long several clients search (%(default)s)")
    parser.add_argument("--small", action="store_true", help="a tiny encoder and cross-encoder")
    chosen = parser.parse_args()
    tiny = {"hidden_size": 64, "num_hidden_layers": 2, "num_attention_heads": 2, "intermediate_size": 128}
    shape = tiny if chosen.small else {}
    print(f"{read_gpu().name}, {datetime.now(UTC):%Y-%m-%d}: {chosen.llm} within {chosen.budget}", flush=True)
    questions = [topic.text for topic in read_topics(TOPICS)]
    with tempfile.TemporaryDirectory() as name, peak_use() as peak:
        home = Path(name)
        encoder = write_random_mgte(home / "random-encoder", shape)
        reranker = write_random_mgte(home / "random-reranker", shape | {"num_labels": 1}, GteForSequenceClassification)
        model = write_random_model(home / "random-llm", chosen.llm)
        write_empty_weights(model / "model.safetensors", find_language_model(chosen.llm, Path()).weights)
        os.environ |= {
            "SHRAG_HOME": str(home),
            "SHRAG_LLM_COMMAND": shlex.join([*shlex.split(chosen.python), "-m", "vllm.entrypoints.openai.api_server"]),
            "SHRAG_LLM_WEIGHTS": str(model),
            "SHRAG_LLM_BUDGET": chosen.budget,
            "SHRAG_LLM_FLAGS": shlex.join([*chosen.flags.split(), "--load-format", "dummy"]),
            "SHRAG_LLM_MAX_TOKENS": str(RESPONSE_TOKENS),
        }
        started = time.perf_counter()
        build = [str(SERVER.with_name("shrag")), "index", "demo", "--encoder", str(encoder)]
        subprocess.run(build, check=True, stdout=subprocess.DEVNULL)
        print(f"index with vectors: {time.perf_counter() - started:.0f} s, peak {gib(peak())}", flush=True)
        started = time.perf_counter()
        with run_server("demo", ["--no-cache", "--reranker", str(reranker)]) as server:
            print(f"answers without the language model: after {time.perf_counter() - started:.0f} s", flush=True)
            asyncio.run(measure_alone(server, questions, SEARCHES, 0))
            asyncio.run(measure_together(server, questions, 0, chosen.seconds))
            print(f"in use {gib(read_gpu().used)}, with what the language model has taken so far", flush=True)
            wait_for_model(server)
            print(
                f"answers with it: after {time.perf_counter() - started:.0f} s, in use {gib(read_gpu().used)}",
                flush=True,
            )
            asyncio.run(measure_alone(server, questions, SEARCHES_WITH_MODEL, ASKS))
            asyncio.run(measure_together(server, questions, ASKING, chosen.seconds))
            print(f"at the end: in use {gib(read_gpu().used)}; the server's own memory {server.memory():.0f} MiB")
            print(f"health: {health(server)}")
        print(f"peak: {gib(peak())}, budget {gib(parse_size(chosen.budget))}", flush=True)


def write_empty_weights(path: Path, size: int) -> None:
    """Write a file of weights with one tensor of ``size`` bytes that takes no room, for a plan to read its size."""
    header = json.dumps({"weights": {"dtype": "I8", "shape": [size], "data_offsets": [0, size]}}).encode()
    with path.open("wb") as file:
        file.write(len(header).to_bytes(8, "little") + header)
        file.truncate(8 + len(header) + size)


def health(server: RunningServer) -> dict[str, object]:
    """Return what the server says about itself, without its indexes."""
    with urllib.request.urlopen(f"http://127.0.0.1:{server.port}/health", timeout=30) as response:
        said: dict[str, object] = json.load(response)
    return {key: value for key, value in said.items() if key not in {"indexes", "endpoints"}}


def wait_for_model(server: RunningServer) -> None:
    """Wait until the language model is ready; end where it stopped or takes too long."""
    end = time.monotonic() + LONGEST_START
    while (said := health(server))["generator_status"] != "ready":
        if time.monotonic() > end or "restart" in str(said["generator_failure"]):
            raise SystemExit(f"The language model is not ready: {said['generator_failure']}")
        time.sleep(1)


async def measure_alone(server: RunningServer, questions: list[str], searches: int, asks: int) -> None:
    """Time searches and answers that are asked one after the other."""
    async with connection(server.port) as (reader, writer):
        for path, asked in (("/v1/search", questions[:searches]), ("/v1/ask", questions[:asks])):
            seconds, kinds = [], Counter[str]()
            for question in asked:
                started = time.perf_counter()
                status, body = await post(reader, writer, path, {"question": question})
                seconds.append(time.perf_counter() - started)
                kinds[json.loads(body)["answer"]["kind"] if path == "/v1/ask" and status == 200 else str(status)] += 1
            if asked:
                p50, p95 = percentile(seconds, 50), percentile(seconds, 95)
                print(f"{path}, one at a time: p50 {p50:.3f} s, p95 {p95:.3f} s; {dict(kinds)}", flush=True)


async def measure_together(server: RunningServer, questions: list[str], asking: int, seconds: int) -> None:
    """Search from :data:`SEARCHING` clients while ``asking`` ask."""
    turn, kinds = cycle(questions), Counter[str]()

    def count(_: object, body: bytes) -> str:
        kinds[json.loads(body)["answer"]["kind"]] += 1
        return ""

    async def load(path: str, clients: int, judge: Callable[[object, bytes], str]) -> LoadResult:
        return await ask_concurrently(server.port, path, clients, seconds, lambda: {"question": next(turn)}, judge)

    searched, asked = await asyncio.gather(load("/v1/search", SEARCHING, lambda *_: ""), load("/v1/ask", asking, count))
    print(f"/v1/search, {SEARCHING} clients: {searched}", flush=True)
    if asking:
        print(f"/v1/ask, {asking} clients: {asked}; {dict(kinds)}", flush=True)


if __name__ == "__main__":
    main()
