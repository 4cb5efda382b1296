"""Arithmetic of f32 and f64 (PTX ISA, section 9.7.3), but for approximations.

A NaN that an f32 instruction computes is the one of NVIDIA's devices, 0x7fffffff; PTX leaves it open. f64 keeps
payloads where the host does, and `abs`, `neg` and `copysign` of it only touch the sign.

`.ftz` makes a zero of a result that is below the least normal number when rounded as if exponents had no bound (IEEE
754's tininess after rounding), as NVIDIA's devices do. Some of these would be rounded up to the least normal number, as
subnormal numbers have fewer bits. PTX does not say which is meant.
"""

from __future__ import annotations

import math
import struct
from collections.abc import Sequence

from coconet_ir.emu.code.helpers.formats import FORMATS, Format
from coconet_ir.emu.code.helpers.rounding import DIRECTED
from coconet_ir.emu.code.kinds import FLOATS, take, typed, values
from coconet_ir.emu.code.table import Modifiers
from coconet_ir.emu.code.writer import Writer, llvm_type
from coconet_ir.emu.ptx.syntax import Instruction, width

ROUNDINGS = ("rn", *DIRECTED)
CANONICAL = {"f32": 0x7FFFFFFF, "f64": 0x7FFFFFFFFFFFFFFF}
"""The NaN that instructions give which have a canonical one."""

_NATIVE = {"add": "fadd", "sub": "fsub", "mul": "fmul", "div": "fdiv"}
_LEAST = {"f32": 0x00800000, "f64": 1 << 52}
"""The bits of the least normal number."""


def canonical(w: Writer, type: str, value: str) -> str:
    """A value, with the canonical NaN in place of any other."""
    nan = w.let(f"fcmp uno {llvm_type(type)} {value}, {value}")
    bits = w.let(
        f"select i1 {nan}, i{width(type)} {CANONICAL[type]}, i{width(type)} {w.uncast(value, type)}"
    )
    return w.cast(bits, type)


def flush(w: Writer, type: str, value: str) -> str:
    """A value, with a zero of its sign in place of a subnormal one."""
    n, llvm = width(type), llvm_type(type)
    size = w.let(f"call {llvm} @llvm.fabs.{type}({llvm} {value})")
    small = w.let(f"icmp ult i{n} {w.uncast(size, type)}, {_LEAST[type]}")
    zero = w.let(f"call {llvm} @llvm.copysign.{type}({llvm} 0.0, {llvm} {value})")
    return w.let(f"select i1 {small}, {llvm} {zero}, {llvm} {value}")


def flush_tiny(w: Writer, format: Format, mode: str, exact: str, type: str, value: str) -> str:
    """A rounded value, with a zero of its sign if it would be below the least normal number in any exponent range.

    `exact` is the double that was rounded to the format; it may have been rounded to odd. What is not below that number
    after rounding is what lies nearer to it than to the number before, or above that if rounded away from zero.
    """
    llvm = llvm_type(type)
    least = math.ldexp(1, 2 - (1 << format.exponent - 1))
    nearest = least - math.ldexp(least, -format.mantissa - 2)
    away = math.nextafter(least - math.ldexp(least, -format.mantissa - 1), least)
    limits = {"rn": (nearest, nearest), "rm": (away, least), "rp": (least, away)}
    below, above = (f"0x{_bits(limit):016X}" for limit in limits.get(mode, (least, least)))
    negative = w.let(f"fcmp olt double {exact}, 0.0")
    limit = w.let(f"select i1 {negative}, double {below}, double {above}")
    size = w.let(f"call double @llvm.fabs.f64(double {exact})")
    tiny = w.let(f"fcmp olt double {size}, {limit}")
    zero = w.let(f"call {llvm} @llvm.copysign.{type}({llvm} 0.0, {llvm} {value})")
    return w.let(f"select i1 {tiny}, {llvm} {zero}, {llvm} {value}")


def _bits(value: float) -> int:
    return int.from_bytes(struct.pack(">d", value))


def saturate(w: Writer, type: str, value: str) -> str:
    """A value, clamped to 0 and 1; 0 for NaN."""
    llvm = llvm_type(type)
    positive = w.let(f"fcmp ogt {llvm} {value}, 0.0")
    low = w.let(f"select i1 {positive}, {llvm} {value}, {llvm} 0.0")
    great = w.let(f"fcmp ogt {llvm} {low}, 1.0")
    return w.let(f"select i1 {great}, {llvm} 1.0, {llvm} {low}")


def finish(w: Writer, type: str, value: str, sat: bool = False) -> str:
    """What an instruction makes of its rounded result."""
    if sat:
        return saturate(w, type, value)
    return canonical(w, type, value) if type == "f32" else value


