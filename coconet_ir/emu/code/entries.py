"""All entries: importing this fills the table."""

from coconet_ir.emu.code import (
    approximations,
    barriers,
    bits,
    comparisons,
    control,
    conversions,
    floats,
    halves,
    integers,
    logic,
    memory,
    moves,
    warps,
)

__all__ = [
    "approximations",
    "barriers",
    "bits",
    "comparisons",
    "control",
    "conversions",
    "floats",
    "halves",
    "integers",
    "logic",
    "memory",
    "moves",
    "warps",
]
