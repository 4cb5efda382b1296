"""What the tests of instructions share: straight-line PTX as a function on arrays, and numbers to try it with."""

from __future__ import annotations

import ctypes
import itertools
import math
from collections.abc import Callable
from fractions import Fraction
from importlib import import_module
from typing import Any

import numpy as np
import numpy.typing as npt
import pytest

from coconet_ir.emu.code.entries import write_instruction
from coconet_ir.emu.code.helpers import helper_text
from coconet_ir.emu.code.table import Refused
from coconet_ir.emu.code.writer import Writer
from coconet_ir.emu.ptx.parse import parse_ptx
from coconet_ir.emu.ptx.syntax import Function, Instruction, width

llvm: Any = import_module("llvmlite.binding")
import_module("coconet_ir.emu.code.entries")  # it fills the table

Array = npt.NDArray[Any]
Evaluate = Callable[..., Any]

_HEADER = ".version 8.8\n.target sm_90\n.address_size 64\n"


def _function(body: str, registers: dict[str, str]) -> Function:
    declared = "".join(f".reg .{type} {name};\n" for name, type in registers.items())
    text = f"{_HEADER}.visible .entry k()\n{{\n{declared}{body}\nret;\n}}\n"
    return parse_ptx(text).functions["k"]


def _loop(writer: Writer, inputs: list[str], outputs: list[str]) -> str:
    """A function on arrays around the code of one element; an i1 is a byte in them."""
    names = [*inputs, *outputs]
    arrays = ", ".join(f"ptr %array.{k}" for k in range(len(names)))
    sizes = [writer.register_width(name, 0) for name in names]
    slots = [writer.slot(name, 0) for name in names]
    head = [
        f"{slot} = alloca i{writer.register_width(name, 0)}" for name, slot in writer.slots.items()
    ]
    places = [
        f"%place.{k} = getelementptr i{max(n, 8)}, ptr %array.{k}, i64 %i"
        for k, n in enumerate(sizes)
    ]
    before: list[str] = []
    after: list[str] = []
    for k, (n, slot) in enumerate(zip(sizes, slots, strict=True)):
        if k < len(inputs):
            before += [
                f"%read.{k} = load i{max(n, 8)}, ptr %place.{k}",
                f"%in.{k} = trunc i8 %read.{k} to i1"
                if n == 1
                else f"%in.{k} = or i{n} %read.{k}, 0",
                f"store i{n} %in.{k}, ptr {slot}",
            ]
        else:
            after += [
                f"%out.{k} = load i{n}, ptr {slot}",
                f"%write.{k} = zext i1 %out.{k} to i8"
                if n == 1
                else f"%write.{k} = or i{n} %out.{k}, 0",
                f"store i{max(n, 8)} %write.{k}, ptr %place.{k}",
            ]
    lines = [
        f"define void @loop(i64 %n, {arrays}) {{\nentry:",
        *head,
        "br label %next\nnext:",
        "%i = phi i64 [ 0, %entry ], [ %i.next, %body ]",
        "%more = icmp ult i64 %i, %n\nbr i1 %more, label %body, label %end\nbody:",
        *places,
        *before,
        *writer.lines,
        *after,
        "%i.next = add i64 %i, 1\nbr label %next\nend:\nret void\n}",
    ]
    return "\n".join(lines)


def _target() -> Any:
    """This machine."""
    llvm.initialize_native_target()
    llvm.initialize_native_asmprinter()
    return llvm.Target.from_default_triple().create_target_machine(
        cpu=llvm.get_host_cpu_name(), features=llvm.get_host_cpu_features().flatten(), opt=2
    )


@pytest.fixture(scope="session")
def evaluate() -> Evaluate:
    """Run instructions on each element of arrays.

    `evaluate("add.s32 d, a, b;", d="b32", a=x, b=y)`: arrays of unsigned integers are registers that hold their bits,
    of bool predicates; names of types are registers whose bits come back, in that order (one array, or a tuple).
    """

    def run(body: str, **registers: str | Array) -> Array | tuple[Array, ...]:
        given = {name: value for name, value in registers.items() if not isinstance(value, str)}
        wanted = {name: value for name, value in registers.items() if isinstance(value, str)}
        types = {
            name: "pred" if value.dtype == bool else f"b{value.dtype.itemsize * 8}"
            for name, value in given.items()
        }
        function = _function(body, types | wanted)
        writer = Writer(function)
        for item in function.body[:-1]:
            assert isinstance(item, Instruction)
            write_instruction(writer, item)
        text = _loop(writer, list(given), list(wanted)) + "\n" + helper_text(writer.helpers)
        module = llvm.parse_assembly(text)
        module.verify()
        target = _target()
        options = llvm.create_pipeline_tuning_options(2)
        builder = llvm.create_pass_builder(target, options)
        builder.getModulePassManager().run(module, builder)
        count = len(next(iter(given.values())))
        arrays = [np.ascontiguousarray(value) for value in given.values()]
        results = [
            np.zeros(count, bool if type == "pred" else f"u{width(type) // 8}")
            for type in wanted.values()
        ]
        with llvm.create_mcjit_compiler(module, target) as engine:
            engine.finalize_object()
            signature = [ctypes.c_int64] + [ctypes.c_void_p] * (len(arrays) + len(results))
            loop = ctypes.CFUNCTYPE(None, *signature)(engine.get_function_address("loop"))
            loop(count, *(array.ctypes.data for array in [*arrays, *results]))
        return results[0] if len(results) == 1 else tuple(results)

    return run


