"""Calls of the library on buffers: what stores into a buffer the result of a call on tensors.

`nccl.all_reduce_into sum %x, %y over [dp]` stores into %y what `nccl.all_reduce sum %x over [dp]` gives, and so on.
Buffers are dense. Those of all_reduce, reduce and broadcast may be one; else input and output share no element.
"""

from __future__ import annotations

from abc import ABC
from typing import ClassVar, cast

from xdsl.dialects.builtin import (
    DYNAMIC_INDEX,
    ArrayAttr,
    DenseArrayBase,
    IntegerAttr,
    MemRefType,
    NoneAttr,
    i64,
)
from xdsl.ir import Attribute, SSAValue, TypeAttribute
from xdsl.irdl import (
    BaseAttr,
    IRDLOperation,
    ParsePropInAttrDict,
    VarConstraint,
    irdl_op_definition,
    operand_def,
    opt_prop_def,
    prop_def,
    traits_def,
)
from xdsl.utils.exceptions import VerifyException

from coconet_ir.analysis.notation import RuleError
from coconet_ir.analysis.rules import OneRank
from coconet_ir.dialects.attributes import AxesAttr, KindAttr
from coconet_ir.dialects.coll import Route, check_routes
from coconet_ir.dialects.elements import reduction_problem
from coconet_ir.dialects.layout import coordinates_for
from coconet_ir.dialects.syntax import KindWord, Over, Roots


def _memref(value: SSAValue) -> MemRefType[Attribute]:
    """The type of a buffer. Raises `VerifyException` for one that is not dense."""
    type = cast(MemRefType[Attribute], value.type)
    if not isinstance(type.layout, NoneAttr):
        raise VerifyException(f"uses a {type}: its buffers are dense, in row-major order")
    return type


def check_kind(element: Attribute, kind: KindAttr) -> None:
    """Raise `VerifyException` for elements that a call cannot reduce so."""
    if (problem := reduction_problem(element, kind.data)) is not None:
        raise VerifyException(problem)


def check_roots(axes: AxesAttr, roots: DenseArrayBase) -> None:
    """Raise `VerifyException` unless the roots are a coordinate on each axis."""
    try:
        coordinates_for(axes, roots)
    except RuleError as error:
        raise VerifyException(str(error)) from error


class IntoOp(IRDLOperation, ABC):
    """What calls on buffers share: they read `input` and store into `output`."""

    axes = prop_def(AxesAttr)
    input = operand_def(MemRefType)
    output = operand_def(MemRefType)
    irdl_options = (ParsePropInAttrDict(),)
    traits = traits_def(OneRank())
    MAY_OVERWRITE: ClassVar[bool] = False
    """Whether input and output may be one buffer."""

    def verify_(self) -> None:
        if self.input is self.output and not self.MAY_OVERWRITE:
            raise VerifyException("stores into what it reads: its buffers share no element")
        if _memref(self.input).element_type != _memref(self.output).element_type:
            raise VerifyException("its buffers differ in their elements")
        kind, roots = self.properties.get("kind"), self.properties.get("roots")
        if isinstance(kind, KindAttr):
            check_kind(_memref(self.input).element_type, kind)
        if roots is not None:
            check_roots(self.axes, cast(DenseArrayBase, roots))


class AlikeIntoOp(IntoOp, ABC):
    """A call whose buffers are of one type."""

    T: ClassVar = VarConstraint("T", BaseAttr(MemRefType))
    input = operand_def(T)
    output = operand_def(T)


@irdl_op_definition
class AllReduceIntoOp(AlikeIntoOp):
    """`nccl.all_reduce` into a buffer, which may be its input."""

    name = "nccl.all_reduce_into"
    MAY_OVERWRITE: ClassVar[bool] = True
    kind = prop_def(KindAttr)
    custom_directives = (KindWord, Over)
    assembly_format = (
        "custom<KindWord>($kind) $input `,` $output custom<Over>($axes) attr-dict `:` type($input)"
    )


@irdl_op_definition
class ReduceIntoOp(AlikeIntoOp):
    """`nccl.reduce` into a buffer, which may be its input."""

    name = "nccl.reduce_into"
    MAY_OVERWRITE: ClassVar[bool] = True
    kind = prop_def(KindAttr)
    roots = prop_def(DenseArrayBase.constr(i64))
    custom_directives = (KindWord, Over, Roots)
    assembly_format = (
        "custom<KindWord>($kind) $input `,` $output custom<Over>($axes) custom<Roots>($roots) attr-dict "
        "`:` type($input)"
    )


