"""Approximations."""

from __future__ import annotations

from coconet_ir.emu.code.floats import canonical, divide, flush
from coconet_ir.emu.code.kinds import FLOATS, typed, values
from coconet_ir.emu.code.table import Modifiers
from coconet_ir.emu.code.writer import Writer
from coconet_ir.emu.ptx.syntax import Instruction


@typed("div", "rcp", "sqrt", types=FLOATS)
def _divide(w: Writer, i: Instruction, m: Modifiers, type: str) -> None:
    divide(w, i, m, type)


@typed("ex2", types=("f32",))
def _ex2(w: Writer, i: Instruction, m: Modifiers, type: str) -> None:
    m.flag("approx")
    ftz = m.flag("ftz")
    (a,) = values(w, i, m, type, 1)
    a = flush(w, type, a) if ftz else a
    wide = w.let(f"fpext float {a} to double")
    exact = w.let(f"call double @llvm.exp2.f64(double {wide})")
    result = w.let(f"fptrunc double {exact} to float")
    result = flush(w, type, result) if ftz else result
    w.write(i.operands[0], type, canonical(w, type, result), i)
