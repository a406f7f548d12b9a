"""Wheels of a bundle: the requirements file with their hashes, the glibc they need, and the checkout they are of."""

from __future__ import annotations

from importlib.metadata import version
from pathlib import Path

import pytest

from shrag.bundle.wheelhouse import oldest_glibc, project_folder, requirements_of
from shrag.corpora.store.file_checksum import compute_checksum
from tests.conftest import ROOT
from tests.support.small_bundle import make_wheel, pip_wheel


def test_requirements_name_each_wheel_with_its_checksum(tmp_path: Path) -> None:
    wheels = [make_wheel(tmp_path, "1.0"), pip_wheel()]
    pip, project = requirements_of(wheels).decode().splitlines()
    assert project == f"shrag==1.0 --hash=sha256:{compute_checksum(wheels[0]).sha256}"
    assert pip.startswith("pip==")


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
