from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from shrag.models.errors import PlanRejected
from shrag.models.memory_plan.byte_sizes import GIB, MIB
from shrag.models.memory_plan.gpu_cards import GpuCard, find_card, load_cards
from shrag.models.memory_plan.model_size import load_profiles, profile_size
from shrag.models.memory_plan.plan import (
    KV_CACHE,
    SLACK,
    WEIGHTS,
    MemoryPart,
    MemoryPlan,
    PlanRequest,
    Shortfall,
    try_plan,
)
from shrag.models.memory_plan.retrieval_memory import DEFAULT_ENCODER, DEFAULT_RERANKER, VectorTable, retrieval_parts

HERE = Path("weights")
FIFTY = 50 * 10**9
RETRIEVAL = retrieval_parts([DEFAULT_ENCODER], DEFAULT_RERANKER, [VectorTable(1_486_752, 768)], HERE)


def request(card: str = "H200", model: str = "qwen3.8-27b-fp8", **changes: object) -> PlanRequest:
    wanted = PlanRequest(find_card(card), FIFTY, profile_size(model, HERE), RETRIEVAL)
    return replace(wanted, **changes)  # type: ignore[arg-type]


def laid_out(wanted: PlanRequest) -> MemoryPlan:
    plan = try_plan(wanted)
    assert isinstance(plan, MemoryPlan), plan
    return plan


@pytest.mark.parametrize(
    ("card", "model", "pool", "sequences_8k", "sequences_16k", "share"),
    [
        # MiB of cache, and --gpu-memory-utilization.
        ("L40S", "qwen3.8-27b-fp8", 6_420, 9, 5, 0.836),
        ("L40S", "qwen3-30b-a3b-2507-fp8", 4_990, 6, 3, 0.836),
        ("A100-80", "qwen3.8-27b-fp8", 9_048, 13, 7, 0.503),
        ("A100-80", "qwen3-30b-a3b-2507-fp8", 7_618, 9, 4, 0.503),
        ("A100-80", "qwen3.6-35b-a3b-fp8", 2_563, 11, 6, 0.503),
        ("H200", "qwen3.8-27b-fp8", 9_048, 13, 7, 0.284),
        ("24GB", "qwen3.5-4b", 4_371, 13, 7, 0.69),
    ],
)
def test_plans_of_fifty_gigabytes_on_each_card_are_pinned(
    card: str, model: str, pool: int, sequences_8k: int, sequences_16k: int, share: float
) -> None:
    plan = laid_out(request(card, model))
    assert plan.kv_pool // MIB == pool
    assert (plan.sequences(8_192), plan.sequences(16_384)) == (sequences_8k, sequences_16k)
    assert plan.gpu_memory_utilization == share
    assert plan.max_num_seqs == min(sequences_16k, 16)


def test_no_more_sequences_are_planned_than_a_batch_has_tokens() -> None:
    assert laid_out(request(model="qwen3-1.7b")).max_num_seqs == 16
    assert laid_out(request(model="qwen3-1.7b", batch=8)).max_num_seqs == 8


def test_the_parts_are_ordered_by_process() -> None:
    plan = laid_out(request())
    assert [part.name for part in plan.parts] == [
        WEIGHTS, KV_CACHE, "activations", "CUDA graphs", "vLLM's CUDA context",
        *(part.name for part in RETRIEVAL), SLACK,
    ]  # fmt: skip
    assert 0 <= plan.request.limit - sum(part.size for part in plan.parts) < MIB
    assert plan.in_use == sum(part.size for part in plan.parts) - 3 * GIB // 2


def test_estimated_parts_are_marked() -> None:
    exact = {part.name: part.exact for part in laid_out(request(model="qwen3-30b-a3b-2507-fp8")).parts}
    assert (exact[WEIGHTS], exact[KV_CACHE], exact["FAISS vectors"]) == (False, True, True)
    assert not {part.name: part.exact for part in laid_out(request()).parts}[KV_CACHE]


def test_without_cuda_graphs_the_cache_gets_their_memory() -> None:
    eager = laid_out(request(eager=True))
    assert eager.kv_pool - laid_out(request()).kv_pool == 614 * MIB
    assert {part.name: part.size for part in eager.parts}["CUDA graphs"] == 0


