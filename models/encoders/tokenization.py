"""Tokenize texts with a model's own tokenizer; the only module that imports tokenizers."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from shrag.messages.text import Text
from shrag.models.encodable_text import encodable
from shrag.models.errors import PackageMissing, WeightsRejected

Tokens = NDArray[np.int32]
"""The ids of one text's tokens, including special tokens: ``int32[length]``."""


class Tokeniser:
    """A model's own tokenizer from its ``tokenizer.json``; it is thread-safe, and cuts texts at ``max_tokens``."""

    def __init__(self, path: Path, max_tokens: int) -> None:
        try:
            from tokenizers import Tokenizer
        except ImportError as error:
            raise PackageMissing(
                Text("tokenizers is not installed ({error}): `pip install 'shrag[models]'`.", error=error)
            ) from error
        self.path = path
        self.max_tokens = max_tokens
        try:
            self._tokenizer: Any = Tokenizer.from_file(str(path))
        except Exception as error:  # the library raises no narrower class
            raise WeightsRejected(
                Text("{path} is not a tokeniser ({error}): copy it again.", path=path, error=error)
            ) from None
        self._tokenizer.no_padding()
        self._tokenizer.enable_truncation(max_length=max_tokens)

    def texts(self, texts: Sequence[str]) -> list[Tokens]:
        """Return the tokens of each text."""
        return self._encode([encodable(text) for text in texts])

    def pairs(self, first: str, seconds: Sequence[str]) -> list[Tokens]:
        """Return the tokens of ``first`` paired with each of ``seconds``; the longer text of a pair is cut first."""
        question = encodable(first)
        return self._encode([(question, encodable(second)) for second in seconds])

    def _encode(self, inputs: Sequence[str | tuple[str, str]]) -> list[Tokens]:
        return [np.array(found.ids, dtype=np.int32) for found in self._tokenizer.encode_batch_fast(inputs)]
