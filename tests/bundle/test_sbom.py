"""The list of parts and licences: valid CycloneDX, complete, the same each time."""

from __future__ import annotations

import json
from email.message import Message
from pathlib import Path

import pytest
from cyclonedx.schema import SchemaVersion
from cyclonedx.validation.json import JsonStrictValidator

from shrag.bundle.sbom import LUCENE, Part, _licence, describe_weights, describe_wheel, licence_list, write_sbom
from tests.support.small_bundle import make_wheel, pip_wheel


def _parts(tmp_path: Path) -> list[Part]:
    (tmp_path / "mgte").mkdir()
    (tmp_path / "mgte" / "README.md").write_text("---\nlicense: apache-2.0\ntags: []\n---\n")
    project = describe_wheel(make_wheel(tmp_path, "1.0"))
    return [LUCENE, describe_wheel(pip_wheel()), project, describe_weights("mgte", tmp_path / "mgte")]


def test_the_sbom_is_valid_has_every_part_and_is_the_same_each_time(tmp_path: Path) -> None:
    parts = _parts(tmp_path)
    data = write_sbom(parts, "1.0")
    assert write_sbom(parts, "1.0") == data
    assert JsonStrictValidator(SchemaVersion.V1_6).validate_str(data.decode()) is None
    components = {each["name"]: each for each in json.loads(data)["components"]}
    assert components.keys() == {"org.apache.lucene", "pip", "shrag", "mgte"}
    assert components["shrag"]["hashes"][0]["content"] == parts[2].sha256
    assert components["shrag"]["licenses"] == [{"license": {"id": "Apache-2.0"}}]
    assert components["shrag"]["purl"] == "pkg:pypi/shrag@1.0"
    assert components["mgte"]["type"] == "machine-learning-model"
    assert "purl" not in components["mgte"]
    (whole,) = (each for each in json.loads(data)["dependencies"] if each["ref"] == "shrag-bundle")
    assert len(whole["dependsOn"]) == 4


def test_what_a_package_needs_is_a_dependency_in_the_sbom(tmp_path: Path) -> None:
    parts = [Part("a", "1", "MIT", "0" * 64, needs=("b",)), Part("b", "2", "MIT", "1" * 64)]
    dependencies = {
        each["ref"]: each.get("dependsOn", []) for each in json.loads(write_sbom(parts, "1"))["dependencies"]
    }
    assert dependencies["a@1#" + "0" * 12] == ["b@2#" + "1" * 12]


def test_the_list_to_read_has_a_line_for_each_part(tmp_path: Path) -> None:
    lines = licence_list(_parts(tmp_path)).decode().splitlines()
    assert lines[0] == "mgte\t\tapache-2.0"
    assert lines[1] == "org.apache.lucene\t9.9.1\tApache-2.0"
    assert [line.split("\t")[0] for line in lines[2:]] == ["pip", "shrag"]
    assert lines[3].endswith("\tApache-2.0")


def test_weights_without_a_readme_have_no_stated_licence(tmp_path: Path) -> None:
    assert describe_weights("x", tmp_path).licence == "not stated"


@pytest.mark.parametrize(
    ("headers", "licence"),
    [
        ([("License-Expression", "MIT"), ("License", "old")], "MIT"),
        ([("Classifier", "License :: OSI Approved :: MIT License"), ("License", "old")], "MIT License"),
        ([("Classifier", "License :: OSI Approved"), ("License", "BSD\nand its whole text")], "BSD"),
        (
            [("Classifier", f"License :: OSI Approved :: {name} License") for name in ("MIT", "Zlib")],
            "MIT License AND Zlib License",
        ),
        ([("Classifier", "Topic :: License")], "not stated"),
    ],
)
def test_a_licence_is_the_expression_else_the_classifiers_else_the_first_line_of_the_field(
    headers: list[tuple[str, str]], licence: str
) -> None:
    metadata = Message()
    for name, value in headers:
        metadata.add_header(name, value)
    assert _licence(metadata) == licence
