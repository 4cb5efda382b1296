"""Comparison and selection against NumPy."""

from __future__ import annotations

import operator
from collections.abc import Callable
from typing import Any

import ml_dtypes
import numpy as np
import numpy.typing as npt
import pytest

Array = npt.NDArray[Any]
Evaluate = Callable[..., Any]
Numbers = Callable[..., tuple[Array, ...]]

pytestmark = pytest.mark.filterwarnings("ignore:invalid value")

ORDER: dict[str, Callable[[Any, Any], Any]] = {
    "eq": operator.eq, "ne": operator.ne, "lt": operator.lt, "le": operator.le,
    "gt": operator.gt, "ge": operator.ge,
}  # fmt: skip
UNSIGNED = {"lo": "lt", "ls": "le", "hi": "gt", "hs": "ge"}
FLOATS: dict[str, Any] = {
    "f16": np.float16, "bf16": ml_dtypes.bfloat16, "f32": np.float32, "f64": np.float64,
}  # fmt: skip


def truth(name: str, x: Array, y: Array) -> Array:
    """A comparison of floats as PTX has them."""
    nan = np.isnan(x) | np.isnan(y)
    if name in ("num", "nan"):
        return nan if name == "nan" else ~nan
    if name in ORDER:
        return ORDER[name](x, y) & ~nan
    return ORDER[name[:-1]](x, y) | nan


@pytest.mark.parametrize("bits", [16, 32, 64])
def test_integers(bits: int, evaluate: Evaluate, numbers: Numbers) -> None:
    a, b = numbers(bits, 2, 501)
    b = np.where(np.arange(b.size) % 5 == 0, a, b)
    x, y = a.view(f"i{bits // 8}"), b.view(f"i{bits // 8}")
    for name, function in ORDER.items():
        if name in ("eq", "ne"):
            got = evaluate(f"setp.{name}.b{bits} p, a, b;", p="pred", a=a, b=b)
            np.testing.assert_array_equal(got, function(a, b))
        for type, want in ((f"u{bits}", function(a, b)), (f"s{bits}", function(x, y))):
            got = evaluate(f"setp.{name}.{type} p, a, b;", p="pred", a=a, b=b)
            np.testing.assert_array_equal(got, want, f"{name}.{type}")
    for name, same in UNSIGNED.items():
        got = evaluate(f"setp.{name}.u{bits} p, a, b;", p="pred", a=a, b=b)
        np.testing.assert_array_equal(got, ORDER[same](a, b), name)


@pytest.mark.parametrize("type", FLOATS)
def test_floats(type: str, evaluate: Evaluate, numbers: Numbers) -> None:
    a, b = numbers(np.dtype(FLOATS[type]).itemsize * 8, 2, 501)
    b = np.where(np.arange(b.size) % 5 == 0, a, b)
    x, y = a.view(FLOATS[type]), b.view(FLOATS[type])
    for name in (*ORDER, *(f"{name}u" for name in ORDER), "num", "nan"):
        got = evaluate(f"setp.{name}.{type} p, a, b;", p="pred", a=a, b=b)
        np.testing.assert_array_equal(got, truth(name, x, y), name)


def test_flushed_floats(evaluate: Evaluate) -> None:
    a = np.array([1, 0x80000001, 0x00800000], np.uint32)
    zero = np.zeros_like(a)
    got = evaluate("setp.eq.ftz.f32 p, a, b;", p="pred", a=a, b=zero)
    np.testing.assert_array_equal(got, [True, True, False])
    half = np.array([1, 0x8001, 0x0400], np.uint16)
    got = evaluate("setp.eq.ftz.f16 p, a, b;", p="pred", a=half, b=np.zeros_like(half))
    np.testing.assert_array_equal(got, [True, True, False])


def test_both_results_are_combined(evaluate: Evaluate, numbers: Numbers) -> None:
    a, b = numbers(32, 2, 501)
    x, y = a.view(np.float32), b.view(np.float32)
    c = a % 3 == 0
    less = x < y
    p, q = evaluate("setp.lt.f32 p|q, a, b;", p="pred", q="pred", a=a, b=b)
    np.testing.assert_array_equal(p, less)
    np.testing.assert_array_equal(q, ~less)
    functions: dict[str, Callable[[Array, Array], Array]] = {
        "and": np.logical_and,
        "or": np.logical_or,
        "xor": np.logical_xor,
    }
    for name, function in functions.items():
        body = f"setp.lt.{name}.f32 p|q, a, b, !c;"
        p, q = evaluate(body, p="pred", q="pred", a=a, b=b, c=c)
        np.testing.assert_array_equal(p, function(less, ~c), name)
        np.testing.assert_array_equal(q, function(~less, ~c), name)


