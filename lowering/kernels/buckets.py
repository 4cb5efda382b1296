"""Reductions over all elements or over segments of them: first buckets of `BUCKET` elements, then what they gave.

One launch computes the elements, stores what else is asked for, and combines buckets: thread t of
`BUCKET_THREADS` takes the vectors t, t + n, … of a bucket and adds their elements in order; the threads are
combined as a tree. Where there are more than `PARTIALS` buckets and no segments, a block takes as many neighbours,
one after the other, as leave no more than that. Another launch combines what the blocks gave: thread t takes the
numbers t, t + n, … in order; the threads are combined as a tree. A single bucket needs no other launch. A vector is
16 bytes of the widest element that the kernel accesses, at most 8 elements.

So bits depend on the number of elements and their types, for segments on where they begin, and neither on the grid
nor on alignment.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass

from xdsl.dialects.arith import MaxSIOp, MinSIOp
from xdsl.dialects.memref import LoadOp, StoreOp
from xdsl.dialects.scf import ConditionOp, WhileOp, YieldOp
from xdsl.ir import Operation, Region, SSAValue

from coconet_ir.lowering.kernels.code import INDEX, Code, Values
from coconet_ir.lowering.kernels.emit import Evaluator
from coconet_ir.lowering.kernels.folding import Fold
from coconet_ir.lowering.kernels.geometry import (
    BUCKET,
    BUCKET_THREADS,
    FINISH_THREADS,
    FINISH_UNROLLED,
    PARTIALS,
    SEGMENT_THREADS,
)
from coconet_ir.lowering.kernels.indices import Axis, Index, Size
from coconet_ir.lowering.kernels.kernel import Kernel, Scratch
from coconet_ir.lowering.kernels.launch import Launch
from coconet_ir.lowering.kernels.nodes import Store
from coconet_ir.lowering.kernels.segments import Offsets, below
from coconet_ir.lowering.kernels.space import Accesses, Space
from coconet_ir.lowering.kernels.trace import Trace


@dataclass(frozen=True)
class Segmented:
    """Reductions over segments: the buffer of their bounds, the global place of the first element, and an axis."""

    folds: Sequence[Fold]
    offsets: SSAValue
    start: Index
    axis: Axis
    stores: Sequence[Store]


@dataclass(frozen=True)
class Bucketed:
    """What is reduced over all elements of a space, and what is stored for each of them and for the results."""

    space: Space
    folds: Sequence[Fold]
    whole: Sequence[Store]
    results: Sequence[Store]
    segmented: Segmented | None

    @property
    def every(self) -> list[Fold]:
        """All reductions."""
        return [*self.folds, *(self.segmented.folds if self.segmented else ())]

    def each(self, code: Code) -> SSAValue:
        """The buckets that a block takes."""
        return code.number(1) if self.segmented else code.blocks(self.buckets(code), PARTIALS)

    def buckets(self, code: Code) -> SSAValue:
        """All buckets, at least one."""
        return code.blocks(code.size(self.space.count), BUCKET)

    def blocks(self, code: Code) -> SSAValue:
        """The blocks that take them."""
        each = self.each(code)
        last = code.add(self.buckets(code), code.sub(each, code.number(1)))
        return code.divided(last, each)

    def is_small(self, code: Code) -> SSAValue:
        """Whether one block takes all, and finishes itself."""
        return code.at_most(code.size(self.space.count), code.number(BUCKET))

    def finishing(self, host: Code) -> SSAValue:
        """The blocks that add what the others gave: one, or none."""
        one = host.number(1)
        return one if self.segmented else host.choose(self.is_small(host), host.number(0), one)


def bucketed(trace: Trace, name: Callable[[], str], work: Bucketed) -> list[Launch]:
    """The kernels of a region that reduces all of its elements, or segments of them."""
    partial: dict[Operation, Scratch] = {}
    buckets = f"ceil({trace.sizes.text(work.space.count)}/{BUCKET})"
    for fold in work.folds:
        most = f"min({buckets}, {PARTIALS})"
        partial[fold.op] = Scratch(fold.accumulate, work.blocks, most)
    if work.segmented is not None:
        segments = work.segmented.axis.extent
        for fold in work.segmented.folds:
            partial[fold.op] = Scratch(
                fold.accumulate,
                lambda host: host.add(work.buckets(host), host.size(segments)),
                f"({buckets} + {trace.sizes.text(segments)})",
            )
    found = [_Buckets(trace, name(), work, partial).launch()]
    if work.folds:
        found.append(_finish_all(trace, name(), work, partial))
    if work.segmented is not None:
        found.append(_finish_segments(trace, name(), work, work.segmented, partial))
    return found


class _Buckets:
    """The kernel that computes the elements and combines each bucket."""

    def __init__(self, trace: Trace, name: str, work: Bucketed, partial: dict[Operation, Scratch]):
        self.work, self.partial = work, partial
        self.nodes = [
            *(fold.node for fold in work.every),
            *(store.node for store in work.whole),
        ]
        self.accesses = Accesses(work.space.inner, [work.space], self.nodes, work.whole)
        self.width = min(self.accesses.width(), BUCKET // BUCKET_THREADS)
        self.kernel = Kernel(trace, name, BUCKET_THREADS)
        self.top = Evaluator(self.kernel)
        code = self.kernel.code
        self.count = code.size(work.space.count)
        rows = [work.space.extent()] if len(work.space.groups) > 1 else []
        self.aligned: SSAValue | None = None
        """Whether whole buckets can be moved as vectors; None if they never can."""
        if self.width > 1 and (aligned := self.accesses.aligned(self.kernel, self.width, *rows)):
            self.aligned = code.all(aligned, work.space.is_short(code))

    def launch(self) -> Launch:
        """Write the kernel."""
        code, work = self.kernel.code, self.work
        block = self.kernel.block_number()
        totals = [fold.start(code) for fold in work.folds]
        if work.segmented is None:
            first = code.mul(block, each := work.each(code))
            stop = code.smaller(code.add(first, each), work.buckets(code))
            totals = code.loop(first, stop, code.number(1), totals, self._bucket)
        else:
            totals = self._bucket(code, block, totals)
        reduced: dict[Operation, SSAValue] = {}
        for fold, total in zip(work.folds, totals, strict=True):
            combined = self._leave(code, fold, total, block)
            reduced[fold.op] = fold.result(code, combined, self.count)
        if work.segmented is not None:
            self._segments(code, work.segmented)
        elif work.results:
            is_first = code.equal(self.kernel.thread(), code.number(0))
            code.when(
                code.both(work.is_small(code), is_first),
                lambda code: self.top.at(code, {}, reduced=reduced).store_all(work.results),
            )
        return Launch(self.kernel, "reduces buckets", work.blocks)

    def _bucket(self, code: Code, number: SSAValue, totals: Values) -> Values:
        """Compute the elements of a bucket, and add them to what the thread has."""
        start, stop = self._bounds(code, number)
        if self.aligned is None:
            return self._one_by_one(code, start, stop, totals)
        full = code.at_most(code.add(start, code.number(BUCKET)), self.count)
        return code.branch(
            code.both(full, self.aligned),
            lambda code: self._vectors(code, start, totals),
            lambda code: self._one_by_one(code, start, stop, totals),
        )

    def _bounds(self, code: Code, number: SSAValue) -> tuple[SSAValue, SSAValue]:
        """The elements of a bucket."""
        start = code.mul(number, code.number(BUCKET))
        return start, code.smaller(code.add(start, code.number(BUCKET)), self.count)

    def _vectors(self, code: Code, start: SSAValue, totals: Values) -> Values:
        """A bucket of whole vectors."""
        count = BUCKET // (BUCKET_THREADS * self.width)
        offsets = [self._own(code, number) for number in range(count)]
        vectors = self.work.space.vectors(self.top, code, start, offsets, self.width, self.nodes)
        computed: list[list[SSAValue]] = []
        for here, local in zip(vectors, offsets, strict=True):
            computed.append([here.vector(store.node) for store in self.work.whole])
            totals = self._take(here, totals, local)
        for here, values in zip(vectors, computed, strict=True):
            for store, value in zip(self.work.whole, values, strict=True):
                here.store(store, value)
        return totals

    def _own(self, code: Code, number: int) -> SSAValue:
        """Where in the bucket a vector of the thread begins."""
        vector = code.add(self.kernel.thread(), code.number(number * BUCKET_THREADS))
        return code.mul(vector, code.number(self.width))

    def _one_by_one(self, code: Code, start: SSAValue, stop: SSAValue, totals: Values) -> Values:
        """The elements of the same vectors, as many as there are."""
        for fold in self.work.segmented.folds if self.work.segmented else ():
            for number, lane in self._lanes():
                place = code.add(self._own(code, number), code.number(lane))
                code.do(StoreOp.get(fold.start(code), self._kept(fold), [place]))

        def element(code: Code, at: SSAValue, totals: Values) -> Values:
            here = self.top.at(code, self.work.space.place(code, at))
            values = [here.value(store.node) for store in self.work.whole]
            totals = self._take(here, totals, code.sub(at, start))
            for store, value in zip(self.work.whole, values, strict=True):
                here.store(store, value)
            return totals

        def vector(code: Code, at: SSAValue, totals: Values) -> Values:
            end = code.smaller(code.add(at, code.number(self.width)), stop)
            return code.loop(at, end, code.number(1), totals, element)

        first = code.add(start, self._own(code, 0))
        step = code.number(BUCKET_THREADS * self.width)
        return code.loop(first, stop, step, totals, vector)

    def _lanes(self) -> list[tuple[int, int]]:
        """The elements that a thread takes: vectors, and lanes of each."""
        vectors = range(BUCKET // (BUCKET_THREADS * self.width))
        return [(number, lane) for number in vectors for lane in range(self.width)]

    def _take(self, here: Evaluator, totals: Values, local: SSAValue) -> Values:
        """Add what is at a place; what segments reduce is kept for later."""
        code = here.code
        totals = [
            fold.take(code, total, here.vector(fold.node))
            for fold, total in zip(self.work.folds, totals, strict=True)
        ]
        for fold in self.work.segmented.folds if self.work.segmented else ():
            for lane, value in enumerate(fold.elements(code, here.vector(fold.node))):
                place = code.add(local, code.number(lane)) if lane else local
                code.do(StoreOp.get(value, self._kept(fold), [place]))
        return totals

    def _kept(self, fold: Fold) -> SSAValue:
        """What each thread keeps of its elements; no other one reads it."""
        return self.kernel.shared(fold.accumulate, BUCKET, f"{self.work.every.index(fold)}")

    def _leave(self, code: Code, fold: Fold, total: SSAValue, slot: SSAValue) -> SSAValue:
        """Combine what the threads have, for the next launch too."""
        of_warp = fold.over_warp(code, total)
        combined = fold.over_warps(self.kernel, code, of_warp, BUCKET_THREADS)
        partial = self.kernel.buffer(self.partial[fold.op])
        self.kernel.stored.add(self.partial[fold.op])
        is_first = code.equal(self.kernel.thread(), code.number(0))
        code.when(is_first, lambda code: code.do(StoreOp.get(combined, partial, [slot])))
        return combined

    def _segments(self, code: Code, work: Segmented) -> None:
        """Combine the parts of the bucket that lie in each segment. Bucket b's part of segment t is slot b + t."""
        offsets = Offsets(self.kernel.buffer(work.offsets), code.size(work.axis.extent))
        origin = self.top.index(work.start)
        start, stop = self._bounds(code, self.kernel.block_number())
        first = offsets.first_behind(code, code.add(origin, start))
        stop = code.add(origin, stop)
        before, after = code.inner(), code.inner()
        at = before.block.insert_arg(INDEX, 0)
        before.do(ConditionOp(offsets.starts_below(before, at, stop), at))
        at = after.block.insert_arg(INDEX, 0)
        low = after.sub(offsets.bound(after, at), origin)
        high = after.sub(offsets.end(after, at), origin)
        slot = after.add(self.kernel.block_number(), at)
        for fold in work.folds:
            total = self._within(after, fold, start, (low, high))
            self._leave(after, fold, total, slot)
        after.do(YieldOp(after.add(at, after.number(1))))
        code.do(WhileOp([first], [INDEX], Region(before.block), Region(after.block)))

    def _within(
        self, code: Code, fold: Fold, start: SSAValue, bounds: tuple[SSAValue, SSAValue]
    ) -> SSAValue:
        """What a thread has of the elements of a bucket that lie within bounds."""
        low, high = bounds
        total = nothing = fold.start(code)
        for number, lane in self._lanes():
            local = code.add(self._own(code, number), code.number(lane))
            place = code.add(start, local)
            inside = code.both(below(code, place, high), code.at_least(place, low))
            value = code.put(LoadOp.get(self._kept(fold), [local]))
            total = fold.combine(code, total, code.choose(inside, value, nothing))
        return total


