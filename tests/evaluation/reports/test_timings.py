from __future__ import annotations

from pathlib import Path

import msgspec
import pytest

from shrag.evaluation.errors import ResultsMismatch
from shrag.evaluation.experiments.part import TIMES, ExperimentPart, QuestionTime, part_path
from shrag.evaluation.reports.result_folder import ResultFolder
from shrag.evaluation.reports.timings import PartTimes, read_times_file, summarise_times, write_times
from tests.support.small_experiment import SMALL


def test_a_question_takes_the_sum_of_its_stages() -> None:
    stages = [{"search": 0.1 * number, "ranking": 0.1} for number in range(1, 21)]
    times = summarise_times("s/or", [*stages, {}], 40)
    assert (times.part, times.questions, times.tokens) == ("s/or", 20, 40)
    assert times.mean == pytest.approx(1.15)
    assert times.median == pytest.approx(1.15)
    assert times.p95 == pytest.approx(2.0)
    assert times.stages == {"search": pytest.approx(1.05), "ranking": pytest.approx(0.1)}


@pytest.mark.parametrize(("count", "place"), [(1, 1), (2, 2), (19, 19), (20, 19), (21, 20), (100, 95)])
def test_the_95th_percentile_is_the_nearest_rank(count: int, place: int) -> None:
    times = summarise_times("p", [{"search": float(number)} for number in range(1, count + 1)], 0)
    assert times.p95 == place


def test_a_stage_that_a_question_did_not_need_took_it_no_time() -> None:
    times = summarise_times("p", [{"search": 2.0}, {"search": 2.0, "answer": 4.0}], 0)
    assert (times.stages, times.mean) == ({"search": 2.0, "answer": 2.0}, 4.0)


def test_no_times_are_zero() -> None:
    none = PartTimes("p", questions=0, mean=0.0, median=0.0, p95=0.0, stages={}, tokens=0)
    assert summarise_times("p", [], 0) == summarise_times("p", [{}], 0) == none


def test_the_times_of_all_parts_are_in_one_file(tmp_path: Path) -> None:
    for name, seconds in (("or", 1.0), ("and", 2.0), ("bm25", 4.0)):
        path = part_path(tmp_path, ExperimentPart("demo", name), TIMES)
        path.parent.mkdir(exist_ok=True)
        times = [QuestionTime("a", {"search": seconds}, 3), QuestionTime("b", {"search": 3 * seconds}, 4)]
        path.write_bytes(b"".join(msgspec.json.encode(each) + b"\n" for each in times))
    results = ResultFolder(tmp_path, SMALL)
    write_times(results)
    assert read_times_file(results) == [
        PartTimes("demo/or", 2, 2.0, 2.0, 3.0, {"search": 2.0}, 7),
        PartTimes("demo/and", 2, 4.0, 4.0, 6.0, {"search": 4.0}, 7),
        PartTimes("demo/bm25", 2, 8.0, 8.0, 12.0, {"search": 8.0}, 7),
    ]


@pytest.mark.parametrize("content", [None, b"", b"{}", b"\xff"])
def test_a_file_of_times_that_is_missing_or_damaged_can_be_written_again(tmp_path: Path, content: bytes | None) -> None:
    if content is not None:
        (tmp_path / "times.json").write_bytes(content)
    with pytest.raises(ResultsMismatch, match=r"times.json cannot be read .*: complete it with .* --resume"):
        read_times_file(ResultFolder(tmp_path, SMALL))
