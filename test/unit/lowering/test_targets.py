"""Every operation, alone in a kernel for each target: the PTX is what upstream's translation gives, and assembles.

LLVM makes PTX of both texts, so a difference would be one of the LLVM IR. What the emitter refuses is pinned.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from itertools import combinations, product
from pathlib import Path

import pytest
from xdsl.dialects.builtin import ModuleOp, UnitAttr
from xdsl.ir import Block, Operation, Region

from coconet_ir.diagnostics import IRError, op_name
from coconet_ir.dialects.llvm_branches import ReturnOp, Terminator
from coconet_ir.dialects.llvm_functions import FuncOp, GlobalOp
from coconet_ir.dialects.llvm_memory import StoreOp
from coconet_ir.dialects.llvm_types import GLOBAL, pointer
from coconet_ir.lowering.emit.llvm import CONSTANTS, NVVM_FUNCTIONS
from coconet_ir.lowering.emit.module import ENTRIES, emit
from coconet_ir.lowering.ptx import compile_llvm, compile_ptx
from coconet_ir.lowering.targets import TARGETS, Target, find_target, translate

DIALECTS = Path(__file__).parents[2] / "filecheck" / "dialects"

Parse = Callable[[str], ModuleOp]
Functions = Callable[[str], dict[str, list[str]]]
Upstream = Callable[[ModuleOp], str]

# The operations are those of the tests of the dialects, and these on each type !t.

FLOATS = ("f16", "bf16", "f32", "f64", "vector<2xf16>", "vector<2xbf16>", "vector<4xf32>")
ON_FLOATS = """
llvm.fadd %x, %x : !t
llvm.fsub %x, %x : !t
llvm.fmul %x, %x : !t
llvm.fdiv %x, %x : !t
llvm.fneg %x : !t
llvm.fcmp "olt" %x, %x : !t
llvm.fcmp "une" %x, %x : !t
llvm.intr.fabs(%x) : (!t) -> !t
llvm.intr.sqrt(%x) : (!t) -> !t
llvm.intr.floor(%x) : (!t) -> !t
llvm.intr.ceil(%x) : (!t) -> !t
llvm.intr.trunc(%x) : (!t) -> !t
llvm.intr.rint(%x) : (!t) -> !t
llvm.intr.nearbyint(%x) : (!t) -> !t
llvm.intr.roundeven(%x) : (!t) -> !t
llvm.intr.round(%x) : (!t) -> !t
llvm.intr.copysign(%x, %x) : (!t, !t) -> !t
llvm.intr.maxnum(%x, %x) : (!t, !t) -> !t
llvm.intr.minnum(%x, %x) : (!t, !t) -> !t
llvm.intr.maximum(%x, %x) : (!t, !t) -> !t
llvm.intr.minimum(%x, %x) : (!t, !t) -> !t
llvm.intr.fma(%x, %x, %x) : (!t, !t, !t) -> !t
llvm.intr.fmuladd(%x, %x, %x) : (!t, !t, !t) -> !t
"""
APPROXIMATE = """
llvm.intr.exp2(%x) : (!t) -> !t
llvm.intr.sin(%x) {fastmathFlags = #llvm.fastmath<afn>} : (!t) -> !t
llvm.intr.cos(%x) {fastmathFlags = #llvm.fastmath<afn>} : (!t) -> !t
llvm.intr.tanh(%x) {fastmathFlags = #llvm.fastmath<afn>} : (!t) -> !t
"""
INTEGERS = ("i8", "i16", "i32", "i64", "vector<2xi16>")
ON_INTEGERS = """
llvm.add %x, %x : !t
llvm.sub %x, %x : !t
llvm.mul %x, %x : !t
llvm.udiv %x, %x : !t
llvm.sdiv %x, %x : !t
llvm.urem %x, %x : !t
llvm.srem %x, %x : !t
llvm.and %x, %x : !t
llvm.or %x, %x : !t
llvm.xor %x, %x : !t
llvm.shl %x, %x : !t
llvm.lshr %x, %x : !t
llvm.ashr %x, %x : !t
llvm.icmp "slt" %x, %x : !t
llvm.icmp "uge" %x, %x : !t
llvm.intr.ctpop(%x) : (!t) -> !t
llvm.intr.bitreverse(%x) : (!t) -> !t
llvm.intr.smax(%x, %x) : (!t, !t) -> !t
llvm.intr.smin(%x, %x) : (!t, !t) -> !t
llvm.intr.umax(%x, %x) : (!t, !t) -> !t
llvm.intr.umin(%x, %x) : (!t, !t) -> !t
llvm.intr.fshl(%x, %x, %x) : (!t, !t, !t) -> !t
llvm.intr.fshr(%x, %x, %x) : (!t, !t, !t) -> !t
"llvm.intr.abs"(%x) <{is_int_min_poison = true}> : (!t) -> !t
"llvm.intr.ctlz"(%x) <{is_zero_poison = true}> : (!t) -> !t
"llvm.intr.cttz"(%x) <{is_zero_poison = true}> : (!t) -> !t
"""
SCOPES = ("", *(f'syncscope("{scope}")' for scope in ("block", "cluster", "device")))
ORDERS = ("monotonic", "acquire", "release", "acq_rel", "seq_cst")
UPDATES = {
    "i32": "xchg add sub _and nand _or _xor max min umax umin uinc_wrap udec_wrap usub_cond usub_sat",
    "i64": "xchg add sub _and nand _or _xor max min umax umin",
    "f32": "xchg fadd fsub fmax fmin fmaximum fminimum",
    "f64": "xchg fadd fsub fmax fmin",
    "f16": "fadd fmin",
    "bf16": "fadd fmin",
    "vector<2xf16>": "fadd fmax",
}


def conversions() -> Iterator[tuple[str, str, str]]:
    """Name, type before and type after."""
    whole, real = ("i1", "i8", "i16", "i32", "i64"), ("f16", "bf16", "f32", "f64")
    for small, large in combinations(whole, 2):
        yield from (("sext", small, large), ("zext", small, large), ("trunc", large, small))
    for one, other in product(whole, real):
        yield from (("sitofp", one, other), ("uitofp", one, other))
        yield from (("fptosi", other, one), ("fptoui", other, one))
    for small, large in (*product(real[:2], real[2:]), real[2:]):
        yield from (("fpext", small, large), ("fptrunc", large, small))
    for one, other in (
        ("f32", "i32"),
        ("bf16", "i16"),
        ("vector<2xf16>", "i32"),
        ("f64", "vector<8xi8>"),
    ):
        yield from (("bitcast", one, other), ("bitcast", other, one))


def accesses(type: str, size: int) -> Iterator[str]:
    """Atomic loads and stores of a type in every order; of i32 in every scope too."""
    for scope, order in product(SCOPES if type == "i32" else SCOPES[-1:], ("unordered", *ORDERS)):
        words = f"%p atomic {scope} {order} {{alignment = {size} : i64}}"
        if order not in ("release", "acq_rel"):
            yield f"llvm.load {words} : !llvm.ptr<1> -> {type}"
        if order not in ("acquire", "acq_rel"):
            yield f"llvm.store %x, {words} : {type}, !llvm.ptr<1>"


def exchanges(type: str) -> Iterator[str]:
    """Those in every order; of i32 in every scope too."""
    for order, failed in product(ORDERS, ("monotonic", "acquire", "seq_cst")):
        scopes = SCOPES if (type, order, failed) == ("i32", "acq_rel", "acquire") else SCOPES[-1:]
        yield from (
            f"llvm.cmpxchg %p, %x, %x {scope} {order} {failed} : !llvm.ptr<1>, {type}"
            for scope in scopes
        )


def operations() -> Iterator[tuple[str, str]]:
    """Types, and operations on a value %x of it and a pointer %p into global memory."""
    for types, text in (
        (FLOATS, ON_FLOATS),
        (("f16", "f32"), APPROXIMATE),
        (INTEGERS, ON_INTEGERS),
    ):
        yield from ((type, text.replace("!t", type)) for type in types)
    for name, before, after in conversions():
        yield before, f"llvm.{name} %x : {before} to {after}"
    for type, size in (("i8", 1), ("i32", 4), ("i64", 8), ("f32", 4)):
        yield type, "\n".join(accesses(type, size))
    for type in ("i16", "i32", "i64"):
        yield type, "\n".join(exchanges(type))
    for type, names in UPDATES.items():
        update = 'llvm.atomicrmw {} %p, %x syncscope("device") monotonic : !llvm.ptr<1>, {}'
        yield type, "\n".join(update.format(name, type) for name in names.split())
    for scope, order in product(SCOPES, ORDERS[1:]):
        yield "i32", f"llvm.fence {scope} {order}"
    for name, (*types, result) in NVVM_FUNCTIONS.items():
        given = ", ".join(["%x"] * len(types))
        takes = ", ".join(map(str, types))
        yield str(result), f'llvm.call_intrinsic "{name}"({given}) : ({takes}) -> {result}'


def alone(op: Operation, name: str) -> FuncOp:
    """A kernel that does nothing but this operation, on arguments of its own, and store its results."""
    types = [*(operand.type for operand in op.operands), pointer(GLOBAL)]
    block = Block(arg_types=types)
    copy = op.clone({operand: block.args[0] for operand in op.operands})
    copy.operands = block.args[:-1]
    block.add_ops([copy, *(StoreOp(r, block.args[-1]) for r in copy.results), ReturnOp()])
    return FuncOp(name, types, body=Region(block), attributes={"nvvm.kernel": UnitAttr()})


def subjects(kernels: list[FuncOp]) -> list[Operation]:
    """The operations that are alone in these kernels."""
    return [op for kernel in kernels if (op := kernel.body.block.first_op) is not None]


@pytest.fixture(scope="module")
def everything(parse: Parse) -> tuple[list[Operation], list[FuncOp]]:
    """The symbols that some operations refer to, and each operation alone in a kernel."""
    head = "llvm.func @f{}(%x: {}, %p: !llvm.ptr<1>) {{\n{}\nllvm.return\n}}\n"
    ours = "".join(head.format(i, type, lines) for i, (type, lines) in enumerate(operations()))
    texts = [ours, *((DIALECTS / name / "ops.mlir").read_text() for name in ("llvm", "nvvm"))]
    called = {name for text in texts for name in re.findall(r"llvm\.call @(\w+)", text)}
    symbols: list[Operation] = []
    found: list[Operation] = []
    for symbol in [symbol for text in texts for symbol in parse(text).ops]:
        if isinstance(symbol, GlobalOp):
            symbols.append(symbol.clone())
        elif isinstance(symbol, FuncOp):
            found += [op for op in symbol.body.walk() if not isinstance(op, Terminator)]
            if symbol.sym_name.data in called:
                symbols.append(symbol.clone())
    return symbols, [alone(op, f"k{number}") for number, op in enumerate(found)]


@dataclass(frozen=True)
class Outcome:
    """What becomes of the kernels for a target."""

    target: Target
    module: ModuleOp
    """The kernels that are taken, and the symbols."""
    ptx: str
    refused: dict[str, set[str]]
    """The names of the operations of the others, by the message."""


@pytest.fixture(scope="module", params=TARGETS.values(), ids=list(TARGETS))
def outcome(
    request: pytest.FixtureRequest, everything: tuple[list[Operation], list[FuncOp]]
) -> Outcome:
    """The outcome for each target."""
    target: Target = request.param
    symbols, kernels = everything
    module = ModuleOp([symbol.clone() for symbol in symbols])
    taken: list[Operation] = []
    refused: dict[str, set[str]] = {}
    for kernel in kernels:
        copy = kernel.clone()
        module.body.block.add_op(copy)
        try:
            emit(module, target)
            taken.append(copy)
        except IRError as error:
            refused.setdefault(error.message, set()).add(op_name(error.op or copy))
        copy.detach()
    module.body.block.add_ops(taken)
    module.verify()
    return Outcome(target, module, compile_ptx(module, target), refused)


def test_ptx_is_that_of_upstreams_translation(
    outcome: Outcome, upstream: Upstream, functions: Functions
) -> None:
    theirs = compile_llvm(upstream(outcome.module), outcome.target)
    assert functions(outcome.ptx) == functions(theirs)


def test_ptx_assembles_without_spills(outcome: Outcome, assemble: Callable[..., str]) -> None:
    said = assemble(outcome.ptx, outcome.target, "--compile-only")
    assert said.count("Compiling entry function") == outcome.ptx.count(".entry") > 500
    assert set(re.findall(r"(\d+) bytes spill", said)) == {"0"}


APART_FROM_CAPABILITIES = {
    "llvm.atomicrmw": "would lose its order or scope",
    **dict.fromkeys(
        ("llvm.intr.cos", "llvm.intr.sin", "llvm.intr.tanh"), "is only approximate on devices"
    ),
}
PARTLY = {
    ("9.0", "a count, a scope or the barrier of another block"): {"nvvm.mbarrier.arrive"},
    ("9.0", "the kind async.global"): {"nvvm.fence.proxy"},
    ("9.0", "the kind async.shared"): {"nvvm.fence.proxy"},
    ("9.0", "the scope of a cluster"): {"llvm.cmpxchg", "llvm.fence", "llvm.load", "llvm.store"},
    ("10.0", "byte_mask"): {"nvvm.cp.async.bulk.global.shared.cta"},
    ("10.0", "floats"): {"nvvm.redux.sync"},
    ("10.0", "relaxed = true"): {"nvvm.mbarrier.arrive"},
}
WHOLLY = {
    "8.9": r"convert\.(f32x2\.to\.f8x2|f16x2\.to\.f8x2|f8x2\.to\.f16x2)",
    "9.0": r"cluster\..*|cp\.async\.bulk\..*|elect\.sync|fence\.(mbarrier\.init|sc\.cluster)|griddepcontrol|mapa"
    r"|mbarrier\.(arrive\.expect_tx|complete_tx|expect_tx|test\.wait|try_wait)|prefetch"
    r"|read\.ptx\.sreg\.(aggr\.smem\.size|n?cluster.*)",
}
"""Names of operations of `nvvm`, by the compute capability that they need."""


def test_what_is_refused(
    outcome: Outcome, everything: tuple[list[Operation], list[FuncOp]]
) -> None:
    names = {op.name for op in subjects(everything[1])}
    needs = re.compile(r"needs compute capability (\S+?)(?: for (.*))?, but \w+ has \S+")
    lacking = {
        match.groups(): refused
        for message, refused in outcome.refused.items()
        if (match := needs.fullmatch(message)) is not None
    }
    has = outcome.target.capability / 10
    wholly = {
        (capability, None): {n for n in names if re.fullmatch(rf"nvvm\.({pattern})", n)}
        for capability, pattern in WHOLLY.items()
    }
    expected = {key: found for key, found in (wholly | PARTLY).items() if float(key[0]) > has}
    if has < 9:  # these need that much already
        del expected["10.0", "byte_mask"], expected["10.0", "relaxed = true"]
    assert lacking == expected
    others = {
        name: message.partition(": ")[0]
        for message, refused in outcome.refused.items()
        if needs.fullmatch(message) is None
        for name in refused
    }
    assert others == APART_FROM_CAPABILITIES


def test_every_operation_is_compared(everything: tuple[list[Operation], list[FuncOp]]) -> None:
    found = {type(op) for op in subjects(everything[1])}
    branches = {one for one in ENTRIES if issubclass(one, Terminator)}
    assert found | branches == {*ENTRIES, *CONSTANTS}


@pytest.mark.parametrize("target", TARGETS.values(), ids=list(TARGETS))
def test_sums_and_products_are_rounded_each(
    parse: Parse, functions: Functions, target: Target
) -> None:
    text = """
llvm.func @NAME(%a: TYPE, %b: TYPE, %p: !llvm.ptr<1>) attributes {nvvm.kernel} {
  %m = llvm.fmul %a, %b FLAGS : TYPE
  %s = llvm.fadd %m, %a FLAGS : TYPE
  %d = llvm.fsub %s, %b FLAGS : TYPE
  llvm.store %d, %p : TYPE, !llvm.ptr<1>
  llvm.return
}
"""
    contract = "{fastmathFlags = #llvm.fastmath<contract>}"
    module = parse(
        "".join(
            text.replace("NAME", f"{name}{number}").replace("FLAGS", flags).replace("TYPE", type)
            for name, flags in (("each", ""), ("fused", contract))
            for number, type in enumerate(FLOATS)
        )
    )
    found = functions(compile_ptx(module, target))
    for number, type in enumerate(FLOATS):
        each, fused = (
            [
                line
                for line in found[f"{name}{number}"]
                if re.match(r"(add|sub|mul|fma)\.\S*f\d", line)
            ]
            for name in ("each", "fused")
        )
        as_fma = "bf16" in type and target.name == "sm_80"  # it has no other instruction for them
        assert {line[:3] for line in each} == ({"fma"} if as_fma else {"add", "sub", "mul"})
        assert all(".rn" in line for line in each)
        assert len(fused) * 3 == len(each) * 2


def test_translation(parse: Parse) -> None:
    kernel = "llvm.func @k() attributes {nvvm.kernel} {\nllvm.return\n}"
    plain = parse(kernel)
    inner = parse(f'"gpu.module"() <{{sym_name = "m"}}> ({{\n{kernel}\n}}) : () -> ()')
    for module in (plain, inner):
        assert "define ptx_kernel void @k()" in translate(module, "nvptx-llvm", "sm_90a")
        for name, target in TARGETS.items():
            header = f".version {target.version}\n.target {name}\n.address_size 64\n"
            assert header in translate(module, "ptx", name)
    assert [t.version for t in TARGETS.values()] == ["8.0", "8.1", "8.6"]


def test_one_module_of_kernels(parse: Parse) -> None:
    inner = '"gpu.module"() <{{sym_name = "{}"}}> ({{\n^bb0:\n}}) : () -> ()\n'
    module = parse(inner.format("a") + inner.format("b"))
    with pytest.raises(IRError, match=r"has several gpu\.module, but PTX is made of one") as caught:
        translate(module, "ptx", "sm_80")
    assert [text for text, _ in caught.value.notes] == ["another is here"]


def test_unknown_target() -> None:
    with pytest.raises(
        IRError, match="there is no target 'sm_70': there are sm_80, sm_90a, sm_100a"
    ):
        find_target("sm_70")
