from __future__ import annotations

import math

import pytest
from hypothesis import given
from hypothesis import strategies as st

from shrag.models.errors import UnknownArchitecture
from shrag.models.memory_plan.attention_layers import FullAttention, Layer, LinearAttention, SlidingAttention
from shrag.models.memory_plan.byte_sizes import GIB, MIB
from shrag.models.memory_plan.kv_cache import KvCache, KvOptions

# Written out, so that a change of the module's own is noticed.
CPU_BLOCK = 128

# Layers as kv heads × head width, keys and values.
TINY_QWEN3 = (FullAttention(2 * 2 * 64),) * 4
TINY_EXAONE4 = (*(SlidingAttention(2 * 2 * 64, 256),) * 3, FullAttention(2 * 2 * 64)) * 2
STATE_48 = LinearAttention(48 * 128 * 128 * 4 + (2 * 16 * 128 + 48 * 128) * 3 * 2)
STATE_32 = LinearAttention(32 * 128 * 128 * 4 + (2 * 16 * 128 + 32 * 128) * 3 * 2)
QWEN38_27B = (*(STATE_48,) * 3, FullAttention(2 * 4 * 256)) * 16
QWEN36_35B = (*(STATE_32,) * 3, FullAttention(2 * 2 * 256)) * 10
QWEN35_4B = (*(STATE_32,) * 3, FullAttention(2 * 4 * 256)) * 8
QWEN3_30B = (FullAttention(2 * 4 * 128),) * 48
GEMMA4_31B = (*(SlidingAttention(2 * 16 * 256, 1024),) * 5, FullAttention(2 * 4 * 512)) * 10
EXAONE4_32B = (*(SlidingAttention(2 * 8 * 128, 4096),) * 3, FullAttention(2 * 8 * 128)) * 16
KANANA2_30B = (FullAttention(512 + 64),) * 48
ONE_BATCH = KvOptions(batch=2048, batches_in_flight=1)


def test_a_tiny_qwen3_has_the_capacity_that_vllm_printed() -> None:
    cache = KvCache(TINY_QWEN3, KvOptions(block=CPU_BLOCK))
    assert cache.bytes_per_token == 2_048
    assert cache.size_in_tokens(GIB, 8_192) == 524_288
    assert cache.size_in_tokens(64 * MIB, 8_192) == 32_768
    assert cache.concurrency(64 * MIB, 8_192) == 4.0


def test_a_tiny_exaone4_with_windows_has_the_concurrency_that_vllm_printed() -> None:
    cache = KvCache(TINY_EXAONE4, KvOptions(block=CPU_BLOCK, batch=2048, batches_in_flight=1))
    assert cache.concurrency(64 * MIB, 8_192) == pytest.approx(4.2314, abs=5e-5)
    assert cache.size_in_tokens(64 * MIB, 8_192) == 34_663


@pytest.mark.parametrize(
    ("layers", "per_token", "fixed", "sequence"),
    [
        # KiB a token, MiB a sequence, GiB for 16,384 tokens. The last is what blocks take, padding and all.
        (QWEN38_27B, 64, 146.8125, 1.1484375),
        (QWEN36_35B, 20, 61.40625, 0.3826904296875),
        (QWEN35_4B, 32, 49.125, 0.56396484375),
        (QWEN3_30B, 96, 0, 1.5),
        (GEMMA4_31B, 80, 2412.5, 3.60595703125),
        (EXAONE4_32B, 64, 1155, 2.1279296875),
        (KANANA2_30B, 54, 0, 0.84375),
        ((FullAttention(2 * 8 * 128),) * 36, 144, 0, 2.25),
        ((FullAttention(2 * 8 * 128),) * 28, 112, 0, 1.75),
    ],
)
def test_cache_sizes_of_known_models_follow_their_shapes(
    layers: tuple[Layer, ...], per_token: float, fixed: float, sequence: float
) -> None:
    cache = KvCache(layers, ONE_BATCH)
    assert cache.bytes_per_token == per_token * 1024
    assert cache.fixed_bytes(16_384) == fixed * MIB
    assert cache.sequence_bytes(16_384) == sequence * GIB


def test_a_block_of_a_model_with_states_grows_until_it_holds_one() -> None:
    # 3,207,168 bytes of state and 4,096 bytes a token: 784 tokens, the next multiple of 16 above 783.
    cache = KvCache(QWEN38_27B, ONE_BATCH)
    assert cache.block_bytes == 16 * 784 * 4_096
    assert [cache.blocks(tokens) for tokens in (1, 784, 785, 16_384)] == [4, 4, 5, 24]


def test_prefix_caching_doubles_states_and_nothing_else() -> None:
    on, off = (KvOptions(batch=2048, prefix_caching=switch) for switch in (True, False))
    assert KvCache(QWEN38_27B, on).fixed_bytes(16_384) == 2 * KvCache(QWEN38_27B, off).fixed_bytes(16_384)
    assert KvCache(QWEN38_27B, on).blocks(16_384) == KvCache(QWEN38_27B, off).blocks(16_384) + 3
    assert KvCache(EXAONE4_32B, on).sequence_bytes(16_384) == KvCache(EXAONE4_32B, off).sequence_bytes(16_384)


def test_eight_bits_halve_attention_and_leave_states_as_they_are() -> None:
    half = KvOptions("fp8", batch=2048)
    for layers in (QWEN3_30B, EXAONE4_32B, KANANA2_30B):
        assert 2 * KvCache(layers, half).sequence_bytes(16_384) == KvCache(
            layers, KvOptions(batch=2048)
        ).sequence_bytes(16_384)
    cache = KvCache(QWEN38_27B, half)
    assert (cache.bytes_per_token, cache.fixed_bytes(16_384)) == (32 * 1024, 48 * STATE_48.state_bytes)


