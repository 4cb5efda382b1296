"""Spaces, addresses, variables, vectors and parameters."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import replace
from typing import Any

import numpy as np
import pytest

from coconet_ir.emu.code.table import Refused
from coconet_ir.emu.job import Job, Memory, Rank
from coconet_ir.emu.machine import Emulator
from coconet_ir.runtime.steps import Launch, Place, Step

Run = Callable[..., Any]


def words(count: int, seed: int = 1) -> Any:
    return np.random.default_rng(seed).integers(0, 2**32, count, dtype=np.uint32)


# Vectors


@pytest.mark.parametrize("bits", [8, 16, 32, 64])
@pytest.mark.parametrize("count", [1, 2, 4])
@pytest.mark.parametrize("space", ["global", "shared", "local", ""])
def test_vectors(run: Run, bits: int, count: int, space: str) -> None:
    """Through a space, element after element."""
    kind, more = f"b{bits}", "" if count == 1 else f".v{count}"
    registers = ", ".join(f"%a{n}" for n in range(count))
    group = registers if count == 1 else f"{{{registers}}}"
    wide = max(bits, 16)
    own = {"shared": "s", "local": "a"}.get(space)
    size = bits * count // 8
    through = ""
    if own is not None:
        through = f"st.{space}{more}.{kind} [{own}+{size}], {group};\nld.{space}{more}.{kind} {group}, [{own}+{size}];"
    dot = f".{space}" if space == "global" else ""
    body = f""".reg .b{wide} %a<4>;
.shared .align 32 .b8 s[64];
.local .align 32 .b8 a[64];
ld{dot}{more}.{kind} {group}, [%x+{size}];
{through}
st{dot}{more}.{kind} [%y], {group};"""
    x = words(32)
    found = run(body, {"x": x, "y": size}).array("y", np.uint8)
    assert found.tolist() == x.view(np.uint8)[size : 2 * size].tolist()


def test_sixteen_bytes_in_one_register(run: Run) -> None:
    body = """.reg .b128 %q;
ld.global.b128 %q, [%x];
mov.b128 {%l0, %l1}, %q;
mov.b128 %q, {%l1, %l0};
st.global.b128 [%y], %q;"""
    x = words(4)
    assert run(body, {"x": x, "y": 16}).array("y").tolist() == x[[2, 3, 0, 1]].tolist()


def test_parts_that_nobody_takes(run: Run) -> None:
    body = "ld.global.v4.u32 {%r0, _, _, %r1}, [%x];\nst.global.v2.u32 [%y], {%r0, %r1};"
    x = words(4)
    assert run(body, {"x": x, "y": 8}).array("y").tolist() == x[[0, 3]].tolist()


@pytest.mark.parametrize("how", ["volatile", "relaxed.gpu"])
def test_strong_vectors(run: Run, how: str) -> None:
    body = f"""ld.{how}.global.v4.u32 {{%r0, %r1, %r2, %r3}}, [%x];
st.{how}.global.v4.u32 [%y], {{%r3, %r2, %r1, %r0}};
ld.{how}.global.v2.u64 {{%l0, %l1}}, [%x];
st.{how}.global.v2.u64 [%y+16], {{%l1, %l0}};"""
    x = words(4)
    found = run(body, {"x": x, "y": 32}).array("y")
    assert found.tolist() == [*x[::-1], *x[[2, 3, 0, 1]]]


@pytest.mark.parametrize(
    ("type", "value"), [("s8", -5), ("s16", -300), ("u8", 250), ("u16", 65000)]
)
def test_narrow_loads_extend(run: Run, type: str, value: int) -> None:
    bits = int(type[1:])
    x = np.array([value & (1 << bits) - 1], np.uint32)
    body = f"ld.global.{type} %r0, [%x];\nst.global.u32 [%y], %r0;\nst.global.u{bits} [%y+4], %r0;"
    found = run(body, {"x": x, "y": np.zeros(2, np.uint32)}).array("y")
    assert found.tolist() == [value & 0xFFFFFFFF, value & (1 << bits) - 1]


# Spaces


SPACES = ("global", "shared", "local", "const")


def test_spaces_of_addresses(run: Run) -> None:
    """`isspacep` and `cvta` there and back, of each space."""
    body = """.shared .u32 s[4];
