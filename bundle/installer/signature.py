"""The list of the SHA-256 of a bundle's own files, ``NAME.sha256``, as sha256sum writes it, and its signature.

With ``sha256sum --check`` and ``minisign`` or ``gpg``, users can verify a bundle without running any program of it.
"""

from __future__ import annotations

import subprocess
from collections.abc import Iterable
from pathlib import Path
from typing import Literal

from shrag.corpora.errors import CorpusError
from shrag.corpora.store.file_checksum import compute_checksum
from shrag.messages.text import Text

Tool = Literal["minisign", "gpg"]

_SUFFIXES: dict[Tool, str] = {"minisign": ".minisig", "gpg": ".asc"}


def checksum_list(bundle: Path) -> Path:
    """Return the path of a bundle's list of checksums.

    >>> checksum_list(Path("carry/shrag.tar")).name
    'shrag.sha256'
    """
    return bundle.with_suffix(".sha256")


def write_checksums(bundle: Path, files: Iterable[Path]) -> Path:
    """Write the list of checksums of a bundle's files, which are beside the list, and return its path."""
    path = checksum_list(bundle)
    path.write_text("".join(f"{compute_checksum(each).sha256}  {each.name}\n" for each in files), encoding="utf-8")
    return path


def check_checksums(bundle: Path, files: Iterable[Path]) -> None:
    """Compare a bundle's files, and all other files in its list, with the list of checksums.

    Raises:
        CorpusError: There is no list, or a file is missing, is not in the list, or has another checksum.
    """
    path = checksum_list(bundle)
    try:
        lines = path.read_text(encoding="utf-8").splitlines()
        listed = {Path(name).name: digest for digest, _, name in (line.partition("  ") for line in lines)}
        for name in dict.fromkeys([*listed, *(file.name for file in files)]):
            if not path.with_name(name).exists():
                raise CorpusError(Text("{file} is missing: copy it too.", file=path.with_name(name)))
            if listed.get(name) != compute_checksum(path.with_name(name)).sha256:
                raise CorpusError(
                    Text("{file} does not have the checksum in {path}: copy it again.", file=name, path=path)
                )
    except (OSError, ValueError) as error:
        raise CorpusError(
            Text("{path} cannot be compared ({error}): copy all files again.", path=path, error=error)
        ) from None


def sign(path: Path, tool: Tool, key: str) -> Path:
    """Sign a list with the user's key: for ``minisign``, the file of a secret key; for ``gpg``, a key's identifier.

    Return the path of the signature.

    Raises:
        CorpusError: The program is not installed, or it refuses.
    """
    commands: dict[Tool, list[str]] = {
        "minisign": ["minisign", "-S", "-s", key, "-m", str(path)],
        "gpg": ["gpg", "--yes", "--armor", "--detach-sign", "--local-user", key, str(path)],
    }
    _run(commands[tool], capture=False)
    return _signature(path, tool)


def check_signature(path: Path, tool: Tool, key: str) -> None:
    """Verify the signature of a list, with a public key of minisign (its text or its file) or a GPG fingerprint.

    Raises:
        CorpusError: The program is not installed, the signature is missing, or it is not a signature of that key.
    """
    signature = _signature(path, tool)
    if not signature.exists():
        raise CorpusError(Text("{path} is missing: copy the signature too.", path=signature))
    if tool == "minisign":
        _run(["minisign", "-V", "-q", "-p" if Path(key).exists() else "-P", key, "-m", str(path)])
        return
    status = _run(["gpg", "--batch", "--status-fd", "1", "--verify", str(signature), str(path)])
    signers = [line.split() for line in status.splitlines() if line.startswith("[GNUPG:] VALIDSIG ")]
    wanted = key.replace(" ", "").upper()
    if len(wanted) < 16 or not any(wanted and each.endswith(wanted) for signer in signers for each in signer[2:]):
        raise CorpusError(Text("{path} is not signed by the key {key}: it is refused.", path=path, key=key))


def _signature(path: Path, tool: Tool) -> Path:
    return path.with_name(path.name + _SUFFIXES[tool])


def _run(command: list[str], *, capture: bool = True) -> str:
    try:
        done = subprocess.run(command, capture_output=capture, text=True, check=False)  # noqa: S603
    except FileNotFoundError:
        raise CorpusError(
            Text("{program} is not installed here: install it, or leave the key out.", program=command[0])
        ) from None
    if done.returncode:
        said = (done.stderr or done.stdout or "").strip().splitlines()
        raise CorpusError(
            Text("{program} refused: {problem}", program=command[0], problem=said[-1] if said else done.returncode)
        )
    return done.stdout or ""
