"""`llvm` and `nvvm` as upstream spells them, and the operations as passes make them in Python.

Round trips and refusals are in test/filecheck/dialects.
"""

from __future__ import annotations

import os
import re
import subprocess
from bisect import bisect
from collections.abc import Callable
from pathlib import Path

import pytest
from xdsl.dialects.builtin import (
    Float8E4M3FNType,
    FloatAttr,
    ModuleOp,
    VectorType,
    f16,
    f32,
    f64,
    i1,
    i8,
    i32,
    i64,
)
from xdsl.dialects.llvm import FastMathAttr, LLVMArrayType, LLVMStructType
from xdsl.dialects.utils import FastMathFlag
from xdsl.ir import Block, Dialect, Operation

from coconet_ir.dialects import (
    llvm_arith,
    llvm_atomics,
    llvm_casts,
    llvm_functions,
    llvm_intrinsics,
    llvm_memory,
    llvm_values,
    nvvm,
    nvvm_convert,
    nvvm_copies,
    nvvm_mbarrier,
    nvvm_registers,
    nvvm_warp,
)
from coconet_ir.dialects.llvm import LLVM
from coconet_ir.dialects.llvm_types import (
    GENERIC,
    GLOBAL,
    SHARED,
    SHARED_CLUSTER,
    ConstantRangeAttr,
    pointer,
)
from coconet_ir.dialects.nvvm import NVVM
from coconet_ir.xdsl_compat import print_module

DIALECTS = Path(__file__).parents[2] / "filecheck" / "dialects"

Parse = Callable[[str], ModuleOp]
MlirOpt = Callable[..., subprocess.CompletedProcess[str]]

ARGUMENTS = {
    "p": pointer(GLOBAL),
    "s": pointer(SHARED),
    "g": pointer(GENERIC),
    "r": pointer(SHARED_CLUSTER),
    "a": i32,
    "b": i32,
    "n": i64,
    "x": f32,
    "y": f32,
    "c": i1,
    "v": VectorType(f32, [4]),
    "h": VectorType(f16, [2]),
    "e": VectorType(i8, [2]),
    "t": LLVMStructType.from_type_list([i32, LLVMArrayType(2, f32)]),
}


def spelling(text: str) -> list[str]:
    """The operations of a module as texts without what is free to differ: spaces and comments."""
    plain = re.sub(r"//.*|\s+|builtin\.|!llvm\.(?=array|struct)|!llvm\.ptr(?=<)", "", text)
    return re.split(r"(?<=[^!#.])(?=(?:llvm|nvvm)\.)", plain)


@pytest.mark.parametrize(
    ("name", "dialect"), [("llvm", LLVM), ("nvvm", NVVM)], ids=["llvm", "nvvm"]
)
def test_operations_are_spelt_as_upstream_spells_them(
    name: str, dialect: Dialect, parse: Parse, mlir_opt: MlirOpt
) -> None:
    text = (DIALECTS / name / "ops.mlir").read_text()
    module = parse(text)
    assert {op.name for op in module.walk()} >= {op.name for op in dialect.operations}
    ran = mlir_opt(text)
    assert ran.returncode == 0, ran.stderr
    assert spelling(print_module(module)) == spelling(ran.stdout)


def test_what_nvvm_refuses_is_refused_by_upstream(mlir_opt: MlirOpt) -> None:
    text = (DIALECTS / "nvvm" / "invalid.mlir").read_text()
    ran = mlir_opt(text, "--split-input-file", "-o", os.devnull)
    at = [int(line) for line in re.findall(r"^<stdin>:(\d+):\d+: error", ran.stderr, re.MULTILINE)]
    separators = [n for n, line in enumerate(text.split("\n"), 1) if line == "// -----"]
    ends = [*separators, text.count("\n") + 1]
    assert {bisect(ends, line) for line in at} == set(range(len(ends)))


# Operations made in Python


