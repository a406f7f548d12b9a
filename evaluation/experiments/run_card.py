"""The run card of a results folder: what was run, by which code, on which machine.

``identity`` is everything that affects a figure. Two results with the same identity have the same figures. A run can be
resumed only under the same identity. The other fields are information for people.
"""

from __future__ import annotations

import hashlib
from collections.abc import Iterator, Mapping
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import msgspec

from shrag.corpora.files import write_atomically
from shrag.evaluation.errors import ResultsMismatch
from shrag.evaluation.experiments.engines import OpenIndexes, index_name
from shrag.evaluation.experiments.judged_topics import JudgedQuestions
from shrag.evaluation.experiments.language_models import LanguageModels, ModelChoice
from shrag.evaluation.experiments.provenance import CodeVersion, Hardware, code_digest, package_versions
from shrag.evaluation.experiments.spec import Experiment, JudgedSet
from shrag.indexing.bm25 import Bm25
from shrag.indexing.glossary.store import FILE as GLOSSARY
from shrag.indexing.storage.manifest import IndexManifest, manifest_digest
from shrag.indexing.storage.vector_card import VectorCard
from shrag.messages.text import Text
from shrag.prompts.prompt import prompts_fingerprint

CARD_FILE = "card.json"

FORMAT_VERSION = 4
"""Version of the layout of a results folder. Every change of the layout increases it."""