def test_activations_follow_the_batch_down_to_a_floor() -> None:
    sizes = [
        {part.name: part.size for part in laid_out(request(batch=batch)).parts}["activations"]
        for batch in (16_384, 8_192, 2_048, 512)
    ]
    assert sizes == [4 * GIB, 2 * GIB, GIB // 2, GIB // 2]


def test_prefixes_are_cached_except_with_states_unless_asked() -> None:
    assert request(model="qwen3-30b-a3b-2507-fp8").caches_prefixes
    assert not request().caches_prefixes
    assert request(prefix_caching=True).caches_prefixes
    assert (laid_out(request(prefix_caching=True)).sequences(8_192), laid_out(request()).sequences(8_192)) == (10, 13)


def test_the_default_context_is_at_most_the_models() -> None:
    short = replace(profile_size("qwen3-1.7b", HERE), longest=4_096)
    assert request(model="qwen3-1.7b").context == 16_384
    wanted = replace(request(), model=short)
    assert wanted.context == 4_096
    with pytest.raises(PlanRejected, match=r"--max-model-len is 8,192, .* has a context of 4,096 tokens"):
        try_plan(replace(wanted, max_model_len=8_192))


def test_a_shortfall_has_the_exact_missing_bytes() -> None:
    wanted = request("A100-80", max_num_seqs=8)
    short = try_plan(wanted)
    assert isinstance(short, Shortfall)
    assert short.missing == short.needed - FIFTY > 0
    assert laid_out(replace(wanted, budget=short.needed)).max_num_seqs == 8
    assert isinstance(try_plan(replace(wanted, budget=short.needed - 1)), Shortfall)


@pytest.mark.parametrize(
    ("changes", "says"),
    [
        ({"max_model_len": 0}, "--max-model-len must be at least 1, got 0"),
        ({"batch": 0}, "--max-num-batched-tokens must be at least 1, got 0"),
        ({"max_num_seqs": 0}, "--max-num-seqs must be from 1"),
        ({"max_num_seqs": 8_193}, r"--max-num-batched-tokens \(8192\), got 8193"),
        ({"budget": 0}, "budget must be at least 1 byte"),
        ({"slack": -1}, "got 50000000000 and -1"),
    ],
)
def test_requests_that_no_budget_can_meet_are_rejected(changes: dict[str, object], says: str) -> None:
    with pytest.raises(PlanRejected, match=says):
        try_plan(replace(request(), **changes))  # type: ignore[arg-type]


REQUESTS = st.builds(
    PlanRequest,
    card=st.one_of(
        st.sampled_from(list(load_cards().values())),
        st.builds(GpuCard, st.just("x"), st.just("x"), st.integers(GIB, 200 * GIB), st.just(9.0)),
    ),
    budget=st.integers(1, 200 * 10**9),
    model=st.sampled_from([profile_size(name, HERE) for name in load_profiles()]),
    retrieval=st.sampled_from([(), RETRIEVAL, RETRIEVAL[:1], (MemoryPart("x", 7, True, ""),)]),
    max_model_len=st.one_of(st.none(), st.integers(1, 32_768)),
    max_num_seqs=st.one_of(st.none(), st.integers(1, 64)),
    batch=st.integers(64, 16_384),
    kv_dtype=st.sampled_from(["auto", "fp8"]),
    prefix_caching=st.sampled_from([None, True, False]),
    eager=st.booleans(),
    slack=st.integers(0, 3 * GIB),
)


@given(wanted=REQUESTS)
def test_the_parts_never_sum_above_the_budget_or_the_card(wanted: PlanRequest) -> None:
    plan = try_plan(wanted)
    if isinstance(plan, Shortfall):
        assert plan.missing > 0
        return
    assert all(part.size >= 0 for part in plan.parts)
    assert sum(part.size for part in plan.parts) <= min(wanted.budget, wanted.card.usable - GIB // 2)
    assert plan.gpu_memory_utilization * wanted.card.usable <= wanted.limit
    assert plan.kv.blocks(wanted.context) * plan.max_num_seqs * plan.kv.block_bytes <= plan.kv_pool


@given(wanted=REQUESTS, more=st.integers(0, 100 * 10**9))
def test_more_budget_never_fits_less(wanted: PlanRequest, more: int) -> None:
    before, after = try_plan(wanted), try_plan(replace(wanted, budget=wanted.budget + more))
    if isinstance(before, MemoryPlan):
        assert isinstance(after, MemoryPlan)
        assert after.kv_pool >= before.kv_pool
        assert after.max_num_seqs >= before.max_num_seqs


@given(wanted=REQUESTS)
def test_the_needed_bytes_of_a_shortfall_are_minimal(wanted: PlanRequest) -> None:
    plan = try_plan(wanted)
    if isinstance(plan, Shortfall):
        roomy = replace(wanted, card=GpuCard("x", "x", plan.needed + GIB, 9.0), budget=plan.needed)
        assert isinstance(try_plan(roomy), MemoryPlan)
        assert isinstance(try_plan(replace(roomy, budget=plan.needed - 1)), Shortfall)
