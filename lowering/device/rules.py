"""What an operation of `arith` or `math` becomes, found by its name."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import cast

from xdsl.dialects.builtin import (
    AnyFloat,
    DenseIntOrFPElementsAttr,
    FloatAttr,
    IntegerAttr,
    IntegerType,
    f32,
    f64,
)
from xdsl.ir import Attribute, Operation

from coconet_ir.dialects import llvm_arith
from coconet_ir.dialects.arith import CmpfOp, CmpiOp
from coconet_ir.dialects.elementwise import element
from coconet_ir.dialects.elementwise import width as bits
from coconet_ir.dialects.llvm_types import number_of
from coconet_ir.lowering.device.arithmetic import (
    EXACT,
    INTEGERS,
    WIDENED,
    Formula,
    product,
    sum_and_carry,
)
from coconet_ir.lowering.device.conversions import (
    convert,
    from_float,
    resized,
    small,
    to_float,
)
from coconet_ir.lowering.device.mathematics import DOUBLE, POWER, SINGLE
from coconet_ir.lowering.device.number import Code, Number
from coconet_ir.lowering.device.types import NotLowered, is_small, register_type

Numbers = Sequence[Number]
Rule = Callable[[Operation, Numbers], Numbers]


def lower(code: Code, op: Operation, operands: Numbers) -> Numbers:
    """Write what an operation of `arith` or `math` becomes; its results. Raises `NotLowered`."""
    if op.name == "arith.constant":
        return [_constant(code, op)]
    if (rule := RULES.get(op.name)) is not None:
        return rule(op, operands)
    if (formula := INTEGERS.get(op.name)) is not None:
        return [formula(*operands)]
    return [_float(op, operands)]


def _constant(code: Code, op: Operation) -> Number:
    value, type = op.properties["value"], op.results[0].type
    if isinstance(value, DenseIntOrFPElementsAttr):
        if not value.is_splat():
            raise NotLowered("holds several numbers, and kernels have constants of one")
        value = next(iter(value.get_attrs()))
    number = cast("FloatAttr | IntegerAttr", value).value.data
    if is_small(type):
        number = int.from_bytes(cast(AnyFloat, element(type)).pack((number,)), signed=True)
    return code.number(number, register_type(type))


# Floats


def _float(op: Operation, operands: Numbers) -> Number:
    """A function of floats of one type, computed in the type that it is for and rounded to the result's."""
    formula = FLOATS[op.name]
    source = element(op.operands[0].type)
    if op.name in EXACT and not is_small(source):
        return formula(*operands)
    if source == f64:
        return DOUBLE.get(op.name, formula)(*operands)
    # A product of floats of 8 bits and what is added to it are exact in f64, unless the sum is infinite in 8 bits.
    to = f64 if op.name == "math.fma" else f32
    wide = [convert(x, source, to) for x in operands]
    return convert(formula(*wide), to, source)


def _compare_floats(op: Operation, operands: Numbers) -> Numbers:
    assert isinstance(op, CmpfOp)
    source = element(op.lhs.type)
    x, y = (convert(n, source, f32) if is_small(source) else n for n in operands)
    predicate = llvm_arith.FLOAT_PREDICATES[number_of(op.predicate)]
    return [x.put(llvm_arith.FCmpOp(predicate, x.value, y.value))]


def _compare_integers(op: Operation, operands: Numbers) -> Numbers:
    assert isinstance(op, CmpiOp)
    x, y = operands
    predicate = llvm_arith.INTEGER_PREDICATES[number_of(op.predicate)]
    return [x.put(llvm_arith.ICmpOp(predicate, x.value, y.value))]


def _integer_power(op: Operation, operands: Numbers) -> Numbers:
    source = element(op.operands[0].type)
    base, exponent = operands
    power = DOUBLE["math.powf"] if source == f64 else POWER
    powered = power(convert(base, source, f64), to_float(exponent, f64, signed=True))
    return [convert(powered, f64, source)]


def _test(formula: Callable[[Number, Attribute], Number]) -> Rule:
    """A rule that says what a float is."""

    def rule(op: Operation, operands: Numbers) -> Numbers:
        source = element(op.operands[0].type)
        (x,) = operands
        return [formula(convert(x, source, f32) if is_small(source) else x, source)]

    return rule


def _is_normal(x: Number, source: Attribute) -> Number:
    if (kind := small(source)) is not None:
        least = 2.0**kind.least_exponent
    else:
        exponent_bits = {16: 5, 32: 8, 64: 11}[bits(source)] if str(source) != "bf16" else 8
        least = 2.0 ** (2 - (1 << (exponent_bits - 1)))
    size = x.magnitude()
    return (size >= least) & (size < float("inf"))


# Other types than those of the operands


def _cast_float(op: Operation, operands: Numbers) -> Numbers:
    return [convert(operands[0], element(op.operands[0].type), element(op.results[0].type))]


def _from_float(*, signed: bool) -> Rule:
    def rule(op: Operation, operands: Numbers) -> Numbers:
        to = cast(IntegerType, element(op.results[0].type))
        return [from_float(operands[0], element(op.operands[0].type), to, signed=signed)]

    return rule


def _to_float(*, signed: bool) -> Rule:
    def rule(op: Operation, operands: Numbers) -> Numbers:
        to = cast(AnyFloat, element(op.results[0].type))
        return [to_float(operands[0], to, signed=signed)]

    return rule


def _resized(*, signed: bool) -> Rule:
    def rule(op: Operation, operands: Numbers) -> Numbers:
        to = cast(IntegerType, element(register_type(op.results[0].type)))
        return [resized(operands[0], to, signed=signed)]

    return rule


def _bitcast(op: Operation, operands: Numbers) -> Numbers:
    return [operands[0].as_float(element(register_type(op.results[0].type)))]


def _select(op: Operation, operands: Numbers) -> Numbers:
    condition, yes, no = operands
    return [condition.choose(yes, no)]


RULES: Mapping[str, Rule] = {
    "arith.addui_extended": lambda op, operands: sum_and_carry(*operands),
    "arith.bitcast": _bitcast,
    "arith.cmpf": _compare_floats,
    "arith.cmpi": _compare_integers,
    "arith.extf": _cast_float,
    "arith.extsi": _resized(signed=True),
    "arith.extui": _resized(signed=False),
    "arith.fptosi": _from_float(signed=True),
    "arith.fptoui": _from_float(signed=False),
    "arith.index_cast": _resized(signed=True),
    "arith.index_castui": _resized(signed=False),
    "arith.mulsi_extended": lambda op, operands: product(*operands, signed=True),
    "arith.mului_extended": lambda op, operands: product(*operands, signed=False),
    "arith.select": _select,
    "arith.sitofp": _to_float(signed=True),
    "arith.truncf": _cast_float,
    "arith.trunci": _resized(signed=True),
    "arith.uitofp": _to_float(signed=False),
    "math.fpowi": _integer_power,
    "math.isfinite": _test(lambda x, source: x.magnitude() < float("inf")),
    "math.isinf": _test(lambda x, source: x.magnitude().equals(float("inf"))),
    "math.isnan": _test(lambda x, source: x.is_nan()),
    "math.isnormal": _test(_is_normal),
}
"""Operations whose operands and results differ in type, or that have properties."""

FLOATS: Mapping[str, Formula] = {**SINGLE, **WIDENED, **EXACT}
"""Operations on floats of one type; of those in `SINGLE`, what they are for f32."""
