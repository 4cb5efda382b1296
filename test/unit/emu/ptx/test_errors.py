"""What is not PTX: what is said about it, and the line and column that it is said of."""

from __future__ import annotations

import contextlib
import random
import re
import string
from collections.abc import Callable

import pytest
from hypothesis import given
from hypothesis import strategies as st

from coconet_ir.emu.code.table import Refused
from coconet_ir.emu.ptx.calls import inline_calls
from coconet_ir.emu.ptx.parse import PTXError, parse_ptx
from coconet_ir.emu.ptx.syntax import Function

Body = Callable[..., Function]
START = ".version 8.0 .target sm_90 "


@pytest.mark.parametrize(
    ("text", "line", "column", "message"),
    [
        ("", 1, 1, "`.version` is expected, not the end"),
        ("\n  hello", 2, 3, "`.version` is expected, not `hello`"),
        (".version 9", 1, 10, "a version such as 8.0 is expected, not `9`"),
        (".version 0f3F800000 .target x", 1, 10, "a version such as 8.0 is expected"),
        (".version 8.0\n.address_size 64", 2, 1, "`.target` is expected"),
        (".version 8.0 .target sm_90 .address_size 32", 1, 42, "only addresses of 64 bits"),
        (".version 8.0 .target sm_90 /* never\nends", 1, 28, "the comment has no end"),
        ('.version 8.0 .target sm_90\n.file 1 "a', 2, 9, "the string has no end"),
        (".version 8.0 .target sm_90 // é\n // #\n §", 3, 2, "'§' is no token of PTX"),
        (START + '.file 1 "a"\n.file 1 "b"', 2, 1, "`.file 1` is there twice"),
        (START + ";", 1, 28, "a function or a variable is expected, not `;`"),
        (START + ".local .u32 x;", 1, 28, "a function or a variable is expected"),
        (START + ".global x;", 1, 36, "a type is expected, not `x`"),
        (START + ".global .u33 x;", 1, 36, "a type is expected, not `.u33`"),
        (START + ".global .texref x;", 1, 36, "textures, samplers and surfaces"),
        (START + ".global .align 6 .u32 x;", 1, 43, "an alignment is a power of two"),
        (START + ".global .u32 3;", 1, 41, "the name of a variable is expected"),
        (START + ".global .u32 x[-1];", 1, 43, "the size of an array is not negative"),
        (START + ".global .u32 x[2;", 1, 44, "`]` is expected, not `;`"),
        (START + ".global .u32 x" + "[1]" * 17 + ";", 1, 91, "at most 16 dimensions"),
        (START + ".shared .u32 x = 1;", 1, 41, "a variable in .shared has no initial value"),
        (START + ".global .u32 x[2] = {1, 2, 3};", 1, 48, "more than 2 elements in these braces"),
        (START + ".global .u32 x[2][2] = {{1, 2, 3}};", 1, 52, "more than 2 elements in these"),
        (START + ".global .u32 x[2][2] = {1};", 1, 52, "`{` is expected, not `1`"),
        (START + ".global .u32 x = {1};", 1, 45, "an integer is expected, not `{`"),
        (START + ".global .u32 x[2] = {1,};", 1, 51, "an integer is expected, not `}`"),
        (START + ".global .u8 x = 0xF0(y);", 1, 44, "a mask is 0xFF, 0xFF00 and so on"),
        (START + ".global .u8 x = 1.0(y);", 1, 44, "a mask is 0xFF"),
        (START + ".global .u8 x = 0xFF(1);", 1, 49, "the name of a variable is expected, not `1`"),
        (START + ".global .f64 x = 0f3F800000;", 1, 45, "the type .f32, not .f64"),
        (START + ".global .u64 x = 1.5;", 1, 45, "the type .f64, not .u64"),
        (START + ".global .u8 x[2][9999999] = {};", 1, 40, "an initial value has at most"),
        (START + ".global .u32 x; .shared .u32 x;", 1, 44, "`x` is declared twice"),
        (START + ".entry k { } .entry k { }", 1, 48, "`k` is declared twice"),
        (START + ".global .u32 k; .entry k { }", 1, 51, "`k` is declared twice"),
        (START + ".entry 1", 1, 35, "the name of a function is expected"),
        (START + ".entry k .maxntid x", 1, 46, "a number is expected, not `x`"),
        (START + ".entry k .maxntid 4294967296", 1, 46, "a number is at most 2147483647"),
        (START + ".entry k .fast { }", 1, 37, "the directive .fast is not known here"),
        (START + ".entry k(.u32 x) { }", 1, 37, "`.param` is expected, not `.u32`"),
        (START + ".entry k(.param .u32 x { }", 1, 51, "`)` is expected, not `{`"),
        (START + ".entry k(.param .u32 x, .param .u32 x) { }", 1, 35, "`x` is declared twice"),
        (START + ".entry k {", 1, 37, "this scope is not closed"),
        (START + ".section .debug {\n{ }", 1, 44, "this `{` is not closed"),
        (START + ".alias f, g;", 1, 38, "there is no function of this name"),
    ],
)
def test_modules(text: str, line: int, column: int, message: str) -> None:
    with pytest.raises(PTXError, match=re.escape(message)) as raised:
        parse_ptx(text)
    assert (raised.value.line, raised.value.column) == (line, column)


