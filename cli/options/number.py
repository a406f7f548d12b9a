"""The type of options whose value is a number in a range."""

from __future__ import annotations

import math
from typing import Any

import click

from shrag.messages.text import Text


class NumberRange(click.FloatRange):
    """A number in a range. Click's own range has NaN in it, which is neither below nor above any limit."""

    def convert(self, value: Any, param: click.Parameter | None, ctx: click.Context | None) -> float:  # noqa: ANN401
        """Convert the number, and refuse NaN in the words of other text that is no number (see click)."""
        number = float(super().convert(value, param, ctx))
        if math.isnan(number):
            self.fail(Text("{value!r} is not a valid {number_type}.", value=value, number_type=self.name), param, ctx)
        return number
