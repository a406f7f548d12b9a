"""QSR by hand; every measure compared with trec_eval's own code and with its formula."""

from __future__ import annotations

import math
import subprocess
import sys
from collections.abc import Mapping, Sequence

import ir_measures
import numpy as np
import pytest

from shrag.corpora.records import Qrel
from shrag.evaluation.errors import EvaluationError
from shrag.evaluation.measures.judge_run import judge
from shrag.evaluation.measures.providers import parse_measure
from shrag.evaluation.measures.trec_run import RunLine, trec_order

Grades = dict[str, dict[str, int]]
Scores = dict[str, dict[str, float]]

# Four questions over passages of articles 1 to 9. Ranked, best first:
#   q1: 2#0 1#3 1#0    relevant 1#0 (grade 2), 4#0 (grade 1); 1#3 judged not relevant
#   q2: 5#1 6#0        relevant 5#0 only: the article is found, the passage is not
#   q3: (no line)      relevant 7#0
#   q4: 9#0            judged, nothing relevant
QRELS = [
    *(Qrel("q1", "1#0", 2), Qrel("q1", "1#3", 0), Qrel("q1", "4#0", 1)),
    *(Qrel("q2", "5#0", 1), Qrel("q3", "7#0", 1), Qrel("q4", "9#0", 0)),
]
RUN = [
    *(RunLine("q1", "2#0", 1, 3.0, "t"), RunLine("q1", "1#3", 2, 2.0, "t"), RunLine("q1", "1#0", 3, 1.0, "t")),
    *(RunLine("q2", "5#1", 1, 2.0, "t"), RunLine("q2", "6#0", 2, 1.0, "t"), RunLine("q4", "9#0", 1, 1.0, "t")),
    RunLine("q9", "1#0", 1, 1.0, "t"),
]
BY_HAND = {
    "QSR": [1, 0, 0, 0],
    "QSR@2": [0, 0, 0, 0],
    "QSR@3": [1, 0, 0, 0],
    "QSR(rel=3)": [0, 0, 0, 0],
    "QSR(level='article')": [1, 1, 0, 0],
    "QSR(level='article')@1": [0, 1, 0, 0],
    "QSR(level='article')@2": [1, 1, 0, 0],
    "EvidenceRecall": [0.5, 0, 0, 0],
    "EvidenceRecall@2": [0, 0, 0, 0],
    "EvidenceRecall(level='article')@2": [0.5, 1, 0, 0],
    "EvidenceRecall(rel=2,level='article')@2": [1, 0, 0, 0],
    "AllRecall@3": [0, 0, 0, 0],
    "AllRecall(rel=2)@2": [0, 0, 0, 0],
    "AllRecall(rel=2)@3": [1, 0, 0, 0],
    "AllRecall(level='article')@2": [0, 1, 0, 0],
    "AllRecall(rel=2,level='article')": [1, 0, 0, 0],
}


def test_qsr_evidence_recall_and_all_recall_are_those_of_the_table_made_by_hand() -> None:
    found = judge(QRELS, RUN, list(BY_HAND))
    assert {name: list(values.values()) for name, values in found.items()} == BY_HAND
    assert list(found["QSR"]) == ["q1", "q2", "q3", "q4"]


@pytest.mark.parametrize("name", [*BY_HAND, "nDCG@10", "R@100", "RR", "RR@10", "AP", "P(rel=2)@5", "Judged@10"])
def test_what_is_printed_parses_back_to_the_same(name: str) -> None:
    assert str(parse_measure(name)) == name
    assert parse_measure(str(parse_measure(name))) == parse_measure(name)


def test_evidence_coverage_is_another_name_of_qsr() -> None:
    assert str(parse_measure("EvidenceCoverage(level='article')@50")) == "QSR(level='article')@50"


def test_at_the_level_of_documents_they_are_success_and_recall() -> None:
    random = np.random.default_rng(1)
    for _ in range(20):
        qrels, run = _judgements(random), _run(random)
        found = judge(_lines(qrels), _run_lines(run), ["QSR@5", "Success@5", "EvidenceRecall@5", "R@5"])
        assert found["QSR@5"] == found["Success@5"]
        assert found["EvidenceRecall@5"] == pytest.approx(found["R@5"])


