"""Rules against the simulator's kernels: every built-in rule holds, and every wrong one is found."""

from __future__ import annotations

import re
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from xdsl.ir import Operation

from coconet_ir.analysis import check_rule
from coconet_ir.analysis.check_rule import CannotEvaluate, Part, Subject, violations
from coconet_ir.analysis.dist import block_bounds
from coconet_ir.analysis.notation import REDUCTIONS, Reduction, Rule, Whole, pattern
from coconet_ir.analysis.rules import rank_of, rule_of
from coconet_ir.diagnostics import IRError
from coconet_ir.dialects.comp import SegmentBroadcastOp, SegmentReduceOp
from coconet_ir.dialects.decompositions import decompose
from coconet_ir.dialects.tensor import ExtractOp
from coconet_ir.frontend import make_context
from coconet_ir.sim.binding import Value
from coconet_ir.sim.elements import Array
from coconet_ir.sim.exchange import InProcess
from coconet_ir.sim.executor import Machine
from coconet_ir.sim.integers import ArithmeticRefused
from coconet_ir.sim.kernels import Numbers, Site, Unsupported, kernel_of
from coconet_ir.sim.mesh import ONE_RANK
from coconet_ir.xdsl_compat import LocatedParser

UPSTREAM = Path(__file__).parents[1] / "upstream_operations.mlir"


# Operations as functions of one rank's arrays


def evaluator(op: Operation, numbers: Numbers) -> check_rule.Evaluate:
    """What the simulator computes for `op` on one rank."""

    def evaluate(arrays: Sequence[Array], part: Part) -> Sequence[Array]:
        try:
            if (steps := decompose(op)) is not None:
                for step in steps:
                    step.drop_all_references()
                values = [
                    Value(v.type, None if rank_of(v.type) is None else a.shape, (a,))
                    for v, a in zip(op.operands, arrays, strict=True)
                ]
                machine = Machine(ONE_RANK, numbers, InProcess(1))
                return [value.arrays[0] for value in machine.apply(op, values)]
            kernel = kernel_of(op)
            assert kernel is not None, op.name
            place = (part.shapes, part.operands, part.results)
            return kernel(op, Site(ONE_RANK, 0, numbers, *place, 0), with_offsets(op, arrays, part))
        except (ArithmeticRefused, Unsupported, ValueError) as error:
            raise CannotEvaluate(str(error)) from error
        except IRError as error:
            raise CannotEvaluate(error.message) from error

    return evaluate


def with_offsets(op: Operation, arrays: Sequence[Array], part: Part) -> Sequence[Array]:
    """The operands with offsets that rise from 0 to the size, with an empty segment, in place of random ones."""
    if isinstance(op, SegmentReduceOp | SegmentBroadcastOp):
        (size,) = part.shapes[0 if isinstance(op, SegmentReduceOp) else 2] or (0,)
        count = len(arrays[1])
        offsets = [min(size, 2 * i - (i > 1)) for i in range(count - 1)] + [size]
        return [arrays[0], np.asarray(offsets[:count], np.int64), *arrays[2:]]
    if isinstance(op, ExtractOp):
        return [arrays[0], *(np.asarray(0, np.int64) for _ in arrays[1:])]
    return arrays


def subject(op: Operation, *, exact: bool = False, sizes: dict[str, int] | None = None) -> Subject:
    """A verified operation with the rule that it states."""
    rule, numbers = rule_of(op), Numbers(exact)
    assert rule is not None
    dtypes = tuple(numbers.dtype(value.type) for value in op.operands)
    return Subject(rule, dtypes, evaluator(op, numbers), sizes or {})


def parse(text: str) -> list[Operation]:
    """The verified operations of a module's one function, but its return."""
    module = LocatedParser(make_context(), text).parse_module()
    module.verify()
    return [op for func in module.ops for op in func.regions[0].block.ops if op.operands or op.results]


