"""The Markdown of results that were written by hand: no index is asked, and every line is known beforehand."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path

import msgspec
import pytest

from shrag.corpora.files import write_atomically
from shrag.evaluation.experiments.part import OUTCOMES, ExperimentPart, part_path
from shrag.evaluation.experiments.provenance import CodeVersion, Hardware
from shrag.evaluation.experiments.run_card import (
    FORMAT_VERSION,
    IndexGeneration,
    IndexIdentity,
    ModelIdentity,
    QuestionsIdentity,
    RunCard,
    RunIdentity,
    Session,
    write_card,
)
from shrag.evaluation.experiments.spec import Claim, Condition, Expected, Experiment, JudgedSet, PaperItem
from shrag.evaluation.questions.confidence_scores import ConfidenceScores, CoverageScores, Estimate, KindScores
from shrag.evaluation.reports.markdown import render_document, table_text
from shrag.evaluation.reports.result_folder import file_digests
from shrag.evaluation.reports.table import (
    BaselineDifference,
    OtherSetDifferences,
    ResultCell,
    ResultRow,
    ResultTable,
    SetTable,
    write_table,
)
from shrag.evaluation.reports.timings import TIMES_FILE, PartTimes
from shrag.indexing.bm25 import Bm25
from shrag.indexing.storage.vector_card import VectorCard

BEST = Claim("OR ranks best.", "nDCG@10")
FEWER = Claim("OR has fewer.", "num_candidates", over=("and", "bm25"), lower_is_better=True)
UNMEASURED = Claim("OR is quick.", "RR")
EXPERIMENT = Experiment(
    title="Four sets",
    question="Which is best?",
    sets=tuple(JudgedSet(name, "t.tsv", "q.txt", index=name) for name in ("wiki", "sci", "med", "law")),
    conditions=(Condition("and"), Condition("or", label="OR"), Condition("bm25", label="B|25")),
    measures=("nDCG@10",),
    k=7,
    seed=3,
    repeats=2,
    baseline="or",
    claims=(BEST, FEWER, UNMEASURED),
)


def _cell(mean: float, difference: float | None = None, p: float = 1.0) -> ResultCell:
    """Return a cell whose interval, and that of its difference, is 0.1 to each side."""
    against = None
    if difference is not None:
        against = BaselineDifference(difference, difference - 0.1, difference + 0.1, p, p, 1, 2, 3)
    return ResultCell(mean, mean - 0.1, mean + 0.1, (mean,), against)


def _set(name: str, **rows: Mapping[str, ResultCell]) -> SetTable:
    labels = {each.name: each.display_name for each in EXPERIMENT.conditions}
    return SetTable(
        name,
        1_200,
        tuple(ResultRow(each, labels[each], each, {}, 1_200, 0, 0, 0, dict(cells)) for each, cells in rows.items()),
    )


def _ranked(of_and: ResultCell, of_bm25: ResultCell) -> dict[str, Mapping[str, ResultCell]]:
    return {"and": {"nDCG@10": of_and}, "or": {"nDCG@10": _cell(0.5)}, "bm25": {"nDCG@10": of_bm25}}


WIKI = _set(
    "wiki",
    **{
        "and": {"nDCG@10": _cell(0.4, -0.1, 0.01), "num_candidates": _cell(12.0, 2.0, 0.04)},
        "or": {"nDCG@10": _cell(0.5), "num_candidates": _cell(10.0)},
        "bm25": {"nDCG@10": _cell(0.3, -0.2, 0.02), "num_candidates": _cell(10.0, 0.0)},
    },
)
SETS = (
    WIKI,
    _set("sci", **_ranked(_cell(0.45, -0.05, 0.3), _cell(0.7, 0.2, 0.001))),
    _set("med", **_ranked(_cell(0.3, -0.2, 0.01), _cell(0.45, -0.05, 0.05))),
    _set("law", **_ranked(_cell(0.5, 0.0), _cell(0.45, -0.05, 0.9))),
)
TABLE = ResultTable("Four sets", "Which is best?", "", "or", ("nDCG@10",), ("num_candidates",), SETS)
TIMES = [
    PartTimes("wiki/and", 3, 1.0, 0.002, 2.0, {}, 0),
    PartTimes("wiki/or.2", 3, 1.0, 0.0015, 2.0, {}, 0),
    PartTimes("wiki/bm25", 0, 0.0, 0.0, 0.0, {}, 0),
    PartTimes("sci/or", 3, 1.0, 0.25, 2.0, {}, 0),
]
INDEX = IndexIdentity("f" * 4, 1_500, 2, "kiwi 1", Bm25(), "", 3, None)
CARD = RunCard(
    identity=RunIdentity(
        format_version=FORMAT_VERSION,
        experiment=EXPERIMENT,
        stochastic_conditions=(),
        questions={"wiki": QuestionsIdentity("d1", 1_200, 3, 4)},
        indexes={
            "wiki": msgspec.structs.replace(INDEX, vectors=VectorCard("gte", "settings", "d2", 768, 1_500)),
            "sci": INDEX,
        },
        prompts="p1",
        model=ModelIdentity("large", "m1"),
        models={"flash": ModelIdentity("small", "m2")},
        code="c1",
        versions={"python": "3.11", "lucene": "9.9"},
    ),
    fingerprint="f1",
    code=CodeVersion("c1", "", True),
    hardware=Hardware("A processor", 2, 24 * 2**30, "Linux 6", ("H100, 80 GiB",)),
    sessions=(
        Session(("shrag", "experiment", "a b.toml"), "10:00", 4),
        Session(("shrag", "experiment", "a b.toml", "--resume"), "11:00", 2, "12:00"),
    ),
    depths={"wiki/and": (10, 10), "wiki/or": (10, 10), "sci/or": (10, 15)},
    generations={"wiki": IndexGeneration(5, "m5", "2026-11-01")},
)


def _write(folder: Path, table: ResultTable = TABLE, experiment: Experiment = EXPERIMENT) -> Path:
    """Write a finished results folder without a question."""
    for judged_set in experiment.sets:
        for condition in experiment.conditions:
            path = part_path(folder, ExperimentPart(judged_set.name, condition.name), OUTCOMES)
            path.parent.mkdir(parents=True, exist_ok=True)
            path.touch()
    write_table(folder, table)
    write_atomically(folder / TIMES_FILE, msgspec.json.encode(TIMES))
    identity = msgspec.structs.replace(CARD.identity, experiment=experiment)
    write_card(folder, msgspec.structs.replace(CARD, identity=identity, files=file_digests(folder)))
    return folder


@pytest.fixture
def lines(tmp_path: Path) -> list[str]:
    return render_document([_write(tmp_path / "results")]).splitlines()


def test_a_claim_has_a_verdict_on_each_set_and_their_counts_in_a_sentence(lines: list[str]) -> None:
    at = lines.index(
        "**OR ranks best.** Of 4 sets, shown against every other condition on 1, against some of them on 1, not shown "
        "on 1, contradicted on 1. The baseline's mean is no worse than the best of the others on 3."
    )
    assert lines[at + 1 : at + 8] == [
        "",
        "| set | baseline, nDCG@10 | best of the others | better by | verdict |",
        "| --- | ---: | --- | ---: | --- |",
        "| wiki | 0.500 | and: 0.400 | +0.100 [+0.000, +0.200] | holds against all 2 |",
        "| sci | 0.500 | B\\|25: 0.700 | −0.200 [−0.300, −0.100] | the contrary is shown against 1 of 2 |",
        "| med | 0.500 | B\\|25: 0.450 | +0.050 [−0.050, +0.150] | holds against 1 of 2 |",
        "| law | 0.500 | and: 0.500 | +0.000 [−0.100, +0.100] | no difference shown |",
    ]


def test_a_claim_that_less_is_better_turns_every_sign(lines: list[str]) -> None:
    at = lines.index(
        "**OR has fewer.** Of 1 sets, shown against every other condition on 0, against some of them on 1, not shown "
        "on 0, contradicted on 0. The baseline's mean is no higher than the lowest of the others on 1."
    )
    assert lines[at + 2 : at + 5] == [
        "| set | baseline, num\\_candidates | lowest of the others | lower by | verdict |",
        "| --- | ---: | --- | ---: | --- |",
        "| wiki | 10.000 | B\\|25: 10.000 | +0.000 [−0.100, +0.100] | holds against 1 of 2 |",
    ]


def test_a_claim_about_what_no_set_measured_has_no_table(lines: list[str]) -> None:
    at = lines.index("**OR is quick.** Not tested: no set has two of its conditions.")
    assert lines[at + 2].startswith("Difference from the baseline `or` in nDCG@10; significant ones in bold:")


def test_the_differences_of_all_sets_are_one_table_by_the_measure_of_the_first_claim(
    lines: list[str], tmp_path: Path
) -> None:
    at = lines.index("Difference from the baseline `or` in nDCG@10; significant ones in bold:")
    assert lines[at + 1 : at + 7] == [
        "",
        "| condition | wiki | sci | med | law |",
        "| --- | ---: | ---: | ---: | ---: |",
        "| and | **−0.100** | −0.050 | **−0.200** | +0.000 |",
        "| B\\|25 | **−0.200** | **+0.200** | −0.050 | −0.050 |",
        "",
    ]
    # Only one set has the measure of this claim, and a condition without the value has a dash.
    rows = (msgspec.structs.replace(WIKI.rows[0], cells={}), *WIKI.rows[1:])
    table = msgspec.structs.replace(TABLE, sets=(msgspec.structs.replace(WIKI, rows=rows), *SETS[1:]))
    experiment = msgspec.structs.replace(EXPERIMENT, claims=(FEWER, BEST))
    lines = render_document([_write(tmp_path / "other", table, experiment)]).splitlines()
    at = lines.index("Difference from the baseline `or` in num\\_candidates; significant ones in bold:")
    assert lines[at + 2 : at + 6] == ["| condition | wiki |", "| --- | ---: |", "| and | – |", "| B\\|25 | +0.000 |"]


def test_without_a_baseline_or_a_set_that_has_the_measure_there_is_no_table_of_differences(tmp_path: Path) -> None:
    plain = msgspec.structs.replace(EXPERIMENT, baseline="", claims=())
    without = render_document([_write(tmp_path / "plain", msgspec.structs.replace(TABLE, baseline=""), plain)])
    assert "Difference from the baseline" not in without
    unmeasured = msgspec.structs.replace(EXPERIMENT, claims=(UNMEASURED,))
    assert "Difference from the baseline" not in render_document([_write(tmp_path / "rr", TABLE, unmeasured)])


def test_each_set_has_its_table_and_the_median_times_of_its_own_parts(lines: list[str]) -> None:
    at = lines.index("### wiki (1,200 questions)")
    assert lines[at + 2 : at + 11] == [
        "| condition | nDCG@10 | num\\_candidates | not as usual |",
        "| --- | ---: | ---: | --- |",
        "| and | 0.400 [0.300, 0.500] − | 12.0 [11.9, 12.1] + | – |",
        "| OR (baseline) | 0.500 [0.400, 0.600] | 10.0 [9.900, 10.1] | – |",
        "| B\\|25 | 0.300 [0.200, 0.400] − | 10.0 [9.900, 10.1] | – |",
        "",
        "Median milliseconds per question: `and` 2.0, `or.2` 1.5.",
        "",
        "### sci (1,200 questions)",
    ]
    at = lines.index("### sci (1,200 questions)")
    assert lines[at + 8] == "Median milliseconds per question: `or` 250.0."
    at = lines.index("### med (1,200 questions)")
    assert lines[at + 6 : at + 9] == ["| B\\|25 | 0.450 [0.350, 0.550] | – |", "", "### law (1,200 questions)"]


def test_the_card_says_what_was_run_where_by_which_code(lines: list[str]) -> None:
    at = lines.index("- **fingerprint:** f1")
    assert lines[at + 1 :] == [
        "- **command:** shrag experiment 'a b.toml' (10:00 to stopped, 4 at once)",
        "- **command:** shrag experiment 'a b.toml' --resume (11:00 to 12:00, 2 at once)",
        "- **code:** no checkout, with changes, c1",
        "- **seed:** 3, 2 repeats with a language model",
        "- **records per question:** 7",
        "- **questions of wiki:** 1,200 asked; left out: 3 without judgement, 4 judged but without text; d1",
        "- **index wiki:** 1,500 records of the corpus ffff, 2 rejected; analyzer kiwi 1; BM25 with k1 0.9, b 0.4, "
        "title 0.2; vectors by gte (dimension 768, d2)",
        "- **build of wiki:** generation 5, 2026-11-01, manifest m5",
        "- **index sci:** 1,500 records of the corpus ffff, 2 rejected; analyzer kiwi 1; BM25 with k1 0.9, b 0.4, "
        "title 0.2; no vectors",
        "- **prompts:** p1",
        "- **language model:** large, m1",
        "- **hits of each query:** 10: wiki/and, wiki/or; 10 to 15: sci/or",
        "- **language model flash:** small, m2",
        "- **versions:** python 3.11, lucene 9.9",
        "- **machine:** A processor, 2 cores, 24.0 GiB, H100, 80 GiB, Linux 6",
        "- **files:** 13 that are the same, byte for byte, in every run of this fingerprint",
    ]


def test_a_set_beside_another_and_its_confidence_and_a_paper_have_tables_of_their_own() -> None:
    served = CoverageScores(0.5, 0.75, 1_600, 0.25, 0.125)
    scores = ConfidenceScores(
        kinds=(
            KindScores("answerable", 1_200, Estimate(0.1, 0.05, 0.2), None),
            KindScores("far_away", 30, Estimate(0.9, 0.8, 0.95), Estimate(0.97, 0.9, 1.0)),
        ),
        served=served,
        curve=(CoverageScores(1.0, None, 9, 0.5, None),),
        aurc=0.333,
    )
    none = ConfidenceScores(kinds=())
    differences = {
        "and": {"nDCG@10": BaselineDifference(-0.1, -0.2, -0.05, 0.01, 0.01, 1, 2, 3)},
        "or": {"nDCG@10": BaselineDifference(0.0, -0.1, 0.1, 1.0, 1.0, 1, 2, 3)},
        "bm25": {"nDCG@10": BaselineDifference(0.25, 0.1, 0.4, 0.01, 0.06, 1, 2, 3)},
    }
    wiki = msgspec.structs.replace(
        WIKI,
        compared=OtherSetDifferences("sci", 1_100, differences),
        confidence={"and": none, "or": scores, "bm25": none},
    )
    paper = PaperItem("A paper", "Table 2", "Its data differ.", ("nDCG@10",))
    expected = (Expected("wiki", "or", {"nDCG@10": 52.5, "RR": 1.0}), Expected("gone", "or", {"RR": 0.25}))
    table = msgspec.structs.replace(TABLE, sets=(wiki,), paper=paper, expected=expected)
    lines = table_text(table).splitlines()
    assert lines[lines.index("| B\\|25 | 0.300 [0.200, 0.400] − | 10.0 [9.900, 10.1] | – |") + 1 :] == [
        "",
        "Difference from the set sci, over the 1,100 questions of both; significant ones in bold:",
        "",
        "| condition | nDCG@10 |",
        "| --- | ---: |",
        "| and | **−0.100** [−0.200, −0.050] |",
        "| OR | +0.000 [−0.100, +0.100] |",
        "| B\\|25 | +0.250 [+0.100, +0.400] |",
        "",
        "| condition | questions | number | refused | AUC of the confidence |",
        "| --- | --- | ---: | ---: | ---: |",
        "| OR | answerable | 1,200 | 0.100 [0.050, 0.200] | – |",
        "| OR | far\\_away | 30 | 0.900 [0.800, 0.950] | 0.970 [0.900, 1.000] |",
        "",
        "Risk and coverage; unanswerable questions count as wrong. *Served*: the questions that are answered by the "
        "index's threshold. AURC: area under the risk-coverage curve.",
        "",
        "| condition | coverage | confidence | answered | risk, first record | risk, cited records | AURC |",
        "| --- | ---: | ---: | ---: | ---: | ---: | ---: |",
        "| OR | served: 0.500 | 0.750 | 1,600 | 0.250 | 0.125 | 0.333 |",
        "| OR | 1.000 | – | 9 | 0.500 | – |  |",
        "",
        "## Next to A paper, table 2",
        "",
        "Its data differ.",
        "",
        "| set | condition | measure | paper | here | difference |",
        "| --- | --- | --- | ---: | ---: | ---: |",
        "| wiki | OR | nDCG@10 | 52.5 | 50.0 [40.0, 60.0] | −2.500 |",
        "| wiki | OR | RR | 1 | – | – |",
        "| gone | or | RR | 0.25 | – | – |",
    ]
    bare = table_text(msgspec.structs.replace(table, expected=()))
    assert bare.endswith("## Next to A paper, table 2\n\nIts data differ.\n")
    assert "by a paired randomisation test" in bare
    assert "by a paired randomisation test" not in table_text(msgspec.structs.replace(table, baseline=""))
