"""`arith`, `math` and `tensor`: spelling, round trips and verification, against upstream MLIR 22.

Where `mlir-opt-22` is installed, and always in CI, upstream itself is the reference: it must read what we print, and we
what it prints, and both must refuse the same programs.
"""

from __future__ import annotations

import os
import re
import shutil
import subprocess
from collections.abc import Iterator
from itertools import product
from pathlib import Path

import pytest
from xdsl.context import Context
from xdsl.dialects import test
from xdsl.dialects.arith import FastMathFlagsAttr
from xdsl.dialects.builtin import (
    DYNAMIC_INDEX,
    BFloat16Type,
    Builtin,
    Float8E4M3FNType,
    Float8E5M2Type,
    Float16Type,
    Float32Type,
    Float64Type,
    IndexType,
    IntegerType,
    ModuleOp,
    NoneAttr,
    TensorType,
    f16,
    f32,
    i1,
    i32,
)
from xdsl.dialects.func import Func
from xdsl.ir import Attribute, Operation, SSAValue
from xdsl.parser import Parser
from xdsl.utils.exceptions import VerifyException

from coconet_ir.analysis.dist import Cut, Dist
from coconet_ir.dialects import arith, arith_casts, layout, math, tensor
from coconet_ir.dialects.attributes import DistAttr
from coconet_ir.xdsl_compat import print_module

MLIR_OPT = shutil.which("mlir-opt-22")
PROGRAM = Path(__file__).with_name("upstream_operations.mlir").read_text()
SLICED = DistAttr(Dist.of([Cut(("tp",), 0)]))


def parse(text: str) -> ModuleOp:
    """The verified module that `text` states, read with our dialects."""
    ctx = Context()
    for dialect in (Builtin, Func, arith.Arith, math.Math, tensor.Tensor, layout.Layout):
        ctx.load_dialect(dialect)
    module = Parser(ctx, text).parse_module()
    module.verify()
    return module


def encoded(text: str) -> str:
    """The text with dimension 0 of every tensor sliced."""
    return re.sub(r"(tensor<[\d?]+x[^<>]*)>", rf"\1, {SLICED}>", text)


def mlir_opt(text: str, *options: str) -> subprocess.CompletedProcess[str]:
    """What upstream makes of `text`; to be called only where it is installed."""
    command = [MLIR_OPT or "mlir-opt-22", "--allow-unregistered-dialect", *options]
    return subprocess.run(command, input=text, capture_output=True, text=True, timeout=60)


def upstream_spellings(text: str) -> Iterator[str]:
    """How upstream prints the program, in custom and in generic form; nothing where it is not installed."""
    if MLIR_OPT is not None:
        for options in ((), ("--mlir-print-op-generic",)):
            ran = mlir_opt(text, *options)
            assert ran.returncode == 0, ran.stderr
            yield ran.stdout


def verifies(op: Operation) -> bool:
    try:
        op.verify()
    except VerifyException:
        return False
    return True


def value(type: Attribute) -> SSAValue:
    """Some value of this type."""
    return test.TestOp(result_types=(type,)).results[0]


# Text


def test_upstream_is_the_reference_in_ci() -> None:
    assert MLIR_OPT is not None or not os.environ.get("CI"), "CI needs mlir-opt-22 (mlir-22-tools)"


def test_the_program_holds_every_operation() -> None:
    expected = {op.name for op in (*arith.Arith.operations, *math.Math.operations)}
    expected |= {"tensor.splat", "tensor.dim", "tensor.extract"}
    assert set(re.findall(r'"(\w+\.\w+)"', PROGRAM)) == expected


@pytest.mark.parametrize("text", [PROGRAM, encoded(PROGRAM)], ids=["plain", "encoded"])
@pytest.mark.parametrize("generic", [True, False])
def test_what_is_printed_is_read_by_us_and_by_upstream(text: str, generic: bool) -> None:
    module = parse(text)
    printed = print_module(module, generic=generic)
    for again in (printed, *upstream_spellings(printed)):
        assert parse(again).is_structurally_equivalent(module)


def test_our_custom_form_is_upstreams() -> None:
    printed = print_module(parse(PROGRAM))
    assert len(spelling(printed)) == PROGRAM.count('  "')
    for theirs in list(upstream_spellings(printed))[:1]:
        assert spelling(theirs) == spelling(printed)


