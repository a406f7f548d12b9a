"""The program in ``NAME.install.pyz``: it verifies a bundle, installs it, or undoes the last installation."""

from __future__ import annotations

import argparse
import os
import sys
import time
from collections.abc import Callable, Sequence
from pathlib import Path

from shrag.bundle.installer.check import check_bundle, describe_bundle
from shrag.bundle.installer.install import install_bundle, undo_installation
from shrag.bundle.installer.signature import Tool, check_checksums, check_signature, checksum_list
from shrag.corpora.errors import CorpusError
from shrag.corpora.files import DiskFailed, DiskFull, disk_errors
from shrag.corpora.store.volumes import find_volumes
from shrag.messages.language import locale_language
from shrag.messages.text import Text, in_language

SUFFIX = ".install.pyz"

_LANGUAGE = locale_language(os.environ)
_DEFAULT_FOLDER = "~/shrag"


def installer_path(bundle: Path) -> Path:
    """Return the path of the installer beside a bundle.

    >>> installer_path(Path("carry/shrag.tar")).name
    'shrag.install.pyz'
    """
    return bundle.with_name(bundle.stem + SUFFIX)


def main(arguments: Sequence[str] | None = None) -> int:
    """Run the installer with a command line, and return its exit status, which has the same meaning as ``shrag``'s."""
    parser = _parser()
    options = parser.parse_args(arguments)
    try:
        if options.command == "undo":
            return _undo(options.into)
        bundle = _bundle(options.bundle, parser)
        if options.command == "verify":
            verify(bundle, options.minisign, options.gpg, _say)
        else:
            check_list(bundle, options.minisign, options.gpg, _say)
            _install(bundle, options.into)
    except (DiskFull, DiskFailed) as error:
        return _fail(error, 5)
    except CorpusError as error:
        return _fail(error, 3)
    except PermissionError as error:
        return _fail(Text("{path} cannot be written: name another folder with --into.", path=error.filename), 2)
    except KeyboardInterrupt:
        return _fail(Text("Interrupted. Run the same command again to continue where it stopped."), 130)
    return 0


def verify(bundle: Path, minisign: str, gpg: str, report: Callable[[str], None]) -> None:
    """Check a bundle's list of checksums as :func:`check_list` does, check all of its files, and report what it is.

    Raises:
        CorpusError: A check failed.
    """
    check_list(bundle, minisign, gpg, report)
    report(describe_bundle(bundle, check_bundle(bundle)))


def check_list(bundle: Path, minisign: str, gpg: str, report: Callable[[str], None]) -> None:
    """Check a bundle's files against the list of checksums, if there is one; with a key, check the list's signature.

    Raises:
        CorpusError: A check failed, or a key is given and the list or its signature is missing.
    """
    files = [*find_volumes(bundle), *(each for each in [installer_path(bundle)] if each.exists())]
    keys: dict[Tool, str] = {"minisign": minisign, "gpg": gpg}
    for tool, key in keys.items():
        if key:
            check_signature(checksum_list(bundle), tool, key)
            report(Text("{path}: signed by the key {key}", path=checksum_list(bundle), key=key))
    if any(keys.values()) or checksum_list(bundle).exists():
        check_checksums(bundle, files)


def _install(bundle: Path, folder: Path) -> None:
    started = time.monotonic()
    with disk_errors(folder):
        release = install_bundle(bundle, folder, _say)
    _say(
        Text(
            "installed {identifier} in {folder} in {seconds:.0f} s",
            identifier=release.identifier,
            folder=folder.absolute(),
            seconds=time.monotonic() - started,
        )
    )
    program = folder.absolute() / "bin" / "shrag"
    _say(Text("next: {program} doctor, then {program}-serve INDEX", program=program))


def _undo(folder: Path) -> int:
    undone = undo_installation(folder, _say)
    _say(
        Text(
            "{previous} is current again instead of {identifier}",
            previous=undone.previous,
            identifier=undone.identifier,
        )
    )
    return 0


def _bundle(given: str, parser: argparse.ArgumentParser) -> Path:
    """Return the path of the bundle: the given one, else that of the bundle beside this installer."""
    if given:
        return Path(given)
    beside = Path(sys.argv[0]).absolute()
    if not beside.name.endswith(SUFFIX):
        parser.error(_shown(Text("Give the path of the bundle.")))
    return beside.with_name(beside.name.removesuffix(SUFFIX) + ".tar")


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(
        description=_shown(Text("Install SHRAG from a bundle. Nothing is fetched from a network."))
    )
    commands = parser.add_subparsers(dest="command", required=True)
    bundle = argparse.ArgumentParser(add_help=False)
    bundle.add_argument(
        "bundle", nargs="?", default="", help=_shown(Text("the bundle; the one beside this file by default"))
    )
    bundle.add_argument("--minisign", metavar="KEY", default="", help=_shown(Text("a public key, or its file")))
    bundle.add_argument("--gpg", metavar="KEY", default="", help=_shown(Text("the fingerprint of a key")))
    into = argparse.ArgumentParser(add_help=False)
    into.add_argument(
        "--into",
        type=_folder,
        metavar="FOLDER",
        default=_DEFAULT_FOLDER,
        help=_shown(Text("where it is installed; {folder} by default", folder=_DEFAULT_FOLDER)),
    )
    helps = {
        "verify": Text("check every file of a bundle, and its signature"),
        "install": Text("install a bundle, or upgrade an installation"),
        "undo": Text("return to the release before the last upgrade"),
    }
    parents = {"verify": [bundle], "install": [bundle, into], "undo": [into]}
    for name, text in helps.items():
        commands.add_parser(name, parents=parents[name], help=_shown(text), description=_shown(text))
    return parser


def _folder(path: str) -> Path:
    try:
        return Path(path).expanduser()
    except RuntimeError:
        reason = Text("There is no home folder of a user for {path}: give the whole path of the folder.", path=path)
        raise argparse.ArgumentTypeError(_shown(reason)) from None


def _shown(text: str) -> str:
    return in_language(text, _LANGUAGE)


def _say(text: str) -> None:
    print(_shown(text), flush=True)  # noqa: T201  (a command)


def _fail(problem: object, status: int) -> int:
    print(f"shrag: {in_language(problem, _LANGUAGE)}", file=sys.stderr)  # noqa: T201  (a command)
    return status
