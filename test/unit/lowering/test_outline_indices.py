"""Formulas of positions: what they simplify to is what they mean."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import product as every
from math import prod

import numpy as np
import pytest

from coconet_ir.lowering.kernels.indices import (
    ONE,
    Axis,
    Index,
    Quotient,
    Remainder,
    Size,
    constant,
    divide,
    flatten,
    merge,
    product,
    unflatten,
)

UNKNOWN = (5, 3, 2)
"""The sizes that are not static, by number."""


def size_of(size: Size) -> int:
    """The value of a size."""
    return sum(value * prod(UNKNOWN[f] for f in factors) for factors, value in size.terms)


def value_of(index: Index, at: Sequence[int]) -> int:
    """The value of an index at a place along the axes."""
    total = size_of(index.offset)
    for atom, factor in index.terms:
        match atom:
            case Axis(number=number):
                value = at[number]
            case Quotient(index=inner, divisor=divisor):
                value = value_of(inner, at) // size_of(divisor)
            case Remainder(index=inner, divisor=divisor):
                value = value_of(inner, at) % size_of(divisor)
            case _:
                raise TypeError(atom)
        total += value * size_of(factor)
    return total


M, N, K = (Size.unknown(number) for number in range(3))
FOUR = Size.of(4)
AXES = [Axis(0, M), Axis(1, N), Axis(2, FOUR)]
PLACE = tuple(Index.of(axis) for axis in AXES)
EXTENTS = [axis.extent for axis in AXES]


@pytest.mark.parametrize(
    "shape",
    [[M, N, FOUR], [M * N, FOUR], [M, N * FOUR], [M * N * FOUR], [N, M, FOUR], [FOUR, N * M]],
)
def test_a_reshape(shape: list[Size]) -> None:
    position = unflatten(flatten(PLACE, EXTENTS), shape)
    sizes = [size_of(size) for size in shape]
    for number, at in enumerate(every(range(5), range(3), range(4))):
        found = [value_of(index, at) for index in position]
        assert found == [int(i) for i in np.unravel_index(number, sizes)]
    assert flatten(position, shape) == flatten(PLACE, EXTENTS)  # whatever stands between


def test_what_a_division_sees() -> None:
    whole = flatten(PLACE, EXTENTS)
    assert divide(whole, N * FOUR) == (PLACE[0], flatten(PLACE[1:], EXTENTS[1:]))
    assert divide(PLACE[2], FOUR) == (Index(), PLACE[2])
    quotient, rest = divide(PLACE[0], K)
    assert quotient == Index.of(Quotient(PLACE[0], K))
    assert quotient * K + rest == PLACE[0]


def test_axes_that_are_one_loop() -> None:
    rows = flatten(PLACE, EXTENTS)
    assert merge(AXES, [rows]) == [tuple(AXES)]
    assert merge(AXES, [rows, PLACE[2]]) == [tuple(AXES[:2]), (AXES[2],)]
    assert merge(AXES, [rows, constant(M)]) == [tuple(AXES)]
    assert merge([Axis(0, M), Axis(1, ONE)], [Index.of(Axis(0, M))]) == [(Axis(0, M),)]
    inside = divide(rows, K)[0]
    assert merge(AXES, [rows, inside]) == [tuple(AXES)]
    assert merge(AXES, [rows, divide(PLACE[0], K)[0]]) == [(AXES[0],), tuple(AXES[1:])]


def test_sizes() -> None:
    assert product([M, N, Size.of(2)]) == Size.of(2) * N * M
    assert (M * N * Size.of(6)).divided(N * Size.of(2)) == M * Size.of(3)
    assert (M + ONE).divided(M) is None
    assert (M + Size.of(-1) + ONE).divided(M) == ONE
    assert (Size.of(3).value, M.value, Size().value) == (3, None, 0)
