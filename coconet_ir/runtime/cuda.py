"""A CUDA device: memory, kernels, streams and graphs. The one file that imports CUDA, when a device is opened.

`cuda.core` gives contexts and memory. Launches and graphs are the driver's own calls, which take arguments that were
packed before and let the parameters of a graph's kernels be changed.
"""

from __future__ import annotations

import weakref
from collections.abc import Sequence
from functools import cache
from importlib import import_module
from typing import Any, Protocol, runtime_checkable

from coconet_ir.diagnostics import IRError, Unavailable
from coconet_ir.sim.elements import Array

TARGETS = {8: "sm_80", 9: "sm_90a", 10: "sm_100a"}
"""What kernels are compiled for, by the major number of a device's compute capability."""

EXACT = ("sm_90a", "sm_100a")
"""Targets whose kernels run on devices of minor number 0 alone."""

_LOG_BYTES = 1 << 14
_NO_TIMING = 2
_LEGACY, _PER_THREAD = 1, 2
"""Streams that are numbers, as DLPack writes them; 0 is the legacy one too."""


@runtime_checkable
class HasStream(Protocol):
    """A stream of a library: its version of the protocol, and the handle."""

    def __cuda_stream__(self) -> tuple[int, int]: ...


Stream = int | HasStream | None
"""A stream: its handle, an object that has one, or None for the default stream."""


def handle_of(stream: Stream) -> int:
    """The handle of a stream, 0 for the default one. Raises `IRError`."""
    if stream is None:
        return 0
    if isinstance(stream, int):
        return 0 if stream == _LEGACY else stream
    if isinstance(stream, HasStream):  # pyright: ignore[reportUnnecessaryIsInstance]
        return int(stream.__cuda_stream__()[1])
    raise IRError(
        f"takes a stream as an object with __cuda_stream__, or as its handle, not {type(stream).__name__}"
    )


@cache
def find_driver() -> Any:
    """The bindings of a driver that works. Raises `Unavailable`."""
    try:
        driver: Any = import_module("cuda.bindings.driver")
        import_module("cuda.core")
    except ImportError as error:
        raise Unavailable(
            f"CUDA needs packages that are missing ({error.name or error}): pip install 'coconet-ir[cuda]'"
        ) from None
    try:
        (code,) = driver.cuInit(0)
    except RuntimeError:
        raise Unavailable(
            "CUDA needs NVIDIA's driver, and there is no libcuda: install the driver, or use a machine with a GPU"
        ) from None
    if code != driver.CUresult.CUDA_SUCCESS:
        raise Unavailable(
            f"CUDA needs a GPU, and the driver offers none ({code.name}): use a machine with one"
        )
    return driver


