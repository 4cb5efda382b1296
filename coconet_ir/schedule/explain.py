"""What can be done with an operation or argument: every rewrite that could concern it, tried on a copy."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from typing import Any, Literal

from xdsl.context import Context
from xdsl.dialects.builtin import ModuleOp
from xdsl.dialects.func import FuncOp
from xdsl.ir import BlockArgument, Operation

from coconet_ir.analysis.totals import Totals, totals
from coconet_ir.diagnostics import op_name, position
from coconet_ir.dialects.regions import RegionOp
from coconet_ir.passes.combine import CombinePass
from coconet_ir.passes.fuse import FusePass
from coconet_ir.passes.inline import InlineSchedulePass
from coconet_ir.passes.overlap import OverlapPass
from coconet_ir.passes.reorder import ReorderPass
from coconet_ir.passes.slice_state import SliceStatePass
from coconet_ir.schedule.remarks import Reason, Remark, collect
from coconet_ir.schedule.rewriting import check_ready, rewritable
from coconet_ir.schedule.selection import (
    by_name,
    find,
    find_arguments,
    functions,
    label_of,
    name_of,
    no_such,
)
from coconet_ir.schedule.variants import Answer, Subject, Variant, variants


def explain(
    ctx: Context,
    module: ModuleOp,
    option: Literal["op", "arg"],
    name: str,
    *,
    steps: bool = False,
) -> str:
    """For each function that has the operation or argument, what every rewrite would do with it.

    With `steps` those that apply, as steps that can be pasted into a schedule. The module stays as it is. Raises
    `IRError` when no function has it, or one is not inferred yet.
    """
    found = _arguments(module, name) if option == "arg" else _operations(module, name)
    subjects = [Subject(func, {option: name}, place) for func, place in found]
    for subject in subjects:
        check_ready(subject.func)
    make = _steps if steps else _lines
    return "\n".join("\n".join(make(ctx, module, subject)) + "\n" for subject in subjects)


def _arguments(module: ModuleOp, name: str) -> list[tuple[FuncOp, BlockArgument]]:
    return find_arguments(module, rewritable(module, None), "arg", (name,))


def _operations(module: ModuleOp, name: str) -> list[tuple[FuncOp, Operation]]:
    """The operation of that name in each function that has one, within regions too."""
    found = rewritable(module, None)
    matches = [(func, _operation(func, name)) for func in found]
    chosen = [(func, op) for func, op in matches if op is not None]
    if not chosen:
        raise no_such(module, "op", name, [known for func in found for known in by_name(func)])
    return chosen


def _operation(func: FuncOp, name: str) -> Operation | None:
    inside = (op for op in func.walk() if isinstance(op.parent_op(), RegionOp))
    return find(func, name) or next((op for op in inside if name_of(op) == name), None)


def _lines(ctx: Context, module: ModuleOp, subject: Subject) -> Iterator[str]:
    before = totals(subject.func)
    yield _head(subject)
    yield "  now: " + ", ".join(f"{word} {text}" for word, text in before.rows())
    others: list[str] = []
    for rewrite, answer in _answers(subject):
        if isinstance(answer, str):
            others.append(f"{rewrite} ({answer})")
            continue
        for variant in answer:
            yield from _tried(ctx, module, subject, before, variant)
    if others:
        yield f"  does not concern it: {', '.join(others)}"


def _steps(ctx: Context, module: ModuleOp, subject: Subject) -> Iterator[str]:
    """What applies, as steps of a schedule below a comment that says what they do."""
    before = totals(subject.func)
    yield f"// {_head(subject)}"
    for _, answer in _answers(subject):
        for variant in () if isinstance(answer, str) else answer:
            for tried, remarks, copy in _trials(ctx, module, variant):
                if all(remark.applied for remark in remarks):
                    yield f"// {_verdict(remarks, subject, before, copy)}"
                    yield from as_steps(module, tried)


def _head(subject: Subject) -> str:
    place = subject.place
    if isinstance(place, BlockArgument):
        label, what, types = subject.selector["arg"], "argument", str(place.type)
    else:
        label, what = label_of(place), op_name(place)
        types = ", ".join(str(result.type) for result in place.results) or "no result"
    where = "" if (at := position(place)) is None else f"{at}: "
    return f"{where}'{label}' in @{subject.func.sym_name.data}: {what} : {types}"


def _answers(subject: Subject) -> Iterator[tuple[str, Answer]]:
    """What to try; of an operation within a region only that the region is inlined."""
    place = subject.place
    if isinstance(place, BlockArgument) or place.parent_op() is subject.func:
        yield from variants(subject)
        return
    region = subject.dependences.top(place)
    if (name := subject.names.get(region)) is None:
        where = f"a {region.name} without a name"
        yield "inline-schedule", [subject.elsewhere(InlineSchedulePass)]
    else:
        where = f"{region.name} '{name}'"
        yield "inline-schedule", [subject.elsewhere(InlineSchedulePass, op=name)]
    yield (
        "every other rewrite",
        f"it stands in {where}, and what stands in a region is no target: inline it first",
    )


def _tried(
    ctx: Context, module: ModuleOp, subject: Subject, before: Totals, variant: Variant
) -> Iterator[str]:
    """What a variant does, on one line; and where it is declined for its bytes, what it does if they are allowed."""
    for tried, remarks, copy in _trials(ctx, module, variant):
        yield f"  {tried}: {_verdict(remarks, subject, before, copy)}"


def _trials(
    ctx: Context, module: ModuleOp, variant: Variant
) -> Iterator[tuple[Variant, Sequence[Remark], ModuleOp]]:
    """A variant, its remarks and what it made; where it is declined for its bytes, also that which allows them."""
    copy = module.clone()
    with collect() as remarks:
        variant.make().apply(ctx, copy)
    yield variant, remarks, copy
    if any(remark.reason is Reason.MORE_BYTES for remark in remarks):
        more = Variant(ReorderPass, {**variant.options, "allow_more_bytes": True})
        yield from _trials(ctx, module, more)


def _verdict(remarks: Sequence[Remark], subject: Subject, before: Totals, copy: ModuleOp) -> str:
    for remark in remarks:
        if not remark.applied:
            return f"declines [{remark.reason}]: {remark.message}"
    (func,) = functions(copy, subject.func.sym_name.data)
    after = totals(func, subject.func)
    rows = zip(before.rows(), after.rows(), strict=True)
    changes = [f"{word} {old} -> {new}" for (word, old), (_, new) in rows if old != new]
    did = "; ".join(remark.message for remark in remarks)
    return f"applies: {did}; in all {', '.join(changes) or 'as before'}"


def as_steps(module: ModuleOp, variant: Variant) -> list[str]:
    """The steps of a schedule that do what a variant does, one a line."""
    from coconet_ir.program import Program

    options: dict[str, Any] = dict(variant.options)
    func = options.pop("func", None)
    targets: Sequence[str] = ()
    if "op" in options:
        targets = (options.pop("op"),)
    elif variant.kind in (FusePass, OverlapPass, CombinePass):
        targets = options.pop("ops")
    with collect():
        schedule = Program(module).schedule()
        given: list[Any] = [schedule.named(name, func=func) for name in targets]
        if variant.kind is SliceStatePass:
            given = options.pop("args")
        if not targets and func is not None:
            options["func"] = func
        word = "slice_argument" if "arg" in options else _word(variant)
        call: Callable[..., object] = getattr(schedule, word)
        call(*given, **options)
    return str(schedule).splitlines()[2:-3]


def _word(variant: Variant) -> str:
    """What the step that does as a pass is called."""
    if variant.kind is InlineSchedulePass:
        return "inline"
    return variant.kind.name.removeprefix("coconet-").replace("-", "_")
