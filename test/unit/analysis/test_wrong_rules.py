"""Wrong rules, wrong places and wrong blocks: running the operations on small tensors finds each."""

from __future__ import annotations

import math
import re
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field, replace

import numpy as np
import pytest
from xdsl.dialects.func import FuncOp

from coconet_ir.analysis import check_rule
from coconet_ir.analysis.check_rule import Part, Subject, violations
from coconet_ir.analysis.dist import block_bounds
from coconet_ir.analysis.notation import Rule, pattern
from coconet_ir.diagnostics import IRError
from coconet_ir.frontend import make_context, parse_program
from coconet_ir.sim import mesh as sim_mesh
from coconet_ir.sim.elements import Array
from coconet_ir.sim.executor import run

V, M, C, Q = "tensor<?xf32>", "tensor<?x?xf32>", "tensor<?x?x?xf32>", "tensor<?x?x?x?xf32>"
OFFSETS = "tensor<?xi64>"
SEGMENTS = {"t": 3, "o": 4}

SOFTMAX = f"comp.softmax %({C}) dim 1 : {C}"
RMS_NORM = f"comp.rms_norm %({C}), %({V}) {{eps = 1.0e-6 : f32}} : ({C}, {V}) -> {C}"
DROPOUT = f"comp.dropout %({C}), %(i64) {{p = 3.0e-1 : f32, id = 5 : i64}} : {C}"
SCALE = f"comp.scale %({M}) by %(f32) : {M}"
MATMUL = f"comp.matmul %({M}), %({M}) : ({M}, {M}) -> {M}"
BATCHED = f"comp.matmul %({C}), %({C}) : ({C}, {C}) -> {C}"
TWICE_BATCHED = f"comp.matmul %({Q}), %({Q}) : ({Q}, {Q}) -> {Q}"
SAME_PLACES = f"comp.conv2d %({Q}), %({Q}) {{padding = array<i64: 1, 1>}} : ({Q}, {Q}) -> {Q}"
TRANSPOSE = f"comp.transpose %({C}) perm [2, 0, 1] : {C} -> {C}"
ACROSS = f"comp.broadcast %({M}) dims [2, 0] : {M} -> tensor<?x4x?xf32>"
SPLIT = f"comp.reshape %({M}) [b, (h d)] -> [b, h, d] : {M} -> tensor<?x?x4xf32>"
MERGE = f"comp.reshape %(tensor<?x?x4xf32>) [b, h, d] -> [b, (h d)] : tensor<?x?x4xf32> -> {M}"
SEGMENTS_SUM = f"comp.segment_reduce sum %({V}), %({OFFSETS}) : ({V}, {OFFSETS}) -> {V}"
SEGMENT_BROADCAST = (
    f"comp.segment_broadcast %({V}), %({OFFSETS}) like %({V}) : ({V}, {OFFSETS}, {V}) -> {V}"
)


@dataclass(frozen=True)
class Wrong:
    """A wrong rule of an operation, and what must be found: the claim, and a part of the message."""

    line: str
    rule: str | Rule
    claim: str
    message: str
    sizes: dict[str, int] = field(default_factory=dict[str, int])


def named(operands: Sequence[str], results: Sequence[str], **sizes: int) -> Rule:
    """A rule of products: `"b (h d)"` has two dimensions."""

    def shape(text: str) -> tuple[tuple[str, ...], ...]:
        parts: list[tuple[str, str]] = re.findall(r"\(([^)]*)\)|(\S+)", text)
        return tuple(tuple(product.split()) if product else (name,) for product, name in parts)

    return Rule(tuple(map(shape, operands)), tuple(map(shape, results)), sizes=tuple(sizes.items()))


def reduce(kind: str, dims: str = "[1]", result: str = V) -> str:
    return f"comp.reduce {kind} %({M}) dims {dims} : {M} -> {result}"


def two(name: str, type: str = M) -> str:
    return f"{name} %({type}), %({type}) : {type}"


def one(name: str) -> str:
    return f"{name} %({M}) : {M}"