def test_two_batches_in_flight_widen_a_window_by_one_batch() -> None:
    one, two = (KvCache(EXAONE4_32B, KvOptions(batch=2048, batches_in_flight=n)) for n in (1, 2))
    assert two.fixed_bytes(16_384) - one.fixed_bytes(16_384) == 48 * 2048 * 2 * 8 * 128 * 2


def test_a_window_never_holds_more_than_the_longest_sequence() -> None:
    cache = KvCache((SlidingAttention(256, 4096),), KvOptions(batch=8192))
    assert cache.fixed_bytes(1_000) == (math.ceil(1_000 / 16) + 1) * 16 * 512
    assert cache.blocks(1_000) == 64


def test_one_window_for_all_layers_needs_one_table_whatever_their_widths() -> None:
    cache = KvCache((SlidingAttention(256, 64), SlidingAttention(512, 64)), KvOptions(batch=64, batches_in_flight=1))
    assert (cache.block_bytes, cache.blocks(10_000)) == (16 * 768 * 2, 9)


def test_full_attention_of_two_widths_shares_one_table() -> None:
    cache = KvCache((FullAttention(256), FullAttention(512), FullAttention(512)))
    assert (cache.block_bytes, cache.blocks(33)) == (16 * 1280 * 2, 3)


def test_smaller_pages_hold_more_tokens_where_they_divide_and_are_padded_where_not() -> None:
    options = KvOptions(batch=16, batches_in_flight=1)
    divides = KvCache((FullAttention(256), SlidingAttention(512, 17)), options)
    assert (divides.block_bytes, divides.blocks(64)) == (16 * 512 * 2, 2 + 3)
    padded = KvCache((FullAttention(384), SlidingAttention(512, 17)), options)
    assert (padded.block_bytes, padded.blocks(64)) == (16 * 512 * 2, 4 + 3)


def test_nearly_equal_kinds_are_padded_to_the_commoner_and_others_cut_to_the_rarer() -> None:
    options = KvOptions(batch=16, batches_in_flight=1)
    full, window = FullAttention(256), SlidingAttention(256, 17)
    nearly = KvCache((*(full,) * 13, *(window,) * 12), options)
    assert (nearly.block_bytes, nearly.blocks(64)) == (13 * 16 * 512, 4 + 3)
    padded = KvCache((*(full,) * 2, *(window,) * 5), options)
    assert (padded.block_bytes, padded.blocks(64)) == (2 * 16 * 512, 4 + 3 * 3)


def test_a_pool_holds_whole_sequences_and_reserves_one_block() -> None:
    cache = KvCache(TINY_QWEN3)
    pool = cache.pool_for(3, 100)
    assert pool == (3 * 7 + 1) * 16 * 2_048
    assert [cache.sequences(size, 100) for size in (pool, pool - 1, 0)] == [3, 2, 0]


def test_states_without_attention_are_rejected() -> None:
    with pytest.raises(UnknownArchitecture, match="--kv-bytes-per-token"):
        KvCache((LinearAttention(64),)).blocks(1)


_LAYERS = st.lists(
    st.one_of(
        st.builds(FullAttention, st.integers(1, 64)),
        st.builds(SlidingAttention, st.integers(1, 64), st.integers(1, 500)),
        st.builds(LinearAttention, st.integers(1, 10_000)),
    ),
    min_size=1,
    max_size=12,
).filter(lambda layers: not all(isinstance(layer, LinearAttention) for layer in layers))


@given(
    layers=_LAYERS, tokens=st.integers(1, 5_000), more=st.integers(0, 5_000), eight=st.booleans(), prefix=st.booleans()
)
def test_a_sequence_takes_at_least_its_values_and_never_less_for_more_tokens(
    layers: list[Layer], tokens: int, more: int, eight: bool, prefix: bool
) -> None:
    options = KvOptions("fp8" if eight else "auto", batch=64, prefix_caching=prefix)
    cache = KvCache(tuple(layers), options)
    windows = sum(isinstance(layer, SlidingAttention) for layer in layers)
    least = cache.bytes_per_token * tokens + (0 if windows else cache.fixed_bytes(tokens))
    assert least <= cache.sequence_bytes(tokens) <= cache.sequence_bytes(tokens + more)


@given(layers=_LAYERS, sequences=st.integers(1, 40), tokens=st.integers(1, 3_000))
def test_the_smallest_pool_for_so_many_sequences_holds_them_and_one_byte_less_does_not(
    layers: list[Layer], sequences: int, tokens: int
) -> None:
    cache = KvCache(tuple(layers), KvOptions(batch=64))
    pool = cache.pool_for(sequences, tokens)
    assert cache.sequences(pool, tokens) == sequences
    assert cache.sequences(pool - 1, tokens) == sequences - 1
    assert cache.concurrency(pool, tokens) >= sequences


@pytest.mark.parametrize(("sliding", "pages"), [(5, 5), (6, 4), (8, 4)])
def test_groups_are_as_large_as_the_commonest_kind_only_below_one_and_a_half_times_the_rarest(
    sliding: int, pages: int
) -> None:
    # Four layers with full attention; a page has 16 tokens of 128 numbers of two bytes.
    layers = (FullAttention(128),) * 4 + (SlidingAttention(128, 1024),) * sliding
    assert KvCache(layers).block_bytes == pages * 16 * 128 * 2
