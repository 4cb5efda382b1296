"""Pointwise operations: values against Python's own arithmetic, and independence of position."""

from __future__ import annotations

import math
from collections.abc import Callable
from fractions import Fraction
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from coconet_ir.sim.elements import (
    BF16,
    ELEMENTS,
    F16,
    F32,
    F64,
    I1,
    Array,
    DType,
    round_to,
    same_bits,
    unsigned,
)
from coconet_ir.sim.integers import ArithmeticRefused
from coconet_ir.sim.pointwise import POINTWISE, pointwise

INTEGER_TYPES = [ELEMENTS[name] for name in ("i64", "i32", "i16", "i8", "i1")]
FLOAT_TYPES = [F64, F32, F16, BF16]
TERNARY = {"math.fma", "arith.select"}
CASTS = {
    "arith.extf", "arith.truncf", "arith.fptosi", "arith.fptoui", "arith.sitofp", "arith.uitofp",
    "arith.extsi", "arith.extui", "arith.trunci", "arith.index_cast", "arith.index_castui",
    "arith.bitcast",
}  # fmt: skip
FLOAT_MATH = {
    "abs": "math.absf", "acos": "math.acos", "acosh": "math.acosh", "asin": "math.asin",
    "asinh": "math.asinh", "atan": "math.atan", "atanh": "math.atanh", "cbrt": "math.cbrt",
    "ceil": "math.ceil", "cos": "math.cos", "cosh": "math.cosh", "erf": "math.erf",
    "erfc": "math.erfc", "exp": "math.exp", "exp2": "math.exp2", "expm1": "math.expm1",
    "floor": "math.floor", "log": "math.log", "log10": "math.log10", "log1p": "math.log1p",
    "log2": "math.log2", "sin": "math.sin", "sinh": "math.sinh", "sqrt": "math.sqrt",
    "tan": "math.tan", "tanh": "math.tanh", "trunc": "math.trunc",
}  # fmt: skip


def _floats(rng: np.random.Generator, size: int, dtype: DType) -> Array:
    """Numbers of many magnitudes, with every special value."""
    special = [0.0, -0.0, np.inf, -np.inf, np.nan, 1.0, -1.0, 0.5, 2.5, 1e-42, 88.5, 1e4]
    x = rng.standard_normal(size) * 10.0 ** rng.integers(-4, 5, size)
    x[rng.random(size) < 0.2] = rng.choice(special)
    with np.errstate(all="ignore"):
        return round_to(x, dtype)


def _integers(rng: np.random.Generator, size: int, dtype: DType) -> Array:
    if dtype == I1:
        return rng.random(size) < 0.5
    info = np.iinfo(dtype)
    x = rng.integers(info.min, info.max, size, dtype, endpoint=True)
    return np.where(rng.random(size) < 0.5, rng.integers(-9, 10, size, dtype), x)


def _is_float_operation(name: str) -> bool:
    if name.startswith("math."):
        return name not in {"math.absi", "math.ctlz", "math.cttz", "math.ctpop", "math.ipowi"}
    return "cmpf" in name or name.endswith(("f", "fptosi", "fptoui", "bitcast"))


def _operands(
    rng: np.random.Generator, name: str, size: int, dtype: DType
) -> tuple[list[Array], DType]:
    """Random operands that the operation is defined for, and a result type."""
    make = _floats if dtype in FLOAT_TYPES else _integers
    x, y, z = (make(rng, size, dtype) for _ in range(3))
    if "div" in name or "rem" in name or name == "math.ipowi":
        y = np.where(y == 0, np.ones((), dtype), y)
        x = np.where((x == 0) & (name == "math.ipowi"), np.ones((), dtype), x)
    if name == "arith.select":
        return [rng.random(size) < 0.5, y, z], dtype
    if name == "math.fpowi":
        return [x, rng.integers(-5, 6, size, np.int32)], dtype
    if name in TERNARY:
        return [x, y, z], dtype
    if "cmp" in name:
        return [x, y], I1
    if name in {"math.isnan", "math.isinf", "math.isfinite", "math.isnormal"}:
        return [x], I1
    binary = name in {"math.powf", "math.atan2", "math.copysign", "math.ipowi"} or (
        name.startswith("arith.") and name not in CASTS and name != "arith.negf"
    )
    return ([x, y] if binary else [x]), dtype


def _result_type(name: str, dtype: DType, rng: np.random.Generator) -> DType:
    if name == "arith.bitcast":
        return ELEMENTS[{8: "i64", 4: "i32", 2: "i16"}[dtype.itemsize]]
    if name in {"arith.extf", "arith.truncf", "arith.sitofp", "arith.uitofp"}:
        return FLOAT_TYPES[int(rng.integers(4))]
    if name in CASTS:
        return INTEGER_TYPES[int(rng.integers(5))]
    return dtype


