"""Checks of the data folder: permissions, corpora, indexes, weights."""

from __future__ import annotations

from collections.abc import Iterator
from importlib.util import find_spec
from pathlib import Path
from tempfile import TemporaryFile

from shrag.cli.doctor.finding import DoctorFinding
from shrag.cli.settings import Home
from shrag.corpora.errors import CorpusError
from shrag.indexing.errors import IndexingError, IndexMissing
from shrag.messages.text import Text, message_of
from shrag.models.errors import ModelError, WeightsMissing


def check_home(home: Home) -> Iterator[DoctorFinding]:
    """Check that files can be written, by writing one to the folder of temporary files and to each data folder."""
    named = (home.path, home.corpora, home.indexes, home.runs, *_subfolders(home.corpora), *_subfolders(home.indexes))
    nearest = next(path for path in (home.path, *home.path.parents) if path.exists())
    for folder in (None, nearest, *named):  # None: the folder of temporary files, which may not exist
        try:
            if folder is None or folder.exists():
                with TemporaryFile(dir=folder):
                    pass
        except OSError as error:
            yield DoctorFinding(
                Text("Home"),
                "failure",
                Text("{folder} cannot be written to ({strerror})", folder=folder or "TMPDIR", strerror=error.strerror),
                2,
                Text(
                    "give this user permission to write to it (`chown -R`, `chmod -R u+rwX`), or choose another "
                    "folder with --home, or TMPDIR for temporary files"
                ),
            )
            return
    yield DoctorFinding(Text("Home"), "ok", str(home.path))


def _subfolders(folder: Path) -> list[Path]:
    try:
        return sorted(path for path in folder.iterdir() if path.is_dir())
    except OSError:
        return []


def check_corpora(corpora: Path) -> Iterator[DoctorFinding]:
    """Check every corpus by reading all its records and rejects."""
    from shrag.corpora.store.open_corpus import check_corpus, list_corpora

    for name in list_corpora(corpora):
        check = Text("Corpus {name}", name=name)
        try:
            records = check_corpus(corpora, name)
        except (CorpusError, OSError) as error:
            repair = Text(
                "import it again: `shrag corpus import FILE`, or `shrag corpus replace {name}` with its files",
                name=name,
            )
            yield DoctorFinding(check, "failure", message_of(error), 3, repair)
        else:
            yield DoctorFinding(check, "ok", Text("{records:,} records, verified", records=records))


def check_indexes(indexes: Path) -> Iterator[DoctorFinding]:
    """Check every published index: its manifest, the checksums of its files, and the installed analyzer."""
    try:
        names = sorted(path.name for path in indexes.iterdir() if path.is_dir()) if indexes.exists() else []
    except OSError as error:
        yield DoctorFinding(
            Text("Indexes"),
            "failure",
            Text("{indexes} cannot be read ({strerror})", indexes=indexes, strerror=error.strerror),
            4,
            Text("give this user permission to read it (`chmod -R u+rX`)"),
        )
        return
    if not names:
        yield DoctorFinding(
            Text("Indexes"),
            "warning",
            Text("none under {indexes}", indexes=indexes),
            repair=Text(
                "build the demonstration index with `shrag index demo`, or import an index with `shrag "
                "index import FILE`"
            ),
        )
    for name in names:
        yield _check_index(indexes, name)


def _check_index(indexes: Path, name: str) -> DoctorFinding:
    from shrag.indexing.open_index import check_index

    check = Text("Index {name}", name=name)
    repair = Text(
        "build it again from its corpus with `shrag index {name}`, or import it again with `shrag index import FILE`",
        name=name,
    )
    try:
        manifest = check_index(indexes, name)
    except IndexMissing:
        return DoctorFinding(check, "warning", Text("not built yet"), repair=repair)
    except (IndexingError, CorpusError) as error:
        return DoctorFinding(check, "failure", message_of(error), 4, repair)
    except OSError as error:
        return DoctorFinding(
            check,
            "failure",
            Text("{filename} cannot be read ({strerror})", filename=error.filename, strerror=error.strerror),
            4,
            Text("give this user permission to read it (`chmod -R u+rX`)"),
        )
    return DoctorFinding(
        check,
        "ok",
        Text(
            "generation {generation}, {records:,} records, analyzer and {files} files verified",
            generation=manifest.generation,
            records=manifest.records,
            files=len(manifest.files),
        ),
    )


def check_models(weights: Path) -> Iterator[DoctorFinding]:
    """Report the optional packages of models, and check the weights under ``weights``."""
    found = list(_check_weights(weights))
    for package, extra, use in (
        ("sentence_transformers", "models", Text("encoders and re-rankers")),
        ("faiss", "cpu", Text("vector search")),
    ):
        if find_spec(package) is not None:
            yield DoctorFinding(package, "ok", Text("installed ({use})", use=use))
            continue
        says = Text("not installed ({use}): ranking is by BM25 and sentences", use=use)
        if found:
            repair = Text(
                "add it from the folder of wheels: `pip install --no-index --find-links FOLDER 'shrag[{extra}]'`",
                extra=extra,
            )
            yield DoctorFinding(package, "warning", says, repair=repair)
        else:
            yield DoctorFinding(package, "ok", says)
    if not found:
        yield DoctorFinding(
            Text("Weights"),
            "ok",
            Text("none under {weights}: vectors and re-ranking by models need them", weights=weights),
        )
    yield from found


def _check_weights(weights: Path) -> Iterator[DoctorFinding]:
    """Yield a finding for each model of the catalog that has weights here, and for each other model folder."""
    from shrag.models.encoders.catalog import read_catalog
    from shrag.models.encoders.weights import CONFIG, check_weights, find_weights

    repair = Text("copy the model's whole folder again, and compare it with the one it is copied from (`sha256sum`)")
    seen = set()
    for card in (*read_catalog().encoders, *read_catalog().rerankers):
        folder = weights / card.name
        try:
            folder = find_weights(card.name, card, weights)
            seen.add(folder.relative_to(weights).parts[0])
            digest = check_weights(card.name, folder, card).digest
        except ModelError as error:
            if isinstance(error, WeightsMissing) and not folder.is_dir():
                continue  # this model is not here
            yield DoctorFinding(card.name, "failure", message_of(error), 6, repair)
        else:
            yield _complete(card.name, digest, folder if card.files else None)
    for folder in _subfolders(weights):
        if folder.name in seen or not (folder / CONFIG).is_file():
            continue
        try:
            digest = check_weights(folder.name, folder).digest
        except ModelError as error:
            yield DoctorFinding(folder.name, "failure", message_of(error), 6, repair)
        else:
            yield _complete(folder.name, digest)


def _complete(name: str, digest: str, verified: Path | None = None) -> DoctorFinding:
    """Return the finding for a model whose files are all there; those in ``verified`` have the catalog's checksums."""
    says = Text("complete; the catalogue has no checksums for this model, weights {digest}", digest=digest[:16])
    if verified is not None:
        says = Text("verified at {folder}, weights {digest}", folder=verified, digest=digest[:16])
    return DoctorFinding(name, "ok", says)
