"""The lexer, parser and printer against xDSL's own, and on input that those cannot take."""

from __future__ import annotations

import inspect
import math
import re
import time
from collections.abc import Callable

import pytest
from hypothesis import given
from hypothesis import strategies as st
from xdsl.dialects.builtin import (
    BytesAttr,
    DenseIntOrFPElementsAttr,
    FileLineColLoc,
    ModuleOp,
    NameLoc,
    StringAttr,
    SymbolRefAttr,
    f32,
    f64,
)
from xdsl.dialects.func import FuncOp
from xdsl.parser import Parser
from xdsl.utils.exceptions import ParseError
from xdsl.utils.lexer import Input
from xdsl.utils.mlir_lexer import MLIRLexer, MLIRTokenKind

from coconet_ir.diagnostics import IRError, said_by_xdsl
from coconet_ir.frontend import make_context, parse_program
from coconet_ir.xdsl_compat import (
    MAX_DENSE_ELEMENTS,
    LinearLexer,
    LocatedParser,
    print_module,
    set_type,
)

CONTEXT = make_context(allow_unregistered=True)  # one, as each makes its own unknown types


def parse(text: str, name: str = "x.mlir") -> ModuleOp:
    return LocatedParser(CONTEXT, text, name).parse_module()


def lex(lexer: type[MLIRLexer], text: str) -> list[tuple[MLIRTokenKind, int, int] | str]:
    stream = lexer(Input(text, "x"))
    tokens: list[tuple[MLIRTokenKind, int, int] | str] = []
    while True:
        try:
            token = stream.lex()
        except ParseError:
            return [*tokens, "error"]
        tokens.append((token.kind, token.span.start, token.span.end))
        if token.kind == MLIRTokenKind.EOF:
            return tokens


FRAGMENTS = r"""
% # ! ^ #-} {-# - > -> // a _ x1 . .. ... 0 1.5 1e5 0x1F 0x $ @ @a "a" "" "\n" "\0A" " \ { } ( ) [
] < : , = + / * ? |
""".split()
BLANKS = [" ", "\n", "\t", "\r", "\x0b", "\u00a0"]


@given(st.lists(st.sampled_from(FRAGMENTS + BLANKS), max_size=12).map("".join))
def test_tokens_are_those_of_xdsl(text: str) -> None:
    assert lex(LinearLexer, text) == lex(MLIRLexer, text)


PATTERNS: dict[str, re.Pattern[str]] = dict(
    inspect.getmembers(LinearLexer, lambda member: isinstance(member, re.Pattern))
)


@pytest.mark.parametrize("name", sorted(PATTERNS))
@pytest.mark.parametrize(
    "unit", ["a", "\\", '\\"', "\\n", "// ", " \n", "1", ".1", "e+", "x.", "-#"]
)
def test_token_patterns_take_linear_time(name: str, unit: str) -> None:
    start = time.process_time()
    for first in ('"', "%", "", "0."):
        for last in ("", "\x00", "\n"):
            PATTERNS[name].match(first + unit * 20_000 + last)
    assert time.process_time() - start < 2  # microseconds if linear, minutes if quadratic


