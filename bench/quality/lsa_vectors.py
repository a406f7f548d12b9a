"""Quality and cost of LSA vectors (docs/en/explanation/vectors.md).

    python -m bench.quality.lsa_vectors [--topics N] [SET…]

Each set is indexed, and its vectors are computed for every dimension by the build's own code. The development corpora
are read from SHRAG_DATA; absent ones are skipped with one line.
"""

from __future__ import annotations

import argparse
import gzip
import json
import re
import shutil
import tempfile
import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Literal, NamedTuple

from bench.data import DATA, DEMO
from shrag.corpora.errors import CorpusError
from shrag.corpora.formats.topics import read_qrels, read_topics
from shrag.corpora.ingest.add import add_corpus
from shrag.corpora.records import Qrel, Topic
from shrag.corpora.text.cleaning import plain_line
from shrag.corpora.text.sentences import detect_language
from shrag.evaluation.measures.judge_run import evaluate
from shrag.evaluation.measures.trec_run import RunLine
from shrag.indexing.build.builder import build_index
from shrag.indexing.lexical.reranker import LexicalReranker
from shrag.indexing.lexical.schema import FOLDER as LUCENE
from shrag.indexing.lexical.searcher import LuceneSearcher
from shrag.indexing.open_index import OpenIndex, open_index
from shrag.indexing.storage.generations import current_generation
from shrag.indexing.storage.vector_card import VectorCard
from shrag.indexing.vectors.encoders import make_lsa
from shrag.indexing.vectors.store import encode_documents, write_vectors
from shrag.indexing.vectors.vector_index import VectorIndex
from shrag.models.encoders.choice import LsaOptions
from shrag.serving.engine import Engine
from shrag.serving.events import Ranking
from shrag.serving.request import Request, parse_question
from shrag.serving.retrieval.ranking import reciprocal_rank_fusion
from shrag.serving.strategies.shrag import hybrid_strategy
from shrag.serving.strategy import Resources

MEASURES = ("nDCG@10", "R@100", "Success@1")
DIMENSIONS = (64, 128, 256, 384)
WEIGHTS = (1.0, 2.0, 4.0)
DEPTH = 100


class JudgedSet(NamedTuple):
    """A corpus with questions and judgements; ``bilingual`` if the corpus is in both languages."""

    format_name: str
    source: Path
    topics: list[Topic]
    qrels: list[Qrel]
    bilingual: bool = False


def main() -> None:
    """Print one table per set."""
    parser = argparse.ArgumentParser()
    parser.add_argument("--topics", type=int, default=300, help="topics per set at most, evenly spread")
    parser.add_argument("sets", nargs="*", default=list(SETS))
    chosen = parser.parse_args()
    for name in chosen.sets:
        with tempfile.TemporaryDirectory() as folder:
            try:
                judged = SETS[name](Path(folder))
            except (OSError, CorpusError) as error:
                print(f"{name}: skipped (SHRAG_DATA): {error}\n")
                continue
            step = max(len(judged.topics) / chosen.topics, 1)
            topics = [judged.topics[int(position * step)] for position in range(int(len(judged.topics) / step))]
            measure(Path(folder), name, judged._replace(topics=topics))


def measure(home: Path, name: str, judged: JudgedSet) -> None:
    """Index the set and evaluate lexical search, vectors and their fusion."""
    add_corpus(home / "corpora", "set", judged.format_name, [judged.source])
    started = time.perf_counter()
    manifest, _ = build_index(home / "corpora", home / "indexes", "set")
    seconds = time.perf_counter() - started
    size = sum(seal.bytes for seal in manifest.files.values()) / 2**20
    asked = {topic.qid for topic in judged.topics}
    qrels = [qrel for qrel in judged.qrels if qrel.qid in asked]
    print(f"{name}: {manifest.records:,} records, {len(asked):,} questions; {size:.1f} MiB in {seconds:.1f} s without")
    print(f"  {'':36}" + " ".join(f"{measure:>9}" for measure in MEASURES), flush=True)
    index = open_index(home / "indexes", "set")
    lexical: dict[str, list[str]] = {}
    pools: dict[str, Sequence[str]] = {}
    for topic in judged.topics:
        result = Engine(index).search(topic.text, k=DEPTH)
        lexical[topic.qid] = [ranked.record.docid for ranked in result.ranking.records]
        pools[topic.qid] = result.hits.candidates
    show("shrag (lexical, re-ranked)", lexical, qrels)
    for dimension in DIMENSIONS:
        dense = make_vectors(home / "vectors", index, home / "indexes" / "set", dimension)
        found = {t.qid: [hit.docid for hit in dense.search(dense.encode(t.text), DEPTH)] for t in judged.topics}
        show(f"LSA {dimension} alone", found, qrels)
        fused = {qid: [docid for docid, _ in reciprocal_rank_fusion([pools[qid], found[qid]])] for qid in found}
        show(f"LSA {dimension} and lexical fused", fused, qrels)
        if dimension == LsaOptions().dimension:
            for weight in WEIGHTS:
                show(f"hybrid, cosine weighing {weight:g}", hybrid(index, dense, judged.topics, weight), qrels)
            if judged.bilingual:
                show_other_language(index, dense, judged, pools, qrels)
    index.close()
    print()


