"""Open a generation's collection in a vector database for search."""

from __future__ import annotations

from contextlib import ExitStack
from pathlib import Path

import msgspec

from shrag.indexing.distributed.collection import Collection, VectorDatabase
from shrag.indexing.distributed.database import alias_name, collection_name, open_database
from shrag.indexing.distributed.searcher import DistributedSearcher
from shrag.indexing.distributed.vocabulary import Vocabulary
from shrag.indexing.errors import IndexMismatch
from shrag.indexing.lexical.schema import FOLDER as LUCENE_FOLDER
from shrag.indexing.search_engine import EngineChoice
from shrag.indexing.storage.generations import generation_folder
from shrag.indexing.storage.manifest import IndexManifest, manifest_digest
from shrag.indexing.storage.vector_card import FAISS_FILE, FILE
from shrag.indexing.storage.vector_card import FOLDER as VECTORS
from shrag.messages.text import Text

LOADS = "loads"
"""Name of the folder of loads in an index's folder."""


def load_folder(index: Path, generation: int) -> Path:
    """Return the folder with the files of a generation's loads, which is outside the generation's own folder."""
    return index / LOADS / generation_folder(index, generation).name


def vocabulary_path(index: Path, generation: int) -> Path:
    """Return the path of a generation's vocabulary."""
    return load_folder(index, generation) / "vocabulary.sqlite"


def files_there(folder: Path, manifest: IndexManifest) -> IndexManifest:
    """Return the manifest without the files that ``folder`` lacks because the database has their content."""
    instead = {f"{VECTORS}/{FILE}", f"{VECTORS}/{FAISS_FILE}"}
    files = {
        name: each
        for name, each in manifest.files.items()
        if (name not in instead and not name.startswith(f"{LUCENE_FOLDER}/")) or (folder / name).exists()
    }
    return msgspec.structs.replace(manifest, files=files)


def open_distributed(
    choice: EngineChoice, index: Path, manifest: IndexManifest, *, is_published: bool = False
) -> DistributedSearcher:
    """Open the collection of a generation and its vocabulary.

    Args:
        choice: The database.
        index: The index's folder.
        manifest: The generation's manifest.
        is_published: Whether the index's alias must point to the collection.

    Raises:
        IndexMismatch: The generation is not loaded there or is incomplete, or another one is published.
        IndexDamaged: The vocabulary cannot be read.
        IndexingError: As :func:`~shrag.indexing.distributed.database.open_database`.
    """
    with ExitStack() as opened:
        database = open_database(choice)
        opened.callback(database.close)
        collection = check_loaded(database, index.name, manifest, choice)
        if is_published and database.target(alias_name(index.name)) != collection_name(index.name, manifest):
            raise _not_loaded(choice, index.name, manifest, Text("another generation is published"))
        path = vocabulary_path(index, manifest.generation)
        if not path.is_file():
            raise _not_loaded(choice, index.name, manifest, Text("its vocabulary file is missing"))
        vocabulary = Vocabulary(path)
        opened.callback(vocabulary.close)
        if vocabulary.header.source != manifest_digest(manifest):
            raise _not_loaded(choice, index.name, manifest, Text("its vocabulary file is that of another generation"))
        opened.pop_all()
        return DistributedSearcher(database, collection, vocabulary)


def check_loaded(database: VectorDatabase, index: str, manifest: IndexManifest, choice: EngineChoice) -> Collection:
    """Return the collection of a generation; raise :class:`IndexMismatch` unless it has all the records."""
    collection = database.open(collection_name(index, manifest))
    if collection is None:
        raise _not_loaded(choice, index, manifest, Text("it is not loaded"))
    found = collection.count()
    if found != manifest.records:
        reason = Text("it has {found:,} of its {records:,} records", found=found, records=manifest.records)
        raise _not_loaded(choice, index, manifest, reason)
    return collection


def _not_loaded(choice: EngineChoice, index: str, manifest: IndexManifest, reason: str) -> IndexMismatch:
    return IndexMismatch(
        Text(
            "{engine} at {address} cannot serve generation {generation} of index {name} ({reason}): load it with "
            "`shrag index {name}`.",
            engine=choice.name,
            address=choice.address,
            reason=reason,
            generation=manifest.generation,
            name=index,
        )
    )
