"""Run card of a results folder: what was run, by which code, on which machine.

What decides a number is its ``identity``: two results with the same one hold the same numbers, and only then may the
one be gone on with as the other. The rest is for people.
"""

from __future__ import annotations

import hashlib
from collections.abc import Iterator, Mapping
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import msgspec

from shrag.corpora.files import replace_durably
from shrag.evaluation.errors import ResultsMismatch
from shrag.evaluation.experiments.engines import ModelChoice, OpenIndexes, index_name
from shrag.evaluation.experiments.judged_topics import JudgedQuestions
from shrag.evaluation.experiments.provenance import Code, Hardware, code_digest, package_versions
from shrag.evaluation.experiments.spec import Condition, Experiment, JudgedSet
from shrag.indexing.bm25 import Bm25
from shrag.indexing.glossary.store import FILE as GLOSSARY
from shrag.indexing.storage.manifest import IndexManifest
from shrag.indexing.storage.vector_card import VectorCard
from shrag.prompts.prompt import prompts_fingerprint

CARD_FILE = "card.json"

FORMAT_VERSION = 2
"""Raised whenever what a folder of results holds changes."""


class IndexIdentity(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """What an index ranks by. ``corpus`` is the fingerprint of its records, ``glossary`` the digest of its glossary."""

    corpus: str
    records: int
    rejected: int
    analyzer: str
    bm25: Bm25
    glossary: str
    format_version: int
    vectors: VectorCard | None


class QuestionsIdentity(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """``asked`` questions; the digest is over them and their judgements."""

    digest: str
    asked: int
    unjudged: int
    unasked: int


class ModelIdentity(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """The language model, empty where there is none."""

    name: str = ""
    fingerprint: str = ""


class Identity(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """What decides every number of a result. ``chance`` are the conditions that are repeated, chance being in them."""

    format_version: int
    experiment: Experiment
    chance: tuple[str, ...]
    questions: dict[str, QuestionsIdentity]
    indexes: dict[str, IndexIdentity]
    prompts: str
    model: ModelIdentity
    code: str
    versions: dict[str, str]


class Session(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """One go at it, in UTC; ``ended`` is empty where it was stopped. ``threads`` asked at once: times depend on it."""

    command: tuple[str, ...]
    started: str
    threads: int
    ended: str = ""


class RunCard(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """``files`` is the SHA-256 of every file that a run of the same identity has byte for byte, once all are there."""

    identity: Identity
    fingerprint: str
    code: Code
    hardware: Hardware
    sessions: tuple[Session, ...]
    files: dict[str, str] = {}


def index_identity(manifest: IndexManifest) -> IndexIdentity:
    """Return what an index ranks by: not its generation, nor when it was built."""
    glossary, vectors = manifest.files.get(GLOSSARY), manifest.vectors
    if vectors is not None:
        # An encoder may be a folder of this machine; its digest tells which it is.
        vectors = msgspec.structs.replace(vectors, encoder=Path(vectors.encoder).name)
    return IndexIdentity(
        corpus=manifest.source.fingerprint,
        records=manifest.records,
        rejected=manifest.rejected,
        analyzer=manifest.analyzer,
        bm25=manifest.bm25,
        glossary=glossary.sha256 if glossary else "",
        format_version=manifest.format_version,
        vectors=vectors,
    )


def questions_identity(questions: JudgedQuestions) -> QuestionsIdentity:
    """Return what was asked of a set."""
    return QuestionsIdentity(questions.digest, len(questions.topics), questions.unjudged, questions.unasked)


def identity_fingerprint(identity: Identity) -> str:
    """Return the SHA-256 of an identity as JSON with sorted keys."""
    return hashlib.sha256(msgspec.json.encode(identity, order="sorted")).hexdigest()


def now() -> str:
    """Return the time in UTC, to the second."""
    return datetime.now(UTC).isoformat(timespec="seconds")


def write_card(folder: Path, card: RunCard) -> None:
    """Make ``card`` the folder's."""
    replace_durably(folder / CARD_FILE, msgspec.json.format(msgspec.json.encode(card), indent=2) + b"\n")


def read_card(folder: Path) -> RunCard:
    """Return the folder's card; raises :class:`ResultsMismatch` where there is none that this SHRAG reads."""
    path = folder / CARD_FILE
    try:
        data = path.read_bytes()
    except OSError as error:
        raise ResultsMismatch(
            f"{folder} holds no results ({path} cannot be read: {error.strerror}): give a folder that "
            "`shrag experiment` wrote."
        ) from None
    try:
        return msgspec.json.decode(data, type=RunCard)
    except (msgspec.MsgspecError, UnicodeDecodeError) as error:
        raise ResultsMismatch(
            f"{path} is no card that this SHRAG reads ({error}): run the experiment again into another folder."
        ) from None


def check_same(folder: Path, stored: Identity, wanted: Identity) -> None:
    """Raise :class:`ResultsMismatch`, naming what differs, where results of another identity lie in ``folder``."""
    differing = list(_differences(msgspec.to_builtins(stored), msgspec.to_builtins(wanted)))
    if differing:
        more = f" and {len(differing) - 1} more" if len(differing) > 1 else ""
        raise ResultsMismatch(
            f"The results in {folder} were made otherwise ({differing[0]}{more}): go on as they were begun, or give "
            "another folder with --output."
        )


def _differences(stored: Any, wanted: Any, where: str = "") -> Iterator[str]:  # noqa: ANN401 - any JSON
    if stored == wanted:
        return
    if isinstance(stored, dict) and isinstance(wanted, dict):
        for key in sorted({*stored, *wanted}):
            yield from _differences(stored.get(key), wanted.get(key), f"{where}.{key}" if where else key)
    elif isinstance(stored, list | tuple) and isinstance(wanted, list | tuple) and len(stored) == len(wanted):
        for place, (one, other) in enumerate(zip(stored, wanted, strict=True)):
            yield from _differences(one, other, f"{where}[{place}]")
    else:
        yield f"{where} was {_brief(stored)} and is {_brief(wanted)}"


def _brief(value: object) -> str:
    text = msgspec.json.encode(value).decode()
    return text if len(text) <= 40 else f"{text[:37]}…"


def identify(
    experiment: Experiment,
    questions: Mapping[str, JudgedQuestions],
    indexes: OpenIndexes,
    model: ModelChoice | None,
) -> Identity:
    """Return the identity of the experiment's results; opens and checks every index that is asked."""
    chance = tuple(each.name for each in experiment.conditions if uses_model(each, model))
    names = sorted({index_name(judged_set, encoder) for judged_set, encoder in indexes_of(experiment)})
    return Identity(
        format_version=FORMAT_VERSION,
        experiment=experiment,
        chance=chance,
        questions={name: questions_identity(each) for name, each in questions.items()},
        indexes={name: index_identity(indexes[name].manifest) for name in names},
        prompts=prompts_fingerprint(),
        model=ModelIdentity(model.name, model.fingerprint) if model and chance else ModelIdentity(),
        code=code_digest(),
        versions=package_versions(),
    )


def indexes_of(experiment: Experiment) -> list[tuple[JudgedSet, str]]:
    """Return each set with each encoder that a condition asks of it, once, in order."""
    pairs = [(each, condition.encoder) for each in experiment.sets for condition in experiment.conditions]
    return [pair for place, pair in enumerate(pairs) if pair not in pairs[:place]]


def uses_model(condition: Condition, model: ModelChoice | None) -> bool:
    """Say whether the condition asks a language model, which is all the chance there is in one."""
    return model is not None and condition.model is not False and not condition.peer


def repeat_seed(seed: int, repeat: int) -> int:
    """Return the seed of a repeat: the experiment's own for the only or the first, the next ones for the others."""
    return seed + max(repeat - 1, 0)