def operation(line: str) -> Operation:
    """The operation of a line `%x, %y : types -> type` written with a type after each operand: `%(f32)`."""
    types: list[str] = re.findall(r"%\(([^()]*)\)", line)
    names = iter(range(len(types)))
    body = re.sub(r"%\([^()]*\)", lambda _: f"%a{next(names)}", line)
    arguments = ", ".join(f"%a{i}: {type}" for i, type in enumerate(types))
    op, *rest = parse(f"func.func @f({arguments}) {{\n  %r = {body}\n  func.return\n}}")
    assert not rest
    return op


V, M, C, Q = "tensor<?xf32>", "tensor<?x?xf32>", "tensor<?x?x?xf32>", "tensor<?x?x?x?xf32>"
H = "tensor<?x?xbf16>"
OFFSETS = "tensor<?xi64>"
CONV = {"h": 5, "w": 4, "kh": 3, "kw": 2}
SEGMENTS = {"t": 3, "o": 4}

BUILT_IN: dict[str, tuple[str, dict[str, int]]] = {
    "matmul": (f"comp.matmul %({M}), %({M}) : ({M}, {M}) -> {M}", {}),
    "matmul of a batch": (f"comp.matmul %({C}), %({M}) : ({C}, {M}) -> {C}", {}),
    "batched matmul": (f"comp.matmul %({C}), %({C}) : ({C}, {C}) -> {C}", {}),
    "twice batched matmul": (f"comp.matmul %({Q}), %({Q}) : ({Q}, {Q}) -> {Q}", {}),
    "matmul bf16": (f"comp.matmul %({H}), %({H}) : ({H}, {H}) -> {H}", {}),
    "matmul i32": (
        "comp.matmul %(tensor<?x?xi32>), %(tensor<?x?xi32>) : "
        "(tensor<?x?xi32>, tensor<?x?xi32>) -> tensor<?x?xi32>",
        {},
    ),
    "conv2d": (f"comp.conv2d %({Q}), %({Q}) : ({Q}, {Q}) -> {Q}", CONV),
    "conv2d padded": (
        f"comp.conv2d %({Q}), %({Q}) {{strides = array<i64: 2, 1>, padding = array<i64: 1, 2>}} : "
        f"({Q}, {Q}) -> {Q}",
        CONV,
    ),
    **{
        f"reduce {kind} {dims}": (f"comp.reduce {kind} %({C}) dims {dims} : {C} -> {result}", {})
        for kind in ("sum", "prod", "max", "min")
        for dims, result in (("[1]", M), ("[0, 2]", V), ("[0, 1, 2]", "tensor<f32>"), ("[]", C))
    },
    "reduce i64": ("comp.reduce max %(tensor<?x?xi64>) dims [0] : tensor<?x?xi64> -> tensor<?xi64>", {}),
    "reduce bf16": (f"comp.reduce sum %({H}) dims [1] : {H} -> tensor<?xbf16>", {}),
    "norm": (f"comp.norm %({M}) dims [1] : {M} -> {V}", {}),
    "norm of all": (f"comp.norm %({M}) : {M} -> tensor<f32>", {}),
    "mean": (f"comp.mean %({C}) dims [0] : {C} -> {M}", {}),
    "mean of all": (f"comp.mean %({H}) : {H} -> tensor<bf16>", {}),
    "softmax": (f"comp.softmax %({C}) dim 1 : {C}", {}),
    "softmax bf16": (f"comp.softmax %({H}) dim 1 : {H}", {}),
    "rms_norm": (
        f"comp.rms_norm %({C}), %({V}) {{eps = 1.0e-6 : f32}} : ({C}, {V}) -> {C}",
        {},
    ),
    "dropout": (f"comp.dropout %({C}), %(i64) {{p = 3.0e-1 : f32, id = 5 : i64}} : {C}", {}),
    "scale": (f"comp.scale %({M}) by %(f32) : {M}", {}),
    "scale i64": ("comp.scale %(tensor<?xi64>) by %(i64) : tensor<?xi64>", {}),
    "broadcast": (f"comp.broadcast %({M}) dims [0, 2] : {M} -> tensor<?x4x?xf32>", {}),
    "broadcast across": (f"comp.broadcast %({M}) dims [2, 0] : {M} -> tensor<?x4x?xf32>", {}),
    "broadcast like": (f"comp.broadcast %({V}) dims [1] like %({C}) : {V}, {C} -> {C}", {}),
    "broadcast of 0-d": (f"comp.broadcast %(tensor<f32>) dims [] like %({M}) : tensor<f32>, {M} -> {M}", {}),
    "split a product": (
        "comp.reshape %(tensor<?x?xf32>) [b, (h d)] -> [b, h, d] : tensor<?x?xf32> -> tensor<?x?x4xf32>",
        {},
    ),
    "merge a product": (
        "comp.reshape %(tensor<?x?x4xf32>) [b, h, d] -> [b, (h d)] : tensor<?x?x4xf32> -> tensor<?x?xf32>",
        {},
    ),
    "merge two": (
        "comp.reshape %(tensor<?x3x2xf32>) [a, b, c] -> [(a b c)] : tensor<?x3x2xf32> -> tensor<?xf32>",
        {},
    ),
    "regroup": (
        "comp.reshape %(tensor<?x5xf32>) [(a b), c] -> [a, (b c)] : tensor<?x5xf32> -> tensor<?x15xf32>",
        {},
    ),
    "rename": (f"comp.reshape %({M}) [m, n] -> [m, n] : {M} -> {M}", {}),
    "transpose": (f"comp.transpose %({C}) perm [2, 0, 1] : {C} -> {C}", {}),
    "update": (f"comp.update %({M}), %({M}) : {M}", {}),
    **{
        f"segment_reduce {kind}": (
            f"comp.segment_reduce {kind} %({V}), %({OFFSETS}) : ({V}, {OFFSETS}) -> {V}",
            {"o": 4},
        )
        for kind in ("sum", "prod", "max", "min")
    },
    "segment_broadcast": (
        f"comp.segment_broadcast %({V}), %({OFFSETS}) like %({V}) : ({V}, {OFFSETS}, {V}) -> {V}",
        SEGMENTS,
    ),
    "splat": (f"tensor.splat %(f32)[%(index), %(index)] : {M}", {}),
    "extract": (f"tensor.extract %({M})[%(index), %(index)] : {M}", {}),
    "dim": (f"tensor.dim %({M}), %(index) : {M}", {}),
    "constant": ("arith.constant dense<[[1, 2, 3], [4, 5, 6]]> : tensor<2x3xi32>", {"d0": 2, "d1": 3}),
    "axis_size": ("layout.axis_size over [dp] : index", {}),
}
"""Operations of comp, tensor and layout, and the sizes of names for which they have a result."""


