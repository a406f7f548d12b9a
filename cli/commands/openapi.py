"""``shrag openapi``: print the OpenAPI document of the HTTP API (``docs/openapi.json``)."""

from __future__ import annotations

import click

from shrag.cli.output import echo


@click.command()
def command() -> None:
    """Print the OpenAPI document of what `shrag-serve` serves; it is the same for every index.

    Example: shrag openapi > docs/openapi.json
    """
    from shrag.serving.api.openapi import write_openapi
    from shrag.serving.app import ROUTES

    echo(write_openapi(ROUTES), nl=False)