.local .u32 a[4];
mov.u64 %l1, s;
cvta.shared.u64 %l1, %l1;
mov.u64 %l2, a;
cvta.local.u64 %l2, %l2;
cvta.global.u64 %l0, %x;
mov.u64 %l3, 0;
"""
    for at in range(4):
        for number, space in enumerate(SPACES[:3]):
            body += f"isspacep.{space} %p0, %l{at};\nselp.u32 %r0, 1, 0, %p0;\n"
            body += f"st.global.u32 [%y+{4 * (3 * at + number)}], %r0;\n"
    for number, space in enumerate(SPACES[:3]):
        body += f"add.u64 %l4, %l{number}, 8;\nst.u32 [%l4], {number + 5};\ncvta.to.{space}.u64 %l4, %l4;\n"
        body += f"ld.{space}.u32 %r0, [%l4];\nst.global.u32 [%y+{48 + 4 * number}], %r0;\n"
    found = run(body, {"x": 16, "y": 60}).array("y")
    assert found[:12].reshape(4, 3).tolist() == [[1, 0, 0], [0, 1, 0], [0, 0, 1], [0, 0, 0]]
    assert found[12:].tolist() == [5, 6, 7]


def test_local_memory_is_each_thread_s_own(run: Run) -> None:
    """Also by generic addresses, volatile, and where it was used by a thread before."""
    body = """.local .align 8 .b32 a[8];
mov.u64 %l0, a;
cvta.local.u64 %l0, %l0;
st.volatile.u32 [%l0+4], %tid;
st.local.v2.u32 [a+8], {%tid, %block};
bar.sync 0;
ld.volatile.u32 %r0, [%l0+4];
ld.v2.u32 {%r1, %r2}, [%l0+8];
ld.volatile.local.u32 %r3, [a+4];
mad.lo.u32 %r4, %block, 40, %tid;
mul.wide.u32 %l1, %r4, 16;
add.u64 %l1, %x, %l1;
st.global.v4.u32 [%l1], {%r0, %r1, %r2, %r3};"""
    found = run(body, {"x": 3 * 40 * 16}, block=40, grid=3, sms=1).array("x").reshape(3, 40, 4)
    for block in range(3):
        assert found[block].tolist() == [[n, n, block, n] for n in range(40)]


def test_atomic_operations_have_no_local_memory(run: Run) -> None:
    body = ".local .u32 a;\nmov.u64 %l0, a;\ncvta.local.u64 %l0, %l0;\nst.u32 [%l0], 1;\natom.add.u32 %r0, [%l0], 1;"
    assert run(body, {"x": 4}).finding.kind == "out of bounds"


def test_shared_memory_is_each_block_s_own(run: Run) -> None:
    """Of many more blocks than have room, with weak accesses and atomic operations of its own each."""
    body = """.shared .u32 s[2];
setp.eq.u32 %p0, %tid, 0;
@%p0 st.shared.v2.u32 [s], {0, %block};
bar.sync 0;
atom.shared.add.u32 %r0, [s], 1;
bar.sync 0;
ld.shared.v2.u32 {%r1, %r2}, [s];
mul.wide.u32 %l0, %block, 8;
add.u64 %l0, %x, %l0;
@%p0 st.global.v2.u32 [%l0], {%r1, %r2};"""
    for seed in range(5):
        found = run(body, {"x": 8 * 9}, block=33, grid=9, sms=2, seed=seed).array("x")
        assert found.reshape(9, 2).tolist() == [[33, n] for n in range(9)]


def test_dynamic_shared_memory_lies_behind_the_declared(run: Run) -> None:
    module = ".extern .shared .align 16 .b8 d[];\n"
    body = """.shared .align 4 .b8 s[20];
