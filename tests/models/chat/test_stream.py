"""Streams over scripted chunks."""

from __future__ import annotations

import threading

import pytest

from shrag.models.chat.stream import ChatStream, MessageContent, StreamChoice, StreamChunk, TokenUsage
from shrag.models.errors import ModelError, ModelUnavailable


class Played:
    """Gives its chunks, then ends or fails; keeps who shut and closed it."""

    def __init__(self, *chunks: StreamChunk | ModelError) -> None:
        self.chunks = list(chunks)
        self.shuts = 0
        self.closes: list[str] = []
        self.waiting = threading.Event()
        self.ended = threading.Event()

    def next(self) -> StreamChunk | None:
        if not self.chunks:
            return None
        chunk = self.chunks.pop(0)
        if isinstance(chunk, ModelError):
            if "wait" in str(chunk):
                self.waiting.set()
                assert self.ended.wait(10)
            raise chunk
        return chunk

    def shut_down(self) -> None:
        self.shuts += 1
        self.ended.set()

    def close(self) -> None:
        self.closes.append(threading.current_thread().name)


def _chunk(text: str | None, finish: str | None = None, usage: TokenUsage | None = None) -> StreamChunk:
    return StreamChunk([StreamChoice(MessageContent(text), finish)], usage)


def test_the_usage_may_come_with_or_after_the_last_piece() -> None:
    for chunks in (
        [_chunk("가"), _chunk("나", "stop", TokenUsage(5, 2))],
        [_chunk("가"), _chunk("나", "stop"), StreamChunk([], TokenUsage(5, 2))],
    ):
        stream = ChatStream(Played(*chunks), "here", 0.0)
        assert list(stream) == ["가", "나"]
        completion = stream.completion
        assert (completion.text, completion.prompt_tokens, completion.completion_tokens) == ("가나", 5, 2)


def test_a_stream_without_a_text_is_an_empty_answer() -> None:
    stream = ChatStream(Played(_chunk(None), _chunk("", "stop")), "here", 0.0)
    assert list(stream) == []
    assert (stream.completion.text, stream.completion.finish_reason) == ("", "stop")


def test_closing_a_finished_stream_does_not_shut_the_socket_down() -> None:
    played = Played(_chunk("a", "stop"))
    stream = ChatStream(played, "here", 0.0)
    assert list(stream) == ["a"]
    stream.close()
    assert (played.shuts, len(played.closes)) == (0, 1)


def test_an_error_between_two_pieces_closes_the_connection() -> None:
    played = Played(_chunk("a"), ModelUnavailable("gone"))
    stream = ChatStream(played, "here", 0.0)
    with pytest.raises(ModelUnavailable, match="gone"):
        list(stream)
    assert len(played.closes) == 1


def test_a_stream_that_was_closed_ends_without_an_error_and_has_no_completion() -> None:
    played = Played(_chunk("a"), _chunk("b", "stop"), _chunk("c", "stop"))
    stream = ChatStream(played, "here", 0.0)
    pieces = iter(stream)
    assert [next(pieces), next(pieces)] == ["a", "b"]
    stream.close()
    assert list(pieces) == []
    with pytest.raises(RuntimeError, match="only after its last piece was read"):
        _ = stream.completion
    assert (played.shuts, len(played.chunks)) == (1, 1)


def test_closing_while_another_thread_reads_leaves_the_release_to_that_thread() -> None:
    played = Played(ModelUnavailable("wait"))
    stream = ChatStream(played, "here", 0.0)
    given: list[str] = []
    reader = threading.Thread(target=lambda: given.extend(stream), name="reader")
    reader.start()
    assert played.waiting.wait(10)
    stream.close()
    reader.join(10)
    assert (given, played.shuts, played.closes) == ([], 1, ["reader"])
