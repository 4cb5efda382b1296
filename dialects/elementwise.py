"""What operations on elements share: frames of types (shape and encoding), and constraints."""

from __future__ import annotations

from collections.abc import Mapping
from collections.abc import Set as AbstractSet
from dataclasses import dataclass
from functools import cache

from typing_extensions import TypeVar
from xdsl.dialects.arith import FastMathFlagsAttr
from xdsl.dialects.builtin import (
    AnyFloatConstr,
    FixedBitwidthType,
    IndexTypeConstr,
    SignlessIntegerConstraint,
    TensorType,
    VectorType,
    i1,
)
from xdsl.ir import Attribute
from xdsl.irdl import AttrConstraint, InferenceContext, IntConstraint, VerificationContext
from xdsl.utils.exceptions import VerifyException
from xdsl.utils.type import get_element_type_or_self

from coconet_ir.analysis.dist import Kind
from coconet_ir.analysis.rules import HasRule, pointwise


def element(type: Attribute) -> Attribute:
    """The type of the elements of a tensor or vector; any other type is its own."""
    contained = get_element_type_or_self(type)
    return contained if isinstance(type, TensorType | VectorType) else type


def with_element(type: Attribute, new: Attribute) -> Attribute:
    """The type with the shape and encoding of `type` whose elements are `new`."""
    if isinstance(type, TensorType):
        return TensorType(new, type.get_shape(), type.encoding)
    if isinstance(type, VectorType):
        return VectorType(new, type.get_shape(), type.scalable_dims)
    return new


def same_frame(one: Attribute, other: Attribute) -> bool:
    """Whether two types differ at most in their elements: scalars, or equal shape and encoding."""
    if isinstance(one, TensorType):
        return (
            isinstance(other, TensorType)
            and one.shape == other.shape
            and one.encoding == other.encoding
        )
    if isinstance(one, VectorType):
        return (
            isinstance(other, VectorType)
            and one.shape == other.shape
            and one.scalable_dims == other.scalable_dims
        )
    return not isinstance(other, TensorType | VectorType)


def width(type: Attribute) -> int:
    """The bits of an element, 0 where the type does not fix them (index)."""
    scalar = element(type)
    return scalar.bitwidth if isinstance(scalar, FixedBitwidthType) else 0


@dataclass(frozen=True)
class Like(AttrConstraint):
    """A scalar that `scalar` admits, or a vector or ranked tensor of such; messages say `what`."""

    scalar: AttrConstraint
    what: str

    def verify(self, attr: Attribute, constraint_context: VerificationContext) -> None:
        if not self.scalar.verifies(element(attr)):
            raise VerifyException(f"expected {self.what}, or a tensor of them, but got {attr}")

    def mapping_type_vars(
        self, type_var_mapping: Mapping[TypeVar, AttrConstraint | IntConstraint]
    ) -> Like:
        return self


@dataclass(frozen=True)
class BoolsLike(AttrConstraint):
    """The i1, or tensor of i1, in the frame of the type that the variable `name` holds."""

    name: str

    def verify(self, attr: Attribute, constraint_context: VerificationContext) -> None:
        if attr != (expected := self.infer(constraint_context)):
            raise VerifyException(
                f"expected {expected}, i1 in the shape and layout of the operands, but got {attr}"
            )

    def can_infer(self, var_constraint_names: AbstractSet[str]) -> bool:
        return self.name in var_constraint_names

    def infer(self, context: InferenceContext) -> Attribute:
        return with_element(context.get_variable(self.name) or i1, i1)

    def mapping_type_vars(
        self, type_var_mapping: Mapping[TypeVar, AttrConstraint | IntConstraint]
    ) -> BoolsLike:
        return self


NO_FASTMATH = FastMathFlagsAttr("none")
INTEGER = Like(SignlessIntegerConstraint, "signless integers")
INTEGER_OR_INDEX = Like(SignlessIntegerConstraint | IndexTypeConstr, "signless integers or index")
FLOAT = Like(AnyFloatConstr, "floats")
BITS = Like(SignlessIntegerConstraint | AnyFloatConstr, "signless integers or floats")


@cache
def pointwise_rule(joint: frozenset[Kind] = frozenset()) -> HasRule:
    """The trait of an operation on elements of tensors, jointly linear for the reductions `joint`.

    One object a set: operations of xDSL that share their traits get it once.
    """
    return HasRule(lambda op: pointwise(op, joint), by_types=True)
