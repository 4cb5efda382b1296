"""How errors look, and which operation they are about."""

from __future__ import annotations

import pytest
from xdsl.dialects import test
from xdsl.dialects.builtin import (
    ArrayAttr,
    CallSiteLoc,
    FileLineColLoc,
    FusedLoc,
    IntAttr,
    LocationAttr,
    ModuleOp,
    NameLoc,
    NoneAttr,
    StringAttr,
    UnknownLoc,
    f32,
)
from xdsl.dialects.func import FuncOp
from xdsl.ir import Block, Region
from xdsl.utils.exceptions import ParseError, PassFailedException, VerifyException

from coconet_ir.diagnostics import IRError, diagnose, located, position, render
from coconet_ir.frontend import check, make_context
from coconet_ir.xdsl_compat import LocatedParser

PROGRAM = """\
func.func @f(%x: f32) {
  %y = arith.addf %x, %x : f32
  "my.op"(%y) ({
    "my.end"() : () -> ()
  }) : (f32) -> ()
  func.return
}
"""


def parse(text: str) -> ModuleOp:
    ctx = make_context(allow_unregistered=True)
    return LocatedParser(ctx, text, "x.mlir").parse_module()


def shown(error: Exception, module: ModuleOp | None = None) -> list[str]:
    diagnostics = diagnose(error, module)
    assert diagnostics is not None
    return render(diagnostics).splitlines()


def test_an_error_names_its_operation_and_notes() -> None:
    (function,) = parse(PROGRAM).ops
    add, mine, _ = function.regions[0].block.ops
    notes = [("made here", add), ("from this", add.operands[0]), ("and this", add.results[0])]
    assert IRError("is wrong; do this", mine, notes).render().splitlines() == [
        "x.mlir:3:3: error: 'my.op' op is wrong; do this",
        "x.mlir:2:3: note: made here",
        "x.mlir:1:14: note: from this",
        "x.mlir:2:3: note: and this",
    ]
    assert IRError("no such file").render() == "error: no such file"


def test_operations_without_a_location_stand_where_their_parent_does() -> None:
    made = test.TestOp()
    assert position(made) is None
    assert IRError("is wrong", made).render() == "error: 'test.op' op is wrong"
    (function,) = parse(PROGRAM).ops
    inner = Block(arg_types=[f32])
    add, *_ = function.regions[0].block.ops
    function.regions[0].block.insert_op_before(test.TestOp(regions=[Region(inner)]), add)
    inner.add_op(made)
    assert str(position(made)) == "x.mlir:1:1"
    assert str(position(inner.args[0])) == "x.mlir:1:1"


def file_location(line: int) -> FileLineColLoc:
    return FileLineColLoc(StringAttr("f"), IntAttr(line), IntAttr(2))


@pytest.mark.parametrize(
    ("location", "expected"),
    [
        (file_location(1), "f:1:2"),
        (NameLoc(StringAttr("n"), file_location(3)), "f:3:2"),
        (NameLoc(StringAttr("n"), NoneAttr()), None),
        (CallSiteLoc(file_location(4), file_location(5)), "f:4:2"),
        (FusedLoc(ArrayAttr([UnknownLoc(), file_location(6)]), NoneAttr()), "f:6:2"),
        (FusedLoc(ArrayAttr([]), NoneAttr()), None),
        (UnknownLoc(), None),
    ],
)
def test_every_kind_of_location(location: LocationAttr, expected: str | None) -> None:
    op = test.TestOp()
    op.location = location
    found = position(op)
    assert (None if found is None else str(found)) == expected


def test_the_operation_of_a_verifier_error_is_found() -> None:
    text = "func.func @f(%x: f32) -> f32 {\n  func.return %x : f32\n}\n"
    module = parse(text + text.replace("@f", "@g").replace("-> f32 {", "-> f64 {"))
    with pytest.raises(VerifyException) as caught:
        module.verify()
    (line,) = shown(caught.value, module)
    assert line.startswith("x.mlir:5:3: error: 'func.return' op Expected arguments to have")
    assert located(caught.value, module).op is list(module.walk())[-1]
    (line,) = shown(caught.value)
    assert line.startswith("error: Expected arguments to have")


def test_the_operation_with_an_empty_block_is_found() -> None:
    module = parse('func.func @f() {\n  "scf.execute_region"() ({\n  ^bb0:\n  }) : () -> ()\n}')
    with pytest.raises(VerifyException) as caught:
        module.verify()
    assert shown(caught.value, module)[0].startswith("x.mlir:2:3: error: 'scf.execute_region' op")


def test_messages_are_one_line_and_printable() -> None:
    assert shown(VerifyException("does not verify:\n  because\n")) == [
        "error: does not verify: because"
    ]
    assert shown(VerifyException("odd \0 name")) == ["error: odd \\x00 name"]
    (line,) = shown(VerifyException("x" * 10_000))
    assert len(line) < 2100
    assert line.endswith(" ...")


def test_errors_of_xdsl() -> None:
    assert shown(PassFailedException("cannot")) == ["error: cannot"]
    assert shown(RecursionError()) == ["error: the program is too deeply nested"]
    assert diagnose(KeyError("a bug")) is None


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        (
            "module {\n\t%x = what : f32\n}",
            ["x.mlir:2:7: error: operation 'what' is not registered", "  %x = what : f32"[1:]],
        ),
        (
            " " * 500 + "?" + " " * 500 + "// end",
            ["x.mlir:1:501: error: expected an operation, found '?'", " " * 60 + "?" + " " * 59],
        ),
    ],
)
def test_a_parse_error_shows_its_line(text: str, expected: list[str]) -> None:
    with pytest.raises(ParseError) as caught:
        LocatedParser(make_context(), text, "x.mlir").parse_module()
    lines = shown(caught.value)
    assert lines[:2] == expected
    column = lines[1].index("?") if "?" in lines[1] else lines[1].index("what")
    assert lines[2].index("^") == column
    assert lines[2].strip() in ("^", "^^^^")


def test_a_parse_error_with_several_places() -> None:
    text = "func.func @f() {\n  cf.br ^b\n^a:\n  cf.br ^a\n}"
    with pytest.raises(ParseError) as caught:
        parse(text)
    assert [line for line in shown(caught.value) if line.startswith("x.mlir")] == [
        "x.mlir:5:2: error: region ends with missing block declarations for block(s) b",
        'x.mlir:2:9: note: reference to block "^b" without implementation',
    ]


def test_functions_are_named_as_written() -> None:
    (function,) = parse(PROGRAM).ops
    assert isinstance(function, FuncOp)
    assert IRError("is wrong", function).render() == "x.mlir:1:1: error: 'func.func' op is wrong"


def test_a_function_without_a_type_is_named_before_its_return() -> None:
    text = '"func.func"() ({\n^bb0:\n  "func.return"() : () -> ()\n}) {sym_name = "f"} : () -> ()'
    with pytest.raises(IRError) as caught:
        check(parse(text))
    assert "x.mlir:1:1: error: 'func.func' op property 'function_type'" in caught.value.render()
