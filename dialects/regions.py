"""Regions of the `coll` dialect, in which a schedule groups operations (design, section 5).

They mean their body inlined: a region decides how its operations are launched, not what they compute.
"""

from __future__ import annotations

from abc import ABC
from collections.abc import Hashable, Iterator

from xdsl.dialects.builtin import IntegerAttr, i64
from xdsl.dialects.utils import AbstractYieldOperation
from xdsl.ir import Attribute, Operation, Region, SSAValue
from xdsl.irdl import (
    IRDLOperation,
    irdl_op_definition,
    lazy_traits_def,
    opt_prop_def,
    prop_def,
    region_def,
    traits_def,
    var_result_def,
)
from xdsl.parser import Parser
from xdsl.pattern_rewriter import RewritePattern
from xdsl.printer import Printer
from xdsl.traits import (
    HasCanonicalizationPatternsTrait,
    HasParent,
    IsTerminator,
    Pure,
    RecursiveMemoryEffect,
)
from xdsl.utils.exceptions import VerifyException

from coconet_ir.dialects.attributes import AxesAttr, axes_text
from coconet_ir.dialects.elements import element_of
from coconet_ir.dialects.syntax import parse_axes


@irdl_op_definition
class YieldOp(AbstractYieldOperation[Attribute]):
    """Ends a region; its operands are the results of the region's operation."""

    name = "coll.yield"
    traits = lazy_traits_def(
        lambda: (IsTerminator(), HasParent(FusedOp, OverlapOp, GroupOp), Pure())
    )


class RegionFolds(HasCanonicalizationPatternsTrait):
    """A region that has lost what it was made for."""

    @classmethod
    def get_canonicalization_patterns(cls) -> tuple[RewritePattern, ...]:
        from coconet_ir.dialects.folds import SpentRegion

        return (SpentRegion(),)


class RegionOp(IRDLOperation, ABC):
    """An operation that means its body inlined. Its results are what the body yields."""

    body = region_def("single_block")
    outputs = var_result_def()
    traits = traits_def(RecursiveMemoryEffect(), RegionFolds())

    def verify_(self) -> None:
        last = self.body.block.last_op
        if not isinstance(last, YieldOp):
            raise VerifyException("its body must end in coll.yield")
        if self.body.block.args:
            raise VerifyException("its body takes no arguments: it uses outer values directly")
        if len(last.arguments) != len(self.outputs):
            raise VerifyException(
                f"has {len(self.outputs)} result(s), but its coll.yield {len(last.arguments)} operand(s)"
            )
        for index, (value, result) in enumerate(zip(last.arguments, self.outputs, strict=True)):
            if value.type != result.type:
                raise VerifyException(
                    f"result {index} is {result.type}, but its coll.yield gives {value.type}"
                )

    @property
    def steps(self) -> list[Operation]:
        """The operations of the body but the yield that ends it, in order."""
        last = self.body.block.last_op
        return [op for op in self.body.block.ops if op is not last]

    @property
    def yielded(self) -> tuple[SSAValue, ...]:
        """What the results are inside, in their order."""
        last = self.body.block.last_op
        return () if last is None else tuple(last.operands)

    def collectives(self) -> Iterator[tuple[Operation, AxesAttr]]:
        """The collectives directly in the body, and the axes of each."""
        for op in self.body.block.ops:
            axes = op.properties.get("axes")
            if op.name.startswith("coll.") and isinstance(axes, AxesAttr):
                if not isinstance(op, RegionOp):
                    yield op, axes


def _parse_body(parser: Parser) -> tuple[Region, list[Attribute]]:
    """A region that ends in coll.yield, and the types it yields."""
    position = parser.pos
    region = parser.parse_region()
    last = region.blocks[0].last_op if len(region.blocks) == 1 else None
    if not isinstance(last, YieldOp):
        parser.raise_error("expected one block that ends in coll.yield", position)
    return region, [value.type for value in last.arguments]


def _print_attributes(printer: Printer, op: RegionOp) -> None:
    attributes = {**op.attributes, **{k: v for k, v in op.properties.items() if k != "axes"}}
    printer.print_op_attributes(attributes)