@settings(max_examples=300, deadline=None)
@given(st.sampled_from(sorted(POINTWISE)), st.integers(0, 2**32), st.data())
def test_slicing_commutes_bit_for_bit(name: str, seed: int, data: st.DataObject) -> None:
    rng = np.random.default_rng(seed)
    dtype = data.draw(st.sampled_from(FLOAT_TYPES if _is_float_operation(name) else INTEGER_TYPES))
    if name == "math.ipowi":
        dtype = ELEMENTS["i32"]
    size = data.draw(st.integers(1, 300))
    operands, result = _operands(rng, name, size, dtype)
    result = _result_type(name, dtype, rng) if result == dtype else result
    whole = pointwise(name, operands, result)
    assert whole.dtype == result
    assert whole.shape == (size,)
    start = data.draw(st.integers(0, size))
    stop = data.draw(st.integers(start, size))
    step = data.draw(st.sampled_from([1, 2, 3, -1, -2]))
    for part in (slice(start, stop), slice(None, None, step)):
        assert same_bits(whole[part], pointwise(name, [x[part] for x in operands], result))
        copies = [x[part].copy() for x in operands]
        assert same_bits(whole[part], pointwise(name, copies, result))
    one = pointwise(name, [x[-1] for x in operands], result)
    assert same_bits(whole[-1:].reshape(()), one)
    if size % 2 == 0:
        columns = pointwise(name, [x.reshape(2, -1).T for x in operands], result)
        assert same_bits(whole.reshape(2, -1).T, columns)


@pytest.mark.parametrize("function", sorted(FLOAT_MATH))
@pytest.mark.parametrize("dtype", [F64, F32, F16, BF16], ids=str)
def test_math_against_python(function: str, dtype: DType) -> None:
    rng = np.random.default_rng(1)
    x = _floats(rng, 400, dtype)
    got = pointwise(FLOAT_MATH[function], [x], dtype).astype(F64)
    call: Callable[[float], Any] = abs if function == "abs" else getattr(math, function, np.cbrt)
    if function == "exp2":
        call = lambda v: 2.0**v  # noqa: E731
    relative = 2.0 ** -{F64: 50, F32: 23, F16: 10, BF16: 7}[dtype]
    checked = 0
    for value, result in zip(x.astype(F64).tolist(), got.tolist(), strict=True):
        try:
            want = float(call(value))
        except (ValueError, OverflowError):
            continue
        if not math.isfinite(want) or abs(want) > 6e4:
            continue
        assert abs(result - want) <= relative * abs(want) + 2.0**-24, (value, result, want)
        checked += 1
    assert checked > 50


def test_binary_functions() -> None:
    x, y = np.array([2.0, -2.0, 0.0, 9.0], F32), np.array([10.0, 3.0, 0.0, 0.5], F32)
    assert pointwise("math.powf", [x, y], F32).tolist() == [1024.0, -8.0, 1.0, 3.0]
    angles = pointwise("math.atan2", [x, y], F32).tolist()
    assert angles == pytest.approx([math.atan2(a, b) for a, b in zip(x, y, strict=True)])
    nan = np.array([np.nan, -np.nan], F32)
    assert pointwise("math.copysign", [-np.ones(2, F32), nan], F32).tolist() == [1.0, 1.0]
    powers = pointwise("math.fpowi", [x, np.array([3, -1, 0, 2], np.int32)], F32)
    assert powers.tolist() == [8.0, -0.5, 1.0, 81.0]
    assert pointwise("math.rsqrt", [np.array([4.0, 0.0])], F64).tolist() == [0.5, np.inf]
    assert pointwise("arith.remf", [-x, np.full(4, 1.5, F32)], F32).tolist() == [
        -0.5,
        0.5,
        -0.0,
        -0.0,
    ]
    halves = np.array([0.5, 1.5, -2.5, 0.49999997, -0.2], F32)
    assert pointwise("math.round", [halves], F32).tolist() == [1.0, 2.0, -3.0, 0.0, -0.0]
    assert pointwise("math.roundeven", [halves], F32).tolist() == [0.0, 2.0, -2.0, 0.0, -0.0]


