"""Make a bundle: wheels, weights, corpora, indexes and configuration in one archive, and the installer beside it."""

from __future__ import annotations

import platform
import tempfile
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from importlib.metadata import version
from importlib.resources import files
from pathlib import Path

from shrag.bundle.errors import BundleError
from shrag.bundle.installer.main import installer_path
from shrag.bundle.installer.manifest import (
    MANIFEST,
    VLLM,
    WHEELS,
    BundleManifest,
    encode_manifest,
    requirements_file,
    running_python,
)
from shrag.bundle.installer.signature import write_checksums
from shrag.bundle.installer_file import make_installer
from shrag.bundle.sbom import LUCENE, Part, describe_weights, describe_wheel, licence_list, write_sbom
from shrag.bundle.wheelhouse import (
    build_project_wheel,
    collect_wheels,
    download_pinned,
    oldest_glibc,
    project_folder,
    requirements_of,
)
from shrag.corpora.data_folder import CONFIG_FILE
from shrag.corpora.files import check_name, disk_errors
from shrag.corpora.store.archive import check_new, write_archive
from shrag.corpora.store.file_checksum import compute_checksum
from shrag.corpora.store.transfer import export_corpus
from shrag.corpora.store.volumes import find_volumes
from shrag.indexing.maintenance.transfer import export_index
from shrag.messages.text import Text

PROFILES: Mapping[str, Sequence[str]] = {
    "cpu": ("evaluation", "llm", "lsa", "mcp", "plots"),
    "gpu": ("evaluation", "gpu", "llm", "lsa", "mcp", "models", "plots"),
}
"""The extras of each profile. ``gpu`` also has an environment with vLLM."""

_Files = dict[str, Path | bytes]
"""The files of a bundle by their paths in it. Each is given by its path on this machine, or by its content."""

_INSTRUCTIONS = ("INSTALL.ko.md", "INSTALL.md")
_VLLM_REQUIREMENTS = Path("requirements") / "vllm.txt"


@dataclass(frozen=True, slots=True, kw_only=True)
class BundleOptions:
    """What a bundle holds.

    Attributes:
        profile: A key of :data:`PROFILES`.
        pythons: Versions of Python on the other side; empty for the running version.
        corpora: Names of corpora.
        indexes: Names of indexes. The current generation of each is carried.
        weights: Names of folders in the data folder's ``weights``.
        questions: Folders with questions and judgments, for evaluation on the other side.
        config: The ``shrag.toml`` of a new installation.
        wheel: The project's wheel. It is needed unless this installation is an editable checkout.
        vllm: The requirements of vLLM's environment, with hashes; None for those of the profile.
        volume_bytes: The largest size of a file; 0 for one file of any size.
    """

    profile: str = "cpu"
    pythons: tuple[str, ...] = ()
    corpora: tuple[str, ...] = ()
    indexes: tuple[str, ...] = ()
    weights: tuple[str, ...] = ()
    questions: tuple[Path, ...] = ()
    config: Path | None = None
    wheel: Path | None = None
    vllm: Path | None = None
    volume_bytes: int = 0


def create_bundle(
    path: Path, home: Path, options: BundleOptions, report: Callable[[str], None] = lambda line: None
) -> BundleManifest:
    """Write the bundle ``path`` or its volumes, and beside it the installer and the list of checksums.

    The same inputs give the same bytes.

    Args:
        path: The bundle, with the suffix ``.tar``. It must not exist yet.
        home: The data folder.
        options: What the bundle holds.
        report: Called with a message for each step.

    Raises:
        BundleError: A part is missing, or pip fails.
        CorpusError: A corpus is missing or damaged, or the file exists.
        IndexingError: An index is missing or damaged.
    """
    check_new_bundle(path)  # before packages are fetched for minutes
    path.parent.mkdir(parents=True, exist_ok=True)
    with disk_errors(path.parent), tempfile.TemporaryDirectory(prefix=f".{path.name}.", dir=path.parent) as work:
        parts: list[Part] = [LUCENE]
        content: _Files = {}
        pythons = options.pythons or (running_python(),)
        _check_pythons(options, pythons)
        weights = {name: _files(home / "weights" / _check_folder_name(name)) for name in options.weights}
        for name, folder in _named(options.questions).items():
            content.update({f"questions/{name}/{each}": file for each, file in _files(folder).items()})
        _add_data(content, home, options, Path(work), report)
        needed = _add_packages(content, parts, options, pythons, Path(work), report)
        for name, found in weights.items():
            parts.append(describe_weights(name, home / "weights" / name))
            content.update({f"weights/{name}/{each}": file for each, file in found.items()})
        if options.config is not None:
            content.update({CONFIG_FILE: options.config})
        content.update({name: files("shrag.bundle").joinpath(name).read_bytes() for name in _INSTRUCTIONS})
        content.update(
            {
                "LICENCES.tsv": licence_list(parts),
                "sbom.cdx.json": write_sbom(parts, version("shrag")),
                installer_path(Path("shrag.tar")).name: make_installer(),
            }
        )
        report(Text("writing {path}", path=path))
        manifest = BundleManifest(
            version=version("shrag"),
            profile=options.profile,
            pythons=tuple(pythons),
            machine=platform.machine(),
            glibc=needed,
            corpora=options.corpora,
            indexes=options.indexes,
            weights=options.weights,
            files={name: compute_checksum(file) for name, file in sorted(content.items())},
        )
        write_bundle(path, manifest, content, options.volume_bytes)
    return manifest


