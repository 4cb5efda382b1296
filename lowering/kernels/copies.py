"""Transpositions: elementwise kernels that read along one axis and store along another.

A block moves a square tile: it reads rows of what lies along the other axis into shared memory, and computes and
stores the columns, so that both are moved in whole lines.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import partial

from xdsl.dialects import gpu
from xdsl.dialects.memref import LoadOp, StoreOp
from xdsl.ir import SSAValue

from coconet_ir.lowering.kernels.code import Code
from coconet_ir.lowering.kernels.emit import Evaluator, in_line
from coconet_ir.lowering.kernels.geometry import TILE, TILE_ROWS
from coconet_ir.lowering.kernels.indices import Axis, Size, product
from coconet_ir.lowering.kernels.kernel import Kernel, element_type
from coconet_ir.lowering.kernels.launch import Launch
from coconet_ir.lowering.kernels.nodes import Load, Store, loads
from coconet_ir.lowering.kernels.space import Space
from coconet_ir.lowering.kernels.trace import Trace

Group = tuple[Axis, ...]


@dataclass(frozen=True)
class Transposed:
    """Loads along another axis than the stores: that axis, with those that it is one loop with, and the loads."""

    across: Group
    loads: tuple[Load, ...]


def transposed(space: Space, stores: Sequence[Store]) -> Transposed | None:
    """What an elementwise kernel reads across, None if nothing, or more than one tile can hold."""
    inner = space.inner
    if not all(in_line(store.address, inner) for store in stores):
        return None
    found: dict[Load, Group] = {}
    for load in loads(*(store.node for store in stores)):
        if inner in load.address.axes and not in_line(load.address, inner):
            for group in space.groups[:-1]:
                if in_line(load.address, group[-1]) and _is_wide(group):
                    found[load] = group
    if not found or len(set(found.values())) > 1 or not _is_wide(space.groups[-1]):
        return None
    return Transposed(next(iter(found.values())), tuple(found))


def _is_wide(group: Group) -> bool:
    """Whether an axis fills a tile, as far as one can know."""
    count = product(axis.extent for axis in group).value
    return count is None or count >= TILE


class _Tiles:
    """The kernel: blocks of `TILE` by `TILE_ROWS` threads, a tile each."""

    def __init__(
        self, trace: Trace, name: str, space: Space, stores: Sequence[Store], work: Transposed
    ):
        self.space, self.stores, self.work = space, stores, work
        self.along = space.groups[-1]
        self.others = [g for g in space.groups if g not in (self.along, work.across)]
        self.kernel = Kernel(trace, name, TILE * TILE_ROWS)
        code = self.kernel.code
        self.top = Evaluator(self.kernel)
        self.column, self.row = self.kernel.thread("x"), self.kernel.thread("y")
        self.place: dict[Axis, SSAValue | None] = dict.fromkeys(space.axes)
        number = self.kernel.block_number()
        number, self.first_along = self._tile(code, number, self.along)
        number, self.first_across = self._tile(code, number, work.across)
        self.is_there = code.less(number, code.size(self._count_others()))
        for group in reversed(self.others):
            extent = product(axis.extent for axis in group)
            self.place[group[-1]] = code.remainder(number, extent)
            number = code.quotient(number, extent)
        self.memories = [
            self.kernel.shared(element_type(load.buffer), TILE * (TILE + 1), str(i))
            for i, load in enumerate(work.loads)
        ]

    def _tile(self, code: Code, number: SSAValue, group: Group) -> tuple[SSAValue, SSAValue]:
        """The number without the tile of a group, and where that tile begins."""
        count = tiles(code, group)
        rest = code.divided(number, count)
        tile = code.sub(number, code.mul(rest, count))
        return rest, code.mul(tile, code.number(TILE))

    def launch(self) -> Launch:
        """Write the kernel; a thread loads all of its elements before it uses one."""
        code = self.kernel.code
        read = [self._cell(code, row, self.column) for row in self._rows(code)]
        for here, inside, _ in read:
            here.fetch(*self.work.loads, where=inside)
        for here, _, cell in read:
            for load, memory in zip(self.work.loads, self.memories, strict=True):
                code.do(StoreOp.get(here.value(load), memory, [cell]))
        code.do(gpu.BarrierOp())
        written = [self._cell(code, self.column, row) for row in self._rows(code)]
        for here, inside, cell in written:
            for load, memory in zip(self.work.loads, self.memories, strict=True):
                here.know(load, code.put(LoadOp.get(memory, [cell])))
            here.fetch(*(store.node for store in self.stores), where=inside)
        for here, inside, _ in written:
            code.when(inside, partial(self._write, here))
        return Launch(
            self.kernel,
            "transposes",
            self._grid,
            lambda host: (host.number(TILE), host.number(TILE_ROWS)),
        )

    def _rows(self, code: Code) -> Iterator[SSAValue]:
        for row in range(0, TILE, TILE_ROWS):
            yield code.add(self.row, code.number(row)) if row else self.row

    def _cell(
        self, code: Code, along: SSAValue, across: SSAValue
    ) -> tuple[Evaluator, SSAValue, SSAValue]:
        """An element of the tile: what computes it, whether there is one, and its place in the tile."""
        at_along, at_across = code.add(self.first_along, along), code.add(self.first_across, across)
        in_tile = code.both(
            code.less(at_along, code.size(product(axis.extent for axis in self.along))),
            code.less(at_across, code.size(product(axis.extent for axis in self.work.across))),
        )
        place = {**self.place, self.along[-1]: at_along, self.work.across[-1]: at_across}
        cell = code.add(code.mul(along, code.number(TILE + 1)), across)
        return self.top.at(code, place), code.both(self.is_there, in_tile), cell

    def _write(self, here: Evaluator, code: Code) -> None:
        here.guarded(code).store_all(self.stores)

    def _count_others(self) -> Size:
        return product(axis.extent for group in self.others for axis in group)

    def _grid(self, host: Code) -> SSAValue:
        others = host.size(self._count_others())
        count = host.mul(host.mul(tiles(host, self.along), tiles(host, self.work.across)), others)
        return host.larger(count, host.number(1))


def tiles(code: Code, group: Group) -> SSAValue:
    """How many tiles cover an axis."""
    return code.blocks(code.size(product(axis.extent for axis in group)), TILE)


def transpose(
    trace: Trace, name: str, space: Space, stores: Sequence[Store], work: Transposed
) -> Launch:
    """The kernel that computes what is stored for each element of a space, tile by tile."""
    return _Tiles(trace, name, space, stores, work).launch()