@pytest.mark.parametrize("dtype", [F16, BF16], ids=str)
@pytest.mark.parametrize("name", ["addf", "subf", "mulf", "divf"])
def test_short_floats_round_after_each_operation(dtype: DType, name: str) -> None:
    rng = np.random.default_rng(2)
    x, y = (round_to(rng.standard_normal(500) * 8, dtype) for _ in range(2))
    got = pointwise(f"arith.{name}", [x, y], dtype)
    exact = {"addf": np.add, "subf": np.subtract, "mulf": np.multiply, "divf": np.divide}[name]
    assert same_bits(got, round_to(exact(x.astype(F64), y.astype(F64)), dtype))


@pytest.mark.parametrize("dtype", FLOAT_TYPES, ids=str)
def test_max_and_min(dtype: DType) -> None:
    values = [np.nan, -np.inf, -2.0, -0.0, 0.0, 3.0, np.inf]
    order = {str(v): i for i, v in enumerate(values)}
    for a in values:
        for b in values:
            x, y = np.array([a], dtype), np.array([b], dtype)
            largest, least = sorted((a, b), key=lambda v: order[str(v)])[::-1]
            both = np.isnan(a) or np.isnan(b)
            other = b if np.isnan(a) else a
            for name, want in (
                ("maximumf", np.nan if both else largest),
                ("minimumf", np.nan if both else least),
                ("maxnumf", other if both else largest),
                ("minnumf", other if both else least),
            ):
                got = pointwise(f"arith.{name}", [x, y], dtype)
                assert same_bits(got, np.array([want], dtype)), (name, a, b)


def test_float_predicates() -> None:
    values = [np.nan, -1.0, -0.0, 0.0, 2.0]
    compare: dict[str, Callable[[float, float], bool]] = {
        "eq": lambda a, b: a == b, "ne": lambda a, b: a != b, "lt": lambda a, b: a < b,
        "le": lambda a, b: a <= b, "gt": lambda a, b: a > b, "ge": lambda a, b: a >= b,
    }  # fmt: skip
    for a in values:
        for b in values:
            nan = math.isnan(a) or math.isnan(b)
            x, y = np.array([a], BF16), np.array([b], BF16)
            table = {"false": False, "true": True, "ord": not nan, "uno": nan}
            for name, function in compare.items():
                table[f"o{name}"] = not nan and function(a, b)
                table[f"u{name}"] = nan or function(a, b)
            assert len(table) == 16
            for name, want in table.items():
                assert pointwise(f"arith.cmpf.{name}", [x, y], I1).tolist() == [want], (name, a, b)


def _wrap(value: int, width: int) -> int:
    value &= (1 << width) - 1
    return value - (1 << width) if value >> (width - 1) else value


