"""What stands in bodies: registers, variables, scopes, labels, instructions with their operands, and locations."""

from __future__ import annotations

from collections.abc import Callable

import pytest

from coconet_ir.emu.ptx.syntax import (
    Address,
    Function,
    Guard,
    Instruction,
    Integer,
    Label,
    Location,
    Not,
    Operand,
    Pair,
    Prototype,
    Register,
    Sink,
    Symbol,
    Targets,
    Variable,
    Vector,
)

Body = Callable[..., Function]
R1, R2, P1, P2 = (Register(name) for name in ("%r1", "%r2", "%p1", "%p2"))


def instructions(function: Function) -> list[Instruction]:
    return [item for item in function.body if isinstance(item, Instruction)]


def test_registers(body: Body) -> None:
    function = body(".reg .b16 %h<3>, x;\n.reg.pred q;\n.reg .b128 %w<0>;\nret;")
    declared = {name: type for name, type in function.registers.items() if name[:2] != "%r"}
    assert declared == {
        **{f"%p{i}": "pred" for i in range(4)},
        **{f"%f{i}": "f32" for i in range(4)},
        **{f"%d{i}": "f64" for i in range(4)},
        **{f"%h{i}": "b16" for i in range(3)},
        "x": "b16",
        "q": "pred",
    }
    assert function.registers["%r7"] == "b32"
    assert function.registers["%rd7"] == "b64"
    assert len(function.registers) == 33


def test_variables(body: Body) -> None:
    function = body(
        ".local .align 16 .b8 depot[48];\n.shared .f32 s[2][8], t;\n"
        ".extern .shared .b8 dynamic[];\n.param .b64 p;\nmov.u32 %r1, s;"
    )
    assert function.variables == (
        Variable("depot", "local", "b8", 48, 16),
        Variable("s", "shared", "f32", 16),
        Variable("t", "shared", "f32"),
        Variable("dynamic", "shared", "b8", 0, external=True),
        Variable("p", "param", "b64"),
    )


@pytest.mark.parametrize(
    ("text", "operands"),
    [
        ("mov.u32 %r1, %r2", (R1, R2)),
        ("mov.u32 %r1, %tid.x", (R1, Register("%tid.x"))),
        ("mov.u32 %r1, n", (R1, Symbol("n"))),
        ("mov.u64 %rd1, g+4*2", (Register("%rd1"), Symbol("g", 8))),
        ("mov.u32 %r1, -5", (R1, Integer(-5))),
        ("mov.u32 %r1, WARP_SZ", (R1, Integer(32))),
        ("mov.u32 %r1, (1+2)*4", (R1, Integer(12))),
        ("ld.global.u32 %r1, [%rd1]", (R1, Address(Register("%rd1")))),
        ("ld.global.u32 %r1, [%rd1+8]", (R1, Address(Register("%rd1"), 8))),
        ("ld.global.u32 %r1, [ %rd1 + -8 ]", (R1, Address(Register("%rd1"), -8))),
        ("ld.param.u32 %r1, [n+0x10]", (R1, Address(Symbol("n"), 16))),
        ("ld.local.u32 %r1, [16+4]", (R1, Address(Integer(20)))),
        (
            "ld.global.v2.u32 {%r1, _}, [a]",
            (Vector((R1, Sink())), Address(Symbol("a"))),
        ),
        ("st.global.v2.b32 [a], {%r1, 7}", (Address(Symbol("a")), Vector((R1, Integer(7))))),
        ("mov.b64 {%r1, %r2}, %rd1", (Vector((R1, R2)), Register("%rd1"))),
        ("setp.gt.s32 %p1|%p2, %r1, 0", (Pair(P1, P2), R1, Integer(0))),
        ("elect.sync _|%p1, -1", (Pair(Sink(), P1), Integer(-1))),
        ("setp.lt.and.s32 %p1, %r1, %r2, !%p2", (P1, R1, R2, Not(P2))),
        ("mov.u32 %r1, !3", (R1, Integer(0))),
        ("bra $L", (Symbol("$L"),)),
        ("bar.sync 0, 64", (Integer(0), Integer(64))),
        ("call.uni f", (Symbol("f"),)),
        ("call (_), f, (%r1, 5)", (Vector((Sink(),)), Symbol("f"), Vector((R1, Integer(5))))),
        ("call (%r1, %r2), f, ()", (Vector((R1, R2)), Symbol("f"), Vector(()))),
        (
            "call (%r1), %rd1, (a), T",
            (Vector((R1,)), Register("%rd1"), Vector((Symbol("a"),)), Symbol("T")),
        ),
        ("brx.idx %r1, T", (R1, Symbol("T"))),
        (
            "cp.async.bulk.tensor.2d.shared::cluster.global.tile.mbarrier::complete_tx::bytes"
            " [%r1], [%rd1, {%r2, 0}], [%r2]",
            (
                Address(R1),
                Address(Register("%rd1"), 0, (R2, Integer(0))),
                Address(R2),
            ),
        ),
    ],
)
def test_operands(body: Body, text: str, operands: tuple[Operand, ...]) -> None:
    function = body(
        f"T: .branchtargets $L;\n{text};\n$L: ret;", ".global .u32 g[8];\n.func f { ret; }\n"
    )
    first = instructions(function)[0]
    assert first.operands == operands
    assert ".".join((first.opcode, *first.modifiers)) == text.split()[0]
    assert (first.text, first.line, first.guard) == (text, 14, None)


