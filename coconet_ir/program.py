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
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Literal, TypeAlias, TypeVar, overload

from xdsl.dialects.builtin import ModuleOp
from xdsl.dialects.func import FuncOp
from xdsl.dialects.transform import NamedSequenceOp
from xdsl.ir import SSAValue
from xdsl.utils.exceptions import VerifyException

from coconet_ir.analysis.rules import is_uninferred
from coconet_ir.analysis.totals import Totals, totals
from coconet_ir.analysis.verifier import require_distributed
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
)
from coconet_ir.files import output_file
from coconet_ir.frontend import (
    check,
    make_context,
    parse_program,
    read_source,
    require_program,
    source_name,
)
from coconet_ir.passes.infer import InferPass
from coconet_ir.schedule.apply import apply_sequence, check_steps, perform_steps
from coconet_ir.schedule.remarks import Remark, collect, emit
from coconet_ir.schedule.rewriting import check_ready
from coconet_ir.schedule.script import (
    alone,
    check_handles,
    check_overwritten,
    load_sequence,
    new_sequence,
    parse_sequence,
    steps,
)
from coconet_ir.schedule.selection import functions
from coconet_ir.sim import inputs
from coconet_ir.sim.binding import Input, bind_mesh, the_function
from coconet_ir.sim.executor import Outcome, run
from coconet_ir.xdsl_compat import print_module

if TYPE_CHECKING:
    from coconet_ir.emu.reports.report import Report
    from coconet_ir.runtime.compile import Compiled


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

    def __repr__(self) -> str:
        names = ", ".join(f"@{func.sym_name.data}" for func in functions(self.module, None))
        return f"<program of {names or 'no function'}>"

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
        """A schedule without steps for this program. Raises `IRError` for a name that `FILE:name` cannot select."""
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

        `mesh` gives sizes of axes, `shapes` global shapes of arguments with None for what is open. A program that is
        not inferred yet is inferred first. Raises `IRError`.
        """
        chosen = self._inferred().function(func)
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
        every float as f64. A program that is not inferred yet is inferred first. Raises `IRError` for inputs that do
        not fit.
        """
        return run(self._inferred().function(func), mesh, inputs, exact=exact)

    def compile(
        self, target: str = "sm_90a", *, func: str | None = None, cache: bool = True
    ) -> Compiled:
        """Compile a function, the only one unless named, for a kind of device, as ptxas calls it.

        It takes no device: `.load()` of what is returned does. Without `cache`, what was compiled before is not looked
        for and not kept. A program that is not inferred yet is inferred first. Raises `IRError`.
        """
        from coconet_ir.runtime.compile import compile_function

        return compile_function(self._inferred().function(func), target, use_cache=cache)

    def check(
        self,
        mesh: Mapping[str, int],
        inputs: Mapping[str, Input],
        *,
        func: str | None = None,
        repeat: int = 3,
        schedules: int = 100,
        seed: int = 0,
    ) -> Report:
        """What is wrong with the compiled kernels of a function, as `coconet-check` finds it on emulated ranks.

        Arguments are those of `run`; the function is called `repeat` times in a row, in each of so many schedules, and
        must give what `run` gives. A program that is not inferred yet is inferred first. Raises `IRError`.
        """
        from coconet_ir.emu.checks.case import program_case
        from coconet_ir.emu.checks.check import check

        case = program_case(self._inferred().function(func), mesh, inputs, repeat)
        return check(case, schedules=schedules, seed=seed)

    def totals(self, func: str | None = None) -> Totals:
        """What a rank sends and keeps in a function, the only one unless named, and its launches.

        Raises `IRError` for a function that is not inferred yet.
        """
        chosen = self.function(func)
        check_ready(chosen)
        return totals(chosen)

    def explain(self, op: str | None = None, *, arg: str | None = None, steps: bool = False) -> str:
        """What each rewrite would do with an operation or with an argument, as `coconet-opt --explain` prints it.

        `steps` gives those that apply as steps of a schedule. Raises `IRError` unless one of both is named, and the
        program has it.
        """
        from coconet_ir.schedule.explain import explain

        if op is not None and arg is None:
            return explain(make_context(), self.module, "op", op, steps=steps)
        if arg is not None and op is None:
            return explain(make_context(), self.module, "arg", arg, steps=steps)
        raise IRError("explain takes either an operation or arg=")

    def dependences(self) -> str:
        """What waits for what, in Graphviz's language, as `coconet-opt --show-dependences` prints it."""
        from coconet_ir.analysis.graphviz import to_dot

        return to_dot(self.module)

    def _inferred(self) -> Program:
        require_distributed(self.module)
        uninferred = any(map(is_uninferred, functions(self.module, None)))
        return self.infer() if uninferred else self