def test_ir_measures_own_functions_know_them_in_any_form_of_its_data() -> None:
    measure = ir_measures.parse_measure("QSR@2")
    qrels = {"q": {"a": 1}, "p": {"b": 1}}
    assert measure.calc_aggregate(qrels, {"q": {"x": 2.0, "a": 1.0}}) == 0.5
    lines = [
        ir_measures.ScoredDoc("q", "x", 2.0),
        ir_measures.ScoredDoc("q", "y", 3.0),
        ir_measures.ScoredDoc("q", "a", 1),
    ]
    mixed = ir_measures.calc_aggregate([measure, ir_measures.RR], qrels, lines)
    assert (mixed[measure], mixed[ir_measures.RR]) == (0.0, pytest.approx(1 / 6))


_UNDISTURBED = """
import ir_measures
names, tools = dict(ir_measures.measures.registry), list(ir_measures.DefaultPipeline.providers)
import shrag.evaluation.measures.judge_run
assert ir_measures.measures.registry == names, "nothing is registered before a measure is asked for"
import shrag.evaluation.measures.providers as library
import importlib
assert all(ir_measures.measures.registry[name] is each for name, each in names.items())
added = sorted(ir_measures.measures.registry.keys() - names)
assert added == ["AllRecall", "EvidenceCoverage", "EvidenceRecall", "QSR"]
assert ir_measures.DefaultPipeline.providers[:-1] == tools
try:
    importlib.reload(library)
except library.EvaluationError as error:
    print(error)
"""