@pytest.mark.parametrize("name", BUILT_IN)
@pytest.mark.parametrize("exact", [False, True], ids=["rounded", "exact"])
def test_rules_of_operations_hold(name: str, exact: bool) -> None:
    line, sizes = BUILT_IN[name]
    assert violations(subject(operation(line), exact=exact, sizes=sizes)) == []


def elementwise() -> list[Operation]:
    """Each operation of arith, math and tensor on tensors that the simulator has."""
    text = UPSTREAM.read_text().replace("tensor<4x?x", "tensor<?x?x").replace("tensor<4x8x", "tensor<?x?x")
    return [op for op in parse(text) if kernel_of(op) is not None and any(rank_of(v.type) for v in op.operands)]


def test_rules_of_elementwise_operations_hold() -> None:
    checked: set[str] = set()
    for op in elementwise():
        assert violations(subject(op)) == [], str(op)
        checked.add(op.name)
    assert len(checked) > 70, checked


TIED = {"conv2d": ("oh", "ow"), "conv2d padded": ("oh", "ow"), "segment_broadcast": ("t", "o")}
"""Whole names whose size follows from others, which no test can slice alone."""


@pytest.mark.parametrize("name", BUILT_IN)
def test_no_dimension_is_whole_without_need(name: str) -> None:
    line, sizes = BUILT_IN[name]
    right = subject(operation(line), exact=True, sizes=sizes)
    given = {n for shape in right.rule.results for factors in shape or () for n in factors}
    for dim, role in right.rule.roles:
        if not isinstance(role, Whole) or dim in TIED.get(name, ("o",)) or None in right.rule.results:
            continue
        others = tuple(entry for entry in right.rule.roles if entry[0] != dim)
        kinds = () if dim in given else REDUCTIONS
        for roles in [(*others, (dim, Reduction(kind))) for kind in kinds] or [others]:
            wrong = replace(right, rule=replace(right.rule, roles=roles))
            assert [v.claim for v in violations(wrong)] == [dim]