@dataclass(frozen=True, repr=False)
class Handle:
    """What a step of a schedule named or made: at most one operation of each function."""

    schedule: Schedule
    value: SSAValue

    def __str__(self) -> str:
        return f"%{self.value.name_hint or ''}"

    def __repr__(self) -> str:
        return f"<handle {self} of {self.schedule!r}>"


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
            self._application = apply_sequence(program.module.clone(), sequence)
        self._is_checked = True

    def __str__(self) -> str:
        """The file that `coconet-opt --schedule` applies."""
        return print_module(self._text)

    def __repr__(self) -> str:
        count = sum(1 for _ in steps(self._sequence))
        return f"<schedule '{self._sequence.sym_name.data}' of {count} step(s)>"

    def save(self, path: str) -> None:
        """Write the text to a file.

        Raises `IRError` when it cannot be written, and for a file that holds anything but a schedule of this name.
        """
        if Path(path).is_file():
            check_overwritten(path, self._sequence.sym_name.data)
        with output_file(path) as file:
            file.write(str(self).encode())

    @property
    def program(self) -> Program:
        """The rewritten program as it stands now.

        Raises `IRError` when a step left it invalid, which is a defect of that step.
        """
        if not self._is_checked:
            try:
                check(self._application.module)
            except IRError:
                check_steps(self._baseline.module.clone(), list(steps(self._sequence)))
                raise
            self._is_checked = True
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
        self, op: Selector, *, ops: Sequence[Selector] | None = None, allow_more_bytes: bool = False
    ) -> None:
        """Move an all_gather or broadcast below its readers, as `coconet-reorder` does."""
        names = [self._name(one) for one in ops] if isinstance(ops, list | tuple) else ops
        self._step(ReorderOp, op, ops=names, allow_more_bytes=allow_more_bytes)

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

    @overload
    def combine(self, *, func: str | None = None) -> None: ...

    @overload
    def combine(self, op: Selector, /, *ops: Selector, named: str | None = None) -> Handle: ...

    def combine(
        self, *ops: Selector, named: str | None = None, func: str | None = None
    ) -> Handle | None:
        """Launch collectives as one, as `coconet-combine` does; a handle to the group.

        Without any, all that can be are combined, in one function or in all.
        """
        found = self._step(CombineOp, *ops, named=named, func=func)
        return found[0] if found else None

    def inline(self, op: Selector | None = None, *, func: str | None = None) -> None:
        """Put the operations of a region in its place, as `coconet-inline-schedule` does.

        Without one, of all regions, in one function or in all.
        """
        self._step(InlineOp, *(() if op is None else (op,)), func=func)

    def _step(self, kind: type[Step], *targets: Selector, **options: object) -> tuple[Handle, ...]:
        """Take a step on operations, or without any on the program."""
        if not targets and kind in (FuseOp, OverlapOp):
            raise IRError(f"{kind.word()} takes at least one operation, by its name or a handle")
        with self._all_or_nothing():
            handles = [self._value(target) for target in targets]
            step = self._new(kind, handles, options)
            self._append(step)
        return tuple(Handle(self, result) for result in step.results)

    def _value(self, target: Selector) -> SSAValue:
        return self._find(target, None) if isinstance(target, str) else self._own(target).value

    def _name(self, target: Selector) -> str:
        """The name of an operation, for an option that takes names."""
        if isinstance(target, str):
            return target
        if (name := self._application.name(self._own(target).value)) is None:
            raise IRError(f"handle {target} stands for nothing of one name: give the name")
        return name

    def _own(self, target: object) -> Handle:
        """What is no name must be a handle of this schedule."""
        if not isinstance(target, Handle):
            raise IRError(
                f"takes operations one by one, each by its name or a handle, not {target!r}"
            )
        if target.schedule is not self:
            raise IRError(f"handle {target} belongs to another schedule")
        return target

    def _find(self, name: str, func: str | None) -> SSAValue:
        """The handle of what has this name: of an earlier step, or of one that names it here."""
        step = self._new(NamedOp, (), {"op": name, "func": func})
        found = self._application.find(step)
        for handle, targets in self._application.handles.items():
            if targets.keys() == found.keys() and all(
                targets[func].op is target.op for func, target in found.items()
            ):
                if not any(isinstance(use.operation, CONSUMING) for use in handle.uses):
                    step.erase()
                    return handle
        self._append(step)
        return step.result

    def _new(
        self, kind: type[StepT], handles: Sequence[SSAValue], options: Mapping[str, object]
    ) -> StepT:
        """A step on handles, or without any on the program, that stands nowhere yet. Raises `IRError`."""
        operands = handles or self._sequence.body.block.args
        step = kind.create(operands=operands, result_types=[HANDLE] * kind.count_results(operands))
        try:
            step.properties.update(kind.given(options))
            step.verify()
        except VerifyException as error:
            step.erase()  # or the handles could not be taken back, which it uses
            raise IRError(str(error), step) from None
        return step

    def _append(self, step: Step) -> None:
        block = self._sequence.body.block
        if (last := block.last_op) is not None:
            block.insert_op_before(step, last)
        check_handles(self._sequence)
        self._is_checked = False
        self._application.perform(step)
        for result in step.results:
            names = {target.name for target in self._application.handles[result].values()}
            if len(names) == 1 and SSAValue.is_valid_name(name := names.pop()):
                result.name_hint = name

    @contextmanager
    def _all_or_nothing(self) -> Generator[None]:
        """Take back the steps that were added inside the block when it raises."""
        before = set(steps(self._sequence))
        try:
            with self._recorded(self._remarks):
                yield
        except BaseException:
            added = [step for step in steps(self._sequence) if step not in before]
            for step in reversed(added):
                for result in step.results:
                    self._application.handles.pop(result, None)
                step.detach()
                step.erase()
            if not all(isinstance(step, NamedOp) for step in added):
                baseline = self._baseline.module.clone()
                with collect():
                    self._application = perform_steps(baseline, steps(self._sequence))
            raise

    @contextmanager
    def _recorded(self, earlier: Sequence[Remark]) -> Generator[None]:
        """Keep the remarks of the block, and hand them to whoever else collects."""
        with collect(earlier) as remarks:
            yield
        for remark in remarks[len(earlier) :]:
            emit(remark)
        self._remarks = tuple(remarks)
