"""Installing small bundles for real: whole or not at all, upgraded, undone, killed and taken up again."""

from __future__ import annotations

import dataclasses
import errno
import json
import os
import random
import shutil
import signal
import subprocess
import sys
import time
from collections.abc import Mapping
from pathlib import Path

import pytest

from shrag.bundle.create import write_bundle
from shrag.bundle.difference import write_difference
from shrag.bundle.errors import BundleError
from shrag.bundle.installer.install import install_bundle, undo_installation
from shrag.bundle.installer.main import installer_path, main
from shrag.bundle.installer.releases import Installation
from shrag.corpora.errors import CorpusError
from shrag.corpora.files import lock_folder
from shrag.corpora.ingest.add import add_corpus
from shrag.corpora.store.open_corpus import open_corpus
from shrag.corpora.store.transfer import export_corpus
from shrag.indexing.build.builder import build_index
from shrag.indexing.maintenance.transfer import export_index
from shrag.indexing.storage.generations import current_generation
from tests.support.killed_build import shorten_builds
from tests.support.small_bundle import write_small_bundle

pytestmark = [pytest.mark.process, pytest.mark.usefixtures("one_parser")]


def _version(folder: Path) -> str:
    """Return what the installed command says that it is."""
    program = folder / "bin" / "shrag"
    return subprocess.run([program, "--version"], capture_output=True, text=True, check=True).stdout.strip()


def _say_nothing(line: str) -> None:
    assert line


def _content(folder: Path) -> Mapping[str, int]:
    """Return every path under a folder but locks and the last bundle's manifest, with its size."""
    found = (path for path in folder.rglob("*") if not path.is_symlink() and path.name not in {".lock", "bundle.json"})
    return {str(path.relative_to(folder)): path.stat().st_size for path in found if path.is_file()}


def test_a_bundle_is_installed_upgraded_by_an_update_and_undone(tmp_path: Path) -> None:
    old, new, update, folder = (tmp_path / name for name in ("old.tar", "new.tar", "update.tar", "there"))
    config, weights = {"shrag.toml": b"[search]\nk = 5\n"}, {"weights/tiny/model.safetensors": b"w" * 1000}
    first = write_small_bundle(old, "1.0", {**config, **weights})
    second = write_small_bundle(new, "2.0", {"shrag.toml": b"[search]\nk = 9\n", **weights})
    assert install_bundle(old, folder, _say_nothing).previous == ""
    assert _version(folder) == "shrag 1.0"
    assert (folder / "home" / "weights" / "tiny" / "model.safetensors").read_bytes() == b"w" * 1000
    (folder / "home" / "shrag.toml").write_text("[search]\nk = 7\n")

    assert write_difference(old, new, update).identifier == second.identifier
    assert update.stat().st_size < new.stat().st_size / 10
    release = install_bundle(update, folder, _say_nothing)
    assert (release.identifier, release.previous) == (second.identifier, first.identifier)
    assert _version(folder) == "shrag 2.0"
    assert (folder / "home" / "shrag.toml").read_text() == "[search]\nk = 7\n"  # the user's own
    before = _content(folder)
    said: list[str] = []
    assert install_bundle(new, folder, said.append) == release  # it is there already
    assert "installing the packages" not in said
    assert _content(folder) == before

    assert undo_installation(folder, _say_nothing) == release
    assert _version(folder) == "shrag 1.0"
    with pytest.raises(CorpusError, match="no release before"):
        undo_installation(folder, _say_nothing)
    assert install_bundle(update, folder, _say_nothing).identifier == second.identifier
    assert _version(folder) == "shrag 2.0"


def test_an_installation_that_was_damaged_is_repaired_by_its_bundle_whatever_pip_and_python_are_set_to(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "pip.conf").write_text(f"[install]\ntarget = {tmp_path / 'elsewhere'}\n")
    (tmp_path / "path").mkdir()
    (tmp_path / "path" / "venv.py").write_text("raise SystemExit('This is another venv.')")
    monkeypatch.setenv("PIP_CONFIG_FILE", str(tmp_path / "pip.conf"))
    monkeypatch.setenv("PYTHONPATH", str(tmp_path / "path"))
    bundle, folder = tmp_path / "a.tar", tmp_path / "there"
    manifest = write_small_bundle(bundle)
    release = install_bundle(bundle, folder, _say_nothing)
    (module,) = (folder / "current" / "venv").rglob("started_shrag.py")
    whole = module.read_text()
    module.write_text(whole + "#")
    for file in manifest.files.values():
        (folder / "files" / file.sha256).write_bytes(b"damaged")
    assert install_bundle(bundle, folder, _say_nothing) == release
    assert _version(folder) == "shrag 1.0"
    assert module.read_text() == whole
    assert all(Installation(folder).store.has(file) for file in manifest.files.values())


