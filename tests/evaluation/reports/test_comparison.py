from __future__ import annotations

import shutil
from pathlib import Path

import msgspec
import pytest

from shrag.evaluation.errors import ResultsMismatch
from shrag.evaluation.experiments.run_card import read_card, write_card
from shrag.evaluation.reports.comparison import choose_condition, compare_conditions, is_results_path
from shrag.evaluation.reports.result_folder import file_digests
from shrag.evaluation.reports.table import read_table


def test_a_folder_names_its_baseline_and_a_colon_any_condition(results_folder: Path) -> None:
    assert choose_condition(str(results_folder)).condition.name == "or"
    assert choose_condition(f"{results_folder}:and").condition.name == "and"
    with pytest.raises(ResultsMismatch, match=r"has no condition 'nope': write .*small:CONDITION with one of or, and"):
        choose_condition(f"{results_folder}:nope")
    assert is_results_path(str(results_folder))
    assert is_results_path(f"{results_folder}:anything")
    assert not is_results_path(str(results_folder / "demo" / "or.run"))
    assert not is_results_path("nowhere")


def test_two_conditions_compare_as_the_table_compares_them(results_folder: Path) -> None:
    a, b = choose_condition(f"{results_folder}:or"), choose_condition(f"{results_folder}:and")
    (compared,) = compare_conditions(a, b, count=3, by="num_candidates")
    told = read_table(results_folder).sets[0].rows[1].cells
    for each in compared.differences:
        against = told[each.measure].difference
        assert against is not None
        assert (each.difference, each.p, each.wins) == (against.mean, against.p, against.wins)
    assert len(compared.changes) == 3
    assert compared.changes[0].qid in compared.questions
    sizes = [abs(change.b - change.a) for change in compared.changes]
    assert sizes == sorted(sizes, reverse=True)


def test_other_questions_or_measures_are_refused(results_folder: Path, tmp_path: Path) -> None:
    shutil.copytree(results_folder, tmp_path / "copy")
    a, b = choose_condition(str(results_folder)), choose_condition(str(tmp_path / "copy"))
    with pytest.raises(ResultsMismatch, match=r"RR is not measured in both: use one of nDCG@10, R@20, num_candidates"):
        list(compare_conditions(a, b, count=3, by="RR"))
    qrels = tmp_path / "copy" / "demo" / "qrels.txt"
    qrels.write_text(qrels.read_text().replace(" 2\n", " 1\n"))
    card = read_card(tmp_path / "copy")
    write_card(tmp_path / "copy", msgspec.structs.replace(card, files=file_digests(tmp_path / "copy")))
    with pytest.raises(ResultsMismatch, match="The set demo has other questions or judgements in"):
        list(compare_conditions(a, b, count=3))
