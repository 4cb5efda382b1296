"""What operations on elements become gives the bits of the simulator, on the host, lane by lane."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt
import pytest

from coconet_ir.dialects.arith import FLOAT_PREDICATES, INTEGER_PREDICATES
from coconet_ir.sim.elements import ELEMENTS, is_float, round_to, same_bits, unsigned
from coconet_ir.sim.pointwise import pointwise

Array = npt.NDArray[Any]

FLOATS = ("f64", "f32", "f16", "bf16", "f8E4M3FN", "f8E5M2", "f8E4M3", "f8E3M4")
INTEGERS = ("i64", "i32", "i16", "i8", "i1")


@dataclass(frozen=True)
class Row:
    """An operation: what the simulator calls it, its text without operands, how many those are, its result."""

    name: str
    text: str
    operands: int
    result: str


def float_rows(type: str) -> list[Row]:
    """The exact operations on floats of a type."""
    rows = [
        Row(f"arith.{name}f", f"arith.{name}f", 2, type)
        for name in ("add", "sub", "mul", "div", "maximum", "minimum", "maxnum", "minnum")
    ]
    rows += [
        Row(f"math.{name}", f"math.{name}", 1, type)
        for name in ("absf", "ceil", "floor", "trunc", "round", "roundeven", "sqrt")
    ]
    rows += [
        Row("arith.negf", "arith.negf", 1, type),
        Row("math.copysign", "math.copysign", 2, type),
    ]
    rows += [
        Row(f"math.{name}", f"math.{name}", 1, "i1")
        for name in ("isnan", "isinf", "isfinite", "isnormal")
    ]
    rows += [Row(f"arith.cmpf.{p}", f"arith.cmpf {p},", 2, "i1") for p in FLOAT_PREDICATES]
    rows.append(Row("arith.remf", "arith.remf", 2, type))
    if type not in ("f16", "bf16"):  # for which this processor has none
        rows.append(Row("math.fma", "math.fma", 3, type))
    for to in FLOATS:
        wider = ELEMENTS[to].itemsize - ELEMENTS[type].itemsize
        if wider:
            name = "arith.extf" if wider > 0 else "arith.truncf"
            rows.append(Row(name, name, 1, to))
    for to in INTEGERS:
        rows += [Row(name, name, 1, to) for name in ("arith.fptosi", "arith.fptoui")]
    return rows


def integer_rows(type: str) -> list[Row]:
    """The operations on integers of a type; those that divide are in `division_rows`."""
    names = "addi subi muli andi ori xori shli shrui shrsi maxsi minsi maxui minui"
    rows = [Row(f"arith.{name}", f"arith.{name}", 2, type) for name in names.split()]
    rows += [Row(f"arith.cmpi.{p}", f"arith.cmpi {p},", 2, "i1") for p in INTEGER_PREDICATES]
    if type == "index":
        return rows
    rows += [
        Row(f"math.{name}", f"math.{name}", 1, type) for name in ("absi", "ctlz", "cttz", "ctpop")
    ]
    for to in FLOATS:
        rows += [Row(name, name, 1, to) for name in ("arith.sitofp", "arith.uitofp")]
    for to in INTEGERS:
        wider = (ELEMENTS[to].itemsize, to != "i1") > (ELEMENTS[type].itemsize, type != "i1")
        if to != type:
            names = ("arith.extsi", "arith.extui") if wider else ("arith.trunci",)
            rows += [Row(name, name, 1, to) for name in names]
    return rows


def division_rows(type: str) -> list[Row]:
    """The operations whose second operand, or for a power the first, is not 0."""
    names = "divsi divui floordivsi ceildivsi ceildivui remsi remui"
    rows = [Row(f"arith.{name}", f"arith.{name}", 2, type) for name in names.split()]
    return rows if type == "index" else [*rows, Row("math.ipowi", "math.ipowi", 2, type)]


def elements(type: str, seed: int) -> Array:
    """Elements of a type: all kinds of bits, common numbers, and every pair of special ones with itself shifted."""
    random, dtype = np.random.default_rng(seed), ELEMENTS[type]
    if type == "i1":
        return random.integers(0, 2, 512).astype(np.bool_)
    raw = random.integers(0, 256, 1000 * dtype.itemsize, np.uint8).view(unsigned(dtype)).view(dtype)
    if is_float(dtype):
        common = round_to(np.round(random.standard_normal(1000) * 16) / 4, dtype)
        special = round_to(np.array([0.0, -0.0, 1, -1, np.inf, -np.inf, np.nan, 0.5, 2.5]), dtype)
    else:
        common = random.integers(-5, 6, 1000).astype(dtype)
        limits = np.iinfo(dtype)
        special = np.array([0, 1, -1, 2, -2, limits.max, limits.min, 8 * dtype.itemsize], dtype)
    pairs = np.repeat(special, special.size) if seed % 2 else np.tile(special, special.size)
    found = np.concatenate((raw, common, pairs))
    return found[: found.size // 8 * 8]


def check(host: Any, rows: list[Row], type: str, inputs: list[Array], width: int) -> None:
    """Assert that each operation gives the bits of the simulator."""

    def shaped(name: str) -> str:
        return name if width == 1 else f"vector<{width}x{name}>"

    lines: list[str] = []
    for number, row in enumerate(rows):
        operands = ", ".join(f"%x{i}" for i in range(row.operands))
        to = f" to {shaped(row.result)}" if row.text in CASTS else ""
        lines.append(f"%y{number} = {row.text} {operands} : {shaped(type)}{to}")
    outputs = [row.result for row in rows]
    found = host.run("\n".join(lines), inputs, [type] * len(inputs), outputs, width)
    for row, have in zip(rows, found, strict=True):
        want = pointwise(row.name, inputs[: row.operands], ELEMENTS[row.result])
        assert same_bits(have, np.asarray(want)), (row, width)


CASTS = frozenset(
    f"arith.{name}"
    for name in (
        "extf",
        "truncf",
        "fptosi",
        "fptoui",
        "sitofp",
        "uitofp",
        "extsi",
        "extui",
        "trunci",
    )
)


@pytest.mark.parametrize("width", [1, 4])
@pytest.mark.parametrize("type", FLOATS)
def test_floats(host: Any, type: str, width: int) -> None:
    check(host, float_rows(type), type, [elements(type, seed) for seed in (1, 2, 3)], width)


@pytest.mark.parametrize(
    ("type", "width"), [*((type, width) for type in INTEGERS for width in (1, 4)), ("index", 1)]
)
def test_integers(host: Any, type: str, width: int) -> None:
    first, second = elements(type, 1), elements(type, 2)
    check(host, integer_rows(type), type, [first, second], width)
    one = np.ones_like(first)
    nonzero = [np.where(x == 0, one, x) for x in (first, second)]
    check(host, division_rows(type), type, nonzero, width)


@pytest.mark.parametrize("width", [1, 2])
@pytest.mark.parametrize("type", ["i32", "i64"])
def test_extended_products_and_sums(host: Any, type: str, width: int) -> None:
    first, second = elements(type, 1), elements(type, 2)
    shaped, flag = (one if width == 1 else f"vector<{width}x{one}>" for one in (type, "i1"))
    body = f"""
    %y0, %y1 = arith.mului_extended %x0, %x1 : {shaped}
    %y2, %y3 = arith.mulsi_extended %x0, %x1 : {shaped}
    %y4, %y5 = arith.addui_extended %x0, %x1 : {shaped}, {flag}
    """
    found = host.run(body, [first, second], [type, type], [type] * 5 + ["i1"], width)
    unsigned_type, bits = unsigned(first.dtype), 8 * first.dtype.itemsize
    a, b = (x.view(unsigned_type).astype(object) for x in (first, second))
    product = first.astype(object) * second.astype(object)
    want = [a * b, a * b >> bits, product, product >> bits, a + b]
    for have, number in zip(found, want, strict=False):
        assert np.array_equal(have.view(unsigned_type), number % (1 << bits))
    assert np.array_equal(found[5], a + b >= 1 << bits)


@pytest.mark.parametrize("width", [1, 8])
def test_selections_and_bits(host: Any, width: int) -> None:
    x, y, c = elements("f32", 1), elements("f32", 2), elements("f32", 3)

    def shaped(name: str) -> str:
        return name if width == 1 else f"vector<{width}x{name}>"

    body = f"""
    %c = arith.cmpf olt, %x2, %x0 : {shaped("f32")}
    %y0 = arith.select %c, %x0, %x1 : {"f32" if width == 1 else f"{shaped('i1')}, {shaped('f32')}"}
    %y1 = arith.bitcast %x0 : {shaped("f32")} to {shaped("i32")}
    """
    chosen, raw = host.run(body, [x, y, c], ["f32"] * 3, ["f32", "i32"], width)
    assert same_bits(chosen, np.where(c < x, x, y))
    assert np.array_equal(raw, x.view(np.int32))


@pytest.mark.parametrize("width", [2, 4, 8])
def test_division_by_one_number(host: Any, width: int) -> None:
    """A divisor that all lanes share: the bits of division, also where the reciprocal's method would fail."""
    random = np.random.default_rng(width)
    ordinary = random.standard_normal(4096).astype(np.float32)
    near_one = (1 + random.integers(-9, 10, 4096) * 2.0**-23).astype(np.float32)
    any_bits = elements("f32", 3)
    for x in (ordinary, near_one, any_bits):
        for y in (*near_one[:4], *ordinary[:24], *any_bits[::97], np.float32(3), np.float32(1e-7)):
            body = (
                "%one = vector.extract %x1[0] : f32 from vector<Wxf32>\n"
                "%all = vector.broadcast %one : f32 to vector<Wxf32>\n"
                "%y0 = arith.divf %x0, %all : vector<Wxf32>"
            ).replace("W", str(width))
            inputs = [x, np.full_like(x, y)]
            (found,) = host.run(body, inputs, ["f32", "f32"], ["f32"], width)
            assert same_bits(found, np.asarray(pointwise("arith.divf", inputs, np.dtype("f4")))), y
