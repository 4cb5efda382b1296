"""Programs as jobs of the emulator: what the host and the kernels of each rank do, and what comes out of memory."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace

import numpy as np
from xdsl.dialects.func import FuncOp
from xdsl.ir import Attribute, Operation

from coconet_ir.diagnostics import IRError, position
from coconet_ir.emu.checks.check import run_once
from coconet_ir.emu.code.table import Refused
from coconet_ir.emu.job import Job, Memory, Rank
from coconet_ir.emu.ptx.parse import PTXError
from coconet_ir.emu.reports.findings import Finding, Where
from coconet_ir.runtime.compile import Compiled, compile_function
from coconet_ir.runtime.plan import Bound
from coconet_ir.runtime.steps import ARENA, Buffer, Launch, Step
from coconet_ir.sim import executor
from coconet_ir.sim.binding import Input, Value, assemble, bind_inputs, bind_mesh
from coconet_ir.sim.elements import Array
from coconet_ir.sim.exchange import InProcess
from coconet_ir.sim.executor import Outcome, Output
from coconet_ir.sim.kernels import Numbers
from coconet_ir.sim.mesh import Mesh, Shape

_NO_KERNELS = ".version 8.0\n.target sm_90\n.address_size 64\n"


@dataclass(frozen=True)
class ProgramJob:
    """A job, and where in its memory the outputs of the program are."""

    job: Job
    compiled: Compiled
    mesh: Mesh
    bounds: tuple[Bound, ...]
    """The plan of each rank, for one call."""
    shapes: Mapping[str, Shape]
    """The global shapes of updated arguments and of results; a scalar has none."""

    def outcome(self, memory: Sequence[Mapping[int, bytes]]) -> Outcome:
        """The outputs, from the bytes of each rank's buffers by owner.

        Raises `IRError` if ranks differ in an output of which all have the same.
        """
        plan = self.compiled.plan
        outputs = {
            name: self._output(name, plan.entry.tensors[name].type, memory)
            for name in plan.entry.updated
        }
        for number, type in enumerate(plan.entry.func.function_type.outputs):
            outputs[f"result{number}"] = self._output(number, type, memory)
        return Outcome(outputs, self.mesh)

    def _output(
        self, which: str | int, type: Attribute, memory: Sequence[Mapping[int, bytes]]
    ) -> Output:
        """An updated argument, by its name, or a result, by its number."""
        arrays = [
            _array(
                bound.buffers[self.compiled.plan.arguments[which]]
                if isinstance(which, str)
                else bound.results[which],
                held,
            )
            for bound, held in zip(self.bounds, memory, strict=True)
        ]
        name = which if isinstance(which, str) else f"result{which}"
        value = Value(type, self.shapes.get(name), tuple(arrays))
        same = self.mesh.replicas(value.dist)
        exchange = InProcess(self.mesh.ranks)
        exchange.require_equal(self.compiled.plan.entry.func, same, dict(enumerate(arrays)))
        return Output(assemble(value, arrays, self.mesh), type)


def _array(found: Buffer | Array, held: Mapping[int, bytes]) -> Array:
    """What a buffer of a rank holds; what the host computed as it is."""
    if not isinstance(found, Buffer):
        return found
    start = found.place.offset
    content = held[found.place.owner][start : start + found.bytes]
    return np.frombuffer(content, found.dtype).reshape(found.shape)


def job_of(
    func: FuncOp,
    mesh: Mapping[str, int],
    inputs: Mapping[str, Input],
    repeat: int = 1,
    target: str = "sm_90a",
) -> ProgramJob:
    """A verified function of the distributed level as a job: compiled, and bound to inputs.

    Arguments are those of `coconet_ir.sim.executor.run`; the function is called `repeat` times, with the same buffers.
    Raises `IRError` for inputs that do not fit, and for what is not lowered.
    """
    return bind_job(compile_function(func, target), mesh, inputs, repeat)


def bind_job(
    compiled: Compiled, mesh: Mapping[str, int], inputs: Mapping[str, Input], repeat: int = 1
) -> ProgramJob:
    """The same, of what is compiled."""
    plan = compiled.plan
    entry = plan.entry
    ranks = bind_mesh(entry.func, mesh)
    values = dict(
        zip(
            entry.arguments,
            bind_inputs(entry.func, ranks, inputs, Numbers(), range(ranks.ranks)),
            strict=True,
        )
    )
    shapes = {name: value.shape for name, value in values.items() if value.shape is not None}
    scalars = {name: values[name].arrays[0] for name in entry.scalars}
    bounds = tuple(plan.bind(shapes, scalars, mesh, rank) for rank in range(ranks.ranks))
    for number, shape in enumerate(entry.shapes(ranks, shapes, scalars)):
        if shape is not None:
            shapes[f"result{number}"] = shape
    numbers = {plan.arguments[name]: name for name in entry.tensors}
    results = {argument: f"result{number}" for number, argument in plan.results.items()}
    found: list[Rank] = []
    for rank, bound in enumerate(bounds):
        memory = {ARENA: Memory("arena", bound.arena)}
        for owner, buffer in bound.buffers.items():
            if owner in numbers:
                content = values[numbers[owner]].arrays[rank].tobytes()
                memory[owner] = Memory(f"%{numbers[owner]}", buffer.bytes, content)
            else:
                memory[owner] = Memory(results[owner], buffer.bytes)
        found.append(Rank(memory, repeated(bound.steps, repeat)))
    job = Job(compiled.ptx or _NO_KERNELS, tuple(found))
    return ProgramJob(job, compiled, ranks, bounds, shapes)


def repeated(steps: Sequence[Step], count: int) -> tuple[Step, ...]:
    """The steps of several calls in a row: a launch also waits for all launches of the call before."""
    found: list[Step] = []
    before: tuple[int, ...] = ()
    for call in range(count):
        first = call * len(steps)
        for step in steps:
            if isinstance(step, Launch):
                step = replace(step, after=(*before, *(first + one for one in step.after)))
            found.append(step)
        before = tuple(first + n for n, one in enumerate(steps) if isinstance(one, Launch))
    return tuple(found)


def expected(
    func: FuncOp, mesh: Mapping[str, int], inputs: Mapping[str, Input], repeat: int = 1
) -> Outcome:
    """What the simulator gives for so many calls in a row, each of which sees what the one before has updated."""
    given = dict(inputs)
    for _ in range(repeat - 1):
        outputs = executor.run(func, mesh, given).outputs
        given.update((name, out.array) for name, out in outputs.items() if name in given)
    return executor.run(func, mesh, given)


def run(func: FuncOp, mesh: Mapping[str, int], inputs: Mapping[str, Input]) -> Outcome:
    """Run a verified function of the distributed level once, in order, on emulated ranks.

    Arguments are those of `coconet_ir.sim.executor.run`. Raises `IRError` for inputs that do not fit, for what is not
    lowered or emulated, and for what the emulator finds.
    """
    program = job_of(func, mesh, inputs)
    try:
        ran = run_once(program.job)
    except (Refused, PTXError) as error:
        raise IRError(f"has kernels that are not emulated: {error}", func) from None
    if ran.findings:
        raise _as_error(ran.findings[0], func)
    return program.outcome(ran.memory)


def _as_error(finding: Finding, func: FuncOp) -> IRError:
    """A finding as an error at the operation whose instructions show it."""
    first = _op_of(finding.places[0], func) if finding.places else func
    notes = [(_who(place), _op_of(place, func)) for place in finding.places]
    notes += [(note, first) for note in finding.notes]
    where = "" if finding.buffer is None else f" ({finding.buffer}, byte {finding.offset})"
    return IRError(f"has a {finding.kind}: {finding.message}{where}", first, notes)


def _op_of(place: Where, func: FuncOp) -> Operation:
    """The operation at the line of an instruction; the function if there is none."""
    if place.location is None:
        return func
    ops = (op for op in func.walk() if str(position(op)) == str(place.location))
    return next(ops, func)


def _who(place: Where) -> str:
    if place.kernel is None:
        return f"rank {place.rank}: {place.text}"
    thread = f"block {place.block}, thread {place.thread}"
    return f"rank {place.rank}, kernel '{place.kernel}', {thread}: {place.text}"