def sources(w: Writer, i: Instruction, m: Modifiers, type: str, count: int, ftz: bool) -> list[str]:
    """The sources, flushed if the instruction says so."""
    read = values(w, i, m, type, count)
    return [flush(w, type, value) for value in read] if ftz else read


def single(m: Modifiers, type: str, name: str) -> bool:
    """Take a modifier that f32 alone has."""
    return type == "f32" and m.flag(name)


def rounded(w: Writer, operation: str, type: str, mode: str, arguments: Sequence[str]) -> str:
    """The rounded result of an operation."""
    llvm = llvm_type(type)
    if mode != "rn":
        return w.call(f"{operation}.{type}.{mode}", llvm, *((llvm, value) for value in arguments))
    if operation in _NATIVE:
        return w.let(f"{_NATIVE[operation]} {llvm} {', '.join(arguments)}")
    passed = ", ".join(f"{llvm} {value}" for value in arguments)
    return w.let(f"call {llvm} @llvm.{operation}.{type}({passed})")


def flushed(w: Writer, operation: str, mode: str, arguments: Sequence[str], result: str) -> str:
    """The rounded f32 result of an operation with `.ftz`, given its flushed arguments."""
    if operation not in ("mul", "div", "fma"):  # others of f32 are exact if they are subnormal
        return flush(w, "f32", result)
    wide = [w.let(f"fpext float {value} to double") for value in arguments]
    if operation == "fma":
        exact = w.call("fma.odd", "double", *(("double", value) for value in wide))
    else:  # no quotient is so near to a limit of `flush_tiny` that a double could not tell
        exact = w.let(f"f{operation} double {', '.join(wide)}")
    return flush_tiny(w, FORMATS["f32"], mode, exact, "f32", result)


@typed("add", "sub", "mul", types=FLOATS)
def _two(w: Writer, i: Instruction, m: Modifiers, type: str) -> None:
    _write_rounded(w, i, m, type, i.opcode, 2, m.one_of(ROUNDINGS, "rn"))


@typed("fma", "mad", types=FLOATS)
def _fused(w: Writer, i: Instruction, m: Modifiers, type: str) -> None:
    _write_rounded(w, i, m, type, "fma", 3, rounding(m))


def rounding(m: Modifiers) -> str:
    """Take the rounding, which there must be. Raises `Refused`."""
    mode = m.one_of(ROUNDINGS)
    if not mode:
        raise m.refuse("does not say how it rounds")
    return mode


def _write_rounded(
    w: Writer, i: Instruction, m: Modifiers, type: str, operation: str, count: int, mode: str
) -> None:
    ftz, sat = single(m, type, "ftz"), single(m, type, "sat")
    arguments = sources(w, i, m, type, count, ftz)
    result = rounded(w, operation, type, mode, arguments)
    result = flushed(w, operation, mode, arguments, result) if ftz else result
    w.write(i.operands[0], type, finish(w, type, result, sat), i)


@typed("add", "sub", "mul", "fma", types=("f32x2",))
def _pairs(w: Writer, i: Instruction, m: Modifiers, type: str) -> None:
    """Two f32 in 64 bits, each by itself."""
    mode = rounding(m) if i.opcode == "fma" else m.one_of(ROUNDINGS, "rn")
    ftz = m.flag("ftz")
    read = values(w, i, m, type, 3 if i.opcode == "fma" else 2)
    whole = "0"
    for low in (0, 32):
        parts = [w.let(f"lshr i64 {value}, {low}") for value in read]
        given = [w.cast(w.resize(part, 64, 32, False), "f32") for part in parts]
        if ftz:
            given = [flush(w, "f32", value) for value in given]
        result = rounded(w, i.opcode, "f32", mode, given)
        result = flushed(w, i.opcode, mode, given, result) if ftz else result
        result = finish(w, "f32", result)
        wide = w.resize(w.uncast(result, "f32"), 32, 64, False)
        whole = w.let(f"or i64 {whole}, {w.let(f'shl i64 {wide}, {low}')}")
    w.write(i.operands[0], type, whole, i)


def divide(w: Writer, i: Instruction, m: Modifiers, type: str) -> None:
    """`div.rn` and so on, also `rcp` and `sqrt`: the correctly rounded ones."""
    ftz = single(m, type, "ftz")
    mode = rounding(m)
    if i.opcode == "rcp":
        arguments = ["1.0", *sources(w, i, m, type, 1, ftz)]
    else:
        arguments = sources(w, i, m, type, 1 if i.opcode == "sqrt" else 2, ftz)
    operation = "sqrt" if i.opcode == "sqrt" else "div"
    result = rounded(w, operation, type, mode, arguments)
    result = flushed(w, operation, mode, arguments, result) if ftz else result
    w.write(i.operands[0], type, finish(w, type, result), i)


