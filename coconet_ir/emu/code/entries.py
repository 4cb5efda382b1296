"""All entries: importing this fills the table."""

from coconet_ir.emu.code import (
    approximations,
    bits,
    comparisons,
    conversions,
    floats,
    halves,
    integers,
    logic,
    moves,
)

__all__ = [
    "approximations",
    "bits",
    "comparisons",
    "conversions",
    "floats",
    "halves",
    "integers",
    "logic",
    "moves",
]
