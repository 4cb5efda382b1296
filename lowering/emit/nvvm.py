"""The text in LLVM IR of each operation of `nvvm`: a call of an intrinsic of LLVM, as upstream makes it."""

from __future__ import annotations

from xdsl.dialects.builtin import Float8E4M3FNType, Float32Type, VectorType
from xdsl.dialects.llvm import LLVMPointerType
from xdsl.ir import Attribute, Operation, SSAValue

from coconet_ir.dialects import nvvm, nvvm_convert, nvvm_copies, nvvm_mbarrier, nvvm_warp
from coconet_ir.dialects.elementwise import width
from coconet_ir.dialects.llvm_types import (
    GENERIC,
    SHARED,
    SHARED_CLUSTER,
    address_space,
    number_of,
)
from coconet_ir.dialects.nvvm_registers import REGISTERS, BoundedRegister
from coconet_ir.lowering.emit.function import Entry, Typed, Writer
from coconet_ir.lowering.emit.types import type_text

NEEDS: dict[type[Operation], int] = {
    **dict.fromkeys(
        (
            nvvm.ClusterArriveOp,
            nvvm.ClusterArriveRelaxedOp,
            nvvm.ClusterWaitOp,
            nvvm.FenceMbarrierInitOp,
            nvvm.FenceScClusterOp,
            nvvm.GriddepcontrolOp,
            nvvm.MapaOp,
            nvvm_copies.CpAsyncBulkCommitGroupOp,
            nvvm_copies.CpAsyncBulkGlobalToSharedClusterOp,
            nvvm_copies.CpAsyncBulkPrefetchOp,
            nvvm_copies.CpAsyncBulkSharedCTAToGlobalOp,
            nvvm_copies.CpAsyncBulkWaitGroupOp,
            nvvm_copies.PrefetchOp,
            nvvm_mbarrier.MBarrierArriveExpectTxOp,
            nvvm_mbarrier.MBarrierCompleteTxOp,
            nvvm_mbarrier.MBarrierExpectTxOp,
            nvvm_mbarrier.MBarrierTestWaitOp,
            nvvm_mbarrier.MBarrierTryWaitOp,
            nvvm_warp.ElectSyncOp,
        ),
        90,
    ),
    **dict.fromkeys(
        (
            nvvm_convert.ConvertF16x2ToF8x2Op,
            nvvm_convert.ConvertF32x2ToF8x2Op,
            nvvm_convert.ConvertF8x2ToF16x2Op,
        ),
        89,
    ),
}
"""The compute capability, times ten, below which LLVM has no instruction for an operation."""


def _plain(name: str) -> Entry:
    """The entry of an operation whose operands are those of one intrinsic and whose result is its result."""

    def entry(w: Writer, op: Operation) -> None:
        _call(w, op, name, *map(w.typed, op.operands))

    return entry


def _call(w: Writer, op: Operation, name: str, *arguments: Typed) -> None:
    """Write a call whose result, if the operation has one, is its result."""
    if op.results:
        w.assign(op, w.call(f"llvm.nvvm.{name}", type_text(op.results[0].type), *arguments))
    else:
        w.line(w.call(f"llvm.nvvm.{name}", "void", *arguments))


def _suffixed(name: str, *flags: tuple[str, object]) -> str:
    """The name with the words behind it whose flags are set."""
    return ".".join((name, *(word for word, flag in flags if flag)))


def _space(value: SSAValue) -> int:
    return address_space(value.type) if isinstance(value.type, LLVMPointerType) else GENERIC


# Registers


def _register(w: Writer, op: Operation) -> None:
    name = op.name.removeprefix("nvvm.").replace(".smem.size", "_smem_size")
    if any(part in name for part in ("cluster", "aggr")):
        w.require(90)
    words = ""
    if isinstance(op, BoundedRegister) and op.bounds is not None:
        words = f"range(i32 {op.bounds.lower.value.data}, {op.bounds.upper.value.data}) "
    text = w.call(f"llvm.nvvm.{name}", type_text(op.results[0].type), words=words)
    w.assign(op, text)


# Warps