@pytest.mark.parametrize(
    ("text", "column", "message"),
    [
        (";", 1, "an instruction is expected, not `;`"),
        ("%r1", 1, "an instruction is expected, not `%r1`"),
        ("@%p1 { ret; }", 6, "an instruction is expected, not `{`"),
        ("@5 ret;", 2, "a predicate is expected, not `5`"),
        ("@n ret;", 2, "a predicate is expected, not `n`"),
        ("ret", 4, "an operand is expected, not the end"),
        ("ret }", 5, "an operand is expected, not `}`"),
        ("mov.u32 %r1, ;", 14, "an operand is expected, not `;`"),
        ("mov.u32 %r1 %r2;", 13, "`,` or `;` is expected, not `%r2`"),
        ("mov.u32 %r1, -%r2;", 15, "an integer is expected, not `%r2`"),
        ("mov.u32 %r1, 089;", 14, "an integer of 64 bits is expected, not `089`"),
        ("mov.u32 %r1, 0x1G;", 14, "an integer of 64 bits is expected, not `0x1G`"),
        ("mov.u32 %r1, 1_000;", 14, "an integer of 64 bits is expected"),
        ("mov.u32 %r1, 18446744073709551616;", 14, "an integer of 64 bits is expected"),
        pytest.param(
            "mov.u32 %r1, " + "9" * 5000 + ";",
            14,
            "an integer of 64 bits is expected",
            id="many digits",
        ),
        ("mov.f32 %f1, 0f123;", 14, "an integer of 64 bits is expected, not `0f123`"),
        ("mov.f32 %f1, -0f3F800000;", 14, "in the form 0f has no sign"),
        ("mov.f32 %f1, 1.0 + 2.0;", 18, "`;` is expected, not `+`"),
        ("mov.u32 %r1, 1 + 2.0;", 18, "an integer is expected"),
        ("mov.u32 %r1, 4 / (2 - 2);", 16, "the expression divides by zero"),
        ("mov.u32 %r1, 4 % 0;", 16, "the expression divides by zero"),
        ("mov.u32 %r1, (1;", 16, "`)` is expected, not `;`"),
        ("mov.u32 %r1, 1 ? 2;", 19, "`:` is expected, not `;`"),
        pytest.param(
            "mov.u32 %r1, " + "(" * 9999, 79, "the expression is too deep", id="many parentheses"
        ),
        pytest.param(
            "mov.u32 %r1, " + "-" * 9999, 79, "the expression is too deep", id="many signs"
        ),
        pytest.param(
            "mov.u32 %r1, " + "1?2:" * 9999, 272, "the expression is too deep", id="many choices"
        ),
        ("mov.u32 %r1, g[2];", 15, "an element of an array as an operand is not supported"),
        ("mov.u32 %r1, nobody;", 14, "nothing is called `nobody`"),
        ("bra nowhere;", 5, "nothing is called `nowhere`"),
        ("{ L: ret; } bra L;", 17, "nothing is called `L`"),
        ("T: .branchtargets L;", 19, "nothing is called `L`"),
        ("T: .branchtargets %r1;", 19, "the name of a label or a function is expected"),
        ("T: .branchtargets n,;", 21, "the name of a label or a function is expected"),
        ("T: .callprototype (.param .b32 _) _ f;", 37, "`;` is expected, not `f`"),
        ("ld.u32 %r1, [%rd1;", 18, "`]` is expected, not `;`"),
        ("ld.u32 %r1, [%rd1-8];", 18, "`]` is expected, not `-`"),
        ("ld.u32 %r1, [_];", 14, "this is no address"),
        ("ld.u32 %r1, [%rd1, %r2];", 20, "coordinates in braces is expected"),
        ("ld.u32 %r1, [@];", 14, "an address is expected, not `@`"),
        ("ld.v2.u32 {%r1, {%r2}}, [a];", 17, "an operand is expected, not `{`"),
        ("ld.v2.u32 {%r1, %r2, [a];", 22, "an operand is expected, not `[`"),
        ("setp.eq.u32 %p1|7, %r1, 0;", 17, "a register on both sides of `|` is expected, not `7`"),
        ("setp.eq.u32 n|%p1, %r1, 0;", 18, "a register on both sides of `|` is expected"),
        ("mov.u32 (%r1), 5;", 10, "an integer is expected, not `%r1`"),
        ("A: ret;\nA: ret;", 1, "`A` is declared twice"),
        ("x.y: ret;", 1, "the name of a label is expected, not `x.y`"),
        (".reg .b32 %r1;", 1, "`%r1` is declared twice"),
        (".reg .b32 x, x;", 14, "`x` is declared twice"),
        (".reg .v2 .f32 x;", 15, "registers that are vectors are not supported"),
        (".reg .b32 x<9999999>;", 13, "the number of registers is at most"),
        (".reg .b32 x<131072>;", 1, "a function has at most 131072 registers"),
        (".reg .b32 x<2;", 14, "`>` is expected, not `;`"),
        (".shared .u32 n;", 1, "`n` is declared twice"),
        (".shared .u32 s = 1;", 14, "a variable in .shared has no initial value"),
        (".section x", 11, "`{` is expected, not the end"),
        (".frob 1;", 1, "the directive .frob is not known here"),
        ('.pragma "a" "b";', 13, '`;` is expected, not `"b"`'),
        (".pragma nounroll;", 9, "a string is expected, not `nounroll`"),
        (".loc 1 2", 9, "a column is expected, not the end"),
        (".loc 1 2 3, inlined_at 1 2 3", 13, "`function_name` is expected, not `inlined_at`"),
        (".loc 1 2 3, function_name f ret;", 29, "`,` is expected, not `ret`"),
        (".loc 1 2 3, function_name f, at 1 2 3", 30, "`inlined_at` is expected, not `at`"),
        pytest.param("{ " * 65, 129, "there are too many scopes in each other", id="many scopes"),
        ("{", 1, "this scope is not closed"),
    ],
)
def test_bodies(text: str, column: int, message: str) -> None:
    """In the second line; what misses a semicolon is the last word of the text."""
    head = ".entry k(.param .u32 n, .param .u64 a, .param .b8 g[4]) { "
    registers = ".reg .pred %p<3>; .reg .b32 %r<3>; .reg .b64 %rd<3>; .reg .f32 %f<3>;"
    end = "\n}" if text.endswith(";") else ""
    with pytest.raises(PTXError, match=re.escape(message)) as raised:
        parse_ptx(f"{START}{head}{registers}\n{text}{end}", "k.ptx")
    line = 2 + text.count("\n")
    assert (raised.value.line, raised.value.column) == (line, column)
    assert str(raised.value) == f"k.ptx:{line}:{column}: {raised.value.message}"


