"""Programs of one rank over element types and families of kernels, at even, odd, prime, 1 and 0 sizes."""

from __future__ import annotations

import re
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from coconet_ir.program import Program

PROGRAMS = Path(__file__).parent / "programs"
SIZES = ((64, 48), (77, 51), (13, 101), (1, 1), (0, 5), (5, 0), (1, 2053), (4099, 3))
"""N and M: even, odd, prime, 1 and 0; beyond one bucket of a reduction, one block, one warp's row."""


def headers() -> list[tuple[str, str]]:
    """Each program with each of its element types."""
    found: list[tuple[str, str]] = []
    for path in sorted(PROGRAMS.glob("*.mlir")):
        line = path.read_text().partition("\n")[0]
        found += [(path.stem, element) for element in line.removeprefix("// elements: ").split()]
    return found


def shapes(text: str, n: int, m: int) -> dict[str, tuple[int, ...]]:
    """The shapes of arguments that the second line of a program states."""
    (line,) = re.findall(r"^// sizes: (.*)$", text, re.MULTILINE)
    sizes = {"N": n, "M": m}
    pairs = [one.split("=") for one in line.split()]
    return {
        name: tuple(sizes[part] if part in sizes else int(part) for part in shape.split("x"))
        for name, shape in pairs
    }


@pytest.mark.parametrize(("name", "element"), headers())
def test_program(name: str, element: str, checked: Callable[[Program], Any]) -> None:
    """The device gives what the simulator gives."""
    text = (PROGRAMS / f"{name}.mlir").read_text().replace("ELEMENT", element)
    one = checked(Program.parse(text, f"{name}.mlir"))
    for seed, (n, m) in enumerate(SIZES):
        one.check(one.inputs(shapes(text, n, m), {}, seed))


FLOATS = ("f64", "f32", "f16", "bf16", "f8E4M3FN", "f8E5M2")
INTEGERS = ("i64", "i32", "i16", "i8")
BITS = {
    **{"f64": 64, "f32": 32, "f16": 16, "bf16": 16, "f8E4M3FN": 8, "f8E5M2": 8},
    **{"i64": 64, "i32": 32, "i16": 16, "i8": 8},
}


def casts() -> list[tuple[str, str, str]]:
    """Every cast of element types: the operation, from, to."""
    found: list[tuple[str, str, str]] = []
    for one in FLOATS:
        for other in FLOATS:
            if BITS[one] != BITS[other]:
                found.append(("extf" if BITS[one] < BITS[other] else "truncf", one, other))
    for integer in INTEGERS[:2]:
        for real in FLOATS[:4]:
            found += [("sitofp", integer, real), ("uitofp", integer, real)]
            found += [("fptosi", real, integer), ("fptoui", real, integer)]
    for one in INTEGERS:
        for other in INTEGERS:
            if BITS[one] > BITS[other]:
                found += [("trunci", one, other), ("extsi", other, one), ("extui", other, one)]
    return found


@pytest.mark.parametrize("source", [*FLOATS, *INTEGERS])
def test_casts(source: str, checked: Callable[[Program], Any]) -> None:
    """All casts from a type, bit for bit, of numbers near the ends of ranges, NaN and infinities too."""
    ours = [(op, other) for op, one, other in casts() if one == source]
    lines = [
        f"%y{i} = arith.{op} %x : tensor<?x{source}> to tensor<?x{other}>"
        for i, (op, other) in enumerate(ours)
    ]
    names = ", ".join(f"%y{i}" for i in range(len(ours)))
    types = ", ".join(f"tensor<?x{other}>" for _, other in ours)
    body = "\n".join(lines)
    program = Program.parse(
        f"func.func @f(%x: tensor<?x{source}>) -> ({types}) {{ {body} func.return {names} : {types} }}"
    )
    one = checked(program)
    for n in (0, 1, 6, 509):
        made = np.asarray(one.inputs({"x": (n,)}, {}, n)["x"])
        bits = np.random.default_rng(n).integers(0, 256, made.nbytes, np.uint8)
        for given in (made, bits.view(made.dtype).reshape(made.shape)):
            one.check({"x": given})


def test_inputs_of_the_other_sign(checked: Callable[[Program], Any]) -> None:
    """Negative numbers, zeros of both signs, infinities and NaN, in every float type."""
    for element in FLOATS[:4]:
        text = (PROGRAMS / "arithmetic.mlir").read_text().replace("ELEMENT", element)
        one = checked(Program.parse(text, "arithmetic.mlir"))
        inputs = one.inputs({"x": (30, 7), "y": (30, 7)}, {}, 1)
        rng = np.random.default_rng(9)
        special = np.array([0.0, -0.0, np.inf, -np.inf, np.nan, 1.0, -1.5])
        for name in ("x", "y"):
            array = np.asarray(inputs[name])
            inputs[name] = rng.permuted(np.tile(special, (30, 1)), axis=1).astype(array.dtype)
        one.check(inputs)
