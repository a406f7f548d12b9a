"""The findings of ``shrag doctor`` about weights."""

from __future__ import annotations

from pathlib import Path

import pytest

from shrag.cli.doctor.data import check_models


@pytest.mark.parametrize(
    "folder", ["gte-multilingual-base", "gte", "models--Alibaba-NLP--gte-multilingual-base/snapshots/1"]
)
def test_a_model_without_its_weights_is_a_failure_under_each_name_that_its_folder_may_have(
    tmp_path: Path, folder: str
) -> None:
    (tmp_path / folder).mkdir(parents=True)
    (tmp_path / folder / "config.json").write_text("{}", encoding="utf-8")
    (found,) = [each for each in check_models(tmp_path) if each.status == "failure"]
    assert (found.check, found.exit_status) == ("gte-multilingual-base", 6)
    assert found.message == f"{tmp_path / folder} has no model.safetensors: copy the whole folder."
    assert found.repair.startswith("copy the model's whole folder again")


def test_without_a_folder_of_weights_nothing_fails(tmp_path: Path) -> None:
    findings = list(check_models(tmp_path / "weights"))
    assert {each.status for each in findings} == {"ok"}
    assert findings[-1].message == f"none under {tmp_path / 'weights'}: vectors and re-ranking by models need them"
