"""Checks of ``shrag doctor``: findings and remedies."""

from __future__ import annotations

import platform
import shutil
import sys
from collections.abc import Iterator
from contextlib import closing
from importlib.metadata import PackageNotFoundError, version
from importlib.util import find_spec
from pathlib import Path
from typing import Literal, NamedTuple

from shrag.indexing.errors import IndexingError
from shrag.models.chat.settings import LlmSettings
from shrag.models.errors import ModelError, WeightsMissing

_DISK_LOW = 2 * 2**30
_MEMORY_LOW = 2 * 2**30


class Finding(NamedTuple):
    """``exit_status`` is what the doctor ends with because of this one: 0 where nothing is wrong."""

    what: str
    status: Literal["ok", "note", "fail"]
    says: str
    exit_status: int = 0


def check_parts() -> Iterator[Finding]:
    """Try each part that SHRAG needs, by using it."""
    enough = sys.version_info >= (3, 11)
    yield Finding(
        "Python",
        "ok" if enough else "fail",
        platform.python_version() + ("" if enough else ": 3.11 or newer is needed"),
        0 if enough else 6,
    )
    for what, use in (("Java and Lucene", _use_lucene), ("Kiwi", _use_kiwi)):
        try:
            yield Finding(what, "ok", use())
        except IndexingError as error:
            yield Finding(what, "fail", str(error), 6)


def check_machine(home: Path) -> Iterator[Finding]:
    """Look at the disk and the memory."""
    folder = next(path for path in (home, *home.absolute().parents) if path.exists())
    free = shutil.disk_usage(folder).free
    yield Finding("Disk", "ok" if free > _DISK_LOW else "note", f"{free / 2**30:.1f} GiB free at {folder}")
    memory = _available_memory()
    if memory is not None:
        status: Literal["ok", "note"] = "ok" if memory > _MEMORY_LOW else "note"
        yield Finding("Memory", status, f"{memory / 2**30:.1f} GiB available; SHRAG needs about 1.5")


def check_indexes(indexes: Path) -> Iterator[Finding]:
    """Check every published index against its manifest and this process's analyser."""
    from shrag.indexing.open_index import check_index
    from shrag.indexing.storage.generations import CURRENT_FILE

    names = sorted(path.parent.name for path in indexes.glob(f"*/{CURRENT_FILE}"))
    if not names:
        yield Finding("Indexes", "note", f"none under {indexes}: make one with `make index`")
    for name in names:
        try:
            manifest = check_index(indexes, name)
        except IndexingError as error:
            yield Finding(f"Index {name}", "fail", str(error), 4)
        else:
            says = f"generation {manifest.generation}, {manifest.records:,} records, whole"
            yield Finding(f"Index {name}", "ok", says)


def check_models(weights: Path) -> Iterator[Finding]:
    """Say which models there are, those of the catalogue under ``weights``. None is needed."""
    for package, extra, use in (
        ("sentence_transformers", "models", "encoders and re-rankers"),
        ("faiss", "cpu", "vector search"),
    ):
        if find_spec(package) is None:
            says = f"not installed ({use}); ranking is by BM25 and sentences. To add it: pip install 'shrag[{extra}]'"
            yield Finding(package, "note", says)
        else:
            yield Finding(package, "ok", f"installed ({use})")
    yield from _check_weights(weights)


def check_language_model(settings: LlmSettings) -> Iterator[Finding]:
    """Ask the endpoint that is configured what it is, or see whether the server could start one."""
    what = "Language model"
    try:
        if settings.url:
            yield Finding(what, "ok", _answering(settings))
        elif settings.command:
            from shrag.models.model_server.command import check_server_program, served_name

            check_server_program(settings)
            yield Finding(what, "ok", f"{served_name(settings)}, started by shrag-serve from {settings.weights}")
        else:
            yield Finding(what, "note", "none; answers are extractive and say so. To add one: docs/language-model.md")
    except ModelError as error:
        yield Finding(what, "fail", f"{error} Until then answers are extractive.", 6)


def _answering(settings: LlmSettings) -> str:
    from shrag.models.chat.client import OpenAIModel

    with closing(OpenAIModel(settings)) as model:
        health = model.health()
    context = f"a context of {health.max_model_len:,} tokens" if health.max_model_len else "a context it does not tell"
    return f"{health.model} at {settings.url} answers, with {context}{f', {health.engine}' if health.engine else ''}"


def _check_weights(weights: Path) -> Iterator[Finding]:
    from shrag.models.encoders.catalog import read_catalog
    from shrag.models.encoders.weights import check_weights, find_weights

    found = False
    for card in (*read_catalog().encoders, *read_catalog().rerankers):
        try:
            folder = find_weights(card.name, card, weights)
        except WeightsMissing:
            continue
        except ModelError as error:
            yield Finding(card.name, "fail", str(error), 6)
            continue
        found = True
        try:
            digest = check_weights(card.name, folder, card).digest
        except ModelError as error:
            yield Finding(card.name, "fail", str(error), 6)
        else:
            yield Finding(card.name, "ok", f"whole at {folder}, weights {digest[:16]}")
    if not found:
        yield Finding("Weights", "note", f"none under {weights}: vectors and ranking by models need some")


def _use_lucene() -> str:
    from shrag.indexing.lexical.jvm import java, lucene, lucene_jar

    lucene_version = lucene("util.Version").LATEST.toString()
    java_version = java("java.lang.System").getProperty("java.version")
    return f"Java {java_version}, Lucene {lucene_version} ({lucene_jar().name})"


def _use_kiwi() -> str:
    from shrag.indexing.analysis.korean_english import KoreanEnglishAnalyzer

    (terms,) = KoreanEnglishAnalyzer().terms(["형태소를 분석한다"])
    return f"kiwipiepy {_version('kiwipiepy')}, 형태소를 분석한다 → {' '.join(terms)}"


def _version(package: str) -> str:
    try:
        return version(package)
    except PackageNotFoundError:
        return "unknown"


def _available_memory() -> int | None:
    """Return the bytes that can be had without swapping, None where the system does not say."""
    try:
        lines = Path("/proc/meminfo").read_text(encoding="ascii").splitlines()
    except OSError:
        return None
    return next((int(line.split()[1]) * 1024 for line in lines if line.startswith("MemAvailable:")), None)
