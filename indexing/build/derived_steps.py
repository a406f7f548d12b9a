"""Build steps that follow the records, in a build and in an update.

They write the rejects, the token store, the golden queries, the glossary, the calibration, the vectors and the FAISS
index.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from contextlib import closing
from pathlib import Path

import msgspec

from shrag.indexing.analysis.korean_english import KoreanEnglishAnalyzer
from shrag.indexing.analysis.token_store import FILE as TOKEN_STORE
from shrag.indexing.analysis.token_store import TokenStore, write_token_store
from shrag.indexing.build.checkpoints import BuildStep
from shrag.indexing.build.glossary_workers import GlossaryWorkers
from shrag.indexing.build.job import BuildJob
from shrag.indexing.build.records_step import NOTES, BuildNotes
from shrag.indexing.errors import TooManyRejectedRecords
from shrag.indexing.glossary.corrections import FILE as CORRECTIONS
from shrag.indexing.glossary.corrections import apply_corrections, parse_corrections
from shrag.indexing.glossary.mining import mine_glossary
from shrag.indexing.glossary.spelling.table import write_spellings
from shrag.indexing.glossary.store import FILE as GLOSSARY
from shrag.indexing.glossary.store import Glossary, write_glossary
from shrag.indexing.glossary.synonyms import select_synonyms
from shrag.indexing.lexical.calibration import FILE as CALIBRATION
from shrag.indexing.lexical.calibration import calibrate, write_calibration
from shrag.indexing.lexical.schema import FOLDER
from shrag.indexing.lexical.searcher import LuceneSearcher
from shrag.indexing.maintenance import golden_queries as golden
from shrag.indexing.storage.vector_card import CARD_FILE as VECTOR_CARD
from shrag.indexing.storage.vector_card import (
    ENCODER_FOLDER,
    FAISS_CARD_FILE,
    FAISS_FILE,
    LSA,
    NO_ENCODER,
    VectorCard,
    save_vector_card,
)
from shrag.indexing.storage.vector_card import FILE as VECTORS_FILE
from shrag.indexing.storage.vector_card import FOLDER as VECTORS
from shrag.messages.text import Text

REJECTS = "rejects.jsonl"
"""Name of the file of rejected records: JSON lines with docid and reason."""

_SHOWN_REJECTS = 3
_GLOSSARY_SCRATCH = "glossary.scratch"


def derived_steps(job: BuildJob) -> tuple[BuildStep, ...]:
    """Return the steps in order."""

    def timed(stage: str, run: Callable[[BuildJob], None]) -> Callable[[], None]:
        def measured() -> None:
            job.options.report(stage, job.workspace.plan.records)
            with job.utilization.measure(stage):
                run(job)

        return measured

    steps = [
        BuildStep("rejects", (f"index/{REJECTS}",), lambda: write_rejects(job)),
        BuildStep("tokens", (f"index/{TOKEN_STORE}",), timed("token store", write_tokens)),
        BuildStep(
            "golden",
            (f"index/{golden.FILE}",),
            lambda: golden.write_golden_queries(job.workspace.index, job.workspace.plan.bm25),
        ),
        BuildStep("glossary", (f"index/{GLOSSARY}", f"index/{CORRECTIONS}"), timed("glossary", build_glossary)),
        BuildStep("calibration", (f"index/{CALIBRATION}",), timed("calibration", write_index_calibration)),
    ]
    if job.choices.encoder != NO_ENCODER:
        outputs = (f"index/{VECTORS}/{VECTORS_FILE}", f"index/{VECTORS}/{ENCODER_FOLDER}", f"stage/{VECTOR_CARD}")
        steps.append(BuildStep("vectors", outputs, timed("vectors", _write_vectors)))
        faiss_outputs = (f"index/{VECTORS}/{FAISS_FILE}", f"stage/{FAISS_CARD_FILE}")
        steps.append(BuildStep("faiss", faiss_outputs, timed("FAISS", _write_faiss)))
    return tuple(steps)


def write_rejects(job: BuildJob) -> None:
    """Write the rejected records; raise :class:`TooManyRejectedRecords` if there are more than the options allow."""
    with BuildNotes(job.workspace.stage / NOTES) as notes:
        rejects = notes.rejects()
    if len(rejects) > job.options.max_rejected:
        first = "; ".join(f"{reject.docid} ({reject.reason})" for reject in rejects[:_SHOWN_REJECTS])
        raise TooManyRejectedRecords(
            Text(
                "{rejects_count:,} records cannot be analyzed, at most {max_rejected:,} may be: "
                "{first}{more}. To publish the index without them, run again with `--max-rejected "
                "{rejects_count}`.",
                rejects_count=len(rejects),
                max_rejected=job.options.max_rejected,
                first=first,
                more=" …" if len(rejects) > _SHOWN_REJECTS else "",
            )
        )
    lines = (msgspec.json.encode({"docid": reject.docid, "reason": reject.reason}) for reject in rejects)
    (job.workspace.index / REJECTS).write_bytes(b"".join(line + b"\n" for line in lines))


def rejected_docids(index: Path) -> list[str]:
    """Return the docids of the rejected records of the index in the folder ``index``."""
    with (index / REJECTS).open("rb") as lines:
        return [msgspec.json.decode(line)["docid"] for line in lines]


def write_tokens(job: BuildJob) -> None:
    """Write the token store."""
    with BuildNotes(job.workspace.stage / NOTES) as notes:
        write_token_store(job.workspace.index / TOKEN_STORE, notes.words())


def build_glossary(job: BuildJob) -> None:
    """Mine the glossary from the corpus, apply the user's corrections, and write both files."""
    index = job.workspace.index
    # The new token store has the words of the corpus, so the analyzer hardly ever needs Kiwi.
    with (
        closing(TokenStore(index / TOKEN_STORE)) as store,
        closing(LuceneSearcher(index / FOLDER, job.workspace.plan.bm25)) as searcher,
    ):
        analyzer = KoreanEnglishAnalyzer(store, job.choices.dictionary)

        def frequencies(terms: Sequence[str]) -> Mapping[str, int]:
            return searcher.statistics(terms).contents.document_frequencies

        with GlossaryWorkers(job.records, index, analyzer, job.workers) as workers:
            mined = mine_glossary(
                workers.count(rejected_docids(index)), analyzer, frequencies, job.workspace.stage / _GLOSSARY_SCRATCH
            )
            corrections = parse_corrections(job.choices.corrections)
            corrected = apply_corrections(mined.entries, corrections.pairs, analyzer, job.options.notify)
            synonyms = select_synonyms(
                corrected, mined.acronyms, corrections.synonyms, frequencies, analyzer, job.options.notify
            )
            for name in (GLOSSARY, CORRECTIONS):
                (index / name).unlink(missing_ok=True)
            if job.choices.corrections:
                (index / CORRECTIONS).write_bytes(job.choices.corrections)
            write_glossary(index / GLOSSARY, corrected, synonyms)
            removed = [(pair.korean, pair.english.lower()) for pair in corrections.pairs if not pair.is_added]
            write_spellings(index / GLOSSARY, workers.spelled(), removed)