WRONG: dict[str, Wrong] = {
    # parallel for whole, and whole on the wrong dimension
    "softmax parallel": Wrong(SOFTMAX, "[a, b, c] -> [a, b, c]", "b", "'b' is not parallel"),
    "softmax whole elsewhere": Wrong(
        SOFTMAX, "[a, b, c] -> [a, b, c], c = whole", "b", "'b' is not parallel"
    ),
    "rms_norm parallel": Wrong(RMS_NORM, "[*b, n] [n] -> [*b, n]", "n", "not parallel"),
    "conv2d height parallel": Wrong(
        SAME_PLACES,
        "[n, h, w, c] [kh, kw, c, f] -> [n, h, ow, f], w = whole, kh = whole, kw = whole, ow = whole, "
        "c = reduction(sum)",
        "h",
        "'h' is not parallel",
        {"w": 4, "kh": 3, "kw": 3},
    ),
    "conv2d window parallel": Wrong(
        SAME_PLACES,
        "[n, h, w, c] [kh, kw, c, f] -> [n, oh, ow, f], h = whole, w = whole, kh = reduction(sum), kw = whole, "
        "oh = whole, ow = whole, c = reduction(sum)",
        "kh",
        "of the result, where its block is",
        {"h": 6, "w": 4, "kw": 3},
    ),
    "segments parallel": Wrong(
        SEGMENTS_SUM, named(["n", "o"], ["o"]), "o", "wrong shape", {"n": 5}
    ),
    "segment_reduce keeps the dimension": Wrong(
        SEGMENTS_SUM, "[n] [o] -> [n], o = whole", "n", "wrong shape", {"o": 4}
    ),
    "segment values sliced": Wrong(
        SEGMENT_BROADCAST,
        "[t] [o] [n] -> [n], t = reduction(sum), o = whole, n = whole",
        "t",
        "cannot work on its part",
        SEGMENTS,
    ),
    # the wrong reduction
    "max as sum": Wrong(
        reduce("max"), "[m, k] -> [m], k = reduction(sum)", "k", "the sum of the ranks'"
    ),
    "sum as max": Wrong(
        reduce("sum"), "[m, k] -> [m], k = reduction(max)", "k", "the max of the ranks'"
    ),
    "sum as prod": Wrong(
        reduce("sum"), "[m, k] -> [m], k = reduction(prod)", "k", "the prod of the ranks'"
    ),
    "prod as sum": Wrong(
        reduce("prod"), "[m, k] -> [m], k = reduction(sum)", "k", "the sum of the ranks'"
    ),
    "max as min": Wrong(
        reduce("max"), "[m, k] -> [m], k = reduction(min)", "k", "the min of the ranks'"
    ),
    "mean as sum": Wrong(
        f"comp.mean %({M}) dims [1] : {M} -> {V}",
        "[m, k] -> [m], k = reduction(sum)",
        "k",
        "no reduction(sum)",
    ),
    "norm as sum": Wrong(
        f"comp.norm %({M}) dims [1] : {M} -> {V}",
        "[m, k] -> [m], k = reduction(sum)",
        "k",
        "no reduction(sum)",
    ),
    "norm as max": Wrong(
        f"comp.norm %({M}) dims [1] : {M} -> {V}",
        "[m, k] -> [m], k = reduction(max)",
        "k",
        "no reduction(max)",
    ),
    "matmul as max": Wrong(
        MATMUL, "[m, k] [k, n] -> [m, n], k = reduction(max)", "k", "no reduction(max)"
    ),
    "segments as max": Wrong(
        SEGMENTS_SUM,
        "[n] [o] -> [t], n = reduction(max), o = whole, t = whole",
        "n",
        "no reduction(max)",
        {"o": 4},
    ),
    "reduces the other dimension": Wrong(
        reduce("sum", "[0]"), "[m, k] -> [m], k = reduction(sum)", "m", "wrong shape"
    ),
    # an operand that is not sliced, or not the right one
    "dropped slice of a sum": Wrong(
        two("arith.addf"), "[m, n] [p, n] -> [m, n], p = whole", "m", "where the names"
    ),
    "dropped slice of a product": Wrong(
        MATMUL,
        "[m, k] [l, n] -> [m, n], k = reduction(sum), l = whole",
        "k",
        "cannot work on its part",
    ),
    "condition not sliced": Wrong(
        f"arith.select %(tensor<?x?xi1>), %({M}), %({M}) : tensor<?x?xi1>, {M}",
        "[p, n] [m, n] [m, n] -> [m, n], p = whole",
        "m",
        "where the names",
    ),
    "batch not sliced": Wrong(
        BATCHED,
        "[b, m, k] [c, k, n] -> [b, m, n], k = reduction(sum), c = whole",
        "b",
        "cannot work on its part",
    ),
    "batches crossed": Wrong(
        TWICE_BATCHED,
        "[b, c, m, k] [c, b, k, n] -> [b, c, m, n], k = reduction(sum)",
        "b",
        "'b' is not parallel",
    ),
    "transpose not transposed": Wrong(
        f"comp.transpose %({M}) perm [1, 0] : {M} -> {M}", "[a, b] -> [a, b]", "a", "wrong shape"
    ),
    "transpose the other way round": Wrong(TRANSPOSE, "[a, b, c] -> [b, c, a]", "a", "wrong shape"),
    "matmul transposed": Wrong(
        MATMUL, "[m, k] [k, n] -> [n, m], k = reduction(sum)", "m", "wrong shape"
    ),
    "broadcast permuted": Wrong(
        ACROSS,
        named(["a c"], ["a b c"]),
        "a",
        "'a' is not parallel",
    ),
    "broadcast to the other dimension": Wrong(
        f"comp.broadcast %({V}) dims [1] like %({M}) : {V}, {M} -> {M}",
        Rule(((("r0",),), (("r0",), ("r1",))), ((("r0",), ("r1",)),), shape_only=frozenset((1,))),
        "r0",
        "'r0' is not parallel",
    ),
    # products
    "wrong unit in a product": Wrong(
        SPLIT,
        named(["b (h d)"], ["b h d"], d=2),
        "h",
        "cannot work",
        {"d": 3},
    ),
    "wrong unit of a merge": Wrong(
        MERGE,
        named(["b h d"], ["b (h d)"], d=3),
        "h",
        "cannot work",
        {"d": 2},
    ),
    "inner factor as the first": Wrong(
        SPLIT, named(["b (d h)"], ["b h d"], d=2, h=3), "d", "not parallel"
    ),
    # linear
    "divisor linear": Wrong(
        two("arith.divf"),
        "[m, n] [m, n] -> [m, n], linear(1)",
        "linear(1)",
        "not linear for sum in operand 1",
    ),
    "addition linear in one": Wrong(
        two("arith.addf"),
        "[m, n] [m, n] -> [m, n], linear(0)",
        "linear(0)",
        "not linear for sum in operand 0",
    ),
    "rms_norm linear": Wrong(
        RMS_NORM,
        "[*b, n] [n] -> [*b, n], n = whole, linear(0)",
        "linear(0)",
        "not linear",
    ),
    "maximum linear": Wrong(
        two("arith.maximumf"), "[m, n] [m, n] -> [m, n], linear(1)", "linear(1)", "not linear"
    ),
    # jointly linear
    "mulf for sum": Wrong(
        two("arith.mulf"), "[m, n] [m, n] -> [m, n], joint(sum)", "joint(sum)", "jointly linear"
    ),
    "matmul for sum": Wrong(
        MATMUL,
        "[m, k] [k, n] -> [m, n], k = reduction(sum), joint(sum)",
        "joint(sum)",
        "jointly linear for sum",
    ),
    "maximum for sum": Wrong(
        two("arith.maximumf"),
        "[m, n] [m, n] -> [m, n], joint(sum)",
        "joint(sum)",
        "jointly linear for sum",
    ),
    "addf for max": Wrong(
        two("arith.addf"), "[m, n] [m, n] -> [m, n], joint(max)", "joint(max)", "for max"
    ),
    "addf for prod": Wrong(
        two("arith.addf"), "[m, n] [m, n] -> [m, n], joint(prod)", "joint(prod)", "for prod"
    ),
    "maximum for min": Wrong(
        two("arith.maximumf"),
        "[m, n] [m, n] -> [m, n], joint(min)",
        "joint(min)",
        "jointly linear for min",
    ),
    "absolute value for sum": Wrong(
        one("math.absf"), "[m, n] -> [m, n], joint(sum)", "joint(sum)", "for sum"
    ),
    "exp for sum": Wrong(one("math.exp"), "[m, n] -> [m, n], joint(sum)", "joint(sum)", "for sum"),
    "negf for max": Wrong(
        one("arith.negf"), "[m, n] -> [m, n], joint(max)", "joint(max)", "for max"
    ),
    "scale for max": Wrong(
        SCALE, "[m, n] () -> [m, n], joint(max)", "joint(max)", "not linear for max"
    ),
    "dropout for prod": Wrong(
        DROPOUT, "[a, b, c] () -> [a, b, c], joint(prod)", "joint(prod)", "for prod"
    ),
}


