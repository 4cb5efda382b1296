"""A driver whose device is this process: its memory is the host's, and its kernels run in NumPy, at once.

It stands in for `cuda.bindings.driver` and `cuda.core`, as far as the runtime uses them, and refuses what a driver
refuses: memory that was not allocated, launches of no blocks, changes to nodes of other graphs.
"""

from __future__ import annotations

import ctypes
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from enum import IntEnum
from typing import Any, cast

import numpy as np
from xdsl.dialects import gpu
from xdsl.dialects.builtin import MemRefType
from xdsl.ir import Attribute

from coconet_ir.sim.elements import ELEMENTS
from coconet_ir.sim.kernels import Numbers


class CUresult(IntEnum):
    """Errors."""

    CUDA_SUCCESS = 0
    CUDA_ERROR_INVALID_VALUE = 1
    CUDA_ERROR_NO_DEVICE = 100


class Handle(int):
    """A stream, or a kernel."""


@dataclass
class Parameters:
    """Those of a kernel's node."""

    func: Any = None
    gridDimX: int = 0
    gridDimY: int = 0
    gridDimZ: int = 0
    blockDimX: int = 0
    blockDimY: int = 0
    blockDimZ: int = 0
    kernelParams: int = 0


@dataclass(eq=False)
class Node:
    """A node of a graph: what it does, and which nodes it is behind."""

    do: Callable[[], None]
    before: Sequence[Node]
    is_kernel: bool


@dataclass(eq=False)
class Graph:
    """The nodes of a graph, in the order in which they were added."""

    nodes: list[Node] = field(default_factory=list[Node])
    is_alive: bool = True


@dataclass(eq=False)
class Kernel:
    """A function of a module, and how many bytes each of its arguments has."""

    name: str


class Modes:
    """How a capture treats other calls."""

    CU_STREAM_CAPTURE_MODE_RELAXED = 2


class Pointers:
    """What can be asked about an address."""

    CU_POINTER_ATTRIBUTE_DEVICE_ORDINAL = 9


class Options:
    """Options of the compiler."""

    CU_JIT_ERROR_LOG_BUFFER = 5
    CU_JIT_ERROR_LOG_BUFFER_SIZE_BYTES = 6


