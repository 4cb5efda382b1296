"""Which strong stores store what is computed from strong loads."""

from __future__ import annotations

import pytest

from coconet_ir.emu.code.compile import compile_ptx
from coconet_ir.emu.reports.updates import updates

HEAD = """\
.version 8.6
.target sm_90
.address_size 64
.func (.param .u32 out) more(.param .u32 given)
{
.reg .u32 %g;
ld.param.u32 %g, [given];
add.u32 %g, %g, 1;
st.param.u32 [out], %g;
ret;
}
.visible .entry k(.param .u64 x, .param .u64 y)
{
.reg .pred %p;
.reg .u64 %x, %y, %w;
.reg .u32 %a, %b, %c, %d;
.reg .f32 %f;
ld.param.u64 %x, [x];
ld.param.u64 %y, [y];
"""
FIRST = HEAD.count("\n") + 1
NONE: set[int] = set()
LOAD, STORE = "ld.relaxed.sys.u32 %a, [%x];", "st.relaxed.sys.u32 [%x], %b;"


@pytest.mark.parametrize(
    ("body", "loads"),
    [
        ([LOAD, "add.u32 %b, %a, 1;", STORE], {0}),
        ([LOAD, "mov.u32 %c, %a;", "mad.lo.u32 %b, %d, %d, %c;", STORE], {0}),
        ([LOAD, "selp.u32 %b, %a, 7, %p;", STORE], {0}),
        ([LOAD, "cvt.rn.f32.u32 %f, %a;", "cvt.rzi.u32.f32 %b, %f;", STORE], {0}),
        ([LOAD, "ld.volatile.u32 %c, [%y];", "max.u32 %b, %a, %c;", STORE], {0, 1}),
        (["ld.acquire.gpu.v2.u32 {%a, %b}, [%x];", STORE], {0}),
        (["atom.add.u32 %b, [%x], 1;", STORE], {0}),
        ([LOAD, "mov.b64 %w, {%a, %c};", "mov.b64 {%b, %d}, %w;", STORE], {0}),
        (
            ["bra LATER;", "BACK:", STORE, "ret;", "LATER:", LOAD, "mov.u32 %b, %a;", "bra BACK;"],
            {5},
        ),
        (
            [
                LOAD,
                "{ .param .u32 p; .param .u32 q;",
                "st.param.u32 [p], %a;",
                "call (q), more, (p);",
                "ld.param.u32 %b, [q]; }",
                STORE,
            ],
            {0},
        ),
        ([LOAD, "setp.eq.u32 %p, %a, 0;", "selp.u32 %b, 1, 2, %p;", STORE], NONE),
        (["ld.u32 %b, [%x];", STORE], NONE),
        ([LOAD, "cvt.u64.u32 %w, %a;", "add.u64 %w, %w, %y;", "ld.u32 %b, [%w];", STORE], NONE),
        ([LOAD, "mov.u32 %b, 1;", STORE], NONE),
        ([LOAD, "add.u32 %b, %a, 1;", "st.u32 [%x], %b;"], NONE),
        ([LOAD, "add.u32 %b, %a, 1;", "atom.exch.b32 %c, [%x], %b;"], NONE),
    ],
)
def test_loads_behind_a_store(body: list[str], loads: set[int]) -> None:
    code = compile_ptx(HEAD + "\n".join(body) + "\nret;\n}\n", frozenset({"k"}))
    found = updates(code.kernels["k"].function, code.sites)
    lines = {code.sites[site].instruction.line - FIRST for one in found.values() for site in one}
    assert lines == loads
    stores = {code.sites[site].instruction.line - FIRST for site in found}
    assert stores == ({body.index(STORE)} if loads else set())
