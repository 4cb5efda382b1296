"""The text in LLVM IR of each operation of `llvm`."""

from __future__ import annotations

from functools import cache

from xdsl.dialects.builtin import Float64Type, StringAttr, VectorType, f16, f32, f64
from xdsl.dialects.llvm import (
    CallIntrinsicOp,
    FastMathAttr,
    InlineAsmOp,
    LLVMPointerType,
    LLVMVoidType,
    TailCallKind,
)
from xdsl.dialects.utils import FastMathFlag
from xdsl.ir import Attribute, Operation

from coconet_ir.dialects import llvm_arith as arith
from coconet_ir.dialects import llvm_atomics as atomics
from coconet_ir.dialects import llvm_branches as branches
from coconet_ir.dialects import llvm_casts as casts
from coconet_ir.dialects import llvm_functions as functions
from coconet_ir.dialects import llvm_intrinsics as intrinsics
from coconet_ir.dialects import llvm_memory as memory
from coconet_ir.dialects import llvm_values as values
from coconet_ir.dialects.elementwise import width
from coconet_ir.dialects.llvm_types import (
    address_space,
    array_numbers,
    is_integer,
    lane,
    number_of,
    overflow_names,
    pointer,
)
from coconet_ir.lowering.emit.function import Constant, Entry, Typed, Writer
from coconet_ir.lowering.emit.types import (
    NoText,
    constant_text,
    quoted,
    size_and_alignment,
    type_text,
)

SCOPES = ("", "block", "cluster", "device")
"""The scopes of memory that LLVM knows on these devices; the first is the whole system."""

NVVM_FUNCTIONS: dict[str, tuple[Attribute, ...]] = {
    "llvm.nvvm.cos.approx.f": (f32, f32),
    "llvm.nvvm.div.approx.f": (f32, f32, f32),
    "llvm.nvvm.div.full": (f32, f32, f32),
    "llvm.nvvm.ex2.approx.f16": (f16, f16),
    "llvm.nvvm.ex2.approx.f32": (f32, f32),
    "llvm.nvvm.ex2.approx.ftz.f32": (f32, f32),
    "llvm.nvvm.lg2.approx.f": (f32, f32),
    "llvm.nvvm.lg2.approx.ftz.f": (f32, f32),
    "llvm.nvvm.rcp.rn.d": (f64, f64),
    "llvm.nvvm.rcp.rn.f": (f32, f32),
    "llvm.nvvm.rsqrt.approx.d": (f64, f64),
    "llvm.nvvm.rsqrt.approx.f": (f32, f32),
    "llvm.nvvm.rsqrt.approx.ftz.f": (f32, f32),
    "llvm.nvvm.sin.approx.f": (f32, f32),
    "llvm.nvvm.sqrt.approx.f": (f32, f32),
}
"""What `llvm.call_intrinsic` may call, with the types of the arguments and, last, of the result."""


def mnemonic(op: Operation) -> str:
    """The name without its dialect."""
    return op.name.partition(".")[2]


@cache
def flags_text(flags: FastMathAttr) -> str:
    """Fast-math flags, each with a space behind it."""
    names = [flag.value for flag in type(flags).enum_type if flag in flags.data]
    return "fast " if len(names) == len(type(flags).enum_type) else "".join(f"{n} " for n in names)


# Arithmetic


def _binary(w: Writer, op: arith.IntegerBinary, words: str = "") -> None:
    w.assign(op, f"{mnemonic(op)} {words}{w.typed(op.lhs)}, {w.value(op.rhs)}")


def _wrapping(w: Writer, op: arith.Wrapping) -> None:
    _binary(w, op, "".join(f"{flag} " for flag in reversed(overflow_names(op.overflow_flags))))


def _exact(w: Writer, op: arith.Exact) -> None:
    _binary(w, op, "" if op.is_exact is None else "exact ")


def _or(w: Writer, op: arith.OrOp) -> None:
    _binary(w, op, "" if op.is_disjoint is None else "disjoint ")


def _float_binary(w: Writer, op: arith.FloatBinary) -> None:
    w.assign(op, f"{mnemonic(op)} {flags_text(op.flags)}{w.typed(op.lhs)}, {w.value(op.rhs)}")