def test_weights_and_questions_that_were_changed_here_stay_and_an_update_is_installed(tmp_path: Path) -> None:
    old, new, update, folder = (tmp_path / name for name in ("old.tar", "new.tar", "update.tar", "there"))
    same = {"questions/test/qrels.txt": b"q1 0 d1 1\n", "weights/tiny/config.json": b"{}"}
    write_small_bundle(old, "1.0", {**same, "questions/test/topics.tsv": b"q1\told\n"})
    write_small_bundle(new, "2.0", {**same, "questions/test/topics.tsv": b"q1\tnew\n"})
    write_difference(old, new, update)
    install_bundle(old, folder, _say_nothing)
    weights, questions = folder / "home" / "weights" / "tiny", folder / "home" / "questions" / "test"
    with (questions / "qrels.txt").open("a") as file:
        file.write("q1 0 mine 1\n")
    (weights / "config.json").unlink()
    (weights / "config.json").write_text('{"mine": 1}')
    said: list[str] = []
    install_bundle(update, folder, said.append)
    assert (questions / "topics.tsv").read_text() == "q1\tnew\n"
    assert (questions / "qrels.txt").read_text() == "q1 0 d1 1\nq1 0 mine 1\n"
    assert (weights / "config.json").read_text() == '{"mine": 1}'
    left = [line for line in said if "was changed here, so it was not replaced" in line]
    assert [line.split()[0] for line in left] == ["weights/tiny/config.json", "questions/test/qrels.txt"]
    for line in left:
        subprocess.run(line.partition("To replace it: ")[2], shell=True, check=True)
    assert (questions / "qrels.txt").read_text() == "q1 0 d1 1\n"
    assert (weights / "config.json").read_text() == "{}"


