"""How far the functions of `math` are from the true ones, on the host, whose bits are those of devices."""

from __future__ import annotations

import importlib
import math
import sys
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt
import pytest

from coconet_ir.lowering.device.mathematics import DOUBLE, SINGLE
from coconet_ir.sim.elements import ELEMENTS, F64, round_to

Array = npt.NDArray[Any]

SAMPLES = 20000
SPECIAL = (0.0, -0.0, 1.0, -1.0, math.inf, -math.inf, math.nan, 0.5, -0.5, 2.0, 2.5, -3.0, 1000.0)
EDGES = {
    "f64": (
        5e-324,
        2.0**-1022,
        1.7976931348623157e308,
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
    "f64": {"expm1": 2, "rsqrt": 2, "sinh": 2, "cosh": 2, "tanh": 2},
    "f32": {"exp": 1.1, "expm1": 2, "log2": 2, "log1p": 2, "tanh": 2, "erf": 2, "rsqrt": 2},
}
"""The bounds that the formulas state; where none stands here it is 1."""

NAMES = {
    **{f"a{name}": f"arc{name}" for name in ("cos", "cosh", "sin", "sinh", "tan", "tanh", "tan2")},
    "powf": "power",
}
"""What NumPy calls a function."""


@pytest.fixture(scope="module")
def host() -> Any:
    """The module `host.py`, which runs kernels."""
    sys.path.insert(0, str(Path(__file__).parent))
    try:
        return importlib.import_module("host")
    finally:
        del sys.path[0]


def samples(type: str, seed: int) -> Array:
    """Numbers of all sizes, numbers near 1 and 10, edges."""
    random, dtype = np.random.default_rng(seed), ELEMENTS[type]
    raw = random.integers(0, 256, SAMPLES * dtype.itemsize, np.uint8).view(dtype)
    near = (random.standard_normal(SAMPLES) * 10, 1 + random.standard_normal(SAMPLES) * 0.1)
    edges = np.array((*SPECIAL, *EDGES.get(type, ())), dtype)
    return np.concatenate((raw, *(x.astype(dtype) for x in near), edges, -edges))


def true(name: str, *inputs: Array) -> Array:
    """The function, of long doubles."""
    if name == "erf":
        return np.array([math.erf(one) for one in inputs[0].tolist()], np.longdouble)
    if name == "rsqrt":
        return 1 / np.sqrt(inputs[0])
    return getattr(np, NAMES.get(name, name))(*inputs)


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


def test_vectors_have_the_bits_of_single_elements(host: Any) -> None:
    x = samples("f32", 3)
    x = x[: x.size // 8 * 8]
    names = cases(SINGLE)
    y = np.roll(x, 17).copy()
    results: list[list[Array]] = []
    for type in ("f32", "vector<8xf32>"):
        lines = [
            f"%y{i} = math.{name} {'%x0, %x1' if name in ('powf', 'atan2') else '%x0'} : {type}"
            for i, name in enumerate(names)
        ]
        width = 1 if type == "f32" else 8
        outputs = ["f32"] * len(names)
        results.append(host.run("\n".join(lines), [x, y], ["f32", "f32"], outputs, width))
    for name, one, other in zip(names, *results, strict=True):
        assert np.all((one == other) | (np.isnan(one) & np.isnan(other))), name


@pytest.mark.parametrize("type", ["f32", "f16"])
@pytest.mark.parametrize("power", ["i32", "i64"])
def test_integer_powers(host: Any, type: str, power: str) -> None:
    random = np.random.default_rng(5)
    base = (random.standard_normal(4000) * 2).astype(ELEMENTS[type])
    exponent = random.integers(-20, 20, 4000).astype(ELEMENTS[power])
    (found,) = host.run(
        f"%y0 = math.fpowi %x0, %x1 : {type}, {power}", [base, exponent], [type, power], [type]
    )
    check("powf", found, [base, exponent], 0.51)