@pytest.mark.parametrize("type", ["f16", "bf16"])
def test_pairs_give_two_results(type: str, evaluate: Evaluate, numbers: Numbers) -> None:
    a, b = numbers(16, 2, 501)
    pairs = [x.astype(np.uint32) | x[::-1].astype(np.uint32) << 16 for x in (a, b)]
    less = truth("ltu", a.view(FLOATS[type]), b.view(FLOATS[type]))
    sources = {"a": pairs[0], "b": pairs[1]}
    p, q = evaluate(f"setp.ltu.{type}x2 p|q, a, b;", p="pred", q="pred", **sources)
    np.testing.assert_array_equal(p, less)
    np.testing.assert_array_equal(q, less[::-1])
    one = int(np.array(1, FLOATS[type]).view(np.uint16))
    for result, each in ((f"{type}x2", one), ("u32", 0xFFFF)):
        got = evaluate(f"set.ltu.{result}.{type}x2 r, a, b;", r="b32", **sources)
        part = less.astype(np.uint32) * each
        np.testing.assert_array_equal(got, part | part[::-1] << 16, result)


def test_set(evaluate: Evaluate, numbers: Numbers) -> None:
    a, b = numbers(32, 2, 501)
    c = a % 3 == 0
    less = a.view(np.int32) < b.view(np.int32)
    for result, bits, one in (
        ("u32", 32, 0xFFFFFFFF), ("s32", 32, 0xFFFFFFFF), ("f32", 32, 0x3F800000),
        ("u16", 16, 0xFFFF), ("f16", 16, 0x3C00), ("bf16", 16, 0x3F80),
    ):  # fmt: skip
        got = evaluate(f"set.lt.{result}.s32 r, a, b;", r=f"b{bits}", a=a, b=b)
        np.testing.assert_array_equal(got, less.astype(np.uint64) * one, result)
    got = evaluate("set.lt.xor.u32.s32 r, a, b, c;", r="b32", a=a, b=b, c=c)
    np.testing.assert_array_equal(got, (less ^ c).astype(np.uint64) * 0xFFFFFFFF)


def test_selection(evaluate: Evaluate, numbers: Numbers) -> None:
    for type, bits in (("b16", 16), ("s32", 32), ("f32", 32), ("f64", 64)):
        a, b = numbers(bits, 2, 501)
        p = a % 3 == 0
        got = evaluate(f"selp.{type} r, a, b, p;", r=f"b{bits}", a=a, b=b, p=p)
        np.testing.assert_array_equal(got, np.where(p, a, b), type)
        (c,) = (column[: a.size] for column in numbers(32, 1, a.size))
        got = evaluate(f"slct.{type}.s32 r, a, b, c;", r=f"b{bits}", a=a, b=b, c=c)
        np.testing.assert_array_equal(got, np.where(c.view(np.int32) >= 0, a, b), type)
        got = evaluate(f"slct.{type}.f32 r, a, b, c;", r=f"b{bits}", a=a, b=b, c=c)
        np.testing.assert_array_equal(got, np.where(c.view(np.float32) >= 0, a, b), type)
        tiny = np.full_like(c, 0x80000001)
        got = evaluate(f"slct.ftz.{type}.f32 r, a, b, c;", r=f"b{bits}", a=a, b=b, c=tiny)
        np.testing.assert_array_equal(got, a, type)


@pytest.mark.parametrize(
    ("instruction", "message"),
    [
        ("setp.s32 p, a, b", "does not say how it compares"),
        ("setp.lo.s32 p, a, b", ".lo, which .s32 does not have"),
        ("setp.lt.b32 p, a, b", ".lt, which .b32 does not have"),
        ("setp.lo.f32 p, a, b", ".lo, which .f32 does not have"),
        ("setp.equ.s32 p, a, b", ".equ, which .s32 does not have"),
        ("setp.lt.s32 p, a, b, p", "operands"),
        ("setp.lt.and.s32 p, a, b", "operands"),
        ("setp.lt.s32 p, a", "operands"),
        ("set.lt.u64.s32 d, a, b", "which set does not have"),
        ("set.lt.f16x2.f16 d, a, b", "compares .f16"),
        ("slct.u8.s32 d, a, b, c", "which slct does not have"),
        ("selp.b32 d, a, b", "has 3 operands"),
    ],
)
def test_refusals(instruction: str, message: str, refuse: Callable[[str], str]) -> None:
    assert message in refuse(f"{instruction};")