@pytest.mark.parametrize(
    ("text", "line", "column", "message"),
    [
        ('"' + "a" * 200, 1, 1, "string literal is not closed"),
        ('"a\\q"', 1, 1, "string literal is not closed on its line or has an escape"),
        ("", 1, 1, "the input holds no operation"),
        ("// nothing\n", 2, 1, "the input holds no operation"),
        ("?", 1, 1, "expected an operation, found '?'"),
        ("%", 1, 1, "expected a name or number after '%'"),
        (
            "func.func @f() {\n  =\n}",
            2,
            3,
            "expected an operation, a block label or '}', found '='",
        ),
        ("func.func @f() {\n", 2, 1, "found the end of the input"),
        ("%c = arith.constant ² : i8", 1, 21, "Unexpected character: ²"),
        ("%c = arith.constant {é = 1} 1 : i8", 1, 22, "Unexpected character: é"),
        ("func.func @é() {}", 1, 12, "Unexpected character: é"),
        (
            "%c = arith.constant 3 : !what\n%d = arith.constant 3 : i8",
            1,
            25,
            "undefined symbol alias",
        ),
        ("%c = arith.constant 1" + "0" * 400 + " : f32", 1, 21, "does not fit into 64 bits"),
        ("%c = arith.constant 1" + "0" * 5000 + ".0 : f32", 1, 21, "number of 5003 characters"),
        ("%c = arith.constant 300 : i8", 1, 21, "out of range for type i8"),
        ("%c = arith.constant 1 : i0", 1, 25, "integer types are 1 to 1024 bits wide"),
        ("%c = arith.constant 1 : i99999999", 1, 25, "integer types are 1 to 1024 bits wide"),
        ("%c = arith.constant 1 : i99999999999999", 1, 25, "integer types are 1 to 1024 bits wide"),
        ("func.func @f(\n  %x: tensor<99999999999999999999xf32>) {}", 2, 14, "dimension is larger"),
        ('func.func @f() attributes {a = @"\\FF"} {}', 1, 32, "string is not valid UTF-8"),
        ("%c = arith.constant {a = affine_map<(d) -> (1 mod 0)>} 1 : i8", 1, 26, "divides by zero"),
        ("{-# external_resources: {} #-}", 1, 25, "external resources are not supported"),
        (
            "func.func @f() {\n  %y = arith.addi %x, %x : i8\n}",
            2,
            19,
            "%x is used but never defined",
        ),
        (
            "func.func @f() {\n  cf.br ^b\n^b:\n  cf.br ^b\n^b:\n}",
            5,
            1,
            "re-declaration of block 'b'",
        ),
        ("func.func @f() {\n^b:\n  cf.br ^b\n^b:\n}", 4, 1, "re-declaration of block 'b'"),
        (
            "func.func @f(%x: i8) {\n  cf.switch %x : i8, [default: ^a, 300: ^a]\n^a:\n}",
            2,
            3,
            "Integer value 300 is out of range for type i8",
        ),
        ("func.func @f() {" + "scf.execute_region {" * 400, 1, None, "too deeply nested"),
        ("%c = arith.constant {a = " + "[" * 5000, 1, None, "too deeply nested"),
        ("func.func @f(%x: " + "(" * 5000, 1, None, "too deeply nested"),
    ],
)
def test_bad_input_is_located(text: str, line: int, column: int | None, message: str) -> None:
    with pytest.raises(ParseError) as caught:
        parse(text)
    assert message in caught.value.msg
    location = caught.value.span.get_location()
    assert location.line == line
    assert column is None or location.col == column


def test_an_unknown_operation_is_marked_itself() -> None:
    text = "func.func @f() {\n  arith.constnt\n  func.return\n}"
    ctx = make_context()
    ctx.load_registered_dialect("arith")
    with pytest.raises(ParseError, match=r"did you mean 'arith\.constant'") as caught:
        LocatedParser(ctx, text, "x").parse_module()
    assert caught.value.span.text == "arith.constnt"


@pytest.mark.parametrize("value", ["1.0", '"0x0000803F"', "1.0e0"])
def test_dense_constants_are_bounded(value: str) -> None:
    def constant(size: str) -> str:
        return f"%c = arith.constant\n  dense<{value}> : tensor<{size}xf32>"

    parse(constant(str(MAX_DENSE_ELEMENTS)))
    parse(constant("0"))
    for size in (str(MAX_DENSE_ELEMENTS + 1), "99999999999", "9x" * 500 + "9"):
        with pytest.raises(ParseError, match="the limit is 1,048,576") as caught:
            parse(constant(size))
        assert caught.value.span.get_location().line == 2


def test_aliases_cannot_grow_exponentially() -> None:
    levels = "".join(f"!a{i + 1} = tuple<!a{i}, !a{i}>\n" for i in range(100))
    with pytest.raises(ParseError, match="expands to more than 1000 aliases"):
        parse(f"!a0 = tuple<f32, f32>\n{levels}func.func @f(%x: !a100) {{}}")


PROGRAM = """\
func.func @f(%x: f32,
             %y: f32 loc("there":7:8)) -> f32 {
  %z = "my.op"(%x) ({
  ^bb0(%inner: i32):
    "my.end"() : () -> ()
  }) : (f32) -> f32
      %w = arith.addf %x, %y : f32 loc("named")
  func.return %z : f32
}
"""