def spelling(text: str) -> list[str]:
    """The lines that define values, without names of values and optional spaces, in lower case."""
    found = [line.strip().lower() for line in text.splitlines() if " = " in line]
    return [re.sub(r", ", ",", re.sub(r"%\w+(:\d+)?", "%", line)) for line in found]


def test_flags_stand_where_upstream_has_them() -> None:
    text = print_module(parse(PROGRAM))
    assert "math.isnan %sf {fastmath = #arith.fastmath<ninf>} : f64" in text
    assert "math.exp %sf fastmath<fast> : f64" in text
    assert "arith.cmpf oeq, %sf, %sf fastmath<reassoc> : f64" in text
    assert "arith.trunci %si overflow<nsw> : i64 to i8" in text


REFUSED = """
"arith.cmpf"(%f, %f) <{predicate = 16 : i64}> : (!f, !f) -> !b
"arith.cmpi"(%i, %i) <{predicate = 0 : i32}> : (!i, !i) -> !b
"arith.cmpi"(%i, %i) <{predicate = 0 : i64}> : (!i, !i) -> i1
"arith.cmpi"(%i, %i) <{predicate = 0 : i64}> : (!i, !i) -> tensor<4x4xi1>
"arith.cmpi"(%f, %f) <{predicate = 0 : i64}> : (!f, !f) -> !b
"arith.select"(%i, %f, %f) : (!i, !f, !f) -> !f
"arith.select"(%b, %sf, %sf) : (!b, f64, f64) -> f64
"arith.remf"(%f, %h) : (!f, !h) -> !f
"arith.sitofp"(%i) : (!i) -> tensor<?x?xf32>
"arith.sitofp"(%i) : (!i) -> f32
"arith.extf"(%h) : (!h) -> tensor<5x?xf32>
"arith.bitcast"(%f) : (!f) -> tensor<?x4xi32>
"arith.addui_extended"(%i, %i) : (!i, !i) -> (!i, i1)
"math.isnan"(%f) : (!f) -> i1
"math.isinf"(%i) : (!i) -> !b
"math.fpowi"(%f, %si) : (!f, i64) -> !f
"math.fpowi"(%f, %f) : (!f, !f) -> !f
"tensor.splat"(%sf) : (f64) -> tensor<?xf64>
"tensor.splat"(%sf, %sn) : (f64, index) -> tensor<4xf64>
"tensor.extract"(%f, %sn) : (!f, index) -> f32
"tensor.extract"(%f, %sn, %sn) : (!f, index, index) -> f16
"""


@pytest.mark.parametrize("line", REFUSED.split("\n")[1:-1])
def test_what_is_wrong_is_refused_by_us_and_by_upstream(line: str) -> None:
    types = {"f": "f32", "h": "f16", "i": "i32", "b": "i1"}
    aliases = "".join(f"!{name} = tensor<4x?x{element}>\n" for name, element in types.items())
    arguments = "%f: !f, %h: !h, %i: !i, %b: !b, %sf: f64, %si: i64, %sn: index"
    text = f"{aliases}func.func @f({arguments}) {{\n{line}\nfunc.return\n}}\n"
    with pytest.raises(VerifyException):
        parse(text)
    assert MLIR_OPT is None or mlir_opt(text).returncode != 0


# Conversions


FLOATS = (
    Float64Type(),
    Float32Type(),
    Float16Type(),
    BFloat16Type(),
    Float8E4M3FNType(),
    Float8E5M2Type(),
)
INTEGERS = tuple(IntegerType(bits) for bits in (64, 32, 8, 1))
ELEMENTS = (*FLOATS, *INTEGERS, IndexType())
CASTS: tuple[type[arith_casts.Cast], ...] = (
    arith_casts.SIToFPOp,
    arith_casts.UIToFPOp,
    arith_casts.FPToSIOp,
    arith_casts.FPToUIOp,
    arith_casts.ExtFOp,
    arith_casts.TruncFOp,
    arith_casts.ExtSIOp,
    arith_casts.ExtUIOp,
    arith_casts.TruncIOp,
    arith_casts.IndexCastOp,
    arith_casts.IndexCastUIOp,
    arith_casts.BitcastOp,
)