@pytest.mark.parametrize("name", WRONG)
def test_wrong_rules_are_found(name: str, subject_of: Callable[..., Subject]) -> None:
    wrong = WRONG[name]
    right = subject_of(wrong.line, exact=True, sizes=wrong.sizes)
    rule = wrong.rule
    if not isinstance(rule, Rule):
        ranks = tuple(None if shape is None else len(shape) for shape in right.rule.operands)
        rule = pattern(rule).instantiate(ranks)
    found = violations(replace(right, rule=rule))
    message = next((v.message for v in found if v.claim == wrong.claim), None)
    assert message is not None, found
    assert wrong.message in message


def test_there_are_thirty_wrong_rules_and_more() -> None:
    assert len(WRONG) >= 30


def test_a_message_says_shapes_ranks_name_and_place(subject_of: Callable[..., Subject]) -> None:
    rule = pattern("[m, k] -> [m], k = reduction(sum)").instantiate((2,))
    (found,) = violations(replace(subject_of(reduce("max"), exact=True), rule=rule))
    assert re.fullmatch(
        r"'k' is no reduction\(sum\): with operands \dx\d on \d ranks, the sum of the ranks' results is "
        r"\S+ at \[\d\], but the whole operation gives \S+",
        found.message,
    ), found.message


# Operations that take the wrong place, under right rules


