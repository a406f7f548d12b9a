"""``shrag bundle``: carry an installation with its data to a machine without a network."""

from __future__ import annotations

from pathlib import Path

import click

from shrag.bundle.errors import BundleDependencyMissing
from shrag.cli.output import echo
from shrag.cli.settings import Home
from shrag.messages.text import Text

_UNITS = {"": 1, "K": 2**10, "M": 2**20, "G": 2**30}
_PYTHONS = ("3.11", "3.12", "3.13")


class _Size(click.ParamType[int]):
    """A number of bytes, with K, M or G for powers of 1,024."""

    name = "size"

    def convert(self, value: object, param: click.Parameter | None, ctx: click.Context | None) -> int:
        if value == 0:  # the default
            return 0
        number, unit = str(value).strip().upper().removesuffix("B"), ""
        if number[-1:] in _UNITS:
            number, unit = number[:-1], number[-1:]
        if not number.isdecimal() or int(number) * _UNITS[unit] < _UNITS["M"]:
            self.fail(Text("{value!r} is not a size of at least 1M: write it as 700M or 4G.", value=value), param, ctx)
        return int(number) * _UNITS[unit]


class _Pythons(click.ParamType[tuple[str, ...]]):
    """Versions of Python, separated by commas."""

    name = "versions"

    def convert(self, value: object, param: click.Parameter | None, ctx: click.Context | None) -> tuple[str, ...]:
        if isinstance(value, tuple):
            return value
        pythons = tuple(dict.fromkeys(part.strip() for part in str(value).split(",") if part.strip()))
        for python in pythons:
            if python not in _PYTHONS:
                known = ", ".join(_PYTHONS)
                self.fail(Text("SHRAG does not run with Python {python!r}: use {known}.", python=python, known=known))
        return pythons


_bundle_argument = click.argument("bundle", type=click.Path(path_type=Path))
_volume_option = click.option(
    "--volume",
    "volume_bytes",
    type=_Size(),
    default=0,
    metavar="SIZE",
    help="Write files of at most SIZE, such as 4G, that are carried together.  [default: one file]",
)
_minisign_option = click.option("--minisign", default="", metavar="KEY", help="A public key of minisign, or its file.")
_gpg_option = click.option("--gpg", default="", metavar="KEY", help="The fingerprint of a key of GPG.")
_sign_minisign_option = click.option(
    "--sign-minisign", default="", metavar="FILE", help="Sign the list of checksums with this secret key."
)
_sign_gpg_option = click.option(
    "--sign-gpg", default="", metavar="KEY", help="Sign the list of checksums with this key of GPG."
)


@click.group()
def command() -> None:
    """Carry SHRAG to a machine without a network, in one file.

    NAME.tar has all packages and what you choose of your data; NAME.install.pyz beside it needs only Python, 3.11
    to 3.13.
    """


@command.command()
@_bundle_argument
@click.option(
    "--profile",
    type=click.Choice(["cpu", "gpu"]),
    default="cpu",
    show_default=True,
    help="cpu for a machine without a GPU; gpu adds torch, FAISS and vLLM.",
)
@click.option(
    "--python",
    "pythons",
    type=_Pythons(),
    default=(),
    metavar="3.11,3.12",
    help="Versions of Python on the other side.  [default: the one that runs]",
)
@click.option("--index", "indexes", multiple=True, metavar="NAME", help="An index to carry. Repeatable.")
@click.option("--corpus", "corpora", multiple=True, metavar="NAME", help="A corpus to carry. Repeatable.")
@click.option("--weights", multiple=True, metavar="NAME", help="A folder under SHRAG_HOME/weights. Repeatable.")
@click.option(
    "--questions",
    multiple=True,
    type=click.Path(exists=True, file_okay=False, path_type=Path),
    metavar="FOLDER",
    help="A folder with questions and judgements, for `shrag experiment --data` there. Repeatable.",
)
@click.option(
    "--config",
    type=click.Path(exists=True, dir_okay=False, path_type=Path),
    help="A shrag.toml that a new installation begins with.",
)
@click.option(
    "--wheel",
    type=click.Path(exists=True, dir_okay=False, path_type=Path),
    help="SHRAG's own wheel, where it was not installed from its source.",
)
@click.option(
    "--vllm",
    type=click.Path(exists=True, dir_okay=False, path_type=Path),
    metavar="REQUIREMENTS",
    help="Add an environment of vLLM: a file of requirements with hashes.",
)
@_volume_option
@_sign_minisign_option
@_sign_gpg_option
@click.pass_obj
def create(
    home: Home,
    bundle: Path,
    profile: str,
    pythons: tuple[str, ...],
    indexes: tuple[str, ...],
    corpora: tuple[str, ...],
    weights: tuple[str, ...],
    questions: tuple[Path, ...],
    config: Path | None,
    wheel: Path | None,
    vllm: Path | None,
    volume_bytes: int,
    sign_minisign: str,
    sign_gpg: str,
) -> None:
    """Write the bundle BUNDLE (NAME.tar), with the installer and a list of checksums beside it.

    The packages have the versions that are installed here. pip fetches them; nothing else of SHRAG uses a network.

    Example: shrag bundle create carry/shrag.tar --index sci --corpus sci
    """
    try:
        from shrag.bundle.create import BundleOptions, create_bundle
    except ModuleNotFoundError as error:
        raise BundleDependencyMissing(
            Text(
                "A bundle is made with {package}, which is not installed: `pip install 'shrag[bundle]'`.",
                package=error.name,
            )
        ) from None
    options = BundleOptions(
        profile=profile,
        pythons=pythons,
        corpora=corpora,
        indexes=indexes,
        weights=weights,
        questions=questions,
        config=config,
        wheel=wheel,
        vllm=vllm,
        volume_bytes=volume_bytes,
    )
    create_bundle(bundle, home.path, options, lambda line: echo(line, err=True))
    _print_files(bundle, _sign(bundle, sign_minisign, sign_gpg))


