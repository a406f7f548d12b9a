"""Signed lists of checksums, by the real minisign and GPG where they are installed."""

from __future__ import annotations

import shutil
import subprocess
from pathlib import Path

import pytest

from shrag.bundle.installer.main import main
from shrag.bundle.installer.signature import Tool, check_signature, checksum_list, sign
from shrag.corpora.errors import CorpusError
from tests.support.small_bundle import write_small_bundle

pytestmark = pytest.mark.process


@pytest.fixture
def bundle(tmp_path: Path) -> Path:
    path = tmp_path / "small.tar"
    write_small_bundle(path)
    return path


def _minisign_keys(folder: Path) -> tuple[str, str]:
    """Make a pair of keys without a password; return the secret one's file and the public one's text."""
    command = ["minisign", "-G", "-W", "-f", "-p", str(folder / "a.pub"), "-s", str(folder / "a.key")]
    subprocess.run(command, check=True, capture_output=True)
    return str(folder / "a.key"), (folder / "a.pub").read_text().splitlines()[-1]


def _gpg_keys(folder: Path, monkeypatch: pytest.MonkeyPatch) -> tuple[str, str]:
    home = folder / "gnupg"
    home.mkdir(mode=0o700)
    monkeypatch.setenv("GNUPGHOME", str(home))
    command = ["gpg", "--batch", "--passphrase", "", "--quick-generate-key", "tests", "ed25519", "sign", "never"]
    subprocess.run(command, check=True, capture_output=True)
    listed = subprocess.run(["gpg", "--list-keys", "--with-colons"], check=True, capture_output=True, text=True).stdout
    key = next(line.split(":")[9] for line in listed.splitlines() if line.startswith("fpr:"))
    return key, key


@pytest.mark.parametrize("tool", ["minisign", "gpg"])
def test_a_signed_bundle_is_installed_only_as_the_owner_of_the_key_made_it(
    tool: Tool, bundle: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    if shutil.which(tool) is None:
        pytest.skip(f"{tool} is not installed")
    secret, public = _minisign_keys(tmp_path) if tool == "minisign" else _gpg_keys(tmp_path, monkeypatch)
    option = [f"--{tool}", public]
    assert main(["verify", str(bundle), *option]) == 3
    assert "copy the signature too" in capsys.readouterr().err
    sign(checksum_list(bundle), tool, secret)
    assert main(["verify", str(bundle), *option]) == 0

    other = "RWQ" + "0" * 53 if tool == "minisign" else "0" * 40
    assert main(["verify", str(bundle), f"--{tool}", other]) == 3
    checksum_list(bundle).write_text(checksum_list(bundle).read_text() + " ")
    capsys.readouterr()
    assert main(["verify", str(bundle), *option]) == 3
    assert f"{tool} refused" in capsys.readouterr().err
    if tool == "gpg":
        subprocess.run(["gpgconf", "--kill", "all"], check=False, capture_output=True)


def test_a_key_without_its_program_is_an_error_and_never_passed_over(
    bundle: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    checksum_list(bundle).with_name("small.sha256.minisig").write_text("a signature")
    monkeypatch.setenv("PATH", str(bundle.parent))
    with pytest.raises(CorpusError, match="minisign is not installed here"):
        check_signature(checksum_list(bundle), "minisign", "RWQ")