def _first(start: int, stop: int) -> tuple[int, int]:
    return 0, stop - start


def _one_further(start: int, stop: int) -> tuple[int, int]:
    return (start + 1, stop + 1) if start else (start, stop)


@pytest.mark.parametrize("change", [_first, _one_further])
@pytest.mark.parametrize(("line", "sizes"), [(DROPOUT, {}), (SEGMENTS_SUM, SEGMENTS)])
def test_operations_that_take_the_wrong_place_are_found(
    line: str,
    sizes: dict[str, int],
    change: Callable[[int, int], tuple[int, int]],
    subject_of: Callable[..., Subject],
) -> None:
    right = subject_of(line, sizes=sizes)

    def misled(arrays: Sequence[Array], part: Part) -> Sequence[Array]:
        moved = tuple(r and tuple(change(*bounds) for bounds in r) for r in part.operands)
        return right.evaluate(arrays, replace(part, operands=moved))

    assert violations(replace(right, evaluate=misled))


# Wrong blocks


def _right(size: int, count: int, at: int, unit: int) -> tuple[int, int]:
    return block_bounds(size, [count], [at], unit)


def _late(size: int, count: int, at: int, unit: int) -> tuple[int, int]:
    start, end = _right(size, count, at, unit)
    return (min(start + 1, end) if start else start), end