def check_new_bundle(path: Path) -> None:
    """Raise :class:`BundleError` unless ``path`` ends in ``.tar``, and ``CorpusError`` if the file exists already.

    The installer finds the bundle beside it by that ending.
    """
    if path.suffix != ".tar":
        raise BundleError(Text("{path} does not end in .tar: name the bundle NAME.tar.", path=path))
    check_new(path)


def write_bundle(path: Path, manifest: BundleManifest, content: Mapping[str, Path | bytes], volume_bytes: int) -> None:
    """Write a bundle of these files and its manifest, and beside it the installer and the list of checksums."""
    ordered = {MANIFEST: encode_manifest(manifest), **dict(sorted(content.items()))}
    write_archive(path, "bundle", manifest.identifier, ordered, volume_bytes, manifest.files)
    installer = installer_path(path)
    installer.write_bytes(make_installer())
    write_checksums(path, [*find_volumes(path), installer])


def _add_data(content: _Files, home: Path, options: BundleOptions, work: Path, report: Callable[[str], None]) -> None:
    """Add the archives of corpora and indexes. This comes before packages are fetched, so that errors show early."""
    for name in options.corpora:
        report(Text("corpus {name}", name=name))
        archive = work / f"corpus-{name}.tar"
        export_corpus(home / "corpora", name, archive)
        content.update({f"corpora/{name}.tar": archive})
    for name in options.indexes:
        report(Text("index {name}", name=name))
        archive = work / f"index-{name}.tar"
        export_index(home / "indexes", name, archive)
        content.update({f"indexes/{name}.tar": archive})


def _add_packages(
    content: _Files,
    parts: list[Part],
    options: BundleOptions,
    pythons: Sequence[str],
    work: Path,
    report: Callable[[str], None],
) -> str:
    """Add the wheels and their requirements, and return the oldest glibc with which all of them run."""
    report(Text("collecting the packages"))
    project = options.wheel or build_project_wheel(work)
    wheels = collect_wheels(project, PROFILES[options.profile], pythons, work)
    collected = {wheel.name: wheel for found in wheels.values() for wheel in found}
    content.update({f"{WHEELS}/{name}": wheel for name, wheel in collected.items()})
    content.update({requirements_file(python): requirements_of(found) for python, found in wheels.items()})
    needed = list(collected.values())
    pinned = options.vllm or (_pinned_vllm() if options.profile == "gpu" else None)
    if pinned is not None:
        report(Text("collecting vLLM"))
        found = download_pinned(pinned, work / VLLM)
        content.update({f"{VLLM}/wheels/{wheel.name}": wheel for wheel in found})
        content.update({f"{VLLM}/requirements.txt": requirements_of(found)})
        needed += found
    parts += [describe_wheel(wheel) for wheel in needed]
    return oldest_glibc(needed)


def _check_pythons(options: BundleOptions, pythons: Sequence[str]) -> None:
    """Refuse other versions of Python together with vLLM, whose packages are fetched for the running one only."""
    if (options.vllm or options.profile == "gpu") and {*pythons} != {running_python()}:
        raise BundleError(
            Text(
                "The packages of vLLM are fetched for Python {python}, which runs: leave --python out, or make the "
                "bundle with the other side's Python.",
                python=running_python(),
            )
        )


def _pinned_vllm() -> Path:
    project = project_folder()
    path = project / _VLLM_REQUIREMENTS if project else None
    if path is None or not path.exists():
        raise BundleError(
            Text(
                "The profile gpu includes vLLM: name its requirements, with hashes, with --vllm (see the source tree)."
            )
        )
    return path


def _named(folders: Iterable[Path]) -> dict[str, Path]:
    """Return folders of questions by their names, which their files have in the bundle."""
    named: dict[str, Path] = {}
    for folder in folders:
        name = check_name(folder.absolute().name)
        if named.setdefault(name, folder) != folder:
            raise BundleError(
                Text(
                    "{first} and {second} have the same name: rename one of the two.", first=named[name], second=folder
                )
            )
    return named


def _check_folder_name(name: str) -> str:
    """Return ``name`` if a folder of weights may have it. A hub's names, such as ``KURE-v1``, are allowed."""
    if not name or "/" in name or name.startswith("."):
        raise BundleError(Text("{name!r} is not the name of a folder under weights: give the name alone.", name=name))
    return name


def _files(folder: Path) -> dict[str, Path]:
    """Return the files of a folder by their paths in it, without hidden files, such as those of a model hub's tools.

    A file may be a link, as in a hub's cache; its content is carried.
    """
    if not folder.is_dir():
        raise BundleError(Text("There is no folder {folder}: check its name, or copy it there.", folder=folder))
    found = (each for each in sorted(folder.rglob("*")) if each.is_file())
    names = {each.relative_to(folder).as_posix(): each for each in found}
    return {name: each for name, each in names.items() if not any(part.startswith(".") for part in Path(name).parts)}
