"""GPU cards by name, so that plans can be made on a machine without the card."""

from __future__ import annotations

import tomllib
from importlib.resources import files

import msgspec

from shrag.messages.text import Text
from shrag.models.errors import UnknownName
from shrag.models.memory_plan.byte_sizes import GIB


class GpuCard(msgspec.Struct, frozen=True):
    """A GPU card.

    ``usable`` is the memory in bytes that programs can allocate; it is ``estimated`` unless it was read from the card.
    ``capability`` is CUDA's compute capability, 0 if not known.
    """

    name: str
    title: str
    usable: int
    capability: float
    estimated: bool = True


def load_cards() -> dict[str, GpuCard]:
    """Return the cards of ``gpu_cards.toml`` by name, the smaller ones first."""
    text = (files("shrag.models.memory_plan") / "gpu_cards.toml").read_text(encoding="utf-8")
    return {
        name: GpuCard(name, card["title"], int(card["usable_gib"] * GIB), card["capability"])
        for name, card in tomllib.loads(text).items()
    }


def find_card(name: str) -> GpuCard:
    """Return the card of this name in any case; raises :class:`UnknownName`."""
    cards = load_cards()
    for known, card in cards.items():
        if known.casefold() == name.casefold():
            return card
    raise UnknownName(
        Text(
            "There is no GPU {name!r}: use one of {cards}, or leave it out to read this machine's GPU.",
            name=name,
            cards=", ".join(cards),
        )
    )
