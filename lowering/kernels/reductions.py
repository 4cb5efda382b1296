"""Reductions that leave dimensions, and what is computed from them, in one kernel.

Each element that is kept has a group of threads, which goes over what is reduced for it as often as one reduction
needs the result of another; rows of up to `ROW_KEPT` elements a thread stay in registers meanwhile.

*Rows*, if neighbours in memory are reduced: the group is a warp, for rows of more than `ROW_SHORT` elements a block.
Thread t of n takes the vectors t, t + n, t + 2n, … of a row, adds their elements in order, and the threads are
combined as a tree. A vector is 16 bytes of the widest element that the kernel accesses.

*Columns*, if neighbours are kept: the group is one thread, for columns of at least `COLUMN_LONG` elements
`COLUMN_PARTS` of them, which take every `COLUMN_PARTS`-th element each; these are combined as a tree.

So bits depend on what is reduced, its size and types, and neither on the grid nor on alignment.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from functools import partial

from xdsl.ir import Operation, SSAValue

from coconet_ir.lowering.kernels import geometry
from coconet_ir.lowering.kernels.code import Code, Values
from coconet_ir.lowering.kernels.emit import Evaluator, Place
from coconet_ir.lowering.kernels.folding import Fold
from coconet_ir.lowering.kernels.geometry import (
    COLUMN_LONG,
    COLUMN_PARTS,
    COLUMN_WIDTH,
    ROW_SHORT,
    WARP,
)
from coconet_ir.lowering.kernels.kernel import Kernel
from coconet_ir.lowering.kernels.launch import Block, Launch
from coconet_ir.lowering.kernels.nodes import Compute, Guarded, Node, Reduced, Store, walk
from coconet_ir.lowering.kernels.space import Accesses, Space
from coconet_ir.lowering.kernels.trace import Trace


@dataclass(frozen=True)
class Grouped:
    """What a kernel of groups computes: reductions, and what it stores for all elements and for those kept."""

    kept: Space
    reduced: Space
    folds: Sequence[Fold]
    whole: Sequence[Store]
    each: Sequence[Store]

    def nodes(self) -> list[Node]:
        """What is computed for every element."""
        return [*(fold.node for fold in self.folds), *(store.node for store in self.whole)]

    def phases(self) -> list[list[Fold]]:
        """The reductions that need no result of one another, in turn."""
        levels: dict[Operation, int] = {}
        phases: list[list[Fold]] = []
        for fold in self.folds:
            needs = [levels[n.op] + 1 for n in walk(fold.node) if isinstance(n, Reduced)]
            level = levels[fold.op] = max(needs, default=0)
            phases += [[] for _ in range(level + 1 - len(phases))]
            phases[level].append(fold)
        return phases


def grouped(trace: Trace, name: str, work: Grouped, rows: bool) -> Launch:
    """The kernel of a region that reduces some dimensions."""
    inner = work.reduced.inner if rows else None
    accesses = Accesses(inner, [work.kept, work.reduced], work.nodes(), work.whole)
    width = accesses.width() if rows else 1
    threads = geometry.ROW_THREADS if rows else COLUMN_WIDTH * COLUMN_PARTS
    kernel = Kernel(trace, name, threads)
    aligned = accesses.aligned(kernel, width, work.reduced.extent()) if width > 1 else None
    groups = _Rows(kernel) if rows else _Columns(kernel)
    _Body(kernel, work, groups, width, aligned).emit()
    family = f"reduces {'rows' if rows else 'columns'}"
    return Launch(
        kernel, family, lambda host: groups.grid(host, work), lambda host: groups.block(host, work)
    )


class _Rows:
    """A group is a warp or a block, along x; a block holds groups along y."""

    def __init__(self, kernel: Kernel):
        self.kernel = kernel
        self.across, self.along = kernel.thread("y"), kernel.thread("x")
        self.groups, self.threads = kernel.block_size("y"), kernel.block_size("x")

    def combined(self, code: Code, fold: Fold, value: SSAValue) -> SSAValue:
        """What the threads of the group have, for each of them."""
        of_warp = fold.over_warp(code, value)
        return code.branch(
            code.less(code.number(WARP), self.threads),
            lambda code: [fold.over_warps(self.kernel, code, of_warp, geometry.ROW_THREADS)],
            lambda code: [of_warp],
        )[0]

    def is_long(self, host: Code, work: Grouped) -> SSAValue:
        return host.less(host.number(ROW_SHORT), host.size(work.reduced.count))

    def block(self, host: Code, work: Grouped) -> Block:
        """A block for one long row, or for several short ones."""
        long = self.is_long(host, work)
        x = host.choose(long, host.number(geometry.ROW_THREADS), host.number(WARP))
        return x, host.choose(long, host.number(1), host.number(geometry.ROW_THREADS // WARP))

    def grid(self, host: Code, work: Grouped) -> SSAValue:
        """Blocks for all rows."""
        rows = host.size(work.kept.count)
        several = host.blocks(rows, geometry.ROW_THREADS // WARP)
        return host.choose(self.is_long(host, work), host.blocks(rows, 1), several)


class _Columns:
    """A group is one thread, or several along y; a block holds groups along x, neighbours in memory."""

    def __init__(self, kernel: Kernel):
        self.kernel = kernel
        self.across, self.along = kernel.thread("x"), kernel.thread("y")
        self.groups, self.threads = kernel.block_size("x"), kernel.block_size("y")

    def combined(self, code: Code, fold: Fold, value: SSAValue) -> SSAValue:
        """What the threads of the group have, for each of them."""
        memory = self.kernel.shared(fold.accumulate, COLUMN_WIDTH * COLUMN_PARTS)

        def place(code: Code, part: SSAValue) -> SSAValue:
            return code.add(code.mul(part, code.number(COLUMN_WIDTH)), self.across)

        def several(code: Code) -> Values:
            fold.store(code, value, memory, place(code, self.along))
            places = [place(code, code.number(part)) for part in range(COLUMN_PARTS)]
            return [fold.over_memory(code, memory, places)]

        return code.branch(code.less(code.number(1), self.threads), several, lambda code: [value])[
            0
        ]

    def block(self, host: Code, work: Grouped) -> Block:
        """Groups of one thread for short columns, of several for long ones."""
        short = host.less(host.size(work.reduced.count), host.number(COLUMN_LONG))
        parts = host.choose(short, host.number(1), host.number(COLUMN_PARTS))
        return host.number(COLUMN_WIDTH), parts

    def grid(self, host: Code, work: Grouped) -> SSAValue:
        """Blocks for all columns."""
        return host.blocks(host.size(work.kept.count), COLUMN_WIDTH)


class _Body:
    """What a thread does."""

    def __init__(
        self,
        kernel: Kernel,
        work: Grouped,
        groups: _Rows | _Columns,
        width: int,
        aligned: SSAValue | None,
    ):
        self.kernel, self.work, self.groups = kernel, work, groups
        self.width, self.aligned = width, aligned
        self.top = Evaluator(kernel)
        code = kernel.code
        self.number = code.add(code.mul(kernel.block_number(), groups.groups), groups.across)
        self.is_there = code.less(self.number, code.size(work.kept.count))
        self.count = code.choose(self.is_there, code.size(work.reduced.count), code.number(0))
        self.first = code.mul(groups.along, code.number(width))
        self.step = code.mul(groups.threads, code.number(width))
        self.kept = work.kept.place(code, self.number)

    def emit(self) -> None:
        """Write the body, for short rows of whole vectors and for all others."""
        code = self.kernel.code
        if self.aligned is None or any(isinstance(n, Guarded) for n in walk(*self.work.nodes())):
            self._phases(code, _Loops(self, {}))
            return
        most = code.mul(self.groups.threads, code.number(geometry.ROW_KEPT))
        short = code.at_most(code.size(self.work.reduced.count), most)
        code.branch(
            code.both(self.aligned, short),
            lambda code: self._phases(code, _Registers(self, {}, code)),
            lambda code: self._phases(code, _Loops(self, {})),
        )

    def _phases(self, code: Code, run: _Loops | _Registers) -> Values:
        """All reductions, then what is stored."""
        work = self.work
        for folds in work.phases():
            starts = [fold.start(code) for fold in folds]
            for fold, total in zip(folds, run.reduce(code, folds, starts), strict=True):
                combined = self.groups.combined(code, fold, total)
                run.reduced[fold.op] = fold.result(code, combined)
        if work.whole:
            run.store(code)
        if work.each:
            is_first = code.equal(self.groups.along, code.number(0))
            kept = partial(self.top.at, place=self.kept, reduced=run.reduced)
            code.when(
                code.both(self.is_there, is_first), lambda code: kept(code).store_all(work.each)
            )
        return ()

    def at(
        self, code: Code, number: SSAValue, width: int, reduced: Mapping[Operation, SSAValue]
    ) -> Evaluator:
        """An evaluator at an element of what is reduced."""
        place: Place = {**self.kept, **self.work.reduced.place(code, number)}
        inner = self.work.reduced.inner
        return self.top.at(code, place, inner=inner, width=width, reduced=reduced)


def _take(folds: Sequence[Fold], here: Evaluator, totals: Values) -> Values:
    """Add what is at a place to what the thread has."""
    values = [here.vector(fold.node) for fold in folds]
    return [
        fold.take(here.code, total, value)
        for fold, total, value in zip(folds, totals, values, strict=True)
    ]


@dataclass(frozen=True)
class _Loops:
    """Goes over what is reduced in loops, as often as there are phases."""

    body: _Body
    reduced: dict[Operation, SSAValue]

    def reduce(self, code: Code, folds: Sequence[Fold], totals: Values) -> Values:
        """Go over all elements once."""
        return self._over(code, totals, partial(_take, folds))

    def store(self, code: Code) -> None:
        """Store what is stored for all elements."""

        def store(here: Evaluator, totals: Values) -> Values:
            here.store_all(self.body.work.whole)
            return totals

        self._over(code, (), store)

    def _over(
        self, code: Code, totals: Values, each: Callable[[Evaluator, Values], Values]
    ) -> Values:
        """Run for every vector or element that the thread takes."""
        body = self.body

        def vector(code: Code, at: SSAValue, totals: Values) -> Values:
            return each(body.at(code, at, body.width, self.reduced), totals)

        def element(code: Code, at: SSAValue, totals: Values) -> Values:
            return each(body.at(code, at, 1, self.reduced), totals)

        def one_by_one(code: Code, at: SSAValue, totals: Values) -> Values:
            end = code.smaller(code.add(at, code.number(body.width)), body.count)
            return code.loop(at, end, code.number(1), totals, element)

        def run(run: Callable[[Code, SSAValue, Values], Values]) -> Callable[[Code], Values]:
            return lambda code: code.loop(body.first, body.count, body.step, totals, run)

        if body.aligned is None:
            return run(element if body.width == 1 else one_by_one)(code)
        return code.branch(body.aligned, run(vector), run(one_by_one))


class _Registers:
    """Holds the vectors of a thread, `ROW_KEPT` elements together, from the first phase to the last."""

    def __init__(self, body: _Body, reduced: dict[Operation, SSAValue], code: Code):
        self.work, self.top, self.reduced = body.work, body.top, reduced
        self.vectors: list[tuple[Evaluator, SSAValue]] = []
        at = body.first
        for number in range(geometry.ROW_KEPT // body.width):
            at = code.add(at, body.step) if number else at
            here = body.at(code, at, body.width, reduced)
            self.vectors.append((here, code.less(at, body.count)))

    def reduce(self, code: Code, folds: Sequence[Fold], totals: Values) -> Values:
        """Add all elements that there are.

        The first phase keeps what it loads, later ones what they compute too: conversions cost less than registers.
        """
        for here, is_there in self.vectors:
            here.fetch(*(fold.node for fold in folds), where=is_there)
        for here, is_there in self.vectors:
            if self.reduced:
                new = _take(folds, here, totals)
                totals = [code.choose(is_there, *pair) for pair in zip(new, totals, strict=True)]
            else:
                yes = partial(_take_guarded, folds, here, totals)
                totals = code.branch(is_there, yes, lambda code, totals=totals: totals)
        return totals

    def store(self, code: Code) -> None:
        """Store what is stored for all elements; what these have in common is computed once."""
        row = self.top.at(code, {}, reduced=self.reduced)
        for node in walk(*(store.node for store in self.work.whole)):
            if isinstance(node, Compute) and row.kernel.depends(node) == frozenset((Reduced,)):
                for here, _ in self.vectors:
                    here.know(node, row.value(node))
        for here, is_there in self.vectors:
            code.when(is_there, partial(_store_guarded, self.work.whole, here))


def _take_guarded(folds: Sequence[Fold], here: Evaluator, totals: Values, code: Code) -> Values:
    return _take(folds, here.guarded(code), totals)


def _store_guarded(stores: Sequence[Store], here: Evaluator, code: Code) -> None:
    here.guarded(code).store_all(stores)