@pytest.mark.process
def test_registering_leaves_what_ir_measures_has_as_it_is_and_refuses_a_name_that_is_taken() -> None:
    done = subprocess.run([sys.executable, "-c", _UNDISTURBED], capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
    assert done.stdout == "Another package has registered a measure QSR with ir-measures: import only one of the two.\n"


@pytest.mark.parametrize("name", ["P@0", "P@-1", "QSR@0", "QSR@True", "P@" + "9" * 30])
def test_a_cutoff_out_of_range_is_refused_before_any_tool_sees_it(name: str) -> None:
    with pytest.raises(EvaluationError, match=r"give one from 1 to 1,000,000|is not a measure"):
        parse_measure(name)


@pytest.mark.parametrize(
    "name", ["QSR(level='chapter')@5", "QSR(level=3)", "QSR('article')", "QSR(depth=2)", "QSR@1.5"]
)
def test_a_parameter_that_is_none_is_refused(name: str) -> None:
    with pytest.raises(EvaluationError, match="is not a measure: write it as ir-measures does"):
        parse_measure(name)


@pytest.mark.parametrize("name", ["ERR@10", "RBP(p=0.8)", "alpha_nDCG@10", "Accuracy", "RR(judged_only=True)@5"])
def test_a_measure_without_a_tool_that_is_sound_and_installed_is_refused(name: str) -> None:
    with pytest.raises(EvaluationError, match="needs a tool that is not installed"):
        parse_measure(name)


@pytest.mark.parametrize(
    "name", ["P(rel=0)@5", "P(rel=-1)@5", "P(rel=99999)@5", "nDCG(gains={0:-1})@5", "nDCG(gains={1:9**9})"]
)
def test_grades_that_would_crash_or_fill_the_memory_of_trec_evals_code_are_refused(name: str) -> None:
    with pytest.raises(EvaluationError, match=r"has a grade out of range|is not a measure"):
        parse_measure(name)
    with pytest.raises(EvaluationError, match="Topic q grades a with 2000000000: a grade is at most 10,000"):
        judge([Qrel("q", "a", 2_000_000_000)], [], ["AP"])


def test_a_topic_judged_negative_throughout_scores_zero_and_crashes_nothing() -> None:
    qrels = [Qrel("q", "a", -1), Qrel("q", "b", -2), Qrel("p", "a", 1)]
    run = [RunLine(qid, docid, 0, 1.0, "t") for qid in ("q", "p") for docid in ("x", "b", "a")]
    for _ in range(200):
        found = judge(qrels, run, ["nDCG@10", "AP", "Bpref", "QSR", "RR"])
        assert {name: values["q"] for name, values in found.items()} == dict.fromkeys(found, 0.0)


# trec_eval's name → ours.
SAME = {
    "ndcg_cut_10": "nDCG@10",
    "ndcg": "nDCG",
    "recall_100": "R@100",
    "recall_5": "R@5",
    "map": "AP",
    "map_cut_5": "AP@5",
    "recip_rank": "RR",
    "P_5": "P@5",
    "success_1": "Success@1",
    "success_5": "QSR@5",
    "Rprec": "Rprec",
    "bpref": "Bpref",
    "num_ret": "NumRet",
}


@pytest.mark.slow
@pytest.mark.parametrize("seed", range(4))
def test_a_thousand_random_runs_have_trec_evals_values(seed: int) -> None:
    import pytrec_eval

    random = np.random.default_rng(seed)
    for _ in range(250):
        qrels, run = _judgements(random), _run(random)
        # pytrec_eval itself is not safe with topics whose grades are all negative.
        sound = {qid: grades for qid, grades in qrels.items() if max(grades.values()) >= 0}
        theirs = pytrec_eval.RelevanceEvaluator(sound, set(SAME)).evaluate(run)
        ours = judge(_lines(qrels), _run_lines(run), [*SAME.values(), "RR@3", "EvidenceRecall"])
        for qid in qrels:
            retrieved = 0 if qid in sound else len(run.get(qid, {}))
            values = theirs.get(qid, dict.fromkeys(SAME, 0.0) | {"num_ret": retrieved})
            assert {name: ours[SAME[name]][qid] for name in SAME} == pytest.approx(values, abs=1e-12), (qrels, run)
            first = values["recip_rank"]
            assert ours["RR@3"][qid] == pytest.approx(first if first >= 1 / 3 else 0.0)


def test_random_runs_have_the_values_of_the_formulas() -> None:
    random = np.random.default_rng(11)
    for _ in range(100):
        qrels, run = _judgements(random), _run(random)
        lines = _run_lines(run)
        ours, order = judge(_lines(qrels), lines, ["nDCG@5", "AP", "P@3", "RR"]), trec_order(lines)
        for qid, grades in qrels.items():
            assert {name: ours[name][qid] for name in ours} == pytest.approx(_formulas(order.get(qid, []), grades))


def _formulas(ranking: Sequence[str], grades: Mapping[str, int]) -> dict[str, float]:
    """Järvelin and Kekäläinen (2002) with linear gains; the others as in Manning et al. (2008), chapter 8."""
    hits = [grades.get(docid, 0) >= 1 for docid in ranking]
    ideal = _dcg(sorted((max(0, grade) for grade in grades.values()), reverse=True)[:5])
    relevant = sum(grade >= 1 for grade in grades.values())
    precisions = [sum(hits[: at + 1]) / (at + 1) for at, hit in enumerate(hits) if hit]
    return {
        "nDCG@5": _dcg([max(0, grades.get(docid, 0)) for docid in ranking[:5]]) / ideal if ideal else 0.0,
        "AP": sum(precisions) / relevant if relevant else 0.0,
        "P@3": sum(hits[:3]) / 3,
        "RR": 1 / (hits.index(True) + 1) if any(hits) else 0.0,
    }


def _dcg(gains: Sequence[int]) -> float:
    return sum(gain / math.log2(place + 1) for place, gain in enumerate(gains, 1))


def _judgements(random: np.random.Generator) -> Grades:
    """Return up to four topics with up to eight judgements, from -2 to 3."""
    return {
        f"q{n}": {f"d{d}": int(random.integers(-2, 4)) for d in random.permutation(12)[: random.integers(1, 9)]}
        for n in range(random.integers(1, 5))
    }


def _run(random: np.random.Generator) -> Scores:
    """Return topics known and unknown, some empty; documents known and unknown, many tied, some in 32 bits only."""
    run: Scores = {}
    for n in random.permutation(6)[: random.integers(0, 6)]:
        docids = [f"d{d}" for d in random.permutation(16)[: random.integers(0, 15)]]
        scores = random.choice([3.0, 3.0000001, 2.0, 1.5, 0.0, -1.0, 1e-30], size=len(docids))
        run[f"q{n}"] = dict(zip(docids, map(float, scores), strict=True))
    return run


def _lines(qrels: Grades) -> list[Qrel]:
    return [Qrel(qid, docid, grade) for qid, grades in qrels.items() for docid, grade in grades.items()]


def _run_lines(run: Scores) -> list[RunLine]:
    return [RunLine(qid, docid, 0, score, "t") for qid, scores in run.items() for docid, score in scores.items()]
