"""Special registers (PTX ISA, section 10)."""

from __future__ import annotations

from coconet_ir.emu.code.layout import SPECIALS, WARP, Op
from coconet_ir.emu.code.thread import ThreadWriter
from coconet_ir.emu.ptx.syntax import Instruction

_CLOCKS = {"%clock": 32, "%clock_hi": 32, "%clock64": 64, "%globaltimer": 64}
"""Registers that virtual time is read from, in nanoseconds: it moves on only when no thread can."""

_CONSTANTS = {"%cluster_nctarank": 1, "%is_explicit_cluster": 0, "WARP_SZ": WARP}
"""There are no clusters beyond one block."""

_CLUSTER = {
    "%cluster_ctaid": "zero",
    "%cluster_nctaid": "one",
    "%clusterid": "%ctaid",
    "%nclusterid": "%nctaid",
}


def special_register(writer: ThreadWriter, name: str, at: Instruction) -> tuple[int, str] | None:
    """The bits and the value of a special register; None for a name that is none."""
    if name in SPECIALS:
        return 32, writer.load_field("specials", "i32", SPECIALS.index(name))
    if name in _CLOCKS:
        writer.suspend(Op.CLOCK, at)
        value = writer.load_field("values")
        bits = _CLOCKS[name]
        if name == "%clock_hi":
            value = writer.let(f"lshr i64 {value}, 32")
        return bits, writer.resize(value, 64, bits, False)
    if name in _CONSTANTS:
        return 32, str(_CONSTANTS[name])
    if name == "%cluster_ctarank":
        return 32, "0"
    if name.startswith("%lanemask_"):
        return _lanemask(writer, name.removeprefix("%lanemask_"))
    head, _, axis = name.partition(".")
    if head in _CLUSTER and axis in ("x", "y", "z"):
        same = _CLUSTER[head]
        if not same.startswith("%"):
            return 32, {"zero": "0", "one": "1"}[same]
        return 32, writer.load_field("specials", "i32", SPECIALS.index(f"{same}.{axis}"))
    return None


def _lanemask(writer: ThreadWriter, which: str) -> tuple[int, str] | None:
    lane = writer.load_field("specials", "i32", SPECIALS.index("%laneid"))
    one = writer.let(f"shl i32 1, {lane}")
    below = writer.let(f"sub i32 {one}, 1")
    upto = writer.let(f"or i32 {below}, {one}")
    match which:
        case "eq":
            return 32, one
        case "lt":
            return 32, below
        case "le":
            return 32, upto
        case "gt":
            return 32, writer.let(f"xor i32 {upto}, -1")
        case "ge":
            return 32, writer.let(f"xor i32 {below}, -1")
        case _:
            return None
