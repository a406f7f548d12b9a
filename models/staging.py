"""The folder that a library loads a model from: links to a user's weights beside configurations of our own.

What decides how weights are run is written here and not taken from the folder they came in: no code that comes with
weights is named in it, and a model's published configuration is rewritten where the native class needs another. The
user's files are not touched.
"""

from __future__ import annotations

import tempfile
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path

import msgspec

from shrag.models.gte_config import ORIGINAL, native_config
from shrag.models.weights import CONFIG, Weights

# The library insists on loading a tokeniser too; texts are cut into tokens by shrag.models.tokenisation.
_TOKENIZER_CONFIG = {"tokenizer_class": "PreTrainedTokenizerFast"}


@contextmanager
def stage_weights(weights: Weights, gte_class: str) -> Iterator[Path]:
    """Yield a folder to load a model from, as ``gte_class`` where it is an mGTE as published; it is gone afterwards.

    Raises :class:`~shrag.models.errors.WeightsRejected` as :func:`~shrag.models.gte_config.native_config` does.
    """
    config = weights.config()
    if config.get("model_type") == ORIGINAL:
        config = native_config(config, gte_class)
    config.pop("auto_map", None)
    with tempfile.TemporaryDirectory(prefix="shrag-model-") as name:
        folder = Path(name)
        for file in weights.files:
            if file != CONFIG:
                (folder / file).symlink_to((weights.folder / file).resolve())
        _write(folder / CONFIG, config)
        _write(folder / "tokenizer_config.json", _TOKENIZER_CONFIG)
        yield folder


def _write(path: Path, value: Mapping[str, object]) -> None:
    path.write_bytes(msgspec.json.encode(value))
