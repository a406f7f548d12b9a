from __future__ import annotations

from pathlib import Path

import pytest

from shrag.cli.commands.bundle import create
from shrag.cli.main import run
from tests.support.small_bundle import write_small_bundle


def test_diff_prints_the_files_to_carry_with_their_sizes_and_what_to_run_there(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    old, new, update = (str(tmp_path / name) for name in ("old.tar", "new.tar", "update.tar"))
    write_small_bundle(Path(old))
    write_small_bundle(Path(new), more={"weights/tiny/model.safetensors": b"w" * (3 << 19)})
    assert run(["bundle", "diff", old, new, update]) == 0
    printed = capsys.readouterr()
    assert printed.out.splitlines() == [
        f"{tmp_path}/update.{ending}" for ending in ("install.pyz  0.1 MiB", "sha256  0.0 MiB", "tar  1.5 MiB")
    ]
    assert printed.err == "next, on the other machine: python3 update.install.pyz install --into ~/shrag\n"


def test_the_files_to_carry_are_those_of_the_bundle_and_no_configuration_beside_them_whatever_their_name_is(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    old, new, update = (tmp_path / name for name in ("old.tar", "new.tar", "shrag[1].tar"))
    write_small_bundle(old)
    write_small_bundle(new, more={"weights/tiny/model.safetensors": b"w" * (3 << 19)})
    for name in ("shrag[1].toml", "shrag1.toml"):
        (tmp_path / name).write_text("key = 'secret'")
    assert run(["bundle", "diff", str(old), str(new), str(update), "--volume", "1M"]) == 0
    carried = [line.partition("  ")[0] for line in capsys.readouterr().out.splitlines()]
    endings = ("install.pyz", "sha256", "tar.001", "tar.002")
    assert carried == [f"{tmp_path}/shrag[1].{ending}" for ending in endings]


def test_diff_refuses_a_bundle_that_its_installer_would_not_find(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    old, new, update = (tmp_path / name for name in ("old.tar", "new.tar", "update"))
    write_small_bundle(old, "1.0")
    write_small_bundle(new, "2.0")
    assert run(["bundle", "diff", str(old), str(new), str(update)]) == 3
    assert f"{update} does not end in .tar: name the bundle NAME.tar." in capsys.readouterr().err
    assert not list(tmp_path.glob("update*"))


def test_verify_says_what_a_bundle_is_and_ends_with_3_where_it_is_damaged(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    bundle = tmp_path / "a.tar"
    write_small_bundle(bundle)
    assert run(["bundle", "verify", str(bundle)]) == 0
    assert capsys.readouterr().out.startswith(f"{bundle}: SHRAG 1.0")
    bundle.write_bytes(bundle.read_bytes()[:-1])
    assert run(["bundle", "verify", str(bundle)]) == 3
    assert "a.tar" in capsys.readouterr().err


def test_install_refuses_a_folder_of_other_files(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    bundle, folder = tmp_path / "a.tar", tmp_path / "there"
    write_small_bundle(bundle)
    folder.mkdir()
    (folder / "letters.txt").touch()
    assert run(["bundle", "install", str(bundle), "--into", str(folder)]) == 3
    assert f"{folder} has other files (letters.txt)" in capsys.readouterr().err


@pytest.mark.parametrize(
    ("arguments", "name", "value"),
    [
        ([], "pythons", ()),
        (["--python", "3.13, 3.11,3.13"], "pythons", ("3.13", "3.11")),
        ([], "volume_bytes", 0),
        (["--volume", "700M"], "volume_bytes", 734_003_200),
        (["--volume", "4gb"], "volume_bytes", 4_294_967_296),
        (["--volume", "1048576"], "volume_bytes", 1_048_576),
        (["--volume", "1500K"], "volume_bytes", 1_536_000),
    ],
)
def test_versions_of_python_and_sizes_are_read(arguments: list[str], name: str, value: object) -> None:
    with create.make_context("create", ["a.tar", *arguments]) as context:
        assert context.params[name] == value


@pytest.mark.parametrize(
    ("option", "value", "says"),
    [
        ("--python", "3.11,3.10", "SHRAG does not run with Python '3.10': use 3.11, 3.12, 3.13."),
        ("--volume", "1023K", "'1023K' is not a size of at least 1M: write it as 700M or 4G."),
        ("--volume", "1.5G", "'1.5G' is not a size of at least 1M"),
    ],
)
def test_a_version_or_a_size_that_cannot_be_used_is_refused(
    option: str, value: str, says: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert run(["bundle", "create", str(tmp_path / "a.tar"), option, value]) == 2
    assert says in capsys.readouterr().err


def test_a_size_in_the_file_is_bytes_and_not_too_few(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    (tmp_path / "shrag.toml").write_text("[bundle.create]\nvolume_bytes = 4\n")
    assert run(["bundle", "create", str(tmp_path / "a.tar")]) == 2
    assert "4 is not a size of at least 1M: write it as 700M or 4G." in capsys.readouterr().err
    with create.make_context("create", ["a.tar"], default_map={"volume_bytes": 734_003_200}) as context:
        assert context.params["volume_bytes"] == 734_003_200