# Wrong rules


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


SOFTMAX, DROPOUT = BUILT_IN["softmax"][0], BUILT_IN["dropout"][0]
MATMUL, BATCHED = BUILT_IN["matmul"][0], BUILT_IN["twice batched matmul"][0]
SEGMENTS_SUM = BUILT_IN["segment_reduce sum"][0]
SAME_PLACES = f"comp.conv2d %({Q}), %({Q}) {{padding = array<i64: 1, 1>}} : ({Q}, {Q}) -> {Q}"

WRONG: dict[str, Wrong] = {
    # parallel for whole, and whole on the wrong dimension
    "softmax parallel": Wrong(SOFTMAX, "[a, b, c] -> [a, b, c]", "b", "'b' is not parallel"),
    "softmax whole elsewhere": Wrong(
        SOFTMAX, "[a, b, c] -> [a, b, c], c = whole", "b", "'b' is not parallel"
    ),
    "rms_norm parallel": Wrong(BUILT_IN["rms_norm"][0], "[*b, n] [n] -> [*b, n]", "n", "not parallel"),
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
        BUILT_IN["segment_broadcast"][0], "[t] [o] [n] -> [n], t = reduction(sum), o = whole, n = whole", "t",
        "cannot work on its part", SEGMENTS,
    ),
    # the wrong reduction
    "max as sum": Wrong(reduce("max"), "[m, k] -> [m], k = reduction(sum)", "k", "the sum of the ranks'"),
    "sum as max": Wrong(reduce("sum"), "[m, k] -> [m], k = reduction(max)", "k", "the max of the ranks'"),
    "sum as prod": Wrong(reduce("sum"), "[m, k] -> [m], k = reduction(prod)", "k", "the prod of the ranks'"),
    "prod as sum": Wrong(reduce("prod"), "[m, k] -> [m], k = reduction(sum)", "k", "the sum of the ranks'"),
    "max as min": Wrong(reduce("max"), "[m, k] -> [m], k = reduction(min)", "k", "the min of the ranks'"),
    "mean as sum": Wrong(
        f"comp.mean %({M}) dims [1] : {M} -> {V}", "[m, k] -> [m], k = reduction(sum)", "k", "no reduction(sum)"
    ),
    "norm as sum": Wrong(
        f"comp.norm %({M}) dims [1] : {M} -> {V}", "[m, k] -> [m], k = reduction(sum)", "k", "no reduction(sum)"
    ),
    "norm as max": Wrong(
        f"comp.norm %({M}) dims [1] : {M} -> {V}", "[m, k] -> [m], k = reduction(max)", "k", "no reduction(max)"
    ),
    "matmul as max": Wrong(MATMUL, "[m, k] [k, n] -> [m, n], k = reduction(max)", "k", "no reduction(max)"),
    "segments as max": Wrong(
        SEGMENTS_SUM, "[n] [o] -> [t], n = reduction(max), o = whole, t = whole", "n", "no reduction(max)", {"o": 4}
    ),
    "reduces the other dimension": Wrong(
        reduce("sum", "[0]"), "[m, k] -> [m], k = reduction(sum)", "m", "wrong shape"
    ),
    # an operand that is not sliced, or not the right one
    "dropped slice of a sum": Wrong(
        two("arith.addf"), "[m, n] [p, n] -> [m, n], p = whole", "m", "cannot work on its part"
    ),
    "dropped slice of a product": Wrong(
        MATMUL, "[m, k] [l, n] -> [m, n], k = reduction(sum), l = whole", "k", "cannot work on its part"
    ),
    "condition not sliced": Wrong(
        f"arith.select %(tensor<?x?xi1>), %({M}), %({M}) : tensor<?x?xi1>, {M}",
        "[p, n] [m, n] [m, n] -> [m, n], p = whole", "m", "cannot work on its part",
    ),
    "batch not sliced": Wrong(
        BUILT_IN["batched matmul"][0],
        "[b, m, k] [c, k, n] -> [b, m, n], k = reduction(sum), c = whole", "b", "cannot work on its part",
    ),
    "batches crossed": Wrong(
        BATCHED, "[b, c, m, k] [c, b, k, n] -> [b, c, m, n], k = reduction(sum)", "b", "cannot work on its part"
    ),
    "transpose not transposed": Wrong(
        f"comp.transpose %({M}) perm [1, 0] : {M} -> {M}", "[a, b] -> [a, b]", "a", "wrong shape"
    ),
    "transpose the other way round": Wrong(
        BUILT_IN["transpose"][0], "[a, b, c] -> [b, c, a]", "a", "wrong shape"
    ),
    "matmul transposed": Wrong(MATMUL, "[m, k] [k, n] -> [n, m], k = reduction(sum)", "m", "wrong shape"),
    "broadcast permuted": Wrong(
        BUILT_IN["broadcast across"][0], named(["a c"], ["a b c"]), "a", "Unsupported|cannot|wrong|differ|make",
    ),
    "broadcast to the other dimension": Wrong(
        f"comp.broadcast %({V}) dims [1] like %({M}) : {V}, {M} -> {M}",
        Rule(((("r0",),), (("r0",), ("r1",))), ((("r0",), ("r1",)),), shape_only=frozenset((1,))),
        "r0", "cannot|make|result put together",
    ),
    # products
    "wrong unit in a product": Wrong(
        BUILT_IN["split a product"][0], named(["b (h d)"], ["b h d"], d=2), "h", "cannot work", {"d": 3}
    ),
    "wrong unit of a merge": Wrong(
        BUILT_IN["merge a product"][0], named(["b h d"], ["b (h d)"], d=3), "h", "where its block is", {"d": 2}
    ),
    "inner factor as the first": Wrong(
        BUILT_IN["split a product"][0], named(["b (d h)"], ["b h d"], d=2, h=3), "d", "not parallel"
    ),
    # linear
    "divisor linear": Wrong(
        two("arith.divf"), "[m, n] [m, n] -> [m, n], linear(1)", "linear(1)", "not linear for sum in operand 1"
    ),
    "addition linear in one": Wrong(
        two("arith.addf"), "[m, n] [m, n] -> [m, n], linear(0)", "linear(0)", "not linear for sum in operand 0"
    ),
    "rms_norm linear": Wrong(
        BUILT_IN["rms_norm"][0], "[*b, n] [n] -> [*b, n], n = whole, linear(0)", "linear(0)", "not linear"
    ),
    "maximum linear": Wrong(
        two("arith.maximumf"), "[m, n] [m, n] -> [m, n], linear(1)", "linear(1)", "not linear"
    ),
    # jointly linear
    "mulf for sum": Wrong(two("arith.mulf"), "[m, n] [m, n] -> [m, n], joint(sum)", "joint(sum)", "jointly linear"),
    "matmul for sum": Wrong(
        MATMUL, "[m, k] [k, n] -> [m, n], k = reduction(sum), joint(sum)", "joint(sum)", "jointly linear for sum"
    ),
    "maximum for sum": Wrong(
        two("arith.maximumf"), "[m, n] [m, n] -> [m, n], joint(sum)", "joint(sum)", "jointly linear for sum"
    ),
    "addf for max": Wrong(two("arith.addf"), "[m, n] [m, n] -> [m, n], joint(max)", "joint(max)", "for max"),
    "addf for prod": Wrong(two("arith.addf"), "[m, n] [m, n] -> [m, n], joint(prod)", "joint(prod)", "for prod"),
    "maximum for min": Wrong(
        two("arith.maximumf"), "[m, n] [m, n] -> [m, n], joint(min)", "joint(min)", "jointly linear for min"
    ),
    "absolute value for sum": Wrong(one("math.absf"), "[m, n] -> [m, n], joint(sum)", "joint(sum)", "for sum"),
    "exp for sum": Wrong(one("math.exp"), "[m, n] -> [m, n], joint(sum)", "joint(sum)", "for sum"),
    "negf for max": Wrong(one("arith.negf"), "[m, n] -> [m, n], joint(max)", "joint(max)", "for max"),
    "scale for max": Wrong(
        BUILT_IN["scale"][0], "[m, n] () -> [m, n], joint(max)", "joint(max)", "not linear for max"
    ),
    "dropout for prod": Wrong(DROPOUT, "[a, b, c] () -> [a, b, c], joint(prod)", "joint(prod)", "for prod"),
}


