"""A plan or a refusal: where a request does not fit, the smallest change that does, found by planning it."""

from __future__ import annotations

from bisect import bisect_left
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import replace
from itertools import chain, islice
from typing import NamedTuple

from shrag.models.budget_plan import BudgetPlan, PlanRequest, Shortfall, lay_out
from shrag.models.byte_sizes import both_units, gib
from shrag.models.errors import BudgetTooSmall, PlanRejected
from shrag.models.gpu_cards import GpuCard
from shrag.models.language_model_size import LanguageModelSize
from shrag.models.retrieval_memory import FAISS

SHORTEST_CONTEXT = 2_048
"""Below this five records and an answer have no room: no shorter context is proposed."""

_CONTEXT_STEP = 1_024
_BUDGET_STEP = 10**8
_BATCHES = (4_096, 2_048)


class Change(NamedTuple):
    """A changed request that fits, and what to say of it."""

    says: str
    request: PlanRequest


def plan_budget(
    request: PlanRequest, models: Sequence[LanguageModelSize] = (), cards: Iterable[GpuCard] = ()
) -> BudgetPlan:
    """Return the plan; ``models`` and ``cards`` are what a refusal may propose, in order of preference.

    Raises :class:`BudgetTooSmall` where it does not fit, naming the first of :func:`fitting_changes` and then the
    others, and ``PlanRejected`` where no budget would help.
    """
    outcome = lay_out(request)
    if isinstance(outcome, BudgetPlan):
        return outcome
    changes = [change.says for change in fitting_changes(request, outcome, models, cards)]
    short = (
        f"{request.model.name} does not fit: it needs {both_units(outcome.needed)} in all for "
        f"{request.max_num_seqs or 1} × {request.context:,} tokens, {gib(outcome.missing)} more than the "
        f"{both_units(outcome.limit)} there are"
    )
    if not changes:
        raise BudgetTooSmall(f"{short}; no single change known here would fit: plan a smaller model with --llm.")
    others = f" (or: {'; '.join(changes[1:])})" if changes[1:] else ""
    raise BudgetTooSmall(f"{short}. The smallest change that fits: {changes[0]}{others}.")


def fitting_changes(
    request: PlanRequest, short: Shortfall, models: Sequence[LanguageModelSize], cards: Iterable[GpuCard]
) -> Iterator[Change]:
    """Yield single changes that make ``request`` fit, each planned and each as small as it can be.

    In the order of what they take from answers: fewer questions at once, smaller batches (slower on long prompts), the
    vectors searched on the processor, a shorter context, a cache of 8 bits, more memory, another model, another card.
    """
    yield from _fewer_sequences(request)
    yield from _smaller_batch(request)
    yield from _vectors_on_the_processor(request)
    yield from _shorter_context(request)
    if request.kv_dtype == "auto":
        yield from _if_fits("--kv-cache-dtype fp8", replace(request, kv_dtype="fp8"))
    budget = max(request.budget, -(-short.needed // _BUDGET_STEP) * _BUDGET_STEP)
    more = f"--budget {budget / 1e9:.1f}GB"
    yield from _if_fits(more, replace(request, budget=budget))
    smaller = (model for model in models if model.weights < request.model.weights and model.licence)
    yield from _first(_if_fits(f"--llm {model.name}", replace(request, model=model)) for model in smaller)
    larger = (card for card in cards if card.usable > request.card.usable)
    further = f" {more}" if budget > request.budget else ""
    yield from _first(
        _if_fits(f"--card {card.name}{further}", replace(request, card=card, budget=budget)) for card in larger
    )


def _fewer_sequences(request: PlanRequest) -> Iterator[Change]:
    if request.max_num_seqs is not None:
        most = _largest(range(1, request.max_num_seqs), lambda n: _fits(replace(request, max_num_seqs=n)))
        if most:
            yield Change(f"--max-num-seqs {most}", replace(request, max_num_seqs=most))


def _smaller_batch(request: PlanRequest) -> Iterator[Change]:
    batches = (batch for batch in _BATCHES if (request.max_num_seqs or 1) <= batch < request.batch)
    yield from _first(_if_fits(f"--max-num-batched-tokens {batch}", replace(request, batch=batch)) for batch in batches)


def _vectors_on_the_processor(request: PlanRequest) -> Iterator[Change]:
    kept = tuple(part for part in request.retrieval if not part.name.startswith(FAISS))
    if kept != request.retrieval:
        yield from _if_fits("leave --index out (exact search on the processor)", replace(request, retrieval=kept))


def _shorter_context(request: PlanRequest) -> Iterator[Change]:
    lengths = range(SHORTEST_CONTEXT, request.context, _CONTEXT_STEP)
    longest = _largest(lengths, lambda n: _fits(replace(request, max_model_len=n)))
    if longest:
        yield Change(f"--max-model-len {longest}", replace(request, max_model_len=longest))


def _largest(values: range, fits: Callable[[int], bool]) -> int | None:
    """Return the largest of ascending values that fits, None where the smallest does not; larger never fits better."""
    place = bisect_left(values, True, key=lambda value: not fits(value))
    return values[place - 1] if place else None


def _first(changes: Iterable[Iterator[Change]]) -> Iterator[Change]:
    """Yield the first change of all, if there is one."""
    yield from islice(chain.from_iterable(changes), 1)


def _if_fits(says: str, request: PlanRequest) -> Iterator[Change]:
    if _fits(request):
        yield Change(says, request)


def _fits(request: PlanRequest) -> bool:
    try:
        return isinstance(lay_out(request), BudgetPlan)
    except PlanRejected:
        return False  # another model, made for a shorter context
