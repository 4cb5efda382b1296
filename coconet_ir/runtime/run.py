"""A run on a device that gives what a run in the simulator gives."""

from __future__ import annotations

from collections.abc import Mapping

import numpy as np
from xdsl.dialects.func import FuncOp
from xdsl.ir import Attribute

from coconet_ir.dialects.attributes import dist_of
from coconet_ir.runtime.compile import compile_function
from coconet_ir.runtime.cuda import Device
from coconet_ir.runtime.entry import one_rank
from coconet_ir.runtime.executable import DeviceArray
from coconet_ir.sim.binding import Input
from coconet_ir.sim.elements import Array
from coconet_ir.sim.executor import Outcome, Output
from coconet_ir.sim.mesh import Mesh


def run(func: FuncOp, mesh: Mapping[str, int], inputs: Mapping[str, Input]) -> Outcome:
    """Run a verified function of the distributed level on device 0, which is one rank.

    Arguments are those of `coconet_ir.sim.executor.run`, and nothing is stored into them. All that the function must
    write begins as bytes that show. Raises `Unavailable` without a device, and `IRError` for a mesh of several ranks,
    for inputs that do not fit, and for what devices do not do.
    """
    device = Device(0)
    ranks = one_rank(func, mesh)
    executable = compile_function(func, device.target).load()
    entry = executable.plan.entry
    given = {name: _own(inputs[name]) if name in entry.updated else inputs[name] for name in inputs}
    call = executable.prepare(**given)
    call.poison()
    call.launch()
    updated = {
        name: _output(call.arguments[name], entry.tensors[name].type, ranks)
        for name in entry.updated
    }
    results = {
        f"result{number}": _output(found, type, ranks)
        for number, (found, type) in enumerate(
            zip(call.results, func.function_type.outputs, strict=True)
        )
    }
    return Outcome({**updated, **results}, ranks)


def _own(given: Input) -> Array:
    """A copy that can be stored into."""
    return np.array(given)


def _output(found: DeviceArray | np.generic, type: Attribute, mesh: Mesh) -> Output:
    """A value as the simulator gives it: with a dimension in front for each axis on which it is local."""
    array = found.numpy() if isinstance(found, DeviceArray) else np.asarray(found)
    front = (1,) * len(mesh.leading_axes(dist_of(type)))
    return Output(array.reshape((*front, *array.shape)), type)