@command.command()
@_bundle_argument
@_minisign_option
@_gpg_option
def verify(bundle: Path, minisign: str, gpg: str) -> None:
    """Check every file of BUNDLE, its list of checksums, and with a key its signature.

    The installer beside a bundle does the same: python3 NAME.install.pyz verify

    Example: shrag bundle verify carry/shrag.tar
    """
    from shrag.bundle.installer.main import verify as verify_bundle

    verify_bundle(bundle, minisign, gpg, echo)


@command.command()
@_bundle_argument
@click.option("--into", type=click.Path(path_type=Path), required=True, help="Where it is installed.")
@_minisign_option
@_gpg_option
def install(bundle: Path, into: Path, minisign: str, gpg: str) -> None:
    """Install BUNDLE into a folder, or upgrade the installation there.

    Without SHRAG: python3 NAME.install.pyz install

    Example: shrag bundle install carry/shrag.tar --into ~/shrag
    """
    from shrag.bundle.installer.install import install_bundle
    from shrag.bundle.installer.main import check_list

    check_list(bundle, minisign, gpg, lambda line: echo(line, err=True))
    release = install_bundle(bundle, into, lambda line: echo(line, err=True))
    echo(Text("installed {identifier} in {folder}", identifier=release.identifier, folder=into.absolute()))


@command.command()
@click.argument("old", type=click.Path(path_type=Path))
@click.argument("new", type=click.Path(path_type=Path))
@_bundle_argument
@_volume_option
@_sign_minisign_option
@_sign_gpg_option
def diff(old: Path, new: Path, bundle: Path, volume_bytes: int, sign_minisign: str, sign_gpg: str) -> None:
    """Write a small BUNDLE that turns an installation of OLD into one of NEW.

    Example: shrag bundle diff october.tar november.tar update.tar
    """
    from shrag.bundle.difference import write_difference

    write_difference(old, new, bundle, volume_bytes)
    _print_files(bundle, _sign(bundle, sign_minisign, sign_gpg))


def _sign(bundle: Path, minisign: str, gpg: str) -> list[Path]:
    """Sign the list of checksums with each key that is given, and return the paths of the signatures."""
    from shrag.bundle.installer.signature import Tool, checksum_list, sign

    keys: dict[Tool, str] = {"minisign": minisign, "gpg": gpg}
    return [sign(checksum_list(bundle), tool, key) for tool, key in keys.items() if key]


def _print_files(bundle: Path, signatures: list[Path]) -> None:
    """Print the files to carry, with their sizes."""
    from shrag.bundle.installer.main import installer_path
    from shrag.bundle.installer.signature import checksum_list
    from shrag.corpora.store.volumes import find_volumes

    files = [*find_volumes(bundle), installer_path(bundle), checksum_list(bundle), *signatures]
    for path in sorted(each.absolute() for each in files):
        echo(Text("{path}  {size:,.1f} MiB", path=path, size=path.stat().st_size / 2**20))
    echo(
        Text(
            "next, on the other machine: python3 {installer} install --into ~/shrag",
            installer=f"{bundle.stem}.install.pyz",
        ),
        err=True,
    )
