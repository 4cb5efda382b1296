"""LLVM IR from a module of `llvm` and `nvvm`: our own text, written for NVPTX.

Each operation has one entry in one table (`emit.llvm`, `emit.nvvm`); one without an entry is an error, never a
guess. Alignments and the data layout are always written. Blocks may stand in any order, and a block that nothing
reaches is left out.
"""

from __future__ import annotations

from collections.abc import Iterator
from collections.abc import Set as AbstractSet

from xdsl.dialects.builtin import DictionaryAttr, bf16, f16
from xdsl.ir import Attribute, Operation

from coconet_ir.dialects.llvm_functions import FuncOp, GlobalOp
from coconet_ir.dialects.llvm_types import array_numbers, number_of
from coconet_ir.lowering.emit.function import Entry, ModuleState, Writer, blame, require
from coconet_ir.lowering.emit.llvm import CONSTANTS, LLVM_ENTRIES
from coconet_ir.lowering.emit.nvvm import NVVM_ENTRIES
from coconet_ir.lowering.emit.types import (
    NoText,
    constant_text,
    size_and_alignment,
    type_text,
)
from coconet_ir.lowering.targets import DATA_LAYOUT, TRIPLE, Target, is_ptx_name

ENTRIES: dict[type[Operation], Entry] = {**LLVM_ENTRIES, **NVVM_ENTRIES}
"""How each operation is written."""

_NUMBERS = {
    "nvvm.maxntid": "nvvm.maxntid",
    "nvvm.reqntid": "nvvm.reqntid",
    "nvvm.cluster_dim": "nvvm.cluster_dim",
    "nvvm.minctasm": "nvvm.minctasm",
    "nvvm.maxnreg": "nvvm.maxnreg",
    "nvvm.cluster_max_blocks": "nvvm.maxclusterrank",
}
"""Attributes of a kernel that are numbers, as MLIR and as LLVM IR name them."""

_EXCLUSIVE = (
    ("nvvm.maxntid", "nvvm.reqntid"),
    ("nvvm.cluster_dim", "nvvm.cluster_max_blocks"),
)
"""Attributes of a kernel of which it has one at most."""

_ARGUMENT_FLAGS = {
    "llvm.noalias": "noalias",
    "llvm.nocapture": "captures(none)",
    "llvm.nonnull": "nonnull",
    "llvm.noundef": "noundef",
    "llvm.readnone": "readnone",
    "llvm.readonly": "readonly",
    "llvm.signext": "signext",
    "llvm.writeonly": "writeonly",
    "llvm.zeroext": "zeroext",
    "nvvm.grid_constant": '"nvvm.grid_constant"',
}
"""Attributes of an argument that hold by being there."""


def emit(container: Operation, target: Target, only: str | None = None) -> str:
    """The LLVM IR of the functions and globals in a module, for a target; `only` one of its kernels, if given.

    Raises `IRError`.
    """
    operations = list(container.regions[0].block.ops)
    symbols = {op.sym_name.data: op for op in operations if isinstance(op, FuncOp | GlobalOp)}
    if only is not None:
        operations = [op for op in operations if not _is_kernel(op) or op is symbols[only]]
    module = ModuleState(target, symbols)
    lines = [line for op in operations for line in _symbol(module, op)]
    return "\n".join(
        (
            f'target datalayout = "{DATA_LAYOUT}"',
            f'target triple = "{TRIPLE}"',
            "",
            *lines,
            *module.declarations.values(),
            "",
            *module.debug.lines(),
            *module.metadata.lines(),
            "",
        )
    )


def _is_kernel(op: Operation) -> bool:
    return isinstance(op, FuncOp) and op.is_kernel


def _symbol(module: ModuleState, op: Operation) -> list[str]:
    with blame(op):
        match op:
            case FuncOp():
                return _function(module, op)
            case GlobalOp():
                return _global(op)
            case _:
                raise NoText(
                    "has no text in LLVM IR: a module holds llvm.func and llvm.mlir.global"
                )


def _global(op: GlobalOp) -> list[str]:
    name, type, space = _ptx_name(op.sym_name.data), op.global_type, number_of(op.addr_space)
    linkage = op.linkage.linkage.data
    words = [f"@{name} ="]
    if linkage != "external" or op.value is None:
        words.append(linkage)
    if space:
        words.append(f"addrspace({space})")
    words += ["constant" if op.constant is not None else "global", type_text(type)]
    if op.value is not None and type in (f16, bf16):
        raise NoText(
            f"begins as a {type}, which LLVM has no PTX for: make it an !llvm.array<1 x {type}>"
        )
    if op.value is not None:
        words.append(constant_text(op.value, type))
    elif linkage != "external":
        words.append("undef")
    alignment = number_of(op.alignment) or size_and_alignment(type)[1]
    return [f"{' '.join(words)}, align {alignment}", ""]


