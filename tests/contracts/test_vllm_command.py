"""The command that a plan prints, against vLLM's own parser; ``SHRAG_VLLM_PYTHON`` names a Python that has vLLM."""

from __future__ import annotations

import json
import os
import shlex
import subprocess

import pytest

from shrag.cli.main import run
from shrag.models.memory_plan.byte_sizes import MIB
from shrag.models.model_server.command import OFFLINE

pytestmark = pytest.mark.vllm

# The parser has moved between versions.
PARSE = """
import importlib, json, sys
for name in ("launchers", "openai"):
    try:
        parsing = importlib.import_module(f"vllm.entrypoints.{name}.cli_args")
        break
    except ModuleNotFoundError:
        pass
from vllm.utils.argparse_utils import FlexibleArgumentParser
args = parsing.make_arg_parser(FlexibleArgumentParser()).parse_args(sys.argv[1:])
parsing.validate_parsed_serve_args(args)
print(json.dumps({
    "pool": args.kv_cache_memory_bytes, "share": args.gpu_memory_utilization, "sequences": args.max_num_seqs,
    "context": args.max_model_len, "batch": args.max_num_batched_tokens, "prefixes": args.enable_prefix_caching,
    "dtype": args.kv_cache_dtype, "eager": args.enforce_eager, "text": args.language_model_only,
    "thinking": args.default_chat_template_kwargs, "socket": args.uds,
    "short": args.structured_outputs_config.disable_any_whitespace,
}))
"""


@pytest.mark.parametrize(
    ("arguments", "expected"),
    [
        (
            ["--kv-cache-dtype", "fp8", "--enforce-eager"],
            {
                "pool": 12_096 * MIB,
                "share": 0.301,
                "sequences": 16,
                "context": 16_384,
                "batch": 8_192,
                "prefixes": False,
            }
            | {"dtype": "fp8", "eager": True, "text": True, "thinking": {"enable_thinking": False}, "short": True},
        ),
        (
            ["--llm", "qwen3-30b-a3b-2507-fp8", "--max-model-len", "8192"],
            {"pool": 10_051 * MIB, "share": 0.301, "sequences": 13, "context": 8_192, "batch": 8_192, "prefixes": None}
            | {"dtype": "auto", "eager": False, "text": False, "thinking": None, "short": True},
        ),
    ],
)
def test_vllm_reads_the_command_as_it_was_meant(
    capsys: pytest.CaptureFixture[str], arguments: list[str], expected: dict[str, object]
) -> None:
    python = os.environ.get("SHRAG_VLLM_PYTHON")
    if not python:
        pytest.skip("SHRAG_VLLM_PYTHON names no Python with vLLM")
    assert run(["plan", "--card", "H200", "--command", *arguments]) == 0
    words = shlex.split(capsys.readouterr().out)
    own = words[words.index("vllm.entrypoints.openai.api_server") + 1 :]
    environment = {**os.environ, **OFFLINE}
    done = subprocess.run(
        [python, "-c", PARSE, *own], capture_output=True, text=True, check=False, env=environment, timeout=240
    )
    assert done.returncode == 0, done.stderr[-3_000:]
    read = json.loads(done.stdout.splitlines()[-1])
    assert read.pop("socket") == own[own.index("--uds") + 1]
    assert read == expected