def _integer_reference(name: str, a: int, b: int, width: int) -> int:
    """The operation on Python integers, signed operands."""
    mask = (1 << width) - 1
    ua, ub = a & mask, b & mask
    out = ub >= width
    table: dict[str, Callable[[], int]] = {
        "addi": lambda: a + b, "subi": lambda: a - b, "muli": lambda: a * b,
        "divsi": lambda: abs(a) // abs(b) * (1 if (a < 0) == (b < 0) else -1),
        "remsi": lambda: a - b * (abs(a) // abs(b) * (1 if (a < 0) == (b < 0) else -1)),
        "divui": lambda: ua // ub, "remui": lambda: ua % ub,
        "floordivsi": lambda: a // b, "ceildivsi": lambda: -(-a // b),
        "ceildivui": lambda: -(-ua // ub),
        "andi": lambda: a & b, "ori": lambda: a | b, "xori": lambda: a ^ b,
        "shli": lambda: 0 if out else a << ub, "shrui": lambda: 0 if out else ua >> ub,
        "shrsi": lambda: (-1 if a < 0 else 0) if out else a >> ub,
        "maxsi": lambda: max(a, b), "minsi": lambda: min(a, b),
        "maxui": lambda: max(ua, ub), "minui": lambda: min(ua, ub),
        "cmpi.eq": lambda: a == b, "cmpi.ne": lambda: a != b,
        "cmpi.slt": lambda: a < b, "cmpi.sle": lambda: a <= b,
        "cmpi.sgt": lambda: a > b, "cmpi.sge": lambda: a >= b,
        "cmpi.ult": lambda: ua < ub, "cmpi.ule": lambda: ua <= ub,
        "cmpi.ugt": lambda: ua > ub, "cmpi.uge": lambda: ua >= ub,
    }  # fmt: skip
    return table[name]()


INTEGER_BINARY = sorted(
    name.removeprefix("arith.")
    for name in POINTWISE
    if name.startswith("arith.cmpi")
    or (name.startswith("arith.") and name.endswith(("i", "ui")) and name not in CASTS)
)


@pytest.mark.parametrize("name", INTEGER_BINARY)
@pytest.mark.parametrize("dtype", INTEGER_TYPES, ids=str)
def test_integer_arithmetic_against_python(name: str, dtype: DType) -> None:
    rng = np.random.default_rng(3)
    width = 1 if dtype == I1 else 8 * dtype.itemsize
    x, y = _integers(rng, 300, dtype), _integers(rng, 300, dtype)
    if width > 1:
        x[:2], y[0] = np.iinfo(dtype).min, -1
    if "div" in name or "rem" in name:
        y = np.where(y == 0, np.ones((), dtype), y)
    result = I1 if "cmpi" in name else dtype
    got = pointwise(f"arith.{name}", [x, y], result)
    sign = -1 if dtype == I1 else 1
    want = [
        _integer_reference(name, sign * int(a), sign * int(b), width)
        for a, b in zip(x, y, strict=True)
    ]
    assert got.dtype == result
    if result == I1:
        assert got.tolist() == [bool(w & 1) for w in want]
    else:
        assert got.tolist() == [_wrap(w, width) for w in want]


def test_integer_math() -> None:
    x = np.array([0, 1, -1, 40, -(2**31)], np.int32)
    assert pointwise("math.ctlz", [x], x.dtype).tolist() == [32, 31, 0, 26, 0]
    assert pointwise("math.cttz", [x], x.dtype).tolist() == [32, 0, 0, 3, 31]
    assert pointwise("math.ctpop", [x], x.dtype).tolist() == [0, 1, 32, 2, 1]
    assert pointwise("math.absi", [x], x.dtype).tolist() == [0, 1, 1, 40, -(2**31)]
    bits = np.array([False, True])
    assert pointwise("math.ctlz", [bits], I1).tolist() == [True, False]
    base, exponent = np.array([3, -1, -1, 2, 7], np.int32), np.array([5, -3, 4, -1, 0], np.int32)
    assert pointwise("math.ipowi", [base, exponent], base.dtype).tolist() == [243, -1, 1, 0, 1]
    wrapped = pointwise("math.ipowi", [np.array([3], np.int32), np.array([40], np.int32)], x.dtype)
    assert wrapped.tolist() == [_wrap(3**40, 32)]


def test_undefined_integer_operations_are_refused() -> None:
    one, zero = np.ones(3, np.int32), np.zeros(3, np.int32)
    for name in ("divsi", "divui", "floordivsi", "ceildivsi", "ceildivui", "remsi", "remui"):
        with pytest.raises(ArithmeticRefused, match="divides by zero"):
            pointwise(f"arith.{name}", [one, zero], one.dtype)
    with pytest.raises(ArithmeticRefused, match="negative power"):
        pointwise("math.ipowi", [zero, -one], one.dtype)


@pytest.mark.parametrize("target", INTEGER_TYPES, ids=str)
@pytest.mark.parametrize("source", FLOAT_TYPES, ids=str)
def test_float_to_integer_saturates(source: DType, target: DType) -> None:
    x = _floats(np.random.default_rng(4), 200, source)
    edges = [2.0**63, -(2.0**63), 2.0**64, 255.0, 256.0, 127.5, -129.0, -0.9, 3e38]
    x = np.concatenate([x, round_to(np.array(edges), source)])
    width = 1 if target == I1 else 8 * target.itemsize
    for name, low, high in (
        ("fptosi", -(1 << (width - 1)), (1 << (width - 1)) - 1),
        ("fptoui", 0, (1 << width) - 1),
    ):
        got = pointwise(f"arith.{name}", [x], target)
        for value, result in zip(x.astype(F64).tolist(), got.tolist(), strict=True):
            want = 0
            if not math.isnan(value):
                want = int(min(max(Fraction(value) if math.isfinite(value) else value, low), high))
            assert int(result) & ((1 << width) - 1) == want & ((1 << width) - 1), (value, result)


def test_integer_to_float_rounds_once() -> None:
    values = np.array([2**60 + 2**52 + 1, -(2**60) - 2**52 - 1, 2**62 + 2**54, 3, -(2**63)])
    got = pointwise("arith.sitofp", [values], BF16).astype(F64).tolist()
    assert got == [2.0**60 + 2**53, -(2.0**60) - 2**53, 2.0**62, 3.0, -(2.0**63)]
    assert pointwise("arith.uitofp", [values[-1:]], F32).tolist() == [2.0**63]
    assert pointwise("arith.uitofp", [np.array([-1])], BF16).astype(F64).tolist() == [2.0**64]
    odd = np.array([2**53 + 2**29 + 1, 2**24 + 1])
    assert pointwise("arith.sitofp", [odd], F32).tolist() == [2.0**53 + 2**30, 2.0**24]
    assert pointwise("arith.sitofp", [np.array([True])], F32).tolist() == [-1.0]
    assert pointwise("arith.uitofp", [np.array([True])], F32).tolist() == [1.0]
    assert np.isinf(pointwise("arith.sitofp", [np.array([70000])], F16)).all()


def test_integer_casts() -> None:
    x = np.array([True, False])
    assert pointwise("arith.extsi", [x], ELEMENTS["i32"]).tolist() == [-1, 0]
    assert pointwise("arith.extui", [x], ELEMENTS["i32"]).tolist() == [1, 0]
    y = np.array([-1, 2, 511], np.int32)
    assert pointwise("arith.extui", [y], ELEMENTS["i64"]).tolist() == [2**32 - 1, 2, 511]
    assert pointwise("arith.trunci", [y], ELEMENTS["i8"]).tolist() == [-1, 2, -1]
    assert pointwise("arith.trunci", [y], I1).tolist() == [True, False, True]
    assert pointwise("arith.index_cast", [y], ELEMENTS["index"]).tolist() == [-1, 2, 511]
    assert pointwise("arith.index_castui", [y], ELEMENTS["index"]).tolist() == [2**32 - 1, 2, 511]
    big = np.array([2**32 + 5])
    assert pointwise("arith.index_cast", [big], ELEMENTS["i32"]).tolist() == [5]
    f = np.array([1.0, -0.0], F32)
    assert pointwise("arith.bitcast", [f], ELEMENTS["i32"]).tolist() == [0x3F800000, -(2**31)]


def test_classification() -> None:
    x = round_to(np.array([0.0, 1e-40, 1.0, np.inf, np.nan]), BF16)
    assert pointwise("math.isnormal", [x], I1).tolist() == [False, False, True, False, False]
    assert pointwise("math.isfinite", [x], I1).tolist() == [True, True, True, False, False]
    assert pointwise("math.isinf", [x], I1).tolist() == [False, False, False, True, False]
    assert pointwise("math.isnan", [x], I1).tolist() == [False, False, False, False, True]


EXTREME = st.one_of(
    st.floats(allow_nan=False, allow_infinity=False),
    st.sampled_from([0.0, -0.0, 5e-324, 1.7e308, 1.0, 1 + 2.0**-52, -1.0, 2.0**-537]),
)


@settings(max_examples=500)
@given(EXTREME, EXTREME, EXTREME, st.booleans())
def test_double_fma_rounds_once(a: float, b: float, c: float, cancel: bool) -> None:
    if cancel and math.isfinite(a * b):
        c = -a * b
    got = float(pointwise("math.fma", [np.array(v) for v in (a, b, c)], F64))
    exact = Fraction(a) * Fraction(b) + Fraction(c)
    if exact == 0:
        assert got == 0
        return
    try:
        want = float(exact)
    except OverflowError:
        want = math.inf if exact > 0 else -math.inf
    assert got == want


def test_an_infinite_addend_outweighs_a_product_that_overflows() -> None:
    big = np.array([1e300, -1e300, 1e300, np.inf])
    c = np.array([-np.inf, np.inf, np.inf, -np.inf])
    got = pointwise("math.fma", [big, np.full(4, 1e300), c], F64)
    np.testing.assert_array_equal(got, [-np.inf, np.inf, np.inf, np.nan])


@pytest.mark.parametrize("dtype", [F32, F16, BF16], ids=str)
@given(st.integers(0, 2**32))
def test_short_fma_rounds_once(dtype: DType, seed: int) -> None:
    rng = np.random.default_rng(seed)
    a, b = (round_to(rng.standard_normal(50), dtype) for _ in range(2))
    product = a.astype(F64) * b.astype(F64)
    c = round_to(product * rng.choice([-1.0, 1.0, 1e-6, 1e3], 50), dtype)
    got = pointwise("math.fma", [a, b, c], dtype)
    for x, y, z, result in zip(a, b, c, got, strict=True):
        exact = Fraction(float(x)) * Fraction(float(y)) + Fraction(float(z))
        best = Fraction(float(result))
        bits = int(np.array(result).view(unsigned(dtype)))
        for near in (bits - 1, bits + 1):  # neighbours in magnitude: neither is nearer
            if 0 <= near < 1 << (8 * dtype.itemsize):
                other = np.array(near, unsigned(dtype)).view(dtype).astype(F64)
                if np.isfinite(other):
                    assert abs(exact - best) <= abs(exact - Fraction(float(other)))


def test_unknown_operation() -> None:
    with pytest.raises(KeyError):
        pointwise("arith.nonsense", [], F32)
