"""Whether operations overlap, against what that means: random chains are run chunk by chunk with NumPy."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field
from itertools import permutations, product
from math import prod
from typing import Any

import numpy as np
from hypothesis import given, settings
from hypothesis import strategies as st
from xdsl.dialects.func import ReturnOp
from xdsl.ir import Operation

from coconet_ir.analysis.chunks import check_overlap
from coconet_ir.program import Program
from coconet_ir.schedule.remarks import Reason, Refused

Array = np.ndarray[Any, np.dtype[np.float64]]
Shape = tuple[int, ...]
Compute = Callable[[Sequence[Array]], Array]


@dataclass
class Step:
    """An operation: as text, as a function, and which values it reads: results of others, by number, or arguments."""

    text: str
    reads: tuple[int | str, ...]
    compute: Compute
    stage: bool


@dataclass
class Chain:
    """A straight chain of operations on one rank, and the value of each."""

    numbers: np.random.Generator
    arguments: dict[str, Array] = field(default_factory=dict[str, Array])
    steps: list[Step] = field(default_factory=list[Step])
    values: list[Array] = field(default_factory=list[Array])

    @property
    def shape(self) -> Shape:
        return self.values[-1].shape

    def argument(self, *shape: int) -> str:
        name = f"x{len(self.arguments)}"
        self.arguments[name] = self.numbers.integers(-9, 9, shape).astype(np.float64)
        return name

    def add(
        self,
        text: str,
        reads: Sequence[int | str],
        compute: Compute,
        stage: bool = False,
    ) -> None:
        """Append `text`, an operation with `{}` for its operands, `{t}` for the types that `:` is followed by."""
        operands = [self.arguments[r] if isinstance(r, str) else self.values[r] for r in reads]
        value = compute(operands)
        names = [f"%{r}" if isinstance(r, str) else f"%v{r}" for r in reads]
        types = [_type(a) for a in operands]
        text = text.format(*names, args=", ".join(types), first=types[0], result=_type(value))
        self.steps.append(Step(f"%v{len(self.values)} = {text}", tuple(reads), compute, stage))
        self.values.append(value)

    def operand(self, read: int | str) -> Array:
        return self.arguments[read] if isinstance(read, str) else self.values[read]

    def text(self, fused: Sequence[range]) -> str:
        """The program, with some steps in fused operations."""
        lines: list[str] = []
        for index, step in enumerate(self.steps):
            run = next((run for run in fused if index in run), None)
            if run is None:
                lines.append(step.text)
                continue
            if index == run.start:
                lines.append(f"{', '.join(f'%v{i}' for i in run)} = coll.fused {{")
            lines.append(step.text)
            if index == run[-1]:
                types = ", ".join(_type(self.values[i]) for i in run)
                lines.append(f"coll.yield {', '.join(f'%v{i}' for i in run)} : {types}\n}}")
        inputs = ", ".join(f"%{name}: {_type(a)}" for name, a in self.arguments.items())
        body = "\n".join(lines)
        return f"layout.mesh @mesh(tp = 1)\nfunc.func @f({inputs}) {{\n{body}\nfunc.return\n}}"


def _type(array: Array) -> str:
    return f"tensor<{''.join(f'{n}x' for n in array.shape)}f64, #layout.dist<tp = local>>"


def permute(chain: Chain, reads: int | str) -> None:
    text = "coll.permute {} over [tp] shift 1 : {first} -> {result}"
    chain.add(text, [reads], lambda x: x[0], stage=True)


def matmul(chain: Chain, lhs: int | str, rhs: int | str) -> None:
    text = "comp.matmul {}, {} : ({args}) -> {result}"
    chain.add(text, [lhs, rhs], _matmul, stage=True)


def _matmul(operands: Sequence[Array]) -> Array:
    lhs, rhs = operands
    if lhs.shape[-1] != rhs.shape[-2] or (lhs.shape[:-2] != rhs.shape[:-2] and rhs.ndim > 2):
        raise ValueError
    return np.matmul(lhs, rhs)


def add(chain: Chain, one: int | str, other: int | str) -> None:
    chain.add("arith.addf {}, {} : {first}", [one, other], _add)


def _add(operands: Sequence[Array]) -> Array:
    a, b = operands
    if a.shape != b.shape:
        raise ValueError
    return a + b


def transpose(chain: Chain, order: Sequence[int]) -> None:
    text = f"comp.transpose {{}} perm {list(order)} : {{first}} -> {{result}}"
    chain.add(text, [len(chain.values) - 1], lambda x: np.transpose(x[0], order))


def split(chain: Chain, dim: int, inner: int) -> None:
    names = [f"n{i}" for i in range(len(chain.shape))]
    before, after = names.copy(), names.copy()
    before[dim], after[dim] = f"(n{dim} k)", f"n{dim}, k"

    def compute(operands: Sequence[Array]) -> Array:
        (x,) = operands
        if x.shape[dim] % inner:
            raise ValueError
        return x.reshape(*x.shape[:dim], x.shape[dim] // inner, inner, *x.shape[dim + 1 :])

    _reshape(chain, before, after, compute)


def merge(chain: Chain, dim: int) -> None:
    names = [f"n{i}" for i in range(len(chain.shape))]
    after = [*names[:dim], f"(n{dim} n{dim + 1})", *names[dim + 2 :]]

    def compute(operands: Sequence[Array]) -> Array:
        (x,) = operands
        return x.reshape(*x.shape[:dim], x.shape[dim] * x.shape[dim + 1], *x.shape[dim + 2 :])

    _reshape(chain, names, after, compute)


def _reshape(chain: Chain, before: list[str], after: list[str], compute: Compute) -> None:
    text = (
        f"comp.reshape {{}} [{', '.join(before)}] -> [{', '.join(after)}] : {{first}} -> {{result}}"
    )
    chain.add(text, [len(chain.values) - 1], compute)


def softmax(chain: Chain, dim: int) -> None:
    text = f"comp.softmax {{}} dim {dim} : {{first}}"
    chain.add(text, [len(chain.values) - 1], lambda x: _softmax(x[0], dim))


def _softmax(x: Array, dim: int) -> Array:
    e = np.exp(x - x.max(dim, keepdims=True))
    return e / e.sum(dim, keepdims=True)


def reduce(chain: Chain, dim: int) -> None:
    text = f"comp.reduce sum {{}} dims [{dim}] : {{first}} -> {{result}}"
    chain.add(text, [len(chain.values) - 1], lambda x: x[0].sum(dim))


def broadcast(chain: Chain, dim: int, size: int) -> None:
    """A new dimension `dim`."""
    dims = [i for i in range(len(chain.shape) + 1) if i != dim]
    text = f"comp.broadcast {{}} dims {dims} : {{first}} -> {{result}}"
    reads = [len(chain.values) - 1]
    chain.add(text, reads, lambda x: np.repeat(np.expand_dims(x[0], dim), size, dim))


Move = Callable[[Chain], None]


def moves(chain: Chain) -> Iterator[Move]:
    """Operations that can follow in a chain, each reading the value before."""
    shape, last = chain.shape, len(chain.values) - 1
    rank = len(shape)
    for other, value in enumerate(chain.values):
        if value.shape == shape:
            yield lambda c, o=other: add(c, last, o)
    yield lambda c: add(c, last, c.argument(*shape))
    if shape:
        yield lambda c: permute(c, last)
    if rank < 4:
        for dim in range(rank + 1):
            yield lambda c, d=dim: broadcast(c, d, 2)
    for dim, size in enumerate(shape):
        yield lambda c, d=dim: softmax(c, d)
        yield lambda c, d=dim: reduce(c, d)
        yield lambda c, d=dim, n=size: normalise(c, d, n)
        for inner in (2, 3, 4):
            if size % inner == 0 and rank < 4:
                yield lambda c, d=dim, n=inner: split(c, d, n)
                yield lambda c, d=dim, n=inner: regroup(c, d, n)
        if dim + 1 < rank and prod(shape[dim : dim + 2]) <= 24:
            yield lambda c, d=dim: merge(c, d)
    for order in list(permutations(range(rank)))[1:]:
        yield lambda c, o=order: transpose(c, o)
    if 2 <= rank <= 3:
        yield lambda c: matmul(c, last, c.argument(shape[-1], 3))
        yield lambda c: matmul(c, c.argument(*shape[:-2], 5, shape[-2]), last)
        yield lambda c: matmul(c, last, c.argument(*shape[:-2], shape[-1], 2))
    if rank == 2 and shape[0] == shape[1]:
        yield lambda c: matmul(c, last, last)


def normalise(chain: Chain, dim: int, size: int) -> None:
    """Add the sum along a dimension to each of its elements."""
    before = len(chain.values) - 1
    reduce(chain, dim)
    broadcast(chain, dim, size)
    add(chain, len(chain.values) - 1, before)


def regroup(chain: Chain, dim: int, inner: int) -> None:
    """Split a dimension in two, then merge the first of them, or the one before, with its next."""
    split(chain, dim, inner)
    merge(chain, max(dim - 1, 0))


def produce(
    chain: Chain, shape: Sequence[int], dim: int, order: Sequence[int], merged: bool
) -> None:
    """A fused operation as first stage: a softmax, a transpose, a sum, and maybe a reshape."""
    x = chain.argument(*shape)
    y = chain.argument(*[shape[i] for i in order])

    def compute(operands: Sequence[Array]) -> Array:
        total = _add((np.transpose(_softmax(operands[0], dim), order), operands[1]))
        return total.reshape(-1, *total.shape[2:]) if merged else total

    made = compute([chain.arguments[x], chain.arguments[y]])
    types = [_type(value) for value in (chain.arguments[x], chain.arguments[y], made)]
    names = [f"n{i}" for i in range(len(shape))]
    after = [f"({' '.join(names[:2])})", *names[2:]]
    lines = [
        "%v0 = coll.fused {",
        f"%s = comp.softmax %{x} dim {dim} : {types[0]}",
        f"%t = comp.transpose %s perm {list(order)} : {types[0]} -> {types[1]}",
        f"%a = arith.addf %t, %{y} : {types[1]}",
        f"%m = comp.reshape %a [{', '.join(names)}] -> [{', '.join(after)}] : {types[1]} -> {types[2]}",
        f"coll.yield %{'m' if merged else 'a'} : {types[2]}",
        "}",
    ]
    if not merged:
        del lines[4]
    chain.steps.append(Step("\n".join(lines), (x, y), compute, stage=True))
    chain.values.append(made)


@st.composite
def chains(draw: st.DrawFn) -> tuple[Chain, list[range]]:
    """Chains from stage to stage, and the steps of them that stand in fused operations."""
    chain = Chain(np.random.default_rng(draw(st.integers(0, 2**32))))
    shape = draw(st.lists(st.sampled_from((2, 4, 4, 6)), min_size=1, max_size=3))
    rank = len(shape)
    start = draw(st.sampled_from(("permute", "matmul", "fused")))
    if start == "matmul" and rank > 1:
        matmul(chain, chain.argument(*shape[:-1], 3), chain.argument(3, shape[-1]))
    elif start == "fused":
        dim, order = draw(st.integers(0, rank - 1)), draw(st.permutations(range(rank)))
        produce(chain, shape, dim, order, rank > 1 and draw(st.booleans()))
    else:
        permute(chain, chain.argument(*shape))
    for _ in range(draw(st.integers(1, 5))):
        draw(st.sampled_from(list(moves(chain))))(chain)
    if chain.shape:
        permute(chain, len(chain.values) - 1)
    fused = list[range]()
    begin: int | None = None
    for index, step in enumerate(chain.steps):
        if not step.stage:
            begin = index if begin is None else begin
            continue
        if begin is not None and draw(st.booleans()):
            fused.append(range(begin, index))
        begin = None
    return chain, fused


def works(chain: Chain, dim: int, cut: int) -> bool:
    """Whether two chunks of dimension `dim` of the first value, cut at `cut`, give the two parts of every value."""
    along: dict[int, tuple[int, int]] = {}
    for index, step in enumerate(chain.steps):
        whole = chain.values[index]
        for target in range(whole.ndim) if index else (dim,):
            place, rest = divmod(whole.shape[target] * cut, chain.values[0].shape[dim])
            if not rest and _in_parts(chain, step, whole, along, target, place, cut, dim):
                along[index] = target, place
                break
        else:
            return False
    return True


def _in_parts(
    chain: Chain,
    step: Step,
    whole: Array,
    along: dict[int, tuple[int, int]],
    target: int,
    place: int,
    cut: int,
    dim: int,
) -> bool:
    """Whether a step makes each part of its value from chunks, and from any parts of its arguments."""
    choices: list[list[tuple[int, int] | None]] = []
    for read in step.reads:
        if not isinstance(read, str):
            choices.append([along[read]])
            continue
        choices.append([None])
        for d, size in enumerate(chain.arguments[read].shape):
            at, rest = divmod(size * cut, chain.values[0].shape[dim])
            if not rest:
                choices[-1].append((d, at))
    return any(
        all(
            _same(
                step,
                [_part(chain.operand(r), c, half) for r, c in zip(step.reads, chosen, strict=True)],
                _part(whole, (target, place), half),
            )
            for half in (0, 1)
        )
        for chosen in product(*choices)
    )


def _part(array: Array, cut: tuple[int, int] | None, half: int) -> Array:
    if cut is None:
        return array
    dim, place = cut
    return np.split(array, [place], dim)[half]


def _same(step: Step, operands: Sequence[Array], part: Array) -> bool:
    try:
        found = step.compute(operands)
    except ValueError:
        return False
    return found.shape == part.shape and np.allclose(found, part, rtol=1e-9, atol=0.0)


def _members(text: str) -> list[Operation]:
    func = Program.parse(text).function()
    return [op for op in func.body.block.ops if not isinstance(op, ReturnOp)]


@settings(max_examples=100, deadline=None)
@given(chains())
def test_a_dimension_is_legal_when_chunks_of_it_give_the_whole(
    drawn: tuple[Chain, list[range]],
) -> None:
    chain, fused = drawn
    members = _members(chain.text(fused))
    legal: list[int] = []
    for dim, size in enumerate(chain.values[0].shape):
        try:
            unit = check_overlap(members, dim).unit
            legal.append(dim)
        except Refused as refused:
            if refused.reason is Reason.NO_CHAIN:
                return
            unit = size  # no cut
        cuts = [cut for cut in range(1, size) if works(chain, dim, cut)]
        assert cuts == list(range(unit, size, unit))
    try:
        assert check_overlap(members, None).dim == legal[0]
    except Refused:
        assert not legal
