"""Elementwise kernels: any operations on one space of elements, in one pass over memory.

A block moves whole vectors of 16 bytes where every buffer is aligned and the elements left suffice, which it checks
once; otherwise it goes element by element. Every thread loads all that it needs before it stores.
"""

from __future__ import annotations

from collections.abc import Sequence

from xdsl.ir import SSAValue

from coconet_ir.lowering.kernels import geometry
from coconet_ir.lowering.kernels.code import Code
from coconet_ir.lowering.kernels.emit import Evaluator
from coconet_ir.lowering.kernels.kernel import Kernel
from coconet_ir.lowering.kernels.launch import Launch
from coconet_ir.lowering.kernels.nodes import Store
from coconet_ir.lowering.kernels.space import Accesses, Space
from coconet_ir.lowering.kernels.trace import Trace


def pointwise(trace: Trace, name: str, space: Space, stores: Sequence[Store]) -> Launch:
    """The kernel that computes what is stored for each element of a space."""
    nodes = [store.node for store in stores]
    accesses = Accesses(space.inner, [space], nodes, stores)
    width, threads = accesses.width(), geometry.POINTWISE_THREADS
    vectors = 1 if accesses.loaded() >= geometry.POINTWISE_LOADED else geometry.POINTWISE_VECTORS
    share = threads * vectors * width
    kernel = Kernel(trace, name, threads)
    body = _Body(kernel, space, stores, width, vectors)
    code, count = kernel.code, kernel.code.size(space.count)
    start = code.mul(kernel.block_number(), code.number(share))
    stop = code.add(start, code.number(share))
    whole = code.at_most(stop, count)
    rows = [space.extent()] if len(space.groups) > 1 else []
    aligned = accesses.aligned(kernel, width, *rows) if width > 1 else None
    if aligned is None:
        body.one_by_one(code, start, code.smaller(stop, count))
    else:
        code.branch(
            code.all(whole, aligned, space.is_short(code)),
            lambda code: body.vectors(code, start),
            lambda code: body.one_by_one(code, start, code.smaller(stop, count)),
        )
    return Launch(
        kernel, "computes elements", lambda host: host.blocks(host.size(space.count), share)
    )


class _Body:
    """What a thread does."""

    def __init__(
        self, kernel: Kernel, space: Space, stores: Sequence[Store], width: int, vectors: int
    ):
        self.kernel, self.space, self.stores = kernel, space, stores
        self.width, self.count = width, vectors
        self.top = Evaluator(kernel)

    def vectors(self, code: Code, start: SSAValue) -> Sequence[SSAValue]:
        """Compute the thread's vectors of a block that starts at an element, then store them."""
        offsets: list[SSAValue] = []
        for vector in range(self.count):
            thread = code.add(self.kernel.thread(), code.number(vector * self.kernel.threads))
            offsets.append(code.mul(thread, code.number(self.width)))
        nodes = [store.node for store in self.stores]
        vectors = self.space.vectors(self.top, code, start, offsets, self.width, nodes)
        computed = [[here.vector(node) for node in nodes] for here in vectors]
        for here, values in zip(vectors, computed, strict=True):
            for store, value in zip(self.stores, values, strict=True):
                here.store(store, value)
        return ()

    def one_by_one(self, code: Code, start: SSAValue, stop: SSAValue) -> Sequence[SSAValue]:
        """Go over the elements of a block, neighbours by neighbouring threads."""

        def element(code: Code, number: SSAValue) -> None:
            here = self.top.at(code, self.space.place(code, number))
            here.know_index(self.space.number, number)
            here.store_all(self.stores)

        first = code.add(start, self.kernel.thread())
        code.each(first, stop, code.number(self.kernel.threads), element)
        return ()
