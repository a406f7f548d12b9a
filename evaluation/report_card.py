"""A run card as a report shows it: what stands on it, in words."""

from __future__ import annotations

import shlex
from collections.abc import Iterator

from shrag.evaluation.run_card import IndexIdentity, RunCard


def card_facts(card: RunCard) -> tuple[tuple[str, str], ...]:
    """Return the card as pairs of a name and a value, in the order in which they are shown."""
    return tuple(_facts(card))


def _facts(card: RunCard) -> Iterator[tuple[str, str]]:
    identity = card.identity
    yield "fingerprint", card.fingerprint
    for session in card.sessions:
        ended = session.ended or "stopped"
        yield "command", f"{shlex.join(session.command)} ({session.started} to {ended}, {session.threads} at once)"
    changed = {True: ", with changes", False: "", None: ""}[card.code.dirty]
    yield "code", f"{card.code.commit or 'no checkout'}{changed}, {card.code.digest}"
    yield "seed", f"{identity.experiment.seed}, {identity.experiment.repeats} repeats where there is chance"
    yield "records a question", str(identity.experiment.k)
    for name, questions in identity.questions.items():
        yield (
            f"questions of {name}",
            f"{questions.asked:,} asked; left out: {questions.unjudged:,} without judgement, "
            f"{questions.unasked:,} judged without text; {questions.digest}",
        )
    for name, index in identity.indexes.items():
        yield f"index {name}", _index(index)
    yield "prompts", identity.prompts
    yield "language model", f"{identity.model.name}, {identity.model.fingerprint}" if identity.model.name else "none"
    yield "versions", ", ".join(f"{name} {version}" for name, version in identity.versions.items())
    machine = card.hardware
    gpus = ", ".join(machine.gpus) or "no GPU"
    yield (
        "machine",
        f"{machine.processor}, {machine.cores} cores, {machine.memory_bytes / 2**30:.1f} GiB, {gpus}, {machine.system}",
    )
    yield "files", f"{len(card.files)} that a run of this fingerprint has byte for byte"


def _index(index: IndexIdentity) -> str:
    vectors = index.vectors
    made = f"vectors by {vectors.encoder} ({vectors.dimension} numbers, {vectors.digest})" if vectors else "no vectors"
    bm25 = f"k1 {index.bm25.k1}, b {index.bm25.b}, title {index.bm25.title_boost}"
    return (
        f"{index.records:,} records of the corpus {index.corpus}, {index.rejected:,} left out; analysed by "
        f"{index.analyzer}; BM25 with {bm25}; {made}"
    )