@pytest.mark.parametrize("name", WRONG)
def test_wrong_rules_are_found(name: str) -> None:
    wrong = WRONG[name]
    op = operation(wrong.line)
    ranks = tuple(rank_of(value.type) for value in op.operands)
    rule = wrong.rule if isinstance(wrong.rule, Rule) else pattern(wrong.rule).instantiate(ranks)
    found = violations(replace(subject(op, exact=True, sizes=wrong.sizes), rule=rule))
    message = next((v.message for v in found if v.claim == wrong.claim), None)
    assert message is not None, found
    assert re.search(wrong.message, message), message


def test_there_are_thirty_wrong_rules_and_more() -> None:
    assert len(WRONG) >= 30


def test_a_message_says_shapes_ranks_name_and_place() -> None:
    op = operation(reduce("max"))
    rule = pattern("[m, k] -> [m], k = reduction(sum)").instantiate((2,))
    (found,) = violations(replace(subject(op, exact=True), rule=rule))
    assert re.fullmatch(
        r"'k' is no reduction\(sum\): with operands \dx\d on \d ranks, the sum of the ranks' results is "
        r"\S+ at \[\d\], but the whole operation gives \S+",
        found.message,
    ), found.message


# Wrong operations under right rules


def shifted(op: Operation, numbers: Numbers, change: Callable[[Part], Part]) -> check_rule.Evaluate:
    """An operation that is told another place than its own."""
    evaluate = evaluator(op, numbers)
    return lambda arrays, part: evaluate(arrays, change(part))


