"""Choose the encoder of an index for which none was chosen: the one whose weights are installed."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

from shrag.indexing.storage.vector_card import NO_ENCODER
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
        notify(f"No vectors for index {name}: {weights} has no encoder's weights (docs/en/reference/encoders.md).")
    elif len(installed) > 1:
        notify(
            f"No vectors for index {name}: {weights} has several encoders ({', '.join(installed)}). Choose one with "
            f"`shrag index {name} --encoder NAME`."
        )
    elif missing := missing_packages():
        notify(
            f"No vectors for index {name}: {weights} has the encoder {installed[0]}, but {', '.join(missing)} is not "
            "installed: `pip install 'shrag[models,cpu]'`."
        )
    else:
        try:
            choose_encoder(installed[0], weights)
        except ModelError as error:
            notify(f"No vectors for index {name}: {error}")
        else:
            notify(
                f"Vectors for index {name} by the encoder {installed[0]} in {weights}; `--encoder {NO_ENCODER}` leaves "
                "them out."
            )
            return installed[0]
    return NO_ENCODER
