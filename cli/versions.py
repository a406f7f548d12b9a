"""Versions that ``--version`` prints, found without starting Java or loading Kiwi."""

from __future__ import annotations

import platform
from collections.abc import Iterator
from importlib.metadata import PackageNotFoundError, version

import click

from shrag.cli.output import echo

RELEASED = "2026-11-23"
"""The day of this version; ``make dist VERSION=…`` sets it for a release. A clock with an earlier day is wrong."""


def package_version(package: str) -> str:
    """Return the version of an installed package, else ``not installed``."""
    try:
        return version(package)
    except PackageNotFoundError:
        return "not installed"


def version_lines() -> Iterator[str]:
    """Yield ``shrag VERSION``, and a line for each part whose version can change an index or an answer."""
    from shrag.indexing.errors import DependencyMissing
    from shrag.indexing.lexical.jvm import LUCENE_VERSION, java_version
    from shrag.indexing.storage.manifest import FORMAT_VERSION

    try:
        java = java_version()
    except DependencyMissing:
        java = "not installed"
    yield f"shrag {version('shrag')}"
    yield f"Lucene {LUCENE_VERSION}"
    yield f"Kiwi {package_version('kiwipiepy')}, model {package_version('kiwipiepy-model')}"
    yield f"Java {java}"
    yield f"Python {platform.python_version()}"
    yield f"index format {FORMAT_VERSION}"


def _print_versions(ctx: click.Context, _: click.Parameter, value: bool) -> None:
    if value and not ctx.resilient_parsing:
        for line in version_lines():
            echo(line)
        ctx.exit()


version_option = click.option(
    "--version",
    is_flag=True,
    is_eager=True,
    expose_value=False,
    callback=_print_versions,
    help="Print the versions of SHRAG, Lucene, Kiwi, Java, Python and the index format.",
)
