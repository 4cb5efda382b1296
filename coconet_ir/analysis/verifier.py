"""What holds for a whole program at the distributed level, checked after every pass (design, sections 2, 4, 5).

Operations check themselves (`verify`), with their rules; here is what no operation can see alone: the mesh,
layouts against shapes, updates and what reads their targets, dropouts that share an id, and whether custom
operations compute what their rules say.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence

from xdsl.dialects.builtin import (
    AnyFloat,
    IndexType,
    IntegerType,
    ModuleOp,
    NoneAttr,
    StringAttr,
    TensorType,
    UnitAttr,
)
from xdsl.dialects.func import CallOp, FuncOp
from xdsl.ir import Attribute, Block, BlockArgument, Operation, OpResult, SSAValue
from xdsl.irdl import IRDLOperation
from xdsl.traits import IsTerminator
from xdsl.utils.exceptions import VerifyException

from coconet_ir.analysis.chunks import check_overlap
from coconet_ir.analysis.dist import Partial
from coconet_ir.analysis.fusion import check_fused
from coconet_ir.analysis.memory import data_uses
from coconet_ir.analysis.rules import LAYOUT_OF, HasRule, OneRank, is_uninferred
from coconet_ir.diagnostics import IRError
from coconet_ir.dialects import OWN
from coconet_ir.dialects.attributes import AxesAttr, DistAttr, as_tensor, dist_of, with_dist
from coconet_ir.dialects.comp import DropoutOp, UpdateOp
from coconet_ir.dialects.custom import CustomOp, DefineOp
from coconet_ir.dialects.layout import MeshOp
from coconet_ir.dialects.regions import FusedOp, OverlapOp, RegionOp
from coconet_ir.schedule.remarks import Refused
from coconet_ir.schedule.selection import NAME, name_problem

_NUMBERS = (AnyFloat, IntegerType, IndexType)

LEVEL = "coconet.level"
"""The module attribute that names a level below the distributed one."""

STATE = "coconet.state"
"""Marks an argument that nobody outside needs whole."""

SCATTERED = "coconet.scattered"
"""Marks an argument that is many buffers seen as one tensor."""

SCHEDULE = "transform.with_named_sequence"
"""Marks a module that holds schedules and no program."""

RESLICED = "coconet.resliced"
"""Marks an argument with the type that it had before coconet-slice-state."""

PEAK = "coconet.peak"
"""The function attribute that says how many bytes a function sets aside at most, without what aligns them, for sizes of
at least 1: those of its arena, and below the level `buffer` what kernels leave for one another too."""


def verify_program(module: ModuleOp) -> None:
    """Check a module, whose operations and dominance are checked, as a program of its level: mostly a distributed one.

    `frontend.check` does all three. Raises `IRError` at the first thing wrong. A module of schedules is checked as
    such.
    """
    if is_schedule(module):
        # Programs do not pay for the dialect `transform`.
        from coconet_ir.schedule.script import check_schedules

        check_schedules(module)
        return
    if level_of(module) is not None:
        from coconet_ir.lowering.levels import verify_level  # it uses checks of this file

        verify_level(module)
        return
    layouts = _Layouts(the_mesh(module))
    for op in module.ops:
        if isinstance(op, FuncOp):
            _check_function(op, layouts)
        elif op.name.startswith("transform."):
            raise _misplaced_step(op)
        elif isinstance(op, ModuleOp):
            raise _second_module(op)
        elif op.regions and not isinstance(op, DefineOp):
            raise IRError(
                "has a region: at the top stand layout.mesh, func.func and comp.define", op
            )
        if op.attributes:
            check_attributes(op)
        if isinstance(op, DefineOp):
            # Only programs with custom operations pay for NumPy and the simulator.
            from coconet_ir.analysis.check_customs import check_definition

            for inner in op.body.walk():
                check_attributes(inner)
            check_definition(op)


def check_ends(module: ModuleOp) -> None:
    """Raise `IRError` for a schedule without an end, of which xDSL says less."""
    if is_schedule(module):
        from coconet_ir.schedule.script import check_ends

        check_ends(module)


def is_schedule(module: ModuleOp) -> bool:
    """Whether the module holds schedules and no program."""
    return SCHEDULE in module.attributes


def level_of(module: ModuleOp) -> Attribute | None:
    """The level that a module states; of device code alone "device", even if it states none; None if distributed."""
    stated = module.attributes.get(LEVEL)
    return StringAttr("device") if stated is None and is_device_code(module) else stated


def is_device_code(module: ModuleOp) -> bool:
    """Whether the module holds device code alone: functions and memory of `llvm`, or one module of them."""
    names = {op.name for op in module.ops}
    return bool(names) and names <= {"llvm.func", "llvm.mlir.global", "gpu.module"}


def require_distributed(module: ModuleOp) -> None:
    """Raise `IRError` for a program below the distributed level, where rewrites and runs find nothing of theirs."""
    if (level := level_of(module)) is not None:
        raise IRError(
            f"is at level {level}, and rewrites, schedules, explanations and runs take a distributed program: do that "
            "before coconet-lower, as in -p coconet-schedule{file=FILE},coconet-lower",
            module,
        )


def _misplaced_step(op: Operation) -> IRError:
    return IRError(
        "is part of a schedule, not of a program: schedules stand in files of their own, in a module with the "
        f"attribute {SCHEDULE}",
        op,
    )


def _second_module(module: ModuleOp) -> IRError:
    what = (
        "schedules are one module: put its sequences into it"
        if is_schedule(module)
        else (
            "a program is one module; parts between '// -----' lines are read apart with --split-input-file"
        )
    )
    return IRError(f"is one of several modules of a file, or stands in another; {what}", module)


def unknown_axis(module: ModuleOp) -> IRError | None:
    """The error for the first axis that the mesh lacks, if there is one, in a module that need not be checked."""
    meshes = [op for op in module.ops if isinstance(op, MeshOp)]
    try:
        for mesh in meshes:
            mesh.verify()
    except VerifyException:
        return None
    layouts = _Layouts(meshes[0] if len(meshes) == 1 else None)
    programs = (op for op in module.ops if op.name != "gpu.module")  # kernels name no axes
    try:
        for op in (op for program in programs for op in program.walk()):
            values = (
                *op.results,
                *(arg for region in op.regions for b in region.blocks for arg in b.args),
            )
            for value in values:
                layouts.check_axes(dist_of(value.type).axes(), op)
            axes = op.properties.get("axes")
            if isinstance(axes, AxesAttr):
                layouts.check_axes(axes.data, op)
    except IRError as error:
        return error
    return None


def the_mesh(module: ModuleOp) -> MeshOp | None:
    """The mesh of a module, if it has one. Raises `IRError` for a second one."""
    meshes = [op for op in module.ops if isinstance(op, MeshOp)]
    if len(meshes) > 1:
        raise IRError(
            "is the second mesh: a module has one, with all axes",
            meshes[1],
            [("the first mesh is here", meshes[0])],
        )
    return meshes[0] if meshes else None


class _Layouts:
    """Checks layouts against shapes and the mesh, each type once."""

    def __init__(self, mesh: MeshOp | None):
        self.mesh = mesh
        self.axes = frozenset(() if mesh is None else mesh.axes.data)
        self.seen: dict[int, Attribute] = {}

    def check_type(self, type: Attribute, op: Operation) -> None:
        """Raises `IRError` at `op` when the layout of a tensor type cannot be."""
        if id(type) in self.seen:
            return
        self.seen[id(type)] = type
        tensor = as_tensor(type)
        if not isinstance(type if tensor is None else tensor.element_type, _NUMBERS):
            raise IRError(
                f"has the type {type}: a distributed program has floats, integers and index, and "
                "tensors of these",
                op,
            )
        if tensor is None:
            return
        if not isinstance(tensor.encoding, NoneAttr):
            if not isinstance(tensor.encoding, DistAttr):
                raise IRError(
                    f"has the encoding {tensor.encoding}: a layout is #layout.dist<…>", op
                )
            self.check_dist(tensor.encoding, tensor, op)

    def check_dist(self, dist: DistAttr, type: TensorType[Attribute], op: Operation) -> None:
        """Raises `IRError` at `op` when this layout does not fit the tensor or the mesh."""
        if (problem := dist.verify_rank(len(type.shape.data))) is not None:
            raise IRError(f"has the layout {dist.data}: {problem}", op)
        self.check_axes(dist.data.axes(), op)

    def check_axes(self, axes: Iterator[str] | tuple[str, ...], op: Operation) -> None:
        """Raises `IRError` at `op` when the mesh lacks one of the axes."""
        for axis in axes:
            if axis in self.axes:
                continue
            if self.mesh is None:
                raise IRError(
                    f"names the axis '{axis}', but the module has no mesh: add layout.mesh "
                    f"@mesh({axis} = 8)",
                    op,
                )
            raise IRError(
                f"names the axis '{axis}', which the mesh lacks; it has {', '.join(sorted(self.axes))}",
                op,
                [("the mesh is here", self.mesh)],
            )


def _check_function(func: FuncOp, layouts: _Layouts) -> None:
    if not func.body.blocks:
        raise IRError("has no body: nothing outside the module can be called, so give it one", func)
    if len(func.body.blocks) > 1:
        raise IRError("has several blocks: a distributed program has no control flow", func)
    uninferred = is_uninferred(func)
    _check_signature(func, layouts, uninferred)
    order = list(_in_order(func.body.block))
    seen = layouts.seen
    for op in order:
        for result in op.results:
            if id(result.type) not in seen:
                layouts.check_type(result.type, op)
            if uninferred and dist_of(result.type):
                raise IRError(
                    f"has a layout in a function that is not inferred yet: leave layouts to {LAYOUT_OF} "
                    "and coconet-infer, or write them all",
                    op,
                )
        axes = op.properties.get("axes")
        if isinstance(axes, AxesAttr):
            layouts.check_axes(axes.data, op)
        _check_ruled(op)
        if op.attributes:
            check_attributes(op)
    check_updates(func, order)
    _check_dropouts(order)
    _check_customs(order)
    if not uninferred:
        _check_regions(order)


def _in_order(block: Block) -> Iterator[Operation]:
    """The operations of a function in the order in which they run, regions inlined."""
    for op in block.ops:
        yield op
        if op.__class__ in (MeshOp, DefineOp):
            raise IRError("belongs at the top of the module", op)
        if not op.regions:
            continue
        if not isinstance(op, RegionOp):
            raise IRError("has a region: a distributed program has no control flow", op)
        yield from _in_order(op.body.block)


_ruled: dict[type[Operation], bool] = {}
"""Whether the operations of a class have a rule, or need none."""


def _check_ruled(op: Operation) -> None:
    """What states no rule says nothing of layouts, so it has none."""
    kind = op.__class__
    if kind is CallOp:
        raise IRError(
            "calls a function: a distributed program has no calls, so write it out here", op
        )
    if kind not in _ruled:
        if kind.name.startswith("transform."):
            raise _misplaced_step(op)
        if kind.has_trait(OneRank, value_if_unregistered=False):
            raise IRError(
                "belongs to the program of one rank, which coconet-lower-to-ranks makes (its module has "
                f'{LEVEL} = "rank")',
                op,
            )
        ruled = kind.has_trait(HasRule, value_if_unregistered=False)
        _ruled[kind] = ruled or issubclass(kind, RegionOp) or kind.has_trait(IsTerminator)
    if not _ruled[kind] and any(dist_of(value.type) for value in (*op.operands, *op.results)):
        raise IRError("states no dimension rule, so its tensors must be replicated", op)


def check_attributes(op: Operation) -> None:
    """Raise `IRError` for an attribute that our operations do not know: an option misspelt, or of another operation.

    And for a name that is none.
    """
    check_prefixed(op.attributes, (NAME, PEAK) if isinstance(op, FuncOp) else (NAME,), op)
    _check_name(op)
    if not isinstance(op, IRDLOperation) or op.name.split(".")[0] not in OWN:
        return
    for name in op.attributes:
        if "." not in name:
            takes = ", ".join(op.get_irdl_definition().properties)
            raise IRError(
                f"has no attribute '{name}'; it has {takes or 'none'} (a note of your own is 'my.{name}')",
                op,
            )


def _check_name(op: Operation) -> None:
    if (given := op.attributes.get(NAME)) is None:
        return
    if not isinstance(given, StringAttr):
        raise IRError(f"has {NAME} = {given}: a name is a string", op)
    if (problem := name_problem(given.data)) is not None:
        raise IRError(f"has {NAME} = {given}, which {problem}", op)


def check_prefixed(names: Iterable[str], known: Sequence[str], op: Operation) -> None:
    """Raise `IRError` at `op` for an attribute that begins as the project's own do and is not one of `known`."""
    for name in names:
        if name.split(".")[0] in ("coconet", *OWN) and name not in known:
            raise IRError(
                f"has an unknown attribute '{name}'; here may stand {', '.join(known)}", op
            )