mov.u32 %r0, d;
mov.u32 %r1, s;
sub.u32 %r2, %r0, %r1;
st.shared.u32 [s+16], 1;
st.shared.v4.u32 [d], {2, 3, 4, 5};
ld.shared.u32 %r3, [s+16];
ld.shared.u32 %r4, [%r0+12];
st.global.v4.u32 [%x], {%r2, %r3, %r4, %r0};"""
    found = run(body, {"x": 16}, module=module, shared=16).array("x").tolist()
    assert found[1:3] == [1, 5]
    assert found[0] >= 20
    assert found[3] % 16 == 0


# Variables of the module

MODULE = """.global .align 4 .u32 counter = 5;
.global .align 8 .u64 table[3] = {counter, counter+4, generic(data)};
.const .align 4 .f32 weights[4] = {0f3F800000, 2.5};
.global .align 2 .u16 data[5] = {1, 2, 65535};
.visible .global .align 1 .b8 text[6] = {104, 105, 0};
.global .u32 nothing;
"""


def test_variables_have_initial_values(run: Run) -> None:
    body = """ld.const.f32 %r0, [weights+4];
ld.global.u16 %r1, [data+4];
ld.global.u8 %r2, [text+1];
ld.global.u32 %r3, [nothing];
st.global.v4.u32 [%x], {%r0, %r1, %r2, %r3};
ld.global.u64 %l0, [table+16];
ld.u16 %r0, [%l0+2];
ld.global.u64 %l0, [table];
ld.global.u32 %r1, [%l0];
mov.u64 %l1, counter;
cvta.global.u64 %l1, %l1;
sub.u64 %l1, %l1, %l0;
ld.const.u32 %r2, [weights+12];
cvt.u32.u64 %r3, %l1;
st.global.v4.u32 [%x+16], {%r0, %r1, %r2, %r3};"""
    found = run(body, {"x": 32}, module=MODULE).array("x")
    assert found[:1].view(np.float32)[0] == 2.5
    assert found[1:].tolist() == [65535, 105, 0, 2, 5, 0, 0]


def test_variables_are_one_copy_a_rank_and_keep_their_values(machine: Any) -> None:
    def steps(launch: Launch) -> Sequence[Step]:
        return (launch, replace(launch, after=(0,)), replace(launch, kernel="m", after=(1,)))

    bodies = {
        "k": "atom.global.add.u32 %r0, [counter], %rank;",
        "m": "ld.global.u32 %r0, [counter];\nst.global.u32 [%x], %r0;",
    }
    found = machine(bodies, {"x": 4}, module=MODULE, ranks=3, block=4, steps=steps)
    for seed in range(2):  # and every run begins anew
        ran = found.run(seed)
        assert [ran.array("x", rank=rank)[0] for rank in range(3)] == [5, 13, 21]


def test_variables_have_bounds(run: Run) -> None:
    ran = run("ld.global.u16 %r0, [data+10]; // A", {"x": 4}, module=MODULE)
    assert (ran.finding.kind, ran.finding.buffer, ran.finding.offset) == (
        "out of bounds",
        "data of rank 0",
        10,
    )
    assert ran.finding.places[0].line == ran.line("A")


# Parameters


def test_parameters_that_are_structures(run: Run) -> None:
    """A structure of a byte, a word and an address, and an array, as nvcc passes them."""
    ptx = """.version 8.0
