"""The memory plan of a GPU divides a budget into parts and computes how many sequences fit.

The language model server gets the budget less retrieval and slack. Its KV cache gets what weights, activations, CUDA
graphs and CUDA context leave. Nothing is measured, and no GPU is needed.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import NamedTuple

from shrag.messages.text import Text
from shrag.models.errors import PlanRejected
from shrag.models.memory_plan.byte_sizes import GIB, MIB, gib
from shrag.models.memory_plan.gpu_cards import GpuCard
from shrag.models.memory_plan.kv_cache import KvCache, KvDtype, KvOptions
from shrag.models.memory_plan.model_size import LanguageModelSize


class MemoryPart(NamedTuple):
    """One use of ``size`` bytes of the card.

    ``exact`` is true for a size that was read or computed, and false for an estimate. ``source`` says where the size
    comes from.
    """

    name: str
    size: int
    exact: bool
    source: str


DEFAULT_CONTEXT = 16_384
"""The default context length in tokens, with room for five records, instructions and a long answer."""

DEFAULT_MAX_SEQUENCES = 16
"""The default limit of concurrent sequences; more sequences would enlarge CUDA graphs and the sampler's buffers too."""

WEIGHTS = Text("language model weights")
KV_CACHE = Text("KV cache")
SLACK = Text("slack")

# Every plan leaves this much free, because the card's usable memory varies.
_CARD_MARGIN = GIB // 2

# Estimates from vLLM logs of models with vocabularies of 250,000: 1.5 to 2 GiB of activations at 8,192 tokens a batch,
# 0.2 to 0.6 GiB of CUDA graphs, 0.5 to 0.7 GiB of CUDA context and libraries.
_ACTIVATIONS_PER_TOKEN = 2 * GIB // 8192
_MIN_ACTIVATIONS = GIB // 2
_GRAPHS = 6 * GIB // 10
_CONTEXT = 7 * GIB // 10

DEFAULT_SLACK = 3 * GIB // 2
"""The default slack in bytes; vLLM was reported to exceed its limit by 1.37 GiB (vllm-project/vllm#51590)."""


@dataclass(frozen=True, slots=True)
class PlanRequest:
    """The inputs of a plan; sizes in bytes.

    ``max_model_len`` and ``max_num_seqs`` are required values if they are given. Without them, the context is
    :data:`DEFAULT_CONTEXT` or the model's own if that is shorter, and as many sequences as fit run at once, up to
    :data:`DEFAULT_MAX_SEQUENCES` and to ``batch``: vLLM refuses more sequences than tokens in a batch.
    ``prefix_caching`` None means on, except for models with recurrent states.
    """

    card: GpuCard
    budget: int
    model: LanguageModelSize
    retrieval: tuple[MemoryPart, ...] = ()
    max_model_len: int | None = None
    max_num_seqs: int | None = None
    batch: int = 8192
    kv_dtype: KvDtype = "auto"
    prefix_caching: bool | None = None
    eager: bool = False
    slack: int = DEFAULT_SLACK

    @property
    def context(self) -> int:
        """The longest sequence in tokens."""
        if self.max_model_len is not None:
            return self.max_model_len
        return min(DEFAULT_CONTEXT, self.model.longest or DEFAULT_CONTEXT)

    @property
    def caches_prefixes(self) -> bool:
        """Whether vLLM reuses the cache of prompts with a common prefix."""
        return not self.model.has_states if self.prefix_caching is None else self.prefix_caching

    @property
    def limit(self) -> int:
        """The bytes for all of SHRAG: the budget, or less if the card has less."""
        return min(self.budget, self.card.usable - _CARD_MARGIN)


@dataclass(frozen=True, slots=True)
class MemoryPlan:
    """A plan that fits: ``parts``, including slack, sum to at most ``request.limit``."""

    request: PlanRequest
    parts: tuple[MemoryPart, ...]
    kv: KvCache
    kv_pool: int
    max_num_seqs: int
    gpu_memory_utilization: float

    @property
    def in_use(self) -> int:
        """The bytes in use once everything is loaded: all parts except the slack."""
        return sum(part.size for part in self.parts if part.name != SLACK)

    def sequences(self, tokens: int) -> int:
        """Return how many sequences of ``tokens`` tokens the cache holds at once, ignoring ``--max-num-seqs``."""
        return self.kv.sequences(self.kv_pool, tokens)