def test_guards(body: Body) -> None:
    found = instructions(body("@%p1 ret;\n@!%p2 exit;\n@ ! %p1 bra.uni L;\nL:"))
    assert [(i.guard, i.opcode, i.text) for i in found] == [
        (Guard(P1, False), "ret", "ret"),
        (Guard(P2, True), "exit", "exit"),
        (Guard(P1, True), "bra", "bra.uni L"),
    ]


def test_instructions_can_be_laid_out_in_any_way(body: Body) -> None:
    (found,) = instructions(body("add .s32\t%r1 , /* of\n two */ %r2,\n  // and\n 1/1\n;"))
    assert (found.opcode, found.modifiers, found.operands) == (
        "add",
        ("s32",),
        (R1, R2, Integer(1)),
    )
    assert found.text == "add .s32 %r1 , %r2, 1/1"
    assert found.line == 11


def test_labels_and_tables(body: Body) -> None:
    function = body(
        "A:\nB: mov.u32 %r1, 1;\nT: .branchtargets B, C;\nF: .calltargets f, g;\n"
        "P: .callprototype (.param .b32 _) _ (.param .b64 _, .param .align 8 .b8 _[16]) .noreturn;\n"
        "Q: .callprototype _;\nC:",
        ".func f { ret; }\n.func g { ret; }\n",
    )
    assert [item for item in function.body if not isinstance(item, Instruction)] == [
        Label("A", 13),
        Label("B", 14),
        Targets("T", ("B", "C")),
        Targets("F", ("f", "g")),
        Prototype(
            "P",
            (Variable("_", "param", "b64"), Variable("_", "param", "b8", 16, 8)),
            (Variable("_", "param", "b32"),),
        ),
        Prototype("Q", (), ()),
        Label("C", 19),
    ]


def test_names_of_scopes_become_unique(body: Body) -> None:
    """A label of a scope is known before it, one of the function everywhere, and outer names where no inner one is."""
    function = body(
        "{ .reg .pred p; .reg .b64 %r1; .param .b32 q;\nL: @p bra L;\n@p bra M;\n@p bra N;\n"
        "mov.b64 %r1, %rd1;\n{ .reg .b32 p; mov.b32 p, %r2; st.param.b32 [q], p; }\nM: }\n"
        "{ .reg .pred p; L: @p bra L; }\nL: mov.b32 %r1, n;\nN:"
    )
    found = [
        ("" if i.guard is None else i.guard.register.name, *i.operands)
        for i in instructions(function)
    ]
    assert found == [
        ("p.1", Symbol("L.1")),
        ("p.1", Symbol("M.1")),
        ("p.1", Symbol("N")),
        ("", Register("%r1.1"), Register("%rd1")),
        ("", Register("p.2"), R2),
        ("", Address(Symbol("q.1")), Register("p.2")),
        ("p.3", Symbol("L.3")),
        ("", R1, Symbol("n")),
    ]
    labels = [item.name for item in function.body if isinstance(item, Label)]
    assert labels == ["L.1", "M.1", "L.3", "L", "N"]
    assert [variable.name for variable in function.variables] == ["q.1"]
    types = {name: type for name, type in function.registers.items() if "." in name}
    assert types == {"p.1": "pred", "%r1.1": "b64", "p.2": "b32", "p.3": "pred"}


def test_locations(body: Body) -> None:
    """Files can be named behind; what was inlined has its callers behind it, up to the function."""
    function = body(
        "ret;\n.loc 1 10 3\nret;\n.loc 2 20 5, function_name $L__info0, inlined_at 1 10 3\nret;\n"
        ".loc 1 30 7, function_name $L__info0+8, inlined_at 2 20 5\nret;\nret;\n"
        ".loc 2 40 9, function_name x, inlined_at 1 11 1\nret;\n.loc 7 1 2\nret;"
        '\n}\n.file 1 "a.cu"\n.file 2 "lib/b.h"\n.entry j() {\nret;'
    )
    outer = Location("a.cu", 10, 3)
    middle = Location("lib/b.h", 20, 5, outer)
    inner = Location("a.cu", 30, 7, middle)
    other = Location("lib/b.h", 40, 9, Location("a.cu", 11, 1))
    found = [i.location for i in instructions(function)]
    assert found == [None, outer, middle, inner, inner, other, Location("file 7", 1, 2)]
    assert str(middle) == "lib/b.h:20:5"
