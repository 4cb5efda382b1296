"""What threads do together, special registers, parameters and control, by the emulator and by a GPU, bit by bit.

Left open by PTX, and not compared: what `shfl` gives of a lane that takes no part. Not tried: `activemask`, `%smid`,
`%warpid` and clocks, which schedules and devices choose.
"""

from __future__ import annotations

import struct
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np
import numpy.typing as npt
import pytest

from coconet_ir.emu.execution.exchange import UNDEFINED

Array = npt.NDArray[Any]
Run = Callable[..., list[Array]]
Size = tuple[int, int, int]

HEADER = ".version 9.0\n.target sm_90a\n.address_size 64\n"
ROUNDS = 12


def thread_kernel(table: Sequence[Any], forms: Any, threads: int, head: str, tail: str) -> str:
    """A kernel `k` that does the forms once; each result has a column of 8 bytes a thread of the grid.

    `%i` is the number of a thread in its block, `%n` in the grid of blocks of `threads`. `head` and `tail` stand around
    the forms.
    """
    lines = [
        f"{HEADER}.visible .entry k(.param .u64 out, .param .u64 in)",
        "{",
        ".reg .b32 %i, %n, %j, %raw, %z, a, b, c, %mask, %few; .reg .b64 %out, %in, %few8;",
        ".reg .pred q, %yes, %skip; .reg .b64 %to;",
        "ld.param.u64 %out, [out]; ld.param.u64 %in, [in];",
        "mov.u32 %i, %tid.z; mov.u32 %j, %ntid.y; mov.u32 %z, %tid.y; mad.lo.u32 %i, %i, %j, %z;",
        "mov.u32 %j, %ntid.x; mov.u32 %z, %tid.x; mad.lo.u32 %i, %i, %j, %z;",
        "mov.u32 %n, %ctaid.z; mov.u32 %j, %nctaid.y; mov.u32 %z, %ctaid.y;",
        "mad.lo.u32 %n, %n, %j, %z; mov.u32 %j, %nctaid.x; mov.u32 %z, %ctaid.x;",
        f"mad.lo.u32 %n, %n, %j, %z; mad.lo.u32 %n, %n, {threads}, %i;",
        "mul.wide.u32 %to, %n, 8; add.u64 %to, %to, %out;",
        head,
    ]
    column = 0
    for form in table:
        lines.append("{")
        for name, kind in zip("demo", form.outputs, strict=False):
            bits = forms.BITS[kind]
            lines.append(f".reg .{'pred' if bits == 1 else f'b{bits}'} {name};")
        lines.append(form.text)
        for name, kind in zip("demo", form.outputs, strict=False):
            place = f"[%to+{column}*PITCH]"
            match forms.BITS[kind]:
                case 1:
                    lines.append(f"selp.b32 %raw, 1, 0, {name}; st.global.b32 {place}, %raw;")
                case 16:
                    lines.append(f"cvt.u32.u16 %raw, {name}; st.global.b32 {place}, %raw;")
                case bits:
                    lines.append(f"st.global.b{bits} {place}, {name};")
            column += 1
        lines.append("}")
    lines += [tail, "ret;", "}"]
    return "\n".join(lines) + "\n"


def columns(table: Sequence[Any]) -> list[str]:
    """What each column holds."""
    registers = ((form, zip("demo", form.outputs, strict=False)) for form in table)
    return [f"{form.text} [{name}]" for form, names in registers for name, _ in names]


def report(names: Sequence[str], want: Array, got: Array, where: str) -> None:
    """Fail with a line for each column that differs: how often, and the first three places."""
    lines: list[str] = []
    for name, first, second in zip(names, want, got, strict=True):
        wrong = np.flatnonzero((first != second) & (first != UNDEFINED))
        if len(wrong):
            some = "; ".join(f"{k} -> {first[k]:x}, {second[k]:x}" for k in wrong[:3])
            lines.append(f"{name} {len(wrong)} of {len(first)}: {some}")
    if lines:
        head = f"{len(lines)} of {len(names)} results differ: form [register] how many: {where} -> emulator, GPU"
        pytest.fail("\n".join([head, *lines]), pytrace=False)