def without_offset(part: Part) -> Part:
    """Every block taken for the first one."""
    moved = tuple(
        None if region is None else tuple((0, stop - start) for start, stop in region)
        for region in part.operands
    )
    return replace(part, operands=moved)


def one_further(part: Part) -> Part:
    """Blocks that start one element too late."""
    moved = tuple(
        None if region is None else tuple((start + (start > 0), stop + (start > 0)) for start, stop in region)
        for region in part.operands
    )
    return replace(part, operands=moved)


@pytest.mark.parametrize("change", [without_offset, one_further])
@pytest.mark.parametrize("name", ["dropout", "segment_reduce sum"])
def test_operations_that_take_the_wrong_place_are_found(name: str, change: Callable[[Part], Part]) -> None:
    line, sizes = BUILT_IN[name]
    op = operation(line)
    right = subject(op, sizes=sizes)
    assert violations(replace(right, evaluate=shifted(op, Numbers(), change)))


Bounds = Callable[[int, Sequence[int], Sequence[int], int], tuple[int, int]]


def _late_start(size: int, counts: Sequence[int], at: Sequence[int], unit: int) -> tuple[int, int]:
    start, end = block_bounds(size, counts, at, unit)
    return (min(start + 1, end) if start else start), end


def _early_end(size: int, counts: Sequence[int], at: Sequence[int], unit: int) -> tuple[int, int]:
    start, end = block_bounds(size, counts, at, unit)
    return start, max(start, end - 1)