@pytest.mark.parametrize("lines_before", [0, 1, 1000])
def test_locations(lines_before: int) -> None:
    module = parse("\n" * lines_before + PROGRAM)
    (function,) = module.ops
    assert isinstance(function, FuncOp)
    outer, add, end = function.body.block.ops
    inner = outer.regions[0].block

    def place(location: object) -> tuple[int, int]:
        assert isinstance(location, FileLineColLoc)
        assert location.filename.data == "x.mlir"
        return location.line.data - lines_before, location.column.data

    assert place(function.location) == (1, 1)
    assert place(outer.location) == (3, 3)
    assert place(end.location) == (8, 3)
    assert place(function.body.block.args[0].location) == (1, 14)
    assert place(inner.args[0].location) == (4, 8)
    assert [place(op.location) for op in inner.ops] == [(5, 5)]
    given_location = function.body.block.args[1].location
    assert str(given_location) == 'loc("there":7:8)'
    assert isinstance(add.location, NameLoc)


def test_strings_beyond_ascii_stay_strings() -> None:
    module = parse('"my.op"() {a = "é", b = "\\C3\\A9", c = "\\FF", d = @"é"} : () -> ()')
    again = parse(print_module(module))
    for (op,) in (module.ops, again.ops):
        assert op.attributes["a"] == op.attributes["b"] == StringAttr("é")
        assert op.attributes["c"] == BytesAttr(b"\xff")
        assert op.attributes["d"] == SymbolRefAttr("é")


def test_set_type() -> None:
    module = parse("func.func @f(%x: f32) {\n  %y = arith.addf %x, %x : f32\n  func.return\n}")
    (function,) = module.ops
    value = function.regions[0].block.args[0]
    (add, _) = function.regions[0].block.ops
    set_type(value, f64)
    assert value.type == f64
    assert [operand.type for operand in add.operands] == [f64, f64]
    assert add.results[0].type == f32


LAYOUTS = """\
func.func @f(%x: tensor<8x?xf32, #my.at<dp = sliced(0)>>, %once: tensor<2xf32, #my.at<once>>) {
  %a = "my.op"(%x) {t = tensor<8x?xf32, #my.at<dp = sliced(0)>>}
    : (tensor<8x?xf32, #my.at<dp = sliced(0)>>) -> tensor<4xf16, #my.at<dp = sliced(0)>>
  %b = "my.op"(%a) : (tensor<4xf16, #my.at<dp = sliced(0)>>) -> tensor<6xf16, #my.at<dp = sliced(0)>>
  %c = "my.op"(%b) : (tensor<6xf16, #my.at<dp = sliced(0)>>) -> tensor<?x4xf32>
  %d = "my.op"(%c) : (tensor<?x4xf32>) -> tensor<i8, #my.at<[a, b] = sliced(0)>>
  %e = "my.op"(%d) : (tensor<i8, #my.at<[a, b] = sliced(0)>>) -> tensor<i8, #my.at<[a], b = sliced(0)>>
  "my.op"(%e) : (tensor<i8, #my.at<[a], b = sliced(0)>>) -> ()
  func.return
}
"""


def test_aliases() -> None:
    text = print_module(parse(LAYOUTS))
    assert [line for line in text.splitlines() if line.startswith("!")] == [
        "!f32_dp_sliced_0 = tensor<8x?xf32, #my.at<dp = sliced(0)>>",
        "!t4xf16_dp_sliced_0 = tensor<4xf16, #my.at<dp = sliced(0)>>",
        "!t6xf16_dp_sliced_0 = tensor<6xf16, #my.at<dp = sliced(0)>>",
        "!ti8_a_b_sliced_0 = tensor<i8, #my.at<[a, b] = sliced(0)>>",
        "!ti8_a_b_sliced_0_ = tensor<i8, #my.at<[a], b = sliced(0)>>",
    ]
    assert "@f(%x: !f32_dp_sliced_0, %once: tensor<2xf32, #my.at<once>>)" in text
    assert '%c = "my.op"(%b) : (!t6xf16_dp_sliced_0) -> tensor<?x4xf32>' in text
    assert "{t = !f32_dp_sliced_0}" in text