def _function(module: ModuleState, op: FuncOp) -> list[str]:
    name, linkage = _ptx_name(op.sym_name.data), op.linkage.linkage.data
    attributes = _function_attributes(module.target, op)
    arguments = _argument_texts(op)
    result = f"{_result_attributes(op)}{type_text(op.function_type.output)}"
    if not op.body.blocks:
        return [f"declare {result} @{name}({', '.join(arguments)}){attributes}", ""]
    if op.is_kernel and linkage != "external":
        raise NoText("is a kernel, which only the host calls: its linkage is external")
    words = [
        "define",
        *([linkage] if linkage != "external" else []),
        *(["ptx_kernel"] if op.is_kernel else []),
    ]
    location = module.debug.enter(op, name)
    writer = Writer(module, ENTRIES, CONSTANTS)
    body = writer.write(op)
    named = [
        f"{text} {writer.value(value)}"
        for text, value in zip(arguments, op.body.blocks[0].args, strict=True)
    ]
    return [
        f"{' '.join(words)} {result} @{name}({', '.join(named)}){attributes}{location} {{",
        *body,
        "}",
        "",
    ]


def _ptx_name(name: str) -> str:
    if not is_ptx_name(name):
        raise NoText(
            f"PTX has no name '{name}': use letters, digits, _ and $, a letter first, and not WARP_SZ"
        )
    return name


def _function_attributes(target: Target, op: FuncOp) -> str:
    """What stands behind the arguments of a function."""
    words = [
        word
        for word, flag in (("alwaysinline", op.always_inline), ("noinline", op.no_inline))
        if flag is not None
    ]
    if not op.is_kernel:
        words.append("convergent")
    _check_launch(op.attributes.keys())
    for name, value in op.attributes.items():
        if name.startswith("nvvm.cluster_"):
            require(target, 90, name)
        if name in _NUMBERS:
            words.append(f'"{_NUMBERS[name]}"="{_numbers(name, value)}"')
        elif name.startswith(("nvvm.", "llvm.")) and name != "nvvm.kernel":
            raise NoText(f"has the attribute {name}, which has no text in LLVM IR")
    return "".join(f" {word}" for word in words)


def _check_launch(names: AbstractSet[str]) -> None:
    """Raise `NoText` for attributes of a kernel that PTX does not take together."""
    for one, other in _EXCLUSIVE:
        if one in names and other in names:
            raise NoText(f"states both {one} and {other}, of which PTX takes one")
    if "nvvm.minctasm" in names and names.isdisjoint(_EXCLUSIVE[0]):
        raise NoText("states nvvm.minctasm, which needs nvvm.maxntid or nvvm.reqntid")


def _numbers(name: str, value: Attribute) -> str:
    numbers = array_numbers(value) or (number_of(value),)
    if not numbers or len(numbers) > 3 or min(numbers) < 1:
        raise NoText(f"has {name} = {value}, which must be numbers from 1 on")
    return ",".join(map(str, numbers))


def _positive(name: str, value: Attribute) -> int:
    number = number_of(value)
    if number < 1 or (name == "llvm.align" and number & (number - 1)):
        raise NoText(f"has an argument with {name} = {value}, which LLVM does not take")
    return number


def _argument_texts(op: FuncOp) -> list[str]:
    inputs = op.function_type.inputs.data
    attributes = (
        op.arg_attrs.data if op.arg_attrs is not None else [DictionaryAttr({})] * len(inputs)
    )
    return [
        " ".join((type_text(type), *_argument_words(given)))
        for type, given in zip(inputs, attributes, strict=True)
    ]


def _argument_words(attributes: DictionaryAttr) -> Iterator[str]:
    for name, value in attributes.data.items():
        match name:
            case _ if name in _ARGUMENT_FLAGS:
                yield _ARGUMENT_FLAGS[name]
            case "llvm.align":
                yield f"align {_positive(name, value)}"
            case "llvm.dereferenceable":
                yield f"dereferenceable({_positive(name, value)})"
            case "llvm.byval":
                yield f"byval({type_text(value)})"
            case _ if name.startswith(("nvvm.", "llvm.")):
                raise NoText(f"has an argument with {name}, which has no text in LLVM IR")
            case _:
                pass  # another dialect's


def _result_attributes(op: FuncOp) -> str:
    words = [w for given in op.res_attrs or () for w in _argument_words(given)]
    return "".join(f"{word} " for word in words)
