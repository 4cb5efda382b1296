"""The text of LLVM IR: names, blocks, types, constants and lines; LLVM itself and NumPy say what is right."""

from __future__ import annotations

import re
from collections.abc import Callable
from importlib import import_module
from itertools import pairwise
from typing import Any

import ml_dtypes
import numpy as np
import pytest
from xdsl.dialects.builtin import (
    DenseIntOrFPElementsAttr,
    FloatAttr,
    IntegerAttr,
    IntegerType,
    ModuleOp,
    TensorType,
    VectorType,
    bf16,
    f16,
    f32,
    f64,
    i1,
    i8,
    i16,
    i32,
    i64,
)
from xdsl.dialects.llvm import LLVMArrayType, LLVMPointerType, LLVMStructType
from xdsl.ir import Attribute, Block, Region

from coconet_ir.dialects.llvm import LLVM
from coconet_ir.dialects.llvm_arith import AddOp
from coconet_ir.dialects.llvm_branches import BrOp, ReturnOp
from coconet_ir.dialects.llvm_functions import FuncOp, GlobalOp
from coconet_ir.dialects.nvvm import NVVM
from coconet_ir.lowering.emit.llvm import CONSTANTS
from coconet_ir.lowering.emit.module import ENTRIES, emit
from coconet_ir.lowering.emit.types import constant_text, quoted, size_and_alignment, type_text
from coconet_ir.lowering.ptx import compile_llvm, compile_ptx
from coconet_ir.lowering.targets import DATA_LAYOUT, TARGETS, TRIPLE

Parse = Callable[[str], ModuleOp]

SM_80 = TARGETS["sm_80"]


@pytest.fixture(scope="module")
def llvm() -> Any:
    """LLVM, in this process: what is asked of it does not end it."""
    binding = import_module("llvmlite.binding")
    binding.initialize_all_targets()
    return binding


def body(text: str) -> list[str]:
    """The lines of the only function with blocks, without line information."""
    inside = text.partition("{\n")[2].partition("\n}")[0]
    return [re.sub(r", !dbg !\d+", "", line).strip() for line in inside.split("\n")]


# The table


def test_every_operation_has_a_text() -> None:
    written = {*ENTRIES, *CONSTANTS, FuncOp, GlobalOp}
    assert written == {*LLVM.operations, *NVVM.operations}
    assert not ENTRIES.keys() & CONSTANTS.keys()


# Names and blocks


def test_names(parse: Parse) -> None:
    text = """
llvm.func @f(%x: i32, %v1: i32, %0: i32) -> i32 {
  %1 = llvm.add %x, %0 : i32
  llvm.br ^x(%1 : i32)
^x(%y: i32):
  %2 = llvm.add %y, %v1 : i32
  llvm.br ^b(%2 : i32)
^b(%z: i32):
  llvm.return %z : i32
}
"""
    emitted = emit(parse(text), SM_80)
    assert "define i32 @f(i32 %x.1, i32 %v1, i32 %v0) convergent" in emitted
    assert body(emitted) == [
        "b0:",
        "%v2 = add i32 %x.1, %v0",
        "br label %x",
        "x:",
        "%y = phi i32 [ %v2, %b0 ]",
        "%v3 = add i32 %y, %v1",
        "br label %b",
        "b:",
        "%z = phi i32 [ %v3, %x ]",
        "ret i32 %z",
    ]
    compile_llvm(emitted, SM_80)


def test_edges_to_one_block_with_different_values(parse: Parse) -> None:
    text = """
llvm.func @f(%a: i32, %c: i1) -> i32 {
  llvm.cond_br %c, ^one(%a, %a : i32, i32), ^one(%a, %n : i32, i32)
^one(%x: i32, %y: i32):
  llvm.switch %x : i32, ^two [1: ^two, 2: ^three(%x : i32), 3: ^three(%y : i32)]
^two:
  %n = llvm.mlir.constant(-1 : i32) : i32
  llvm.br ^three(%n : i32)
^three(%z: i32):
  llvm.return %z : i32
}
"""
    emitted = emit(parse(text.replace("%n", "%a", 1)), SM_80)
    assert body(emitted) == [
        "b0:",
        "br i1 %c, label %b0.one, label %b0.one.1",
        "b0.one:",
        "br label %one",
        "b0.one.1:",
        "br label %one",
        "one:",
        "%x = phi i32 [ %a, %b0.one ], [ %a, %b0.one.1 ]",
        "%y = phi i32 [ %a, %b0.one ], [ %a, %b0.one.1 ]",
        "switch i32 %x, label %two [ i32 1, label %two i32 2, label %one.three i32 3, label %one.three.1 ]",
        "one.three:",
        "br label %three",
        "one.three.1:",
        "br label %three",
        "two:",
        "br label %three",
        "three:",
        "%z = phi i32 [ %x, %one.three ], [ %y, %one.three.1 ], [ -1, %two ]",
        "ret i32 %z",
    ]
    compile_llvm(emitted, SM_80)