def write_index_calibration(job: BuildJob) -> None:
    """Calibrate the confidence of answers, and write the calibration."""
    index, parameters = job.workspace.index, job.workspace.plan.bm25
    with (
        closing(TokenStore(index / TOKEN_STORE)) as store,
        closing(LuceneSearcher(index / FOLDER, parameters)) as searcher,
        closing(Glossary(index / GLOSSARY)) as glossary,
    ):
        analyzer = KoreanEnglishAnalyzer(store, job.choices.dictionary)
        write_calibration(index / CALIBRATION, calibrate(searcher, parameters, analyzer, glossary))


def _write_faiss(job: BuildJob) -> None:
    from shrag.indexing.build.vectors_step import build_faiss

    build_faiss(job.workspace.index, job.workspace.stage, job.options.notify)


def _write_vectors(job: BuildJob) -> None:
    build = job.workspace
    source = f"{build.plan.corpus}\n{build.plan.analyzer}"
    with closing(LuceneSearcher(build.index / FOLDER, build.plan.bm25)) as documents:
        save_vector_card(build.stage, _build_vectors(job, documents, source))


def _build_vectors(job: BuildJob, documents: LuceneSearcher, source: str) -> VectorCard:
    if job.options.ray and job.choices.encoder != LSA:
        from shrag.indexing.build.cluster.ray_vectors import build_vectors_by_ray

        return build_vectors_by_ray(job, documents, source)
    from shrag.indexing.build.vectors_step import build_vectors

    analyzer = KoreanEnglishAnalyzer(dictionary=job.choices.dictionary)
    return build_vectors(
        job.workspace.index,
        job.workspace.stage,
        job.choices.encoder,
        documents,
        analyzer,
        source,
        job.choices.weights,
        job.options.report,
        job.workspace.folder.parent,
    )
