from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import pytest
from hypothesis import HealthCheck, assume, given, settings
from hypothesis import strategies as st

from shrag.models.errors import BudgetTooSmall
from shrag.models.memory_plan.byte_sizes import GIB, MIB
from shrag.models.memory_plan.gpu_cards import GpuCard, find_card, load_cards
from shrag.models.memory_plan.model_size import LanguageModelSize, load_profiles, profile_size
from shrag.models.memory_plan.plan import MemoryPlan, PlanRequest, Shortfall, try_plan
from shrag.models.memory_plan.retrieval_memory import DEFAULT_ENCODER, DEFAULT_RERANKER, VectorTable, retrieval_parts
from shrag.models.memory_plan.suggestions import PlanChange, fitting_changes, plan_memory

# Written out, so that a change of the module's own is noticed.
MIN_CONTEXT = 2_048

HERE = Path("weights")
MODELS = [profile_size(name, HERE) for name in load_profiles()]
CARDS = list(load_cards().values())
RETRIEVAL = retrieval_parts([DEFAULT_ENCODER], DEFAULT_RERANKER, [VectorTable(1_486_752, 768)], HERE)


def changes_of(wanted: PlanRequest) -> list[PlanChange]:
    short = try_plan(wanted)
    assert isinstance(short, Shortfall)
    return list(fitting_changes(wanted, short, MODELS, CARDS))


def test_a_near_miss_lists_every_sufficient_setting_in_order() -> None:
    model = profile_size("qwen3.6-35b-a3b-fp8", HERE)
    wanted = PlanRequest(find_card("L40S"), 50 * 10**9, model, RETRIEVAL, slack=1_148 * MIB)
    assert [change.options for change in changes_of(wanted)] == [
        "--max-num-batched-tokens 4096",
        "leave --index out (exact search on the CPU)",
        "--max-model-len 11264",
        "--kv-cache-dtype fp8",
        "--reranker none",
        "--llm qwen3.8-27b-fp8",
        "--card A6000",
    ]


def test_too_many_sequences_are_answered_with_as_many_as_fit() -> None:
    wanted = PlanRequest(find_card("A100-80"), 50 * 10**9, MODELS[0], RETRIEVAL, max_num_seqs=9)
    says = [change.options for change in changes_of(wanted)]
    assert says[0] == "--max-num-seqs 7"
    assert "--budget 51.7GB" in says


def test_a_model_far_too_large_is_answered_with_a_smaller_one_and_a_larger_card() -> None:
    wanted = PlanRequest(find_card("24GB"), 50 * 10**9, MODELS[0], RETRIEVAL)
    assert [change.options for change in changes_of(wanted)] == ["--llm qwen3.5-4b", "--card L40S"]


def test_settings_are_combined_where_none_is_enough_alone() -> None:
    wanted = PlanRequest(find_card("24GB"), 24 * 10**9, profile_size("qwen3.8-27b-4bit", HERE), RETRIEVAL)
    says = [change.options for change in changes_of(wanted)]
    assert says[0] == (
        "--max-num-batched-tokens 2048, leave --index out (exact search on the CPU), --kv-cache-dtype fp8, "
        "--reranker none, --max-model-len 7168"
    )
    assert says[1:] == ["--llm qwen3.5-4b", "--card L40S --budget 29.6GB"]


def test_a_larger_card_comes_with_the_budget_it_needs() -> None:
    wanted = PlanRequest(find_card("24GB"), 20 * 10**9, MODELS[0], RETRIEVAL)
    assert changes_of(wanted)[-1].options == "--card L40S --budget 41.8GB"


def test_a_model_whose_licence_is_not_known_is_never_proposed() -> None:
    wanted = PlanRequest(find_card("24GB"), 50 * 10**9, MODELS[0], max_model_len=2_048, batch=2_048)
    assert isinstance(try_plan(replace(wanted, model=profile_size("kanana-2-30b-a3b-awq", HERE))), MemoryPlan)
    proposed = [change.request.model for change in changes_of(wanted)]
    assert all(model.licence for model in proposed)