@pytest.fixture(scope="session")
def both(emulator_run: Run, device_run: Run, forms: Any) -> Callable[..., None]:
    """Run forms on both and compare."""

    def run(
        table: str,
        grid: Size,
        block: Size,
        given: Array,
        head: str,
        tail: str,
        rounds: int = 1,
        before: str = "",
    ) -> None:
        expanded = forms.expand(table)
        names, threads = columns(expanded), int(np.prod(block))
        pitch = threads * int(np.prod(grid)) * rounds * 8
        ptx = thread_kernel(expanded, forms, threads, head, tail)
        ptx = ptx.replace(".visible .entry", f"{before}.visible .entry")
        for k in range(len(names)):
            ptx = ptx.replace(f"+{k}*PITCH]", f"+{k * pitch}]")
        results = np.zeros(len(names) * pitch // 8, np.uint64)
        want, got = (
            one(ptx, "k", grid, block, [results, given])[0] for one in (emulator_run, device_run)
        )
        shape = len(names), -1
        report(names, want.reshape(shape), got.reshape(shape), "thread (and round x threads)")

    return run


def in_rounds(threads: int, body: str = "") -> tuple[str, str]:
    """What reads a, b, c, the mask and q of each round, and what ends a round."""
    head = f"""
.reg .u32 %round; mov.u32 %round, 0;
mul.wide.u32 %few8, %i, 32; add.u64 %in, %in, %few8;
NEXT_ROUND:
ld.global.v4.b32 {{a, b, c, %mask}}, [%in];
ld.global.v2.b32 {{%few, %raw}}, [%in+16];
setp.ne.u32 q, %raw, 0; mov.b64 %few8, {{%few, %raw}};
{body}"""
    tail = f"""
SKIP:
add.u64 %in, %in, {threads * 32}; add.u64 %to, %to, {threads * 8};
add.u32 %round, %round, 1; setp.lt.u32 %skip, %round, {ROUNDS}; @%skip bra NEXT_ROUND;"""
    return head, tail


def test_warps(both: Any, forms: Any) -> None:
    """Two whole warps and one of 13 lanes; lanes outside of the mask pass by."""
    threads, random = 77, np.random.default_rng(0)
    given = random.integers(0, 1 << 32, (ROUNDS, threads, 8), np.uint32)
    given[:, :, 1] = random.integers(0, 40, (ROUNDS, threads))
    segments = np.array([0, 16, 24, 28, 30, 31, 5])[random.integers(0, 7, (ROUNDS, threads))]
    given[:, :, 2] = segments << 8 | random.integers(0, 32, (ROUNDS, threads))
    masks = random.integers(1, 1 << 32, (ROUNDS, 3), np.uint32) | 1
    masks[:4], masks[4], masks[5] = 0xFFFFFFFF, 0x1111, 0x80000001
    masks[:, 2] &= 0x1FFF
    given[:, :, 3] = np.repeat(masks, 32, axis=1)[:, :threads]
    given[:, :, 4] = random.integers(0, 4, (ROUNDS, threads))
    given[:, :, 5] = random.integers(0, 2, (ROUNDS, threads))
    given[1, :, 4:6], given[2, :, 4:6] = 0, 1
    pass_by = """
mov.u32 %raw, %lanemask_eq; and.b32 %raw, %raw, %mask;
setp.eq.u32 %skip, %raw, 0; @%skip bra SKIP;"""
    both(forms.WARPS, (1, 1, 1), (threads, 1, 1), given, *in_rounds(threads, pass_by), ROUNDS)


def test_barriers(both: Any, forms: Any) -> None:
    threads, random = 96, np.random.default_rng(0)
    given = random.integers(0, 2, (ROUNDS, threads, 8), np.uint32)
    given[1, :, 5], given[2, :, 5] = 0, 1
    body = "setp.lt.u32 %yes, %i, 96;"
    both(forms.BARRIERS, (1, 1, 1), (threads, 1, 1), given, *in_rounds(threads, body), ROUNDS)


def test_registers(both: Any, forms: Any) -> None:
    both(forms.REGISTERS, (3, 2, 2), (5, 3, 7), np.zeros(8, np.uint32), "", "")


PARAMETERS = [
    *(f"-> w: ld.param.{type} d, [s+{at}]" for type in ("u8", "s8") for at in (0, 1, 7, 13)),
    *(f"-> w: ld.param.{type} d, [s+{at}]" for type in ("u16", "s16", "b16") for at in (2, 14)),
    *(f"-> l: ld.param.{type} d, [s+8]" for type in ("u8", "s8", "s16", "u32", "s32", "b64")),
    "-> w w w w: ld.param.v4.b32 {d, e, m, o}, [s]",
    "-> l l: ld.param.v2.u64 {d, e}, [s]",
    "-> w: ld.param.s8 d, [small]",
    "-> l: ld.param.s16 d, [half]",
    "-> l: ld.param.f64 d, [real]",
]

TWICE = """.func (.param .b32 r) twice(.param .b32 x) {
.reg .b32 a; ld.param.b32 a, [x]; add.u32 a, a, a; st.param.b32 [r], a; ret; }
"""

CONTROL = (
    "-> w: mov.u32 c, %i; mov.u32 d, 0; LOOP: add.u32 d, d, c; sub.u32 c, c, 1; setp.gt.s32 q, c, 0; @q bra LOOP",
    "-> w: setp.lt.u32 q, %i, 40; mov.u32 d, 1; @q add.u32 d, d, %i; @!q sub.u32 d, d, %i",
    "-> w: and.b32 c, %i, 3; PLACES: .branchtargets A, B, C, D; mov.u32 d, 5; brx.idx c, PLACES;"
    " A: add.u32 d, d, 7; B: mul.lo.u32 d, d, 3; bra D; C: sub.u32 d, d, 9; D: add.u32 d, d, %i",
    "-> w: .param .b32 x; .param .b32 r; st.param.b32 [x], %i; call (r), twice, (x); ld.param.b32 d, [r]",
)


def test_parameters(forms: Any, emulator_run: Run, device_run: Run) -> None:
    table = forms.expand("\n".join(PARAMETERS))
    ptx = thread_kernel(table, forms, 1, "", "")
    ptx = ptx.replace(
        ".param .u64 in",
        ".param .u64 in, .param .s8 small, .param .f64 real, .param .u16 half, .param .align 16 .b8 s[20]",
    )
    names = columns(table)
    for k in range(len(names)):
        ptx = ptx.replace(f"+{k}*PITCH]", f"+{k * 8}]")
    given = [np.zeros(len(names), np.uint64), np.zeros(1, np.uint64)]
    random = np.random.default_rng(0)
    for _ in range(8):
        scalars = [
            struct.pack("b", -5),
            struct.pack("d", -0.7),
            struct.pack("h", -300),
            random.bytes(20),
        ]
        ran = [
            one(ptx, "k", (1, 1, 1), (1, 1, 1), [*given, *scalars])[0]
            for one in (emulator_run, device_run)
        ]
        report(names, ran[0].reshape(-1, 1), ran[1].reshape(-1, 1), "thread")


def test_control(both: Any) -> None:
    both("\n".join(CONTROL), (1, 1, 1), (77, 1, 1), np.zeros(8, np.uint32), "", "", before=TWICE)