@dataclass(frozen=True, slots=True)
class Shortfall:
    """The result for a plan that does not fit: ``needed`` bytes are more than ``limit``."""

    needed: int
    limit: int

    @property
    def missing(self) -> int:
        """The bytes above the limit."""
        return self.needed - self.limit


def try_plan(request: PlanRequest) -> MemoryPlan | Shortfall:
    """Plan a request; return the plan or the shortfall; raises :class:`PlanRejected` if no budget would help."""
    _check(request)
    options = KvOptions(request.kv_dtype, batch=request.batch, prefix_caching=request.caches_prefixes)
    kv = KvCache(request.model.layers, options)
    server, rest = _server_parts(request), (*request.retrieval, _slack(request))
    taken = sum(part.size for part in (*server, *rest))
    # Whole MiB, since vLLM's option is in MiB.
    pool = max(request.limit - taken, 0) // MIB * MIB
    fit = kv.sequences(pool, request.context)
    if fit < (request.max_num_seqs or 1):
        wanted = math.ceil(kv.pool_for(request.max_num_seqs or 1, request.context) / MIB) * MIB
        return Shortfall(taken + wanted, request.limit)
    one = Text(
        "{size} for a sequence of {tokens:,} tokens",
        size=gib(kv.sequence_bytes(request.context)),
        tokens=request.context,
    )
    cache = MemoryPart(KV_CACHE, pool, request.model.layers_exact, one)
    allowed = sum(part.size for part in (*server, cache))
    return MemoryPlan(
        request,
        (server[0], cache, *server[1:], *rest),
        kv,
        pool,
        request.max_num_seqs or min(fit, request.batch, DEFAULT_MAX_SEQUENCES),
        math.floor(1000 * allowed / request.card.usable) / 1000,
    )


def _server_parts(request: PlanRequest) -> tuple[MemoryPart, ...]:
    """Return the parts of vLLM except the cache, the weights first."""
    model = request.model
    source = Text("profile {name}, estimated", name=model.name)
    if model.weights_exact:
        source = Text("headers in {path}", path=model.path)
    activations = max(_MIN_ACTIVATIONS, request.batch * _ACTIVATIONS_PER_TOKEN)
    graphs = 0 if request.eager else _GRAPHS
    return (
        MemoryPart(WEIGHTS, model.weights, model.weights_exact, source),
        MemoryPart(Text("activations"), activations, False, Text("{tokens:,} tokens in a batch", tokens=request.batch)),
        MemoryPart(
            Text("CUDA graphs"),
            graphs,
            False,
            Text("none (--enforce-eager)") if request.eager else Text("as seen in logs"),
        ),
        MemoryPart(Text("vLLM's CUDA context"), _CONTEXT, False, Text("context and libraries")),
    )


def _slack(request: PlanRequest) -> MemoryPart:
    return MemoryPart(SLACK, request.slack, False, Text("vLLM was seen to exceed its share (vllm#51590)"))


def _check(request: PlanRequest) -> None:
    for value, name in ((request.context, "--max-model-len"), (request.batch, "--max-num-batched-tokens")):
        if value < 1:
            raise PlanRejected(Text("{name} must be at least 1, got {value}.", name=name, value=value))
    if request.max_num_seqs is not None and not 1 <= request.max_num_seqs <= request.batch:
        raise PlanRejected(
            Text(
                "--max-num-seqs must be from 1 to --max-num-batched-tokens ({batch}), got {max_num_seqs}.",
                batch=request.batch,
                max_num_seqs=request.max_num_seqs,
            )
        )
    if request.model.longest is not None and request.context > request.model.longest:
        raise PlanRejected(
            Text(
                "--max-model-len is {context:,}, {name} has a context of {longest:,} tokens: give a smaller "
                "value, or choose another model.",
                context=request.context,
                name=request.model.name,
                longest=request.model.longest,
            )
        )
    if request.budget < 1 or request.slack < 0:
        raise PlanRejected(
            Text(
                "The budget must be at least 1 byte and the slack at least 0, got {budget} and {slack}.",
                budget=request.budget,
                slack=request.slack,
            )
        )