class IndexIdentity(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """Everything about an index that affects its rankings.

    ``corpus`` is the fingerprint of its records. ``glossary`` is the SHA-256 of its glossary, empty without one.
    """

    corpus: str
    records: int
    rejected: int
    analyzer: str
    bm25: Bm25
    glossary: str
    format_version: int
    vectors: VectorCard | None


class QuestionsIdentity(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """The questions of a set. ``digest`` covers their texts, judgements and references; ``topics`` is their number.

    The other two numbers are those of :class:`~shrag.evaluation.experiments.judged_topics.JudgedQuestions`.
    """

    digest: str
    topics: int
    unjudged_topics: int
    missing_topics: int


class ModelIdentity(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """A language model. The fields are empty if there is none."""

    name: str = ""
    fingerprint: str = ""


class RunIdentity(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """Everything that affects a figure of a result.

    ``stochastic_conditions`` use a language model, which is the only source of chance. They are repeated. ``model`` is
    the configured language model if conditions or judgements use it. ``models`` has those that conditions name, by
    their names in the experiment.
    """

    format_version: int
    experiment: Experiment
    stochastic_conditions: tuple[str, ...]
    questions: dict[str, QuestionsIdentity]
    indexes: dict[str, IndexIdentity]
    prompts: str
    model: ModelIdentity
    models: dict[str, ModelIdentity]
    code: str
    versions: dict[str, str]


class Session(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """One call of ``shrag experiment`` on the folder.

    Times are in UTC, in ISO 8601. ``ended`` is empty if the call was stopped.
    """

    command: tuple[str, ...]
    started: str
    threads: int
    ended: str = ""


class IndexGeneration(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """The build of an index that was asked.

    ``generation`` is its number on that machine. ``manifest`` is the SHA-256 of its manifest, which has the SHA-256 of
    every file. So an archive of the index can be compared with it (:mod:`shrag.evaluation.reports.card_check`).
    """

    generation: int
    manifest: str
    created: str


class RunCard(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """The run card of a results folder.

    Attributes:
        identity: Everything that affects a figure.
        fingerprint: The SHA-256 of the identity.
        code: The code of the last session.
        hardware: The machine of the last session.
        sessions: The calls of ``shrag experiment`` on the folder.
        depths: Part → least and greatest number of hits that its queries asked for; empty until the run is complete.
        generations: The build of each index of the identity. Another build of the same index gives the same figures.
        files: File → SHA-256, for the files that are the same, byte for byte, in any run of this identity; empty until
            the run is complete.
    """

    identity: RunIdentity
    fingerprint: str
    code: CodeVersion
    hardware: Hardware
    sessions: tuple[Session, ...]
    depths: dict[str, tuple[int, int]] = {}
    generations: dict[str, IndexGeneration] = {}
    files: dict[str, str] = {}


def index_identity(manifest: IndexManifest) -> IndexIdentity:
    """Return the identity of an index. Its generation and its build time are not part of it."""
    glossary, vectors = manifest.files.get(GLOSSARY), manifest.vectors
    if vectors is not None:
        # The encoder may be a folder on this machine. Its digest identifies it anywhere.
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


def index_generation(manifest: IndexManifest) -> IndexGeneration:
    """Return the build of an index that the manifest describes."""
    return IndexGeneration(manifest.generation, manifest_digest(manifest), manifest.created)


def identity_fingerprint(identity: RunIdentity) -> str:
    """Return the SHA-256 of an identity as JSON with sorted keys."""
    return hashlib.sha256(msgspec.json.encode(identity, order="sorted")).hexdigest()


def utc_now() -> str:
    """Return the current time in UTC, to the second, in ISO 8601."""
    return datetime.now(UTC).isoformat(timespec="seconds")


def write_card(folder: Path, card: RunCard) -> None:
    """Write ``card`` into the results folder."""
    write_atomically(folder / CARD_FILE, msgspec.json.format(msgspec.json.encode(card), indent=2) + b"\n")


def read_card(folder: Path) -> RunCard:
    """Return the folder's card, or the card that is ``folder`` itself.

    Raises :class:`ResultsMismatch` if it is missing or has another format.
    """
    path = folder if folder.is_file() else folder / CARD_FILE
    try:
        data = path.read_bytes()
    except OSError as error:
        raise ResultsMismatch(
            Text(
                "{folder} holds no results ({path} cannot be read: {strerror}): give a folder that `shrag "
                "experiment` wrote.",
                folder=folder,
                path=path,
                strerror=error.strerror,
            )
        ) from None
    try:
        version = msgspec.json.decode(data)["identity"]["format_version"]
        if version != FORMAT_VERSION:
            raise ResultsMismatch(
                Text(
                    "{folder} holds results of format {version}, and this version of SHRAG reads format "
                    "{format_version}: run the experiment again into another folder.",
                    folder=folder,
                    version=version,
                    format_version=FORMAT_VERSION,
                )
            )
        return msgspec.json.decode(data, type=RunCard)
    except (msgspec.MsgspecError, UnicodeDecodeError, RecursionError, KeyError, TypeError) as error:
        raise ResultsMismatch(
            Text(
                "{path} is not a run card ({error}): run the experiment again into another folder.",
                path=path,
                error=error,
            )
        ) from None


def check_identity(folder: Path, stored: RunIdentity, expected: RunIdentity) -> None:
    """Raise :class:`ResultsMismatch` if ``stored`` is not ``expected``; the message has the first difference."""
    differing = differences(stored, expected)
    if differing:
        more = Text(" and {count} more", count=len(differing) - 1) if len(differing) > 1 else ""
        raise ResultsMismatch(
            Text(
                "The results in {folder} come from a different configuration ({differing}{more}): resume it as "
                "it was started, or give another folder with --output.",
                folder=folder,
                differing=differing[0],
                more=more,
            )
        )


def differences(stored: msgspec.Struct, expected: msgspec.Struct) -> list[Text]:
    """Return the differences between two values of a card, each as "FIELD was … and is …"."""
    return list(_differences(msgspec.to_builtins(stored), msgspec.to_builtins(expected)))


def _differences(stored: Any, expected: Any, path: str = "") -> Iterator[Text]:  # noqa: ANN401 - any JSON
    if stored == expected:
        return
    if isinstance(stored, dict) and isinstance(expected, dict):
        for key in sorted({*stored, *expected}):
            yield from _differences(stored.get(key), expected.get(key), f"{path}.{key}" if path else key)
    elif isinstance(stored, list | tuple) and isinstance(expected, list | tuple) and len(stored) == len(expected):
        for position, (one, other) in enumerate(zip(stored, expected, strict=True)):
            yield from _differences(one, other, f"{path}[{position}]")
    else:
        yield Text("{path} was {stored} and is {expected}", path=path, stored=_brief(stored), expected=_brief(expected))


def _brief(value: object) -> str:
    text = msgspec.json.encode(value).decode()
    return text if len(text) <= 40 else f"{text[:37]}…"


def build_identity(
    experiment: Experiment,
    questions: Mapping[str, JudgedQuestions],
    indexes: OpenIndexes,
    models: LanguageModels,
) -> RunIdentity:
    """Return the identity of the experiment's results. This opens and checks every index that it uses."""
    used = {each.name: choice for each in experiment.conditions if (choice := models.of(each)) is not None}
    named = {each.model for each in experiment.conditions if isinstance(each.model, str)}
    names = sorted({index_name(judged_set, encoder) for judged_set, encoder in required_indexes(experiment)})
    uses_configured = models.configured in used.values() or experiment.judge or experiment.judge_records
    return RunIdentity(
        format_version=FORMAT_VERSION,
        experiment=experiment,
        stochastic_conditions=tuple(used),
        questions={
            name: QuestionsIdentity(each.digest, len(each.topics), each.unjudged_topics, each.missing_topics)
            for name, each in questions.items()
        },
        indexes={name: index_identity(indexes[name].manifest) for name in names},
        prompts=prompts_fingerprint(),
        model=_model_identity(models.configured if uses_configured else None),
        models={name: _model_identity(models.named.get(name)) for name in sorted(named)},
        code=code_digest(),
        versions=package_versions(),
    )


def required_indexes(experiment: Experiment) -> list[tuple[JudgedSet, str]]:
    """Return the pairs (set, encoder) that conditions need, in order, without duplicates."""
    pairs = [(each, condition.encoder) for each in experiment.sets for condition in experiment.conditions]
    return [pair for position, pair in enumerate(pairs) if pair not in pairs[:position]]


def _model_identity(model: ModelChoice | None) -> ModelIdentity:
    return ModelIdentity(model.name, model.fingerprint) if model else ModelIdentity()


def repeat_seed(seed: int, repeat: int) -> int:
    """Return the seed of a repeat. The first or only one has the experiment's seed, the others the numbers after it."""
    return seed + max(repeat - 1, 0)
