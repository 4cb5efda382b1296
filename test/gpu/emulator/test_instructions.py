"""Single instructions, by the emulator and by a GPU of compute capability 9.0: the results must be equal bit by bit.

What may differ is the payload of a NaN of f64, approximations, by what `APPROXIMATIONS` says, and what is listed in
`exemptions.py`.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from typing import Any

import ml_dtypes
import numpy as np
import numpy.typing as npt
import pytest

from coconet_ir.emu.code.approximations import APPROXIMATIONS
from coconet_ir.emu.code.table import TABLE

Array = npt.NDArray[Any]
Run = Callable[..., list[Array]]
Form = Any
Exemption = Any

HEADER = ".version 9.0\n.target sm_90a\n.address_size 64\n"
MOST_BYTES = {"memory": 1 << 20, "atomics": 1 << 20}
"""Results of a launch, else 8 MiB: the emulator's shadow is large if single bytes are accessed."""

THINNED = {"memory": 13, "atomics": 13}
"""Of how many rows one is tried: each strong access of the emulator goes by its scheduler."""

GRID, BLOCK = (132, 1, 1), (128, 1, 1)
"""Of the GPU. One thread of the emulator does all of it."""

MOST_FORMS = 40
"""Instructions of a kernel."""


def size(kind: str, forms: Any) -> int:
    """The bytes of a register in memory."""
    return 8 if forms.BITS[kind] == 64 else 4


