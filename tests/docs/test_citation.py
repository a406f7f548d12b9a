"""``CITATION.cff`` has the fields that version 1.2.0 of the format requires, and the version of the package."""

from __future__ import annotations

import tomllib

import yaml  # type: ignore[import-untyped]

from tests.conftest import ROOT


def test_the_citation_file_is_of_the_package() -> None:
    cited = yaml.safe_load((ROOT / "CITATION.cff").read_text(encoding="utf-8"))
    project = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))["project"]
    assert {"cff-version", "message", "title", "authors"} <= set(cited)
    assert cited["cff-version"] == "1.2.0"
    assert str(cited["version"]) == project["version"]
    assert cited["license"] == project["license"]
    assert all(set(author) == {"name"} and author["name"] for author in cited["authors"])