CONTRACT = FastMathAttr([FastMathFlag.ALLOW_CONTRACT])
APPROXIMATE = FastMathAttr([FastMathFlag.APPROX_FUNC])
MADE = """
llvm.add %a, %b : i32
llvm.udiv %a, %b : i32
llvm.urem %a, %b : i32
llvm.or %a, %b : i32
llvm.fmul %x, %y : f32
llvm.fadd %x, %y {fastmathFlags = #llvm.fastmath<contract>} : f32
llvm.fneg %x : f32
llvm.icmp "ult" %a, %b : i32
llvm.fcmp "oeq" %v, %v : vector<4xf32>
llvm.select %c, %x, %y : i1, f32
llvm.freeze %x : f32
llvm.zext %a : i32 to i64
llvm.trunc %n : i64 to i32
llvm.bitcast %h : vector<2xf16> to i32
llvm.fpext %x : f32 to f64
llvm.uitofp %a : i32 to f32
llvm.intr.sqrt(%x) : (f32) -> f32
llvm.intr.tanh(%x) {fastmathFlags = #llvm.fastmath<afn>} : (f32) -> f32
llvm.intr.maxnum(%x, %y) : (f32, f32) -> f32
llvm.intr.fma(%x, %y, %x) : (f32, f32, f32) -> f32
llvm.intr.ctpop(%a) : (i32) -> i32
llvm.intr.umin(%a, %b) : (i32, i32) -> i32
llvm.intr.fshl(%a, %b, %a) : (i32, i32, i32) -> i32
"llvm.intr.abs"(%a) <{is_int_min_poison = false}> : (i32) -> i32
"llvm.intr.ctlz"(%a) <{is_zero_poison = true}> : (i32) -> i32
"llvm.intr.uadd.with.overflow"(%a, %b) : (i32, i32) -> !llvm.struct<(i32, i1)>
llvm.load %p : !llvm.ptr<1> -> f32
llvm.load volatile %p atomic syncscope("device") acquire {alignment = 4 : i64} : !llvm.ptr<1> -> i32
llvm.load %p invariant {alignment = 16 : i64, nontemporal} : !llvm.ptr<1> -> vector<4xf32>
llvm.store %x, %p : f32, !llvm.ptr<1>
llvm.store %a, %p atomic syncscope("block") release {alignment = 4 : i64} : i32, !llvm.ptr<1>
llvm.addrspacecast %p : !llvm.ptr<1> to !llvm.ptr
llvm.ptrtoint %p : !llvm.ptr<1> to i64
llvm.inttoptr %n : i64 to !llvm.ptr<3>
llvm.alloca %a x f32 {alignment = 4 : i64} : (i32) -> !llvm.ptr
llvm.getelementptr inbounds %p[%n] : (!llvm.ptr<1>, i64) -> !llvm.ptr<1>, f32
llvm.getelementptr %p[0, %n] : (!llvm.ptr<1>, i64) -> !llvm.ptr<1>, !llvm.array<4 x f32>
llvm.mlir.addressof @tile : !llvm.ptr<3>
llvm.atomicrmw add %p, %a syncscope("device") monotonic {alignment = 4 : i64} : !llvm.ptr<1>, i32
llvm.cmpxchg %p, %a, %b acq_rel monotonic : !llvm.ptr<1>, i32
llvm.fence syncscope("device") seq_cst
llvm.mlir.constant(1.500000e+00 : f32) : f32
llvm.mlir.zero : !llvm.ptr
llvm.mlir.poison : vector<4xf32>
llvm.extractelement %v[%a : i32] : vector<4xf32>
llvm.insertelement %x, %v[%a : i32] : vector<4xf32>
llvm.shufflevector %v, %v [0, 4] : vector<4xf32>
llvm.extractvalue %t[1, 0] : !llvm.struct<(i32, !llvm.array<2 x f32>)>
llvm.insertvalue %a, %t[0] : !llvm.struct<(i32, !llvm.array<2 x f32>)>
llvm.call @helper(%a, %x) : (i32, f32) -> f32
llvm.call @nothing() : () -> ()
nvvm.read.ptx.sreg.tid.x : i32
nvvm.read.ptx.sreg.tid.x range <i32, 0, 256> : i32
nvvm.read.ptx.sreg.clock : i32
nvvm.read.ptx.sreg.globaltimer : i64
nvvm.shfl.sync bfly %a, %x, %b, %b : f32 -> f32
nvvm.shfl.sync up %a, %b, %a, %a {return_value_and_is_valid} : i32 -> !llvm.struct<(i32, i1)>
nvvm.vote.sync ballot %a, %c -> i32
nvvm.vote.sync any %a, %c -> i1
nvvm.redux.sync add %a, %b : i32 -> i32
nvvm.match.sync all %a, %n : i64 -> !llvm.struct<(i32, i1)>
nvvm.elect.sync -> i1
nvvm.bar.warp.sync %a : i32
nvvm.prmt <default> %a, %b, %a : i32
nvvm.prmt <rc16> %a, %b : i32
nvvm.rcp.approx.ftz.f %x : f32
nvvm.barrier0
nvvm.barrier
nvvm.barrier id = %a number_of_threads = %b
nvvm.cluster.arrive {aligned}
nvvm.cluster.wait
nvvm.mapa %s, %a : !llvm.ptr<3> -> !llvm.ptr<7>
nvvm.griddepcontrol wait
nvvm.memory.barrier <gpu>
nvvm.fence.sc.cluster
nvvm.fence.proxy {kind = #nvvm.proxy_kind<async.shared>, space = #nvvm.shared_space<cta>}
nvvm.nanosleep %a
nvvm.exit
nvvm.mbarrier.init %s, %a : !llvm.ptr<3>, i32
nvvm.mbarrier.inval %s : !llvm.ptr<3>
nvvm.mbarrier.arrive %s : !llvm.ptr<3> -> i64
nvvm.mbarrier.arrive %r, %a : !llvm.ptr<7>
nvvm.mbarrier.arrive.expect_tx %s, %a : !llvm.ptr<3>, i32 -> i64
nvvm.mbarrier.arrive.nocomplete %g, %a : !llvm.ptr, i32 -> i64
nvvm.mbarrier.expect_tx %s, %a : !llvm.ptr<3>, i32
nvvm.mbarrier.test.wait %s, %n : !llvm.ptr<3>, i64 -> i1
nvvm.mbarrier.try_wait %s, %a, %b : !llvm.ptr<3>, i32, i32 -> i1
nvvm.cp.async.shared.global %s, %p, 16, cache = cg : !llvm.ptr<3>, !llvm.ptr<1>
nvvm.cp.async.shared.global %s, %p, 4, cache = ca, %a : !llvm.ptr<3>, !llvm.ptr<1>, i32
nvvm.cp.async.commit.group
nvvm.cp.async.wait.group 1
nvvm.cp.async.mbarrier.arrive %s {noinc = true} : !llvm.ptr<3>
nvvm.cp.async.bulk.shared.cluster.global %r, %p, %s, %a : !llvm.ptr<7>, !llvm.ptr<1>
nvvm.cp.async.bulk.global.shared.cta %p, %s, %a : !llvm.ptr<1>, !llvm.ptr<3>
nvvm.cp.async.bulk.commit.group
nvvm.cp.async.bulk.wait_group 0 {read}
nvvm.cp.async.bulk.prefetch %p, %a : !llvm.ptr<1>
nvvm.prefetch level = L2, evict_priority = evict_last, %p : !llvm.ptr<1>
nvvm.convert.f32x2.to.f8x2 %x, %y {rnd = #nvvm.fp_rnd_mode<rn>, sat = #nvvm.sat_mode<satfinite>} : i16(f8E4M3FN)
nvvm.convert.f16x2.to.f8x2 %h : vector<2xf16> -> vector<2xi8>(f8E4M3FN)
nvvm.convert.f8x2.to.f16x2 %e : vector<2xi8>(f8E4M3FN) -> vector<2xf16>
nvvm.convert.f32x2.to.bf16x2 %x, %y {rnd = #nvvm.fp_rnd_mode<rz>} : vector<2xbf16>
"""


