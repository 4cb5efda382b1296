"""Sizes of `?` dimensions: given, tied, completed, contradicted."""

from __future__ import annotations

from collections.abc import Callable

import pytest
from xdsl.dialects.func import FuncOp

from coconet_ir.diagnostics import IRError
from coconet_ir.schedule.selection import argument_names
from coconet_ir.sim.sizes import Sizes

HEADS = """
func.func @f(%x: tensor<?x?xf32>, %y: tensor<?x?x64xf32>, %z: tensor<?x3xf32>, %s: f32) {
  %r = comp.reshape %x [b, (h d)] -> [b, h, d] : tensor<?x?xf32> -> tensor<?x?x64xf32>
  %t = arith.addf %r, %y : tensor<?x?x64xf32>
  func.return
}
"""

Program = Callable[[str], FuncOp]


def test_products_are_solved_both_ways(program: Program) -> None:
    sizes = Sizes(program(HEADS))
    sizes.give("x", (5, 128))
    sizes.complete(10)
    assert (sizes.shape("y"), sizes.shape("z"), sizes.shape("s")) == ((5, 2, 64), (10, 3), ())
    sizes = Sizes(program(HEADS))
    sizes.give("y", (None, 3, 64))
    sizes.complete(7)
    assert (sizes.shape("x"), sizes.shape("y")) == ((7, 192), (7, 3, 64))


def test_open_sizes_get_one_each(program: Program) -> None:
    sizes = Sizes(program(HEADS))
    sizes.complete(10)
    assert sizes.shape("x") == (10, 704)
    assert sizes.shape("z") == (12, 3)


@pytest.mark.parametrize(
    ("given", "message"),
    [
        ({"x": (5, 100)}, "needs a multiple of 64 for dimension 1 of %x, not 100"),
        (
            {"x": (5, 128), "y": (6, 2, 64)},
            r"needs equal sizes: dimension 0 of %y is 6, but dimension 0 of %x is 5",
        ),
        ({"x": (5, 128), "y": (5, 3, 64)}, "needs equal sizes"),
        ({"y": (5, 2, 63)}, r"needs 64 for dimension 2 of %y, not 63"),
        ({"x": (5,)}, r"takes %x with 2 dimension\(s\), but the shape 5 is given"),
        ({"x": (-1, 64)}, "needs at least 0"),
        ({"s": ()}, "as a scalar"),
    ],
)
def test_contradictions(program: Program, given: dict[str, tuple[int, ...]], message: str) -> None:
    sizes = Sizes(program(HEADS))

    def give_all() -> None:
        for name, shape in given.items():
            sizes.give(name, shape)

    with pytest.raises(IRError, match=message):
        give_all()


def test_products_with_nothing(program: Program) -> None:
    text = """func.func @f(%z: tensor<?x0xf32>, %y: tensor<?xf32>) {
      %t = comp.reshape %z [a, b] -> [(a b)] : tensor<?x0xf32> -> tensor<?xf32>
      %s = arith.addf %t, %y : tensor<?xf32>
      func.return
    }"""
    sizes = Sizes(program(text))
    sizes.give("y", (0,))
    sizes.complete(7)
    assert (sizes.shape("z"), sizes.shape("y")) == ((7, 0), (0,))
    with pytest.raises(IRError, match="needs 0 for dimension 0 of %y, not 3"):
        sizes.give("y", (3,))


def test_absurd_sizes(program: Program) -> None:
    sizes = Sizes(program(HEADS))
    sizes.give("z", (1 << 50, 3))
    with pytest.raises(IRError, match="more than"):
        sizes.shape("z")


def test_arguments_have_the_names_of_the_text(program: Program) -> None:
    func = program("func.func @f(%m: f32, %m_1: f32, %0: f32) {\n  func.return\n}")
    assert list(argument_names(func)) == ["m", "m_1", "arg2"]
