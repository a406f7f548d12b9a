"""The parts of a bundle and their licenses, as a CycloneDX SBOM and as a list for people."""

from __future__ import annotations

import uuid
import zipfile
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime
from email.message import Message
from email.parser import BytesHeaderParser
from pathlib import Path

from cyclonedx.contrib.license.factories import LicenseFactory
from cyclonedx.model import HashAlgorithm, HashType
from cyclonedx.model.bom import Bom
from cyclonedx.model.component import Component, ComponentType
from cyclonedx.output.json import JsonV1Dot6
from packageurl import PackageURL
from packaging.requirements import InvalidRequirement, Requirement
from packaging.utils import canonicalize_name

from shrag.corpora.store.file_checksum import compute_checksum

_PROJECT = "shrag-bundle"
_UNKNOWN = "not stated"
_LONGEST = 100


@dataclass(frozen=True, slots=True)
class Part:
    """A part of a bundle: a package, or a model's weights.

    Attributes:
        name: Its name.
        version: Its version; empty for weights.
        licence: Its license, as its metadata state it.
        sha256: The SHA-256 of its file; empty for weights, which have several files.
        needs: The canonical names of the packages that it requires.
        kind: A library, or a machine-learning model.
    """

    name: str
    version: str
    licence: str
    sha256: str = ""
    needs: tuple[str, ...] = ()
    kind: ComponentType = ComponentType.LIBRARY


LUCENE = Part("org.apache.lucene", "9.9.1", "Apache-2.0")
"""Lucene's classes, which are inside the project's wheel."""


def describe_wheel(wheel: Path) -> Part:
    """Return the part that the metadata of a wheel describe."""
    with zipfile.ZipFile(wheel) as archive:
        name = next(each for each in archive.namelist() if each.endswith(".dist-info/METADATA"))
        metadata = BytesHeaderParser().parsebytes(archive.read(name))
    needs = (_needed(line) for line in metadata.get_all("Requires-Dist", []))
    return Part(
        canonicalize_name(metadata["Name"]),
        metadata["Version"],
        _licence(metadata),
        compute_checksum(wheel).sha256,
        tuple(sorted({need for need in needs if need})),
    )


def describe_weights(name: str, folder: Path) -> Part:
    """Return the part of a model's weights. Its license is in the head of the README, where model hubs write it."""
    try:
        lines = (folder / "README.md").read_text(encoding="utf-8", errors="replace").splitlines()[:60]
    except OSError:
        lines = []
    stated = [line.partition(":")[2].strip() for line in lines if line.startswith("license:")]
    return Part(name, "", stated[0] if stated else _UNKNOWN, kind=ComponentType.MACHINE_LEARNING_MODEL)


def licence_list(parts: Iterable[Part]) -> bytes:
    """Return a line for each part: name, version and license, separated by tabs."""
    lines = sorted(f"{part.name}\t{part.version}\t{part.licence}\n" for part in parts)
    return "".join(dict.fromkeys(lines)).encode()


def write_sbom(parts: Sequence[Part], version: str) -> bytes:
    """Return a CycloneDX 1.6 document in JSON. The same parts give the same bytes."""
    described = {f"{part.name}@{part.version}#{part.sha256[:12]}": part for part in parts}
    components = {reference: _component(reference, part) for reference, part in described.items()}
    bom = Bom(components=components.values())
    # By default, each document has a new number and the current date. These values keep a bundle's bytes the same.
    bom.serial_number = uuid.uuid5(uuid.NAMESPACE_URL, "\n".join(sorted(components)))
    bom.metadata.timestamp = datetime(1980, 1, 1, tzinfo=UTC)
    bom.metadata.component = Component(name=_PROJECT, version=version, type=ComponentType.APPLICATION, bom_ref=_PROJECT)
    bom.register_dependency(bom.metadata.component, components.values())
    for reference, part in described.items():
        needed = [each for each in components.values() if each.name in part.needs]
        bom.register_dependency(components[reference], needed)
    return JsonV1Dot6(bom).output_as_string(indent=1).encode() + b"\n"


def _component(reference: str, part: Part) -> Component:
    return Component(
        name=part.name,
        version=part.version or None,
        type=part.kind,
        bom_ref=reference,
        purl=PackageURL("pypi", name=part.name, version=part.version) if part.sha256 else None,
        licenses=[LicenseFactory().make_from_string(part.licence)],
        hashes=[HashType(alg=HashAlgorithm.SHA_256, content=part.sha256)] if part.sha256 else [],
    )


def _licence(metadata: Message) -> str:
    """Return the license: the expression of PEP 639, else the classifiers, else the first line of the old field."""
    if expression := metadata.get("License-Expression"):
        return str(expression)
    prefix = "License :: "
    named = [line.rpartition(" :: ")[2] for line in metadata.get_all("Classifier", []) if line.startswith(prefix)]
    if named := [name for name in named if name != "OSI Approved"]:
        return " AND ".join(named)
    lines = str(metadata.get("License") or "").strip().splitlines()
    return lines[0][:_LONGEST] if lines else _UNKNOWN


def _needed(line: str) -> str:
    """Return the canonical name of a required package; empty if only an extra requires it."""
    try:
        requirement = Requirement(line)
    except InvalidRequirement:
        return ""
    extra = requirement.marker is not None and "extra" in str(requirement.marker)
    return "" if extra else canonicalize_name(requirement.name)
