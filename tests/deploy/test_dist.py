"""A release: what prepares it, which commits it is built of, and an sdist whose bytes depend on the sources alone."""

from __future__ import annotations

import os
import shutil
import subprocess
import tarfile
import tomllib
from datetime import UTC, date, datetime
from pathlib import Path

import pytest

import dist
import wheel_backend
from shrag.cli.versions import RELEASED
from tests.conftest import ROOT

DAY = date(2027, 3, 1)
PREPARED = ("CHANGELOG.md", "CITATION.cff", "cli/versions.py", "pyproject.toml")


@pytest.fixture
def tree(tmp_path: Path) -> Path:
    """Return a folder with the files of this project that have its version, and with something unreleased."""
    for name in PREPARED:
        (tmp_path / name).parent.mkdir(exist_ok=True)
        shutil.copy(ROOT / name, tmp_path / name)
    changelog = tmp_path / "CHANGELOG.md"
    if "\n## Unreleased\n" not in changelog.read_text(encoding="utf-8"):
        changelog.write_text(changelog.read_text(encoding="utf-8") + "\n## Unreleased\n", encoding="utf-8")
    return tmp_path


def _git(folder: Path, *arguments: str) -> None:
    subprocess.run(
        ["git", "-C", folder, "-c", "user.name=n", "-c", "user.email=e", *arguments], check=True, capture_output=True
    )


@pytest.fixture
def repository(tree: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """Return the folder as a git checkout with one commit, of 1 March 2027."""
    if shutil.which("git") is None:
        pytest.skip("no git")
    dist.prepare(tree, "1.2.3", DAY)
    _git(tree, "init")
    _git(tree, "add", ".")
    monkeypatch.setenv("GIT_COMMITTER_DATE", "2027-03-01T00:00:00Z")
    _git(tree, "commit", "-m", "one")
    return tree


def test_version_and_day_are_written_where_they_belong(tree: Path) -> None:
    dist.prepare(tree, "1.2.3", DAY)
    changelog, citation, versions, project = ((tree / name).read_text(encoding="utf-8") for name in PREPARED)
    assert "\n## 1.2.3 (2027-03-01)\n" in changelog
    assert "Unreleased" not in changelog.partition("\n### ")[0]
    assert "\nversion: 1.2.3\n" in citation
    assert "\ndate-released: 2027-03-01\n" in citation
    assert '\nRELEASED = "2027-03-01"\n' in versions
    assert tomllib.loads(project)["project"]["version"] == dist.project_version(tree) == "1.2.3"


@pytest.mark.parametrize("version", ["v1.2.3", "1.2", "next", "1.2.3\n"])
def test_what_is_no_version_changes_nothing(tree: Path, version: str) -> None:
    before = [(tree / name).read_bytes() for name in PREPARED]
    with pytest.raises(dist.ReleaseProblem, match="is no version"):
        dist.prepare(tree, version, DAY)
    assert [(tree / name).read_bytes() for name in PREPARED] == before


def test_a_release_is_prepared_once(tree: Path) -> None:
    dist.prepare(tree, "1.2.3", DAY)
    before = [(tree / name).read_bytes() for name in PREPARED]
    with pytest.raises(dist.ReleaseProblem, match=r"has 1\.2\.4 been prepared already"):
        dist.prepare(tree, "1.2.4", DAY)
    assert [(tree / name).read_bytes() for name in PREPARED] == before


def test_the_day_of_this_version_is_none_in_the_future() -> None:
    assert date.fromisoformat(RELEASED) <= datetime.now(UTC).date()


@pytest.mark.process
def test_a_tag_must_have_the_version_of_the_project(repository: Path, capsys: pytest.CaptureFixture[str]) -> None:
    dist.check_committed(repository, "1.2.3")
    assert capsys.readouterr().out == "This commit has no tag v1.2.3: what is built is no release.\n"
    _git(repository, "tag", "v1.2.3")
    dist.check_committed(repository, "1.2.3")
    with pytest.raises(dist.ReleaseProblem, match=r"The tag is v1\.2\.3, and pyproject\.toml has the version 1\.2\.4"):
        dist.check_committed(repository, "1.2.4")
    (repository / "CHANGELOG.md").write_text("# Changelog\n")
    with pytest.raises(dist.ReleaseProblem, match="not committed"):
        dist.check_committed(repository, "1.2.3")
    _git(repository, "commit", "-am", "two")
    _git(repository, "tag", "--force", "v1.2.3")
    with pytest.raises(dist.ReleaseProblem, match=r"has no entry 1\.2\.3"):
        dist.check_committed(repository, "1.2.3")


@pytest.mark.process
def test_the_time_is_that_of_the_commit_and_without_git_that_of_the_release(
    repository: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.delenv("SOURCE_DATE_EPOCH", raising=False)
    first_of_march = int(datetime(2027, 3, 1, tzinfo=UTC).timestamp())
    assert dist.source_date(repository) == first_of_march
    shutil.rmtree(repository / ".git")
    assert dist.source_date(repository) == first_of_march
    monkeypatch.setenv("SOURCE_DATE_EPOCH", "1700000000")
    assert dist.source_date(repository) == 1_700_000_000


def test_without_git_all_sources_are_copied_and_no_build_products(tmp_path: Path) -> None:
    sources = ("pyproject.toml", "indexing/build/builder.py", "corpora/demo/records.jsonl")
    products = ("build/lib/x.py", "dist/x.whl", "var/x", ".venv/x", "shrag.egg-info/x", "cli/__pycache__/x.pyc")
    for name in (*sources, *products):
        (tmp_path / "tree" / name).parent.mkdir(parents=True, exist_ok=True)
        (tmp_path / "tree" / name).touch()
    dist._copy_sources(tmp_path / "tree", tmp_path / "copied")
    copied = {str(path.relative_to(tmp_path / "copied")) for path in (tmp_path / "copied").rglob("*") if path.is_file()}
    assert copied == set(sources)


def test_an_sdist_packed_again_depends_on_its_contents_alone(tmp_path: Path) -> None:
    made = []
    for number, (names, mode) in enumerate(((("b", "a"), 0o600), (("a", "b"), 0o664))):
        archive = tmp_path / str(number) / "x-1.tar.gz"
        archive.parent.mkdir()
        with tarfile.open(archive, "w:gz") as tar:
            for name in names:
                (tmp_path / name).write_text(name)
                (tmp_path / name).chmod(mode)
                os.utime(tmp_path / name, (number, number))
                tar.add(tmp_path / name, f"x-1/{name}")
        wheel_backend._pack_again(archive, 1_700_000_000)
        made.append(archive.read_bytes())
    assert made[0] == made[1]
    with tarfile.open(tmp_path / "0" / "x-1.tar.gz") as tar:
        members = [(each.name, each.mode, each.mtime, each.uid, each.uname) for each in tar]
        assert tar.extractfile("x-1/a").read() == b"a"  # type: ignore[union-attr]
    assert members == [(f"x-1/{name}", 0o644, 1_700_000_000, 0, "") for name in ("a", "b")]
