"""Wheels of a bundle: the requirements file with their hashes, the glibc they need, and the checkout they are of."""

from __future__ import annotations

import shutil
import tarfile
from importlib.metadata import version
from pathlib import Path

import pytest

from shrag.bundle.errors import BundleError
from shrag.bundle.wheelhouse import (
    build_project_wheel,
    download_pinned,
    oldest_glibc,
    project_folder,
    requirements_of,
)
from shrag.corpora.store.file_checksum import compute_checksum
from tests.conftest import ROOT
from tests.support.small_bundle import make_wheel, pip_wheel


def test_requirements_name_each_wheel_with_its_checksum(tmp_path: Path) -> None:
    wheels = [make_wheel(tmp_path, "1.0"), pip_wheel()]
    pip, project = requirements_of(wheels).decode().splitlines()
    assert project == f"shrag==1.0 --hash=sha256:{compute_checksum(wheels[0]).sha256}"
    assert pip.startswith("pip==")


_BACKEND = """\
import zipfile

def build_wheel(folder, settings=None, metadata=None):
    with zipfile.ZipFile(f"{folder}/sourceonly-1.0-py3-none-any.whl", "w") as wheel:
        info = "sourceonly-1.0.dist-info"
        wheel.writestr(f"{info}/METADATA", "Metadata-Version: 2.1\\nName: sourceonly\\nVersion: 1.0\\n")
        wheel.writestr(f"{info}/WHEEL", "Wheel-Version: 1.0\\nRoot-Is-Purelib: true\\nTag: py3-none-any\\n")
        wheel.writestr(f"{info}/RECORD", "")
    return "sourceonly-1.0-py3-none-any.whl"
"""


@pytest.mark.process
def test_a_pinned_package_that_is_published_only_as_source_is_built(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    index = tmp_path / "index"
    index.mkdir()
    shutil.copy(pip_wheel(), index)
    files = {
        "backend.py": _BACKEND,
        "pyproject.toml": '[build-system]\nrequires = []\nbuild-backend = "backend"\nbackend-path = ["."]\n',
        "PKG-INFO": "Metadata-Version: 2.1\nName: sourceonly\nVersion: 1.0\n",
    }
    with tarfile.open(index / "sourceonly-1.0.tar.gz", "w:gz") as source:
        for name, text in files.items():
            (tmp_path / name).write_text(text)
            source.add(tmp_path / name, f"sourceonly-1.0/{name}")
    pinned = tmp_path / "pinned.txt"
    digest = compute_checksum(index / "sourceonly-1.0.tar.gz").sha256
    pinned.write_text(f"sourceonly==1.0 --hash=sha256:{digest}\n")
    monkeypatch.setenv("PIP_NO_INDEX", "1")
    monkeypatch.setenv("PIP_FIND_LINKS", str(index))
    monkeypatch.setattr("shrag.bundle.wheelhouse.version", lambda _: pip_wheel().name.split("-")[1])
    found = [path.name for path in download_pinned(pinned, tmp_path / "found")]
    assert found == [pip_wheel().name, "sourceonly-1.0-py3-none-any.whl"]


@pytest.mark.parametrize(
    ("tags", "expected"),
    [
        ([], "0.0"),
        (["py3-none-any"], "0.0"),
        (["py3-none-any", "cp311-cp311-manylinux_2_28_x86_64", "cp311-cp311-manylinux2014_x86_64"], "2.28"),
        # A wheel with several tags runs with the oldest of them.
        (["cp311-cp311-manylinux1_x86_64.manylinux_2_28_x86_64.manylinux_2_5_x86_64"], "2.5"),
        (["cp311-cp311-linux_x86_64"], "0.0"),
        (["cp311-abi3-manylinux_2_9_x86_64", "cp311-abi3-manylinux_2_34_x86_64"], "2.34"),
    ],
)
def test_the_oldest_glibc_is_the_newest_that_any_wheel_asks_for(tags: list[str], expected: str) -> None:
    assert oldest_glibc([Path(f"p{number}-1.0-{tag}.whl") for number, tag in enumerate(tags)]) == expected


def test_an_installation_of_a_checkout_knows_its_folder() -> None:
    assert project_folder() == ROOT
    assert version("shrag") == "0.1.0"


def test_a_checkout_is_built_and_an_installation_of_a_wheel_asks_for_that_file(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    called: list[tuple[str, ...]] = []

    def build(*arguments: str) -> None:
        called.append(arguments)
        make_wheel(tmp_path, "1.0")

    monkeypatch.setattr("shrag.bundle.wheelhouse._pip", build)
    assert build_project_wheel(tmp_path).name == "shrag-1.0-py3-none-any.whl"
    assert called == [("wheel", "--no-deps", "--wheel-dir", str(tmp_path), str(ROOT))]
    monkeypatch.setattr("shrag.bundle.wheelhouse.project_folder", lambda: None)
    with pytest.raises(BundleError, match="name that file with --wheel"):
        build_project_wheel(tmp_path)
