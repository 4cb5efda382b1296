"""How far the functions of `math` are from the true ones, on the host, whose bits are those of devices."""

from __future__ import annotations

import math
from typing import Any

import numpy as np
import numpy.typing as npt
import pytest

from coconet_ir.dialects.arith import Arith
from coconet_ir.dialects.math import Math
from coconet_ir.lowering.device.arithmetic import INTEGERS
from coconet_ir.lowering.device.mathematics import DOUBLE, SINGLE
from coconet_ir.lowering.device.rules import FLOATS, RULES
from coconet_ir.sim.elements import ELEMENTS, F64, round_to

Array = npt.NDArray[Any]

SAMPLES = 20000
SPECIAL = (0.0, -0.0, 1.0, -1.0, math.inf, -math.inf, math.nan, 0.5, -0.5, 2.0, 2.5, -3.0, 1000.0)
EDGES = {
    "f64": (
        5e-324,
        2.0**-1022,
        1.7976931348623157e308,
        6381956970095103 * 2.0**797,  # of all doubles the nearest to a multiple of pi / 2
        1e22,
        1e300,
        709.78,
        709.79,
        -745.1,
        -745.2,
        -708.5,
        1024,
    ),
    "f32": (2.0**-149, 2.0**-126, 3.4028234e38, 88.72283, 88.722845, -103.97, -104, -149.5, 1e29),
}
ULPS = {
    "f64": {"atan2": 1.5, "expm1": 2, "rsqrt": 2, "sinh": 2, "cosh": 2, "tanh": 2},
    "f32": {"exp": 1.1, "expm1": 2, "log2": 2, "log1p": 2, "tanh": 2, "erf": 2, "rsqrt": 2},
}
"""The bounds that the formulas state; where none stands here it is 1."""

NAMES = {
    **{f"a{name}": f"arc{name}" for name in ("cos", "cosh", "sin", "sinh", "tan", "tanh", "tan2")},
    "powf": "power",
}
"""What NumPy calls a function."""


def samples(type: str, seed: int) -> Array:
    """Numbers of all sizes, numbers near 1 and 10 and near multiples of pi / 2, edges."""
    random, dtype = np.random.default_rng(seed), ELEMENTS[type]
    raw = random.integers(0, 256, SAMPLES * dtype.itemsize, np.uint8).view(dtype)
    quarters = np.rint(2 ** random.uniform(0, 60, SAMPLES)).astype(np.longdouble)
    near = (
        random.standard_normal(SAMPLES) * 10,
        1 + random.standard_normal(SAMPLES) * 0.1,
        quarters * np.arctan(np.longdouble(1)) * 2,
    )
    edges = np.array((*SPECIAL, *EDGES.get(type, ())), dtype)
    return np.concatenate((raw, *(x.astype(dtype) for x in near), edges, -edges))


def powers(type: str) -> tuple[Array, Array]:
    """Positive bases of all sizes and near 1, and exponents that give results of all sizes."""
    dtype = ELEMENTS[type]
    base = np.concatenate((samples(type, 3), 1 + np.exp2(-np.arange(1, 24)).astype(dtype)))
    with np.errstate(all="ignore"):
        size = np.random.default_rng(4).uniform(-1080, 1030, base.size)
        return np.abs(base), (size / np.log2(np.abs(base).astype(np.longdouble))).astype(dtype)


def true(name: str, *inputs: Array) -> Array:
    """The function, of long doubles."""
    if name == "erf":
        return _erf(inputs[0])
    if name == "rsqrt":
        return 1 / np.sqrt(inputs[0])
    return getattr(np, NAMES.get(name, name))(*inputs)


def _erf(x: Array) -> Array:
    """The error function by its series of positive terms, of long doubles; to 2**-58."""
    size = np.minimum(np.abs(x), 7)
    term = total = size
    for n in range(1, 200):
        term = term * (size * size * 2 / (2 * n + 1))
        total = total + term
    root = np.sqrt(np.arctan(np.longdouble(1)))  # of pi, half of it
    return np.copysign(total * np.exp(-size * size) / root, x)


def check(name: str, have: Array, inputs: list[Array], bound: float) -> None:
    """Assert that results are so many units of the last place from the true ones, and as special."""
    dtype = have.dtype
    with np.errstate(all="ignore"):
        exact = true(name, *(x.astype(np.longdouble) for x in inputs))
        want = exact.astype(dtype)
        assert np.array_equal(np.isnan(have), np.isnan(want))
        finite = np.isfinite(want) & np.isfinite(have)
        zero = (want == 0) & (have == 0)
        assert np.array_equal(np.signbit(have[zero]), np.signbit(want[zero]))
        both = ~finite & ~np.isnan(want)
        assert np.array_equal(have[both], want[both])
        limits: Any = np.finfo(dtype)
        exponent = np.floor(np.log2(np.maximum(np.abs(exact[finite]), limits.smallest_normal)))
        distance = np.abs(have[finite] - exact[finite]) / np.exp2(exponent - limits.nmant)
    worst = int(np.argmax(distance))
    assert distance[worst] < bound, [x[finite][worst] for x in inputs]