def _overlap(size: int, counts: Sequence[int], at: Sequence[int], unit: int) -> tuple[int, int]:
    start, end = block_bounds(size, counts, at, unit)
    return start, min(size, end + 1)


def _rounded_down(size: int, counts: Sequence[int], at: Sequence[int], unit: int) -> tuple[int, int]:
    block = unit * (size // unit // counts[0])
    return at[0] * block, (at[0] + 1) * block


def _without_unit(size: int, counts: Sequence[int], at: Sequence[int], unit: int) -> tuple[int, int]:
    return block_bounds(size, counts, at, 1)


def _past_the_end(size: int, counts: Sequence[int], at: Sequence[int], unit: int) -> tuple[int, int]:
    block = unit * -(-(-(-size // unit)) // counts[0])
    return at[0] * block, (at[0] + 1) * block


def _last_lost(size: int, counts: Sequence[int], at: Sequence[int], unit: int) -> tuple[int, int]:
    start, end = block_bounds(size, counts, at, unit)
    return (start, start) if at[0] == counts[0] - 1 else (start, end)


@pytest.mark.parametrize(
    "bounds",
    [_late_start, _early_end, _overlap, _rounded_down, _without_unit, _past_the_end, _last_lost],
)
def test_wrong_blocks_are_found(bounds: Bounds, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(check_rule, "block_bounds", bounds)
    line, _ = BUILT_IN["split a product"]
    assert violations(subject(operation(line)))


# What has no result


def test_an_operation_without_any_result_cannot_be_evaluated() -> None:
    def refuse(arrays: Sequence[Array], part: Part) -> Sequence[Array]:
        raise CannotEvaluate("it needs seven dimensions")

    rule = pattern("[m] -> [m]").instantiate((1,))
    with pytest.raises(CannotEvaluate, match="seven dimensions"):
        violations(Subject(rule, (np.dtype(np.float32),), refuse))


def test_reductions_of_a_name_in_several_results() -> None:
    def both(arrays: Sequence[Array], part: Part) -> Sequence[Array]:
        (x,) = arrays
        return [x.sum(axis=1), x.max(axis=0, initial=-np.inf)]

    def role(text: str) -> list[str]:
        rule = pattern(f"[m, k] -> [m] [k], {text}").instantiate((2,))
        assert isinstance(rule.role["m"], Reduction)
        return [v.claim for v in violations(Subject(rule, (np.dtype(np.float64),), both))]

    assert role("m = reduction(max), k = reduction(sum)") == []
    assert role("m = reduction(sum), k = reduction(sum)") == ["m"]
    assert role("m = reduction(max), k = reduction(max)") == ["k"]


def test_rounding_is_forgiven_only_where_allowed() -> None:
    def unstable(arrays: Sequence[Array], part: Part) -> Sequence[Array]:
        (x,) = arrays
        return [x * (1 + 4e-16 * (x.shape[0] % 2))]

    rule = pattern("[m] -> [m]").instantiate((1,))
    case = Subject(rule, (np.dtype(np.float64),), unstable)
    assert violations(replace(case, bit_equal=False)) == []
    assert [v.claim for v in violations(case)] == ["m"]


def test_a_budget_still_tries_each_claim() -> None:
    calls: list[Any] = []

    def sums(arrays: Sequence[Array], part: Part) -> Sequence[Array]:
        calls.append(arrays)
        return [arrays[0].sum(axis=1)]

    rule = pattern("[m, k] -> [m], k = reduction(max)").instantiate((2,))
    found = violations(Subject(rule, (np.dtype(np.float64),), sums, budget=1))
    assert [v.claim for v in found] == ["k"]
    assert len(calls) < 20
