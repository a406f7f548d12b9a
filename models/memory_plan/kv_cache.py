"""Compute the KV cache size of sequences by vLLM's arithmetic.

vLLM divides its cache pool into blocks of one size. Layers of one kind form groups of equally many layers. A block
holds some tokens of every layer of one group, and each group has blocks of its own. So, for each group, a sequence of n
tokens takes

- with full attention: ``ceil(n / P)`` blocks, where P is the number of tokens in a block;
- with a sliding window W: ``ceil(min(W - 1 + F, M) / P) + 1`` blocks, where F is the number of tokens that are
  scheduled but not yet computed, and M is the longest sequence;
- with a recurrent state: one block, or two with prefix caching.

If the kinds differ in bytes per token, the smaller ones have more tokens in a block. With recurrent states, P grows
until a block holds a state, and the state is padded to the block. Source: vLLM 0.32.0,
``v1/kv_cache_interface.py`` (``max_memory_usage_bytes`` of each kind), ``v1/core/kv_cache_utils.py``
(``unify_kv_cache_spec_page_size``, ``_get_kv_cache_groups_uniform_page_size``,
``get_max_concurrency_for_kv_cache_config``) and ``platforms/interface.py`` (the block size of models with states), in
its default layout.
"""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Collection, Iterable, Mapping
from dataclasses import dataclass, field
from typing import Literal, NamedTuple

from shrag.messages.text import Text
from shrag.models.errors import UnknownArchitecture
from shrag.models.memory_plan.attention_layers import FullAttention, Layer, LinearAttention, SlidingAttention

KvDtype = Literal["auto", "fp8"]
"""``auto``: the model's own 16 bits; ``fp8``: 8 bits."""

KV_BYTES: Mapping[KvDtype, int] = {"auto": 2, "fp8": 1}

CUDA_BLOCK = 16
"""The default number of tokens in a block on CUDA."""


@dataclass(frozen=True, slots=True)
class KvOptions:
    """Options of the cache.

    ``block`` is the number of tokens in a block, and ``batch`` is vLLM's ``--max-num-batched-tokens``.
    ``batches_in_flight`` is 2 if vLLM schedules the next batch while one runs (its default on CUDA), else 1.
    """

    dtype: KvDtype = "auto"
    block: int = CUDA_BLOCK
    batch: int = 8192
    batches_in_flight: int = 2
    prefix_caching: bool = False


class _Group(NamedTuple):
    """Layers of one kind, in ``groups`` groups; ``tokens`` is the number of tokens in a block, 0 for a state."""

    layer: Layer
    groups: int
    tokens: int


