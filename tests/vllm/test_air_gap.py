"""SHRAG and a real vLLM where there is only the loopback device: neither connects to anything else."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest

from tests.conftest import ROOT
from tests.support.connections import TRACED, connections, require_namespaces
from tests.vllm.conftest import FLAGS, PYTHON

pytestmark = pytest.mark.vllm


def test_a_model_that_the_server_starts_answers_and_nothing_leaves_the_machine(
    weights: Path, demo_home: Path, tmp_path: Path
) -> None:
    require_namespaces()
    (tmp_path / "shrag.toml").write_text(
        f"""[llm]
command = "{PYTHON} -m vllm.entrypoints.openai.api_server"
weights = "{weights}"
flags = "{" ".join(FLAGS)}"
max_tokens = 64
"""
    )
    traces = tmp_path / "traces"
    traces.mkdir()
    command = ["unshare", "--net", sys.executable, "-m", "tests.vllm.far_side", str(tmp_path), str(traces / "a.strace")]
    environment = {**os.environ, "SHRAG_HOME": str(demo_home), "HF_HUB_OFFLINE": ""}
    done = subprocess.run([*command, *TRACED], capture_output=True, text=True, check=False, cwd=ROOT, env=environment)
    assert done.returncode == 0, done.stderr
    assert done.stdout.strip() == "tiny-qwen3", done.stderr
    calls, addresses = connections(traces)
    assert calls > 10
    assert addresses == set()
