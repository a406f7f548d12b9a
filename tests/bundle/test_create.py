"""Making a bundle: which folders it carries, and under which names. Packages are collected by ``make airgap-test``."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

import shrag.bundle.create
from shrag.bundle.create import BundleOptions, _add_packages, create_bundle
from shrag.bundle.errors import BundleError
from shrag.bundle.installer.check import check_bundle
from shrag.bundle.installer.manifest import running_python
from shrag.bundle.sbom import Part
from shrag.models.encoders.catalog import read_catalog
from tests.support.small_bundle import make_wheel


@pytest.fixture(autouse=True)
def no_packages(monkeypatch: pytest.MonkeyPatch) -> None:
    """Leave the packages out, for which pip would need an index."""
    monkeypatch.setattr(shrag.bundle.create, "_add_packages", lambda *_: "2.17")


def _folder(path: Path, **files: str) -> Path:
    path.mkdir(parents=True)
    for name, text in files.items():
        (path / name).write_text(text)
    return path


def test_folders_of_questions_of_one_name_are_refused_and_not_mixed(tmp_path: Path) -> None:
    bundle = tmp_path / "a.tar"
    first, second = _folder(tmp_path / "one" / "test", topics="1"), _folder(tmp_path / "two" / "test", qrels="2")
    with pytest.raises(BundleError, match=f"{first} and {second} have the same name"):
        create_bundle(bundle, tmp_path, BundleOptions(questions=(first, second)))
    assert not bundle.exists()
    create_bundle(bundle, tmp_path, BundleOptions(questions=(first, first, second.rename(tmp_path / "other"))))
    carried = [name for name in check_bundle(bundle).files if name.startswith("questions/")]
    assert carried == ["questions/other/qrels", "questions/test/topics"]


def test_weights_are_carried_under_every_name_by_which_they_are_found(tmp_path: Path) -> None:
    catalog = read_catalog()
    names = [card.name for card in (*catalog.encoders, *catalog.rerankers)] + ["models--nlpai-lab--KURE-v1"]
    for name in names:
        _folder(tmp_path / "weights" / name, **{"config.json": "{}"})
    assert create_bundle(tmp_path / "a.tar", tmp_path, BundleOptions(weights=tuple(names))).weights == tuple(names)
    assert {f"weights/{name}/config.json" for name in names} <= check_bundle(tmp_path / "a.tar").files.keys()


@pytest.mark.parametrize("chosen", [{"vllm": Path("vllm.txt")}, {"profile": "gpu"}])
def test_vllm_is_not_promised_to_another_python_than_the_one_that_it_is_fetched_for(
    tmp_path: Path, chosen: dict[str, Any]
) -> None:
    other = {"3.11", "3.12"} - {running_python()}
    for pythons in ((*other,), (running_python(), *other)):
        with pytest.raises(BundleError, match=f"vLLM are fetched for Python {running_python()}, which runs"):
            create_bundle(tmp_path / "a.tar", tmp_path, BundleOptions(pythons=pythons, **chosen))
    create_bundle(tmp_path / "a.tar", tmp_path, BundleOptions(pythons=(running_python(),), **chosen))


@pytest.mark.parametrize("name", ["", "..", ".cache", "../corpora", "/tmp"])
def test_weights_outside_their_folder_are_refused(tmp_path: Path, name: str) -> None:
    with pytest.raises(BundleError, match="is not the name of a folder under weights"):
        create_bundle(tmp_path / "a.tar", tmp_path, BundleOptions(weights=(name,)))


@pytest.mark.parametrize("given", [True, False])
def test_the_projects_wheel_is_the_one_named_or_else_is_built(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, given: bool
) -> None:
    named, built = make_wheel(tmp_path, "1.0"), make_wheel(tmp_path, "2.0")
    monkeypatch.setattr(shrag.bundle.create, "build_project_wheel", lambda _: built)
    monkeypatch.setattr(shrag.bundle.create, "collect_wheels", lambda project, *_: {running_python(): [project]})
    content: dict[str, Path | bytes] = {}
    parts: list[Part] = []
    options = BundleOptions(wheel=named if given else None)
    _add_packages(content, parts, options, [running_python()], tmp_path, lambda _: None)
    wheel = named if given else built
    assert content[f"wheels/{wheel.name}"] == wheel
    assert [part.version for part in parts] == ["1.0" if given else "2.0"]
