"""The dominance check against programs with known answers, and against a brute-force definition."""

from __future__ import annotations

import time

import pytest
from hypothesis import given
from hypothesis import strategies as st
from xdsl.dialects import test
from xdsl.dialects.builtin import ModuleOp, i32
from xdsl.dialects.func import FuncOp
from xdsl.ir import Block, Region

from coconet_ir.analysis.dominance import check_dominance
from coconet_ir.diagnostics import IRError
from coconet_ir.frontend import make_context
from coconet_ir.xdsl_compat import LocatedParser


def parse(text: str) -> ModuleOp:
    return LocatedParser(make_context(allow_unregistered=True), text, "x.mlir").parse_module()


@pytest.mark.parametrize(
    "text",
    [
        # In order, and captured by nested regions.
        """
        func.func @f(%x: i32) {
          %y = "a.b"(%x) : (i32) -> i32
          "a.c"() ({
            %z = "a.b"(%x, %y) : (i32, i32) -> i32
            "a.c"() ({ "a.b"(%z, %y) : (i32, i32) -> () }) : () -> ()
          }) : () -> ()
          func.return
        }
        """,
        # Blocks: what dominates may be used, whatever the order of the text.
        """
        func.func @f(%c: i1) {
          %x = "a.b"() : () -> i32
          cf.cond_br %c, ^later, ^other
        ^end:
          "a.b"(%x) : (i32) -> ()
          func.return
        ^later:
          %y = "a.b"(%x) : (i32) -> i32
          cf.br ^use
        ^other:
          cf.br ^end
        ^use:
          "a.b"(%y) : (i32) -> ()
          cf.br ^end
        }
        """,
        # A loop uses what its header defines.
        """
        func.func @f(%c: i1) {
          cf.br ^head
        ^head:
          %x = "a.b"() : () -> i32
          cf.cond_br %c, ^body, ^end
        ^body:
          "a.b"(%x) : (i32) -> ()
          cf.br ^head
        ^end:
          "a.b"(%x) : (i32) -> ()
          func.return
        }
        """,
        # Nothing reaches this block.
        """
        func.func @f() {
          func.return
        ^never:
          "a.b"(%x) : (i32) -> ()
          %x = "a.b"() : () -> i32
          cf.br ^never
        }
        """,
        "func.func private @declared(i32)",
    ],
)
def test_valid(text: str) -> None:
    check_dominance(parse(text))


@pytest.mark.parametrize(
    ("text", "message", "note"),
    [
        (
            'func.func @f() {\n  "a.b"(%x) : (i32) -> ()\n  %x = "a.b"() : () -> i32\n}',
            "x.mlir:2:3: error: 'a.b' op operand #0 (%x) is used before its definition; move this",
            "x.mlir:3:3: note: defined here",
        ),
        (
            'func.func @f() {\n  %x = "a.b"(%x) : (i32) -> i32\n}',
            "x.mlir:2:3: error: 'a.b' op operand #0 (%x) is used before its definition",
            "x.mlir:2:3: note: defined here",
        ),
        (
            'func.func @f() {\n  %1 = "a.b"() ({\n    "a.c"(%1) : (i32) -> ()\n  }) : () -> i32\n}',
            "x.mlir:3:5: error: 'a.c' op operand #0 is a result of the operation that contains",
            "x.mlir:2:3: note: defined here",
        ),
        (
            '%x = "a.b"() : () -> i32\nfunc.func @f() {\n  "a.b"(%x) : (i32) -> ()\n}',
            "x.mlir:3:3: error: 'a.b' op operand #0 (%x) is defined outside 'func.func', which is "
            "isolated; pass it as an argument",
            "x.mlir:1:1: note: defined here",
        ),
        (
            'func.func @f() {\n  "a.b"(%y) : (i32) -> ()\n}\n'
            'func.func @g() {\n  %y = "a.b"() : () -> i32\n}',
            "x.mlir:2:3: error: 'a.b' op operand #0 (%y) is defined in another block or region; "
            "return or yield it from there",
            "x.mlir:5:3: note: defined here",
        ),
        (
            "func.func @f(%c: i1) {\n  cf.cond_br %c, ^a, ^b\n"
            '^a:\n  %x = "a.b"() : () -> i32\n  cf.br ^b\n'
            '^b:\n  "a.b"(%c, %x) : (i1, i32) -> ()\n  func.return\n}',
            "x.mlir:7:3: error: 'a.b' op operand #1 (%x) is defined in another block or region",
            "x.mlir:4:3: note: defined here",
        ),
    ],
)
def test_invalid(text: str, message: str, note: str) -> None:
    with pytest.raises(IRError) as caught:
        check_dominance(parse(text))
    lines = caught.value.render().splitlines()
    assert lines[0].startswith(message)
    assert lines[1:] == [note]


def test_an_erased_operand() -> None:
    module = parse('%x = "a.b"() : () -> i32\n"a.c"(%x) : (i32) -> ()')
    maker, _ = module.ops
    maker.detach()
    with pytest.raises(IRError, match=r"operand #0 \(%x\) was erased or is not part of the module"):
        check_dominance(module)


@st.composite
def control_flow(draw: st.DrawFn) -> tuple[list[list[int]], int, int]:
    """Successors of each block (0 is the entry), and the blocks of a definition and its use."""
    count = draw(st.integers(2, 8))
    block = st.integers(0, count - 1)
    target = st.integers(1, count - 1)  # nothing branches to the entry
    return [draw(st.lists(target, max_size=3)) for _ in range(count)], draw(block), draw(block)


def reachable(successors: list[list[int]], without: int | None = None) -> set[int]:
    seen: set[int] = set()
    todo = [0]
    while todo:
        block = todo.pop()
        if block not in seen and block != without:
            seen.add(block)
            todo += successors[block]
    return seen


@given(control_flow())
def test_blocks_against_the_definition(flow: tuple[list[list[int]], int, int]) -> None:
    successors, definition, use = flow
    blocks = [Block() for _ in successors]
    value = test.TestOp(result_types=[i32])
    blocks[definition].add_op(value)
    blocks[use].add_op(test.TestOp(operands=[value.results[0]]))
    for block, targets in zip(blocks, successors, strict=True):
        block.add_op(test.TestTermOp(successors=[blocks[t] for t in targets]))
    module = ModuleOp([FuncOp("f", ([], []), Region(blocks))])

    # d dominates u: there is no way from the entry to u without d.
    if use not in reachable(successors) or use not in reachable(successors, without=definition):
        check_dominance(module)
    else:
        with pytest.raises(IRError):
            check_dominance(module)


def test_time_is_linear() -> None:
    def seconds(count: int) -> float:
        ops = [test.TestOp(result_types=[i32])]
        ops += [
            test.TestOp(operands=[ops[0].results[0]] * 2, result_types=[i32]) for _ in range(count)
        ]
        chain = [Block([test.TestTermOp()])]
        for _ in range(count):
            chain.append(Block([test.TestTermOp(successors=[chain[-1]])]))
        function = FuncOp("g", ([], []), Region(reversed(chain)))
        module = ModuleOp([*ops, function])
        start = time.process_time()
        check_dominance(module)
        return time.process_time() - start

    assert seconds(20_000) < 2  # 60 ms; minutes if quadratic
