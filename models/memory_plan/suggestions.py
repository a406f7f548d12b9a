"""Find the smallest changes that make a memory plan fit."""

from __future__ import annotations

from bisect import bisect_left
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import replace
from itertools import islice
from typing import NamedTuple

from shrag.messages.text import Text, joined
from shrag.models.errors import BudgetTooSmall, PlanRejected
from shrag.models.memory_plan.byte_sizes import both_units, gib
from shrag.models.memory_plan.gpu_cards import GpuCard
from shrag.models.memory_plan.model_size import LanguageModelSize
from shrag.models.memory_plan.plan import MemoryPlan, PlanRequest, Shortfall, try_plan
from shrag.models.memory_plan.retrieval_memory import FAISS, RERANKER

MIN_CONTEXT = 2_048
"""The shortest context to propose; a shorter one has no room for five records and an answer."""

_CONTEXT_STEP = 1_024
_BUDGET_STEP = 10**8
_BATCHES = (4_096, 2_048)


class PlanChange(NamedTuple):
    """A changed request and the change as options of the command line."""

    options: str
    request: PlanRequest


def plan_memory(
    request: PlanRequest, models: Sequence[LanguageModelSize] = (), cards: Iterable[GpuCard] = ()
) -> MemoryPlan:
    """Plan a request; if it does not fit, the error proposes changes, including other ``models`` and ``cards``.

    Raises :class:`BudgetTooSmall` with :func:`fitting_changes`, or :class:`PlanRejected` if no budget would help.
    """
    outcome = try_plan(request)
    if isinstance(outcome, MemoryPlan):
        return outcome
    changes = [change.options for change in fitting_changes(request, outcome, models, cards)]
    short = Text(
        "{model} does not fit: it needs {needed} in all for {sequences} × {tokens:,} tokens, {missing} more than the "
        "{limit} available",
        model=request.model.name,
        needed=both_units(outcome.needed),
        sequences=request.max_num_seqs or 1,
        tokens=request.context,
        missing=gib(outcome.missing),
        limit=both_units(outcome.limit),
    )
    if not changes:
        raise BudgetTooSmall(
            Text("{problem}; no change of the settings would fit: plan a smaller model with --llm.", problem=short)
        )
    others = Text(" (or: {changes})", changes=joined(changes[1:], "; ")) if changes[1:] else ""
    raise BudgetTooSmall(
        Text(
            "{problem}. The smallest change that fits: {changes}{others}.",
            problem=short,
            changes=changes[0],
            others=others,
        )
    )


def fitting_changes(
    request: PlanRequest, short: Shortfall, models: Sequence[LanguageModelSize], cards: Iterable[GpuCard]
) -> Iterator[PlanChange]:
    """Yield the smallest change of each kind that makes ``request`` fit.

    The changes are ordered by their effect on answers. First come settings: fewer concurrent sequences, smaller batches
    (slower on long prompts), vector search on the CPU, a shorter context, an 8-bit cache, no re-ranker. If none of
    these is enough alone, several are combined. Then come more memory, another model, and another card.
    """
    settings = list(_single_settings(request))
    yield from settings or _combined_settings(request)
    budget = max(request.budget, -(-short.needed // _BUDGET_STEP) * _BUDGET_STEP)
    more = f"--budget {budget / 1e9:.1f}GB"
    yield from _if_fits(more, replace(request, budget=budget))
    smaller = (model for model in models if model.weights < request.model.weights and model.licence)
    swapped = (PlanChange(f"--llm {model.name}", replace(request, model=model)) for model in smaller)
    yield from islice(_fitting(swapped), 1)
    larger = (card for card in cards if card.usable > request.card.usable)
    also = f" {more}" if budget > request.budget else ""
    moved = (PlanChange(f"--card {card.name}{also}", replace(request, card=card, budget=budget)) for card in larger)
    yield from islice(_fitting(moved), 1)


def _single_settings(request: PlanRequest) -> Iterator[PlanChange]:
    """Yield the single settings that are enough alone."""
    if request.max_num_seqs is not None:
        most = _largest(range(1, request.max_num_seqs), lambda n: _fits(replace(request, max_num_seqs=n)))
        if most:
            yield PlanChange(f"--max-num-seqs {most}", replace(request, max_num_seqs=most))
    yield from islice(_fitting(_smaller_batches(request)), 1)
    yield from _fitting(_without_faiss(request))
    yield from _shorter_context(request)
    yield from _fitting(_eight_bits(request))
    yield from _fitting(_without_reranker(request))


def _combined_settings(request: PlanRequest) -> Iterator[PlanChange]:
    """Yield one change that adds setting after setting until some context fits, and then takes the longest context."""
    starts = [PlanChange("", request)]
    if (request.max_num_seqs or 1) > 1:
        starts.append(PlanChange("--max-num-seqs 1", replace(request, max_num_seqs=1)))
    for start in starts:
        options, changed = [start.options], start.request
        for step in (_smallest_batch, _without_faiss, _eight_bits, _without_reranker):
            for change in step(changed):
                options, changed = [*options, change.options], change.request
            for context in [*_if_fits("", changed), *_shorter_context(changed)][:1]:
                yield PlanChange(joined(filter(None, [*options, context.options]), ", "), context.request)
                return


def _smallest_batch(request: PlanRequest) -> Iterator[PlanChange]:
    yield from list(_smaller_batches(request))[-1:]


def _smaller_batches(request: PlanRequest) -> Iterator[PlanChange]:
    for batch in _BATCHES:
        if (request.max_num_seqs or 1) <= batch < request.batch:
            yield PlanChange(f"--max-num-batched-tokens {batch}", replace(request, batch=batch))


def _eight_bits(request: PlanRequest) -> Iterator[PlanChange]:
    if request.kv_dtype == "auto":
        yield PlanChange("--kv-cache-dtype fp8", replace(request, kv_dtype="fp8"))


def _without_faiss(request: PlanRequest) -> Iterator[PlanChange]:
    yield from _without(request, FAISS, Text("leave --index out (exact search on the CPU)"))


def _without_reranker(request: PlanRequest) -> Iterator[PlanChange]:
    yield from _without(request, RERANKER, "--reranker none")


def _without(request: PlanRequest, prefix: str, options: str) -> Iterator[PlanChange]:
    rest = tuple(part for part in request.retrieval if not part.name.startswith(prefix))
    if rest != request.retrieval:
        yield PlanChange(options, replace(request, retrieval=rest))


def _shorter_context(request: PlanRequest) -> Iterator[PlanChange]:
    lengths = range(MIN_CONTEXT, request.context, _CONTEXT_STEP)
    longest = _largest(lengths, lambda n: _fits(replace(request, max_model_len=n)))
    if longest:
        yield PlanChange(f"--max-model-len {longest}", replace(request, max_model_len=longest))


def _largest(values: range, fits: Callable[[int], bool]) -> int | None:
    """Return the largest of ascending values that fits, or None if the smallest does not; ``fits`` is monotonic."""
    count = bisect_left(values, True, key=lambda value: not fits(value))
    return values[count - 1] if count else None


def _fitting(changes: Iterable[PlanChange]) -> Iterator[PlanChange]:
    return (change for change in changes if _fits(change.request))


def _if_fits(options: str, request: PlanRequest) -> Iterator[PlanChange]:
    return _fitting([PlanChange(options, request)])


def _fits(request: PlanRequest) -> bool:
    try:
        return isinstance(try_plan(request), MemoryPlan)
    except PlanRejected:
        return False  # the changed model has a shorter context
