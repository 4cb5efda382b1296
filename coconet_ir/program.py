"""Programs and their schedules in Python.

program = Program.load("adam.mlir")
fast = program.schedule()
fast.split("avg")
fast.reorder("avg_ag")
fast.save("fast.mlir")                                        # what `coconet-opt --schedule` applies
again = program.load_schedule("fast.mlir").program            # the same program as fast.program
"""

from __future__ import annotations

from collections.abc import Generator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from typing import Literal, TypeAlias, TypeVar

from xdsl.dialects.builtin import ModuleOp
from xdsl.dialects.func import FuncOp
from xdsl.dialects.transform import NamedSequenceOp
from xdsl.ir import SSAValue
from xdsl.utils.exceptions import VerifyException

from coconet_ir.diagnostics import IRError
from coconet_ir.dialects.transform import (
    CONSUMING,
    HANDLE,
    CombineOp,
    FuseOp,
    InlineOp,
    NamedOp,
    OverlapOp,
    ReorderOp,
    SliceOp,
    SliceStateOp,
    SplitOp,
    Step,
    option_attribute,
)
from coconet_ir.files import output_file
from coconet_ir.frontend import (
    make_context,
    parse_program,
    read_source,
    require_program,
    source_name,
)
from coconet_ir.passes.infer import InferPass
from coconet_ir.schedule.apply import Application
from coconet_ir.schedule.remarks import Remark, collect, emit
from coconet_ir.schedule.script import (
    alone,
    check_handles,
    load_sequence,
    new_sequence,
    parse_sequence,
    steps,
)
from coconet_ir.sim import inputs
from coconet_ir.sim.binding import Input, bind_mesh, the_function
from coconet_ir.sim.executor import Outcome, run
from coconet_ir.xdsl_compat import print_module


class Program:
    """A checked program. It never changes: schedules and inference work on copies."""

    def __init__(self, module: ModuleOp):
        """The program that a checked module holds. Raises `IRError` for a module of schedules."""
        require_program(module)
        self.module = module

    @classmethod
    def parse(cls, text: str, name: str = "<text>") -> Program:
        """The program that `text` is; diagnostics call it `name`. Raises `ParseError` or `IRError`."""
        return cls(parse_program(make_context(), text, name))

    @classmethod
    def load(cls, path: str) -> Program:
        """The program in a file. Raises `ParseError` or `IRError`, also when it cannot be read."""
        return cls.parse(read_source(path), source_name(path))

    def __str__(self) -> str:
        """The text, as `coconet-opt` prints it."""
        return print_module(self.module)

    def function(self, name: str | None = None) -> FuncOp:
        """The function of that name, or the only one. Raises `IRError` when there is none."""
        return the_function(self.module, name)

    def infer(self) -> Program:
        """The program with layouts in its types, where they stood as `layout.of`.

        Raises `IRError` where a collective would be needed.
        """
        module = self.module.clone()
        InferPass().apply(make_context(), module)
        return Program(module)

    def schedule(self, name: str = "main") -> Schedule:
        """A schedule without steps for this program."""
        return Schedule(self, new_sequence(name))

    def load_schedule(self, reference: str) -> Schedule:
        """The schedule that `FILE` or `FILE:name` refers to, applied to this program.

        Raises `ParseError` or `IRError`, also for a step that is declined.
        """
        return Schedule(self, load_sequence(reference))

    def parse_schedule(self, text: str, name: str | None = None) -> Schedule:
        """The schedule of that name in a text, or its only one, applied to this program.

        Raises `ParseError` or `IRError`, also for a step that is declined.
        """
        return Schedule(self, parse_sequence(text, "<schedule>", name))

    def generate(
        self,
        mesh: Mapping[str, int],
        given: Mapping[str, Input] | None = None,
        shapes: Mapping[str, Sequence[int | None]] | None = None,
        seed: int = 0,
        func: str | None = None,
    ) -> dict[str, Input]:
        """Inputs for `run`: those `given`, the others at random, as `coconet-run` makes them.

        `mesh` gives sizes of axes, `shapes` global shapes of arguments with None for what is open. Raises `IRError`.
        """
        chosen = self.function(func)
        return inputs.generate(chosen, bind_mesh(chosen, mesh), given or {}, shapes or {}, seed)

    def run(
        self,
        mesh: Mapping[str, int],
        inputs: Mapping[str, Input],
        *,
        exact: bool = False,
        func: str | None = None,
    ) -> Outcome:
        """Run a function, the only one unless named, on simulated ranks.

        `mesh` gives sizes of axes in place of those in the text, `inputs` every argument by name, tensors as global
        arrays, with one leading dimension for each axis on which they are local, in mesh order. `exact` computes
        every float as f64. Raises `IRError` for inputs that do not fit.
        """
        return run(self.function(func), mesh, inputs, exact=exact)