def test_blocks_in_any_order_and_those_that_nothing_reaches(parse: Parse) -> None:
    text = """
llvm.func @f(%a: i32) -> i32 {
  llvm.br ^first
^second(%x: i32):
  %1 = llvm.mul %x, %0 : i32
  llvm.return %1 : i32
^never:
  %2 = llvm.add %0, %a : i32
  llvm.br ^second(%2 : i32)
^first:
  %0 = llvm.sub %a, %a : i32
  llvm.br ^second(%0 : i32)
}
"""
    emitted = emit(parse(text), SM_80)
    assert body(emitted) == [
        "b0:",
        "br label %first",
        "second:",
        "%x = phi i32 [ %v1, %first ]",
        "%v0 = mul i32 %x, %v1",
        "ret i32 %v0",
        "first:",
        "%v1 = sub i32 %a, %a",
        "br label %second",
    ]
    compile_llvm(emitted, SM_80)


def test_long_functions() -> None:
    blocks = [Block(arg_types=[i32]) for _ in range(3000)]
    for block, following in pairwise(blocks):
        total = AddOp(block.args[0], block.args[0])
        block.add_ops([total, BrOp(following, total.res)])
    blocks[-1].add_op(ReturnOp(blocks[-1].args[0]))
    module = ModuleOp([FuncOp("f", [i32], i32, Region(blocks))])
    lines = body(emit(module, SM_80))
    assert len(lines) == 3 + 4 * len(blocks[2:]) + 3
    assert lines[-3:] == ["b2999:", "%v5998 = phi i32 [ %v5997, %b2998 ]", "ret i32 %v5998"]


# Types


TYPES: tuple[Attribute, ...] = (
    *(IntegerType(width) for width in (1, 7, 8, 9, 16, 24, 32, 48, 64, 65, 128, 129, 256, 300)),
    *(f16, bf16, f32, f64),
    LLVMPointerType(),
    *(
        VectorType(element, [lanes])
        for element in (i8, f16, f32, i64)
        for lanes in (1, 2, 3, 4, 5, 8)
    ),
    LLVMArrayType(5, i16),
    LLVMArrayType(3, LLVMArrayType(2, f64)),
    LLVMArrayType(0, VectorType(f32, [4])),
    LLVMStructType.from_type_list([i8, i64, i1]),
    LLVMStructType.from_type_list(
        [i32, LLVMArrayType(3, i8), LLVMStructType.from_type_list([i16, f64])]
    ),
    LLVMStructType.from_type_list([]),
)


def test_sizes_and_alignments_are_llvms(llvm: Any) -> None:
    globals = [f"@g{i} = external global {type_text(type)}" for i, type in enumerate(TYPES)]
    module = llvm.parse_assembly("\n".join((f'target datalayout = "{DATA_LAYOUT}"', *globals)))
    data = llvm.create_target_data(DATA_LAYOUT)
    for number, type in enumerate(TYPES):
        theirs = module.get_global_variable(f"g{number}").global_value_type
        found = data.get_abi_size(theirs), data.get_abi_alignment(theirs)
        assert size_and_alignment(type) == found, str(type)


def test_the_data_layout_is_llvms(llvm: Any) -> None:
    target = llvm.Target.from_triple(TRIPLE)
    for one in TARGETS.values():
        machine = target.create_target_machine(cpu=one.name, features=f"+ptx{one.ptx}")
        assert str(machine.target_data) == DATA_LAYOUT


# Constants


FLOATS = (
    0.0,
    -0.0,
    1.0,
    0.1,
    float("inf"),
    float("-inf"),
    65504.0,
    1e-7,
    1e-40,
    5e-324,
    3e38,
    1e308,
)