def test_operations_made_in_python() -> None:
    block = Block(arg_types=ARGUMENTS.values())
    for argument, name in zip(block.args, ARGUMENTS, strict=True):
        argument.name_hint = name
    p, s, g, r, a, b, n, x, y, c, v, h, e, t = block.args
    made: list[Operation] = [
        llvm_arith.AddOp(a, b),
        llvm_arith.UDivOp(a, b),
        llvm_arith.URemOp(a, b),
        llvm_arith.OrOp(a, b),
        llvm_arith.FMulOp(x, y),
        llvm_arith.FAddOp(x, y, CONTRACT),
        llvm_arith.FNegOp(x),
        llvm_arith.ICmpOp("ult", a, b),
        llvm_arith.FCmpOp("oeq", v, v),
        llvm_arith.SelectOp(c, x, y),
        llvm_arith.FreezeOp(x),
        llvm_casts.ZExtOp(a, i64),
        llvm_casts.TruncOp(n, i32),
        llvm_casts.BitcastOp(h, i32),
        llvm_casts.FPExtOp(x, f64),
        llvm_casts.UIToFPOp(a, f32),
        llvm_intrinsics.SqrtOp(x),
        llvm_intrinsics.TanhOp(x, APPROXIMATE),
        llvm_intrinsics.MaxNumOp(x, y),
        llvm_intrinsics.FMAOp(x, y, x),
        llvm_intrinsics.CtPopOp(a),
        llvm_intrinsics.UMinOp(a, b),
        llvm_intrinsics.FShlOp(a, b, a),
        llvm_intrinsics.AbsOp(a),
        llvm_intrinsics.CountLeadingZerosOp(a, poison=True),
        llvm_intrinsics.UAddWithOverflowOp(a, b),
        llvm_memory.LoadOp(p, f32),
        llvm_memory.LoadOp(p, i32, 4, ordering="acquire", syncscope="device", volatile=True),
        llvm_memory.LoadOp(p, v.type, 16, nontemporal=True, invariant=True),
        llvm_memory.StoreOp(x, p),
        llvm_memory.StoreOp(a, p, 4, ordering="release", syncscope="block"),
        llvm_memory.AddrSpaceCastOp(p, pointer(GENERIC)),
        llvm_memory.PtrToIntOp(p, i64),
        llvm_memory.IntToPtrOp(n, pointer(SHARED)),
        llvm_memory.AllocaOp(a, f32, 4),
        llvm_memory.GEPOp(p, [n], f32),
        llvm_memory.GEPOp(p, [0, n], LLVMArrayType(4, f32), inbounds=False),
        llvm_memory.AddressOfOp("tile", SHARED),
        llvm_atomics.AtomicRMWOp("add", p, a, "monotonic", "device", 4),
        llvm_atomics.CmpXchgOp(p, a, b, "acq_rel", "monotonic"),
        llvm_atomics.FenceOp("seq_cst", "device"),
        llvm_values.ConstantOp(FloatAttr(1.5, f32), f32),
        llvm_values.ZeroOp(pointer(GENERIC)),
        llvm_values.PoisonOp(v.type),
        llvm_values.ExtractElementOp(v, a),
        llvm_values.InsertElementOp(v, x, a),
        llvm_values.ShuffleVectorOp(v, v, [0, 4]),
        llvm_values.ExtractValueOp(t, 1, 0),
        llvm_values.InsertValueOp(t, a, 0),
        llvm_functions.CallOp("helper", [a, x], f32),
        llvm_functions.CallOp("nothing", []),
        nvvm_registers.ThreadIdXOp(),
        nvvm_registers.ThreadIdXOp(ConstantRangeAttr(0, 256, i32)),
        nvvm_registers.ClockOp(),
        nvvm_registers.GlobalTimerOp(),
        nvvm_warp.ShflOp("bfly", a, x, b, b),
        nvvm_warp.ShflOp("up", a, b, a, a, with_valid=True),
        nvvm_warp.VoteSyncOp("ballot", a, c),
        nvvm_warp.VoteSyncOp("any", a, c),
        nvvm_warp.ReduxOp("add", a, b),
        nvvm_warp.MatchSyncOp("all", a, n),
        nvvm_warp.ElectSyncOp(),
        nvvm_warp.SyncWarpOp(a),
        nvvm_warp.PermuteOp("default", a, b, a),
        nvvm_warp.PermuteOp("rc16", a, b),
        nvvm_warp.RcpApproxFtzOp(x),
        nvvm.Barrier0Op(),
        nvvm.BarrierOp(),
        nvvm.BarrierOp(a, b),
        nvvm.ClusterArriveOp(aligned=True),
        nvvm.ClusterWaitOp(),
        nvvm.MapaOp(s, a),
        nvvm.GriddepcontrolOp("wait"),
        nvvm.MembarOp("gpu"),
        nvvm.FenceScClusterOp(),
        nvvm.FenceProxyOp("async.shared", "cta"),
        nvvm.NanosleepOp(a),
        nvvm.ExitOp(),
        nvvm_mbarrier.MBarrierInitOp(s, a),
        nvvm_mbarrier.MBarrierInvalOp(s),
        nvvm_mbarrier.MBarrierArriveOp(s),
        nvvm_mbarrier.MBarrierArriveOp(r, a),
        nvvm_mbarrier.MBarrierArriveExpectTxOp(s, a),
        nvvm_mbarrier.MBarrierArriveNocompleteOp(g, a),
        nvvm_mbarrier.MBarrierExpectTxOp(s, a),
        nvvm_mbarrier.MBarrierTestWaitOp(s, n),
        nvvm_mbarrier.MBarrierTryWaitOp(s, a, b),
        nvvm_copies.CpAsyncOp(s, p, 16, "cg"),
        nvvm_copies.CpAsyncOp(s, p, 4, "ca", a),
        nvvm_copies.CpAsyncCommitGroupOp(),
        nvvm_copies.CpAsyncWaitGroupOp(1),
        nvvm_copies.CpAsyncMBarrierArriveOp(s, noinc=True),
        nvvm_copies.CpAsyncBulkGlobalToSharedClusterOp(r, p, s, a),
        nvvm_copies.CpAsyncBulkSharedCTAToGlobalOp(p, s, a),
        nvvm_copies.CpAsyncBulkCommitGroupOp(),
        nvvm_copies.CpAsyncBulkWaitGroupOp(0, read=True),
        nvvm_copies.CpAsyncBulkPrefetchOp(p, a),
        nvvm_copies.PrefetchOp("L2", p, "evict_last"),
        nvvm_convert.ConvertF32x2ToF8x2Op(x, y, Float8E4M3FNType()),
        nvvm_convert.ConvertF16x2ToF8x2Op(h, Float8E4M3FNType(), e.type),
        nvvm_convert.ConvertF8x2ToF16x2Op(e, Float8E4M3FNType()),
        nvvm_convert.ConvertF32x2ToBF16x2Op(x, y, "rz"),
    ]
    assert [str(op).removeprefix("%0 = ") for op in made] == MADE.split("\n")[1:-1]
    for op in made:
        if not isinstance(op, llvm_functions.CallOp):  # which is checked against its module
            op.verify()