@pytest.fixture(scope="session")
def refuse() -> Callable[[str], str]:
    """Write an instruction on registers `d`, `a`, `b`, `c` (b32) and `p`; the message of its refusal."""

    def run(instruction: str) -> str:
        registers = {name: "b32" for name in "dabc"} | {"p": "pred"}
        (item, _) = _function(instruction, registers).body
        assert isinstance(item, Instruction)
        with pytest.raises(Refused) as caught:
            write_instruction(Writer(_function(instruction, registers)), item)
        return caught.value.what

    return run


_EDGES = {
    16: (0, 1, 2, 0x3FF, 0x400, 0x7BFF, 0x7C00, 0x7C01, 0x7FFF, 0x3C00, 0x7F80, 0x7F7F, 0x80, 0x7F),
    32: (
        *(0, 1, 2, 3, 0x007FFFFF, 0x00800000, 0x00800001, 0x33000000, 0x38800000, 0x387FE000),
        *(0x3F000000, 0x3F7FFFFF, 0x3F800000, 0x3F800001, 0x3FC00000, 0x40200000, 0x43E80000),
        *(0x477FEFFF, 0x477FF000, 0x4B000001, 0x4EFFFFFF, 0x4F000000, 0x4F7FFFFF, 0x5F000000),
        *(0x7F7FFFFF, 0x7F800000, 0x7F800001, 0x7FC00000, 0x7FFFFFFF, 0x3F808000, 0x3F818000),
    ),
    64: (
        *(0, 1, (1 << 52) - 1, 1 << 52, 0x3690000000000000, 0x36A0000000000000, 0x3FE0000000000000),
        *(0x3FF0000000000000, 0x3FF0000010000000, 0x3FF0000030000000, 0x3FF0000000000001),
        *(0x41DFFFFFFFC00000, 0x41E0000000000000, 0x43E0000000000000, 0x43F0000000000000),
        *(0x47EFFFFFE0000000, 0x47EFFFFFF0000000, 0x7FEFFFFFFFFFFFFF, 0x7FF0000000000000),
        *(0x7FF0000000000001, 0x7FF8000000000000, (1 << 63) - 1, 0x7FFFFFFF, 0x80000000),
    ),
}