def kernels(table: Sequence[Form], most: int, rows: Callable[[str], int]) -> Iterator[list[Form]]:
    """Forms that read the same registers, as many as a launch takes."""
    by_inputs: dict[str, list[Form]] = {}
    for form in table:
        by_inputs.setdefault(form.inputs, []).append(form)
    for inputs, alike in by_inputs.items():
        each = max(1, min(MOST_FORMS, most // (rows(inputs) * 8)))
        yield from (alike[k : k + each] for k in range(0, len(alike), each))


MEMORY = (
    f".shared .align 16 .b8 shared[{16 * BLOCK[0]}]; .local .align 16 .b8 local[16];",
    ".reg .b64 %global, %shared, %local, %const; .reg .b32 %t;",
    "mov.u64 %const, constants; mov.u64 %local, local; mov.u64 %global, own; mov.u64 %shared, shared;",
    "mul.wide.u32 %o8, %i, 16; add.u64 %global, %global, %o8;",
    "mov.u32 %t, %tid.x; mul.wide.u32 %o8, %t, 16; add.u64 %shared, %shared, %o8;",
)
"""The addresses that forms use."""


def kernel_text(group: Sequence[Form], count: int, forms: Any) -> str:
    """A kernel `k` whose threads go over the rows; the columns of results lie behind each other."""
    inputs = group[0].inputs
    parameters = ", ".join(f".param .u64 x{k}" for k in range(len(inputs) + 1))
    registers = "".join(f".reg .b64 %x<{len(inputs) + 1}>; .reg .b64 %at<{len(inputs)}>;")
    uses_memory = any("%" in form.text for form in group)
    lines = [
        HEADER
        + (f".const .align 16 .b64 constants[9] = {{{forms.CONSTANTS}}};" if uses_memory else ""),
        f".global .align 16 .b8 own[{16 * GRID[0] * BLOCK[0]}];" if uses_memory else "",
        f".visible .entry k({parameters})",
        "{",
        registers,
    ]
    lines += [
        ".reg .b32 %i, %id, %of, %step, %raw; .reg .b64 %o4, %o8, %to4, %to8; .reg .pred %end;",
        ".reg .b32 t; .reg .b64 u; .reg .b128 v; .reg .pred q;",
        *(f"ld.param.u64 %x{k}, [x{k}];" for k in range(len(inputs) + 1)),
        "mov.u32 %id, %ctaid.x; mov.u32 %of, %ntid.x; mov.u32 %i, %tid.x;",
        "mad.lo.u32 %i, %id, %of, %i; mov.u32 %step, %nctaid.x; mul.lo.u32 %step, %step, %of;",
        *(MEMORY if uses_memory else ()),
        f"NEXT: setp.ge.u32 %end, %i, {count};",
        "@%end bra END;",
        "mul.wide.u32 %o4, %i, 4; mul.wide.u32 %o8, %i, 8;",
        "add.u64 %to4, %x0, %o4; add.u64 %to8, %x0, %o8;",
    ]
    for k, (name, kind) in enumerate(zip("abcf", inputs, strict=False)):
        lines.append(f"add.u64 %at{k}, %x{k + 1}, %o{size(kind, forms)};")
        lines.append(_read(name, forms.BITS[kind], f"[%at{k}]"))
    place = 0
    for form in group:
        lines.append("{")
        for name, kind in zip("demo", form.outputs, strict=False):
            bits = forms.BITS[kind]
            lines.append(f".reg .{'pred' if bits == 1 else f'b{bits}'} {name};")
        lines.append(form.text)
        for name, kind in zip("demo", form.outputs, strict=False):
            lines.append(_write(name, forms.BITS[kind], f"[%to{size(kind, forms)}+{place}]"))
            place += count * 8
        lines.append("}")
    lines += ["add.u32 %i, %i, %step;", "bra NEXT;", "END: ret;", "}"]
    return "\n".join(lines) + "\n"


def _read(name: str, bits: int, address: str) -> str:
    """Declare a register and load it from a word."""
    if bits == 1:
        return f".reg .pred {name}; ld.global.b32 %raw, {address}; setp.ne.b32 {name}, %raw, 0;"
    if bits == 16:
        return f".reg .b16 {name}; ld.global.b32 %raw, {address}; cvt.u16.u32 {name}, %raw;"
    return f".reg .b{bits} {name}; ld.global.b{bits} {name}, {address};"


def _write(name: str, bits: int, address: str) -> str:
    if bits == 1:
        return f"selp.b32 %raw, 1, 0, {name}; st.global.b32 {address}, %raw;"
    if bits == 16:
        return f"cvt.u32.u16 %raw, {name}; st.global.b32 {address}, %raw;"
    return f"st.global.b{bits} {address}, {name};"


DTYPES: dict[str, Any] = {
    "e": np.float16,
    "g": ml_dtypes.bfloat16,
    "s": np.float32,
    "d": np.float64,
}


def numbers(kind: str, bits: Array) -> Array:
    """The floats that bits are, as doubles: a row, or two for pairs."""
    if kind in "EG":
        halves = [numbers(kind.lower(), bits & 0xFFFF), numbers(kind.lower(), bits >> 16)]
        return np.concatenate(halves)
    dtype = np.dtype(DTYPES[kind])
    with np.errstate(invalid="ignore"):
        found: Array = bits.astype(f"u{dtype.itemsize}").view(dtype).astype(np.float64)
    return found


def ulp(kind: str, values: Array) -> Array:
    """The unit in the last place of doubles, in a format."""
    mantissa, least = {"e": (10, -14), "g": (7, -126), "s": (23, -126), "d": (52, -1022)}[kind]
    _, exponent = np.frexp(np.where(np.isfinite(values), values, 1))
    unit: Array = np.ldexp(1.0, np.maximum(exponent - 1, least) - mantissa)
    return unit


UNSTATED = 2.0**-18
"""A relative distance for approximations of f64, of which PTX states none."""


def bounds(name: str, inputs: Sequence[Array], want: Array, unit: Array) -> Array:
    """How far a result may be from the exact one, as `APPROXIMATIONS` says; infinite where that is open.

    Devices reach 2^-20.465 where PTX says 2^-20.5, so that it seems to round the exponent. They cut off the bits of a
    subnormal f16 by ex2, of which PTX says nothing.
    """
    size, x = np.abs(want), np.abs(inputs[0])
    match name:
        case "div.approx.f32":
            divisor = np.abs(inputs[1])
            return np.where((divisor >= 2.0**-126) & (divisor <= 2.0**126), 2 * unit, np.inf)
        case "div.full.f32" | "ex2.approx.f32":
            return 2 * unit
        case "rcp.approx.f32":
            return unit
        case "sqrt.approx.f32":
            return size * 2**-23
        case "rsqrt.approx.f32":
            return size * 2**-22.9
        case "sin.approx.f32" | "cos.approx.f32":
            outside: Array = np.where(x <= 100 * np.pi, 2**-14.7, np.inf)
            return np.where(x <= 2 * np.pi, 2**-20.45, outside)
        case "lg2.approx.f32":
            near: Array = (x > 0.5) & (x < 2)
            return 2**-22 * np.where(near, np.ones_like(size), size)
        case "tanh.approx.f32":
            return size * 2**-11
        case "ex2.approx.f16":
            return np.where(size < 2**-14, unit, size * 2**-9.9)
        case "ex2.approx.bf16":
            return size * 2**-7
        case "tanh.approx.f16":
            return np.full_like(size, 2**-10.987)
        case "tanh.approx.bf16":
            return np.full_like(size, 2**-8)
        case _:
            return size * UNSTATED


def far(form: Form, inputs: Sequence[Array], want: Array, got: Array) -> Array:
    """Whether approximations are too far from each other; the emulator's is the exact one, rounded."""
    kind, name = form.outputs, form.text.split()[0].removesuffix("x2")
    name = name if name in APPROXIMATIONS else name.replace(".ftz", "")
    assert name in APPROXIMATIONS, name
    given = [numbers(of, bits) for of, bits in zip(form.inputs, inputs, strict=True)]
    a, b = numbers(kind, want), numbers(kind, got)
    unit = ulp(kind.lower(), a)
    allowed = bounds(name, given, a, unit)
    with np.errstate(invalid="ignore", over="ignore"):
        near = np.abs(a - b) <= allowed + unit / 2
    same = (a == b) & (np.signbit(a) == np.signbit(b)) | np.isnan(a) & np.isnan(b)
    wrong = ~(same | near | np.isinf(allowed))
    return wrong if kind not in "EG" else wrong.reshape(2, -1).any(axis=0)


def differ(form: Form, kind: str, inputs: Sequence[Array], want: Array, got: Array) -> Array:
    """Where results differ that must not."""
    if form.approximate:
        return far(form, inputs, want, got)
    if kind == "D":
        both = [bits.view(np.float64) for bits in (want, got)]
        return (want != got) & ~(np.isnan(both[0]) & np.isnan(both[1]))
    return want != got


def compare(
    group: Sequence[Form],
    columns: Sequence[Array],
    want: Array,
    got: Array,
    forms: Any,
    exempt: Sequence[Exemption],
    needed: set[str],
) -> list[str]:
    """A line for each form that differs: how often, and the first three as inputs -> emulator, GPU.

    `needed` gets the reasons of the exemptions without which there were more.
    """
    count, lines, place = len(columns[0]), list[str](), 0
    for form in group:
        for register, kind in zip("demo", form.outputs, strict=False):
            bytes = size(kind, forms)
            first, second = (
                all[place : place + count * bytes].view(f"u{bytes}") for all in (want, got)
            )
            place += count * 8
            if forms.BITS[kind] == 16:  # ptxas may leave the other half of a pair above it
                first, second = first & 0xFFFF, second & 0xFFFF
            wrong = differ(form, kind, columns, first, second)
            for one in exempt:
                if one.covers(form.text):
                    rows = one.rows(columns)
                    needed |= {one.reason} if (wrong & rows).any() else set()
                    wrong &= ~rows
            wrong = np.flatnonzero(wrong)
            if not len(wrong):
                continue
            some = "; ".join(
                f"{' '.join(f'{column[k]:x}' for column in columns)} -> {first[k]:x}, {second[k]:x}"
                for k in wrong[:3]
            )
            lines.append(f"{form.text} [{register}] {len(wrong)} of {count}: {some}")
    return lines


@pytest.mark.parametrize(
    "name",
    [
        *("integers", "logic", "comparisons", "floats", "halves", "conversions", "approximations"),
        *("memory", "atomics"),
    ],
)
def test_instructions(
    name: str,
    forms: Any,
    operands: Any,
    exemptions: Sequence[Exemption],
    emulator_run: Run,
    device_run: Run,
) -> None:
    table = forms.expand(forms.TABLES[name])
    exempt = [one for one in exemptions if any(one.covers(form.text) for form in table)]
    needed = set[str]()
    columns: dict[str, list[Array]] = {}

    def rows(kinds: str) -> int:
        if kinds not in columns:
            columns[kinds] = [column[:: THINNED.get(name, 1)] for column in operands(kinds)]
        return len(columns[kinds][0])

    wrong: list[str] = []
    for group in kernels(table, MOST_BYTES.get(name, 8 << 20), rows):
        inputs = group[0].inputs
        count = rows(inputs)
        ptx = kernel_text(group, count, forms)
        given = [
            column.astype(f"u{size(kind, forms)}")
            for column, kind in zip(columns[inputs], inputs, strict=True)
        ]
        results = np.zeros(sum(len(form.outputs) for form in group) * count * 8, np.uint8)
        arguments = [results, *given]
        want = emulator_run(ptx, "k", (1, 1, 1), (1, 1, 1), arguments)[0]
        got = device_run(ptx, "k", GRID, BLOCK, arguments)[0]
        wrong += compare(group, given, want, got, forms, exempt, needed)
    wrong += [
        f"no form differs any more: {one.reason}" for one in exempt if one.reason not in needed
    ]
    if wrong:
        head = f"{name}: {len(wrong)} results of {len(table)} forms differ"
        how = "form [register] how many: inputs -> emulator, GPU (hexadecimal)"
        pytest.fail("\n".join([f"{head}; {how}", *wrong]), pytrace=False)


WITHOUT_RESULT = """
applypriority brkpt createpolicy discard exit fence griddepcontrol membar nanosleep pmevent prefetch prefetchu
setmaxnreg trap
"""
ELSEWHERE = "bra brx ret"
"""In `test_threads.py`."""

OPEN = "activemask ldu"
"""What the schedule decides, and what may only read what nobody writes."""


def test_every_opcode_is_tried(forms: Any) -> None:
    tables = [*forms.TABLES.values(), forms.WARPS, forms.BARRIERS]
    tried = {opcode for table in tables for form in forms.expand(table) for opcode in form.opcodes}
    assert set(TABLE) - tried == set(f"{WITHOUT_RESULT} {ELSEWHERE} {OPEN}".split())
