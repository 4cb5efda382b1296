"""Custom operations whose rules are wrong are refused where they are defined, right ones are not."""

from __future__ import annotations

import subprocess
import sys
from collections.abc import Callable
from itertools import count
from typing import Any

import numpy as np
import pytest
from numpy.typing import NDArray

from coconet_ir.analysis import check_customs
from coconet_ir.analysis.customs import custom
from coconet_ir.diagnostics import IRError
from coconet_ir.frontend import check, make_context, parse_program

Array = NDArray[Any]
V, M = "tensor<?xf32>", "tensor<?x?xf32>"


def define(rule: str, arguments: str, *body: str, name: str = "f") -> str:
    """A definition; the last line of `body` is what it yields."""
    lines = [*body[:-1], f"comp.yield {body[-1]}"]
    return "\n".join([f"comp.define @{name} rule {rule} {{", f"^bb0({arguments}):", *lines, "}"])


def refused(text: str) -> str:
    """The error that a program gives."""
    with pytest.raises(IRError) as caught:
        parse_program(make_context(), text, "p.mlir")
    return caught.value.render()


X = f"%x: {M}"
RIGHT = {
    "pointwise": define("[m, n] -> [m, n]", X, f"%y = math.tanh %x : {M}", f"%y : {M}"),
    "softmax": define(
        "[m, n] -> [m, n], n = whole", X, f"%y = comp.softmax %x dim 1 : {M}", f"%y : {M}"
    ),
    "matmul": define(
        "[m, k] [k, n] -> [m, n], k = reduction(sum), linear(0, 1)",
        f"%x: {M}, %w: {M}",
        f"%y = comp.matmul %x, %w : ({M}, {M}) -> {M}",
        f"%y : {M}",
    ),
    "sum of exponentials": define(
        "[m, k] -> [m], k = reduction(sum)",
        X,
        f"%e = math.exp %x : {M}",
        f"%y = comp.reduce sum %e dims [1] : {M} -> {V}",
        f"%y : {V}",
    ),
    "two results": define(
        "[m, k] () -> [m] [m, k], k = reduction(max)",
        f"{X}, %s: f32",
        f"%y = comp.reduce max %x dims [1] : {M} -> {V}",
        f"%z = comp.scale %x by %s : {M}",
        f"%y, %z : {V}, {M}",
    ),
    "logarithm of a quotient": define(
        "[m, n] [m, n] -> [m, n]",
        f"{X}, %w: {M}",
        f"%q = arith.divf %x, %w : {M}",
        f"%y = math.log %q : {M}",
        f"%y : {M}",
    ),
    "quotient": define(
        "[m, n] [m, n] -> [m, n], linear(0)",
        f"{X}, %w: {M}",
        f"%q = arith.divf %x, %w : {M}",
        f"%q : {M}",
    ),
    "static whole": define(
        "[m, j] -> [m, j], j = whole",
        "%x: tensor<?x7xbf16>",
        "%y = comp.softmax %x dim 1 : tensor<?x7xbf16>",
        "%y : tensor<?x7xbf16>",
    ),
    "bits": define(
        "[m] -> [m]",
        f"%x: {V}",
        f"%i = arith.bitcast %x : {V} to tensor<?xi32>",
        f"%y = arith.bitcast %i : tensor<?xi32> to {V}",
        f"%y : {V}",
    ),
    "integers": define(
        "[m] [m] -> [m], joint(sum, max)",
        "%x: tensor<?xi32>, %w: tensor<?xi32>",
        "%x : tensor<?xi32>",
    ),
}


@pytest.mark.parametrize("name", RIGHT)
def test_right_definitions_are_accepted(name: str) -> None:
    parse_program(make_context(), RIGHT[name], "p.mlir")


