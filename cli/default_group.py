"""A command group with a default: `shrag index NAME` is `shrag index build NAME`."""

from __future__ import annotations

from typing import Any

import click


class DefaultGroup(click.Group):
    """The first command added is the default; its options may stand in the group's table of ``shrag.toml``."""

    @property
    def default(self) -> click.Command:
        """The command that is meant where none is named."""
        return next(iter(self.commands.values()))

    def make_context(
        self,
        info_name: str | None,
        args: list[str],
        parent: click.Context | None = None,
        **extra: Any,  # noqa: ANN401  (click's own signature)
    ) -> click.Context:
        """See click."""
        if args and args[0] not in self.commands and args[0] not in ("-h", "--help"):
            args = [str(self.default.name), *args]
        return super().make_context(info_name, args, parent, **extra)

    def parse_args(self, ctx: click.Context, args: list[str]) -> list[str]:
        """See click; options meant for the default command are handed on to it."""
        own = ctx.default_map or {}
        names = {parameter.name for parameter in self.default.params}
        handed = {key: value for key, value in own.items() if key in names}
        name = str(self.default.name)
        ctx.default_map = {**own, name: {**handed, **own.get(name, {})}}
        return super().parse_args(ctx, args)
