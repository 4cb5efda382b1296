"""Reductions that leave dimensions, and what is computed from them, in one kernel.

Each element that is kept has a group of threads, which goes over what is reduced for it as often as one reduction
needs the result of another; rows of up to `ROW_KEPT` elements a thread stay in registers meanwhile.

*Rows*, if neighbours in memory are reduced. A vector is 16 bytes of the widest element that the kernel accesses; its
elements are added in order. A row of more than `WARP * ROW_KEPT` elements takes a block: thread t of n = `ROW_THREADS`
adds the vectors t, t + n, t + 2n, … in order, and lane g of `WARP` adds the threads g, g + `WARP`, … in order. A
shorter row has as many lanes as hold it, a power of two, and lane g of n adds the vectors g, g + n, … in order. The
lanes are combined as a tree. A short row's lanes are neighbours in a warp, with other rows in a block, or, where there
are few rows, take its vectors from the threads of a block as a long one's do: the bits are the same.

*Columns*, if neighbours are kept: the group is one thread, for columns of at least `COLUMN_LONG` elements
`COLUMN_PARTS` of them, which take every `COLUMN_PARTS`-th element each; these are combined as a tree.

So bits depend on what is reduced, its size and types, and neither on the grid nor on alignment.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from functools import cache, partial

from xdsl.dialects import gpu
from xdsl.dialects.arith import AndIOp
from xdsl.dialects.memref import LoadOp
from xdsl.ir import Operation, SSAValue

from coconet_ir.lowering.kernels import geometry
from coconet_ir.lowering.kernels.code import Code, Values
from coconet_ir.lowering.kernels.emit import Evaluator, Place
from coconet_ir.lowering.kernels.folding import Fold
from coconet_ir.lowering.kernels.geometry import (
    COLUMN_LONG,
    COLUMN_PARTS,
    COLUMN_WIDTH,
    WARP,
)
from coconet_ir.lowering.kernels.kernel import Kernel
from coconet_ir.lowering.kernels.launch import Block, Launch
from coconet_ir.lowering.kernels.nodes import Compute, Dropped, Guarded, Node, Reduced, Store, walk
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
    groups = _Rows(kernel, work, width) if rows else _Columns(kernel, work)
    _Body(kernel, work, groups, width, aligned).emit()
    return Launch(kernel, f"reduces {'rows' if rows else 'columns'}", groups.grid, groups.block)


class _Rows:
    """A group is the lanes of a row, or a block, along x; a block holds groups along y."""

    def __init__(self, kernel: Kernel, work: Grouped, width: int):
        self.kernel, self.work, self.width = kernel, work, width
        self.across, self.along = kernel.thread("y"), kernel.thread("x")
        self.groups, self.threads = kernel.block_size("y"), kernel.block_size("x")
        self.steps, self.lanes = self._lanes(kernel.code)
        self.block = cache(self._block)

    def _lanes(self, code: Code) -> tuple[dict[int, SSAValue], SSAValue]:
        """Distances of lanes, and whether a row has such lanes; and how many it has."""
        count, lanes = code.size(self.work.reduced.count), code.number(1)
        steps: dict[int, SSAValue] = {}
        for bit in range(WARP.bit_length() - 1):
            more = code.less(code.number(geometry.ROW_KEPT << bit), count)
            steps[1 << bit], lanes = more, code.choose(more, code.number(2 << bit), lanes)
        return steps, lanes

    def combined(self, code: Code, fold: Fold, value: SSAValue, number: int) -> SSAValue:
        """What the threads of the group have, for each of them."""
        total = code.branch(
            code.less(code.number(WARP), self.threads),
            lambda code: [self._of_lane(code, fold, value, number)],
            lambda code: [value],
        )[0]
        return fold.over_lanes(code, total, self.steps)

    def _of_lane(self, code: Code, fold: Fold, value: SSAValue, number: int) -> SSAValue:
        """What the threads of a lane have in a block, which all must call."""
        memory = self.kernel.shared(fold.accumulate, geometry.ROW_THREADS, purpose(number))
        fold.store(code, value, memory, self.along)
        code.do(gpu.BarrierOp())
        lane = code.binary(AndIOp, self.along, code.sub(self.lanes, code.number(1)))

        def part(code: Code, number: SSAValue, total: Values) -> Values:
            place = code.add(lane, code.mul(number, self.lanes))
            return [fold.combine(code, total[0], code.put(LoadOp.get(memory, [place])))]

        first = code.put(LoadOp.get(memory, [lane]))
        stop = code.number(geometry.ROW_THREADS // WARP)
        return code.loop(code.number(1), stop, code.number(1), [first], part)[0]

    def _block(self, host: Code) -> Block:
        """A block for one row, or for several short ones."""
        count, rows = host.size(self.work.reduced.count), host.size(self.work.kept.count)
        threads = host.number(geometry.ROW_THREADS)
        alone = host.less(host.number(WARP * geometry.ROW_KEPT), count)
        if geometry.ROW_KEPT // self.width <= geometry.ROW_THREADS // WARP:  # vectors of a lane
            alone = host.either(alone, host.at_most(rows, host.number(geometry.ROW_FEW)))
        _, lanes = self._lanes(host)
        x = host.choose(alone, threads, lanes)
        return x, host.divided(threads, x)

    def grid(self, host: Code) -> SSAValue:
        """Blocks for all rows."""
        _, several = self.block(host)
        last = host.add(host.size(self.work.kept.count), host.sub(several, host.number(1)))
        return host.larger(host.divided(last, several), host.number(1))


class _Columns:
    """A group is one thread, or several along y; a block holds groups along x, neighbours in memory."""

    def __init__(self, kernel: Kernel, work: Grouped):
        self.kernel, self.work = kernel, work
        self.across, self.along = kernel.thread("x"), kernel.thread("y")
        self.groups, self.threads = kernel.block_size("x"), kernel.block_size("y")

    def combined(self, code: Code, fold: Fold, value: SSAValue, number: int) -> SSAValue:
        """What the threads of the group have, for each of them."""
        memory = self.kernel.shared(fold.accumulate, COLUMN_WIDTH * COLUMN_PARTS, purpose(number))

        def place(code: Code, part: SSAValue) -> SSAValue:
            return code.add(code.mul(part, code.number(COLUMN_WIDTH)), self.across)

        def several(code: Code) -> Values:
            fold.store(code, value, memory, place(code, self.along))
            code.do(gpu.BarrierOp())
            places = [place(code, code.number(part)) for part in range(COLUMN_PARTS)]
            return [fold.over_memory(code, memory, places)]

        return code.branch(code.less(code.number(1), self.threads), several, lambda code: [value])[
            0
        ]

    def block(self, host: Code) -> Block:
        """Groups of one thread for short columns, of several for long ones."""
        short = host.less(host.size(self.work.reduced.count), host.number(COLUMN_LONG))
        parts = host.choose(short, host.number(1), host.number(COLUMN_PARTS))
        return host.number(COLUMN_WIDTH), parts

    def grid(self, host: Code) -> SSAValue:
        """Blocks for all columns."""
        return host.blocks(host.size(self.work.kept.count), COLUMN_WIDTH)


def purpose(number: int) -> str:
    """Which memory the reduction of this number uses: two take turns, so a barrier is between two uses of each."""
    return str(number % 2)


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
        """Write the body, for short rows of whole vectors and for all others.

        Dropout's numbers take longer than memory, and many lines: written once, in a loop.
        """
        code, nodes = self.kernel.code, walk(*self.work.nodes())
        if self.aligned is None or any(isinstance(node, Guarded | Dropped) for node in nodes):
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
            for fold, total in zip(folds, run.reduce(code, folds), strict=True):
                combined = self.groups.combined(code, fold, total, len(run.reduced))
                run.reduced[fold.op] = fold.result(code, combined, self.count)
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


def _parts(folds: Sequence[Fold], here: Evaluator) -> Values:
    """What each reduction has of a place, the elements of a vector added."""
    return [fold.of_vector(here.code, here.vector(fold.node)) for fold in folds]


def _add(folds: Sequence[Fold], code: Code, totals: Values, parts: Values) -> Values:
    """Add parts to what the thread has."""
    return [
        fold.combine(code, total, part)
        for fold, total, part in zip(folds, totals, parts, strict=True)
    ]


@dataclass(frozen=True)
class _Loops:
    """Goes over what is reduced in loops, as often as there are phases."""

    body: _Body
    reduced: dict[Operation, SSAValue]

    def reduce(self, code: Code, folds: Sequence[Fold]) -> Values:
        """Go over all elements once; what the thread has of them."""
        return self._over(code, folds, partial(_parts, folds))

    def store(self, code: Code) -> None:
        """Store what is stored for all elements."""

        def store(here: Evaluator) -> Values:
            here.store_all(self.body.work.whole)
            return ()

        self._over(code, (), store)

    def _over(
        self, code: Code, folds: Sequence[Fold], each: Callable[[Evaluator], Values]
    ) -> Values:
        """Run for every vector or element that the thread takes, and add what that gives."""
        body, starts = self.body, [fold.start(code) for fold in folds]

        def vector(code: Code, at: SSAValue, totals: Values) -> Values:
            here = body.at(code, at, body.width, self.reduced)
            return _add(folds, code, totals, each(here))

        def element(code: Code, at: SSAValue, totals: Values) -> Values:
            return _add(folds, code, totals, each(body.at(code, at, 1, self.reduced)))

        def one_by_one(code: Code, at: SSAValue, totals: Values) -> Values:
            end = code.smaller(code.add(at, code.number(body.width)), body.count)
            parts = code.loop(at, end, code.number(1), starts, element)
            return _add(folds, code, totals, parts)

        def run(run: Callable[[Code, SSAValue, Values], Values]) -> Callable[[Code], Values]:
            return lambda code: code.loop(body.first, body.count, body.step, starts, run)

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

    def reduce(self, code: Code, folds: Sequence[Fold]) -> Values:
        """Add all elements that there are; what the thread has of them.

        The first phase keeps what it loads, later ones what they compute too: conversions cost less than registers.
        """
        totals: Values = [fold.start(code) for fold in folds]
        for here, is_there in self.vectors:
            here.fetch(*(fold.node for fold in folds), where=is_there)
        for here, is_there in self.vectors:
            if self.reduced:
                new = _add(folds, code, totals, _parts(folds, here))
                totals = [code.choose(is_there, *pair) for pair in zip(new, totals, strict=True)]
            else:
                yes = partial(_add_guarded, folds, here, totals)
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


def _add_guarded(folds: Sequence[Fold], here: Evaluator, totals: Values, code: Code) -> Values:
    return _add(folds, code, totals, _parts(folds, here.guarded(code)))


def _store_guarded(stores: Sequence[Store], here: Evaluator, code: Code) -> None:
    here.guarded(code).store_all(stores)