class Device:
    """A device of this process."""

    def __init__(self, number: int):
        """Raises `Unavailable` if there is no such device, and `IRError` if nothing is compiled for its kind."""
        self.driver = find_driver()
        count = self.call(self.driver.cuDeviceGetCount())
        if not 0 <= number < count:
            raise Unavailable(f"there is no CUDA device {number}: there are {count}, from 0 on")
        core: Any = import_module("cuda.core")
        self.number = number
        self._core = core
        self._device = core.Device(number)
        self.activate()
        major, minor = self._device.compute_capability
        target = TARGETS.get(major)
        if target is None or (target in EXACT and minor):
            known = "8.x (sm_80), 9.0 (sm_90a) and 10.0 (sm_100a)"
            raise IRError(
                f"device {number} has compute capability {major}.{minor}: kernels are made for {known}"
            )
        self.target = target

    def activate(self) -> None:
        """Make it this thread's device. Raises `IRError`."""
        try:
            self._device.set_current()
        except Exception as error:  # the exceptions of cuda.core are private
            raise IRError(f"device {self.number} failed: {error}") from None

    def call(self, outcome: Sequence[Any]) -> Any:
        """What a call of the driver gave. Raises `IRError` with the name of its error."""
        code, *values = outcome
        if code != self.driver.CUresult.CUDA_SUCCESS:
            self.fail(code)
        return values[0] if len(values) == 1 else tuple(values)

    def fail(self, code: Any, log: str = "") -> None:
        """Raise the `IRError` of an error of the driver."""
        _, text = self.driver.cuGetErrorString(code)
        said = (text or b"").decode(errors="replace")
        raise IRError(f"device {self.number} failed: {code.name} ({said}){log}")

    # Streams

    def stream(self, handle: int) -> Any:
        """A stream as the driver takes it."""
        return self.driver.CUstream(handle)

    def wait(self, handle: int) -> None:
        """Wait until a stream has done everything. Raises `IRError` if anything of it failed."""
        self.call(self.driver.cuStreamSynchronize(self.stream(handle)))

    def order(self, first: int, then: int) -> None:
        """Let all that a stream will be told wait for all that another one was told."""
        if first != then:
            event = self.call(self.driver.cuEventCreate(_NO_TIMING))
            self.call(self.driver.cuEventRecord(event, self.stream(first)))
            self.call(self.driver.cuStreamWaitEvent(self.stream(then), event, 0))
            self.call(self.driver.cuEventDestroy(event))

    # Memory

    def allocate(self, count: int, handle: int) -> Any:
        """Memory of so many bytes, at least one, in the order of a stream; it is freed when nobody has it any more.

        `address_of` says where it is.
        """
        core = self._core
        if handle in (0, _LEGACY):
            stream = core.LEGACY_DEFAULT_STREAM
        elif handle == _PER_THREAD:
            stream = core.PER_THREAD_DEFAULT_STREAM
        else:
            stream = core.Stream.from_handle(handle)
        try:
            return self._device.allocate(count, stream=stream)
        except Exception as error:
            raise IRError(f"device {self.number} cannot allocate {count} bytes: {error}") from None

    def fill(self, address: int, byte: int, count: int, stream: Any) -> None:
        """Set bytes."""
        self.call(self.driver.cuMemsetD8Async(address, byte, count, stream))

    def copy(self, target: int, source: int, count: int, stream: Any) -> None:
        """Copy bytes within the device."""
        self.call(self.driver.cuMemcpyDtoDAsync(target, source, count, stream))

    def upload(self, target: int, source: Array, stream: Any) -> None:
        """Copy a dense array to the device; it may change as soon as this returns."""
        if source.nbytes:
            self.call(
                self.driver.cuMemcpyHtoDAsync(target, source.ctypes.data, source.nbytes, stream)
            )

    def download(self, target: Array, source: int, handle: int) -> None:
        """Fill a dense array from the device, once a stream has done everything."""
        stream = self.stream(handle)
        if target.nbytes:
            self.call(
                self.driver.cuMemcpyDtoHAsync(target.ctypes.data, source, target.nbytes, stream)
            )
        self.wait(handle)

    def number_of(self, address: int) -> int:
        """The number of the device on which something lies."""
        attribute = self.driver.CUpointer_attribute.CU_POINTER_ATTRIBUTE_DEVICE_ORDINAL
        return int(self.call(self.driver.cuPointerGetAttribute(attribute, address)))

    # Kernels

    def load(self, ptx: str) -> Any:
        """A module of kernels. Raises `IRError` with what the driver's compiler said."""
        driver, option = self.driver, self.driver.CUjit_option
        log = bytearray(_LOG_BYTES)
        options = [option.CU_JIT_ERROR_LOG_BUFFER, option.CU_JIT_ERROR_LOG_BUFFER_SIZE_BYTES]
        image = ptx.encode() + b"\0"
        code, module = driver.cuModuleLoadDataEx(image, len(options), options, [log, _LOG_BYTES])
        if code != driver.CUresult.CUDA_SUCCESS:
            said = log.partition(b"\0")[0].decode(errors="replace").strip()
            self.fail(code, f": {said}" if said else "")
        return module

    def function(self, module: Any, kernel: str) -> Any:
        """A kernel of a module."""
        return self.call(self.driver.cuModuleGetFunction(module, kernel.encode()))

    def unload_with(self, owner: object, module: Any) -> None:
        """Unload a module, once nothing runs, when its owner is gone."""
        weakref.finalize(owner, self._unload, module).atexit = False

    def _unload(self, module: Any) -> None:
        self.activate()
        self.call(self.driver.cuCtxSynchronize())
        self.call(self.driver.cuModuleUnload(module))

    def idle_with(self, owner: object, memory: list[Any]) -> None:
        """Let go of memory, once nothing runs, when its owner is gone."""
        weakref.finalize(owner, self._release, memory).atexit = False

    def _release(self, memory: list[Any]) -> None:
        self.activate()
        self.call(self.driver.cuCtxSynchronize())
        memory.clear()


def address_of(memory: Any) -> int:
    """Where memory of `Device.allocate` begins."""
    return int(memory.handle)