@pytest.mark.parametrize("generic", [False, True])
@pytest.mark.parametrize("aliases", [False, True])
@pytest.mark.parametrize("debuginfo", [False, True])
def test_printed_text_is_the_same_program(generic: bool, aliases: bool, debuginfo: bool) -> None:
    module = parse(LAYOUTS)
    text = print_module(module, generic=generic, aliases=aliases, debuginfo=debuginfo)
    assert text.endswith("\n")
    assert ("!f32_dp_sliced_0 =" in text) == aliases
    assert ('loc("x.mlir":2:3)' in text) == debuginfo
    again = parse(text, "again.mlir")
    assert again.is_structurally_equivalent(module)
    assert Parser(CONTEXT, text).parse_module().is_structurally_equivalent(module)
    if debuginfo:
        assert locations(again) == locations(module)


def locations(module: ModuleOp) -> list[str]:
    return [str(op.location) for op in module.walk()]


@pytest.mark.parametrize(
    ("bits", "element", "value"),
    [
        ("0xFF800000", "f32", -math.inf),
        ("0x3FC00000", "f32", 1.5),
        ("0x7C00", "f16", math.inf),
        ("0xC000", "bf16", -2.0),
        ("0xC0", "f8E4M3FN", -2.0),
        ("0x7FEFFFFFFFFFFFFF", "f64", 1.7976931348623157e308),
        ("0x10", "i32", 16),
    ],
)
def test_hexadecimal_elements_of_dense_floats_are_bits(
    bits: str, element: str, value: float
) -> None:
    for form in (bits, f"[{bits}, {bits}]"):
        text = f'"x.y"() {{c = dense<{form}> : tensor<2x{element}>}} : () -> ()'
        (op,) = parse(text).ops
        constant = op.attributes["c"]
        assert isinstance(constant, DenseIntOrFPElementsAttr)
        assert list(constant.get_values()) == [value, value]
        again = parse(print_module(parse(text)))
        assert again.is_structurally_equivalent(parse(text))


def test_hexadecimal_float_out_of_range() -> None:
    with pytest.raises(ParseError, match="out of range"):
        parse('"x.y"() {c = dense<0x1FF800000> : tensor<2xf32>} : () -> ()')


@pytest.mark.parametrize("text", ["^0:\n  func.return", "  cf.br ^1\n^1:\n  func.return"])
def test_block_labels_that_start_with_a_digit(text: str) -> None:
    with pytest.raises(ParseError, match="must not start with a digit"):
        parse(f"func.func @f() {{\n{text}\n}}")


def test_a_check_of_xdsl_that_raises_a_plain_exception_is_located() -> None:
    """`memref` counts its indices so; what our own code raises stays an internal error."""
    text = "func.func @f(%x: memref<?xf32>) {{\n  {}\n  func.return\n}}"
    for line in (
        "%y = memref.load %x[] : memref<?xf32>",
        "%c = arith.constant 1.0 : f32\n  memref.store %c, %x[] : memref<?xf32>",
    ):
        with pytest.raises(IRError) as caught:
            parse_program(CONTEXT, text.format(line), "p.mlir")
        row = 2 + line.count("\n")
        (first,) = caught.value.diagnostics()
        assert str(first.position) == f"p.mlir:{row}:3"
        assert "xpected an index for each dimension" in first.message


def test_whose_exception_it_is() -> None:
    def raised(run: Callable[[], object]) -> Exception:
        with pytest.raises(Exception) as caught:  # noqa: PT011
            run()
        return caught.value

    argument = ModuleOp([]).body.block.insert_arg(f32, 0)
    name = raised(lambda: setattr(argument, "name_hint", "2nd"))
    assert (said_by_xdsl(name) or "").startswith(
        "Invalid BlockArgument name format `2nd`. Make sure"
    )
    assert said_by_xdsl(raised(lambda: FuncOp("f", 3))) == (  # pyright: ignore[reportArgumentType]
        "cannot be read: AttributeError: 'int' object has no attribute 'inputs'"
    )
    assert said_by_xdsl(raised(lambda: dict[str, int]()["x"])) is None
    assert said_by_xdsl(raised(lambda: parse("?"))) is None
    assert said_by_xdsl(ValueError("never raised")) is None