def _fneg(w: Writer, op: arith.FloatUnary) -> None:
    w.assign(op, f"fneg {flags_text(op.flags)}{w.typed(op.arg)}")


def _icmp(w: Writer, op: arith.ICmpOp) -> None:
    predicate = arith.INTEGER_PREDICATES[number_of(op.predicate)]
    w.assign(op, f"icmp {predicate} {w.typed(op.lhs)}, {w.value(op.rhs)}")


def _fcmp(w: Writer, op: arith.FCmpOp) -> None:
    predicate = arith.FLOAT_PREDICATES[number_of(op.predicate)].lstrip("_")
    w.assign(op, f"fcmp {flags_text(op.flags)}{predicate} {w.typed(op.lhs)}, {w.value(op.rhs)}")


def _select(w: Writer, op: arith.SelectOp) -> None:
    w.assign(op, f"select {flags_text(op.flags)}{w.listed(op.cond, op.lhs, op.rhs)}")


def _freeze(w: Writer, op: arith.FreezeOp) -> None:
    w.assign(op, f"freeze {w.typed(op.val)}")


def _cast(w: Writer, op: Operation) -> None:
    _convert(w, op, "")


def _convert(w: Writer, op: Operation, words: str) -> None:
    (arg,), (result,) = op.operands, op.results
    w.assign(op, f"{mnemonic(op)} {words}{w.typed(arg)} to {type_text(result.type)}")


def _addrspacecast(w: Writer, op: memory.AddrSpaceCastOp) -> None:
    if pointer() not in (op.arg.type, op.res.type):
        raise NoText("is no cast that PTX has: cast to or from a generic pointer, !llvm.ptr")
    _convert(w, op, "")


def _float_cast(w: Writer, op: Operation) -> None:
    for value in (*op.operands, *op.results):
        type = lane(value.type)
        if is_integer(type) and width(type) > 64:
            raise NoText(
                f"cannot be compiled: devices convert floats to and from at most i64, not {type}"
            )
    flagged = isinstance(op, casts.NonNegative) and op.non_neg is not None
    _convert(w, op, "nneg " if flagged else "")


def _zext(w: Writer, op: casts.NonNegative) -> None:
    _convert(w, op, "nneg " if op.non_neg is not None else "")


def _trunc(w: Writer, op: casts.TruncOp) -> None:
    _convert(w, op, "".join(f"{flag} " for flag in reversed(overflow_names(op.overflow_flags))))


# Calls


def _function(w: Writer, op: Operation) -> None:
    """A call of the function of LLVM with the name of the operation, overloaded for its first operand."""
    type = op.operands[0].type
    name = f"llvm.{op.name.removeprefix('llvm.intr.')}.{_suffix(type)}"
    flags = op.properties.get("fastmathFlags")
    words = flags_text(flags) if isinstance(flags, FastMathAttr) else ""
    arguments = list(map(w.typed, op.operands))
    for given in ("is_int_min_poison", "is_zero_poison"):
        if given in op.properties:
            arguments.append(Typed("i1", "true" if number_of(op.properties[given]) else "false"))
    w.assign(op, w.call(name, type_text(op.results[0].type), *arguments, words=words))


def _suffix(type: Attribute) -> str:
    """How the name of an overloaded function ends: `v2f16`."""
    single = lane(type)
    lanes = f"v{type.get_shape()[0]}" if isinstance(type, VectorType) else ""
    return f"{lanes}{single}"


def _approximate(w: Writer, op: intrinsics.FloatFunction) -> None:
    if isinstance(lane(op.arg.type), Float64Type):
        raise NoText(f"cannot be compiled: no device computes {mnemonic(op)[5:]} of f64")
    if not isinstance(op, intrinsics.Exp2Op) and FastMathFlag.APPROX_FUNC not in op.flags.data:
        raise NoText(
            "is only approximate on devices: allow that by {fastmathFlags = #llvm.fastmath<afn>}"
        )
    _function(w, op)


def _call_intrinsic(w: Writer, op: CallIntrinsicOp) -> None:
    name = op.intrin.data
    if (types := NVVM_FUNCTIONS.get(name)) is None:
        raise NoText(f"calls '{name}', which is none of {', '.join(sorted(NVVM_FUNCTIONS))}")
    if types != (*op.operand_types, *op.result_types):
        listed = ", ".join(map(str, types[:-1]))
        raise NoText(f"calls '{name}' with other types than ({listed}) -> {types[-1]}")
    words = flags_text(op.fastmathFlags)
    w.assign(op, w.call(name, type_text(types[-1]), *map(w.typed, op.args), words=words))


