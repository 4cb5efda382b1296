"""Every pointwise operation of `arith` and `math` as a function of NumPy arrays.

A 16-bit float is computed in f32 and rounded after each operation; f32 and f64 are computed as they
are. No element's result depends on where it lies, so that slicing, then computing, equals computing,
then slicing, bit for bit. Nothing warns.
"""

from __future__ import annotations

import operator
from collections.abc import Callable, Mapping, Sequence

import numpy as np

from coconet_ir.sim import floats, integers
from coconet_ir.sim.elements import F64, I1, Array, DType, compute_type, float_limits, round_to

Pointwise = Callable[[Sequence[Array], DType], Array]
"""From operands and the element type of the result to the result."""


def pointwise(name: str, operands: Sequence[Array], result: DType) -> Array:
    """The result of the operation `name` (`arith.addf`, `arith.cmpf.olt`), of element type `result`.

    Operands have equal shapes or are 0-d. Raises `ArithmeticRefused` where the IR defines no result,
    and `KeyError` when there is no such operation.
    """
    function = POINTWISE[name]
    with np.errstate(all="ignore"):
        return np.asarray(function(operands, result))


def _float(function: floats.Function) -> Pointwise:
    def call(operands: Sequence[Array], result: DType) -> Array:
        return round_to(np.asarray(function(*_widen(operands))), result)

    return call


def _widen(operands: Sequence[Array]) -> list[Array]:
    return [round_to(x, compute_type(x.dtype)) for x in operands]


def _predicate(function: floats.Function) -> Pointwise:
    return lambda operands, result: function(*_widen(operands))


def _signed(function: integers.Function) -> Pointwise:
    call = integers.signed_operation(function)
    return lambda operands, result: call(*operands)


def _unsigned(function: integers.Function) -> Pointwise:
    call = integers.unsigned_operation(function)
    return lambda operands, result: call(*operands)


def _count_zeros(function: integers.Function) -> Pointwise:
    call = integers.unsigned_operation(function)
    return lambda operands, result: ~operands[0] if result == I1 else call(*operands)


def _compare_signed(function: integers.Function) -> Pointwise:
    return lambda operands, result: function(*(integers.as_signed(x) for x in operands))


def _compare_unsigned(function: integers.Function) -> Pointwise:
    return lambda operands, result: function(*(integers.as_unsigned(x) for x in operands))


def _unordered(a: Array, b: Array) -> Array:
    return np.isnan(a) | np.isnan(b)


def _ordered(a: Array, b: Array) -> Array:
    return ~_unordered(a, b)


def _never(a: Array, b: Array) -> Array:
    return np.zeros(np.broadcast_shapes(a.shape, b.shape), np.bool_)


def _always(a: Array, b: Array) -> Array:
    return np.ones(np.broadcast_shapes(a.shape, b.shape), np.bool_)


def _if_ordered(function: floats.Function) -> Pointwise:
    return _predicate(lambda *pair: function(*pair) & _ordered(*pair))


def _or_unordered(function: floats.Function) -> Pointwise:
    return _predicate(lambda *pair: function(*pair) | _unordered(*pair))


def _fma(operands: Sequence[Array], result: DType) -> Array:
    if operands[0].dtype == F64:
        return floats.fma(*operands)
    return round_to(floats.fma_odd(*_widen(operands)), result)


def _fpowi(operands: Sequence[Array], result: DType) -> Array:
    base, exponent = operands
    wide = np.asarray(round_to(base, F64))
    return round_to(floats.BINARY["powf"](wide, exponent.astype(F64)), result)


def _is_normal(operands: Sequence[Array], result: DType) -> Array:
    (x,) = operands
    wide = round_to(x, F64)
    return np.isfinite(wide) & (np.abs(wide) >= float(float_limits(x.dtype).smallest_normal))


def _select(operands: Sequence[Array], result: DType) -> Array:
    condition, yes, no = operands
    return np.where(condition, yes, no)


def _bitcast(operands: Sequence[Array], result: DType) -> Array:
    return np.array(operands[0], order="C").view(result)


def _to_int(operands: Sequence[Array], result: DType) -> Array:
    return integers.from_float(round_to(operands[0], F64), result, unsigned_result=False)


def _to_unsigned(operands: Sequence[Array], result: DType) -> Array:
    return integers.from_float(round_to(operands[0], F64), result, unsigned_result=True)


def _signed_to_float(operands: Sequence[Array], result: DType) -> Array:
    return integers.to_float(integers.as_signed(operands[0]), result)


def _unsigned_to_float(operands: Sequence[Array], result: DType) -> Array:
    return integers.to_float(integers.as_unsigned(operands[0]), result)


def _sign_extend(operands: Sequence[Array], result: DType) -> Array:
    return integers.as_signed(operands[0]).astype(result)


def _zero_extend(operands: Sequence[Array], result: DType) -> Array:
    return integers.as_unsigned(operands[0]).astype(result)


def _truncate(operands: Sequence[Array], result: DType) -> Array:
    (x,) = operands
    return integers.to_bit(x) if result == np.bool_ else x.astype(result)


