"""``shrag index``: build, verify, list, show, carry, roll back and remove indexes."""

from __future__ import annotations

import click
from click_default_group import DefaultGroup

from shrag.cli.commands.index.building import build
from shrag.cli.commands.index.generations import remove, rollback
from shrag.cli.commands.index.showing import list_, show, verify
from shrag.cli.commands.index.transfer import export, import_, load


class _IndexGroup(DefaultGroup, click.Group):  # type: ignore[misc]  # DefaultGroup has no types
    format_commands = click.Group.format_commands  # DefaultGroup's marks the default command and reorders all


@click.group(cls=_IndexGroup, default="build")
@click.pass_context
def command(ctx: click.Context) -> None:
    """Build an index, and manage published indexes.

    `shrag index NAME` is short for `shrag index build NAME`.
    """
    # Options of `build` may stand in the table [index] of shrag.toml.
    options = ctx.default_map or {}
    ctx.default_map = {**options, "build": {**options, **options.get("build", {})}}


for _each in (build, verify, rollback, export, load, import_, remove, list_, show):
    command.add_command(_each)