def _call(w: Writer, op: functions.CallOp) -> None:
    name = op.callee.root_reference.data
    if (
        op.op_bundle_operands
        or op.callee.nested_references.data
        or op.tail_call != functions.NO_TAIL
    ):
        raise NoText("is more than a plain call of a function of this module")
    if not isinstance(function := w.symbol(name), functions.FuncOp) or function.is_kernel:
        raise NoText(f"@{name} is no function that device code can call")
    result = op.res.type if op.res is not None else LLVMVoidType()
    words = flags_text(op.flags) if op.res is not None else ""
    text = f"call {words}{type_text(result)} @{name}({w.listed(*op.args)})"
    w.line(text) if op.res is None else w.assign(op, text)


def _inline_asm(w: Writer, op: InlineAsmOp) -> None:
    if (
        op.is_align_stack is not None
        or number_of(op.asm_dialect)
        or op.tail_call_kind.data != TailCallKind.NONE
    ):
        raise NoText("has an option that PTX knows nothing of")
    # What has effects may be a barrier, which is not to be copied into branches.
    effects, group = ("sideeffect ", " convergent") if op.has_side_effects is not None else ("", "")
    result = type_text(op.res.type if op.res is not None else LLVMVoidType())
    text = (
        f"call {result} asm {effects}{quoted(op.asm_string.data)}, {quoted(op.constraints.data)}"
        f"({w.listed(*op.operands_)}){group}"
    )
    w.line(text) if op.res is None else w.assign(op, text)


# Memory


def _access(op: memory.Access, type: Attribute) -> str:
    """What stands behind the pointer of a load or store."""
    ordering = atomics.ORDERINGS[number_of(op.ordering)]
    atomic = f"{scope_text(op.syncscope)}{ordering}" if ordering else ""
    alignment = number_of(op.alignment) or size_and_alignment(type)[1]
    return f"{' ' if atomic else ''}{atomic}, align {alignment}"


def _access_words(op: memory.Access) -> str:
    atomic = "atomic " if number_of(op.ordering) else ""
    return f"{atomic}{'volatile ' if op.volatile is not None else ''}"


def scope_text(scope: StringAttr | None) -> str:
    """`syncscope("device") `, or nothing for the system. Raises `NoText`."""
    name = "" if scope is None else scope.data
    if name not in SCOPES:
        listed = ", ".join(f'"{one}"' for one in SCOPES if one)
        raise NoText(f'has the scope "{name}": there are {listed}, and none for the whole system')
    return f'syncscope("{name}") ' if name else ""


def _check_scope(w: Writer, scope: StringAttr | None) -> None:
    if scope is not None and scope.data == "cluster":
        w.require(90, "the scope of a cluster")


def _load(w: Writer, op: memory.LoadOp) -> None:
    _check_scope(w, op.syncscope)
    type = op.res.type
    notes = "".join(
        f", !{name} {w.module.metadata.node(node)}"
        for name, node, flag in (
            ("invariant.load", "!{}", op.invariant),
            ("nontemporal", "!{i32 1}", op.nontemporal),
        )
        if flag is not None
    )
    text = (
        f"load {_access_words(op)}{type_text(type)}, {w.typed(op.addr)}{_access(op, type)}{notes}"
    )
    w.assign(op, text)


def _store(w: Writer, op: memory.StoreOp) -> None:
    _check_scope(w, op.syncscope)
    notes = (
        f", !nontemporal {w.module.metadata.node('!{i32 1}')}" if op.nontemporal is not None else ""
    )
    w.line(
        f"store {_access_words(op)}{w.typed(op.value)}, {w.typed(op.addr)}{_access(op, op.value.type)}{notes}"
    )