def _finish_all(
    trace: Trace, name: str, work: Bucketed, partial: dict[Operation, Scratch]
) -> Launch:
    """The kernel that combines all buckets, in one block."""
    kernel = Kernel(trace, name, FINISH_THREADS)
    code, reduced = kernel.code, dict[Operation, SSAValue]()
    count, blocks = code.size(work.space.count), work.blocks(code)
    for fold in work.folds:
        memory = kernel.buffer(partial[fold.op])
        total = _strided(code, fold, memory, kernel.thread(), blocks, FINISH_THREADS)
        of_warp = fold.over_warp(code, total)
        combined = fold.over_warps(kernel, code, of_warp, FINISH_THREADS)
        reduced[fold.op] = fold.result(code, combined, count)
    top = Evaluator(kernel)
    is_first = code.equal(kernel.thread(), code.number(0))
    code.when(is_first, lambda code: top.at(code, {}, reduced=reduced).store_all(work.results))
    return Launch(kernel, "reduces what buckets gave", work.finishing)


def _finish_segments(
    trace: Trace,
    name: str,
    work: Bucketed,
    segmented: Segmented,
    partial: dict[Operation, Scratch],
) -> Launch:
    """The kernel that combines the buckets of each segment, a block a segment."""
    kernel = Kernel(trace, name, SEGMENT_THREADS)
    code, reduced, top = kernel.code, dict[Operation, SSAValue](), Evaluator(kernel)
    segment, segments = kernel.block_number(), code.size(segmented.axis.extent)
    offsets = Offsets(kernel.buffer(segmented.offsets), segments)
    is_there = code.less(segment, segments)
    zero, count, origin = (
        code.number(0),
        code.size(work.space.count),
        top.index(segmented.start),
    )

    def within(code: Code, bound: SSAValue) -> SSAValue:
        """A bound as a place among the elements of the block."""
        local = code.put(MaxSIOp(code.sub(bound, origin), zero))
        return code.put(MinSIOp(local, count))

    def slots(code: Code) -> Values:
        low = within(code, offsets.bound(code, segment))
        high = within(code, offsets.end(code, segment))
        first = code.quotient(low, Size.of(BUCKET))
        last = code.quotient(code.add(high, code.number(BUCKET - 1)), Size.of(BUCKET))
        some = code.less(low, high)
        end = code.choose(some, last, first)
        return code.add(first, segment), code.add(end, segment)

    first, last = code.branch(is_there, slots, lambda code: (zero, zero))
    begin = code.add(first, kernel.thread())
    for fold in segmented.folds:
        memory = kernel.buffer(partial[fold.op])
        total = _strided(code, fold, memory, begin, last, SEGMENT_THREADS)
        of_warp = fold.over_warp(code, total)
        combined = fold.over_warps(kernel, code, of_warp, SEGMENT_THREADS)
        reduced[fold.op] = fold.result(code, combined, code.sub(last, first))
    is_first = code.both(is_there, code.equal(kernel.thread(), zero))
    place = {segmented.axis: segment}
    code.when(
        is_first, lambda code: top.at(code, place, reduced=reduced).store_all(segmented.stores)
    )
    return Launch(
        kernel,
        "reduces what buckets gave to segments",
        lambda host: host.larger(host.size(segmented.axis.extent), host.number(1)),
    )


