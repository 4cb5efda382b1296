"""The special registers of `nvvm`: who a thread is and what time it is (PTX ISA, "Special Registers")."""

from __future__ import annotations

import abc

from xdsl.dialects.builtin import i32, i64
from xdsl.ir import Operation
from xdsl.irdl import IRDLOperation, opt_prop_def, result_def, traits_def
from xdsl.traits import Pure
from xdsl.utils.exceptions import VerifyException

from coconet_ir.dialects.llvm_types import ConstantRangeAttr, define


class Register(IRDLOperation, abc.ABC):
    """A register of 32 bits."""

    res = result_def(i32)

    assembly_format = "attr-dict `:` type($res)"

    def __init__(self) -> None:
        super().__init__(result_types=(i32,))


class FixedRegister(Register, abc.ABC):
    """A register that keeps its value."""

    traits = traits_def(Pure())


class BoundedRegister(FixedRegister, abc.ABC):
    """A register that keeps its value, which may be known to be in a range: `range <i32, 0, 1024>`."""

    bounds = opt_prop_def(ConstantRangeAttr, prop_name="range")

    assembly_format = "(`range` $range^)? attr-dict `:` type($res)"

    def __init__(self, bounds: ConstantRangeAttr | None = None) -> None:
        super(Register, self).__init__(result_types=(i32,), properties={"range": bounds})

    def verify_(self) -> None:
        if self.bounds is not None and self.bounds.lower.type != i32:
            raise VerifyException("the range is one of i32")


class LongRegister(IRDLOperation, abc.ABC):
    """A register of 64 bits that changes."""

    res = result_def(i64)

    assembly_format = "attr-dict `:` type($res)"

    def __init__(self) -> None:
        super().__init__(result_types=(i64,))


def _bounded(name: str, doc: str) -> type[BoundedRegister]:
    full = f"nvvm.read.ptx.sreg.{name}"
    return define(BoundedRegister, full, f"`{full} : i32`: {doc} (PTX `%{name}`).")


def _fixed(name: str, doc: str) -> type[FixedRegister]:
    full = f"nvvm.read.ptx.sreg.{name}"
    return define(FixedRegister, full, f"`{full} : i32`: {doc} (PTX `%{name.replace('.', '_')}`).")


def _changing(name: str, doc: str) -> type[Register]:
    full = f"nvvm.read.ptx.sreg.{name}"
    return define(Register, full, f"`{full} : i32`: {doc} (PTX `%{name.replace('.', '_')}`).")


def _long(name: str, doc: str) -> type[LongRegister]:
    full = f"nvvm.read.ptx.sreg.{name}"
    return define(LongRegister, full, f"`{full} : i64`: {doc} (PTX `%{name}`).")


ThreadIdXOp = _bounded("tid.x", "the thread's index in its block, along x")
ThreadIdYOp = _bounded("tid.y", "the thread's index in its block, along y")
ThreadIdZOp = _bounded("tid.z", "the thread's index in its block, along z")
BlockDimXOp = _bounded("ntid.x", "how many threads a block has along x")
BlockDimYOp = _bounded("ntid.y", "how many threads a block has along y")
BlockDimZOp = _bounded("ntid.z", "how many threads a block has along z")
BlockIdXOp = _bounded("ctaid.x", "the block's index in its grid, along x")
BlockIdYOp = _bounded("ctaid.y", "the block's index in its grid, along y")
BlockIdZOp = _bounded("ctaid.z", "the block's index in its grid, along z")
GridDimXOp = _bounded("nctaid.x", "how many blocks the grid has along x")
GridDimYOp = _bounded("nctaid.y", "how many blocks the grid has along y")
GridDimZOp = _bounded("nctaid.z", "how many blocks the grid has along z")

LaneIdOp = _bounded("laneid", "the thread's index in its warp")
WarpIdOp = _bounded("warpid", "the warp's index in its block; it may change")
WarpDimOp = _bounded("nwarpid", "the most warp indices there are")
WarpSizeOp = _bounded("warpsize", "how many threads a warp has")
SmIdOp = _bounded("smid", "the index of the multiprocessor; it may change")
SmDimOp = _bounded("nsmid", "the most indices of multiprocessors there are")
GridIdOp = _bounded("gridid", "the low bits of the number of this launch")

