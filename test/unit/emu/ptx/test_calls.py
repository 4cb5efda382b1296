"""Calls replaced by bodies: the tree, what is refused, and what kernels of nvcc then compute."""

from __future__ import annotations

import re
from collections.abc import Callable

import numpy as np
import pytest

from coconet_ir.emu.code.table import Refused
from coconet_ir.emu.job import Job, Memory, Rank
from coconet_ir.emu.machine import Emulator
from coconet_ir.emu.ptx.calls import inline_calls
from coconet_ir.emu.ptx.parse import parse_ptx
from coconet_ir.emu.ptx.syntax import (
    Address,
    Function,
    Guard,
    Instruction,
    Label,
    Location,
    Module,
    Register,
    Symbol,
    Targets,
    Variable,
)
from coconet_ir.runtime.steps import Launch, Place

Read = Callable[[str], Module]


def inlined(module: Module, name: str = "k") -> Function:
    return inline_calls(module.functions[name], module)


def shown(function: Function) -> list[str]:
    """A body, a line an item."""
    return [_shown(item) for item in function.body]


def _shown(item: object) -> str:
    match item:
        case Instruction(opcode, modifiers, operands, guard):
            mark = "" if guard is None else f"@{'!' * guard.negated}{guard.register.name} "
            inner = ", ".join(map(_shown, operands))
            return f"{mark}{'.'.join((opcode, *modifiers))} {inner}".rstrip()
        case Label(name):
            return f"{name}:"
        case Targets(name, labels):
            return f"{name}: {' '.join(labels)}"
        case Register(name) | Symbol(name):
            return name
        case Address(base, offset):
            return f"[{_shown(base)}+{offset}]"
        case _:
            return str(getattr(item, "value", item))


def test_a_function_without_calls_stays(read: Read) -> None:
    module = read(".func f { ret; }\n.entry k() { ret; }")
    assert inlined(module) is module.functions["k"]


def test_parameters_become_variables_of_the_caller(read: Read) -> None:
    """Names of the copy have the number of the call; `ret` goes behind it."""
    function = inlined(
        read(
            ".func (.param .b32 o) f(.param .b32 a, .param .align 8 .b8 s[16])\n"
            "{ .reg .pred %p<2>; .reg .b32 %r<3>; .local .b8 depot[8];\n"
            "ld.param.b32 %r1, [a]; ld.param.b32 %r2, [s+12]; T: .branchtargets A, B; brx.idx %r1, T;\n"
            "A: st.param.b32 [o], %r2; @%p1 ret; B: mov.u32 %r1, depot; ret.uni; }\n"
            ".entry k(.param .b32 n) { .reg .b32 %r<2>;\n"
            "{ .param .b32 x; .param .align 8 .b8 y[16]; .param .b32 z;\n"
            "st.param.b32 [x], 3; call (z), f, (x, y); ld.param.b32 %r1, [z]; }\nret; }"
        )
    )
    assert shown(function) == [
        "st.param.b32 [x.1+0], 3",
        "ld.param.b32 %r1.call1, [x.1+0]",
        "ld.param.b32 %r2.call1, [y.1+12]",
        "T.call1: A.call1 B.call1",
        "brx.idx %r1.call1, T.call1",
        "A.call1:",
        "st.param.b32 [z.1+0], %r2.call1",
        "@%p1.call1 bra call1.end",
        "B.call1:",
        "mov.u32 %r1.call1, depot.call1",
        "bra.uni call1.end",
        "call1.end:",
        "ld.param.b32 %r1, [z.1+0]",
        "ret",
    ]
    assert function.parameters == (Variable("n", "param", "b32"),)
    assert [v.name for v in function.variables] == ["x.1", "y.1", "z.1", "depot.call1"]
    assert {name: type for name, type in function.registers.items() if "call" in name} == {
        **{f"%r{i}.call1": "b32" for i in range(3)},
        **{f"%p{i}.call1": "pred" for i in range(2)},
    }


def test_registers_and_constants_are_moved(read: Read) -> None:
    function = inlined(
        read(
            ".func (.reg .b32 o, .param .b32 q) f(.reg .b32 a, .param .b32 b) { mov.b32 o, a; ret; }\n"
            ".entry k() { .reg .b32 %r<4>; .param .b32 p, v;\n"
            "call (%r1, %r2), f, (%r1, 7);\ncall (v, _), f, (p, p);\ncall (_, _), f, (1, %r1); }"
        )
    )
    assert shown(function) == [
        "mov.b32 a.call1, %r1",
        "st.param.b32 [b.call1+0], 7",
        "mov.b32 o.call1, a.call1",
        "bra call1.end",
        "call1.end:",
        "mov.b32 %r1, o.call1",
        "ld.param.b32 %r2, [q.call1+0]",
        "ld.param.b32 a.call2, [p+0]",
        "mov.b32 o.call2, a.call2",
        "bra call2.end",
        "call2.end:",
        "st.param.b32 [v+0], o.call2",
        "mov.b32 a.call3, 1",
        "st.param.b32 [b.call3+0], %r1",
        "mov.b32 o.call3, a.call3",
        "bra call3.end",
        "call3.end:",
    ]