@dataclass(frozen=True)
class Handle:
    """What a step of a schedule named or made: at most one operation of each function."""

    schedule: Schedule = field(repr=False)
    value: SSAValue = field(repr=False)

    def __str__(self) -> str:
        return f"%{self.value.name_hint or ''}"


StepT = TypeVar("StepT", bound=Step)

Selector: TypeAlias = str | Handle
"""An operation, by its name or by a handle."""


class Schedule:
    """Rewrites of a program in their order, applied at once to a copy; as text, the file that applies them again.

    Methods are the passes, with their options as keyword arguments. They take names of operations, or handles that
    earlier calls returned. Each raises `IRError` when it does not apply, with the reason; the schedule and its
    program are then as before.
    """

    def __init__(self, program: Program, sequence: NamedSequenceOp):
        """Apply a schedule to a program. Raises `IRError` for a step that does not apply."""
        self._baseline = program
        self._sequence = sequence
        self._text = alone(sequence)
        with self._recorded(()):
            self._application = self._applied()

    def __str__(self) -> str:
        """The file that `coconet-opt --schedule` applies."""
        return print_module(self._text)

    def save(self, path: str) -> None:
        """Write the text to a file. Raises `IRError` when it cannot be written."""
        with output_file(path) as file:
            file.write(str(self).encode())

    @property
    def program(self) -> Program:
        """The rewritten program as it stands now."""
        return Program(self._application.module.clone())

    @property
    def remarks(self) -> tuple[Remark, ...]:
        """What the rewrites did."""
        return self._remarks

    def named(self, op: str, *, func: str | None = None) -> Handle:
        """The operation of that name, in one function or in all that have one."""
        with self._all_or_nothing():
            return Handle(self, self._find(op, func))

    def split(
        self,
        op: Selector,
        *,
        dim: int | None = None,
        unit: int | None = None,
        axes: Sequence[str] | None = None,
        into: Literal["rs-ag", "reduce-broadcast"] | None = None,
        root: Sequence[int] | None = None,
    ) -> tuple[Handle, Handle]:
        """Split an all_reduce in two, as `coconet-split` does; handles to the halves."""
        first, last = self._step(SplitOp, op, dim=dim, unit=unit, axes=axes, into=into, root=root)
        return first, last

    def slice(
        self, op: Selector, over: Sequence[str], *, dim: int | None = None, unit: int | None = None
    ) -> tuple[Handle, Handle]:
        """Slice a result and gather it, as `coconet-slice` does; handles to the slice and to the gather."""
        part, gather = self._step(SliceOp, op, over=over, dim=dim, unit=unit)
        return part, gather

    def slice_argument(
        self,
        arg: str,
        over: Sequence[str],
        *,
        dim: int | None = None,
        unit: int | None = None,
        func: str | None = None,
    ) -> tuple[Handle, Handle]:
        """Slice an argument and gather it, as `coconet-slice` does; handles to the slice and to the gather."""
        part, gather = self._step(SliceOp, over=over, arg=arg, dim=dim, unit=unit, func=func)
        return part, gather

    def reorder(
        self, op: Selector, *, ops: Sequence[str] | None = None, allow_more_bytes: bool = False
    ) -> None:
        """Move an all_gather or broadcast below its readers, as `coconet-reorder` does."""
        self._step(ReorderOp, op, ops=ops, allow_more_bytes=allow_more_bytes)

    def slice_state(self, *args: str, func: str | None = None) -> None:
        """Keep arguments, by default those marked as state, in slices, as `coconet-slice-state` does."""
        self._step(SliceStateOp, args=args or None, func=func)

    def fuse(self, *ops: Selector, named: str | None = None, between: bool = False) -> Handle:
        """Make operations one kernel, as `coconet-fuse` does; a handle to it."""
        return self._step(FuseOp, *ops, named=named, between=between)[0]

    def overlap(
        self,
        *ops: Selector,
        dim: int | None = None,
        chunks: int | None = None,
        named: str | None = None,
        between: bool = False,
    ) -> Handle:
        """Let stages work at once, as `coconet-overlap` does; a handle to what holds them."""
        return self._step(OverlapOp, *ops, dim=dim, chunks=chunks, named=named, between=between)[0]

    def combine(self, *ops: Selector, named: str | None = None) -> Handle:
        """Launch collectives as one, as `coconet-combine` does; a handle to the group."""
        return self._step(CombineOp, *ops, named=named)[0]

    def inline(self, op: Selector) -> None:
        """Put the operations of a region in its place, as `coconet-inline-schedule` does."""
        self._step(InlineOp, op)

    def _applied(self) -> Application:
        """The program with all steps applied."""
        application = Application(self._baseline.module.clone())
        for step in steps(self._sequence):
            application.perform(step)
        return application

    def _step(self, kind: type[Step], *targets: Selector, **options: object) -> tuple[Handle, ...]:
        """Take a step on operations, or without any on the program."""
        given = {name: v for name, v in options.items() if v is not None and v is not False}
        with self._all_or_nothing():
            handles = [self._value(target) for target in targets]
            step = self._new(kind, handles, given)
            self._append(step)
        return tuple(Handle(self, result) for result in step.results)

    def _value(self, target: Selector) -> SSAValue:
        if isinstance(target, str):
            return self._find(target, None)
        if target.schedule is not self:
            raise IRError(f"handle {target} belongs to another schedule")
        return target.value

    def _find(self, name: str, func: str | None) -> SSAValue:
        """The handle of what has this name: of an earlier step, or of one that names it here."""
        options = {"op": name} if func is None else {"op": name, "func": func}
        step = self._new(NamedOp, (), options)
        found = self._application.find(step)
        for handle, targets in self._application.handles.items():
            consumed = any(isinstance(use.operation, CONSUMING) for use in handle.uses)
            if targets.keys() == found.keys() and not consumed:
                if all(targets[func].op is target.op for func, target in found.items()):
                    return handle
        self._append(step)
        return step.result

    def _new(
        self, kind: type[StepT], handles: Sequence[SSAValue], options: Mapping[str, object]
    ) -> StepT:
        """A step on handles, or without any on the program, that stands nowhere yet. Raises `IRError`."""
        step = kind.create(
            operands=handles or self._sequence.body.block.args,
            result_types=[HANDLE] * len(kind.get_irdl_definition().results),
        )
        try:
            for name, value in options.items():
                step.properties[name] = option_attribute(value)
            step.verify()
        except VerifyException as error:
            raise IRError(str(error), step) from None
        return step

    def _append(self, step: Step) -> None:
        block = self._sequence.body.block
        if (last := block.last_op) is not None:
            block.insert_op_before(step, last)
        check_handles(self._sequence)
        self._application.perform(step)
        for result in step.results:
            names = {target.name for target in self._application.handles[result].values()}
            if len(names) == 1 and SSAValue.is_valid_name(name := names.pop()):
                result.name_hint = name

    @contextmanager
    def _all_or_nothing(self) -> Generator[None]:
        """Take back the steps that were added inside the block when it raises."""
        before = list(steps(self._sequence))
        try:
            with self._recorded(self._remarks):
                yield
        except BaseException:
            for step in reversed(list(steps(self._sequence))):
                if step not in before:
                    step.detach()
                    step.erase()
            with collect():
                self._application = self._applied()
            raise

    @contextmanager
    def _recorded(self, earlier: Sequence[Remark]) -> Generator[None]:
        """Keep the remarks of the block, and hand them to whoever else collects."""
        with collect(earlier) as remarks:
            yield
        for remark in remarks[len(earlier) :]:
            emit(remark)
        self._remarks = tuple(remarks)
