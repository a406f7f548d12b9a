"""Log of the model server: rotation and the last error."""

from __future__ import annotations

from pathlib import Path

from shrag.models.model_server.server import last_error_line, rotate_log


def test_the_last_line_with_an_error_is_found(tmp_path: Path) -> None:
    log = tmp_path / "vllm.log"
    log.write_text("ValueError: old\nINFO start\nRuntimeError: new\nINFO shutting down\n\n")
    assert last_error_line(log, 0) == "RuntimeError: new"
    assert last_error_line(log, log.read_text().index("INFO shut")) == "INFO shutting down"
    assert last_error_line(log, log.stat().st_size) == ""
    assert last_error_line(tmp_path / "none", 0) == ""


def test_only_the_end_of_a_long_log_is_read_and_invalid_utf8_is_replaced(tmp_path: Path) -> None:
    log = tmp_path / "vllm.log"
    log.write_bytes(b"Error: far away\n" + b"x" * 200_000 + b"\n\xff\xfe last\x1b[0m\n")
    assert last_error_line(log, 0) == "�� last [0m"


def test_rotation_keeps_five_and_makes_the_folder(tmp_path: Path) -> None:
    log = tmp_path / "llm" / "vllm.log"
    for number in range(8):
        rotate_log(log)
        log.write_text(str(number))
    assert {path.name: path.read_text() for path in log.parent.iterdir()} == {
        "vllm.log": "7",
        **{f"vllm.log.{n}": str(7 - n) for n in range(1, 6)},
    }
