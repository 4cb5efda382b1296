"""Reductions that leave dimensions, and what is computed from them, in one kernel.

Each element that is kept has a group of threads, which goes over what is reduced for it as often as one reduction
needs the result of another: softmax reads its rows three times, from DRAM once.

*Rows*, if neighbours in memory are reduced: the group is a warp, for rows of more than `ROW_SHORT` elements a block.
Thread t of n takes the vectors t, t + n, t + 2n, … of a row, adds their elements in order, and the threads are
combined as a tree. A vector is 16 bytes of the widest element that the kernel accesses.

*Columns*, if neighbours are kept: the group is one thread, for columns of at least `COLUMN_LONG` elements
`COLUMN_PARTS` of them, which take every `COLUMN_PARTS`-th element each; these are combined as a tree.

So bits depend on what is reduced, its size and types, and neither on the grid nor on alignment.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass

from xdsl.ir import Operation, SSAValue

from coconet_ir.lowering.kernels.code import Code, Values
from coconet_ir.lowering.kernels.emit import Evaluator, Place
from coconet_ir.lowering.kernels.folding import Fold
from coconet_ir.lowering.kernels.geometry import (
    COLUMN_LONG,
    COLUMN_PARTS,
    COLUMN_WIDTH,
    ROW_SHORT,
    ROW_THREADS,
    WARP,
)
from coconet_ir.lowering.kernels.kernel import Kernel
from coconet_ir.lowering.kernels.launch import Block, Launch
from coconet_ir.lowering.kernels.nodes import Reduced, Store, walk
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
    nodes = [*(fold.node for fold in work.folds), *(store.node for store in work.whole)]
    accesses = Accesses(inner, [work.kept, work.reduced], nodes, work.whole)
    width = accesses.width() if rows else 1
    threads = ROW_THREADS if rows else COLUMN_WIDTH * COLUMN_PARTS
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
            lambda code: [fold.over_warps(self.kernel, code, of_warp, ROW_THREADS)],
            lambda code: [of_warp],
        )[0]

    def is_long(self, host: Code, work: Grouped) -> SSAValue:
        return host.less(host.number(ROW_SHORT), host.size(work.reduced.count))

    def block(self, host: Code, work: Grouped) -> Block:
        """A block for one long row, or for several short ones."""
        long = self.is_long(host, work)
        x = host.choose(long, host.number(ROW_THREADS), host.number(WARP))
        return x, host.choose(long, host.number(1), host.number(ROW_THREADS // WARP))

    def grid(self, host: Code, work: Grouped) -> SSAValue:
        """Blocks for all rows."""
        rows = host.size(work.kept.count)
        several = host.blocks(rows, ROW_THREADS // WARP)
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
        self.reduced: dict[Operation, SSAValue] = {}
        code = kernel.code
        self.number = code.add(code.mul(kernel.block_number(), groups.groups), groups.across)
        self.is_there = code.less(self.number, code.size(work.kept.count))
        self.count = code.choose(self.is_there, code.size(work.reduced.count), code.number(0))
        self.first = code.mul(groups.along, code.number(width))
        self.step = code.mul(groups.threads, code.number(width))
        self.kept = work.kept.place(code, self.number)

    def emit(self) -> None:
        """All phases, then what is stored."""
        code = self.kernel.code
        for folds in self.work.phases():
            totals = self._over(code, [fold.start(code) for fold in folds], self._take(folds))
            for fold, total in zip(folds, totals, strict=True):
                combined = self.groups.combined(code, fold, total)
                self.reduced[fold.op] = fold.result(code, combined)
        if self.work.whole:
            self._over(code, (), self._store)
        if self.work.each:
            is_first = code.equal(self.groups.along, code.number(0))
            code.when(code.both(self.is_there, is_first), self._store_kept)

    def _take(self, folds: Sequence[Fold]) -> Callable[[Evaluator, Values], Values]:
        def take(here: Evaluator, totals: Values) -> Values:
            values = [here.vector(fold.node) for fold in folds]
            return [
                fold.take(here.code, total, value)
                for fold, total, value in zip(folds, totals, values, strict=True)
            ]

        return take

    def _store(self, here: Evaluator, totals: Values) -> Values:
        here.store_all(self.work.whole)
        return totals

    def _store_kept(self, code: Code) -> None:
        self.top.at(code, self.kept, reduced=self.reduced).store_all(self.work.each)

    def _over(
        self, code: Code, totals: Values, body: Callable[[Evaluator, Values], Values]
    ) -> Values:
        """Run a body for every vector or element that the thread takes."""

        def vector(code: Code, at: SSAValue, totals: Values) -> Values:
            return body(self._at(code, at, self.width), totals)

        def element(code: Code, at: SSAValue, totals: Values) -> Values:
            return body(self._at(code, at, 1), totals)

        def one_by_one(code: Code, at: SSAValue, totals: Values) -> Values:
            end = code.smaller(code.add(at, code.number(self.width)), self.count)
            return code.loop(at, end, code.number(1), totals, element)

        def run(each: Callable[[Code, SSAValue, Values], Values]) -> Callable[[Code], Values]:
            return lambda code: code.loop(self.first, self.count, self.step, totals, each)

        if self.aligned is None:
            return run(element if self.width == 1 else one_by_one)(code)
        return code.branch(self.aligned, run(vector), run(one_by_one))

    def _at(self, code: Code, number: SSAValue, width: int) -> Evaluator:
        place: Place = {**self.kept, **self.work.reduced.place(code, number)}
        inner = self.work.reduced.inner
        return self.top.at(code, place, inner=inner, width=width, reduced=self.reduced)