def numbers(dtype: np.dtype[Any]) -> list[Any]:
    """Numbers of this type, the special ones too."""
    rng = np.random.default_rng(1)
    if dtype.kind == "i":
        least = int(np.iinfo(dtype).min)
        return [0, 1, -1, least, least + 1, -least - 1, *map(int, rng.integers(-100, 100, 9))]
    with np.errstate(over="ignore"):
        return np.array([*FLOATS, *rng.normal(0, 9, 50)]).astype(dtype).astype(np.float64).tolist()


@pytest.mark.parametrize(
    ("type", "dtype"),
    [
        (f16, np.float16),
        (bf16, ml_dtypes.bfloat16),
        (f32, np.float32),
        (f64, np.float64),
        (i8, np.int8),
        (i16, np.int16),
        (i32, np.int32),
        (i64, np.int64),
    ],
    ids=lambda one: str(one) if isinstance(one, Attribute) else "",
)
def test_numbers_keep_their_bits(type: Any, dtype: Any) -> None:
    values = numbers(np.dtype(dtype))
    count = len(values)
    data = DenseIntOrFPElementsAttr.from_list(TensorType(type, [count]), values)
    array = LLVMArrayType(count, type)
    module = ModuleOp([GlobalOp("g", array, "external", addr_space=1, alignment=16, value=data)])
    printed = re.search(r"\.b8 g\[(\d+)\] = \{(.*)\}", compile_ptx(module, SM_80))
    assert printed is not None
    found = bytes(map(int, printed[2].split(", ")))  # without zeros at the end
    assert found.ljust(int(printed[1]), b"\0") == np.array(values, dtype).tobytes()


def test_constants() -> None:
    assert constant_text(IntegerAttr(1, i1), i1) == "true"
    assert constant_text(IntegerAttr(-1, i1), i1) == "true"
    assert constant_text(IntegerAttr(0, i1), i1) == "false"
    assert constant_text(IntegerAttr(-7, i64), i64) == "-7"
    assert constant_text(FloatAttr(1.5, f16), f16) == "0xH3E00"
    assert constant_text(FloatAttr(1.5, bf16), bf16) == "0xR3FC0"
    assert constant_text(FloatAttr(0.1, f32), f32) == "0x3FB99999A0000000"
    assert constant_text(FloatAttr(0.1, f64), f64) == "0x3FB999999999999A"
    pair = VectorType(f32, [2])
    dense = DenseIntOrFPElementsAttr.from_list(pair, [1.0, -2.0])
    assert constant_text(dense, pair) == "<float 0x3FF0000000000000, float 0xC000000000000000>"


def test_strings() -> None:
    assert quoted('a "b"\\\n\x7fé') == '"a \\22b\\22\\5C\\0A\\7F\\C3\\A9"'


# Lines


def test_lines_in_other_files(parse: Parse) -> None:
    text = """
llvm.func @f() {
  nvvm.barrier0 loc("a\\\\b \\"c\\".mlir":77:3)
  LONG llvm.return
}
"""
    emitted = emit(parse(text.replace("LONG", " " * (1 << 16))), SM_80)
    nodes = dict(re.findall(r"^(!\d+) = (.*)$", emitted, re.MULTILINE))
    barrier, back = re.findall(r"!dbg (!\d+)$", emitted, re.MULTILINE)[-2:]
    found = re.fullmatch(r"!DILocation\(line: 77, column: 3, scope: (!\d+)\)", nodes[barrier])
    assert found is not None
    scope = re.fullmatch(
        r"!DILexicalBlockFile\(scope: !\d+, file: (!\d+), discriminator: 0\)", nodes[found[1]]
    )
    assert scope is not None
    assert nodes[scope[1]] == '!DIFile(filename: "a/b \'c\'.mlir", directory: "")'
    assert re.fullmatch(r"!DILocation\(line: 4, column: 0, scope: !\d+\)", nodes[back])
    ptx = compile_llvm(emitted, SM_80)
    number = re.search(r"\.file\t(\d) \"a/b 'c'\.mlir\"", ptx)
    assert number is not None
    assert f"\t.loc\t{number[1]} 77 3\n" in ptx


def test_what_stands_in_no_file_has_no_lines() -> None:
    module = ModuleOp([FuncOp("f", [], body=Region(Block([ReturnOp()])))])
    assert "!" not in emit(module, SM_80)
