"""Schedules as text: modules of `transform` IR that hold one schedule a sequence (design, section 6).

module attributes {transform.with_named_sequence} {
  transform.named_sequence @split(%program: !transform.any_op) {
    %avg = transform.coconet.named "avg" in %program
    %avg_rs, %avg_ag = transform.coconet.split %avg
    transform.yield
  }
}
"""

from __future__ import annotations

from collections.abc import Iterator
from difflib import get_close_matches
from pathlib import Path

from xdsl.dialects.builtin import FunctionType, ModuleOp, UnitAttr
from xdsl.dialects.transform import NamedSequenceOp, YieldOp
from xdsl.ir import Block, Region, SSAValue
from xdsl.utils.exceptions import ParseError

from coconet_ir.analysis.verifier import LEVEL, SCHEDULE, is_schedule
from coconet_ir.diagnostics import IRError
from coconet_ir.dialects.transform import (
    CONSUMING,
    HANDLE,
    STEPS,
    CombineOp,
    InlineOp,
    NamedOp,
    SliceOp,
    SliceStateOp,
    Step,
)
from coconet_ir.frontend import check, make_context, parse_program, read_source, source_name

_NO_SCHEDULE = "is no schedule: a schedule takes one argument, the program as !transform.any_op, and gives no result"


def load_sequence(reference: str) -> NamedSequenceOp:
    """The schedule that `FILE` or `FILE:name` refers to; a file of the whole name goes first.

    Raises `ParseError` or `IRError`, also when there is no such file or schedule in it.
    """
    path, name = split_reference(reference)
    return parse_sequence(read_source(path), source_name(path), name)


def split_reference(reference: str) -> tuple[str, str | None]:
    """The file that `FILE` or `FILE:name` refers to, and the name of the schedule in it.

    Raises `IRError` when there is neither a file `FILE:name` nor `FILE`.
    """
    path, colon, name = reference.rpartition(":")
    if not colon or Path(reference).exists():
        return reference, None
    if path != "-" and not Path(path).exists():
        raise IRError(f"cannot read '{reference}': there is no such file, and none named '{path}'")
    return path, name


def parse_sequence(text: str, file: str, name: str | None = None) -> NamedSequenceOp:
    """The schedule of that name in a text, or its only one; diagnostics call the text `file`.

    Raises `ParseError` or `IRError`.
    """
    module = parse_program(make_context(), text, file)
    if not is_schedule(module):
        raise IRError(
            f"is no schedule: a schedule is a module with the attribute {SCHEDULE}", module
        )
    found = {op.sym_name.data: op for op in module.ops if isinstance(op, NamedSequenceOp)}
    listed = ", ".join(found) or "none"
    if name is not None:
        if name in found:
            return found[name]
        close = get_close_matches(name, found, n=1)
        guess = f"; did you mean '{close[0]}'?" if close else ""
        raise IRError(f"has no schedule named '{name}'{guess} (there are: {listed})", module)
    if not found:
        raise IRError(f"holds no schedule: a schedule is a {NamedSequenceOp.name}", module)
    if len(found) != 1:
        raise IRError(
            f"holds {len(found)} schedules, so {file}:NAME says which; there are: {listed}", module
        )
    return next(iter(found.values()))


def check_overwritten(path: str, name: str) -> None:
    """Raise `IRError` when a file, written anew, would lose anything but a schedule of this name."""
    text = read_source(path)
    if not text.strip():
        return
    try:
        module = parse_program(make_context(), text, path)
    except (ParseError, IRError):
        module = None
    if module is None or not is_schedule(module):
        raise IRError(
            f"cannot write '{path}': it holds something else than schedules, which would be lost"
        )
    others = [
        op.sym_name.data
        for op in module.ops
        if isinstance(op, NamedSequenceOp) and op.sym_name.data != name
    ]
    if others:
        raise IRError(
            f"cannot write '{path}': it holds other schedules, which would be lost: {', '.join(others)}; "
            "save to another"
        )


def new_sequence(name: str) -> NamedSequenceOp:
    """A schedule without steps, which stands in no module yet. Raises `IRError` for a name that is no text."""
    if not isinstance(name, str):  # pyright: ignore[reportUnnecessaryIsInstance]
        raise IRError(f"a schedule has a text for a name, not {name!r}")
    block = Block(arg_types=(HANDLE,))
    block.args[0].name_hint = "program"
    block.add_op(YieldOp())
    return NamedSequenceOp(name, ([HANDLE], []), Region(block))