def _shfl(w: Writer, op: nvvm_warp.ShflOp) -> None:
    type = "f32" if isinstance(op.val.type, Float32Type) else "i32"
    name = f"shfl.sync.{op.kind.data}.{type}{'p' if op.with_valid is not None else ''}"
    _call(w, op, name, *map(w.typed, op.operands))


def _vote(w: Writer, op: nvvm_warp.VoteSyncOp) -> None:
    _call(w, op, f"vote.{op.kind.data}.sync", w.typed(op.mask), w.typed(op.pred))


def _redux(w: Writer, op: nvvm_warp.ReduxOp) -> None:
    if isinstance(op.val.type, Float32Type):
        w.require(100, "floats")
    flags = (("abs", op.abs.value.data), ("NaN", op.nan.value.data))
    name = _suffixed(f"redux.sync.{op.kind.data}", *flags)
    _call(w, op, name, w.typed(op.val), w.typed(op.mask_and_clamp))


def _match(w: Writer, op: nvvm_warp.MatchSyncOp) -> None:
    name = f"match.{op.kind.data}.sync.i{width(op.val.type)}{'p' if op.kind.data == 'all' else ''}"
    _call(w, op, name, w.typed(op.thread_mask), w.typed(op.val))


def _elect(w: Writer, op: nvvm_warp.ElectSyncOp) -> None:
    mask = Typed("i32", "-1") if op.membermask is None else w.typed(op.membermask)
    pair = "{ i32, i1 }"
    elected = w.fresh(pair, w.call("llvm.nvvm.elect.sync", pair, mask))
    w.assign(op, f"extractvalue {elected}, 1")


def _prmt(w: Writer, op: nvvm_warp.PermuteOp) -> None:
    name = "prmt" if op.mode.data == "default" else f"prmt.{op.mode.data}"
    given = [w.typed(op.lo), *([] if op.hi is None else [w.typed(op.hi)]), w.typed(op.selector)]
    _call(w, op, name, *given)


# Blocks, clusters, grids, fences


def _barrier0(w: Writer, op: nvvm.Barrier0Op) -> None:
    _call(w, op, "barrier.cta.sync.aligned.all", Typed("i32", "0"))


def _barrier(w: Writer, op: nvvm.BarrierOp) -> None:
    if op.reduction_op is not None and op.reduction_predicate is not None:
        return _reduce(w, op, op.reduction_op.data, op.reduction_predicate)
    barrier = Typed("i32", "0") if op.barrier_id is None else w.typed(op.barrier_id)
    if op.number_of_threads is None:
        return _call(w, op, "barrier.cta.sync.aligned.all", barrier)
    _call(w, op, "barrier.cta.sync.aligned.count", barrier, w.typed(op.number_of_threads))


def _reduce(w: Writer, op: nvvm.BarrierOp, kind: str, predicate: SSAValue) -> None:
    given = w.fresh("i1", f"icmp ne {w.typed(predicate)}, 0")
    result = "i32" if kind == "popc" else "i1"
    name = f"llvm.nvvm.barrier.cta.red.{kind}.aligned.all"
    text = w.call(name, result, Typed("i32", "0"), given)
    w.assign(op, text if kind == "popc" else f"zext {w.fresh('i1', text)} to i32")


def _cluster(w: Writer, op: nvvm.ClusterStep) -> None:
    name = op.name.removeprefix("nvvm.")
    _call(w, op, _suffixed(f"barrier.{name}", ("aligned", op.aligned is not None)))


def _mapa(w: Writer, op: nvvm.MapaOp) -> None:
    name = "mapa.shared.cluster" if _space(op.a) == SHARED else "mapa"
    _call(w, op, name, w.typed(op.a), w.typed(op.b))


def _griddepcontrol(w: Writer, op: nvvm.GriddepcontrolOp) -> None:
    _call(w, op, f"griddepcontrol.{op.kind.data.replace('_', '.')}")


def _membar(w: Writer, op: nvvm.MembarOp) -> None:
    scope = op.scope.data
    if scope == "cluster":
        w.require(90, "the scope of a cluster")
    _call(
        w,
        op,
        "fence.sc.cluster" if scope == "cluster" else f"membar.{'gl' if scope == 'gpu' else scope}",
    )


