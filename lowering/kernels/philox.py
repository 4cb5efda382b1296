"""Philox4x32-10 as operations: what a dropout keeps (`coconet_ir.sim.philox` is the reference)."""

from __future__ import annotations

import math

from xdsl.dialects.arith import AddiOp, MulUIExtendedOp, ShRUIOp, XOrIOp
from xdsl.dialects.builtin import FloatAttr, IntegerAttr, f32, i32, i64
from xdsl.ir import SSAValue

from coconet_ir.dialects.arith import IndexCastOp, TruncIOp
from coconet_ir.dialects.blocks import DropoutBlockOp
from coconet_ir.lowering.kernels.code import Code, Values
from coconet_ir.lowering.kernels.indices import Size

LANES = 4
"""Words that one call gives, for elements one behind the other."""

_MULTIPLIERS = (0xD2511F53, 0xCD9E8D57)
_WEYL = (0x9E3779B9, 0xBB67AE85)
_ROUNDS = 10


def words(
    code: Code,
    op: DropoutBlockOp,
    position: SSAValue,
    width: int | None,
    seed: SSAValue,
    coordinate: SSAValue,
) -> list[SSAValue]:
    """The words, i32, of the `width` elements from a position on, which the width divides; of one if it is None.

    One call serves four elements, where so many are asked for.
    """
    counter = Size.of(LANES)
    group, lane = code.quotient(position, counter), code.remainder(position, counter)
    keys = _keys(code, seed)
    low = code.put(TruncIOp(code.put(IndexCastOp(coordinate, i64)), i32))
    stream = word(code, op.id.value.data)
    found: list[SSAValue] = []
    for number in range(max(1, (width or 1) // LANES)):
        which = code.add(group, code.number(number)) if number else group
        found += _call(code, [*_halves(code, code.put(IndexCastOp(which, i64))), stream, low], keys)
    if width is None or width < LANES:
        count = width or 1
        return [_pick(code, lane, found[first::count]) for first in range(count)]
    return found


def threshold(op: DropoutBlockOp) -> int:
    """The least word that keeps an element."""
    return math.floor(_rate(op) * 2.0**32)


def scale(op: DropoutBlockOp) -> float:
    """What the elements kept are multiplied by, a number of f32."""
    return _rounded(1.0 / (1.0 - _rate(op)))


def _rate(op: DropoutBlockOp) -> float:
    return _rounded(op.p.value.data)


def _rounded(number: float) -> float:
    """The nearest f32."""
    return FloatAttr(number, f32).value.data


def word(code: Code, number: int) -> SSAValue:
    """A 32-bit constant."""
    return code.constant(IntegerAttr(number - (number >> 31 << 32), i32))


def _pick(code: Code, lane: SSAValue, words: Values) -> SSAValue:
    """The word of a lane, of words at equal distances among those of a call."""
    step = LANES // len(words)
    found = words[0]
    for number, word in enumerate(words[1:], 1):
        before = code.less(lane, code.number(number * step))
        found = code.choose(before, found, word)
    return found


def _keys(code: Code, seed: SSAValue) -> list[tuple[SSAValue, SSAValue]]:
    """The keys of the rounds."""
    first, second = _halves(code, seed)
    keys = [(first, second)]
    for _ in range(_ROUNDS - 1):
        first = code.binary(AddiOp, first, word(code, _WEYL[0]))
        second = code.binary(AddiOp, second, word(code, _WEYL[1]))
        keys.append((first, second))
    return keys


def _call(code: Code, counter: Values, keys: list[tuple[SSAValue, SSAValue]]) -> list[SSAValue]:
    """The four words of a counter."""
    c0, c1, c2, c3 = counter
    for first, second in keys:
        low0, high0 = _product(code, c0, _MULTIPLIERS[0])
        low1, high1 = _product(code, c2, _MULTIPLIERS[1])
        c0 = code.binary(XOrIOp, code.binary(XOrIOp, high1, c1), first)
        c2 = code.binary(XOrIOp, code.binary(XOrIOp, high0, c3), second)
        c1, c3 = low1, low0
    return [c0, c1, c2, c3]


def _halves(code: Code, value: SSAValue) -> tuple[SSAValue, SSAValue]:
    """The low and the high word of an i64."""
    high = code.put(ShRUIOp(value, code.constant(IntegerAttr(32, i64))))
    return code.put(TruncIOp(value, i32)), code.put(TruncIOp(high, i32))


def _product(code: Code, a: SSAValue, b: int) -> tuple[SSAValue, SSAValue]:
    """The low and the high word of a product."""
    product = MulUIExtendedOp(a, word(code, b))
    code.do(product)
    return product.results[0], product.results[1]