def make_vectors(folder: Path, index: OpenIndex, published: Path, dimension: int) -> VectorIndex:
    """Compute the index's vectors of one dimension as a build does; print size and seconds."""
    shutil.rmtree(folder, ignore_errors=True)
    folder.mkdir()
    documents = LuceneSearcher(current_generation(published)[0] / LUCENE, index.manifest.bm25)
    started = time.perf_counter()
    options = LsaOptions(dimension=dimension)
    encoder = make_lsa(folder, folder / "stage", documents, index.analyzer, "bench", options=options)
    fitted = time.perf_counter()
    rows = write_vectors(
        folder, folder / "stage", documents.count(), encoder, "bench", encode_documents(documents, encoder)
    )
    ended = time.perf_counter()
    shutil.rmtree(folder / "stage")
    size = sum(path.stat().st_size for path in folder.rglob("*") if path.is_file()) / 2**20
    print(
        f"  vectors of {encoder.dimension}: {size:.1f} MiB, fit {fitted - started:.1f} s, rows {ended - fitted:.1f} s"
    )
    card = VectorCard("lsa", encoder.settings, encoder.digest, encoder.dimension, rows)
    return VectorIndex("set", card, folder, index.analyzer, documents, folder)


def hybrid(index: OpenIndex, dense: VectorIndex, topics: Sequence[Topic], weight: float) -> dict[str, list[str]]:
    """Return the ranking of the strategy ``hybrid`` for every topic, with the cosine weighted by ``weight``."""
    reranker = LexicalReranker(index.analyzer, index.searcher, index.manifest.bm25)
    ranked: dict[str, list[str]] = {}
    for topic in topics:
        request = Request(parse_question(topic.text), DEPTH, answered=False)
        events = hybrid_strategy(weight).run(request, Resources(replace(index, dense=dense), reranker))
        (ranking,) = (event for event in events if isinstance(event, Ranking))
        ranked[topic.qid] = [record.record.docid for record in ranking.records]
    return ranked


def show_other_language(
    index: OpenIndex, dense: VectorIndex, judged: JudgedSet, pools: dict[str, Sequence[str]], qrels: list[Qrel]
) -> None:
    """Evaluate the vectors' hits that are not in the question's language, alone and fused with lexical search."""
    languages: dict[str, str] = {}
    alone: dict[str, list[str]] = {}
    for topic in judged.topics:
        question = parse_question(topic.text)
        docids = [hit.docid for hit in dense.search(dense.encode(topic.text), index.manifest.records)]
        new = index.store.fetch([docid for docid in docids if docid not in languages])
        languages.update((found.record.docid, found.record.language) for found in new if found)
        alone[topic.qid] = [docid for docid in docids if languages[docid] != question.language][:DEPTH]
    show("LSA, the other language only", alone, qrels)
    fused = {qid: [docid for docid, _ in reciprocal_rank_fusion([pools[qid], alone[qid]])] for qid in alone}
    show("LSA, the same and lexical fused", fused, qrels)


def show(what: str, ranked: Mapping[str, Sequence[str]], qrels: list[Qrel]) -> None:
    """Print the measures of one ranking."""
    run = [
        RunLine(qid, docid, rank, -rank, "bench")
        for qid, docids in ranked.items()
        for rank, docid in enumerate(docids[:DEPTH], 1)
    ]
    means = evaluate(qrels, run, MEASURES)
    print(f"  {what:36}" + " ".join(f"{means[measure]:9.3f}" for measure in MEASURES), flush=True)


