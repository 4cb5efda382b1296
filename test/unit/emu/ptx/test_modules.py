"""What stands outside of bodies: heads, variables with their initial values, functions and their directives."""

from __future__ import annotations

from collections.abc import Callable

import pytest

from coconet_ir.emu.ptx.parse import parse_ptx
from coconet_ir.emu.ptx.syntax import Float, Integer, Module, Symbol, Variable

Read = Callable[[str], Module]


@pytest.mark.parametrize(
    ("head", "version", "target"),
    [
        (".version 9.0\n.target sm_90\n.address_size 64\n", "9.0", "sm_90"),
        ("// a\n/* b\n*/ .version 7.8 .target sm_80, debug", "7.8", "sm_80"),
    ],
)
def test_heads(head: str, version: str, target: str) -> None:
    module = parse_ptx(head)
    assert (module.version, module.target) == (version, target)
    assert module.functions == module.variables == {}


@pytest.mark.parametrize(
    ("text", "variable"),
    [
        (".global .u32 x;", Variable("x", "global", "u32")),
        (
            ".extern .shared .align 16 .b8 x[];",
            Variable("x", "shared", "b8", 0, 16, external=True),
        ),
        (".visible .const .align 8 .f64 x[3];", Variable("x", "const", "f64", 3, 8)),
        (".common .global .s16 x[2][3][4];", Variable("x", "global", "s16", 24)),
        (".global .v4 .f32 x;", Variable("x", "global", "f32", 4, 16)),
        (".global .v2 .u16 x[5];", Variable("x", "global", "u16", 10, 4)),
        (".weak .global .attribute(.managed) .b64 x;", Variable("x", "global", "b64")),
        (".shared .b128 x[WARP_SZ*2];", Variable("x", "shared", "b128", 64)),
    ],
)
def test_variables(read: Read, text: str, variable: Variable) -> None:
    assert read(text).variables == {"x": variable}


def test_several_names_share_what_stands_before_them(read: Read) -> None:
    variables = read(".global .align 8 .u32 x, y[4], z = 5;").variables
    assert variables == {
        "x": Variable("x", "global", "u32", 1, 8),
        "y": Variable("y", "global", "u32", 4, 8),
        "z": Variable("z", "global", "u32", 1, 8, (Integer(5),)),
    }
    assert [variable.bytes for variable in variables.values()] == [4, 16, 4]


def numbers(*values: int) -> tuple[Integer, ...]:
    return tuple(map(Integer, values))


@pytest.mark.parametrize(
    ("text", "count", "initial"),
    [
        (".s32 x = -7", 1, numbers(-7)),
        (".u32 x[4] = {1, 2+3, (4*5)}", 4, numbers(1, 5, 20)),
        (".u32 x[2] = {}", 2, ()),
        (".u32 x[] = {1, 2, 3}", 3, numbers(1, 2, 3)),
        (".u32 x[2][3] = {{1}, {2, 3}}", 6, numbers(1, 0, 0, 2, 3)),
        (".u32 x[][2] = {{1}, {2}, {3}}", 6, numbers(1, 0, 2, 0, 3)),
        (".v2 .u16 x[2] = {{1, 2}, {3, 4}}", 4, numbers(1, 2, 3, 4)),
        (".v2 .u16 x = {1, 2}", 2, numbers(1, 2)),
        (".f32 x[2] = {0f3F800000, -1.5}", 2, (Float(0x3F800000, 32), Float(0xBFC00000, 32))),
        (".f32 x = 1e300", 1, (Float(0x7F800000, 32),)),
        (".f64 x = 1.5", 1, (Float(0x3FF8 << 48, 64),)),
        (".u64 x[3] = {y, y+8, generic(y)+4}", 3, (Symbol("y"), Symbol("y", 8), Symbol("y", 4))),
        (
            ".u8 x[3] = {0xFF(y), 0xFF00(generic(y)+4), 0xFF00000000000000(y+8)}",
            3,
            (Symbol("y", 0, 0), Symbol("y", 4, 1), Symbol("y", 8, 7)),
        ),
    ],
)
def test_initial_values(read: Read, text: str, count: int, initial: object) -> None:
    variable = read(f".global .u32 y[4];\n.global {text};").variables["x"]
    assert (variable.count, variable.initial) == (count, initial)


def test_a_definition_comes_after_its_declaration(read: Read) -> None:
    module = read(
        ".extern .global .u32 x;\n.global .u32 x = 3;\n"
        ".func f(.param .b32 a);\n.entry k() { call f, (1); ret; }\n.func f(.param .b32 a) { ret; }"
    )
    assert module.variables == {"x": Variable("x", "global", "u32", 1, 0, numbers(3))}
    assert [f.declared for f in module.functions.values()] == [False, False]
    assert [f.line for f in module.functions.values()] == [8, 7]


def test_parameters_of_kernels(read: Read) -> None:
    kernel = read(
        ".visible .entry k(\n.param .u64 .ptr .global .align 4 a,\n.param .align 8 .b8 b[16],\n"
        ".param .u64 .ptr .align 1 c, .param .f32 d)\n{ ret; }"
    ).functions["k"]
    assert kernel.kernel
    assert kernel.results == ()
    assert kernel.parameters == (
        Variable("a", "param", "u64"),
        Variable("b", "param", "b8", 16, 8),
        Variable("c", "param", "u64"),
        Variable("d", "param", "f32"),
    )


def test_parameters_of_functions(read: Read) -> None:
    functions = read(
        ".func (.param .b32 o) f(.param .align 4 .b8 a[12]);\n"
        ".func (.reg .u32 o, .reg .pred q) g(.reg .u64 %a) { ret; }\n"
        ".extern .func (.param .b32 _) h(.param .b64 _, .param .b64 _)\n.noreturn;\n"
        ".weak .func i { ret; }\n.alias j, i;"
    ).functions
    f, g, h, i, j = (functions[name] for name in "fghij")
    assert (f.results, f.parameters) == (
        (Variable("o", "param", "b32"),),
        (Variable("a", "param", "b8", 12, 4),),
    )
    assert (g.results, g.parameters) == (
        (Variable("o", "reg", "u32"), Variable("q", "reg", "pred")),
        (Variable("%a", "reg", "u64"),),
    )
    assert g.registers == {"o": "u32", "q": "pred", "%a": "u64"}
    assert h.parameters == (Variable("_", "param", "b64"),) * 2
    assert h.directives == {"noreturn": ()}
    assert i.parameters == i.results == ()
    assert [function.declared for function in (f, g, h, i, j)] == [True, False, True, False, False]
    assert (j.name, j.body) == ("j", i.body)


def test_directives_of_kernels(read: Read) -> None:
    kernel = read(
        ".entry k()\n.maxntid 128, 2, 1\n.minnctapersm 3 .maxnreg 64\n.reqnctapercluster 2\n"
        '.explicitcluster\n.pragma "nounroll", "x";\n{ ret; }'
    ).functions["k"]
    assert kernel.directives == {
        "maxntid": (128, 2, 1),
        "minnctapersm": (3,),
        "maxnreg": (64,),
        "reqnctapercluster": (2,),
        "explicitcluster": (),
    }


def test_data_of_debuggers_are_passed_over(read: Read) -> None:
    module = read(
        '.file 1 "a.cu", 12, 34\n.pragma "x";\n.entry k() { ret; }\n'
        ".section .debug_str {\n$L__info_string0:\n.b8 65\n{ .b8 0xFF }\n}\n.section .debug_macinfo { }"
    )
    assert list(module.functions) == ["k"]