class Driver:
    """What `cuda.bindings.driver` offers."""

    CUresult = CUresult
    CUstreamCaptureMode = Modes
    CUjit_option = Options
    CUpointer_attribute = Pointers
    CUstream = Handle
    CUDA_KERNEL_NODE_PARAMS = Parameters

    def __init__(self, machine: Any, code: CUresult = CUresult.CUDA_SUCCESS):
        self.machine, self.code = machine, code
        self.module: Any = None
        self.kernels: Mapping[str, gpu.FuncOp] = {}
        self.memory: dict[int, Any] = {}
        """Allocations by their address."""
        self.log: list[tuple[Any, ...]] = []
        """What was told to streams, and to graphs."""
        self._captured: dict[int, Graph] = {}
        self._streams = 1000

    def cuInit(self, flags: int) -> tuple[Any, ...]:
        return (self.code,)

    def cuDeviceGetCount(self) -> tuple[Any, ...]:
        return CUresult.CUDA_SUCCESS, 1

    def cuGetErrorString(self, code: CUresult) -> tuple[Any, ...]:
        return CUresult.CUDA_SUCCESS, b"what it means"

    # Modules

    def cuModuleLoadDataEx(
        self, image: bytes, count: int, options: Sequence[int], values: Sequence[Any]
    ) -> tuple[Any, ...]:
        assert image.endswith(b"\0")
        assert len(options) == len(values) == count
        if b".entry" not in image:
            values[0][:9] = b"no kernel"
            return CUresult.CUDA_ERROR_INVALID_VALUE, None
        return CUresult.CUDA_SUCCESS, image

    def cuModuleGetFunction(self, module: bytes, name: bytes) -> tuple[Any, ...]:
        if b".entry %s(" % name not in module:
            return CUresult.CUDA_ERROR_INVALID_VALUE, None
        return CUresult.CUDA_SUCCESS, Kernel(name.decode())

    def cuModuleUnload(self, module: bytes) -> tuple[Any, ...]:
        self.log.append(("unload",))
        return (CUresult.CUDA_SUCCESS,)

    def cuCtxSynchronize(self) -> tuple[Any, ...]:
        self.log.append(("idle",))
        return (CUresult.CUDA_SUCCESS,)

    # Streams

    def cuStreamCreate(self, flags: int) -> tuple[Any, ...]:
        self._streams += 1
        return CUresult.CUDA_SUCCESS, Handle(self._streams)

    def cuStreamDestroy(self, stream: Handle) -> tuple[Any, ...]:
        return (CUresult.CUDA_SUCCESS,)

    def cuStreamSynchronize(self, stream: Handle) -> tuple[Any, ...]:
        self.log.append(("wait", int(stream)))
        return (CUresult.CUDA_SUCCESS,)

    def cuEventCreate(self, flags: int) -> tuple[Any, ...]:
        return CUresult.CUDA_SUCCESS, {}

    def cuEventRecord(self, event: dict[str, int], stream: Handle) -> tuple[Any, ...]:
        event["stream"] = int(stream)
        return (CUresult.CUDA_SUCCESS,)

    def cuStreamWaitEvent(
        self, stream: Handle, event: dict[str, int], flags: int
    ) -> tuple[Any, ...]:
        self.log.append(("order", event["stream"], int(stream)))
        return (CUresult.CUDA_SUCCESS,)

    def cuEventDestroy(self, event: dict[str, int]) -> tuple[Any, ...]:
        return (CUresult.CUDA_SUCCESS,)

    def _tell(self, stream: Handle, word: str, do: Callable[[], None]) -> tuple[Any, ...]:
        """Do something at once, or note it in the graph that a stream is recorded into."""
        assert isinstance(stream, Handle)
        if (graph := self._captured.get(stream)) is not None:
            graph.nodes.append(Node(do, graph.nodes[-1:], False))
        else:
            self.log.append((word, int(stream)))
            do()
        return (CUresult.CUDA_SUCCESS,)

    def cuStreamBeginCapture(self, stream: Handle, mode: int) -> tuple[Any, ...]:
        self._captured[stream] = Graph()
        return (CUresult.CUDA_SUCCESS,)

    def cuStreamEndCapture(self, stream: Handle) -> tuple[Any, ...]:
        return CUresult.CUDA_SUCCESS, self._captured.pop(stream)

    # Memory

    def cuMemsetD8Async(
        self, address: int, byte: int, count: int, stream: Handle
    ) -> tuple[Any, ...]:
        return self._tell(stream, "fill", lambda: _void(ctypes.memset(address, byte, count)))

    def cuMemcpyDtoDAsync(
        self, target: int, source: int, count: int, stream: Handle
    ) -> tuple[Any, ...]:
        return self._tell(stream, "copy", lambda: _void(ctypes.memmove(target, source, count)))

    def cuMemcpyHtoDAsync(
        self, target: int, source: int, count: int, stream: Handle
    ) -> tuple[Any, ...]:
        return self._tell(stream, "upload", lambda: _void(ctypes.memmove(target, source, count)))

    def cuMemcpyDtoHAsync(
        self, target: int, source: int, count: int, stream: Handle
    ) -> tuple[Any, ...]:
        return self._tell(stream, "download", lambda: _void(ctypes.memmove(target, source, count)))

    def cuPointerGetAttribute(self, attribute: int, address: int) -> tuple[Any, ...]:
        assert self._rest(address)
        return CUresult.CUDA_SUCCESS, 0

    # Kernels

    def cuLaunchKernel(self, kernel: Kernel, *rest: Any) -> tuple[Any, ...]:
        *sizes, shared, stream, pointer, extra = rest
        assert (shared, extra) == (0, 0)
        x, y, z, bx, by, bz = sizes
        if 0 in sizes:
            return (CUresult.CUDA_ERROR_INVALID_VALUE,)
        assert (y, z, bz) == (1, 1, 1)
        values = self._values(kernel, pointer)
        run = lambda: self._run(kernel, x, (bx, by), values)  # noqa: E731
        return self._tell(stream, f"launch {kernel.name}", run)

    def _values(self, kernel: Kernel, pointer: int) -> list[Any]:
        """The arguments that an array of addresses leads to."""
        found: list[Any] = []
        for index, arg in enumerate(self.kernels[kernel.name].body.block.args):
            address = ctypes.c_uint64.from_address(pointer + 8 * index).value
            if isinstance(arg.type, MemRefType):
                found.append(ctypes.c_uint64.from_address(address).value)
            else:
                dtype = Numbers().dtype(arg.type)
                found.append(np.frombuffer(ctypes.string_at(address, dtype.itemsize), dtype)[0])
        return found

    def _run(self, kernel: Kernel, grid: int, block: tuple[int, int], values: list[Any]) -> None:
        func = self.kernels[kernel.name]
        arguments: list[Any] = []
        for arg, value in zip(func.body.block.args, values, strict=True):
            if arg.type.__class__ is not MemRefType:
                arguments.append(value)
                continue
            type = cast(MemRefType[Attribute], arg.type)
            dtype = ELEMENTS[str(type.element_type)]
            count = self._rest(value) // dtype.itemsize
            data: Any = (ctypes.c_uint8 * (count * dtype.itemsize)).from_address(value or 1 << 12)
            arguments.append(self.machine.Memory(np.frombuffer(data, dtype, count), value))
        self.machine.run_grid(self.module, func, arguments, grid, block)

    def _rest(self, address: int) -> int:
        """How many bytes there are from an address on, in what was allocated or given."""
        for start, memory in self.memory.items():
            if start <= address < start + len(memory):
                return start + len(memory) - address
        return 0

    # Graphs

    def cuGraphCreate(self, flags: int) -> tuple[Any, ...]:
        return CUresult.CUDA_SUCCESS, Graph()

    def cuGraphAddKernelNode(
        self, graph: Graph, before: Sequence[Node], count: int, parameters: Parameters
    ) -> tuple[Any, ...]:
        assert len(before) == count
        assert all(node in graph.nodes for node in before)
        node = Node(self._node_of(parameters), list(before), True)
        graph.nodes.append(node)
        return CUresult.CUDA_SUCCESS, node

    def _node_of(self, p: Parameters) -> Callable[[], None]:
        """What a node does: parameters are copied when they are set."""
        assert p.gridDimX > 0
        assert (p.gridDimY, p.gridDimZ, p.blockDimZ) == (1, 1, 1)
        values, grid, block = (
            self._values(p.func, p.kernelParams),
            p.gridDimX,
            (p.blockDimX, p.blockDimY),
        )
        kernel = p.func
        return lambda: self._run(kernel, grid, block, values)

    def cuGraphAddChildGraphNode(
        self, graph: Graph, before: Sequence[Node], count: int, inner: Graph
    ) -> tuple[Any, ...]:
        assert len(before) == count
        steps = [node.do for node in inner.nodes]
        node = Node(lambda: _all(steps), list(before), False)
        graph.nodes.append(node)
        return CUresult.CUDA_SUCCESS, node

    def cuGraphInstantiate(self, graph: Graph, flags: int) -> tuple[Any, ...]:
        return CUresult.CUDA_SUCCESS, graph

    def cuGraphUpload(self, graph: Graph, stream: Handle) -> tuple[Any, ...]:
        return (CUresult.CUDA_SUCCESS,)

    def cuGraphExecKernelNodeSetParams(
        self, graph: Graph, node: Node, parameters: Parameters
    ) -> tuple[Any, ...]:
        if node not in graph.nodes or not node.is_kernel:
            return (CUresult.CUDA_ERROR_INVALID_VALUE,)
        self.log.append(("update", parameters.func.name))
        node.do = self._node_of(parameters)
        return (CUresult.CUDA_SUCCESS,)

    def cuGraphLaunch(self, graph: Graph, stream: Handle) -> tuple[Any, ...]:
        """Run the nodes, the last added of those that may run first."""
        assert graph.is_alive
        self.log.append(("replay", int(stream)))
        done: list[Node] = []
        while len(done) < len(graph.nodes):
            ready = [n for n in graph.nodes if n not in done and all(b in done for b in n.before)]
            ready[-1].do()
            done.append(ready[-1])
        return (CUresult.CUDA_SUCCESS,)

    def cuGraphExecDestroy(self, graph: Graph) -> tuple[Any, ...]:
        self.log.append(("destroy",))
        return (CUresult.CUDA_SUCCESS,)

    def cuGraphDestroy(self, graph: Graph) -> tuple[Any, ...]:
        return (CUresult.CUDA_SUCCESS,)