LaneMaskEqOp = _fixed("lanemask.eq", "a bit for this lane")
LaneMaskLeOp = _fixed("lanemask.le", "bits for this lane and those below")
LaneMaskLtOp = _fixed("lanemask.lt", "bits for the lanes below")
LaneMaskGeOp = _fixed("lanemask.ge", "bits for this lane and those above")
LaneMaskGtOp = _fixed("lanemask.gt", "bits for the lanes above")

ClusterIdXOp = _bounded("clusterid.x", "the cluster's index in its grid, along x")
ClusterIdYOp = _bounded("clusterid.y", "the cluster's index in its grid, along y")
ClusterIdZOp = _bounded("clusterid.z", "the cluster's index in its grid, along z")
ClusterDimXOp = _bounded("nclusterid.x", "how many clusters the grid has along x")
ClusterDimYOp = _bounded("nclusterid.y", "how many clusters the grid has along y")
ClusterDimZOp = _bounded("nclusterid.z", "how many clusters the grid has along z")
BlockInClusterIdXOp = _bounded("cluster.ctaid.x", "the block's index in its cluster, along x")
BlockInClusterIdYOp = _bounded("cluster.ctaid.y", "the block's index in its cluster, along y")
BlockInClusterIdZOp = _bounded("cluster.ctaid.z", "the block's index in its cluster, along z")
ClusterDimBlocksXOp = _bounded("cluster.nctaid.x", "how many blocks a cluster has along x")
ClusterDimBlocksYOp = _bounded("cluster.nctaid.y", "how many blocks a cluster has along y")
ClusterDimBlocksZOp = _bounded("cluster.nctaid.z", "how many blocks a cluster has along z")
ClusterRankOp = _bounded("cluster.ctarank", "the block's number in its cluster")
ClusterSizeOp = _bounded("cluster.nctarank", "how many blocks a cluster has")

TotalSmemSizeOp = _fixed("total.smem.size", "the shared memory of a block in bytes")
DynamicSmemSizeOp = _fixed("dynamic.smem.size", "the part of it that the launch states")
AggrSmemSizeOp = _fixed("aggr.smem.size", "both, and what the system reserves")

ClockOp = _changing("clock", "a counter of cycles, the low half")
Clock64Op = _long("clock64", "a counter of cycles")
GlobalTimerOp = _long("globaltimer", "a clock in nanoseconds")
GlobalTimerLoOp = _changing("globaltimer.lo", "a clock in nanoseconds, the low half")
REGISTERS: tuple[type[Operation], ...] = (
    ThreadIdXOp,
    ThreadIdYOp,
    ThreadIdZOp,
    BlockDimXOp,
    BlockDimYOp,
    BlockDimZOp,
    BlockIdXOp,
    BlockIdYOp,
    BlockIdZOp,
    GridDimXOp,
    GridDimYOp,
    GridDimZOp,
    LaneIdOp,
    WarpIdOp,
    WarpDimOp,
    WarpSizeOp,
    SmIdOp,
    SmDimOp,
    GridIdOp,
    LaneMaskEqOp,
    LaneMaskLeOp,
    LaneMaskLtOp,
    LaneMaskGeOp,
    LaneMaskGtOp,
    ClusterIdXOp,
    ClusterIdYOp,
    ClusterIdZOp,
    ClusterDimXOp,
    ClusterDimYOp,
    ClusterDimZOp,
    BlockInClusterIdXOp,
    BlockInClusterIdYOp,
    BlockInClusterIdZOp,
    ClusterDimBlocksXOp,
    ClusterDimBlocksYOp,
    ClusterDimBlocksZOp,
    ClusterRankOp,
    ClusterSizeOp,
    TotalSmemSizeOp,
    DynamicSmemSizeOp,
    AggrSmemSizeOp,
    ClockOp,
    Clock64Op,
    GlobalTimerOp,
    GlobalTimerLoOp,
)
