from __future__ import annotations

from pathlib import Path

import pytest

from shrag.evaluation.errors import EvaluationError
from shrag.evaluation.run_evaluation import evaluate_runs

QRELS = "q1 0 a 1\nq2 0 b 1\n"


def test_a_judged_topic_without_a_line_scores_0_and_is_counted(tmp_path: Path) -> None:
    qrels, whole, partial = (tmp_path / name for name in ("qrels", "whole.run", "partial.run"))
    qrels.write_text(QRELS)
    whole.write_text("q1 Q0 a 1 2.0 t\nq2 Q0 c 1 2.0 t\nq2 Q0 b 2 1.0 t\n")
    partial.write_text("q1 Q0 a 1 2.0 t\n")
    found = evaluate_runs(qrels, [whole, partial, whole], ["RR@10", "Success@1"])
    assert (list(found), found.judged) == ([str(whole), str(partial)], 2)
    assert found.missing == {str(whole): 0, str(partial): 1}
    assert found.topics[str(whole)]["RR@10"] == {"q1": 1.0, "q2": 0.5}
    assert found[str(whole)] == {"RR@10": 0.75, "Success@1": 0.5}
    assert found.to_dict() == {str(whole): found[str(whole)], str(partial): {"RR@10": 0.5, "Success@1": 0.5}}
    assert found.to_pandas().to_dict(orient="index") == found.to_dict()


def test_an_unknown_measure_is_named(tmp_path: Path) -> None:
    (tmp_path / "qrels").write_text(QRELS)
    (tmp_path / "run").write_text("q1 Q0 a 1 2.0 t\n")
    with pytest.raises(EvaluationError, match="nDCGG@10"):
        evaluate_runs(tmp_path / "qrels", [tmp_path / "run"], ["nDCGG@10"])
