"""The manifest of a bundle, ``bundle.json``: all files with their SHA-256, and the machine they are made for."""

from __future__ import annotations

import hashlib
import json
import sys
from dataclasses import asdict, dataclass, field
from typing import Any

from shrag.corpora.store.archive import is_inside
from shrag.corpora.store.file_checksum import FileChecksum, decode_checksums

MANIFEST = "bundle.json"
WHEELS = "wheels"
VLLM = "vllm"
"""The folder of the wheels and the requirements of vLLM's own environment."""

FORMAT = 1


@dataclass(frozen=True, slots=True, kw_only=True)
class BundleManifest:
    """What a bundle holds.

    Attributes:
        version: SHRAG's version.
        profile: ``cpu`` or ``gpu``.
        pythons: The versions of Python for which it has wheels, such as ``3.11``.
        machine: The processor, as ``uname -m`` names it.
        glibc: The oldest glibc with which all wheels run, such as ``2.28``.
        corpora: Names of the corpora in ``corpora/NAME.tar``.
        indexes: Names of the indexes in ``indexes/NAME.tar``.
        weights: Names of the models in ``weights/NAME/``.
        base: The identifier of the bundle that this one updates; empty for a whole bundle.
        files: All files by their paths, including those that an update leaves out because its base has them.
    """

    format: int = FORMAT
    version: str
    profile: str
    pythons: tuple[str, ...]
    machine: str
    glibc: str
    corpora: tuple[str, ...] = ()
    indexes: tuple[str, ...] = ()
    weights: tuple[str, ...] = ()
    base: str = ""
    files: dict[str, FileChecksum] = field(default_factory=dict)

    @property
    def identifier(self) -> str:
        """Made from the version and the files. An update has the identifier of the whole bundle that it leads to."""
        lines = sorted(f"{file.sha256}  {name}\n" for name, file in self.files.items())
        return f"{self.version}-{hashlib.sha256(''.join(lines).encode()).hexdigest()[:12]}"

    @property
    def has_vllm(self) -> bool:
        """Whether it has an environment for vLLM."""
        return any(name.startswith(f"{VLLM}/") for name in self.files)

    def under(self, folder: str) -> dict[str, FileChecksum]:
        """Return the files in ``folder``, by their paths in it."""
        prefix = f"{folder}/"
        return {name.removeprefix(prefix): file for name, file in self.files.items() if name.startswith(prefix)}


def running_python() -> str:
    """Return the version of the running Python, such as ``3.11``."""
    return f"{sys.version_info.major}.{sys.version_info.minor}"


def requirements_file(python: str) -> str:
    """Return the path, in a bundle, of the requirements file for a version of Python."""
    return f"requirements/{python}.txt"


def encode_manifest(manifest: BundleManifest) -> bytes:
    """Encode a manifest as JSON."""
    return json.dumps(asdict(manifest), ensure_ascii=False, indent=1).encode() + b"\n"


def decode_manifest(data: bytes) -> BundleManifest:
    """Decode a manifest; raises ``ValueError``, ``TypeError``, ``KeyError`` or ``AttributeError`` for other data."""
    values: dict[str, Any] = json.loads(data)
    files = decode_checksums(values.pop("files"))
    lists = {name: tuple(values[name]) for name in ("pythons", "corpora", "indexes", "weights")}
    manifest = BundleManifest(**{**values, **lists}, files=files)
    texts = (manifest.version, manifest.profile, manifest.machine, manifest.glibc, manifest.base)
    for text in (*texts, *(each for names in lists.values() for each in names)):
        if not isinstance(text, str) or "/" in text or text.startswith("."):
            raise ValueError(f"{text!r} stands where a name should")
    for name in files:  # the archive checks its own names, but an update does not have all of these files
        if not is_inside(name):
            raise ValueError(f"{name[:100]!r} is outside its folder")
    return manifest