@pytest.fixture(scope="session")
def numbers() -> Callable[..., tuple[Array, ...]]:
    """Bits of a width: columns of all combinations of edges and their opposites, then random ones."""

    def make(bits: int, columns: int, random: int = 4001) -> tuple[Array, ...]:
        type = np.dtype(f"u{bits // 8}")
        generator = np.random.default_rng(bits * 8 + columns)
        top = 1 << bits - 1
        edges = [edge ^ sign for edge in _EDGES[bits] for sign in (0, top)] + [top - 1]
        if columns == 3:
            edges = edges[:: 3 if bits > 16 else 2]
        table = np.array(list(itertools.product(edges, repeat=columns)), type)
        noise = generator.integers(0, 1 << bits, (random, columns), np.uint64).astype(type)
        near = generator.integers(0, 9, (random, columns), np.uint64).astype(type) << type.type(
            bits - 9
        )
        middle = type.type({16: 0x3C00, 32: 0x3F000000, 64: 0x3FE0000000000000}[bits])
        close = (noise & type.type(top | top // 512 - 1)) + middle + (near & ~type.type(top))
        both = np.concatenate([table, noise, close])
        return tuple(np.ascontiguousarray(both[:, k]) for k in range(columns))

    return make


# Exact arithmetic. A number is its sign and its magnitude, a fraction or infinity; None is NaN.

Number = tuple[int, Fraction | float] | None


def _decode(bits: int, exponent: int, mantissa: int) -> Number:
    """The number of a format that bits are."""
    sign, size = bits >> exponent + mantissa & 1, bits & (1 << exponent + mantissa) - 1
    field, fraction = size >> mantissa, size & (1 << mantissa) - 1
    if field == (1 << exponent) - 1:
        return None if fraction else (sign, math.inf)
    scale = max(field, 1) - (1 << exponent - 1) + 2 - 1 - mantissa
    whole = fraction + (1 << mantissa if field else 0)
    return sign, Fraction(whole << scale if scale > 0 else whole, 1 << max(-scale, 0))


def _encode(number: Number, exponent: int, mantissa: int, mode: str) -> int:
    """A number rounded to a format, as bits; NaN is all ones but the sign."""
    infinity = (1 << exponent) - 1 << mantissa
    if number is None:
        return infinity | (1 << mantissa) - 1
    sign, size = number
    top = sign << exponent + mantissa
    if not isinstance(size, Fraction):
        return top | infinity
    least = 2 - (1 << exponent - 1)
    power = size.numerator.bit_length() - size.denominator.bit_length()
    power -= size < Fraction(2) ** power
    power = max(power, least) if size else least
    whole, rest = divmod(size / Fraction(2) ** (power - mantissa), 1)
    away = {"rz": False, "rm": sign == 1, "rp": sign == 0}
    half = Fraction(1, 2)
    up = {
        "rn": rest > half or (rest == half and whole % 2 == 1),
        "rna": rest >= half,
    }.get(mode, rest > 0 and away.get(mode, False))
    result = (power - least << mantissa) + int(whole) + up
    if result >= infinity:
        result = infinity if away.get(mode, True) else infinity - 1
    return top | result


def _root(size: Fraction) -> Fraction:
    """A square root, exact or between the neighbours of 128 bits that the exact one is between."""
    places = 200 + size.denominator.bit_length()
    scaled = size * 4**places
    root = math.isqrt(int(scaled))
    return Fraction(2 * root + (root * root != scaled), 2 << places)


def _add(a: Number, b: Number, mode: str) -> Number:
    if a is None or b is None:
        return None
    if math.inf in (a[1], b[1]):
        signs = {sign for sign, size in (a, b) if size == math.inf}
        return (signs.pop(), math.inf) if len(signs) == 1 else None
    total = sum((-1) ** sign * Fraction(size) for sign, size in (a, b))
    if total == 0:
        return (a[0] if a[0] == b[0] else int(mode == "rm")), Fraction(0)
    return int(total < 0), abs(Fraction(total))


def _multiply(a: Number, b: Number) -> Number:
    if a is None or b is None:
        return None
    sign = a[0] ^ b[0]
    if math.inf in (a[1], b[1]):
        return None if 0 in (a[1], b[1]) else (sign, math.inf)
    return sign, Fraction(a[1]) * Fraction(b[1])


def _divide(a: Number, b: Number) -> Number:
    if a is None or b is None or a[1] == b[1] == 0 or a[1] == b[1] == math.inf:
        return None
    sign = a[0] ^ b[0]
    if a[1] == math.inf or b[1] == 0:
        return sign, math.inf
    return sign, Fraction(0) if b[1] == math.inf else Fraction(a[1]) / Fraction(b[1])


def _operate(operation: str, mode: str, x: list[Number]) -> Number:
    if operation in ("add", "sub"):
        y = x[1]
        if operation == "sub" and y is not None:
            y = (1 - y[0], y[1])
        return _add(x[0], y, mode)
    if operation == "mul":
        return _multiply(x[0], x[1])
    if operation == "div":
        return _divide(x[0], x[1])
    if operation == "fma":
        return _add(_multiply(x[0], x[1]), x[2], mode)
    assert operation == "sqrt"
    if x[0] is None or (x[0][0] and x[0][1] != 0):
        return None
    return x[0] if x[0][1] in (0, math.inf) else (0, _root(Fraction(x[0][1])))


@pytest.fixture(scope="session")
def exact() -> Callable[..., Array]:
    """`exact("fma", "rz", 8, 23, a, b, c)`: the operation on bits of a format, rounded once; NaN is canonical.

    `wider`: the bits by which the exponent of the results is wider, in u64.
    """

    def run(
        operation: str, mode: str, exponent: int, mantissa: int, *columns: Array, wider: int = 0
    ) -> Array:
        results = [
            _encode(
                _operate(operation, mode, [_decode(int(bits), exponent, mantissa) for bits in row]),
                exponent + wider,
                mantissa,
                mode,
            )
            for row in zip(*columns, strict=True)
        ]
        return np.array(results, np.uint64 if wider else columns[0].dtype)

    return run


@pytest.fixture(scope="session")
def encode() -> Callable[..., int]:
    """`encode((sign, magnitude), exponent, mantissa, mode)`: an exact number rounded to a format, as bits."""
    return _encode


@pytest.fixture(scope="session")
def convert() -> Callable[..., Array]:
    """`convert((8, 23), (5, 10), "rn", bits)`: bits of a format rounded to another one."""

    def run(source: tuple[int, int], target: tuple[int, int], mode: str, bits: Array) -> Array:
        values = [_encode(_decode(int(x), *source), *target, mode) for x in bits]
        return np.array(values, f"u{1 << (sum(target) // 8).bit_length()}")

    return run