def is_allowed(name: str, source: Attribute, target: Attribute) -> bool:
    """Whether upstream's documentation allows the conversion."""
    index = [isinstance(e, IndexType) for e in (source, target)]
    floats = [e in FLOATS for e in (source, target)]
    if name.startswith("arith.index_cast"):
        return index.count(True) == 1 and not any(floats)
    if any(index):
        return False
    before, after = (int(re.findall(r"\d+", str(e))[0]) for e in (source, target))
    match name.removeprefix("arith."):
        case "sitofp" | "uitofp":
            return floats == [False, True]
        case "fptosi" | "fptoui":
            return floats == [True, False]
        case "extf":
            return all(floats) and after > before
        case "truncf":
            return all(floats) and after < before
        case "extsi" | "extui":
            return not any(floats) and after > before
        case "trunci":
            return not any(floats) and after < before
        case _:
            return before == after


def tensor_of(
    element: Attribute,
    shape: tuple[int, ...] = (3, DYNAMIC_INDEX),
    encoding: Attribute | None = None,
) -> TensorType:
    return TensorType(element, shape, encoding or NoneAttr())


def test_conversions_of_every_pair_of_elements() -> None:
    chunks: list[str] = []
    allowed: list[bool] = []
    for cast, source, target in product(CASTS, ELEMENTS, ELEMENTS):
        allowed.append(is_allowed(cast.name, source, target))
        plain, sliced = (
            cast(value(tensor_of(source, encoding=e)), tensor_of(target, encoding=e))
            for e in (None, SLICED)
        )
        found = [verifies(op) for op in (cast(value(source), target), plain, sliced)]
        assert found == allowed[-1:] * 3, f"{cast.name} : {source} to {target}"
        made = f'%0 = "test.value"() : () -> {source}'
        chunks.append(f'{made} %1 = "{cast.name}"(%0) : ({source}) -> {target}')
    if MLIR_OPT is not None:
        ran = mlir_opt("\n// -----\n".join(chunks), "--split-input-file", "-o", os.devnull)
        wrong = re.findall(r"^<stdin>:(\d+):\d+: error", ran.stderr, re.MULTILINE)
        lines = {int(line) for line in wrong}
        assert [2 * i + 1 not in lines for i in range(len(chunks))] == allowed


@pytest.mark.parametrize("cast", CASTS)
def test_conversions_keep_shape_and_layout(cast: type[arith_casts.Cast]) -> None:
    source, target = next(p for p in product(ELEMENTS, ELEMENTS) if is_allowed(cast.name, *p))
    other = DistAttr(Dist.of([Cut(("tp",), 1)]))
    frames = [
        *(((3, DYNAMIC_INDEX), encoding) for encoding in (None, SLICED, other)),
        *((shape, None) for shape in ((DYNAMIC_INDEX, 3), (3,), (3, 4))),
    ]
    for before, after in product(frames, frames):
        op = cast(value(tensor_of(source, *before)), tensor_of(target, *after))
        assert verifies(op) == (before == after)


# Operations made in Python


def test_constructors_make_what_the_text_makes() -> None:
    x, h, n = value(f32), value(f16), value(i32)
    t, k = value(tensor_of(f32)), value(tensor_of(i32))
    fast = FastMathFlagsAttr("fast")
    less = arith.CmpfOp(t, t, "olt", fast)
    made = [
        less,
        arith.CmpiOp(n, n, "uge"),
        arith.SelectOp(less, t, t),
        arith.AddUIExtendedOp(k, k),
        arith.RemFOp(x, x),
        arith.RemUIOp(k, k),
        arith_casts.ExtFOp(h, f32),
        arith_casts.TruncIOp(n, i1),
        math.IsNaNOp(t),
        math.IsInfOp(x, fast),
        math.FPowIOp(t, k, fast),
        tensor.ExtractOp(value(tensor_of(f32, ()))),
    ]
    assert all(map(verifies, made))
    text = [str(op).split(" = ", 1)[1] for op in made]
    assert text[0].startswith("arith.cmpf olt, %1, %1 fastmath<fast> : tensor<3x")
    assert text[1] == "arith.cmpi uge, %1, %1 : i32"
    assert text[9] == "math.isinf %1 {fastmath = #arith.fastmath<fast>} : f32"
    assert less.result.type == tensor_of(i1)
    with pytest.raises(ValueError, match="not in tuple"):
        arith.CmpfOp(x, x, "slt")