def _check_signature(func: FuncOp, layouts: _Layouts, uninferred: bool) -> None:
    for attributes, types, known in (
        (func.arg_attrs, func.function_type.inputs, (STATE, SCATTERED, RESLICED, LAYOUT_OF)),
        (func.res_attrs, func.function_type.outputs, (LAYOUT_OF,)),
    ):
        for type in types:
            layouts.check_type(type, func)
        if attributes is None:
            continue
        if len(attributes) != len(types):
            raise IRError(
                f"has {len(types)} types but {len(attributes)} dictionaries for them", func
            )
        for entry, type in zip(attributes, types, strict=True):
            check_prefixed(entry.data, known, func)
            _check_marks(func, entry.data, type, layouts)
    for arg in func.body.block.args:
        promised = (
            None if func.arg_attrs is None else func.arg_attrs.data[arg.index].data.get(LAYOUT_OF)
        )
        dist = promised.data if isinstance(promised, DistAttr) else dist_of(arg.type)
        if dist.has(Partial):
            raise IRError(
                f"takes {_name(arg)} as {dist}: an argument is never partial; make it local", func
            )
        if uninferred and dist_of(arg.type):
            raise IRError(f"gives {_name(arg)} a layout both in its type and elsewhere", func)


def _check_marks(
    func: FuncOp, marks: Mapping[str, Attribute], type: Attribute, layouts: _Layouts
) -> None:
    for mark in (STATE, SCATTERED):
        if mark in marks and not (
            as_tensor(type) is not None and isinstance(marks[mark], UnitAttr)
        ):
            raise IRError(
                f"marks a {type} as {mark}: the mark takes no value and is for tensors", func
            )
    if (former := marks.get(RESLICED)) is not None:
        if as_tensor(former) is not None:
            layouts.check_type(former, func)
        if former == type or with_dist(former, dist_of(type)) != type:
            raise IRError(
                f"has {RESLICED} = {former} on a {type}: it takes a tensor type that differs from this in the "
                "layout alone",
                func,
            )
    if (layout := marks.get(LAYOUT_OF)) is None:
        return
    if not isinstance(layout, DistAttr) or (tensor := as_tensor(type)) is None:
        raise IRError(
            f"has {LAYOUT_OF} = {layout} on a {type}: it takes #layout.dist<…> of a tensor", func
        )
    layouts.check_dist(layout, tensor, func)