def _fence_proxy(w: Writer, op: nvvm.FenceProxyOp) -> None:
    kind = op.kind.data
    if kind != "alias":
        w.require(90, f"the kind {kind}")
    _call(w, op, f"fence.proxy.{kind}{'' if op.space is None else f'_{op.space.data}'}")


# Barriers in shared memory


def _shared_barrier(name: str) -> Entry:
    """The entry of an operation with intrinsics for generic pointers and for shared memory."""

    def entry(w: Writer, op: Operation) -> None:
        shared = _space(op.operands[0]) == SHARED
        _call(w, op, f"{name}.shared" if shared else name, *map(w.typed, op.operands))

    return entry


def _shared(w: Writer, pointer: SSAValue) -> Typed:
    """The pointer into shared memory, which a generic one is cast to."""
    if _space(pointer) != GENERIC:
        return w.typed(pointer)
    shared = "ptr addrspace(3)"
    return w.fresh(shared, f"addrspacecast {w.typed(pointer)} to {shared}")


def _scoped(w: Writer, name: str, op: Operation, scope: str, relaxed: object = False) -> str:
    """The intrinsic of a barrier for a scope and for whose shared memory it is in."""
    if relaxed:
        w.require(100, "relaxed = true")
    where = "cluster" if _space(op.operands[0]) == SHARED_CLUSTER else "cta"
    return f"{_suffixed(name, ('relaxed', relaxed))}.scope.{scope}.space.{where}"


def _arrive(w: Writer, op: nvvm_mbarrier.MBarrierArriveOp) -> None:
    remote, relaxed = _space(op.addr) == SHARED_CLUSTER, op.relaxed.value.data
    if op.count is None and not remote and not relaxed and op.scope.data == "cta":
        return _call(w, op, "mbarrier.arrive.shared", _shared(w, op.addr))
    w.require(90, "a count, a scope or the barrier of another block")
    count = Typed("i32", "1") if op.count is None else w.typed(op.count)
    name = _scoped(w, "mbarrier.arrive", op, op.scope.data, relaxed)
    _arrival(w, op, name, _shared(w, op.addr), count)


def _arrive_expect(w: Writer, op: nvvm_mbarrier.MBarrierArriveExpectTxOp) -> None:
    name = _scoped(w, "mbarrier.arrive.expect.tx", op, op.scope.data, op.relaxed.value.data)
    _arrival(w, op, name, _shared(w, op.addr), w.typed(op.txcount))


def _arrival(w: Writer, op: Operation, name: str, *arguments: Typed) -> None:
    """Write an arrival, whose phase the operation may leave aside."""
    if op.results or _space(op.operands[0]) == SHARED_CLUSTER:
        return _call(w, op, name, *arguments)
    w.fresh("i64", w.call(f"llvm.nvvm.{name}", "i64", *arguments))


def _byte_count(w: Writer, op: nvvm_mbarrier.ByteCount) -> None:
    name = op.name.removeprefix("nvvm.").replace("_tx", ".tx")
    _call(w, op, _scoped(w, name, op, op.scope.data), w.typed(op.addr), w.typed(op.txcount))


def _wait(
    w: Writer, op: nvvm_mbarrier.MBarrierTestWaitOp | nvvm_mbarrier.MBarrierTryWaitOp
) -> None:
    ticks = op.ticks if isinstance(op, nvvm_mbarrier.MBarrierTryWaitOp) else None
    name = op.name.removeprefix("nvvm.").replace("_", ".")
    name = _suffixed(name, ("parity", width(op.state.type) == 32), ("tl", ticks is not None))
    name = _scoped(w, name, op, op.scope.data, op.relaxed.value.data)
    rest = [op.state, *([] if ticks is None else [ticks])]
    _call(w, op, name, _shared(w, op.addr), *map(w.typed, rest))


# Copies


def _cp_async(w: Writer, op: nvvm_copies.CpAsyncOp) -> None:
    name = f"cp.async.{op.modifier.data}.shared.global.{number_of(op.size)}"
    _call(w, op, _suffixed(name, ("s", op.cp_size is not None)), *map(w.typed, op.operands))


def _cp_async_wait(w: Writer, op: nvvm_copies.CpAsyncWaitGroupOp) -> None:
    _call(w, op, "cp.async.wait.group", Typed("i32", str(number_of(op.n))))