def _strided(
    code: Code, fold: Fold, memory: SSAValue, first: SSAValue, stop: SSAValue, step: int
) -> SSAValue:
    """Every `step`-th value from `first` on, combined in order; several are loaded at once while there are."""
    many = step * FINISH_UNROLLED

    def several(code: Code, at: SSAValue, total: Values) -> Values:
        places = [code.add(at, code.number(i * step)) for i in range(FINISH_UNROLLED)]
        values = [code.put(LoadOp.get(memory, [place])) for place in places]
        result = total[0]
        for value in values:
            result = fold.combine(code, result, value)
        return [result]

    def one(code: Code, at: SSAValue, total: Values) -> Values:
        return [fold.combine(code, total[0], code.put(LoadOp.get(memory, [at])))]

    here = code.choose(code.less(first, stop), code.sub(stop, first), code.number(0))
    last = code.number(step * (FINISH_UNROLLED - 1))
    short = code.choose(code.less(last, here), code.sub(here, last), code.number(0))
    rounds = code.quotient(code.add(short, code.number(many - 1)), Size.of(many))
    middle = code.add(first, code.mul(rounds, code.number(many)))
    total = code.loop(first, middle, code.number(many), [fold.start(code)], several)
    return code.loop(middle, stop, code.number(step), total, one)[0]