# Changed texts

TOKEN = re.compile(r"\s+|[\w$%.:]+|//[^\n]*|.")
ODD = (
    *"{}()[]<>;,@!|+-?:=_%",
    *('"', "/*", "0x", "0f", "1e999", "9" * 30, "é", "\0", "{ {", "} }", "WARP_SZ", "T: "),
    *(".reg", ".b32", ".v2", ".param", ".extern", ".shared", ".func", ".alias", ".section", ".loc"),
    *('.file 1 "x"', ".branchtargets", ".callprototype", "call", "ret;"),
)


def changed(text: str, choose: random.Random) -> str:
    """A text with tokens left out, doubled, exchanged, put in, or cut off."""
    words = TOKEN.findall(text)
    for _ in range(choose.choice((1, 1, 2, 8))):
        at, other = choose.randrange(len(words)), choose.randrange(len(words))
        match choose.randrange(6):
            case 0:
                words[at] = ""
            case 1:
                words[at] += words[at]
            case 2:
                words[at], words[other] = words[other], words[at]
            case 3:
                words[at] = choose.choice(ODD)
            case 4:
                words[at] += choose.choice(ODD)
            case _:
                del words[at + 1 :]
    return "".join(words)


def check(text: str) -> bool:
    """Whether a text is PTX; nothing but `PTXError` says that it is not, of a place that it has."""
    lines = text.split("\n")
    try:
        module = parse_ptx(text)
    except PTXError as found:
        error = found
    else:
        for function in module.functions.values():
            with contextlib.suppress(Refused):
                inline_calls(function, module)
        return True
    assert 1 <= error.line <= len(lines)
    assert 1 <= error.column <= len(lines[error.line - 1]) + 1
    return False


def test_changed_texts(data: dict[str, str]) -> None:
    choose = random.Random(5)
    texts = list(data.values())
    found = [check(changed(choose.choice(texts), choose)) for _ in range(300)]
    assert 20 < sum(found) < 150


@given(st.text(alphabet=string.printable + "é\0\ud800"))
def test_any_text(text: str) -> None:
    check(text)
    check(START + text)


@pytest.mark.parametrize(
    "text",
    [
        pytest.param("/*" * 50000, id="comments"),
        pytest.param("{" * 100000, id="scopes"),
        pytest.param("§" + " " * 200000 + "§", id="blanks"),
        pytest.param('"' * 99999, id="strings"),
        pytest.param("call (1), " + "(1), " * 50000, id="lists"),
    ],
)
def test_long_texts(text: str) -> None:
    """Time that grows with the square of these would be hours."""
    assert not check(START + text)
    assert not check(START + ".entry k { " + text)