def _void(outcome: object) -> None:
    """Nothing."""


def _all(steps: Sequence[Callable[[], None]]) -> None:
    for step in steps:
        step()


class Memory:
    """What `cuda.core` calls a buffer."""

    def __init__(self, driver: Driver, count: int):
        self._data = np.full(count + 256, 0xDB, np.uint8)
        self.handle = self._data.ctypes.data + -self._data.ctypes.data % 256
        self._driver = driver
        driver.memory[self.handle] = range(count)

    def __del__(self) -> None:
        del self._driver.memory[self.handle]


class Core:
    """What `cuda.core` offers."""

    LEGACY_DEFAULT_STREAM = Handle(0)
    PER_THREAD_DEFAULT_STREAM = Handle(2)

    def __init__(self, driver: Driver, capability: tuple[int, int] = (9, 0)):
        self._driver, self.compute_capability = driver, capability
        self.allocated: list[int] = []
        """The streams in whose order memory was allocated."""

    class Stream:
        """Streams of others."""

        @staticmethod
        def from_handle(handle: int) -> Handle:
            return Handle(handle)

    def Device(self, number: int) -> Core:
        """The only device."""
        return self

    def set_current(self) -> None:
        """Nothing to do."""

    def allocate(self, count: int, *, stream: Handle) -> Memory:
        """Memory."""
        assert count > 0
        self.allocated.append(int(stream))
        return Memory(self._driver, count)
