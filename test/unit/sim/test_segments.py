"""Reduction and broadcast by segments, whole and in blocks."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from coconet_ir.analysis.dist import Kind, block_bounds
from coconet_ir.sim.collectives import gather, reduce_ranks
from coconet_ir.sim.elements import BF16, F32, F64, same_bits
from coconet_ir.sim.integers import ArithmeticRefused
from coconet_ir.sim.reductions import reduce
from coconet_ir.sim.segments import check_offsets, segment_broadcast, segment_reduce


@settings(max_examples=80, deadline=None)
@given(
    st.lists(st.sampled_from([0, 1, 2, 5, 13]), max_size=7),
    st.tuples(st.sampled_from([0, 3]), st.sampled_from([0, 4])),
    st.sampled_from([1, 2, 3, 7]),
    st.sampled_from([Kind.SUM, Kind.MAX, Kind.MIN, Kind.PROD]),
)
def test_blocks_of_segments(
    lengths: list[int], margins: tuple[int, int], ranks: int, kind: Kind
) -> None:
    before, after = margins  # elements of no segment
    offsets = np.cumsum([before, *lengths])
    size = int(offsets[-1]) + after
    check_offsets(offsets, size)
    rng = np.random.default_rng(size)
    x = rng.standard_normal(size).astype(BF16)
    whole = segment_reduce(x, offsets, kind, 0, F32, F32)
    for segment in range(len(lengths)):
        part = x[offsets[segment] : offsets[segment + 1]]
        assert same_bits(whole[segment], reduce(part, kind, [0], F32, F32))
    bounds = [block_bounds(size, [ranks], [rank]) for rank in range(ranks)]
    parts = [segment_reduce(x[slice(*b)], offsets, kind, b[0], F32, F32) for b in bounds]
    combined = reduce_ranks(parts, kind, F32, F32, F32)
    np.testing.assert_allclose(combined, whole, rtol=1e-5, atol=1e-5)
    values = rng.standard_normal(len(lengths)).astype(F64)
    spread = segment_broadcast(values, offsets, 0, size)
    inner = [v for v, n in zip(values, lengths, strict=True) for _ in range(n)]
    assert spread.tolist() == [0.0] * before + inner + [0.0] * after
    blocks = [segment_broadcast(values, offsets, b[0], b[1] - b[0]) for b in bounds]
    assert same_bits(gather(blocks, 0), spread)


@pytest.mark.parametrize("offsets", [[-1, 5], [0, 3, 2, 5], [0, 6], [6]])
def test_offsets_never_fall(offsets: list[int]) -> None:
    with pytest.raises(
        ArithmeticRefused, match="needs offsets that never fall and lie between 0 and 5"
    ):
        check_offsets(np.array(offsets, np.int64), 5)


def test_there_is_an_offset() -> None:
    with pytest.raises(ArithmeticRefused, match="at least one offset"):
        check_offsets(np.zeros(0, np.int64), 5)
    assert segment_reduce(np.ones(5, F32), np.array([2]), Kind.SUM, 0, F32, F32).shape == (0,)


def test_there_is_a_value_for_each_segment() -> None:
    with pytest.raises(ArithmeticRefused, match="needs 2 values, one a segment, not 3"):
        segment_broadcast(np.ones(3, F32), np.array([0, 2, 4]), 0, 4)
