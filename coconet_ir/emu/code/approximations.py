"""Division and the functions that PTX approximates (PTX ISA, sections 9.7.3.8 to 9.7.3.22, 9.7.4.9, 9.7.4.10).

A device computes `.approx` and `.full` by tables that no document gives. Here each is the exact function, computed by
the host in double and rounded to nearest; `APPROXIMATIONS` says how far a device's result may be from the exact one.
What the tables of special inputs say holds exactly. PTX without `.approx`, `.full` or a rounding is refused: it is of
version 1.3.
"""

from __future__ import annotations

from collections.abc import Mapping

from coconet_ir.emu.code.floats import divide, finish, flush, sources
from coconet_ir.emu.code.halves import by_lane, flush_half, narrow, widen
from coconet_ir.emu.code.kinds import FLOATS, HALVES, typed, values
from coconet_ir.emu.code.table import Modifiers
from coconet_ir.emu.code.writer import Writer
from coconet_ir.emu.ptx.syntax import Instruction

APPROXIMATIONS: Mapping[str, str] = {
    "div.approx.f32": "2 ulp if the divisor is in [2^-126, 2^126]; above it, 0, or NaN for an infinite dividend",
    "div.full.f32": "2 ulp",
    "rcp.approx.f32": "1 ulp",
    "sqrt.approx.f32": "relative 2^-23",
    "rsqrt.approx.f32": "relative 2^-22.9",
    "sin.approx.f32": "absolute 2^-20.5 in [-2 pi, 2 pi], 2^-14.7 in [-100 pi, 100 pi], open outside",
    "cos.approx.f32": "absolute 2^-20.5 in [-2 pi, 2 pi], 2^-14.7 in [-100 pi, 100 pi], open outside",
    "lg2.approx.f32": "absolute 2^-22 in (0.5, 2), else relative 2^-22",
    "ex2.approx.f32": "2 ulp",
    "tanh.approx.f32": "relative 2^-11",
    "ex2.approx.f16": "relative 2^-9.9",
    "ex2.approx.bf16": "relative 2^-7",
    "tanh.approx.f16": "absolute 2^-10.987",
    "tanh.approx.bf16": "absolute 2^-8",
    "rcp.approx.ftz.f64": "not stated; the low 32 bits of operand and result do not count",
    "rsqrt.approx.ftz.f64": "not stated; the low 32 bits of operand and result do not count",
    "rsqrt.approx.f64": "not stated",
}
"""The greatest distance of a device's result from the exact one, as the PTX ISA states it."""

_OPCODES = {"lg2": "log2", "ex2": "exp2"}


def exact(w: Writer, opcode: str, x: str) -> str:
    """The function of an opcode, of a double."""
    if opcode == "rcp":
        return w.let(f"fdiv double 1.0, {x}")
    if opcode == "rsqrt":
        return w.let(f"fdiv double 1.0, {exact(w, 'sqrt', x)}")
    return w.let(f"call double @llvm.{_OPCODES.get(opcode, opcode)}.f64(double {x})")


@typed("div", "rcp", "sqrt", types=FLOATS)
def _divide(w: Writer, i: Instruction, m: Modifiers, type: str) -> None:
    if type == "f32" and i.opcode == "div" and (way := m.one_of(("approx", "full"))):
        return _quotient(w, i, m, way)
    if m.flag("approx"):
        if type == "f64" and i.opcode != "rcp":
            raise m.refuse("is of f64, which has no .approx here")
        return _function(w, i, m, type)
    divide(w, i, m, type)


def _quotient(w: Writer, i: Instruction, m: Modifiers, way: str) -> None:
    """An approximate quotient. `.approx` multiplies by a reciprocal, which is zero above 2^126."""
    ftz = m.flag("ftz")
    a, b = (w.let(f"fpext float {x} to double") for x in sources(w, i, m, "f32", 2, ftz))
    result = w.let(f"fdiv double {a}, {b}")
    if way == "approx":
        size = w.let(f"call double @llvm.fabs.f64(double {b})")
        great = w.let(f"fcmp ogt double {size}, {_hex(126)}")
        zero = w.let(f"call double @llvm.copysign.f64(double 0.0, double {b})")
        none = w.let(f"fmul double {a}, {zero}")
        result = w.let(f"select i1 {great}, double {none}, double {result}")
    _write_single(w, i, result, ftz)


def _hex(power: int) -> str:
    """A power of two as an LLVM constant."""
    return f"0x{1023 + power << 52:016X}"


def _write_single(w: Writer, i: Instruction, result: str, ftz: bool) -> None:
    rounded = w.let(f"fptrunc double {result} to float")
    rounded = flush(w, "f32", rounded) if ftz else rounded
    w.write(i.operands[0], "f32", finish(w, "f32", rounded), i)


@typed("rsqrt", types=FLOATS)
@typed("sin", "cos", "lg2", types=("f32",))
def _approximate(w: Writer, i: Instruction, m: Modifiers, type: str) -> None:
    if not m.flag("approx"):
        raise m.refuse("is not .approx")
    _function(w, i, m, type)


def _function(w: Writer, i: Instruction, m: Modifiers, type: str) -> None:
    """An approximate function of f32 or f64, whose `.approx` has been taken."""
    ftz = i.opcode != "tanh" and m.flag("ftz")
    if type == "f64":
        if not ftz and i.opcode != "rsqrt":
            raise m.refuse("has no .ftz")
        return _double(w, i, m, ftz)
    (a,) = sources(w, i, m, type, 1, ftz)
    _write_single(w, i, exact(w, i.opcode, w.let(f"fpext float {a} to double")), ftz)


def _double(w: Writer, i: Instruction, m: Modifiers, gross: bool) -> None:
    """`rcp` and `rsqrt` of f64; the gross ones read and write the upper 32 bits, and have a canonical NaN."""
    (a,) = values(w, i, m, "f64", 1)
    if gross:
        upper = w.let(f"and i64 {w.uncast(a, 'f64')}, {-(1 << 32)}")
        a = flush(w, "f64", w.cast(upper, "f64"))
    result = exact(w, i.opcode, a)
    if gross:
        bits = w.uncast(flush(w, "f64", result), "f64")
        near = w.let(f"add i64 {bits}, {1 << 31}")
        nan = w.let(f"fcmp uno double {result}, {result}")
        chosen = w.let(f"select i1 {nan}, i64 {0x7FFFFFFF << 32}, i64 {near}")
        result = w.cast(w.let(f"and i64 {chosen}, {-(1 << 32)}"), "f64")
    w.write(i.operands[0], "f64", result, i)


@typed("ex2", "tanh", types=("f32", *HALVES))
def _halves(w: Writer, i: Instruction, m: Modifiers, type: str) -> None:
    """Of halves, ex2 of bf16 alone flushes, and must say so."""
    if not m.flag("approx"):
        raise m.refuse("is not .approx")
    if type == "f32":
        return _function(w, i, m, type)
    ftz = i.opcode == "ex2" and type.startswith("bf16")
    if ftz and not m.flag("ftz"):
        raise m.refuse("has no .ftz")

    def operation(element: str, column: list[str]) -> str:
        value = flush_half(w, element, column[0]) if ftz else column[0]
        result = narrow(w, element, "rn", exact(w, i.opcode, widen(w, element, value)))
        return flush_half(w, element, result) if ftz else result

    w.write(i.operands[0], type, by_lane(w, type, values(w, i, m, type, 1), operation), i)