def test_guards_and_calls_in_calls(read: Read) -> None:
    """A call whose guard does not hold is passed over; a place in a function has those of its calls behind it."""
    function = inlined(
        read(
            '.file 1 "a.cu"\n.func g { .loc 1 1 1\nbar.sync 0; ret; }\n'
            ".func f { .loc 1 2 2\ncall g; exit; }\n"
            ".entry k() { .reg .pred p; .reg .b32 %r<3>;\n.loc 1 3 3\n@!p call.uni f;\n.loc 1 4 4\ncall g; ret; }"
        )
    )
    assert shown(function) == [
        "@p bra call1.skip",
        "bar.sync 0",
        "bra call2.end",
        "call2.end:",
        "exit",
        "call1.end:",
        "call1.skip:",
        "bar.sync 0",
        "bra call3.end",
        "call3.end:",
        "ret",
    ]
    found = [item.location for item in function.body if isinstance(item, Instruction)]
    k1, k2 = Location("a.cu", 3, 3), Location("a.cu", 4, 4)
    f = Location("a.cu", 2, 2, k1)
    assert found[1] == Location("a.cu", 1, 1, f)
    assert found[3] == f
    assert found[4] == Location("a.cu", 1, 1, k2)
    first = function.body[0]
    assert isinstance(first, Instruction)
    assert (first.guard, first.text) == (Guard(Register("p"), False), "call.uni f")


def test_variables_that_calls_share(read: Read) -> None:
    """A `.shared` variable of a function is one; names of the kernel do not hide the module's from a function."""
    function = inlined(
        read(
            ".global .u32 x;\n.func f { .shared .u32 s; .reg .b64 a; mov.u64 a, s; mov.u64 a, x; }\n"
            ".entry k(.param .u32 n) { .shared .u32 x, s; .reg .b64 a; mov.u64 a, x; mov.u64 a, s; call f; call f; }"
        )
    )
    assert shown(function) == [
        "mov.u64 a, x.in.k",
        "mov.u64 a, s",
        "mov.u64 a.call1, s.in.f",
        "mov.u64 a.call1, x",
        "call1.end:",
        "mov.u64 a.call2, s.in.f",
        "mov.u64 a.call2, x",
        "call2.end:",
    ]
    assert [v.name for v in function.variables] == ["x.in.k", "s", "s.in.f"]


def test_functions_of_the_library(read: Read) -> None:
    function = inlined(
        read(
            ".extern .func (.param .b32 _) vprintf(.param .b64 _, .param .b64 _);\n"
            ".extern .func __assertfail(.param .b64 _);\n"
            ".entry k() { .reg .pred p; .reg .b32 r; .param .b32 v; .param .b64 a;\n"
            "call (v), vprintf, (a, a);\ncall (r), vprintf, (a, a);\n@p call __assertfail, (a); }"
        )
    )
    assert shown(function) == [
        "st.param.b32 [v+0], 0",
        "mov.b32 r, 0",
        "@!p bra call3.skip",
        "trap",
        "call3.skip:",
    ]


@pytest.mark.parametrize(
    ("functions", "call", "message"),
    [
        (".func f { call f; }", "call f;", "line 4: `f` calls itself"),
        (
            ".func g;\n.func f { call g; }\n.func g { call f; }",
            "call f;",
            "line 6: `f` calls itself",
        ),
        (".extern .func malloc;", "call malloc;", "line 5: `malloc` is called and has no body"),
        (".entry f() { ret; }", "call f;", "line 5: `f` is a kernel"),
        (".func f { ret; }", "call %r, (x), f;", "line 5: `call %r, (x), f` calls a function by a"),
        (
            ".func f(.param .b32 a) { }",
            "call f;",
            "`f` has 1 parameters and 0 results, and is called",
        ),
        (
            ".func (.param .b32 o) f { }",
            "call f;",
            "`f` has 0 parameters and 1 results, and is called",
        ),
        (".func f(.param .b64 a) { }", "call f, (x);", "`a` of `f` has 8 bytes, and 4 are passed"),
        (
            ".func f(.param .b8 a[8]) { }",
            "call f, (%r);",
            "`a` of `f` has 8 bytes, and 1 are passed",
        ),
        (".func f(.param .b32 a) { }", "call f, (x+4);", "`x` is no parameter of a call"),
        (".func f(.param .b32 a) { }", "call f, (s);", "`s` is no parameter of a call"),
        (
            ".func (.param .b32 o) f(.param .b32 a) { }",
            "call (x), f, (x);",
            "`call (x), f, (x)` uses a variable for two things",
        ),
        (
            ".func (.param .b32 o, .param .b32 q) f { }",
            "call (x, x), f;",
            "`call (x, x), f` uses a variable for two things",
        ),
    ],
)
def test_what_is_refused(read: Read, functions: str, call: str, message: str) -> None:
    module = read(
        f"{functions}\n.entry k() {{ .reg .b32 %r; .param .b32 x; .shared .b32 s; {call} }}"
    )
    with pytest.raises(Refused, match=re.escape(message)):
        inlined(module)