WRONG = {
    "softmax": (
        define("[m, n] -> [m, n]", X, f"%y = comp.softmax %x dim 1 : {M}", f"%y : {M}"),
        "does not compute what its rule says: 'n' is not parallel: with operands",
    ),
    "normalised by its own size": (
        define(
            "[m, k] -> [m], k = reduction(sum)",
            X,
            f"%y = comp.mean %x dims [1] : {M} -> {V}",
            f"%y : {V}",
        ),
        "'k' is no reduction(sum)",
    ),
    "own extent": (
        define(
            "[m] -> [m]",
            f"%x: {V}",
            "%c0 = arith.constant 0 : index",
            f"%n = tensor.dim %x, %c0 : {V}",
            "%i = arith.index_cast %n : index to i64",
            "%r = arith.sitofp %i : i64 to f32",
            f"%y = comp.scale %x by %r : {V}",
            f"%y : {V}",
        ),
        "'m' is not parallel",
    ),
    "position": (
        define(
            "[m] () -> [m]",
            f"%x: {V}, %seed: i64",
            f"%y = comp.dropout %x, %seed {{p = 5.0e-1 : f32, id = 1 : i64}} : {V}",
            f"%y : {V}",
        ),
        "'m' is not parallel",
    ),
    "relu for sum": (
        define("[m] -> [m], joint(sum)", f"%x: {V}", f"%y = math.absf %x : {V}", f"%y : {V}"),
        "the operation is not linear for sum in operand 0",
    ),
    "first element": (
        define(
            "[m] -> [m]",
            f"%x: {V}",
            "%c0 = arith.constant 0 : index",
            f"%n = tensor.dim %x, %c0 : {V}",
            f"%a = tensor.extract %x[%c0] : {V}",
            f"%y = tensor.splat %a[%n] : {V}",
            f"%y : {V}",
        ),
        "'m' is not parallel",
    ),
    "static parallel": (
        define("[m] -> [m]", "%x: tensor<4xf32>", "%x : tensor<4xf32>"),
        "a slice of 'm' has fewer: write ? there, or `m = whole` in the rule",
    ),
    "two sizes": (
        define(
            "[m] [m] -> [m], m = whole",
            "%x: tensor<4xf32>, %y: tensor<5xf32>",
            "%x : tensor<4xf32>",
        ),
        "'m' is both 4 and 5",
    ),
    "never a result": (
        define(
            "[m] -> [m]",
            f"%x: {V}",
            "%c9 = arith.constant 9 : index",
            f"%a = tensor.extract %x[%c9] : {V}",
            f"%x : {V}",
        ),
        "cannot be validated: it has no result for small tensors: 'tensor.extract'",
    ),
    "too large": (
        define("[j] -> [j], j = whole", "%x: tensor<99999999xf32>", "%x : tensor<99999999xf32>"),
        "more than 16384 elements: write ?",
    ),
    "large inside": (
        define(
            "[m] () -> [m]",
            f"%x: {V}, %s: f32",
            "%t = tensor.splat %s : tensor<9999999xf32>",
            f"%x : {V}",
        ),
        "makes a tensor of more than 16384 elements",
    ),
    "large when run": (
        define(
            "[m] () -> [m]",
            f"%x: {V}, %s: f32",
            "%n = arith.constant 99999 : index",
            f"%t = tensor.splat %s[%n] : {V}",
            f"%u = arith.addf %t, %t : {V}",
            f"%x : {V}",
        ),
        "makes more than 16384 elements",
    ),
    "a layout": (
        "layout.mesh @mesh(dp = 2)\n"
        + define(
            "[m] -> [m]",
            f"%x: {V}",
            f"%y = layout.relax %x over [dp] : {V} -> tensor<?xf32, #layout.dist<dp = local>>",
            f"%x : {V}",
        ),
        "'layout.relax' in its body, which says what one rank computes",
    ),
    "number of ranks": (
        "layout.mesh @mesh(dp = 2)\n"
        + define("[m] -> [m]", f"%x: {V}", "%n = layout.axis_size over [dp] : index", f"%x : {V}"),
        "'layout.axis_size' in its body",
    ),
    "itself": (
        define("[m] -> [m]", f"%x: {V}", f"%y = comp.custom @f(%x) : ({V}) -> {V}", f"%y : {V}"),
        "applies @f in its body",
    ),
    "no rule": (
        define(
            "[m] -> [m], m = whole",
            f"%x: {V}",
            f"%y = tensor.cast %x : {V} to tensor<4xf32>",
            f"%x : {V}",
        ),
        "'tensor.cast' in its body",
    ),
    "no element type": (
        define("[m] -> [m]", "%x: tensor<?xi7>", "%x : tensor<?xi7>"),
        "cannot be validated: it has elements of type i7",
    ),
    "too long": (
        define(
            "[m] -> [m]",
            f"%x: {V}",
            *(f"%y{i} = math.absf %x : {V}" for i in range(1000)),
            f"%x : {V}",
        ),
        "has a body of 1001 operations; only 1000 can be validated",
    ),
}


@pytest.mark.parametrize("name", WRONG)
def test_wrong_definitions_are_refused(name: str) -> None:
    text, message = WRONG[name]
    found = refused(text)
    line = 1 + text.startswith("layout.mesh")
    assert found.startswith(f"p.mlir:{line}:1: error: 'comp.define' op "), found
    assert message in found


def test_a_definition_is_validated_once(monkeypatch: pytest.MonkeyPatch) -> None:
    runs: list[object] = []
    original: Callable[..., Any] = check_customs.violations

    def counted(*arguments: object) -> Any:
        runs.append(arguments)
        return original(*arguments)

    monkeypatch.setattr(check_customs, "violations", counted)
    text = define("[p, q] -> [p, q]", X, f"%y = math.cos %x : {M}", f"%y : {M}", name="once")
    for _ in range(3):
        check(parse_program(make_context(), text, "p.mlir"))
    assert len(runs) == 1
    parse_program(make_context(), text.replace("math.cos", "math.sin"), "p.mlir")
    assert len(runs) == 2
    wrong = define("[p, q] -> [p, q]", X, f"%y = comp.softmax %x dim 0 : {M}", f"%y : {M}")
    assert refused(wrong) == refused(wrong)
    assert len(runs) == 3