.target sm_90
.address_size 64
.visible .entry k(.param .u8 first, .param .align 8 .b8 both[24], .param .align 4 .b8 array[12])
{
.reg .b32 %r<8>; .reg .b64 %l<4>; .reg .b16 %h<2>;
ld.param.u8 %h0, [first];
ld.param.u32 %r0, [both+4];
ld.param.u64 %l0, [both+8];
ld.param.v2.u32 {%r1, %r2}, [both+16];
ld.param.u32 %r3, [array+8];
st.global.u8 [%l0], %h0;
st.global.u32 [%l0+4], %r0;
st.global.v2.u32 [%l0+8], {%r1, %r2};
st.global.u32 [%l0+16], %r3;
ret;
}
"""
    numbers = [np.uint32(n).tobytes() for n in (7, 8, 9)]
    structure = (bytes([1, 0, 0, 0]), numbers[0], Place(0), numbers[1] + numbers[2])
    launch = Launch("k", (1, 1, 1), (1, 1, 1), (b"\xfe", structure, bytes(8) + numbers[2]))
    job = Job(ptx, (Rank({0: Memory("x", 20)}, (launch,)),))
    outcome = Emulator(job).run(0)
    assert outcome.findings == ()
    left = outcome.memory[0][0]
    assert left[0] == 0xFE
    assert np.frombuffer(left[4:], np.uint32).tolist() == [7, 8, 9, 9]


def test_parameters_of_calls(run: Run) -> None:
    module = """.func (.param .align 8 .b8 result[16]) swapped(.param .align 8 .b8 given[16], .param .u32 more)
{
.reg .b64 %a<2>; .reg .b32 %m; .reg .b64 %n;
ld.param.v2.b64 {%a0, %a1}, [given];
ld.param.u32 %m, [more];
cvt.u64.u32 %n, %m;
add.u64 %a0, %a0, %n;
st.param.b64 [result], %a1;
st.param.b64 [result+8], %a0;
ret;
}
"""
    body = """ld.global.v2.u64 {%l0, %l1}, [%x];
{
.param .align 8 .b8 p[16];
.param .u32 q;
.param .align 8 .b8 r[16];
st.param.b64 [p], %l0;
st.param.b64 [p+8], %l1;
st.param.u32 [q], %tid;
call (r), swapped, (p, q);
ld.param.v2.b64 {%l2, %l3}, [r];
}
mul.wide.u32 %l4, %tid, 16;
add.u64 %l4, %y, %l4;
st.global.v2.u64 [%l4], {%l2, %l3};"""
    x = np.array([100, 200], np.uint64)
    found = run(body, {"x": x, "y": 160}, module=module, block=10).array("y", np.uint64)
    assert found.reshape(10, 2).tolist() == [[200, 100 + n] for n in range(10)]


@pytest.mark.parametrize(
    "code",
    [
        "ld.param.u64 %l0, [x+8];",
        "ld.param.u64 %l0, [x+4];",
        "ld.param.u32 %r0, [x+-4];",
        "ld.param.u32 %r0, [%l0];",
        "{\n.param .b32 p;\nst.param.b64 [p], %l0;\n}",
        "ld.global.v2.u32 {%r0, %r1, %r2}, [%x];",
        "ld.global.u32 {%r0, %r1}, [%x];",
        "ld.global.v4.u32 %r0, [%x];",
        "ld.global.v8.u64 {%l0, %l1, %l2, %l3, %l4, %l5, %l6, %l7}, [%x];",
        "ld.global.pred %p0, [%x];",
        "ld.global.u32 %r0;",
        "ld.global.u32 %r0, [%x], %r1;",
        "ld.global.u32 %r0, %x;",
        "ld.relaxed.global.u32 %r0, [%x];",
        "ld.sys.global.u32 %r0, [%x];",
        "st.global.u32 [%h0], 1;",
        "st.global.x32 [%x], 1;",
        "st.global.u32 [%x];",
        "atom.global.add.u32 %r0, [%x];",
        "atom.global.cas.b32 %r0, [%x], 1;",
        "atom.global.min.f32 %r0, [%x], %r1;",
        "atom.global.and.u32 %r0, [%x], %r1;",
        "atom.global.u32 %r0, [%x], %r1;",
        "atom.local.add.u32 %r0, [%x], %r1;",
        "cvta.shared.u64 %l0;",
        "cvta.param.u64 %l0, %l0;",
        "isspacep.global %p0;",
        ".reg .b128 %q;\nld.relaxed.gpu.global.b128 %q, [%x];",
    ],
)
def test_what_is_refused(machine: Any, code: str) -> None:
    with pytest.raises(Refused) as raised:
        machine(code, {"x": 64})
    assert raised.value.line > 0