@irdl_op_definition
class FusedOp(RegionOp):
    """Operations that become one kernel; `over` names the axes if collectives are among them."""

    name = "coll.fused"
    axes = opt_prop_def(AxesAttr)

    @classmethod
    def parse(cls, parser: Parser) -> FusedOp:
        over = parser.parse_optional_keyword("over") is not None
        axes = parse_axes(parser) if over else None
        region, types = _parse_body(parser)
        return cls.create(
            properties={} if axes is None else {"axes": axes},
            attributes=parser.parse_optional_attr_dict(),
            regions=[region],
            result_types=types,
        )

    def print(self, printer: Printer) -> None:
        over = "" if self.axes is None else f"over {axes_text(self.axes.data)} "
        printer.print_string(f" {over}")
        printer.print_region(self.body)
        _print_attributes(printer, self)

    def verify_(self) -> None:
        super().verify_()
        found = list(dict.fromkeys(axes for _, axes in self.collectives()))
        if len(found) > 1:
            raise VerifyException(
                f"holds collectives over {axes_text(found[0].data)} and over "
                f"{axes_text(found[1].data)}; one region has one list of axes"
            )
        if not found and self.axes is not None:
            raise VerifyException("holds no collective: leave `over` out")
        if found and self.axes != found[0]:
            have = "no axes" if self.axes is None else axes_text(self.axes.data)
            raise VerifyException(
                f"names {have}, but its collectives work over {axes_text(found[0].data)}"
            )


@irdl_op_definition
class OverlapOp(RegionOp):
    """A chain of producers and consumers that work at once, chunk by chunk along `dim` of the first's result."""

    name = "coll.overlap"
    dim = opt_prop_def(IntegerAttr.constr(i64))
    chunks = opt_prop_def(IntegerAttr.constr(i64))

    @classmethod
    def parse(cls, parser: Parser) -> OverlapOp:
        region, types = _parse_body(parser)
        attributes = parser.parse_optional_attr_dict()
        properties = {k: attributes.pop(k) for k in ("dim", "chunks") if k in attributes}
        return cls.create(
            properties=properties, attributes=attributes, regions=[region], result_types=types
        )

    def print(self, printer: Printer) -> None:
        printer.print_string(" ")
        printer.print_region(self.body)
        _print_attributes(printer, self)

    def verify_(self) -> None:
        super().verify_()
        for word, attribute, least in (("dim", self.dim, 0), ("chunks", self.chunks, 1)):
            if attribute is not None and attribute.value.data < least:
                raise VerifyException(f"{word} = {attribute.value.data} must be at least {least}")


def kind_of(op: Operation) -> Hashable:
    """What collectives that one launch can be have in common: `unlike` of two of them is None."""
    ends = (op.operands[0].type, op.results[0].type)
    return op.name, frozenset(op.properties.items()), *map(element_of, ends)


def unlike(first: Operation, other: Operation) -> str | None:
    """How a collective differs from another in more than shapes and layouts, so that one launch cannot be both."""
    if first.name != other.name:
        return f"one is a {first.name}, another a {other.name}"
    for word in sorted({*first.properties, *other.properties}):
        values = [op.properties.get(word, "not given") for op in (first, other)]
        if values[0] != values[1]:
            return f"'{word}' is {values[0]} in one, {values[1]} in another"
    for word, ends in (
        ("operand", (first.operands, other.operands)),
        ("result", (first.results, other.results)),
    ):
        elements = [element_of(end[0].type) for end in ends]
        if elements[0] != elements[1]:
            return f"the {word} of one has {elements[0]} elements, that of another {elements[1]}"
    return None


@irdl_op_definition
class GroupOp(RegionOp):
    """Independent collectives of one kind that are launched as one."""

    name = "coll.group"
    axes = prop_def(AxesAttr)

    @classmethod
    def parse(cls, parser: Parser) -> GroupOp:
        parser.parse_keyword("over")
        axes = parse_axes(parser)
        region, types = _parse_body(parser)
        return cls.create(
            properties={"axes": axes},
            attributes=parser.parse_optional_attr_dict(),
            regions=[region],
            result_types=types,
        )

    def print(self, printer: Printer) -> None:
        printer.print_string(f" over {axes_text(self.axes.data)} ")
        printer.print_region(self.body)
        _print_attributes(printer, self)

    def verify_(self) -> None:
        super().verify_()
        found = list(self.collectives())
        inside = {op for op, _ in found}
        if len(found) + 1 != len(self.body.block.ops):
            raise VerifyException(
                "holds something other than collectives: move it before or behind the group"
            )
        for op, axes in found:
            if axes != self.axes:
                raise VerifyException(
                    f"names {axes_text(self.axes.data)}, but holds a collective over {axes_text(axes.data)}"
                )
            if (difference := unlike(found[0][0], op)) is not None:
                raise VerifyException(f"holds collectives that cannot be one launch: {difference}")
            if any(value.owner in inside for value in op.operands):
                raise VerifyException(
                    "holds a collective that uses the result of another: what one launch does cannot depend on itself"
                )