def test_calls_that_would_never_end(read: Read) -> None:
    wide = "".join(f".func f{i} {{ call f{i + 1}; call f{i + 1}; }}\n" for i in reversed(range(40)))
    deep = "".join(f".func f{i} {{ call f{i + 1}; }}\n" for i in reversed(range(500)))
    for functions, last, message in ((wide, 40, "is too long with"), (deep, 500, "more than 64")):
        module = read(f".func f{last} {{ ret; }}\n{functions}.entry k() {{ call f0; }}")
        with pytest.raises(Refused, match=message):
            inlined(module)


# What nvcc's kernels compute


@pytest.mark.parametrize(
    ("kernel", "message"),
    [
        ("recursive", r"`_Z9fibonaccii` calls itself: recursion is not supported"),
        ("pointer", r"`call \(retval0\), %rd8, .* calls a function by a pointer"),
        ("library", r"`malloc` is called and has no body in this file"),
    ],
)
def test_refused_kernels(data: dict[str, str], kernel: str, message: str) -> None:
    with pytest.raises(Refused, match=message):
        inlined(parse_ptx(data["refused"]), kernel)


def run(text: str, kernel: str, threads: int, *arguments: np.ndarray | int) -> list[np.ndarray]:
    """Run two blocks of a kernel on arrays and numbers; the arrays afterwards."""
    memory = dict[int, Memory]()
    passed: list[Place | bytes] = []
    for number, argument in enumerate(arguments):
        if isinstance(argument, int):
            passed.append(np.int32(argument).tobytes())
        else:
            memory[number] = Memory(f"a{number}", argument.nbytes, argument.tobytes())
            passed.append(Place(number))
    launch = Launch(kernel, (2, 1, 1), (threads, 1, 1), tuple(passed))
    outcome = Emulator(Job(text, (Rank(memory, (launch,)),))).run(0)
    assert outcome.findings == ()
    return [
        np.frombuffer(outcome.memory[0][number], argument.dtype)
        for number, argument in enumerate(arguments)
        if not isinstance(argument, int)
    ]


def test_structures(data: dict[str, str]) -> None:
    """A sum of three neighbours with a count that picks the factors, in double precision."""
    random = np.random.default_rng(3)
    threads, n = 7, 14
    x = random.standard_normal(n).astype(np.float32)
    factors = np.array([1, 2.5, -3, 0.125], np.float32)
    steps = ((1, 2, 0), (3, 1, 0))
    _, found = run(data["calls"], "structures", threads, x, np.zeros(n, np.float32), n)
    for i in range(n):
        total, count = np.float64(0), i
        for k in (-1, 0, 1):
            value = x[min(max(i + k, 0), n - 1)]
            if value >= 0:
                total += np.float64(value * factors[count & 3])
                count += steps[count & 1][1]
        assert found[i] == np.float32(np.float64(np.float32(total)) + count * 1.5)


@pytest.mark.parametrize("text", ["calls", "calls.debug"])
def test_integers(data: dict[str, str], text: str) -> None:
    """Loops that return in the middle, and a `.shared` array of a function that two calls use."""
    random = np.random.default_rng(4)
    threads, n = 32, 49
    x = random.integers(-40, 200, n, np.int32)
    _, found = run(data[text], "integers", threads, x, np.zeros(n, np.int32), n)
    at = np.arange(n)
    partner = x[np.minimum(at ^ 1, n - 1)]
    wanted = partner - 2 * (partner + 1)
    wanted += 1000 * np.array([_collatz(int(value)) if value > 0 else 0 for value in x])
    np.testing.assert_array_equal(found, wanted)


def _collatz(x: int) -> int:
    for k in range(50):
        if x == 1:
            return k
        x = 3 * x + 1 if x % 2 else x // 2
    return -1