def test_programs_without_customs_do_not_load_the_simulator() -> None:
    code = (
        "import sys; from coconet_ir.frontend import *; "
        "parse_program(make_context(), 'func.func @f() {func.return}', 'p'); "
        "assert not any(name.startswith('coconet_ir.sim') for name in sys.modules)"
    )
    subprocess.run([sys.executable, "-c", code], check=True)


# In Python

_number = count()


def apply(rule: str, reference: Reference, types: str, result: str) -> str:
    """A program that applies a new custom operation of Python to arguments of these types."""
    name = f"python_{next(_number)}"
    custom(name, rule, reference)
    values = [f"%a{i}" for i, _ in enumerate(types.split(", "))]
    arguments = ", ".join(f"{v}: {t}" for v, t in zip(values, types.split(", "), strict=True))
    return (
        f"func.func @g({arguments}) -> {result} {{\n"
        f"  %y = comp.custom @{name}({', '.join(values)}) : ({types}) -> {result}\n"
        f"  func.return %y : {result}\n}}"
    )


def _softmax(x: Array) -> Array:
    powers = np.exp(x - np.max(x, axis=-1, keepdims=True, initial=0))
    return powers / np.sum(powers, axis=-1, keepdims=True)


def _sums(x: Array) -> Array:
    return np.sum(x, axis=0)


Reference = Callable[[Array], Any] | Callable[[Array, Array], Any]

RIGHT_FUNCTIONS: list[tuple[str, Reference, str, str]] = [
    ("[m, n] -> [m, n]", lambda x: x / (1 + np.exp(-x)), M, M),
    ("[*b, n] -> [*b, n], n = whole", _softmax, "tensor<?x?x?xf32>", "tensor<?x?x?xf32>"),
    ("[m, n] -> [n], m = reduction(sum), joint(sum)", _sums, M, V),
    ("[m, n] () -> [m, n], linear(0)", lambda x, s: x * s, f"{M}, f32", M),
    ("[m, k] [k, n] -> [m, n], k = reduction(sum), linear(0, 1)", np.matmul, f"{M}, {M}", M),
    ("[m, n] -> [n, m], joint(sum, prod, max, min)", np.transpose, M, M),
    (
        "[m, j] -> [m, j], j = whole",
        lambda x: x.reshape(-1, 5),
        "tensor<?x5xf32>",
        "tensor<?x5xf32>",
    ),
]


@pytest.mark.parametrize(("rule", "reference", "types", "result"), RIGHT_FUNCTIONS)
def test_right_functions_are_accepted(
    rule: str, reference: Reference, types: str, result: str
) -> None:
    parse_program(make_context(), apply(rule, reference, types, result), "p.mlir")


def _raises(x: Array) -> Array:
    raise TypeError("no")


def _in_place(x: Array) -> Array:
    x *= 2
    return x


WRONG_FUNCTIONS: list[tuple[str, Reference, str, str, str]] = [
    ("[m, n] -> [m, n]", _softmax, M, M, "'n' is not parallel: with operands"),
    ("[m, n] -> [m, n]", lambda x: np.cumsum(x, axis=0), M, M, "'m' is not parallel"),
    ("[m, n] -> [m, n]", lambda x: x[::-1], M, M, "'m' is not parallel"),
    ("[m, n] -> [m, n]", lambda x: np.sort(x, axis=1), M, M, "'n' is not parallel"),
    ("[m, n] -> [m, n]", np.transpose, M, M, "result 0 has the wrong shape"),
    ("[m, n] -> [n], m = reduction(max)", _sums, M, V, "'m' is no reduction(max)"),
    ("[m, n] -> [m, n], joint(sum)", lambda x: np.maximum(x, 0), M, M, "not linear for sum"),
    ("[m] [m] -> [m]", lambda x, y: x * y.sum(), f"{V}, {V}", V, "'m' is not parallel"),
    (
        "[m] -> [m]",
        _raises,
        V,
        V,
        "cannot be validated: it has no result for small tensors: the Python",
    ),
    ("[m] -> [m]", lambda x: (x, x), V, V, "the Python function gives 2 results, not 1"),
    (
        "[m] -> [m]",
        _in_place,
        V,
        V,
        "the Python function raised ValueError: output array is read-only",
    ),
    ("[m] -> [m]", lambda x: None, V, V, "it returned NoneType, not an array"),
    ("[m] -> [m]", lambda x: list(x), V, V, "it returned list, not an array"),
    ("[m] -> [m]", lambda x: x.astype(object), V, V, "it returned an array of object, not of"),
]


@pytest.mark.parametrize(("rule", "reference", "types", "result", "message"), WRONG_FUNCTIONS)
def test_wrong_functions_are_refused(
    rule: str, reference: Reference, types: str, result: str, message: str
) -> None:
    found = refused(apply(rule, reference, types, result))
    assert found.startswith("p.mlir:2:3: error: 'comp.custom' op "), found
    assert message in found, found
