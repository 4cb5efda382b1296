"""Custom operations of the `comp` dialect: a rule and a reference body, declared in the module or in Python."""

from __future__ import annotations

from collections.abc import Iterator

from xdsl.dialects.builtin import (
    DYNAMIC_INDEX,
    FlatSymbolRefAttrConstr,
    ModuleOp,
    NoneAttr,
    StringAttr,
    SymbolNameConstraint,
    TensorType,
)
from xdsl.dialects.utils import AbstractYieldOperation
from xdsl.ir import Attribute, Operation
from xdsl.irdl import (
    IRDLOperation,
    irdl_op_definition,
    lazy_traits_def,
    opt_prop_def,
    prop_def,
    region_def,
    traits_def,
    var_operand_def,
    var_result_def,
)
from xdsl.parser import Parser
from xdsl.printer import Printer
from xdsl.traits import (
    HasParent,
    IsolatedFromAbove,
    IsTerminator,
    Pure,
    SymbolOpInterface,
)
from xdsl.utils.exceptions import VerifyException

from coconet_ir.analysis.customs import declared, declared_names
from coconet_ir.analysis.notation import Rule, RuleError, Shape, parse_pattern
from coconet_ir.analysis.rules import OWN_RULE, by_pattern, rank_of
from coconet_ir.dialects.attributes import RuleAttr, as_tensor, sizes_of


@irdl_op_definition
class YieldOp(AbstractYieldOperation[Attribute]):
    """Ends the body of a `comp.define`; its operands are the results."""

    name = "comp.yield"
    traits = lazy_traits_def(lambda: (IsTerminator(), HasParent(DefineOp)))


@irdl_op_definition
class DefineOp(IRDLOperation):
    """Declare a custom operation: its rule, and a body that says what it computes on one rank's tensors.

    The body's tensors have no encodings; `tensor.dim` there is the extent that the rank has. `symbol` may name a
    device function that computes the same. The rule is validated by brute force against the body.
    """

    name = "comp.define"
    sym_name = prop_def(SymbolNameConstraint())
    pattern = prop_def(RuleAttr)
    symbol = opt_prop_def(StringAttr)
    body = region_def("single_block")
    traits = traits_def(IsolatedFromAbove(), SymbolOpInterface())

    @classmethod
    def parse(cls, parser: Parser) -> DefineOp:
        name = parser.parse_symbol_name()
        parser.parse_keyword("rule")
        pattern = RuleAttr(parse_pattern(parser))
        attributes = parser.parse_optional_attr_dict_with_keyword(("sym_name", "pattern", "symbol"))
        properties: dict[str, Attribute] = {"sym_name": name, "pattern": pattern}
        if parser.parse_optional_keyword("symbol") is not None:
            properties["symbol"] = StringAttr(parser.parse_str_literal())
        position = parser.pos
        region = parser.parse_region()
        last = region.blocks[0].last_op if len(region.blocks) == 1 else None
        if not isinstance(last, YieldOp):
            parser.raise_error("expected a body of one block that ends in comp.yield", position)
        return cls.create(
            properties=properties,
            attributes={} if attributes is None else dict(attributes.data),
            regions=[region],
        )

    def print(self, printer: Printer) -> None:
        printer.print_string(" ")
        printer.print_symbol_name(self.sym_name.data)
        printer.print_string(f" rule {self.pattern.data}")
        printer.print_op_attributes(self.attributes, print_keyword=True)
        if self.symbol is not None:
            printer.print_string(" symbol ")
            printer.print_string_literal(self.symbol.data)
        printer.print_string(" ")
        printer.print_region(self.body)

    def verify_(self) -> None:
        last = self.body.block.last_op
        if not isinstance(last, YieldOp):
            raise VerifyException("its body must end in comp.yield")
        pattern = self.pattern.data
        _check_values("argument", pattern.operands, [a.type for a in self.body.block.args])
        _check_values("result", pattern.results, [a.type for a in last.arguments])


def _check_values(word: str, shapes: tuple[Shape | None, ...], types: list[Attribute]) -> None:
    if len(shapes) != len(types):
        raise VerifyException(f"its rule has {len(shapes)} {word}(s), but its body {len(types)}")
    for index, (shape, type) in enumerate(zip(shapes, types, strict=True)):
        tensor = as_tensor(type)
        if tensor is not None and not isinstance(tensor.encoding, NoneAttr):
            raise VerifyException(f"{word} {index} of its body must have no layout")
        starred = shape is not None and any(f[0].startswith("*") for f in shape)
        if starred or any(len(factors) > 1 for factors in shape or ()):
            raise VerifyException("the rule of a body names each dimension once, without * or ( )")
        if rank_of(type) != (None if shape is None else len(shape)):
            wanted = "no tensor" if shape is None else f"a tensor of {len(shape)} dimension(s)"
            raise VerifyException(
                f"{word} {index} of its body is {type}, but its rule says {wanted}"
            )


@irdl_op_definition
class CustomOp(IRDLOperation):
    """Apply a custom operation that `comp.define` or Python declares."""

    name = "comp.custom"
    callee = prop_def(FlatSymbolRefAttrConstr)
    inputs = var_operand_def()
    outputs = var_result_def()
    traits = traits_def(Pure(), OWN_RULE)
    assembly_format = "$callee `(` $inputs `)` attr-dict `:` functional-type($inputs, $outputs)"

    @property
    def definition(self) -> DefineOp | None:
        """The `comp.define` of this module that it applies, or None."""
        name = self.callee.root_reference.data
        return next((op for op in _definitions(self) if op.sym_name.data == name), None)

    def rule(self) -> Rule:
        """What its declaration states."""
        define = self.definition
        name = self.callee.root_reference.data
        if define is not None:
            self._check_types(define)
            return by_pattern(self, define.pattern.data)
        if (custom := declared(name)) is None:
            known = sorted({op.sym_name.data for op in _definitions(self)} | set(declared_names()))
            raise RuleError(
                f"no comp.define @{name} in the module and no custom operation of that name in Python "
                f"(there are: {', '.join(known) or 'none'}); --load reads a file that declares some"
            )
        return by_pattern(self, custom.pattern)

    def _check_types(self, define: DefineOp) -> None:
        if len(define.body.blocks) != 1:
            return  # the definition's own check says that it has no body
        last = define.body.block.last_op
        wanted = [a.type for a in define.body.block.args]
        wanted += [a.type for a in last.operands] if last is not None else []
        given = [value.type for value in (*self.inputs, *self.outputs)]
        for index, (want, have) in enumerate(zip(wanted, given, strict=False)):
            if _element_and_static(want) != _element_and_static(have, want):
                place = index - len(self.inputs)
                which = f"operand {index}" if place < 0 else f"result {place}"
                raise RuleError(f"{which} is {have}, which does not fit {want} of its definition")


def _element_and_static(type: Attribute, like: Attribute | None = None) -> Attribute:
    """The type without layout, and without the static sizes that `like` leaves open."""
    if (tensor := as_tensor(type)) is None:
        return type
    shape, wanted = tensor.get_shape(), () if like is None else sizes_of(like)
    if len(wanted) == len(shape):
        shape = tuple(
            DYNAMIC_INDEX if want == DYNAMIC_INDEX else size
            for size, want in zip(shape, wanted, strict=True)
        )
    return TensorType(tensor.element_type, shape)


def _definitions(op: Operation) -> Iterator[DefineOp]:
    """The custom operations that the module of an operation declares."""
    while (parent := op.parent_op()) is not None:
        op = parent
    if isinstance(op, ModuleOp):
        yield from (candidate for candidate in op.ops if isinstance(candidate, DefineOp))
