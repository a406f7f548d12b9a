from __future__ import annotations

import re
from pathlib import Path

import msgspec

from shrag.indexing.build.size_plan import GIB, BuildRate, Machine, cluster_plan, find_rate, plan_size
from shrag.indexing.storage.generations import current_generation, publish

README = (Path(__file__).resolve().parents[3] / "deploy/milvus/README.md").read_text(encoding="utf-8")
MACHINE = Machine(16, 128 * 10**9, 2 * 10**12)
RATE = BuildRate(1_000.0)


def test_a_million_records_on_one_machine() -> None:
    plan = plan_size(1_000_000, 130, 0, MACHINE, RATE, 50 * 10**9)
    embedded = plan.embedded
    assert (embedded.index, embedded.building) == (1_941_000_000, 3_634_078_976)
    assert (embedded.serving_memory, embedded.build_memory) == (2 * GIB + 221_000_000, 5 * GIB // 2 + 16 * 150 * 2**20)
    assert (round(embedded.build_hours, 3), embedded.search_ms) == (0.278, 26.2)
    assert (plan.engine, plan.gpu_records) == ("lucene", 0)


def test_vectors_take_what_limits_the_number_of_records() -> None:
    without, given = (plan_size(10**6, 130, dimension, MACHINE, RATE, 50 * 10**9) for dimension in (0, 768))
    assert given.limits["memory"] == 71_629_206
    assert without.limits["memory"] == 569_468_399
    assert given.limits["build"] == without.limits["build"] == 86_400_000
    assert given.gpu_records == 32_552_083
    assert plan_size(given.most_records, 130, 768, MACHINE, RATE, 0).engine == "lucene"
    assert plan_size(given.most_records + 1, 130, 768, MACHINE, RATE, 0).engine == "milvus"


def test_the_vectors_of_an_index_take_three_bytes_a_dimension_with_their_faiss_index() -> None:
    without, given = (plan_size(10**6, 130, dimension, MACHINE, RATE, 0).embedded for dimension in (0, 768))
    vectors, faiss = 1_536_000_000, 768_000_000
    assert (given.index - without.index, given.building - without.building) == (vectors + faiss, vectors + faiss)
    assert given.serving_memory - without.serving_memory == vectors
    assert (given.build_memory, given.build_hours, given.search_ms) == (
        without.build_memory, without.build_hours, without.search_ms,
    )  # fmt: skip


def test_an_empty_corpus_takes_a_shard_and_a_node_for_each_replica() -> None:
    plan = cluster_plan(0, 130, 768)
    assert (plan.shards, plan.query_nodes, plan.memory, plan.dense_index) == (1, 2, 0, "HNSW")


def test_every_limit_is_the_last_size_that_fits() -> None:
    plan = plan_size(10**6, 130, 768, MACHINE, RATE, 0)
    at, above = (plan_size(plan.limits["disk"] + more, 130, 768, MACHINE, RATE, 0).embedded for more in (0, 1))
    assert at.building <= MACHINE.disk < above.building


def test_a_machine_that_is_too_small_for_any_index_takes_no_record() -> None:
    assert plan_size(10, 130, 0, Machine(1, GIB, GIB), RATE, 0).limits["memory"] == 0


def test_the_sizes_of_the_cluster_are_those_of_the_page() -> None:
    rows = re.findall(
        r"^\| ([\d ]+[MB]) \| (\d+) \| (\w+) \| ([\d,]+) \| ([\d,]+) \| ([\d,]+) \| (\d+) \|$", README, re.M
    )
    assert [row[0] for row in rows] == ["1 M", "10 M", "30 M", "100 M", "300 M", "1 B"]
    for size, shards, dense, *figures in rows:
        plan = cluster_plan(int(size[:-2]) * {"M": 10**6, "B": 10**9}[size[-1]], 130, 768)
        assert (plan.shards, plan.dense_index) == (int(shards), dense)
        computed = [plan.memory / GIB, plan.node_disk / GIB, plan.object_storage / GIB, plan.query_nodes]
        assert [figure.replace(",", "") for figure in figures] == [f"{value:.0f}" for value in computed]


def test_the_speed_is_that_of_the_largest_complete_build_here(demo_home: Path, tmp_path: Path) -> None:
    assert find_rate(tmp_path) == BuildRate(1_111.0)
    _, manifest = current_generation(demo_home / "indexes" / "demo")
    assert manifest.build_seconds > 0
    assert find_rate(demo_home / "indexes") == BuildRate(1_111.0)  # 235 records say nothing
    for name, records, seconds in (("a", 60_000, 30.0), ("b", 90_000, 90.0), ("c", 200_000, 0.0)):
        build = tmp_path / name / "build-000001"
        build.mkdir(parents=True)
        given = msgspec.structs.replace(manifest, generation=1, records=records, build_seconds=seconds, files={})
        publish(tmp_path / name, build, given)
    assert find_rate(tmp_path) == BuildRate(1_000.0, "b", 90_000)
