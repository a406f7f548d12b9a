"""``--json``: what a command has found, one JSON object a line."""

from __future__ import annotations

import click

json_option = click.option("--json", "as_json", is_flag=True, help="One JSON object a line.")


def json_line(value: object) -> str:
    """Return ``value`` as one line of JSON."""
    import msgspec

    return msgspec.json.encode(value).decode()


def print_json(value: object) -> None:
    """Print ``value`` as one line of JSON."""
    click.echo(json_line(value))