@irdl_op_definition
class BroadcastIntoOp(AlikeIntoOp):
    """`nccl.broadcast` into a buffer, which may be its input."""

    name = "nccl.broadcast_into"
    MAY_OVERWRITE: ClassVar[bool] = True
    roots = prop_def(DenseArrayBase.constr(i64))
    custom_directives = (Over, Roots)
    assembly_format = (
        "$input `,` $output custom<Over>($axes) custom<Roots>($roots) attr-dict `:` type($input)"
    )


@irdl_op_definition
class PermuteIntoOp(AlikeIntoOp):
    """`nccl.permute` into another buffer."""

    name = "nccl.permute_into"
    shift = opt_prop_def(IntegerAttr.constr(i64))
    pairs = opt_prop_def(ArrayAttr.constr(DenseArrayBase.constr(i64)))
    custom_directives = (Over, Route)
    assembly_format = "$input `,` $output custom<Over>($axes) custom<Route>($shift, $pairs) attr-dict `:` type($input)"

    def verify_(self) -> None:
        super().verify_()
        check_routes(self.shift, self.pairs)


@irdl_op_definition
class AllToAllIntoOp(AlikeIntoOp):
    """`nccl.all_to_all` into another buffer."""

    name = "nccl.all_to_all_into"
    custom_directives = (Over,)
    assembly_format = "$input `,` $output custom<Over>($axes) attr-dict `:` type($input)"


def _check_blocks(blocks: SSAValue, block: SSAValue) -> None:
    """Raise `VerifyException` unless `blocks` are any number of buffers like `block`, one behind the other."""
    have, one = _memref(blocks).get_shape(), _memref(block).get_shape()
    if have != (DYNAMIC_INDEX, *one):
        raise VerifyException(f"{blocks.type} does not count blocks of {block.type} in front")


@irdl_op_definition
class AllGatherIntoOp(IntoOp):
    """`nccl.all_gather` into another buffer."""

    name = "nccl.all_gather_into"
    custom_directives = (Over,)
    assembly_format = (
        "$input `,` $output custom<Over>($axes) attr-dict `:` type($input) `,` type($output)"
    )

    def verify_(self) -> None:
        super().verify_()
        _check_blocks(self.output, self.input)


@irdl_op_definition
class ReduceScatterIntoOp(IntoOp):
    """`nccl.reduce_scatter` into another buffer."""

    name = "nccl.reduce_scatter_into"
    kind = prop_def(KindAttr)
    custom_directives = (KindWord, Over)
    assembly_format = (
        "custom<KindWord>($kind) $input `,` $output custom<Over>($axes) attr-dict `:` type($input) `,` "
        "type($output)"
    )

    def verify_(self) -> None:
        super().verify_()
        _check_blocks(self.input, self.output)


@irdl_op_definition
class MatmulIntoOp(IRDLOperation):
    """`comp.matmul` into another buffer: a call of the library for products of matrices."""

    name = "comp.matmul_into"
    lhs = operand_def(MemRefType)
    rhs = operand_def(MemRefType)
    output = operand_def(MemRefType)
    accumulate = opt_prop_def(TypeAttribute)
    irdl_options = (ParsePropInAttrDict(),)
    traits = traits_def(OneRank())
    assembly_format = (
        "$lhs `,` $rhs `,` $output attr-dict `:` type($lhs) `,` type($rhs) `,` type($output)"
    )

    def verify_(self) -> None:
        if self.output in (self.lhs, self.rhs):
            raise VerifyException("stores into what it reads: its output is a buffer of its own")
        lhs, rhs, output = (_memref(v).get_shape() for v in (self.lhs, self.rhs, self.output))
        if _memref(self.lhs).element_type != _memref(self.rhs).element_type:
            raise VerifyException("its operands differ in their elements")
        if len(lhs) < 2 or len(rhs) not in (2, len(lhs)) or len(output) != len(lhs):
            raise VerifyException("its buffers are no matrices, or stacks of them, that multiply")


CALLS = (
    AllReduceIntoOp,
    ReduceIntoOp,
    BroadcastIntoOp,
    PermuteIntoOp,
    AllToAllIntoOp,
    AllGatherIntoOp,
    ReduceScatterIntoOp,
)
"""The calls of `nccl` on buffers."""
