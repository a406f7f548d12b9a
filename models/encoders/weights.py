"""Find a model's weights folder by name or path, check it, and stage it for loading.

SHRAG reads ``config.json``, ``tokenizer.json``, safetensors files, and sentence-transformers' files for pooling and
prefixes. It never opens pickled weights or code in the folder.

A model is loaded from a staged folder, which has links to the weights and a rewritten configuration. The rewritten one
names no Python code, and it is converted if the native class needs another form. The user's files are not changed.
"""

from __future__ import annotations

import hashlib
import os
import tempfile
from collections.abc import Iterable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from functools import lru_cache
from pathlib import Path
from typing import Any

import msgspec

from shrag.messages.text import Text
from shrag.models.encoders.catalog import ModelCard
from shrag.models.encoders.gte_config import ORIGINAL, native_config
from shrag.models.encoders.safetensors_header import INDEX_FILE, SINGLE_FILE, read_header
from shrag.models.errors import WeightsMissing, WeightsRejected

CONFIG = "config.json"
TOKENIZER = "tokenizer.json"

# XLM-RoBERTa and its relatives number positions after the padding id, so this many positions of the table are unused.
_RESERVED_POSITIONS = {"roberta": 2, "xlm-roberta": 2, "camembert": 2, "mpnet": 2}
_PICKLED = ("*.bin", "*.pt", "*.pth", "*.pkl", "*.ckpt")
_LARGEST_JSON = 64 << 20


@dataclass(frozen=True, slots=True)
class Weights:
    """A checked folder; ``files`` maps the name of each file that determines the model's output to its SHA-256."""

    folder: Path
    files: Mapping[str, str]

    @property
    def tensors(self) -> list[Path]:
        """The paths of the safetensors files."""
        return [self.folder / name for name in self.files if name.endswith(".safetensors")]

    @property
    def digest(self) -> str:
        """The SHA-256 over the names and digests of the files."""
        lines = "".join(f"{name} {digest}\n" for name, digest in sorted(self.files.items()))
        return hashlib.sha256(lines.encode()).hexdigest()

    def config(self) -> dict[str, Any]:
        """Return the content of ``config.json``."""
        return read_json(self.folder / CONFIG)


def is_path(choice: str) -> bool:
    """Return whether ``choice`` is the path of a folder and not a name in the catalog."""
    return os.sep in choice or choice.startswith((".", "~"))


def expand_path(choice: str) -> Path:
    """Return the path ``choice`` with the home folder of a user instead of ``~``.

    Raises :class:`WeightsMissing` if there is no such user.
    """
    try:
        return Path(choice).expanduser()
    except RuntimeError:
        raise WeightsMissing(
            Text("There is no home folder of a user for {path}: give the whole path of the folder.", path=choice)
        ) from None


def find_weights(choice: str, card: ModelCard | None, home: Path) -> Path:
    """Return the folder of a model: ``home/NAME`` for a name in the catalog, else the path ``choice``.

    The folder may also have the layout of a hub's cache: ``models--ORG--NAME/snapshots/REVISION``. Raises
    :class:`WeightsMissing` if there is no such folder or user, and :class:`WeightsRejected` if there are several
    snapshots and no revision to choose one.
    """
    names = [choice]
    if card is not None:
        repository = card.repository
        names = [card.name, card.short, Path(repository).name, f"models--{repository.replace('/', '--')}"]
    folders = [expand_path(choice)] if is_path(choice) else [home / name for name in names if name]
    for folder in folders:
        if (folder / "snapshots").is_dir():
            return _snapshot(folder, card)
        if folder.is_dir():
            return folder
    what = choice
    if card and card.repository:
        what = Text("{repository} (licence {licence})", repository=card.repository, licence=card.licence)
    raise WeightsMissing(
        Text(
            "There are no weights at {folders}: copy the folder of {name} there, with its {config}, "
            "{tokenizer} and safetensors files; SHRAG downloads nothing.",
            folders=folders[0],
            name=what,
            config=CONFIG,
            tokenizer=TOKENIZER,
        )
    )


def check_weights(name: str, folder: Path, card: ModelCard | None = None) -> Weights:
    """Check the files of a model's folder, and compare them with the model's card if there is one.

    Raises :class:`WeightsMissing` if a file does not exist. Raises :class:`WeightsRejected` if a file is pickled or
    truncated, or does not have the size or SHA-256 on the card.
    """
    names = [CONFIG, TOKENIZER, *_tensor_files(folder)]
    for each in names:
        if not (folder / each).is_file():
            raise WeightsMissing(
                Text("{folder} has no {file}: copy the whole folder of {name}.", folder=folder, file=each, name=name)
            )
    for each in names:
        if each.endswith(".safetensors"):
            read_header(folder / each)
    digests = {each: _digest(folder / each) for each in names}
    for each, known in (card.files if card else {}).items():
        path = folder / each
        size = path.stat().st_size if path.is_file() else -1
        if (known.bytes is not None and size != known.bytes) or (
            known.sha256 is not None and digests.get(each) != known.sha256
        ):
            raise WeightsRejected(
                Text(
                    "{path} is not the {file} of {name}: it has {size} bytes and SHA-256 {digest}, the "
                    "catalogue has {bytes} and {sha256}; copy it again, or name the folder by its path if it "
                    "is another model.",
                    path=path,
                    file=each,
                    name=name,
                    size=size,
                    digest=digests.get(each, Text("none")),
                    bytes=known.bytes or Text("any"),
                    sha256=known.sha256 or Text("any"),
                )
            )
    return Weights(folder, digests)