def judged_folder(name: str, layout: str = "corpus") -> Callable[[Path], JudgedSet]:
    """Return a reader of a development set in MIRACL's layout. A single file is copied to MIRACL's file name."""

    def read(home: Path) -> JudgedSet:
        folder = DATA / name
        source = folder / layout
        if source.is_file():
            source = Path(shutil.copy(source, home / "docs-0.jsonl.gz"))
        return JudgedSet("miracl", source, read_topics(folder / "topics.tsv"), read_qrels(folder / "qrels.txt"))

    return read


def demo(part: Literal["same", "other"]) -> Callable[[Path], JudgedSet]:
    """Return a reader of one part of the demonstration questions.

    ``same`` has the questions with a fully relevant record in their own language, ``other`` has the rest.
    """

    def read(_: Path) -> JudgedSet:
        lines = (DEMO / "records.jsonl").read_text(encoding="utf-8").splitlines()
        languages = {(fields := json.loads(line))["CN"]: detect_language(fields["abstract"]) for line in lines}
        qrels = read_qrels(DEMO / "qrels.txt")
        own = {q.qid for q in qrels if q.relevance == 2 and languages[q.docid] == q.qid[:2]}
        topics = [topic for topic in read_topics(DEMO / "topics.tsv") if (topic.qid in own) == (part == "same")]
        return JudgedSet("scienceon", DEMO / "records.jsonl", topics, qrels, bilingual=True)

    return read


def titles(part: Literal["same", "other"]) -> Callable[[Path], JudgedSet]:
    """Return a reader of ScienceON records. Some of their titles are removed and become the questions.

    For ``other`` these are every fifth title in another language than its abstract. For ``same`` they are every
    thirteenth title in the language of its abstract.
    """

    def read(home: Path) -> JudgedSet:
        every = 5 if part == "other" else 13
        count = 0
        topics: list[Topic] = []
        with (
            gzip.open(DATA / "scholarly-ko" / "records.jsonl.gz", "rt", encoding="utf-8") as source,
            (home / "docs-0.jsonl").open("w", encoding="utf-8") as target,
        ):
            for line in source:
                fields = json.loads(line)
                docid, title, text = fields["CN"], fields["title"], fields["abstract"]
                languages = _share_of_hangul(title), _share_of_hangul(text)
                wanted = languages in ((0, 1), (1, 0)) if part == "other" else languages in ((0, 0), (1, 1))
                count += wanted
                if wanted and count % every == 1:
                    topics.append(Topic(docid, plain_line(re.sub(r"<[^>]*>", " ", title))))
                    title = ""
                target.write(json.dumps({"docid": docid, "title": title, "text": text}) + "\n")
        qrels = [Qrel(topic.qid, topic.qid, 1) for topic in topics]
        return JudgedSet("miracl", home / "docs-0.jsonl", topics, qrels, bilingual=True)

    return read


def _share_of_hangul(text: str) -> int:
    """Return 1 for Korean, 0 for English, -1 for a mixture or neither."""
    hangul, latin = len(re.findall("[가-힣]", text)), len(re.findall("[A-Za-z]", text))
    share = hangul / (hangul + latin) if hangul + latin else -1
    return 1 if share > 0.4 else 0 if 0 <= share < 0.05 else -1


SETS: dict[str, Callable[[Path], JudgedSet]] = {
    "wiki-ko": judged_folder("wiki-ko"),
    "wiki-en": judged_folder("wiki-en"),
    "multihop-ko": judged_folder("multihop-ko"),
    "multihop-en": judged_folder("multihop-en"),
    "cranfield": judged_folder("scholarly-ir/cranfield", "docs.jsonl.gz"),
    "cacm": judged_folder("scholarly-ir/cacm", "docs.jsonl.gz"),
    "pubmed-qa": judged_folder("pubmed-qa", "docs.jsonl.gz"),
    "demo, same language": demo("same"),
    "demo, other language": demo("other"),
    "titles, same language": titles("same"),
    "titles, other language": titles("other"),
}

if __name__ == "__main__":
    main()
