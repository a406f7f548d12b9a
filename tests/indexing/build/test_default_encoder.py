from __future__ import annotations

import shutil
from pathlib import Path

import pytest

from shrag.indexing.build import default_encoder as module
from shrag.indexing.build.default_encoder import default_encoder


def _choose(weights: Path) -> tuple[str, str]:
    """Return the choice and the only sentence about it."""
    said: list[str] = []
    choice = default_encoder("sci", weights, said.append)
    (sentence,) = said
    assert "\n" not in sentence
    return choice, sentence


def test_without_weights_the_index_has_no_vectors_and_one_line_says_why(tmp_path: Path) -> None:
    choice, sentence = _choose(tmp_path / "weights")
    assert choice == "none"
    assert sentence == (
        f"No vectors for index sci: {tmp_path / 'weights'} has no encoder's weights (docs/en/reference/encoders.md)."
    )


def test_the_only_encoder_is_taken(tmp_path: Path, encoder_folder: Path) -> None:
    folder = Path(shutil.copytree(encoder_folder, tmp_path / "tiny-encoder"))
    assert _choose(tmp_path) == (
        str(folder),
        f"Vectors for index sci by the encoder {folder} in {tmp_path}; `--encoder none` leaves them out.",
    )


def test_of_several_none_is_taken_and_the_user_is_asked(tmp_path: Path, encoder_folder: Path) -> None:
    shutil.copytree(encoder_folder, tmp_path / "tiny-encoder")
    (tmp_path / "bge-m3").mkdir()
    choice, sentence = _choose(tmp_path)
    assert choice == "none"
    assert f"has several encoders (bge-m3, {tmp_path / 'tiny-encoder'})" in sentence
    assert "`shrag index sci --encoder NAME`." in sentence


def test_without_torch_the_way_out_is_said(
    tmp_path: Path, encoder_folder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    shutil.copytree(encoder_folder, tmp_path / "tiny-encoder")
    monkeypatch.setattr(module, "missing_packages", lambda: ["torch"])
    choice, sentence = _choose(tmp_path)
    assert choice == "none"
    assert "but torch is not installed: `pip install 'shrag[models,cpu]'`." in sentence


def test_weights_that_are_incomplete_are_named(tmp_path: Path) -> None:
    (tmp_path / "bge-m3").mkdir()
    choice, sentence = _choose(tmp_path)
    assert choice == "none"
    assert str(tmp_path / "bge-m3") in sentence
    assert "copy the whole folder" in sentence