def _early_end(size: int, count: int, at: int, unit: int) -> tuple[int, int]:
    start, end = _right(size, count, at, unit)
    return start, max(start, end - 1)


def _overlap(size: int, count: int, at: int, unit: int) -> tuple[int, int]:
    start, end = _right(size, count, at, unit)
    return start, min(size, end + 1)


def _rounded_down(size: int, count: int, at: int, unit: int) -> tuple[int, int]:
    block = unit * (size // unit // count)
    return at * block, (at + 1) * block


def _without_unit(size: int, count: int, at: int, unit: int) -> tuple[int, int]:
    return _right(size, count, at, 1)


def _past_the_end(size: int, count: int, at: int, unit: int) -> tuple[int, int]:
    block = unit * -(-(-(-size // unit)) // count)
    return at * block, (at + 1) * block


def _last_lost(size: int, count: int, at: int, unit: int) -> tuple[int, int]:
    start, end = _right(size, count, at, unit)
    return (start, start) if at == count - 1 else (start, end)


Bounds = Callable[[int, int, int, int], tuple[int, int]]
WRONG_BOUNDS = (
    _late,
    _early_end,
    _overlap,
    _rounded_down,
    _without_unit,
    _past_the_end,
    _last_lost,
)


@pytest.mark.parametrize("bounds", WRONG_BOUNDS)
def test_wrong_blocks_are_found(
    bounds: Bounds, monkeypatch: pytest.MonkeyPatch, subject_of: Callable[..., Subject]
) -> None:
    def wrong(size: int, counts: Sequence[int], at: Sequence[int], unit: int) -> tuple[int, int]:
        return bounds(size, counts[0], at[0], unit)

    monkeypatch.setattr(check_rule, "block_bounds", wrong)
    assert violations(subject_of(SPLIT))


A, AB = (
    "tensor<?xf32, #layout.dist<a = sliced(0)>>",
    "tensor<?xf32, #layout.dist<[a, b] = sliced(0)>>",
)
NESTED = f"""layout.mesh @mesh(a = 2, b = 2)
func.func @f(%x: {V}) -> {V} {{
  %s = layout.slice %x over [a] dim 0 : {V} -> {A}
  %t = layout.slice %s over [b] dim 0 : {A} -> {AB}
  %u = coll.all_gather %t over [b] : {AB} -> {A}
  %y = coll.all_gather %u over [a] : {A} -> {V}
  func.return %y : {V}
}}"""


def _flat(size: int, counts: Sequence[int], at: Sequence[int], unit: int = 1) -> tuple[int, int]:
    position = 0
    for count, coordinate in zip(counts, at, strict=True):
        position = position * count + coordinate
    return block_bounds(size, [math.prod(counts)], [position], unit)


def _inner_first(
    size: int, counts: Sequence[int], at: Sequence[int], unit: int = 1
) -> tuple[int, int]:
    return block_bounds(size, counts[::-1], at[::-1], unit)


def gathers_back(size: int, mesh: dict[str, int]) -> bool:
    """Whether a vector that is cut by two axes is whole again once it is gathered over one after the other."""
    module = parse_program(make_context(), NESTED, "nested.mlir")
    func = next(op for op in module.ops if isinstance(op, FuncOp))
    x = np.arange(size, dtype=np.float32)
    try:
        return np.array_equal(run(func, mesh, {"x": x}).outputs["result0"].array, x)
    except IRError:
        return False


SIZES = [0, 1, 5, 7, 10, 12]


@pytest.mark.parametrize("bounds", [block_bounds, _flat, _inner_first])
def test_wrong_nested_blocks_are_found(
    bounds: Callable[..., tuple[int, int]], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(sim_mesh, "block_bounds", bounds)
    sim_mesh.Mesh.regions.cache_clear()
    try:
        right = all(gathers_back(n, mesh) for n in SIZES for mesh in ({"a": 2}, {"a": 3, "b": 3}))
    finally:
        sim_mesh.Mesh.regions.cache_clear()
    assert right == (bounds is block_bounds)
