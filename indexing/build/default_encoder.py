"""Choose the encoder of an index if the user chose none: the only encoder whose weights are installed."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

from shrag.indexing.storage.vector_card import NO_ENCODER
from shrag.messages.text import Text
from shrag.models.encoders.choice import choose_encoder
from shrag.models.encoders.installed import installed_encoders, missing_packages
from shrag.models.errors import ModelError


def default_encoder(name: str, weights: Path, notify: Callable[[str], None]) -> str:
    """Return the only encoder with weights in the folder ``weights``, or ``none``.

    Args:
        name: The index.
        weights: The folder of models' weights.
        notify: Called with one sentence: which encoder it is, or why there is none.
    """
    installed = installed_encoders(weights)
    if not installed:
        notify(
            Text(
                "No vectors for index {name}: {weights} has no encoder's weights (docs/en/reference/encoders.md).",
                name=name,
                weights=weights,
            )
        )
    elif len(installed) > 1:
        notify(
            Text(
                "No vectors for index {name}: {weights} has several encoders ({encoders}). Choose one with "
                "`shrag index {name} --encoder NAME`.",
                name=name,
                weights=weights,
                encoders=", ".join(installed),
            )
        )
    elif missing := missing_packages():
        notify(
            Text(
                "No vectors for index {name}: {weights} has the encoder {encoder}, but {missing} is not installed: "
                "`pip install 'shrag[models,cpu]'`.",
                name=name,
                weights=weights,
                encoder=installed[0],
                missing=", ".join(missing),
            )
        )
    else:
        try:
            choose_encoder(installed[0], weights)
        except ModelError as error:
            notify(Text("No vectors for index {name}: {error}", name=name, error=error))
        else:
            notify(
                Text(
                    "Vectors for index {name} by the encoder {encoder} in {weights}; `--encoder none` leaves them out.",
                    name=name,
                    encoder=installed[0],
                    weights=weights,
                )
            )
            return installed[0]
    return NO_ENCODER
