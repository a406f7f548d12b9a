"""Checks of what is installed: Python, the packages, Java with Lucene, Kiwi."""

from __future__ import annotations

import platform
import sys
from collections.abc import Iterable, Iterator
from importlib.metadata import Distribution, PackageNotFoundError, distribution
from pathlib import Path
from typing import NamedTuple

from packaging.requirements import Requirement

from shrag.bundle.installer.record import recorded_digest, recorded_files
from shrag.cli.doctor.finding import INSTALL_AGAIN, DoctorFinding
from shrag.cli.versions import package_version
from shrag.indexing.errors import IndexingError
from shrag.messages.text import Text, message_of

_OLDEST_PYTHON, _NEWEST_PYTHON = (3, 11), (3, 13)
_MOST_NAMED = 3


class InstalledPackages(NamedTuple):
    """A package and all packages that it needs, by the state of their installation.

    Attributes:
        found: The installed packages, without those of extras.
        missing: The needed packages that are not installed, with the required versions.
        other: The packages whose version is out of bounds, with both versions. Extras are included.
    """

    found: tuple[Distribution, ...]
    missing: tuple[str, ...]
    other: tuple[str, ...]


def check_parts() -> Iterator[DoctorFinding]:
    """Check Python and the installed packages. Check Java with Lucene, and Kiwi, by using them."""
    tested = _OLDEST_PYTHON <= sys.version_info[:2] <= _NEWEST_PYTHON
    yield (
        DoctorFinding("Python", "ok", f"{platform.python_version()}, {sys.prefix}")
        if tested
        else DoctorFinding(
            "Python",
            "warning",
            Text("{python}: SHRAG is tested with 3.11, 3.12 and 3.13", python=platform.python_version()),
            repair=Text("install SHRAG again with one of these: {how}", how=INSTALL_AGAIN),
        )
    )
    installed = needed_packages("shrag")
    yield check_versions(installed)
    yield check_installed_files(installed.found)
    for what, use in (("Java and Lucene", _use_lucene), ("Kiwi", _use_kiwi)):
        try:
            yield DoctorFinding(what, "ok", use())
        except (IndexingError, OSError) as error:
            yield DoctorFinding(what, "failure", message_of(error), 6, INSTALL_AGAIN)


def needed_packages(name: str) -> InstalledPackages:
    """Return the package ``name`` and all packages that it needs, with those that are missing or of another version.

    The packages of its extras are compared only if they are installed. What these need is not compared.
    """
    found: dict[str, Distribution] = {}
    missing, other = set(), set()
    waiting = [Requirement(name)]
    while waiting:
        requirement = waiting.pop()
        package = _installed(requirement.name)
        if package is None:
            missing.add(str(requirement))
            continue
        if not _fits(package, requirement):
            other.add(f"{package.name} {package.version} ({requirement.specifier})")
        if package.name not in found:
            found[package.name] = package
            waiting += [each for each in _requirements(package) if _is_always_needed(each)]
    for requirement in _requirements(found[name]) if name in found else ():
        if 'extra == "dev"' in str(requirement.marker):  # what tests need, such as a newer setuptools than Python's own
            continue
        package = _installed(requirement.name)
        if package is not None and not _fits(package, requirement):
            other.add(f"{package.name} {package.version} ({requirement.specifier})")
    return InstalledPackages(tuple(found.values()), tuple(sorted(missing)), tuple(sorted(other)))


def check_versions(installed: InstalledPackages) -> DoctorFinding:
    """Report packages that are missing or do not have the version that others require."""
    if installed.missing:
        return DoctorFinding(
            Text("Packages"),
            "failure",
            Text("not installed: {packages}", packages=_named(installed.missing)),
            6,
            INSTALL_AGAIN,
        )
    if installed.other:
        return DoctorFinding(
            Text("Packages"),
            "warning",
            Text("of another version than required: {packages}", packages=_named(installed.other)),
            repair=INSTALL_AGAIN,
        )
    return DoctorFinding(
        Text("Packages"), "ok", Text("{count} packages, all of the required versions", count=len(installed.found))
    )


def check_installed_files(packages: Iterable[Distribution]) -> DoctorFinding:
    """Compare the files of the packages with the checksums in each package's ``RECORD``."""
    examined, damaged = 0, []
    for package in packages:
        for name, digest in recorded_files(package.read_text("RECORD") or ""):
            if name.startswith(".."):  # a program in `bin`, which changes when the environment is moved
                continue
            examined += 1
            if recorded_digest(Path(str(package.locate_file(name)))) != digest:
                damaged.append(f"{package.name}: {name}")
    if damaged:
        return DoctorFinding(
            Text("Installed files"),
            "failure",
            Text("missing or changed since they were installed: {files}", files=_named(damaged)),
            6,
            INSTALL_AGAIN,
        )
    return DoctorFinding(Text("Installed files"), "ok", Text("{examined:,} files, verified", examined=examined))


def _installed(name: str) -> Distribution | None:
    try:
        return distribution(name)
    except PackageNotFoundError:
        return None


def _requirements(package: Distribution) -> list[Requirement]:
    return [Requirement(line) for line in package.requires or ()]


def _is_always_needed(requirement: Requirement) -> bool:
    """Return whether this Python on this machine needs it without any extra."""
    return requirement.marker is None or requirement.marker.evaluate({"extra": ""})


def _fits(package: Distribution, requirement: Requirement) -> bool:
    return requirement.specifier.contains(package.version, prereleases=True)


def _named(names: Iterable[str]) -> str:
    """Return the first names, and how many more there are."""
    listed = list(names)
    more = len(listed) - _MOST_NAMED
    return ", ".join(listed[:_MOST_NAMED]) + (f" (+{more:,})" if more > 0 else "")


def _use_lucene() -> str:
    from shrag.indexing.maintenance.self_test import check_java_and_lucene

    return check_java_and_lucene()


def _use_kiwi() -> str:
    from shrag.indexing.analysis.korean_english import KoreanEnglishAnalyzer

    (terms,) = KoreanEnglishAnalyzer().terms(["형태소를 분석한다"])
    return f"kiwipiepy {package_version('kiwipiepy')}, 형태소를 분석한다 → {' '.join(terms)}"
