"""A prepared call as a CUDA graph: one launch for all of its steps, with scalars that may change.

Kernels are nodes of the graph, each behind those that it waits for, so that the parameters of a node can be changed
before a replay. What is no kernel of ours, copies and the library's products, is recorded into a graph of its own.
"""

from __future__ import annotations

import weakref
from typing import Any

from coconet_ir.runtime.cuda import Stream, handle_of
from coconet_ir.runtime.executable import Call, changed
from coconet_ir.runtime.steps import Launch
from coconet_ir.sim.binding import Input

_NON_BLOCKING = 1
"""The flag of a stream that waits for no other."""


class Graph:
    """A call that is replayed. Its scalars are the call's: a new value holds for both."""

    def __init__(self, call: Call):
        """Raises `IRError`."""
        self.call = call
        self._device = device = call.device
        device.activate()
        self._driver = driver = device.driver
        self._bound = call.bound
        """The scalars that the nodes have."""
        self._nodes: dict[int, tuple[Any, Any]] = {}
        """The nodes of launches and their parameters, by the numbers of the steps."""
        graph = device.call(driver.cuGraphCreate(0))
        try:
            self._add_steps(graph)
            self._ready = device.call(driver.cuGraphInstantiate(graph, 0))
        except BaseException:
            driver.cuGraphDestroy(graph)
            raise
        weakref.finalize(self, _destroy, driver, graph, self._ready).atexit = False
        device.call(driver.cuGraphUpload(self._ready, device.stream(0)))

    def replay(self, stream: Stream = None, /, **scalars: Input) -> None:
        """Do everything once, with new values for some scalars if any are given. Raises `IRError`.

        The device must be this thread's, as it is where the graph was captured.
        """
        if scalars:
            self.call.set(**scalars)
        if self._bound is not self.call.bound:
            self._refresh()
        handle = handle_of(stream)
        self.call.tell(handle)
        (code,) = self._driver.cuGraphLaunch(self._ready, self._device.stream(handle))
        if code:
            self._device.fail(code)

    def _refresh(self) -> None:
        """Change the parameters of the kernels whose scalars have changed."""
        for number in changed(self._bound, self.call.bound):
            node, parameters = self._nodes[number]
            self._fill(parameters, number)
            update = self._driver.cuGraphExecKernelNodeSetParams
            self._device.call(update(self._ready, node, parameters))
        self._bound = self.call.bound

    def _add_steps(self, graph: Any) -> None:
        """Add a node for each step: launches behind those they wait for, other steps behind and before all else."""
        last, since = -1, list[int]()
        nodes: dict[int, Any] = {}
        for number, step in enumerate(self._bound.steps):
            before = [nodes[last]] if last >= 0 else []
            if isinstance(step, Launch):
                before += [nodes[one] for one in step.after if one > last]
                nodes[number] = self._add_launch(graph, before, number)
                since.append(number)
            else:
                before = [nodes[one] for one in since] or before
                nodes[number] = self._add_recorded(graph, before, number)
                last, since = number, []

    def _add_launch(self, graph: Any, before: list[Any], number: int) -> Any:
        parameters = self._driver.CUDA_KERNEL_NODE_PARAMS()
        self._fill(parameters, number)
        add = self._driver.cuGraphAddKernelNode
        node = self._device.call(add(graph, before, len(before), parameters))
        self._nodes[number] = node, parameters
        return node

    def _fill(self, parameters: Any, number: int) -> None:
        """Fill the parameters of a node with those of the launch as it now is."""
        step = self.call.bound.steps[number]
        if isinstance(step, Launch):
            parameters.func = self.call.executable.function(step.kernel)
            parameters.gridDimX, parameters.gridDimY, parameters.gridDimZ = step.grid
            parameters.blockDimX, parameters.blockDimY, parameters.blockDimZ = step.block
            parameters.kernelParams = self.call.packed[number].pointer

    def _add_recorded(self, graph: Any, before: list[Any], number: int) -> Any:
        """Add what a step tells a stream, as a graph within the graph."""
        device, driver = self._device, self._driver
        stream = device.call(driver.cuStreamCreate(_NON_BLOCKING))
        # The library may load a kernel at its first use, which the other modes forbid.
        mode = driver.CUstreamCaptureMode.CU_STREAM_CAPTURE_MODE_RELAXED
        try:
            device.call(driver.cuStreamBeginCapture(stream, mode))
            try:
                self.call.do(number, stream)
            finally:
                code, inner = driver.cuStreamEndCapture(stream)
            device.call((code,))
            try:
                add = driver.cuGraphAddChildGraphNode
                return device.call(add(graph, before, len(before), inner))
            finally:
                driver.cuGraphDestroy(inner)  # the node has a copy
        finally:
            driver.cuStreamDestroy(stream)


def _destroy(driver: Any, graph: Any, ready: Any) -> None:
    driver.cuGraphExecDestroy(ready)
    driver.cuGraphDestroy(graph)