def test_the_error_has_the_numbers_and_the_changes() -> None:
    model = profile_size("qwen3.6-35b-a3b-fp8", HERE)
    wanted = PlanRequest(find_card("L40S"), 50 * 10**9, model, RETRIEVAL, slack=1_148 * MIB)
    with pytest.raises(BudgetTooSmall) as caught:
        plan_memory(wanted, MODELS, CARDS)
    assert str(caught.value).startswith(
        "qwen3.6-35b-a3b-fp8 does not fit: it needs 47.34 GB (44.09 GiB) in all for 1 × 16,384 tokens, "
        "0.09 GiB more than the 47.24 GB (44.00 GiB) available. The smallest change that fits: "
        "--max-num-batched-tokens 4096 (or: "
    )


def test_a_single_change_has_no_others_beside_it() -> None:
    wanted = PlanRequest(
        find_card("H200"), 20 * 10**9, MODELS[0], max_model_len=2_048, batch=2_048, kv_dtype="fp8", slack=0
    )
    with pytest.raises(BudgetTooSmall, match=r"available\. The smallest change that fits: --budget [\d.]+GB\.$"):
        plan_memory(wanted)


def test_the_error_says_where_no_change_is_enough() -> None:
    tiny = GpuCard("x", "x", 2 * GIB, 9.0)
    with pytest.raises(BudgetTooSmall, match="no change of the settings would fit"):
        plan_memory(PlanRequest(tiny, 50 * 10**9, MODELS[-1]), MODELS)


def test_a_plan_that_fits_is_the_plan() -> None:
    wanted = PlanRequest(find_card("H200"), 50 * 10**9, MODELS[0], RETRIEVAL)
    assert plan_memory(wanted) == try_plan(wanted)


@settings(max_examples=60, suppress_health_check=[HealthCheck.too_slow, HealthCheck.filter_too_much])
@given(
    card=st.sampled_from(CARDS),
    budget=st.integers(5 * 10**9, 60 * 10**9),
    model=st.sampled_from(MODELS),
    context=st.one_of(st.none(), st.integers(1, 40_000)),
    sequences=st.one_of(st.none(), st.integers(1, 32)),
)
def test_every_change_proposed_fits_and_none_smaller_of_its_kind_does(
    card: GpuCard, budget: int, model: LanguageModelSize, context: int | None, sequences: int | None
) -> None:
    assume(context is None or model.longest is None or context <= model.longest)  # refused before it is laid out
    wanted = PlanRequest(card, budget, model, RETRIEVAL, context, sequences)
    short = try_plan(wanted)
    if isinstance(short, MemoryPlan):
        return
    for change in fitting_changes(wanted, short, MODELS, CARDS):
        assert isinstance(try_plan(change.request), MemoryPlan), change.options
        assert change.request != wanted
        if "," not in change.options:  # of several settings none is a smallest
            for smaller in one_step_smaller(wanted, change.request):
                assert isinstance(try_plan(smaller), Shortfall), change.options


def one_step_smaller(wanted: PlanRequest, changed: PlanRequest) -> list[PlanRequest]:
    """Return the request that changes one step less, where the change is a number; the others are as they are."""
    if changed.max_num_seqs != wanted.max_num_seqs and changed.max_num_seqs is not None:
        return [replace(changed, max_num_seqs=changed.max_num_seqs + 1)]
    if changed.max_model_len != wanted.max_model_len and changed.max_model_len is not None:
        assert changed.max_model_len >= MIN_CONTEXT
        return [replace(changed, max_model_len=min(changed.max_model_len + 1_024, wanted.context))]
    if changed.budget != wanted.budget and changed.card == wanted.card:
        return [replace(changed, budget=changed.budget - 10**8)]
    return []