@typed("neg", types=FLOATS)
def _neg(w: Writer, i: Instruction, m: Modifiers, type: str) -> None:
    (a,) = sources(w, i, m, type, 1, single(m, type, "ftz"))
    w.write(i.operands[0], type, finish(w, type, w.let(f"fneg {llvm_type(type)} {a}")), i)


@typed("abs", types=FLOATS)
def _abs(w: Writer, i: Instruction, m: Modifiers, type: str) -> None:
    (a,) = sources(w, i, m, type, 1, single(m, type, "ftz"))
    llvm = llvm_type(type)
    result = w.let(f"call {llvm} @llvm.fabs.{type}({llvm} {a})")
    w.write(i.operands[0], type, finish(w, type, result), i)


@typed("copysign", types=FLOATS)
def _copysign(w: Writer, i: Instruction, m: Modifiers, type: str) -> None:
    """`copysign d, a, b` has the sign of a and the magnitude of b."""
    a, b = values(w, i, m, type, 2)
    llvm = llvm_type(type)
    result = w.let(f"call {llvm} @llvm.copysign.{type}({llvm} {b}, {llvm} {a})")
    w.write(i.operands[0], type, result, i)


def extreme(w: Writer, opcode: str, type: str, a: str, b: str, propagate: bool) -> str:
    """The least or greatest of two: -0 is below +0, and one NaN is passed over unless `propagate`."""
    llvm = llvm_type(type)
    what = {"min": "minimum", "max": "maximum"}[opcode] + ("" if propagate else "num")
    return w.let(f"call {llvm} @llvm.{what}.{type}({llvm} {a}, {llvm} {b})")


@typed("min", "max", types=FLOATS)
def _extreme(w: Writer, i: Instruction, m: Modifiers, type: str) -> None:
    """Also of three f32; `.xorsign.abs` of two gives the product's sign to the extreme of the magnitudes."""
    ftz, nan = single(m, type, "ftz"), single(m, type, "NaN")
    count = 3 if type == "f32" and len(i.operands) == 4 else 2
    xor = count == 2 and single(m, type, "xorsign")
    sizes = (xor or count == 3) and single(m, type, "abs")
    if xor and not sizes:
        raise m.refuse("has .xorsign without .abs")
    read = sources(w, i, m, type, count, ftz)
    llvm = llvm_type(type)
    given = read
    if sizes:
        given = [w.let(f"call {llvm} @llvm.fabs.{type}({llvm} {value})") for value in read]
    result = given[0]
    for value in given[1:]:
        result = extreme(w, i.opcode, type, result, value, nan)
    if xor:
        signs = w.let(f"xor i32 {w.uncast(read[0], type)}, {w.uncast(read[1], type)}")
        sign = w.cast(signs, type)
        result = w.let(f"call {llvm} @llvm.copysign.{type}({llvm} {result}, {llvm} {sign})")
    w.write(i.operands[0], type, finish(w, type, result), i)


@typed("testp", types=FLOATS)
def _testp(w: Writer, i: Instruction, m: Modifiers, type: str) -> None:
    """Whether a number is of a class, by the bits without the sign."""
    what = m.one_of(("finite", "infinite", "number", "notanumber", "normal", "subnormal"))
    if not what:
        raise m.refuse("does not say what it tests")
    n = width(type)
    bits = w.uncast(w.value(take(i, m, 2)[1], type, i), type)
    size = w.let(f"and i{n} {bits}, {(1 << n - 1) - 1}")
    infinity = {"f32": 0x7F800000, "f64": 0x7FF << 52}[type]
    compare = {
        "finite": f"ult i{n} {size}, {infinity}",
        "infinite": f"eq i{n} {size}, {infinity}",
        "number": f"ule i{n} {size}, {infinity}",
        "notanumber": f"ugt i{n} {size}, {infinity}",
    }
    if what in compare:
        result = w.let(f"icmp {compare[what]}")
    else:
        first, beyond = (_LEAST[type], infinity) if what == "normal" else (1, _LEAST[type])
        moved = w.let(f"sub i{n} {size}, {first}")
        result = w.let(f"icmp ult i{n} {moved}, {beyond - first}")
        if what == "normal":  # zero is said to be normal
            zero = w.let(f"icmp eq i{n} {size}, 0")
            result = w.let(f"or i1 {result}, {zero}")
    w.write(i.operands[0], "pred", result, i)
