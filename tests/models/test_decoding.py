"""Conversion to msgspec types: threads that begin at once."""

from __future__ import annotations

import subprocess
import sys

import msgspec
import pytest

from shrag.models.decoding import convert

# Each round has types of its own, since only the first use of a type can go wrong; a crash ends the interpreter.
_ROUNDS = """
import sys, threading
from shrag.models.decoding import convert

TYPES = '''
import msgspec
class Inner(msgspec.Struct):
    a: "list[str]"
    b: "dict[str, int] | None" = None
class Outer(msgspec.Struct):
    items: "list[Inner]"
    more: "dict[str, list[Inner]] | None" = None
'''
sys.setswitchinterval(1e-6)
for _ in range(1000):
    names = {"__name__": __name__}
    exec(TYPES, names)
    sys.modules[__name__].__dict__.update(names)
    barrier = threading.Barrier(4)
    def work():
        barrier.wait()
        assert convert({"items": [{"a": ["x"]}]}, names["Outer"]).items[0].a == ["x"]
    threads = [threading.Thread(target=work) for _ in range(4)]
    for thread in threads: thread.start()
    for thread in threads: thread.join()
print("done")
"""


class Pair(msgspec.Struct):
    left: int
    right: int = 0


def test_a_value_is_converted_and_one_that_does_not_fit_is_refused() -> None:
    assert convert({"left": 1}, Pair) == Pair(1)
    assert convert({"left": "1"}, Pair, strict=False) == Pair(1)
    with pytest.raises(msgspec.ValidationError, match="Expected `int`, got `str`"):
        convert({"left": "1"}, Pair)


@pytest.mark.process
def test_four_threads_may_use_a_new_type_at_once() -> None:
    done = subprocess.run([sys.executable, "-c", _ROUNDS], capture_output=True, text=True, timeout=120, check=False)
    assert (done.returncode, done.stdout) == (0, "done\n"), done.stderr[-2000:]
