"""Print a GPU memory plan as text or JSON."""

from __future__ import annotations

import json
import shlex

import click

from shrag.models.memory_plan.byte_sizes import both_units, gib
from shrag.models.memory_plan.gpu_use import UseDifference
from shrag.models.memory_plan.plan import MemoryPlan
from shrag.models.model_server.command import memory_flags

_LENGTHS = (2_048, 4_096, 8_192, 16_384, 32_768, 65_536, 131_072)
# NVIDIA's tensor cores have 8-bit floating point from this compute capability on.
_FP8_CAPABILITY = 8.9


def print_plan(plan: MemoryPlan, difference: UseDifference | None) -> None:
    """Print the GPU memory of each part on a line, then what fits and the flags of vLLM."""
    request, model = plan.request, plan.request.model
    guess = "about " if request.card.estimated else ""
    click.echo(f"Card    {request.card.title}: {guess}{gib(request.card.usable)} usable")
    click.echo(f"Budget  {both_units(request.budget)}; {gib(request.limit)} planned at most")
    about = ", ".join(part for part in (model.quantization, model.licence) if part)
    click.echo(f"Model   {model.name}{f' ({about})' if about else ''}\n")
    for part in plan.parts:
        kind = "exact" if part.exact else "estimate"
        click.echo(f"{gib(part.size):>10}  {kind:<8}  {part.name:<40}  {part.source}")
    total = sum(part.size for part in plan.parts)
    click.echo(f"{gib(total):>10}            in all, {gib(request.limit - total)} left over\n")
    fits = ", ".join(f"{plan.sequences(tokens)} × {tokens:,}" for tokens in _lengths(plan))
    click.echo(f"At once: {fits} tokens (--max-num-seqs {plan.max_num_seqs})")
    click.echo(f"KV cache: {plan.kv.bytes_per_token:,} bytes a token{_fixed(plan)}")
    click.echo(f"vLLM: {shlex.join(memory_flags(plan))}")
    for note in plan_notes(plan):
        click.echo(f"Note: {note}")
    if difference is not None:
        click.echo(
            f"{'Warning' if difference.exceeds_tolerance else 'In use'}: {difference}", err=difference.exceeds_tolerance
        )


def print_json_plan(plan: MemoryPlan, command: str, difference: UseDifference | None) -> None:
    """Print the plan as one JSON object, sizes in bytes."""
    request = plan.request
    report = {
        "card": {"name": request.card.name, "usable_bytes": request.card.usable, "estimated": request.card.estimated},
        "budget_bytes": request.budget,
        "limit_bytes": request.limit,
        "model": request.model.name,
        "licence": request.model.licence,
        "parts": [
            {"name": part.name, "bytes": part.size, "exact": part.exact, "source": part.source} for part in plan.parts
        ],
        "max_model_len": request.context,
        "max_num_seqs": plan.max_num_seqs,
        "gpu_memory_utilization": plan.gpu_memory_utilization,
        "kv_cache": {
            "dtype": request.kv_dtype,
            "bytes": plan.kv_pool,
            "bytes_per_token": plan.kv.bytes_per_token,
            "fixed_bytes_per_sequence": plan.kv.fixed_bytes(request.context),
            "size_in_tokens": plan.kv.size_in_tokens(plan.kv_pool, request.context),
            "maximum_concurrency": round(plan.kv.concurrency(plan.kv_pool, request.context), 4),
        },
        "sequences": {str(tokens): plan.sequences(tokens) for tokens in _lengths(plan)},
        "notes": list(plan_notes(plan)),
        "flags": list(memory_flags(plan)),
        "command": command,
        "comparison": None
        if difference is None
        else {
            "planned_bytes": difference.planned,
            "used_bytes": difference.used,
            "excess": round(difference.excess, 4),
        },
    }
    click.echo(json.dumps(report, ensure_ascii=False))


def plan_notes(plan: MemoryPlan) -> tuple[str, ...]:
    """Return notes on this model on this GPU."""
    request, notes = plan.request, []
    capability = request.card.capability
    if "fp8" in request.model.quantization and 0 < capability < _FP8_CAPABILITY:
        notes.append(
            f"this GPU (compute capability {capability}) does not compute in FP8: the weights save memory, but were "
            "slower than 16 bits on an A100"
        )
    if not request.model.licence:
        notes.append("the licence of these weights is unknown: read it before use")
    if request.model.has_states and request.caches_prefixes:
        notes.append("prefix caching doubles the recurrent states of this model and rarely helps")
    return tuple(notes)


def _fixed(plan: MemoryPlan) -> str:
    fixed = plan.kv.fixed_bytes(plan.request.context)
    return f" and {gib(fixed)} a sequence" if fixed else ""


def _lengths(plan: MemoryPlan) -> list[int]:
    """Return common sequence lengths below the longest one, and that."""
    context = plan.request.context
    return [*(length for length in _LENGTHS if length < context), context]
