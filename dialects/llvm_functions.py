"""Functions and globals of upstream MLIR's `llvm` (as of release 22).

A function with `nvvm.kernel` is a kernel (PTX `.entry`); `nvvm.maxntid` and alike bound its launches.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from xdsl.dialects.builtin import (
    ArrayAttr,
    DenseArrayBase,
    DictionaryAttr,
    FunctionType,
    IntegerAttr,
    StringAttr,
    SymbolNameConstraint,
    SymbolRefAttr,
    UnitAttr,
    i32,
    i64,
)
from xdsl.dialects.llvm import (
    CallingConventionAttr,
    FastMathAttr,
    InlineAsmOp,
    LinkageAttr,
    LLVMFunctionType,
    LLVMVoidType,
    TailCallKind,
    TailCallKindAttr,
)
from xdsl.dialects.utils import print_func_op_like
from xdsl.dialects.utils.format import print_func_output
from xdsl.ir import Attribute, Operation, Region, SSAValue
from xdsl.irdl import (
    AttrSizedOperandSegments,
    IRDLOperation,
    ParsePropInAttrDict,
    irdl_op_definition,
    opt_prop_def,
    opt_result_def,
    prop_def,
    region_def,
    traits_def,
    var_operand_def,
)
from xdsl.parser import Parser
from xdsl.printer import Printer
from xdsl.traits import (
    IsolatedFromAbove,
    OpTrait,
    SymbolOpInterface,
    SymbolTable,
    SymbolUserOpInterface,
)
from xdsl.utils.exceptions import VerifyException

from coconet_ir.dialects.llvm_arith import NO_FLAGS
from coconet_ir.dialects.llvm_atomics import check_alignment
from coconet_ir.dialects.llvm_types import VALUE, number_of
from coconet_ir.dialects.llvm_values import check_initial

LINKAGES = ("external", "internal", "private", "weak", "linkonce", "weak_odr", "linkonce_odr")
"""Those that PTX has a word for."""

NO_BUNDLES = DenseArrayBase.from_list(i32, ())
C_CALL = CallingConventionAttr("ccc")
EXTERNAL = LinkageAttr("external")
_FLAGS = ("always_inline", "convergent", "no_inline")
NO_TAIL = TailCallKindAttr(TailCallKind.NONE)


@irdl_op_definition
class FuncOp(IRDLOperation):
    """`llvm.func @k(%p: !llvm.ptr<1>, %n: i64) attributes {nvvm.kernel} {…}`: a kernel or function.

    Attributes of kernels bound their launches: `nvvm.maxntid`, `nvvm.reqntid`, `nvvm.cluster_dim` (`array<i32: …>`),
    `nvvm.minctasm`, `nvvm.maxnreg`, `nvvm.cluster_max_blocks` (numbers). Without a body it is a function elsewhere.
    """

    name = "llvm.func"

    sym_name = prop_def(SymbolNameConstraint())
    function_type = prop_def(LLVMFunctionType)
    linkage = prop_def(LinkageAttr, default_value=EXTERNAL)
    convention = prop_def(CallingConventionAttr, prop_name="CConv", default_value=C_CALL)
    visibility = prop_def(IntegerAttr, prop_name="visibility_", default_value=IntegerAttr(0, i64))
    unnamed_addr = prop_def(IntegerAttr, default_value=IntegerAttr(0, i64))
    arg_attrs = opt_prop_def(ArrayAttr[DictionaryAttr])
    res_attrs = opt_prop_def(ArrayAttr[DictionaryAttr])
    always_inline = opt_prop_def(UnitAttr)
    convergent = opt_prop_def(UnitAttr)
    no_inline = opt_prop_def(UnitAttr)
    body = region_def()

    traits = traits_def(SymbolOpInterface(), IsolatedFromAbove())

    def __init__(
        self,
        sym_name: str,
        inputs: Sequence[Attribute],
        output: Attribute | None = None,
        body: Region | None = None,
        *,
        linkage: str = "external",
        arg_attrs: Sequence[Mapping[str, Attribute]] | None = None,
        attributes: Mapping[str, Attribute] | None = None,
    ):
        attrs = None if arg_attrs is None else ArrayAttr(DictionaryAttr(a) for a in arg_attrs)
        super().__init__(
            properties={
                "sym_name": StringAttr(sym_name),
                "function_type": LLVMFunctionType(inputs, output),
                "linkage": LinkageAttr(linkage),
                "arg_attrs": attrs,
            },
            attributes={} if attributes is None else attributes,
            regions=(Region() if body is None else body,),
        )

    @property
    def is_kernel(self) -> bool:
        """Whether launches start it."""
        return "nvvm.kernel" in self.attributes

    @classmethod
    def parse(cls, parser: Parser) -> FuncOp:
        linkage = parser.parse_optional_keyword_in(LINKAGES) or "external"
        start = parser.pos
        name = parser.parse_symbol_name()
        inputs = parser.parse_comma_separated_list(
            parser.Delimiter.PAREN, lambda: _parse_argument(parser)
        )
        named = [argument for argument, _, _ in inputs if argument is not None]
        if named and len(named) != len(inputs):
            parser.raise_error("either all arguments have names or none has", start, start + 1)
        output, marks = _parse_result(parser, start)
        reserved = ("sym_name", "function_type", "linkage", "CConv")
        extra = parser.parse_optional_attr_dict_with_keyword(reserved)
        attributes = {} if extra is None else dict(extra.data)
        body = parser.parse_optional_region(named or None) or Region()
        properties = {
            "sym_name": name,
            "function_type": LLVMFunctionType([type for _, type, _ in inputs], output),
            "linkage": LinkageAttr(linkage),
            "arg_attrs": _marks([marks for _, _, marks in inputs]),
            "res_attrs": _marks([marks]),
            **{flag: attributes.pop(flag, None) for flag in _FLAGS},
        }
        return cls.build(properties=properties, attributes=attributes, regions=(body,))

    def print(self, printer: Printer) -> None:
        if self.linkage != EXTERNAL:
            printer.print_string(f" {self.linkage.linkage.data}")
        flags = {flag: self.properties[flag] for flag in _FLAGS if flag in self.properties}
        output = self.function_type.output
        if not self.body.blocks and self.arg_attrs is not None:
            self._print_declaration(printer, flags)
            return
        print_func_op_like(
            printer,
            self.sym_name,
            FunctionType.from_lists(
                self.function_type.inputs.data, [] if isinstance(output, LLVMVoidType) else [output]
            ),
            self.body,
            {**self.attributes, **flags},
            arg_attrs=self.arg_attrs,
            res_attrs=self.res_attrs,
            reserved_attr_names=(),
            print_empty_outputs=False,
        )

    def _print_declaration(self, printer: Printer, flags: Mapping[str, Attribute]) -> None:
        """Print a function without a body whose arguments have attributes, which xDSL would leave out."""
        printer.print_string(" ")
        printer.print_symbol_name(self.sym_name)
        marks = self.arg_attrs or ()
        with printer.in_parens():
            pairs = list(zip(self.function_type.inputs, marks, strict=True))
            printer.print_list(pairs, lambda pair: print_func_output(printer, *pair))
        if not isinstance(self.function_type.output, LLVMVoidType):
            printer.print_string(" -> ")
            with printer.in_parens():
                (given,) = self.res_attrs or (None,)
                print_func_output(printer, self.function_type.output, given)
        printer.print_op_attributes({**self.attributes, **flags}, print_keyword=True)

    def verify_(self) -> None:
        if self.linkage.linkage.data not in LINKAGES:
            raise VerifyException(f"the linkage is one of {', '.join(LINKAGES)}")
        if self.convention != C_CALL:
            raise VerifyException("a kernel is marked by nvvm.kernel; there is no other convention")
        inputs = self.function_type.inputs.data
        if self.arg_attrs is not None and len(self.arg_attrs) != len(inputs):
            raise VerifyException("has other numbers of arguments and of attributes for them")
        entry = self.body.blocks.first
        if entry is not None and tuple(entry.arg_types) != inputs:
            raise VerifyException("its first block does not take the arguments of its type")
        if self.is_kernel and (not isinstance(self.function_type.output, LLVMVoidType)):
            raise VerifyException("a kernel returns nothing")


Marks = Mapping[str, Attribute]
"""What is said of an argument or result."""


def _parse_argument(parser: Parser) -> tuple[Parser.Argument | None, Attribute, Marks]:
    """An argument, its type and what is said of it; without a body it has no name."""
    argument = parser.parse_optional_argument()
    type = parser.parse_type() if argument is None else argument.type
    marks = parser.parse_optional_dictionary_attr_dict()
    location = parser.parse_optional_location()
    if argument is not None:
        argument.location = location
    return argument, type, marks


def _parse_result(parser: Parser, start: int) -> tuple[Attribute | None, Marks]:
    """The type that a function returns, None if nothing, and what is said of it."""
    if parser.parse_optional_punctuation("->") is None:
        return None, {}
    if parser.parse_optional_punctuation("(") is None:
        return parser.parse_type(), {}
    type, marks = parser.parse_optional_type(), parser.parse_optional_dictionary_attr_dict()
    if parser.parse_optional_punctuation(",") is not None:
        parser.raise_error("a function of llvm returns one value or none", start, start + 1)
    parser.parse_punctuation(")")
    return type, marks


def _marks(given: Sequence[Marks]) -> ArrayAttr[DictionaryAttr] | None:
    return ArrayAttr(map(DictionaryAttr, given)) if any(given) else None


@irdl_op_definition
class GlobalOp(IRDLOperation):
    """`llvm.mlir.global internal @tile() {addr_space = 3 : i32, alignment = 16 : i64} : !llvm.array<256 x f32>`.

    Memory of a module. In address space 3 each block has its own, without an initial value; external and of no size it
    is the dynamic shared memory of a launch.
    """

    name = "llvm.mlir.global"

    global_type = prop_def(VALUE)
    sym_name = prop_def(SymbolNameConstraint())
    linkage = prop_def(LinkageAttr)
    constant = opt_prop_def(UnitAttr)
    value = opt_prop_def()
    alignment = opt_prop_def(IntegerAttr)
    addr_space = prop_def(IntegerAttr, default_value=IntegerAttr(0, i32))
    unnamed_addr = prop_def(IntegerAttr, default_value=IntegerAttr(0, i64))
    visibility = prop_def(IntegerAttr, prop_name="visibility_", default_value=IntegerAttr(0, i64))
    body = region_def()

    traits = traits_def(SymbolOpInterface())

    def __init__(
        self,
        sym_name: str,
        global_type: Attribute,
        linkage: str,
        *,
        addr_space: int,
        alignment: int,
        value: Attribute | None = None,
        constant: bool = False,
    ):
        super().__init__(
            properties={
                "sym_name": StringAttr(sym_name),
                "global_type": global_type,
                "linkage": LinkageAttr(linkage),
                "addr_space": IntegerAttr(addr_space, i32),
                "alignment": IntegerAttr(alignment, i64),
                "value": value,
                "constant": UnitAttr() if constant else None,
            },
            regions=(Region(),),
        )

    @classmethod
    def parse(cls, parser: Parser) -> GlobalOp:
        linkage = parser.parse_optional_keyword_in(LINKAGES) or "external"
        properties: dict[str, Attribute] = {"linkage": LinkageAttr(linkage)}
        if parser.parse_optional_keyword("constant") is not None:
            properties["constant"] = UnitAttr()
        properties["sym_name"] = parser.parse_symbol_name()
        with parser.in_parens():
            if (value := parser.parse_optional_attribute()) is not None:
                properties["value"] = value
        attributes = parser.parse_optional_attr_dict()
        for name in ("alignment", "addr_space"):
            if (given := attributes.pop(name, None)) is not None:
                properties[name] = given
        parser.parse_punctuation(":")
        properties["global_type"] = parser.parse_type()
        return cls.create(properties=properties, attributes=attributes, regions=(Region(),))

    def print(self, printer: Printer) -> None:
        constant = " constant" if self.constant is not None else ""
        printer.print_string(f" {self.linkage.linkage.data}{constant} ")
        printer.print_symbol_name(self.sym_name)
        with printer.in_parens():
            if self.value is not None:
                printer.print_attribute(self.value)
        shown = {
            name: given
            for name in ("addr_space", "alignment")
            if (given := self.properties.get(name)) is not None
        }
        printer.print_op_attributes({**shown, **self.attributes})
        printer.print_string(" : ")
        printer.print_attribute(self.global_type)

    def verify_(self) -> None:
        check_alignment(self.alignment)
        if self.linkage.linkage.data not in LINKAGES:
            raise VerifyException(f"the linkage is one of {', '.join(LINKAGES)}")
        if self.body.blocks:
            raise VerifyException("an initial value is an attribute here, not a region")
        if self.value is not None:
            check_initial(self.value, self.global_type)


class _Callee(SymbolUserOpInterface):
    """A call takes what its function takes and gives what it returns."""

    def verify(self, op: Operation) -> None:
        if not isinstance(op, CallOp):
            return
        function = SymbolTable.lookup_symbol(op, op.callee)
        if not isinstance(function, FuncOp):
            raise VerifyException(f"there is no llvm.func {op.callee}")
        type = function.function_type
        results = () if isinstance(type.output, LLVMVoidType) else (type.output,)
        if tuple(op.args.types) != type.inputs.data or tuple(op.result_types) != results:
            raise VerifyException(f"{op.callee} is of type {type}")


@irdl_op_definition
class CallOp(IRDLOperation):
    """`llvm.call @f(%a) : (f32) -> f32`: call a function of this module."""

    name = "llvm.call"

    args = var_operand_def()
    op_bundle_operands = var_operand_def()
    callee = prop_def(SymbolRefAttr)
    flags = prop_def(FastMathAttr, prop_name="fastmathFlags", default_value=NO_FLAGS)
    convention = prop_def(CallingConventionAttr, prop_name="CConv", default_value=C_CALL)
    tail_call = prop_def(TailCallKindAttr, prop_name="TailCallKind", default_value=NO_TAIL)
    op_bundle_sizes = prop_def(DenseArrayBase, default_value=NO_BUNDLES)
    res = opt_result_def()

    traits = traits_def(_Callee())

    irdl_options = (AttrSizedOperandSegments(as_property=True), ParsePropInAttrDict())

    def __init__(
        self,
        callee: str,
        args: Sequence[SSAValue | Operation],
        result_type: Attribute | None = None,
    ):
        super().__init__(
            operands=(args, ()),
            properties={"callee": SymbolRefAttr(callee)},
            result_types=([] if result_type is None else [result_type],),
        )

    assembly_format = (
        "$callee `(` $args `)` (`[` $op_bundle_operands^ `:` type($op_bundle_operands) "
        "`]`)? attr-dict `:` functional-type($args, results)"
    )


class _CheckedAssembly(OpTrait):
    """What xDSL's inline assembly leaves unchecked."""

    def verify(self, op: Operation) -> None:
        if isinstance(op, InlineAsmOp) and number_of(op.asm_dialect) not in (0, 1):
            raise VerifyException("the dialect is 0 or 1")


InlineAsmOp.traits.add_trait(_CheckedAssembly())
FUNCTIONS: tuple[type[Operation], ...] = (CallOp, FuncOp, GlobalOp, InlineAsmOp)
