"""Put the layouts that stand as `layout.of` on arguments and results into the types of a function."""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass

from xdsl.context import Context
from xdsl.dialects.builtin import ArrayAttr, DictionaryAttr, FunctionType, ModuleOp
from xdsl.dialects.func import FuncOp, ReturnOp
from xdsl.ir import Block, Operation, OpResult, SSAValue
from xdsl.passes import ModulePass
from xdsl.traits import IsTerminator

from coconet_ir.analysis.dist import Dist, LayoutError, Partial
from coconet_ir.analysis.inference import align, propagate
from coconet_ir.analysis.rules import LAYOUT_OF, can_make, is_uninferred, operand_dists, rule_of
from coconet_ir.diagnostics import IRError
from coconet_ir.dialects.attributes import DistAttr, axes_text, dist_of, with_dist
from coconet_ir.dialects.comp import UpdateOp
from coconet_ir.dialects.folds import lay, remade
from coconet_ir.dialects.regions import RegionOp
from coconet_ir.passes.views import view_name, views
from coconet_ir.schedule.remarks import Refused, Remark, emit, location_of
from coconet_ir.schedule.rewriting import rewritable
from coconet_ir.schedule.selection import Names, called
from coconet_ir.xdsl_compat import set_type


@dataclass(frozen=True)
class InferPass(ModulePass):
    """Infer the layouts of functions whose arguments or results carry `layout.of`.

    Reads and leaves the distributed level. Inserts layout.slice, and layout.relax of replicated values; where a
    collective would be needed it stops and names it. Functions that carry no `layout.of` stay as they are.
    """

    name = "coconet-infer"

    func: str | None = None

    def apply(self, ctx: Context, op: ModuleOp) -> None:
        for func in rewritable(op, self.func):
            infer(func)


def infer(func: FuncOp) -> Remark | None:
    """Infer the layouts of one function, and emit its remark; None if they stand in its types already.

    Raises `IRError` where it would need a collective.
    """
    if not is_uninferred(func):
        return None
    wanted = [_layout(func.res_attrs, i) for i in range(len(func.function_type.outputs))]
    for index, arg in enumerate(func.body.block.args):
        set_type(arg, with_dist(arg.type, _layout(func.arg_attrs, index)))
    inference = _Inference(func)
    inference.block(func.body.block)
    last = func.body.block.last_op
    if isinstance(last, ReturnOp):
        for index, dist in enumerate(wanted):
            inference.returned(last, index, dist)
    outputs = [with_dist(t, d) for t, d in zip(func.function_type.outputs, wanted, strict=True)]
    inputs = [arg.type for arg in func.body.block.args]
    func.function_type = FunctionType.from_lists(inputs, outputs)
    func.arg_attrs, func.res_attrs = _without(func.arg_attrs), _without(func.res_attrs)
    made = [f"{count} {name}" for name, count in sorted(inference.inserted.items())]
    remark = Remark(
        "infer",
        func.sym_name.data,
        location_of(func),
        f"inserted {' and '.join(made) or 'nothing'}",
    )
    emit(remark)
    return remark


def _layout(attributes: ArrayAttr[DictionaryAttr] | None, index: int) -> Dist:
    layout = None if attributes is None else attributes.data[index].data.get(LAYOUT_OF)
    return layout.data if isinstance(layout, DistAttr) else Dist()


def _without(attributes: ArrayAttr[DictionaryAttr] | None) -> ArrayAttr[DictionaryAttr] | None:
    """The attributes less `layout.of`; None when nothing is left."""
    if attributes is None:
        return None
    left = [{k: v for k, v in entry.data.items() if k != LAYOUT_OF} for entry in attributes]
    return ArrayAttr(map(DictionaryAttr, left)) if any(left) else None


class _Inference:
    """Walks a function forwards and gives each result the layout that its rule makes of the operands."""

    def __init__(self, func: FuncOp):
        self.names = Names(func)
        self.made: dict[tuple[SSAValue, Dist, Block], SSAValue] = {}
        """What stands for a value in another layout, for readers in one block."""
        self.inserted: Counter[str] = Counter()

    def block(self, block: Block) -> None:
        for op in list(block.ops):
            if isinstance(op, RegionOp):
                self.block(op.body.block)
                for result, value in zip(op.results, op.yielded, strict=True):
                    set_type(result, value.type)
            elif not op.has_trait(IsTerminator):
                self.operation(op)

    def operation(self, op: Operation) -> None:
        """Give the results of `op` their layouts, slicing or relaxing replicated operands where needed."""
        rule = rule_of(op)
        have = operand_dists(op)
        if rule is None:
            if any(have):
                raise IRError("states no dimension rule, so its operands must be replicated", op)
            return
        try:
            need = align(rule, have)
            results = propagate(rule, need)
        except Refused as refused:
            raise IRError(f"cannot be inferred: {refused.message}", op) from refused
        if isinstance(op, UpdateOp) and need[0] != have[0]:
            raise IRError(
                f"cannot be inferred: the value is {have[1]}, but the target {have[0]}: "
                f"{_collective(have[1])} first",
                op,
            )
        for index, (old, new) in enumerate(zip(have, need, strict=True)):
            if old != new:
                op.operands[index] = self.view(op.operands[index], new, op)
        for result, dist in zip(op.results, results, strict=True):
            set_type(result, with_dist(result.type, dist))

    def returned(self, op: ReturnOp, index: int, dist: Dist) -> None:
        """Bring a returned value into the layout that its function promises."""
        value = op.operands[index]
        try:
            op.operands[index] = self.view(value, dist, op)
        except LayoutError as error:
            have = dist_of(value.type)
            raise IRError(
                f"returns result {index} as {have}, but the function promises {dist}: "
                f"{_collective(have)} first",
                op,
            ) from error

    def view(self, value: SSAValue, dist: Dist, reader: Operation) -> SSAValue:
        """The value in another layout, by operations inserted before its first reader."""
        block = reader.parent
        if dist_of(value.type) == dist or block is None:
            return value
        if (found := self.made.get((value, dist, block))) is not None:
            return found
        if isinstance(value, OpResult) and can_make(value.op, dist):
            if value.uses.get_length() == 1:
                lay(value, dist)
                return value
            made: list[Operation] = [remade(value, dist)]
        else:
            made = views(value, dist)
        for op in made:
            op.location = reader.location
            op.results[0].name_hint = self.names.fresh(view_name(op, called(value)))
            self.inserted[op.name] += 1
        block.insert_ops_before(made, reader)
        return self.made.setdefault((value, dist, block), made[-1].results[0])


def _collective(dist: Dist) -> str:
    """The collective that would make a layout replicated, as advice."""
    partial = [(axis, s.kind) for axis, s in dist.states if isinstance(s, Partial)]
    if partial:
        axes = axes_text([axis for axis, _ in partial])
        return f"reduce it with coll.all_reduce {partial[0][1]} over {axes}"
    if dist.cuts:
        return f"gather it with coll.all_gather over {axes_text(dist.cuts[0].axes)}"
    if dist.states:
        axes = axes_text([axis for axis, _ in dist.states])
        return f"make it replicated with coll.all_reduce or coll.broadcast over {axes}"
    return "change the layout that is promised, or write the collective that is meant,"