def _index_cast(operands: Sequence[Array], result: DType) -> Array:
    wider = result.itemsize > operands[0].dtype.itemsize or operands[0].dtype == np.bool_
    return (_sign_extend if wider else _truncate)(operands, result)


def _index_cast_unsigned(operands: Sequence[Array], result: DType) -> Array:
    wider = result.itemsize > operands[0].dtype.itemsize or operands[0].dtype == np.bool_
    return (_zero_extend if wider else _truncate)(operands, result)


def _cast_float(operands: Sequence[Array], result: DType) -> Array:
    return round_to(operands[0], result)


_FLOAT_PREDICATES: dict[str, Pointwise] = {
    "false": _predicate(_never),
    "ord": _predicate(_ordered),
    "uno": _predicate(_unordered),
    "true": _predicate(_always),
}
for _name, _compare in (
    ("eq", operator.eq),
    ("gt", operator.gt),
    ("ge", operator.ge),
    ("lt", operator.lt),
    ("le", operator.le),
    ("ne", operator.ne),
):
    _FLOAT_PREDICATES[f"o{_name}"] = _if_ordered(_compare)
    _FLOAT_PREDICATES[f"u{_name}"] = _or_unordered(_compare)

_INTEGER_PREDICATES: dict[str, Pointwise] = {
    "eq": _compare_signed(operator.eq),
    "ne": _compare_signed(operator.ne),
    "slt": _compare_signed(operator.lt),
    "sle": _compare_signed(operator.le),
    "sgt": _compare_signed(operator.gt),
    "sge": _compare_signed(operator.ge),
    "ult": _compare_unsigned(operator.lt),
    "ule": _compare_unsigned(operator.le),
    "ugt": _compare_unsigned(operator.gt),
    "uge": _compare_unsigned(operator.ge),
}

POINTWISE: Mapping[str, Pointwise] = {
    "arith.addf": _float(np.add),
    "arith.subf": _float(np.subtract),
    "arith.mulf": _float(np.multiply),
    "arith.divf": _float(np.divide),
    "arith.remf": _float(np.fmod),
    "arith.negf": _float(np.negative),
    "arith.maximumf": _float(floats.maximum),
    "arith.minimumf": _float(floats.minimum),
    "arith.maxnumf": _float(floats.maxnum),
    "arith.minnumf": _float(floats.minnum),
    "arith.addi": _signed(np.add),
    "arith.subi": _signed(np.subtract),
    "arith.muli": _signed(np.multiply),
    "arith.divsi": _signed(integers.divide),
    "arith.divui": _unsigned(integers.floor_divide),
    "arith.floordivsi": _signed(integers.floor_divide),
    "arith.ceildivsi": _signed(integers.ceil_divide),
    "arith.ceildivui": _unsigned(integers.ceil_divide),
    "arith.remsi": _signed(integers.remainder),
    "arith.remui": _unsigned(integers.remainder),
    "arith.andi": _signed(np.bitwise_and),
    "arith.ori": _signed(np.bitwise_or),
    "arith.xori": _signed(np.bitwise_xor),
    "arith.shli": _signed(integers.shift_left),
    "arith.shrsi": _signed(integers.shift_right),
    "arith.shrui": _unsigned(integers.shift_right),
    "arith.maxsi": _signed(np.maximum),
    "arith.minsi": _signed(np.minimum),
    "arith.maxui": _unsigned(np.maximum),
    "arith.minui": _unsigned(np.minimum),
    "arith.select": _select,
    "arith.bitcast": _bitcast,
    "arith.extf": _cast_float,
    "arith.truncf": _cast_float,
    "arith.fptosi": _to_int,
    "arith.fptoui": _to_unsigned,
    "arith.sitofp": _signed_to_float,
    "arith.uitofp": _unsigned_to_float,
    "arith.extsi": _sign_extend,
    "arith.extui": _zero_extend,
    "arith.trunci": _truncate,
    "arith.index_cast": _index_cast,
    "arith.index_castui": _index_cast_unsigned,
    **{f"arith.cmpf.{name}": f for name, f in _FLOAT_PREDICATES.items()},
    **{f"arith.cmpi.{name}": f for name, f in _INTEGER_PREDICATES.items()},
    **{f"math.{name}": _float(f) for name, f in floats.UNARY.items()},
    **{f"math.{name}": _float(f) for name, f in floats.BINARY.items()},
    "math.fma": _fma,
    "math.fpowi": _fpowi,
    "math.ipowi": _signed(integers.power),
    "math.absi": _signed(np.abs),
    "math.ctlz": _count_zeros(integers.leading_zeros),
    "math.cttz": _count_zeros(integers.trailing_zeros),
    "math.ctpop": _unsigned(integers.population),
    "math.isnan": _predicate(np.isnan),
    "math.isinf": _predicate(np.isinf),
    "math.isfinite": _predicate(np.isfinite),
    "math.isnormal": _is_normal,
}
"""The function of each pointwise operation; compares carry their predicate: `arith.cmpi.slt`."""