def test_a_home_on_another_file_system_gets_its_files(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def refuse(source: Path, target: Path) -> None:
        raise OSError(errno.EXDEV, os.strerror(errno.EXDEV), str(source), None, str(target))

    bundle, folder = tmp_path / "a.tar", tmp_path / "there"
    write_small_bundle(bundle, "1.0", {"weights/tiny/config.json": b"{}", "questions/test/qrels.txt": b"q1 0 d1 1\n"})
    monkeypatch.setattr(os, "link", refuse)
    install_bundle(bundle, folder, _say_nothing)
    assert (folder / "home" / "weights" / "tiny" / "config.json").read_bytes() == b"{}"
    assert (folder / "home" / "questions" / "test" / "qrels.txt").read_bytes() == b"q1 0 d1 1\n"
    assert not list(folder.rglob("*.part"))


def test_a_release_whose_python_was_removed_is_installed_again(tmp_path: Path) -> None:
    bundle, folder = tmp_path / "a.tar", tmp_path / "there"
    write_small_bundle(bundle)
    release = install_bundle(bundle, folder, _say_nothing)
    python = folder / "current" / "venv" / "bin" / "python"
    python.unlink()
    python.symlink_to(tmp_path / "removed")
    assert install_bundle(bundle, folder, _say_nothing) == release
    assert _version(folder) == "shrag 1.0"


def test_an_update_without_its_base_is_refused_and_leaves_nothing(tmp_path: Path) -> None:
    old, new, update, folder = (tmp_path / name for name in ("old.tar", "new.tar", "update.tar", "there"))
    first = write_small_bundle(old, "1.0")
    write_small_bundle(new, "2.0")
    write_difference(old, new, update)
    with pytest.raises(CorpusError, match=f"updates {first.identifier} and leaves out .* install that bundle first"):
        install_bundle(update, folder, _say_nothing)
    assert not folder.exists()
    with pytest.raises(BundleError, match="is an update itself"):
        write_difference(old, update, tmp_path / "other.tar")
    with pytest.raises(BundleError, match="there is nothing to update"):
        write_difference(old, old, tmp_path / "other.tar")


def test_an_update_that_names_a_file_outside_is_refused_though_that_file_is_installed(tmp_path: Path) -> None:
    old, update, folder = tmp_path / "old.tar", tmp_path / "update.tar", tmp_path / "there"
    manifest = write_small_bundle(old, "1.0", {"weights/tiny/config.json": b"{}"})
    install_bundle(old, folder, _say_nothing)
    outside = {**manifest.files, "weights/../../../escaped": manifest.files["weights/tiny/config.json"]}
    write_bundle(update, dataclasses.replace(manifest, files=outside, base=manifest.identifier), {}, 0)
    with pytest.raises(CorpusError, match="is outside its folder"):
        install_bundle(update, folder, _say_nothing)
    assert not list(tmp_path.rglob("escaped"))


def test_data_arrives_is_upgraded_and_what_was_changed_there_stays(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    shorten_builds(monkeypatch)
    here = tmp_path / "here"
    rows = [
        {"docid": f"d{n}", "title": f"t {n}", "text": f"그래핀 필름의 전기 전도도를 {n}회 재었다."} for n in range(6)
    ]
    source = tmp_path / "a.jsonl"
    data: dict[int, dict[str, Path | bytes]] = {}
    for count in (5, 6):
        source.write_text("\n".join(map(json.dumps, rows[:count])), encoding="utf-8")
        add_corpus(here / "corpora", "lib", "miracl", [source], replace=True)
        build_index(here / "corpora", here / "indexes", "lib")
        data[count] = {"corpora/lib.tar": tmp_path / f"c{count}.tar", "indexes/lib.tar": tmp_path / f"i{count}.tar"}
        export_corpus(here / "corpora", "lib", tmp_path / f"c{count}.tar")
        export_index(here / "indexes", "lib", tmp_path / f"i{count}.tar")
    folder, home = tmp_path / "there", tmp_path / "there" / "home"
    write_small_bundle(tmp_path / "old.tar", "1.0", data[5])
    write_small_bundle(tmp_path / "new.tar", "2.0", data[6])
    install_bundle(tmp_path / "old.tar", folder, _say_nothing)
    assert current_generation(home / "indexes" / "lib")[1].records == 5

    # What is as the last bundle brought it is replaced by the next one, and an undone index comes back.
    release = install_bundle(tmp_path / "new.tar", folder, _say_nothing)
    assert open_corpus(home / "corpora", "lib")[0].records == 6
    assert current_generation(home / "indexes" / "lib")[1].records == 6
    assert release.generations == {"lib": 1}
    undo_installation(folder, _say_nothing)
    assert current_generation(home / "indexes" / "lib")[1].records == 5

    # What was changed there is not, and how to replace it is said.
    source.write_text(json.dumps({"docid": "own", "title": "mine", "text": "내가 추가한 문헌이다."}), encoding="utf-8")
    add_corpus(home / "corpora", "lib", "miracl", [source])
    build_index(home / "corpora", home / "indexes", "lib")
    for _ in range(2):
        said: list[str] = []
        install_bundle(tmp_path / "new.tar", folder, said.append)
        left = [line for line in said if "was changed here, so it was not replaced" in line]
        assert [line.split()[0] for line in left] == ["corpora/lib", "indexes/lib"]
        assert left[0].endswith(" --replace")
        assert open_corpus(home / "corpora", "lib")[0].records == 7
        assert current_generation(home / "indexes" / "lib")[1].records == 7


def test_a_corpus_that_an_undone_release_brought_is_replaced_by_the_next_release(tmp_path: Path) -> None:
    source, folder = tmp_path / "a.jsonl", tmp_path / "there"
    for count in (1, 2, 3):
        rows = [{"docid": f"d{n}", "title": f"t {n}", "text": f"Film {n} was measured."} for n in range(count)]
        source.write_text("\n".join(map(json.dumps, rows)), encoding="utf-8")
        add_corpus(tmp_path / "corpora", "lib", "miracl", [source], replace=True)
        export_corpus(tmp_path / "corpora", "lib", tmp_path / f"c{count}.tar")
        write_small_bundle(tmp_path / f"{count}.tar", f"{count}.0", {"corpora/lib.tar": tmp_path / f"c{count}.tar"})
    install_bundle(tmp_path / "1.tar", folder, _say_nothing)
    install_bundle(tmp_path / "2.tar", folder, _say_nothing)
    undo_installation(folder, _say_nothing)
    said: list[str] = []
    install_bundle(tmp_path / "3.tar", folder, said.append)
    assert not [line for line in said if "was changed here" in line]
    assert open_corpus(folder / "home" / "corpora", "lib")[0].records == 3


def test_a_folder_of_other_content_and_one_in_use_are_refused(tmp_path: Path) -> None:
    bundle, folder = tmp_path / "a.tar", tmp_path / "there"
    write_small_bundle(bundle)
    folder.mkdir()
    with lock_folder(folder):
        command = [sys.executable, str(installer_path(bundle)), "install", "--into", str(folder)]
        busy = subprocess.run(command, capture_output=True, text=True, check=False)
        assert (busy.returncode, "being written by process" in busy.stderr) == (3, True)
        with pytest.raises(CorpusError, match="being written by process"):
            install_bundle(bundle, folder, _say_nothing)
    (folder / "letters.txt").write_text("mine")
    with pytest.raises(CorpusError, match=r"has other files \(letters.txt\)"):
        install_bundle(bundle, folder, _say_nothing)
    assert (folder / "letters.txt").read_text() == "mine"
    assert main(["undo", "--into", str(folder)]) == 3
    with pytest.raises(CorpusError, match="is not a folder"):
        install_bundle(bundle, bundle, _say_nothing)


def test_the_home_of_an_unknown_user_is_refused_with_a_sentence(capsys: pytest.CaptureFixture[str]) -> None:
    with pytest.raises(SystemExit) as ended:
        main(["undo", "--into", "~no-such-user/shrag"])
    assert ended.value.code == 2
    assert "~no-such-user/shrag: give the whole path of the folder" in capsys.readouterr().err


def test_packages_that_pip_refuses_leave_the_old_installation_current(tmp_path: Path) -> None:
    folder = tmp_path / "there"
    write_small_bundle(tmp_path / "old.tar", "1.0")
    install_bundle(tmp_path / "old.tar", folder, _say_nothing)
    wrong = {"requirements/3.11.txt": b"shrag==9.9 --hash=sha256:" + b"0" * 64 + b"\n"}
    wrong |= {f"requirements/{sys.version_info.major}.{sys.version_info.minor}.txt": wrong["requirements/3.11.txt"]}
    write_small_bundle(tmp_path / "new.tar", "2.0", wrong)
    with pytest.raises(CorpusError, match=r"python failed: ERROR: .*shrag==9\.9"):
        install_bundle(tmp_path / "new.tar", folder, _say_nothing)
    assert _version(folder) == "shrag 1.0"


def _kill_after(command: list[str], seconds: float) -> None:
    """Start the installer and kill it with all that it started, unless it is done by then."""
    process = subprocess.Popen(command, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL, start_new_session=True)
    time.sleep(seconds)
    os.killpg(process.pid, signal.SIGKILL)
    process.wait()


def _try_kills(tmp_path: Path, count: int) -> int:
    """Kill an upgrade at random moments; return how often the old release was still the current one."""
    old, new, folder = tmp_path / "old.tar", tmp_path / "new.tar", tmp_path / "there"
    names = {number: write_small_bundle(path, f"{number}.0").identifier for number, path in ((1, old), (2, new))}
    chance, still_old = random.Random(50), 0
    command = [sys.executable, "-I", "-S", str(installer_path(new)), "install", "--into", str(folder)]
    install_bundle(old, folder, _say_nothing)
    started = time.monotonic()
    assert subprocess.run(command, capture_output=True, check=False).returncode == 0
    whole = time.monotonic() - started
    for number in range(count):
        undo_installation(folder, _say_nothing)
        shutil.rmtree(Installation(folder).release_folder(names[2]))
        _kill_after(command, whole * chance.uniform(0, 1.1))
        current = Installation(folder).current()
        assert current is not None, number
        assert _version(folder) == {names[1]: "shrag 1.0", names[2]: "shrag 2.0"}[current.identifier]
        still_old += current.identifier == names[1]
        again = subprocess.run(command, capture_output=True, text=True, check=False)
        assert again.returncode == 0, again.stderr
        assert _version(folder) == "shrag 2.0"
        assert not list(folder.rglob("*.part"))
    return still_old


def test_a_killed_upgrade_leaves_the_old_release_or_the_new_one_and_is_taken_up_again(tmp_path: Path) -> None:
    _try_kills(tmp_path, 1)


@pytest.mark.soak
def test_fifty_killed_upgrades_leave_the_old_release_or_the_new_one(tmp_path: Path) -> None:
    assert _try_kills(tmp_path, 50) >= 10


def test_a_killed_first_installation_is_taken_up_again(tmp_path: Path) -> None:
    bundle, folder = tmp_path / "a.tar", tmp_path / "there"
    manifest = write_small_bundle(bundle)
    command = [sys.executable, "-I", "-S", str(installer_path(bundle)), "install", "--into", str(folder)]
    with subprocess.Popen(command, stdout=subprocess.PIPE, text=True, start_new_session=True) as process:
        assert process.stdout is not None
        for line in process.stdout:
            if "installing the packages" in line:
                os.killpg(process.pid, signal.SIGKILL)
    assert Installation(folder).current() is None
    done = subprocess.run(command, capture_output=True, text=True, check=True)
    assert done.stdout.splitlines()[-1] == f"next: {folder}/bin/shrag doctor, then {folder}/bin/shrag-serve INDEX"
    assert Installation(folder).current() is not None
    assert {path.name for path in (folder / "files").iterdir()} == {each.sha256 for each in manifest.files.values()}
