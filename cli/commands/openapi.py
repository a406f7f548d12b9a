"""``shrag openapi``: print the OpenAPI document of the HTTP API (``docs/openapi.json``)."""

from __future__ import annotations

import click

from shrag.cli.settings import Home


@click.command()
@click.argument("name", default="demo")
@click.pass_obj
def command(home: Home, name: str) -> None:
    """Print the OpenAPI document of `shrag-serve NAME` (default: demo); it is the same for every index.

    Example: shrag openapi > docs/openapi.json
    """
    from shrag.serving.api.openapi import write_openapi
    from shrag.serving.app import create_app
    from shrag.serving.engine import open_engine

    click.echo(write_openapi(create_app(open_engine(home.indexes, name, verify="quick"))), nl=False)
