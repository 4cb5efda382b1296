"""A compiled function on a device: calls, calls prepared once, and graphs of these.

    executable = program.compile("sm_90a").load()
    result, = executable(x=x, lr=1e-3)             # arrays of any library that knows DLPack, in place
    call = executable.prepare(x=x, lr=1e-3)        # the same, bound once
    graph = call.capture()
    graph.replay(lr=5e-4)

Nothing waits: work is told to a stream, by default the device's default stream. NumPy's arrays are copied, which
waits, and what the function stores into them is copied back.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any, cast

import numpy as np

from coconet_ir.diagnostics import IRError
from coconet_ir.dialects.calls import MatmulIntoOp
from coconet_ir.runtime import dlpack
from coconet_ir.runtime.arguments import Given, check_apart, take
from coconet_ir.runtime.compile import Compiled
from coconet_ir.runtime.cuda import Device, Stream, address_of, handle_of
from coconet_ir.runtime.matmul import Product, Products
from coconet_ir.runtime.packing import Packed
from coconet_ir.runtime.plan import Bound
from coconet_ir.runtime.steps import ARENA, Buffer, Clear, Copy, Launch, Matmul
from coconet_ir.sim.binding import Input
from coconet_ir.sim.elements import Array, DType, element_name
from coconet_ir.sim.mesh import Shape

if TYPE_CHECKING:
    from coconet_ir.runtime.graph import Graph

POISON = 0xA5
"""What memory is filled with that nobody has written: no number that a test expects."""


class Order:
    """The stream that was last told to do something with a call's arrays."""

    def __init__(self, handle: int):
        self.handle = handle


class DeviceArray:
    """An array on a device, to be taken by any library that knows DLPack (`torch.from_dlpack(array)`)."""

    def __init__(self, device: Device, address: int, buffer: Buffer, owner: object, order: Order):
        self.shape: Shape = buffer.shape
        self.dtype: DType = buffer.dtype
        self.address = address
        self._device, self._owner, self._order = device, owner, order

    def __repr__(self) -> str:
        shape = "x".join(map(str, self.shape)) or "scalar"
        return f"<{element_name(self.dtype)} {shape} on device {self._device.number}>"

    def numpy(self) -> Array:
        """A copy for the host, once the device has it."""
        found = np.empty(self.shape, self.dtype)
        self._device.activate()
        self._device.download(found, self.address, self._order.handle)
        return found

    def __dlpack_device__(self) -> tuple[int, int]:
        return dlpack.CUDA, self._device.number

    def __dlpack__(
        self,
        *,
        stream: int | None = None,
        max_version: tuple[int, int] | None = None,
        dl_device: tuple[int, int] | None = None,
        copy: bool | None = None,
    ) -> object:
        if copy or dl_device not in (None, self.__dlpack_device__()):
            raise BufferError("it is given away where it is, without a copy: see numpy()")
        if stream != -1:
            self._device.activate()
            self._device.order(self._order.handle, handle_of(stream))
        array = dlpack.Array(
            self.address, self.shape, self.dtype, self.__dlpack_device__(), self._owner
        )
        return dlpack.give(array, versioned=max_version is not None and max_version >= (1, 0))