def alone(sequence: NamedSequenceOp) -> ModuleOp:
    """Put a schedule into a module of its own. Raises `IRError` if it is not valid."""
    if sequence.parent is not None:
        sequence.detach()
    module = ModuleOp([sequence], {SCHEDULE: UnitAttr()})
    check(module)
    return module


def check_schedules(module: ModuleOp) -> None:
    """Check a module, whose operations and dominance are checked, as one of schedules. Raises `IRError`."""
    if LEVEL in module.attributes:
        raise IRError(f"holds schedules, which have no level: leave {LEVEL} out", module)
    for op in module.ops:
        if not isinstance(op, NamedSequenceOp):
            raise IRError(
                "is no part of a schedule: such a module holds transform.named_sequence alone, and a program "
                "stands in a file of its own",
                op,
            )
        _check_sequence(op)


def check_ends(module: ModuleOp) -> None:
    """Raise `IRError` for a schedule without a type or its last operation, of which xDSL says less, or fails."""
    for op in module.ops:
        if isinstance(op, NamedSequenceOp) and len(op.body.blocks) == 1:
            if not isinstance(op.properties.get("function_type"), FunctionType):
                raise IRError(_NO_SCHEDULE, op)
            if not isinstance(op.body.block.last_op, YieldOp):
                raise IRError("does not end in transform.yield", op)


def _check_sequence(sequence: NamedSequenceOp) -> None:
    name = sequence.sym_name.data
    if not name or ":" in name:
        raise IRError(
            f"is named '{name}', which FILE:NAME cannot select: a name has no ':'", sequence
        )
    block = sequence.body.block
    type = FunctionType.from_lists([HANDLE], [])
    if tuple(block.arg_types) != (HANDLE,) or sequence.function_type != type:
        raise IRError(_NO_SCHEDULE, sequence)
    for op in block.ops:
        if op is not block.last_op and not isinstance(op, Step):
            known = ", ".join(step.name for step in STEPS)
            raise IRError(f"is no step of a schedule; there are {known}", op)
    check_handles(sequence)


def steps(sequence: NamedSequenceOp) -> Iterator[Step]:
    """What a schedule does, in order."""
    return (op for op in sequence.body.block.ops if isinstance(op, Step))


def check_handles(sequence: NamedSequenceOp) -> None:
    """Raise `IRError` for a step on the program that wants an operation, or the reverse, and for a consumed handle."""
    program = sequence.body.block.args[0]
    consumers: dict[SSAValue, Step] = {}
    for step in steps(sequence):
        _check_kind(step)
        for index, handle in enumerate(step.operands):
            if handle in step.operands[:index]:
                raise IRError(f"takes {spelt(handle)} twice", step)
            if (consumer := consumers.get(handle)) is not None:
                raise IRError(
                    f"takes {spelt(handle)}, which stands for nothing any more: {consumer.word()} made something "
                    "else of its operation",
                    step,
                    [(f"the {consumer.word()} is here", consumer)],
                )
        if isinstance(step, CONSUMING):
            consumers.update((handle, step) for handle in step.operands if handle is not program)


def _check_kind(step: Step) -> None:
    """Raise `IRError` for a step on the program that wants an operation, or the reverse."""
    if step.is_on_program and len(step.operands) > 1:
        raise IRError("takes the program beside operations: it takes one or the other", step)
    wants_program = isinstance(step, NamedOp | SliceStateOp) or "arg" in step.properties
    if step.is_on_program == wants_program or isinstance(step, CombineOp | InlineOp):
        return
    if step.is_on_program:
        hint = ", or an argument with arg =" if isinstance(step, SliceOp) else ""
        raise IRError(
            f'takes an operation, not the program: name one with {NamedOp.name} "…"{hint}', step
        )
    hint = " with arg =" if isinstance(step, SliceOp) else ""
    raise IRError(
        f"takes the program{hint}, that is the argument of the schedule, not an operation", step
    )


def spelt(handle: SSAValue) -> str:
    """A handle in messages."""
    return "a handle" if handle.name_hint is None else f"%{handle.name_hint}"