def _atomicrmw(w: Writer, op: atomics.AtomicRMWOp) -> None:
    _check_scope(w, op.syncscope)
    ordering, scope = atomics.ORDERINGS[number_of(op.ordering)], scope_text(op.syncscope)
    if ordering != "monotonic" or not scope:
        raise NoText(
            "would lose its order or scope: LLVM 22 makes every update relaxed and of the device. State "
            'syncscope("device") monotonic, with llvm.fence around it for order; for the system use llvm.cmpxchg'
        )
    alignment = number_of(op.alignment) or size_and_alignment(op.val.type)[1]
    volatile = "volatile " if op.volatile is not None else ""
    name = atomics.BIN_OPS[number_of(op.bin_op)].lstrip("_")
    w.assign(
        op,
        f"atomicrmw {volatile}{name} {w.typed(op.ptr)}, {w.typed(op.val)} {scope}{ordering}, align {alignment}",
    )


def _cmpxchg(w: Writer, op: atomics.CmpXchgOp) -> None:
    _check_scope(w, op.syncscope)
    success = atomics.ORDERINGS[number_of(op.success_ordering)]
    failure = atomics.ORDERINGS[number_of(op.failure_ordering)]
    words = "".join(
        w for w, flag in (("weak ", op.weak), ("volatile ", op.volatile)) if flag is not None
    )
    alignment = number_of(op.alignment) or size_and_alignment(op.val.type)[1]
    given = w.listed(op.ptr, op.cmp, op.val)
    w.assign(
        op,
        f"cmpxchg {words}{given} {scope_text(op.syncscope)}{success} {failure}, align {alignment}",
    )


def _fence(w: Writer, op: atomics.FenceOp) -> None:
    _check_scope(w, op.syncscope)
    w.line(f"fence {scope_text(op.syncscope)}{atomics.ORDERINGS[number_of(op.ordering)]}")


def _alloca(w: Writer, op: memory.AllocaOp) -> None:
    space = address_space(op.res.type) if isinstance(op.res.type, LLVMPointerType) else 0
    if space:
        raise NoText("gives a generic pointer: cast it for another address space")
    alignment = number_of(op.alignment) or size_and_alignment(op.elem_type)[1]
    w.assign(op, f"alloca {type_text(op.elem_type)}, {w.typed(op.size)}, align {alignment}")


def _gep(w: Writer, op: memory.GEPOp) -> None:
    dynamic = iter(op.dynamic_indices)
    indices = [
        w.listed(next(dynamic)) if number == memory.DYNAMIC else f"i32 {number}"
        for number in array_numbers(op.constant_indices)
    ]
    words = "".join(f"{flag} " for flag in memory.gep_flags(op.flags))
    given = ", ".join((w.listed(op.base), *indices))
    w.assign(op, f"getelementptr {words}{type_text(op.elem_type)}, {given}")


# Parts of values


def _extractelement(w: Writer, op: values.ExtractElementOp) -> None:
    w.assign(op, f"extractelement {w.typed(op.vector)}, {w.typed(op.position)}")


def _insertelement(w: Writer, op: values.InsertElementOp) -> None:
    w.assign(op, f"insertelement {w.listed(op.vector, op.value, op.position)}")


def _shufflevector(w: Writer, op: values.ShuffleVectorOp) -> None:
    lanes = [f"i32 {'poison' if n < 0 else n}" for n in array_numbers(op.mask)]
    mask = f"<{len(lanes)} x i32> <{', '.join(lanes)}>"
    w.assign(op, f"shufflevector {w.typed(op.v1)}, {w.typed(op.v2)}, {mask}")


def _extractvalue(w: Writer, op: values.ExtractValueOp) -> None:
    w.assign(op, f"extractvalue {w.typed(op.container)}, {_path(op.position)}")


def _insertvalue(w: Writer, op: values.InsertValueOp) -> None:
    w.assign(op, f"insertvalue {w.typed(op.container)}, {w.typed(op.value)}, {_path(op.position)}")


def _path(position: Attribute) -> str:
    return ", ".join(map(str, array_numbers(position)))


# Branches


def _br(w: Writer, op: branches.BrOp) -> None:
    w.line(f"br {w.targets(op)[0]}")


def _cond_br(w: Writer, op: branches.CondBrOp) -> None:
    w.line(f"br {w.typed(op.condition)}, {', '.join(w.targets(op))}")