def cases(table: Any) -> list[str]:
    return sorted(name.removeprefix("math.") for name in table if name.startswith("math."))


@pytest.mark.parametrize(
    ("name", "type"),
    [*((name, "f32") for name in cases(SINGLE)), *((name, "f64") for name in cases(DOUBLE))],
)
def test_functions(host: Any, name: str, type: str) -> None:
    inputs = [samples(type, 1)]
    if name in ("powf", "atan2"):
        special = np.array(SPECIAL, ELEMENTS[type])
        inputs = [
            np.concatenate((inputs[0], np.repeat(special, special.size))),
            np.concatenate((samples(type, 2), np.tile(special, special.size))),
        ]
    if name == "powf":
        inputs = [np.concatenate(both) for both in zip(inputs, powers(type), strict=True)]
    operands = ", ".join(f"%x{i}" for i in range(len(inputs)))
    (found,) = host.run(
        f"%y0 = math.{name} {operands} : {type}", inputs, [type] * len(inputs), [type]
    )
    check(name, found, inputs, ULPS[type].get(name, 1))


@pytest.mark.parametrize("type", ["f16", "bf16", "f8E5M2"])
def test_functions_of_fewer_bits_are_those_of_f32_rounded(host: Any, type: str) -> None:
    x = np.arange(1 << 8 * ELEMENTS[type].itemsize).astype(f"u{ELEMENTS[type].itemsize}")
    x = x.view(ELEMENTS[type])
    (found,) = host.run(f"%y0 = math.exp %x0 : {type}", [x], [type], [type])
    wide = round_to(x, ELEMENTS["f32"])
    (f32,) = host.run("%y0 = math.exp %x0 : f32", [wide], ["f32"], ["f32"])
    want = round_to(f32, ELEMENTS[type])
    same = (found == want) | (np.isnan(found.astype(F64)) & np.isnan(want.astype(F64)))
    assert same.all()


@pytest.mark.parametrize(("element", "lanes"), [("f32", 8), ("f64", 2)])
def test_vectors_have_the_bits_of_single_elements(host: Any, element: str, lanes: int) -> None:
    x = samples(element, 3)
    x = x[: x.size // 8 * 8]
    names = cases(SINGLE)
    y = np.roll(x, 17).copy()
    results: list[list[Array]] = []
    for width in (1, lanes):
        type = element if width == 1 else f"vector<{width}x{element}>"
        lines = [
            f"%y{i} = math.{name} {'%x0, %x1' if name in ('powf', 'atan2') else '%x0'} : {type}"
            for i, name in enumerate(names)
        ]
        outputs = [element] * len(names)
        results.append(host.run("\n".join(lines), [x, y], [element] * 2, outputs, width))
    for name, one, other in zip(names, *results, strict=True):
        assert np.all((one == other) | (np.isnan(one) & np.isnan(other))), name


@pytest.mark.parametrize("type", ["f64", "f32", "f16"])
@pytest.mark.parametrize("power", ["i32", "i64"])
def test_integer_powers(host: Any, type: str, power: str) -> None:
    random = np.random.default_rng(5)
    base = (random.standard_normal(4000) * 2).astype(ELEMENTS[type])
    exponent = random.integers(-20, 20, 4000).astype(ELEMENTS[power])
    (found,) = host.run(
        f"%y0 = math.fpowi %x0, %x1 : {type}, {power}", [base, exponent], [type, power], [type]
    )
    check("powf", found, [base, exponent], 1 if type == "f64" else 0.51)


def test_the_remainder_is_exact(host: Any) -> None:
    """Quotients of all sizes, divisors of one bit and of all, quotients near whole numbers."""
    random = np.random.default_rng(6)
    raw, other, small = (
        random.integers(0, 1 << bits, SAMPLES, np.uint64).view(F64) for bits in (64, 64, 52)
    )
    ones = np.nextafter(np.exp2(random.integers(-1020, 1024, SAMPLES).astype(F64)), 0)
    least = np.full(SAMPLES, 5e-324)
    with np.errstate(over="ignore"):
        whole = ones * random.integers(1, 1 << 40, SAMPLES)
    pairs = [
        (raw, other),
        (raw, small),
        (raw, ones),
        (raw, least),
        (whole, ones),
        (ones[::-1], ones),
    ]
    pairs.append((np.repeat(SPECIAL, len(SPECIAL)), np.tile(SPECIAL, len(SPECIAL))))
    x, y = (np.concatenate(parts) for parts in zip(*pairs, strict=True))
    (found,) = host.run("%y0 = arith.remf %x0, %x1 : f64", [x, y], ["f64", "f64"], ["f64"])
    with np.errstate(all="ignore"):
        want = np.fmod(x, y)
    assert np.array_equal(np.isnan(found), np.isnan(want))
    number = ~np.isnan(want)
    assert np.array_equal(found[number].view(np.uint64), want[number].view(np.uint64))


def test_every_operation_of_arith_and_math_becomes_something() -> None:
    names = {op.name for dialect in (Arith, Math) for op in dialect.operations}
    assert names == {"arith.constant", *RULES, *INTEGERS, *FLOATS}
    assert set(SINGLE) == set(DOUBLE)
