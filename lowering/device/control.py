"""The body of a kernel, block by block: branches and loops become blocks, each other operation what its rule says."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any

from xdsl.dialects import scf
from xdsl.ir import Attribute, Block, Operation, SSAValue

from coconet_ir.diagnostics import IRError
from coconet_ir.dialects.llvm_arith import AddOp, ICmpOp
from coconet_ir.dialects.llvm_branches import BrOp, CondBrOp, ReturnOp
from coconet_ir.lowering.device import memory, threads
from coconet_ir.lowering.device.number import Code, Number
from coconet_ir.lowering.device.rules import lower
from coconet_ir.lowering.device.types import NotLowered, register_type

Lowering = Callable[[Code, Any, Sequence[SSAValue]], Sequence[SSAValue]]
"""From where to write, an operation, and what its operands have become, to what its results become."""


class Body:
    """The body of one kernel; `values` has what each value has become."""

    def __init__(self, code: Code, values: dict[SSAValue, SSAValue]):
        self.code, self.values = code, values

    def block(self, block: Block) -> list[SSAValue]:
        """Write the operations of a block but for the last, a terminator; what that gives."""
        *ops, last = block.ops
        for op in ops:
            self._operation(op)
        self.code.location = last.location
        return self._all(last.operands)

    def _all(self, values: Sequence[SSAValue]) -> list[SSAValue]:
        return [self.values[value] for value in values]

    def _operation(self, op: Operation) -> None:
        self.code.location = op.location
        match op:
            case scf.IfOp():
                results = self._if(op)
            case scf.ForOp():
                results = self._for(op)
            case scf.WhileOp():
                results = self._while(op)
            case _:
                results = self._plain(op)
        for result, value in zip(op.results, results, strict=True):
            self.values[result] = value
            if value.name_hint is None:
                value.name_hint = result.name_hint

    def _plain(self, op: Operation) -> Sequence[SSAValue]:
        operands = self._all(op.operands)
        try:
            if (rule := _RULES.get(type(op))) is not None:
                return rule(self.code, op, operands)
            numbers = [Number(self.code, value) for value in operands]
            return [number.value for number in lower(self.code, op, numbers)]
        except NotLowered as error:  # at this operation, not at the kernel
            raise IRError(str(error), op) from None

    def _if(self, op: scf.IfOp) -> Sequence[SSAValue]:
        condition = self.values[op.cond]
        regions = [region for region in (op.true_region, op.false_region) if region.blocks]
        *starts, after = _blocks(*(() for _ in regions), op.result_types)
        self.code.do(CondBrOp(condition, starts[0], (), starts[-1] if starts[1:] else after, ()))
        for region, start in zip(regions, starts, strict=True):
            self.code.enter(start)
            self.code.do(BrOp(after, *self.block(region.block)))
        self.code.enter(after)
        return after.args

    def _for(self, op: scf.ForOp) -> Sequence[SSAValue]:
        types = [value.type for value in op.body.block.args]
        head, body, after = _blocks(types, (), op.result_types)
        self.code.do(BrOp(head, self.values[op.lb], *self._all(op.iter_args)))
        self.code.enter(head)
        at, *carried = head.args
        self.code.location = op.location
        going = self.code.put(ICmpOp("slt", at, self.values[op.ub]))
        self.code.do(CondBrOp(going, body, (), after, carried))
        self.code.enter(body)
        self._bind(op.body.block, head.args)
        values = self.block(op.body.block)
        self.code.location = op.location
        following = self.code.put(AddOp(at, self.values[op.step]))
        self.code.do(BrOp(head, following, *values))
        self.code.enter(after)
        return after.args

    def _while(self, op: scf.WhileOp) -> Sequence[SSAValue]:
        before, after = op.before_region.block, op.after_region.block
        head, body, rest = _blocks(before.arg_types, after.arg_types, op.result_types)
        self.code.do(BrOp(head, *self._all(op.arguments)))
        self.code.enter(head)
        self._bind(before, head.args)
        going, *values = self.block(before)
        self.code.do(CondBrOp(going, body, values, rest, values))
        self.code.enter(body)
        self._bind(after, body.args)
        self.code.do(BrOp(head, *self.block(after)))
        self.code.enter(rest)
        return rest.args

    def _bind(self, block: Block, values: Sequence[SSAValue]) -> None:
        for argument, value in zip(block.args, values, strict=True):
            self.values[argument] = value
            value.name_hint = argument.name_hint

    def finish(self) -> None:
        """End the kernel."""
        self.code.do(ReturnOp())


def _blocks(*types: Sequence[Attribute]) -> list[Block]:
    """Blocks whose arguments are of these types."""
    return [Block(arg_types=[register_type(type) for type in each]) for each in types]


_RULES: Mapping[type[Operation], Lowering] = {**memory.RULES, **threads.RULES}
"""Operations that are neither arithmetic nor control flow."""