def _switch(w: Writer, op: branches.SwitchOp) -> None:
    default, *cases = w.targets(op)
    type = type_text(op.value.type)
    listed = " ".join(f"{type} {n}, {label}" for n, label in zip(op.numbers(), cases, strict=True))
    w.line(f"switch {w.typed(op.value)}, {default} [ {listed} ]")


def _return(w: Writer, op: branches.ReturnOp) -> None:
    w.line("ret void" if op.arg is None else f"ret {w.typed(op.arg)}")


def _unreachable(w: Writer, op: branches.UnreachableOp) -> None:
    w.line("unreachable")


# Constants


def _constant(w: Writer, op: values.ConstantOp) -> str:
    return constant_text(op.value, op.res.type)


def _zero(w: Writer, op: values.Nothing) -> str:
    return "zeroinitializer" if not isinstance(op.res.type, LLVMPointerType) else "null"


def _undef(w: Writer, op: values.Nothing) -> str:
    return "undef"


def _poison(w: Writer, op: values.Nothing) -> str:
    return "poison"


def _addressof(w: Writer, op: memory.AddressOfOp) -> str:
    name = op.global_name.root_reference.data
    found = w.symbol(name)
    if not isinstance(found, functions.GlobalOp):
        raise NoText(f"@{name} is a function, whose address nobody needs")
    space = number_of(found.addr_space)
    if op.global_name.nested_references.data or op.res.type != pointer(space):
        raise NoText(f"@{name} is in address space {space}: its address is {pointer(space)}")
    return f"@{name}"


CONSTANTS: dict[type[Operation], Constant] = {
    values.ConstantOp: _constant,
    values.PoisonOp: _poison,
    values.UndefOp: _undef,
    values.ZeroOp: _zero,
    memory.AddressOfOp: _addressof,
}
"""The text of the value of each operation that is no instruction in LLVM IR."""

LLVM_ENTRIES: dict[type[Operation], Entry] = {
    **dict.fromkeys((arith.AddOp, arith.MulOp, arith.ShlOp, arith.SubOp), _wrapping),
    **dict.fromkeys((arith.AShrOp, arith.LShrOp, arith.SDivOp, arith.UDivOp), _exact),
    **dict.fromkeys((arith.AndOp, arith.SRemOp, arith.URemOp, arith.XOrOp), _binary),
    **dict.fromkeys((arith.FAddOp, arith.FDivOp, arith.FMulOp, arith.FSubOp), _float_binary),
    arith.FCmpOp: _fcmp,
    arith.FNegOp: _fneg,
    arith.FreezeOp: _freeze,
    arith.ICmpOp: _icmp,
    arith.OrOp: _or,
    arith.SelectOp: _select,
    **dict.fromkeys((casts.BitcastOp, casts.FPExtOp, casts.FPTruncOp, casts.SExtOp), _cast),
    **dict.fromkeys((casts.FPToSIOp, casts.FPToUIOp, casts.SIToFPOp, casts.UIToFPOp), _float_cast),
    casts.TruncOp: _trunc,
    casts.ZExtOp: _zext,
    **dict.fromkeys(intrinsics.INTRINSICS, _function),
    **dict.fromkeys(
        (intrinsics.CosOp, intrinsics.Exp2Op, intrinsics.SinOp, intrinsics.TanhOp), _approximate
    ),
    CallIntrinsicOp: _call_intrinsic,
    InlineAsmOp: _inline_asm,
    functions.CallOp: _call,
    **dict.fromkeys((memory.IntToPtrOp, memory.PtrToIntOp), _cast),
    memory.AddrSpaceCastOp: _addrspacecast,
    atomics.AtomicRMWOp: _atomicrmw,
    atomics.CmpXchgOp: _cmpxchg,
    atomics.FenceOp: _fence,
    memory.AllocaOp: _alloca,
    memory.GEPOp: _gep,
    memory.LoadOp: _load,
    memory.StoreOp: _store,
    values.ExtractElementOp: _extractelement,
    values.ExtractValueOp: _extractvalue,
    values.InsertElementOp: _insertelement,
    values.InsertValueOp: _insertvalue,
    values.ShuffleVectorOp: _shufflevector,
    branches.BrOp: _br,
    branches.CondBrOp: _cond_br,
    branches.ReturnOp: _return,
    branches.SwitchOp: _switch,
    branches.UnreachableOp: _unreachable,
}
"""How each operation of `llvm` is written."""