class Executable:
    """A compiled function on one device."""

    def __init__(self, compiled: Compiled, device: int = 0):
        """Raises `Unavailable` without the device, and `IRError` if the kernels are for another kind."""
        self.device = Device(device)
        self.plan = compiled.plan
        if compiled.target != self.device.target:
            raise IRError(
                f"the kernels are for {compiled.target}, but device {device} takes those for {self.device.target}: "
                f'compile("{self.device.target}")'
            )
        self._module: Any = None
        self._functions: dict[str, Any] = {}
        if compiled.ptx:
            self._module = self.device.load(compiled.ptx)
            self.device.unload_with(self, self._module)
        has_products = any(isinstance(op, MatmulIntoOp) for op in self.plan.host.walk())
        self.products = Products() if has_products else None
        self._bound: tuple[object, Bound] | None = None

    def __call__(
        self, stream: Stream = None, /, **arguments: Any
    ) -> tuple[DeviceArray | np.generic, ...]:
        """Run the function on a stream, which stands before the arguments; its results, ready when the stream is.

        Tensors are arrays on the device, used where they are, or arrays of NumPy, copied there and back; each as this
        rank has it, or as `Program.run` takes it, with a dimension of 1 in front for each axis on which it is local.
        Scalars are numbers. Raises `IRError` for arguments that do not fit.
        """
        handle = handle_of(stream)
        call = self._call(arguments, handle)
        call.launch(handle)
        call.write_back()
        return call.results

    def prepare(self, stream: Stream = None, /, **arguments: Any) -> Call:
        """Bind arguments, as of a call, once for any number of launches. Raises `IRError` for ones that do not fit.

        What is copied is copied now, on a stream, and is there when this returns.
        """
        handle = handle_of(stream)
        call = self._call(arguments, handle)
        self.device.idle_with(call, call.memory)
        self.device.wait(handle)
        return call

    def function(self, kernel: str) -> Any:
        """A kernel by its name."""
        if kernel not in self._functions:
            self._functions[kernel] = self.device.function(self._module, kernel)
        return self._functions[kernel]

    def _call(self, arguments: Mapping[str, Any], handle: int) -> Call:
        entry = self.plan.entry
        self.device.activate()
        entry.check_names(list(arguments))
        tensors = {
            name: take(entry, name, arguments[name], self.device, handle) for name in entry.tensors
        }
        check_apart(entry, tensors)
        scalars = {name: arguments[name] for name in entry.scalars}
        shapes = {name: given.shape for name, given in tensors.items()}
        return Call(self, self._bind(shapes, scalars), tensors, handle)

    def _bind(self, shapes: dict[str, Shape], scalars: dict[str, Input]) -> Bound:
        """The bound plan; where only scalars differ from the last one, what depends on them alone is done again."""
        entry = self.plan.entry
        sizes = [entry.convert(name, scalars[name]).tobytes() for name in sorted(entry.sizing)]
        key = (shapes, sizes)
        if self._bound is not None and self._bound[0] == key:
            bound = self.plan.rebind(self._bound[1], scalars)
        else:
            bound = self.plan.bind(shapes, scalars)
        self._bound = (key, bound)
        return bound