@dataclass(frozen=True, slots=True)
class KvCache:
    """The KV cache of a model's layers with given options."""

    layers: tuple[Layer, ...]
    options: KvOptions = field(default_factory=KvOptions)

    @property
    def bytes_per_token(self) -> int:
        """The bytes that each further token of a sequence takes in the layers with full attention."""
        width = KV_BYTES[self.options.dtype]
        return sum(layer.values * width for layer in self.layers if isinstance(layer, FullAttention))

    def fixed_bytes(self, longest: int) -> int:
        """Return the bytes of a sequence's full windows and states without padding; ``longest`` limits a window."""
        options = self.options
        width, states = KV_BYTES[options.dtype], 1 + options.prefix_caching
        return sum(
            _window_blocks(layer.window, options, longest, options.block) * options.block * layer.values * width
            if isinstance(layer, SlidingAttention)
            else layer.state_bytes * states
            for layer in self.layers
            if not isinstance(layer, FullAttention)
        )

    @property
    def block_bytes(self) -> int:
        """The bytes of one block of the pool, which has a page for each layer of the largest group."""
        return self._layout()[0]

    def blocks(self, tokens: int) -> int:
        """Return the most blocks that a sequence of ``tokens`` tokens takes."""
        total = 0
        for layer, groups, in_block in self._layout()[1]:
            if isinstance(layer, FullAttention):
                blocks = math.ceil(tokens / in_block)
            elif isinstance(layer, SlidingAttention):
                blocks = _window_blocks(layer.window, self.options, tokens, in_block)
            else:
                blocks = 1 + self.options.prefix_caching
            total += groups * blocks
        return total

    def sequence_bytes(self, tokens: int) -> int:
        """Return the bytes of the pool that one sequence of ``tokens`` tokens takes, including padding."""
        return self.blocks(tokens) * self.block_bytes

    def concurrency(self, pool: int, longest: int) -> float:
        """Return how many sequences of ``longest`` tokens fit in a pool of ``pool`` bytes, as vLLM prints it."""
        return (pool // self.block_bytes) / self.blocks(longest)

    def size_in_tokens(self, pool: int, longest: int) -> int:
        """Return vLLM's "KV cache size" in tokens, which is the concurrency times the longest sequence."""
        return int(self.concurrency(pool, longest) * longest)

    def sequences(self, pool: int, tokens: int) -> int:
        """Return how many sequences of ``tokens`` tokens fit at once; vLLM reserves one block of the pool."""
        return max(pool // self.block_bytes - 1, 0) // self.blocks(tokens)

    def pool_for(self, sequences: int, tokens: int) -> int:
        """Return the bytes of the smallest pool for ``sequences`` sequences of ``tokens`` tokens at once."""
        return (sequences * self.blocks(tokens) + 1) * self.block_bytes

    def _layout(self) -> tuple[int, list[_Group]]:
        """Return the bytes of a block and the groups of layers."""
        counts = Counter(self.layers)
        width = KV_BYTES[self.options.dtype]
        per_token: dict[Layer, int] = {
            layer: layer.values * width for layer in counts if not isinstance(layer, LinearAttention)
        }
        tokens = _tokens_per_block(counts, per_token, self.options.block)
        if len({(type(layer), getattr(layer, "window", None)) for layer in counts}) == 1:
            # All layers store the same tokens, so they form one group, even if their widths differ.
            return sum(size * tokens * counts[layer] for layer, size in per_token.items()), [
                _Group(next(iter(counts)), 1, tokens)
            ]
        page = max(per_token.values()) * tokens
        size = _layers_in_a_group(counts.values())
        groups = {layer: math.ceil(count / size) for layer, count in counts.items()}
        cut = []
        for layer in counts:
            own = per_token.get(layer, 0) * tokens
            # A page that does not divide the largest page is padded to it and holds no more tokens.
            in_block = tokens * (page // own) if own and page % own == 0 else tokens
            cut.append(_Group(layer, groups[layer], in_block if own else 0))
        return page * max(math.ceil(count / groups[layer]) for layer, count in counts.items()), cut


def _layers_in_a_group(counts: Collection[int]) -> int:
    """Return vLLM's choice: the count of the rarest kind, or of the commonest if it is below 1.5 times as much."""
    fewest, most = min(counts), max(counts)
    return most if most < 1.5 * fewest else fewest


def _window_blocks(window: int, options: KvOptions, longest: int, block: int) -> int:
    held = min(window - 1 + options.batches_in_flight * options.batch, longest)
    # One more block, since a window may begin inside a block.
    return math.ceil(held / block) + 1


def _tokens_per_block(counts: Iterable[Layer], per_token: Mapping[Layer, int], block: int) -> int:
    """Return the number of tokens in a block, which makes a page of the widest attention layer hold any state."""
    if not per_token:
        raise UnknownArchitecture(
            Text(
                "The model has recurrent layers but no attention layers, which is not supported: give the bytes "
                "that its cache takes for one token with --kv-bytes-per-token."
            )
        )
    state = max((layer.state_bytes for layer in counts if isinstance(layer, LinearAttention)), default=0)
    return block * max(1, math.ceil(state / (block * max(per_token.values()))))