def _name(value: SSAValue) -> str:
    if value.name_hint is not None:
        return f"%{value.name_hint}"
    index = value.index if isinstance(value, BlockArgument | OpResult) else 0
    return f"argument {index}"


def check_updates(func: FuncOp, order: list[Operation]) -> None:
    """Raise `IRError` unless updates store into arguments, once each, behind what reads those; `order` is what runs."""
    updates: dict[SSAValue, UpdateOp] = {}
    for op in order:
        if not isinstance(op, UpdateOp):
            continue
        target = op.target
        if not isinstance(target, BlockArgument) or target.block is not func.body.block:
            raise IRError(
                "updates a value that is no argument of the function: only those are stored into",
                op,
            )
        if target in updates:
            raise IRError(
                f"updates {_name(target)} a second time; an argument is updated once",
                op,
                [("the first update is here", updates[target])],
            )
        updates[target] = op
    if not updates:
        return
    place = {op: i for i, op in enumerate(order)}
    for target, update in updates.items():
        for reader, _ in data_uses(target):
            if reader is not update and place[reader] > place[update]:
                raise IRError(
                    f"reads {_name(target)} after its update; read the update's result instead, or read "
                    "before it",
                    reader,
                    [("the update is here", update)],
                )


def _check_dropouts(order: list[Operation]) -> None:
    seen: dict[int, DropoutOp] = {}
    for op in order:
        if isinstance(op, DropoutOp):
            other = seen.setdefault(op.id.value.data, op)
            if other is not op:
                raise IRError(
                    f"has the id {op.id.value.data} of another dropout; give each its own, or both drop "
                    "the same elements",
                    op,
                    [("the other one is here", other)],
                )


def _check_regions(order: list[Operation]) -> None:
    """What is written by hand obeys the rules of the passes."""
    for op in order:
        if isinstance(op, FusedOp):
            try:
                check_fused(op.steps)
            except Refused as refused:
                raise IRError(f"cannot be one kernel: {refused.message}", op) from None
    for op in order:
        if isinstance(op, OverlapOp):
            dim = None if op.dim is None else op.dim.value.data
            try:
                check_overlap(op.steps, dim)
            except Refused as refused:
                raise IRError(f"cannot work chunk by chunk: {refused.message}", op) from None


def _check_customs(order: list[Operation]) -> None:
    """Validate those that Python declares where they are used; others are validated where they are defined."""
    for op in order:
        if isinstance(op, CustomOp) and op.definition is None:
            from coconet_ir.analysis.check_customs import check_declared

            check_declared(op)
