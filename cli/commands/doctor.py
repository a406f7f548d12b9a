"""``shrag doctor``: check the installation, the machine, indexes and models."""

from __future__ import annotations

import json
import platform
import shutil
import sys
from collections.abc import Iterator
from contextlib import closing
from importlib.util import find_spec
from pathlib import Path
from tempfile import TemporaryFile
from typing import Literal, NamedTuple

import click

from shrag.cli.options.model import llm_settings
from shrag.cli.output import echo, json_option, language
from shrag.cli.settings import Home
from shrag.cli.versions import package_version
from shrag.corpora.errors import CorpusError
from shrag.indexing.errors import IndexingError, IndexMissing
from shrag.messages.text import Text, in_language, message_of
from shrag.models.chat.settings import LlmSettings
from shrag.models.errors import ModelError, WeightsMissing

_OLDEST_PYTHON, _NEWEST_PYTHON = (3, 11), (3, 13)
_DISK_LOW = 2 * 2**30
_MEMORY_LOW = 2 * 2**30


class DoctorFinding(NamedTuple):
    """The result of one check; ``exit_status`` is the doctor's because of it, 0 without a problem."""

    check: str
    status: Literal["ok", "note", "fail"]
    message: str
    exit_status: int = 0


def check_parts() -> Iterator[DoctorFinding]:
    """Check Python, Java with Lucene, and Kiwi by using them."""
    tested = _OLDEST_PYTHON <= sys.version_info[:2] <= _NEWEST_PYTHON
    yield DoctorFinding(
        "Python",
        "ok" if tested else "note",
        platform.python_version() + ("" if tested else ": SHRAG is tested with 3.11, 3.12 and 3.13"),
    )
    for what, use in (("Java and Lucene", _use_lucene), ("Kiwi", _use_kiwi)):
        try:
            yield DoctorFinding(what, "ok", use())
        except (IndexingError, OSError) as error:
            yield DoctorFinding(what, "fail", message_of(error), 6)


def check_machine(home: Path) -> Iterator[DoctorFinding]:
    """Check free disk space and memory."""
    folder = next(path for path in (home, *home.absolute().parents) if path.exists())
    free = shutil.disk_usage(folder).free
    yield DoctorFinding(
        "Disk",
        "ok" if free > _DISK_LOW else "note",
        Text("{free:.1f} GiB free at {folder}", free=free / 2**30, folder=folder),
    )
    memory = _available_memory()
    if memory is not None:
        status: Literal["ok", "note"] = "ok" if memory > _MEMORY_LOW else "note"
        yield DoctorFinding(
            "Memory", status, Text("{memory:.1f} GiB available; SHRAG needs about 1.5", memory=memory / 2**30)
        )


def check_home(home: Home) -> Iterator[DoctorFinding]:
    """Check that every folder of the home that is there can be written to, by writing a temporary file."""
    for folder in (home.path, home.corpora, home.indexes):
        try:
            if folder.exists():
                with TemporaryFile(dir=folder):
                    pass
        except OSError as error:
            way = "give this user the right to it, or choose another folder with --home"
            yield DoctorFinding(
                "Home",
                "fail",
                Text(
                    "{folder} cannot be written to ({strerror}): {way}", folder=folder, strerror=error.strerror, way=way
                ),
                2,
            )
            return
    yield DoctorFinding("Home", "ok", str(home.path))


def check_corpora(corpora: Path) -> Iterator[DoctorFinding]:
    """Read every record and reject of all corpora."""
    from shrag.corpora.store.open_corpus import check_corpus, list_corpora

    for name in list_corpora(corpora):
        try:
            records = check_corpus(corpora, name)
        except (CorpusError, OSError) as error:
            yield DoctorFinding(Text("Corpus {name}", name=name), "fail", message_of(error), 3)
        else:
            yield DoctorFinding(
                Text("Corpus {name}", name=name), "ok", Text("{records:,} records, verified", records=records)
            )


def check_indexes(indexes: Path) -> Iterator[DoctorFinding]:
    """Check every published index against its manifest and the installed analyzer."""
    from shrag.indexing.open_index import check_index

    try:
        names = sorted(path.name for path in indexes.iterdir() if path.is_dir()) if indexes.exists() else []
    except OSError as error:
        yield DoctorFinding(
            "Indexes",
            "fail",
            Text("{folder} cannot be read ({strerror})", folder=indexes, strerror=error.strerror),
            4,
        )
        return
    if not names:
        yield DoctorFinding("Indexes", "note", Text("none under {folder}: make one with `make index`", folder=indexes))
    for name in names:
        try:
            manifest = check_index(indexes, name)
        except IndexMissing:
            yield DoctorFinding(
                Text("Index {name}", name=name),
                "note",
                Text("not built yet: `shrag index {name}` builds it", name=name),
            )
        except (IndexingError, CorpusError) as error:
            yield DoctorFinding(Text("Index {name}", name=name), "fail", message_of(error), 4)
        except OSError as error:
            yield DoctorFinding(
                Text("Index {name}", name=name),
                "fail",
                Text("{filename} cannot be read ({strerror})", filename=error.filename, strerror=error.strerror),
                4,
            )
        else:
            says = f"generation {manifest.generation}, {manifest.records:,} records, verified"
            yield DoctorFinding(Text("Index {name}", name=name), "ok", says)