class Call:
    """A function bound to its arguments: the same tensors each time, and scalars that may change."""

    def __init__(
        self, executable: Executable, bound: Bound, tensors: Mapping[str, Given], handle: int
    ):
        self.executable, self.device = executable, executable.device
        self.bound = bound
        self.memory: list[Any] = []
        """Memory that the call has of its own."""
        self._tensors = tensors
        self._order = Order(handle)
        self._bases: dict[int, int] = {}
        self._owners: dict[int, object] = {}
        self._place_buffers(handle)
        self._products: dict[int, Product] = {}
        self._workspace = 0
        self._prepare_products(handle)
        self.packed = {
            number: Packed(step, self._bases)
            for number, step in enumerate(bound.steps)
            if isinstance(step, Launch)
        }
        """The arguments of launches, by the numbers of their steps."""
        self._ready = [self._make_ready(number) for number in range(len(bound.steps))]

    # What it has

    @property
    def arguments(self) -> dict[str, DeviceArray]:
        """The tensors that it was given, as they are on the device."""
        numbers = self.executable.plan.arguments
        return {name: self._array(self.bound.buffers[numbers[name]]) for name in self._tensors}

    @property
    def results(self) -> tuple[DeviceArray | np.generic, ...]:
        """What the function returns: arrays that every launch fills anew, and scalars that the host computed."""
        return tuple(
            self._array(one) if isinstance(one, Buffer) else cast(np.generic, one[()])
            for one in self.bound.results
        )

    def _array(self, buffer: Buffer) -> DeviceArray:
        number = buffer.place.owner
        owner = self._owners[number]
        return DeviceArray(self.device, self._bases[number], buffer, owner, self._order)

    def _place_buffers(self, handle: int) -> None:
        """Find or make the memory of arguments, results and the arena."""
        numbers = self.executable.plan.arguments
        given = {numbers[name]: tensor for name, tensor in self._tensors.items()}
        stream = self.device.stream(handle)
        for number, buffer in self.bound.buffers.items():
            tensor = given.get(number)
            if tensor is None or tensor.host is not None:
                self._allocate(number, buffer.bytes, handle)
            else:
                self._bases[number], self._owners[number] = tensor.address, tensor.owner
            if tensor is not None and tensor.host is not None:
                self.device.upload(self._bases[number], tensor.host, stream)
        self._allocate(ARENA, self.bound.arena, handle)

    def _allocate(self, number: int, count: int, handle: int) -> None:
        memory = self.device.allocate(count, handle) if count else None
        self._bases[number] = 0 if memory is None else address_of(memory)
        self._owners[number] = memory
        self.memory.append(memory)

    def _prepare_products(self, handle: int) -> None:
        for number, step in enumerate(self.bound.steps):
            if isinstance(step, Matmul) and self.executable.products is not None:
                self._products[number] = self.executable.products.prepare(step, self._bases)
        needed = max((product.workspace for product in self._products.values()), default=0)
        if needed:
            self.memory.append(self.device.allocate(needed, handle))
            self._workspace = address_of(self.memory[-1])

    def poison(self) -> None:
        """Fill results and the arena with bytes that nobody expects, so that it shows what a launch leaves out."""
        numbers = self.executable.plan.arguments.values()
        counts = {n: b.bytes for n, b in self.bound.buffers.items() if n not in numbers}
        counts[ARENA] = self.bound.arena
        for number, count in counts.items():
            if count:
                stream = self.device.stream(self._order.handle)
                self.device.fill(self._bases[number], POISON, count, stream)

    # What it does

    def _make_ready(self, number: int) -> tuple[tuple[Any, ...], int] | None:
        """What a launch passes to the driver: all up to the stream, and where the arguments are."""
        step = self.bound.steps[number]
        if not isinstance(step, Launch):
            return None
        head = (self.executable.function(step.kernel), *step.grid, *step.block, 0)
        return head, self.packed[number].pointer

    def launch(self, stream: Stream = None, /, **scalars: Input) -> None:
        """Run the function once on a stream, with new values for some scalars if any are given.

        The device must be this thread's, as it is where the call was prepared. Raises `IRError`.
        """
        if scalars:
            self.set(**scalars)
        handle = handle_of(stream)
        self.tell(handle)
        told, run = self.device.stream(handle), self.device.driver.cuLaunchKernel
        for number, ready in enumerate(self._ready):
            if ready is None:
                self.do(number, told)
            else:
                (code,) = run(*ready[0], told, ready[1], 0)
                if code:
                    self.device.fail(code)

    def tell(self, handle: int) -> None:
        """Note on which stream arrays are ready next."""
        self._order.handle = handle

    def do(self, number: int, stream: Any) -> None:
        """Do a step that is no launch."""
        match step := self.bound.steps[number]:
            case Copy():
                source, target = (
                    self._bases[place.owner] + place.offset for place in (step.source, step.target)
                )
                self.device.copy(target, source, step.bytes, stream)
            case Clear():
                target = self._bases[step.target.owner] + step.target.offset
                self.device.fill(target, 0, step.bytes, stream)
            case _:
                self._products[number].run(self._workspace, stream)

    def set(self, /, **scalars: Input) -> None:
        """Give scalars new values, for this call and its graphs. Raises `IRError` where they decide a size."""
        before = self.bound
        self.bound = self.executable.plan.rebind(before, scalars)
        for number in changed(before, self.bound):
            step = self.bound.steps[number]
            if isinstance(step, Launch):
                self.packed[number].set(step)
                self._ready[number] = self._make_ready(number)

    def write_back(self) -> None:
        """Copy what the function stored into arrays of NumPy, once it is there."""
        for name in self.executable.plan.entry.updated:
            if (host := self._tensors[name].written) is not None:
                found = self.arguments[name].numpy()
                host[...] = found.view(host.dtype).reshape(host.shape)

    def capture(self) -> Graph:
        """A graph of what `launch` does."""
        from coconet_ir.runtime.graph import Graph  # it imports this file

        return Graph(self)


def changed(before: Bound, after: Bound) -> list[int]:
    """The numbers of steps that differ."""
    if before is after:
        return []
    pairs: Sequence[Any] = list(zip(before.steps, after.steps, strict=True))
    return [number for number, (old, new) in enumerate(pairs) if old is not new and old != new]