def longest_input(config: Mapping[str, object]) -> int | None:
    """Return the tokens of the longest input, with special tokens, by a model's configuration; None if not given."""
    positions = config.get("max_position_embeddings")
    if not isinstance(positions, int):
        return None
    return positions - _RESERVED_POSITIONS.get(str(config.get("model_type")), 0)


def read_json(path: Path) -> dict[str, Any]:
    """Return the object in a JSON file of a model's folder; raises :class:`WeightsRejected` if there is no object."""
    try:
        if path.stat().st_size > _LARGEST_JSON:
            raise WeightsRejected(
                Text(
                    "{path} has {size} bytes, at most {largest_json} are allowed: copy it again.",
                    path=path,
                    size=path.stat().st_size,
                    largest_json=_LARGEST_JSON,
                )
            )
        return msgspec.json.decode(path.read_bytes(), type=dict[str, Any])
    except (OSError, msgspec.MsgspecError, UnicodeDecodeError, RecursionError) as error:
        raise WeightsRejected(Text("{path} cannot be read ({error}): copy it again.", path=path, error=error)) from None


def _tensor_files(folder: Path) -> list[str]:
    if (folder / SINGLE_FILE).is_file():
        return [SINGLE_FILE]
    index = folder / INDEX_FILE
    if index.is_file():
        shards = read_json(index).get("weight_map")
        names = (
            sorted(set(shards.values())) if isinstance(shards, dict) and _are_safetensors_names(shards.values()) else []
        )
        if not names:
            raise WeightsRejected(
                Text("{index} does not name safetensors files of its own folder: copy it again.", index=index)
            )
        return [INDEX_FILE, *names]
    pickled = sorted(path.name for pattern in _PICKLED for path in folder.glob(pattern))
    if pickled:
        raise WeightsRejected(
            Text(
                "{folder} has its weights as {pickled}, a pickle that can run code: copy {single_file} instead.",
                folder=folder,
                pickled=pickled[0],
                single_file=SINGLE_FILE,
            )
        )
    raise WeightsMissing(
        Text("{folder} has no {single_file}: copy the whole folder.", folder=folder, single_file=SINGLE_FILE)
    )


def _are_safetensors_names(names: Iterable[object]) -> bool:
    return all(isinstance(name, str) and name.endswith(".safetensors") and Path(name).name == name for name in names)


def _snapshot(cache: Path, card: ModelCard | None) -> Path:
    """Return the snapshot of the card's revision, else of the cache's ``main``, else the only snapshot."""
    snapshots = cache / "snapshots"
    main = cache / "refs" / "main"
    named = [card.revision if card else None, main.read_text().strip() if main.is_file() else None]
    for revision in named:
        if revision and Path(revision).name == revision and (snapshots / revision).is_dir():
            return snapshots / revision
    found = sorted(path for path in snapshots.iterdir() if path.is_dir())
    if len(found) == 1:
        return found[0]
    if not found:
        raise WeightsMissing(Text("{snapshots} is empty: copy the whole folder of the cache.", snapshots=snapshots))
    raise WeightsRejected(
        Text(
            "{snapshots} has {found_count} snapshots and no refs/main: name one of them by its path.",
            snapshots=snapshots,
            found_count=len(found),
        )
    )


def _digest(path: Path) -> str:
    state = path.stat()
    return _digest_of(os.fspath(path), state.st_size, state.st_mtime_ns, state.st_ino)


@lru_cache(maxsize=256)
def _digest_of(path: str, size: int, changed: int, inode: int) -> str:
    """Return the SHA-256 of a file in one state; it is cached, since a build asks for it several times."""
    del size, changed, inode
    with Path(path).open("rb") as stream:
        return hashlib.file_digest(stream, "sha256").hexdigest()


# sentence-transformers loads a tokenizer too, but SHRAG uses the one in shrag.models.encoders.tokenization.
_TOKENIZER_CONFIG = {"tokenizer_class": "PreTrainedTokenizerFast"}


@contextmanager
def stage_weights(weights: Weights, gte_class: str) -> Iterator[Path]:
    """Yield a temporary folder with links to the weights and a rewritten configuration.

    ``gte_class`` is the native class for an mGTE model with its published configuration. Raises as
    :func:`~shrag.models.encoders.gte_config.native_config` does.
    """
    config = weights.config()
    if config.get("model_type") == ORIGINAL:
        config = native_config(config, gte_class)
    config.pop("auto_map", None)
    with tempfile.TemporaryDirectory(prefix="shrag-model-") as name:
        folder = Path(name)
        for file in weights.files:
            if file != CONFIG:
                (folder / file).symlink_to((weights.folder / file).resolve())
        _write(folder / CONFIG, config)
        _write(folder / "tokenizer_config.json", _TOKENIZER_CONFIG)
        yield folder


def _write(path: Path, value: Mapping[str, object]) -> None:
    path.write_bytes(msgspec.json.encode(value))