def _cp_async_arrive(w: Writer, op: nvvm_copies.CpAsyncMBarrierArriveOp) -> None:
    flags = (("noinc", op.noinc.value.data), ("shared", _space(op.addr) == SHARED))
    _call(w, op, _suffixed("cp.async.mbarrier.arrive", *flags), w.typed(op.addr))


def _bulk_wait(w: Writer, op: nvvm_copies.CpAsyncBulkWaitGroupOp) -> None:
    name = _suffixed("cp.async.bulk.wait.group", ("read", op.read is not None))
    _call(w, op, name, Typed("i32", str(number_of(op.group))))


def _given(w: Writer, type: str, value: SSAValue | None) -> tuple[Typed, Typed]:
    """An optional operand, and whether it is there."""
    given = Typed(type, "0") if value is None else w.typed(value)
    return given, Typed("i1", "false" if value is None else "true")


def _bulk_in(w: Writer, op: nvvm_copies.CpAsyncBulkGlobalToSharedClusterOp) -> None:
    mask, has_mask = _given(w, "i16", op.multicast_mask)
    hint, has_hint = _given(w, "i64", op.l2_cache_hint)
    given = map(w.typed, (op.dst, op.mbar, op.src, op.size))
    _call(w, op, "cp.async.bulk.global.to.shared.cluster", *given, mask, hint, has_mask, has_hint)


def _bulk_out(w: Writer, op: nvvm_copies.CpAsyncBulkSharedCTAToGlobalOp) -> None:
    hint = _given(w, "i64", op.l2_cache_hint)
    mask = [] if op.byte_mask is None else [w.typed(op.byte_mask)]
    if mask:
        w.require(100, "byte_mask")
    name = _suffixed("cp.async.bulk.shared.cta.to.global", ("bytemask", mask))
    _call(w, op, name, *map(w.typed, (op.dst, op.src, op.size)), *hint, *mask)


def _bulk_prefetch(w: Writer, op: nvvm_copies.CpAsyncBulkPrefetchOp) -> None:
    hint = _given(w, "i64", op.l2_cache_hint)
    _call(w, op, "cp.async.bulk.prefetch.L2", w.typed(op.src), w.typed(op.size), *hint)


def _prefetch(w: Writer, op: nvvm_copies.PrefetchOp) -> None:
    space = {0: "", 1: ".global", 5: ".local"}[_space(op.addr)]
    verb = "prefetchu" if op.uniform is not None else "prefetch"
    priority = "" if op.evict_priority is None else f".{op.evict_priority.data.replace('_', '.')}"
    _call(w, op, f"{verb}{space}.{op.level.data}{priority}", w.typed(op.addr))


# Conversions


def _f8(type: Attribute) -> str:
    return "e4m3x2" if isinstance(type, Float8E4M3FNType) else "e5m2x2"


def _to_f8(
    w: Writer, op: nvvm_convert.ConvertF32x2ToF8x2Op | nvvm_convert.ConvertF16x2ToF8x2Op
) -> None:
    source = "ff" if isinstance(op, nvvm_convert.ConvertF32x2ToF8x2Op) else "f16x2"
    name = _suffixed(f"{source}.to.{_f8(op.dst_type)}.rn", ("relu", op.relu.value.data))
    if not isinstance(op.dst.type, VectorType):
        return _call(w, op, name, *map(w.typed, op.operands))
    pair = w.fresh("i16", w.call(f"llvm.nvvm.{name}", "i16", *map(w.typed, op.operands)))
    w.assign(op, f"bitcast {pair} to <2 x i8>")


def _from_f8(w: Writer, op: nvvm_convert.ConvertF8x2ToF16x2Op) -> None:
    pair = w.fresh("i16", f"bitcast {w.typed(op.src)} to i16")
    name = _suffixed(f"{_f8(op.src_type)}.to.f16x2.rn", ("relu", op.relu.value.data))
    _call(w, op, name, pair)


def _narrow(w: Writer, op: nvvm_convert.Narrowing) -> None:
    pair = op.name.rpartition(".")[2]
    name = _suffixed(f"ff2{pair}.{op.rnd.data}", ("relu", op.relu.value.data))
    _call(w, op, name, w.typed(op.src_hi), w.typed(op.src_lo))


