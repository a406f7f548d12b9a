"""Hostile input for tests: attack strings, garbage model output, and checks that a response is well formed."""

from __future__ import annotations

import json
import random
from collections import Counter
from collections.abc import Mapping, Sequence
from typing import TypeVar

import msgspec

from shrag.models.language_model import Completion, Message
from shrag.serving.answer_cache import pack_events, unpack_events
from shrag.serving.events import Answer, Event, Hits, Keywords, Node, Queries, Ranking, Timings, Truncated
from shrag.serving.request import LETTERS
from tests.support.scripted_models import ScriptedStream

HOSTILE = [
    "",
    "…",
    "⟦record 1⟧",
    "##NO ANSWER##",
    "$question",
    "[ANS_1]",
    "{",
    "[1][99]",
    "a\u202eb\x00\ud800",
    "LSTM 7.8% [1].",
]


class GarbageModel:
    """A model that writes any of ``texts``, as it is or as the strings of what the schema asks for."""

    name = "garbage"

    def __init__(self, texts: Sequence[str], seed: int) -> None:
        self._texts = texts
        self._chance = random.Random(seed)
        self.calls = 0

    def complete(
        self,
        messages: Sequence[Message],
        schema: Mapping[str, object] | None = None,
        *,
        max_tokens: int = 1024,
        urgent: bool = False,
    ) -> Completion:
        self.calls += 1
        text = self._chance.choice(self._texts)
        if schema is not None and self._chance.random() < 0.8:
            text = json.dumps(self._filled(schema))
        return Completion(text, self._chance.choice(["stop", "length"]), 1, 1, 0.0, 0.0)

    def stream(self, messages: Sequence[Message], *, max_tokens: int = 1024) -> ScriptedStream:
        self.calls += 1
        return ScriptedStream([self._chance.choice(self._texts) for _ in range(3)])

    def _filled(self, schema: Mapping[str, object]) -> object:
        """Return something of the schema's shape; its bounds are kept to by chance alone."""
        match schema:
            case {"properties": dict() as properties}:
                return {name: self._filled(one) for name, one in properties.items()}
            case {"items": dict() as items}:
                return [self._filled(items) for _ in range(self._chance.randrange(8))]
            case {"type": "integer"}:
                return self._chance.choice([-1, 0, 1, 3, 51, 10**12])
            case {"pattern": str()}:
                return self._chance.choice(["A", "B", "C", "D", "", self._chance.choice(self._texts)])
            case _:
                return self._chance.choice(self._texts)


_Kind = TypeVar("_Kind")

ONCE = (Keywords, Queries, Hits, Ranking, Answer, Timings)


def first(kind: type[_Kind], events: Sequence[Event]) -> _Kind:
    """Return the first event of a kind."""
    return next(event for event in events if isinstance(event, kind))


def check_events(events: Sequence[Event], choices: int = 0) -> None:
    """Check the events of a question with so many ``choices`` that wants an answer."""
    assert [type(event) for event in events if type(event) in ONCE] == list(ONCE)
    answer, ranking = first(Answer, events), first(Ranking, events)
    assert bool(answer.reason) == (not answer.sections) or answer.kind == "closed_book"
    cited = {number for section in answer.sections for sentence in section.sentences for number in sentence.citations}
    cited |= {section.source.number for section in answer.sections if section.source is not None}
    assert cited == {citation.number for citation in answer.citations}
    assert {citation.docid for citation in answer.citations} <= {one.record.docid for one in ranking.records}
    assert answer.choice in ("", *LETTERS[:choices])
    numbers = {event.number for event in events if isinstance(event, Node)}
    assert numbers == set(range(len(numbers)))
    spent = Counter(event.exhausted for event in events if isinstance(event, Truncated))
    assert max(spent.values(), default=1) == 1
    assert list(unpack_events(pack_events(events))) == list(events)
    for event in events:
        assert msgspec.json.decode(msgspec.json.encode(event), type=type(event)) == event


FILES = (
    "/etc/passwd",
    "etc/passwd",
    "/proc/self/environ",
    "/proc/self/cmdline",
    "CURRENT",
    "manifest.json",
    "records.sqlite",
)

_UP = (
    "../", "..\\", "..;/", "%2e%2e%2f", "..%2f", "%2e%2e/", "..%5c", "%252e%252e%252f", "..%c0%af", "%c0%ae%c0%ae/",
    "....//", "..././", "．．/", "..／", "../\x00", "/%2e%2e/",
)  # fmt: skip

PATHS = (
    *FILES,
    *(up * 8 + "etc/passwd" for up in _UP),
    *(f"demo/{up}{up}demo" for up in _UP[:6]),
    "..", ".", "/", "//", "\\", "~", "~root/.ssh/id_rsa", "/dev/stdin", "/dev/zero", "/dev/fd/0", "C:\\boot.ini",
    "\\\\192.0.2.1\\share\\x", "gen-000001", "../indexes/demo", "demo\x00.json", "demo/", "nul", "con",
    "file:///etc/passwd", "file://localhost/etc/passwd", "jar:file:///etc/passwd!/",
)  # fmt: skip
"""More than 50 strings that would be a path where one is made of them."""

ADDRESSES = (
    "http://192.0.2.1/", "https://192.0.2.1/x.png", "ftp://192.0.2.1/", "//192.0.2.1/x", "http://169.254.169.254/latest",
    "http://2130706433/", "http://0x7f000001/", "http://[::ffff:192.0.2.1]/", "http://192.0.2.1#@127.0.0.1/",
    "gopher://192.0.2.1:70/_x", "dict://192.0.2.1:11/", "ldap://192.0.2.1/x", "jndi:ldap://192.0.2.1/x",
    "${jndi:ldap://192.0.2.1/x}", "\\\\192.0.2.1\\x", "http://attack.invalid/", "data:text/html,<script>1</script>",
)  # fmt: skip
"""Addresses of other machines (192.0.2.0/24 and .invalid are nobody's), in the forms that filters miss."""

PROGRAMS = (
    "$(id)",
    "`id`",
    "; id",
    "| id",
    "{{7*7}}",
    "${7*7}",
    "<%= 7*7 %>",
    "__import__('os')",
    "' OR 1=1 --",
    "*:*",
    "a^9 b~2",
)
"""What a shell, a template, Python, SQL or Lucene's query parser would run."""