def check_models(weights: Path) -> Iterator[DoctorFinding]:
    """Report the optional packages of models, and check the weights of the catalogue under ``weights``."""
    for package, extra, use in (
        ("sentence_transformers", "models", "encoders and re-rankers"),
        ("faiss", "cpu", "vector search"),
    ):
        if find_spec(package) is None:
            says = f"not installed ({use}); ranking is by BM25 and sentences. To add it: pip install 'shrag[{extra}]'"
            yield DoctorFinding(package, "note", says)
        else:
            yield DoctorFinding(package, "ok", Text("installed ({use})", use=use))
    yield from _check_weights(weights)


def check_language_model(settings: LlmSettings) -> Iterator[DoctorFinding]:
    """Query the configured endpoint, or check that ``shrag-serve`` can start a model server."""
    what = "Language model"
    try:
        if settings.url:
            yield DoctorFinding(what, "ok", _answering(settings))
        elif settings.command:
            from shrag.models.model_server.command import check_server_program, served_name

            check_server_program(settings)
            yield DoctorFinding(
                what,
                "ok",
                Text(
                    "{served_name}, started by shrag-serve from {weights}",
                    served_name=served_name(settings),
                    weights=settings.weights,
                ),
            )
        else:
            yield DoctorFinding(
                what, "note", Text("none: answers are extractive. To add one: docs/en/how-to/language-model.md")
            )
    except ModelError as error:
        yield DoctorFinding(what, "fail", Text("{error} Until then answers are extractive.", error=error), 6)


def _answering(settings: LlmSettings) -> str:
    from shrag.models.chat.client import OpenAIModel

    with closing(OpenAIModel(settings)) as model:
        health = model.health()
    context = f"a context of {health.max_model_len:,} tokens" if health.max_model_len else "a context of unknown length"
    return f"{health.model} at {settings.url} answers, with {context}{f', {health.engine}' if health.engine else ''}"


def _check_weights(weights: Path) -> Iterator[DoctorFinding]:
    from shrag.models.encoders.catalog import read_catalog
    from shrag.models.encoders.weights import check_weights, find_weights

    found = False
    for card in (*read_catalog().encoders, *read_catalog().rerankers):
        try:
            folder = find_weights(card.name, card, weights)
        except WeightsMissing:
            continue
        except ModelError as error:
            yield DoctorFinding(card.name, "fail", message_of(error), 6)
            continue
        found = True
        try:
            digest = check_weights(card.name, folder, card).digest
        except ModelError as error:
            yield DoctorFinding(card.name, "fail", message_of(error), 6)
        else:
            yield DoctorFinding(
                card.name, "ok", Text("verified at {folder}, weights {digest}", folder=folder, digest=digest[:16])
            )
    if not found:
        yield DoctorFinding(
            "Weights", "note", Text("none under {weights}: vectors and re-ranking by models need them", weights=weights)
        )


def _use_lucene() -> str:
    from shrag.indexing.maintenance.self_test import check_java_and_lucene

    return check_java_and_lucene()


def _use_kiwi() -> str:
    from shrag.indexing.analysis.korean_english import KoreanEnglishAnalyzer

    (terms,) = KoreanEnglishAnalyzer().terms(["형태소를 분석한다"])
    return f"kiwipiepy {package_version('kiwipiepy')}, 형태소를 분석한다 → {' '.join(terms)}"


def _available_memory() -> int | None:
    """Return the bytes available without swapping, None where the system does not report them."""
    try:
        lines = Path("/proc/meminfo").read_text(encoding="ascii").splitlines()
    except OSError:
        return None
    return next((int(line.split()[1]) * 1024 for line in lines if line.startswith("MemAvailable:")), None)


_MARKS = {"ok": ("ok", "green"), "note": ("--", "yellow"), "fail": ("FAIL", "red")}


@click.command()
@json_option
@click.pass_context
def command(ctx: click.Context, as_json: bool) -> None:
    """Check the installation, the machine, indexes and models, and say how to fix problems.

    Exit status 6 if a required part is missing, 4 if an index is damaged, 3 if a corpus is, 2 if the home cannot be
    written to, else 0.
    """
    home: Home = ctx.obj
    results = [
        *check_parts(),
        *check_machine(home.path),
        *check_home(home),
        *check_corpora(home.corpora),
        *check_indexes(home.indexes),
        *check_models(home.weights),
        *check_language_model(llm_settings()),
    ]
    for result in results:
        if as_json:
            echo(json.dumps(result._asdict(), ensure_ascii=False))
        else:
            mark, colour = _MARKS[result.status]
            click.secho(f"{mark:>4}", fg=colour, nl=False)
            check, message = (in_language(each, language.get()) for each in (result.check, result.message))
            echo(f"  {check:<20} {message}")
    ctx.exit(max((result.exit_status for result in results), default=0))
