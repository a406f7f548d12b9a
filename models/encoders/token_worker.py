"""A process that cuts texts into tokens, so that the one that feeds a GPU need not: ``python -m`` this, FILE, MAX.

Each request and each answer is four bytes of length and as many of MessagePack: a list of texts, then the lengths and
the tokens of all of them as ``int32`` one after another. It ends when its standard input does.
"""

from __future__ import annotations

import os
import struct
import sys
from pathlib import Path
from typing import IO, TypeVar

import msgspec
import numpy as np

from shrag.models.encoders.tokenization import Tokeniser, Tokens

_LENGTH = struct.Struct("<I")
_Message = TypeVar("_Message")


class TokenAnswer(msgspec.Struct, frozen=True, array_like=True):
    """Tokens of several texts, packed: ``int32`` each."""

    lengths: bytes
    tokens: bytes


def send(stream: IO[bytes], message: object) -> None:
    """Write one message."""
    data = msgspec.msgpack.encode(message)
    stream.write(_LENGTH.pack(len(data)) + data)
    stream.flush()


def receive(stream: IO[bytes], kind: type[_Message]) -> _Message:
    """Read one message; raises ``EOFError`` where the other side has gone."""
    return msgspec.msgpack.decode(_exactly(stream, _LENGTH.unpack(_exactly(stream, _LENGTH.size))[0]), type=kind)


def pack(tokens: list[Tokens]) -> TokenAnswer:
    """Return the tokens of texts as one answer."""
    lengths = np.array([len(each) for each in tokens], dtype=np.int32)
    return TokenAnswer(lengths.tobytes(), np.concatenate([*tokens, np.empty(0, np.int32)]).astype(np.int32).tobytes())


def unpack(answer: TokenAnswer) -> list[Tokens]:
    """Return the tokens of each text of an answer."""
    ends = np.cumsum(np.frombuffer(answer.lengths, dtype=np.int32))
    return np.split(np.frombuffer(answer.tokens, dtype=np.int32), ends[:-1]) if len(ends) else []


def _exactly(stream: IO[bytes], size: int) -> bytes:
    data = stream.read(size)
    if len(data) != size:
        raise EOFError
    return data


def main() -> None:
    """Answer requests until there are no more."""
    # One core each: there are several of these.
    os.environ["TOKENIZERS_PARALLELISM"] = "false"
    tokeniser = Tokeniser(Path(sys.argv[1]), int(sys.argv[2]))
    while True:
        try:
            texts = receive(sys.stdin.buffer, list[str])
        except EOFError:
            return
        send(sys.stdout.buffer, pack(tokeniser.texts(texts)))


if __name__ == "__main__":
    main()