def _needing(entry: Entry, capability: int) -> Entry:
    def checked(w: Writer, op: Operation) -> None:
        w.require(capability)
        entry(w, op)

    return checked


_ENTRIES: dict[type[Operation], Entry] = {
    **dict.fromkeys(REGISTERS, _register),
    nvvm.Barrier0Op: _barrier0,
    nvvm.BarrierOp: _barrier,
    **dict.fromkeys(
        (nvvm.ClusterArriveOp, nvvm.ClusterArriveRelaxedOp, nvvm.ClusterWaitOp), _cluster
    ),
    nvvm.ExitOp: _plain("exit"),
    nvvm.FenceMbarrierInitOp: _plain("fence.mbarrier_init.release.cluster"),
    nvvm.FenceProxyOp: _fence_proxy,
    nvvm.FenceScClusterOp: _plain("fence.sc.cluster"),
    nvvm.GriddepcontrolOp: _griddepcontrol,
    nvvm.MapaOp: _mapa,
    nvvm.MembarOp: _membar,
    nvvm.NanosleepOp: _plain("nanosleep"),
    nvvm_convert.ConvertF16x2ToF8x2Op: _to_f8,
    nvvm_convert.ConvertF32x2ToBF16x2Op: _narrow,
    nvvm_convert.ConvertF32x2ToF16x2Op: _narrow,
    nvvm_convert.ConvertF32x2ToF8x2Op: _to_f8,
    nvvm_convert.ConvertF8x2ToF16x2Op: _from_f8,
    nvvm_copies.CpAsyncBulkCommitGroupOp: _plain("cp.async.bulk.commit.group"),
    nvvm_copies.CpAsyncBulkGlobalToSharedClusterOp: _bulk_in,
    nvvm_copies.CpAsyncBulkPrefetchOp: _bulk_prefetch,
    nvvm_copies.CpAsyncBulkSharedCTAToGlobalOp: _bulk_out,
    nvvm_copies.CpAsyncBulkWaitGroupOp: _bulk_wait,
    nvvm_copies.CpAsyncCommitGroupOp: _plain("cp.async.commit.group"),
    nvvm_copies.CpAsyncMBarrierArriveOp: _cp_async_arrive,
    nvvm_copies.CpAsyncOp: _cp_async,
    nvvm_copies.CpAsyncWaitGroupOp: _cp_async_wait,
    nvvm_copies.PrefetchOp: _prefetch,
    nvvm_mbarrier.MBarrierArriveExpectTxOp: _arrive_expect,
    nvvm_mbarrier.MBarrierArriveNocompleteOp: _shared_barrier("mbarrier.arrive.noComplete"),
    nvvm_mbarrier.MBarrierArriveOp: _arrive,
    nvvm_mbarrier.MBarrierInitOp: _shared_barrier("mbarrier.init"),
    nvvm_mbarrier.MBarrierInvalOp: _shared_barrier("mbarrier.inval"),
    **dict.fromkeys(
        (nvvm_mbarrier.MBarrierCompleteTxOp, nvvm_mbarrier.MBarrierExpectTxOp), _byte_count
    ),
    **dict.fromkeys((nvvm_mbarrier.MBarrierTestWaitOp, nvvm_mbarrier.MBarrierTryWaitOp), _wait),
    nvvm_warp.ElectSyncOp: _elect,
    nvvm_warp.MatchSyncOp: _match,
    nvvm_warp.PermuteOp: _prmt,
    nvvm_warp.RcpApproxFtzOp: _plain("rcp.approx.ftz.f"),
    nvvm_warp.ReduxOp: _redux,
    nvvm_warp.ShflOp: _shfl,
    nvvm_warp.SyncWarpOp: _plain("bar.warp.sync"),
    nvvm_warp.VoteSyncOp: _vote,
}

NVVM_ENTRIES: dict[type[Operation], Entry] = {
    one: _needing(entry, NEEDS[one]) if one in NEEDS else entry for one, entry in _ENTRIES.items()
}
"""How each operation of `nvvm` is written."""
