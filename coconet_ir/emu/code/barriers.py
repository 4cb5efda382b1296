"""Barriers, fences and waits (PTX ISA, 9.7.13)."""

from __future__ import annotations

from coconet_ir.emu.code.control import thread
from coconet_ir.emu.code.kinds import take
from coconet_ir.emu.code.layout import Barrier, Op, Order, Scope, Warp
from coconet_ir.emu.code.memory import SCOPES, flags
from coconet_ir.emu.code.table import Modifiers, opcode
from coconet_ir.emu.code.warps import exchange
from coconet_ir.emu.code.writer import Writer
from coconet_ir.emu.ptx.syntax import Instruction, Integer, Operand, Sink

_REDUCTIONS = {
    "and": Barrier.REDUCE_AND,
    "or": Barrier.REDUCE_OR,
    "popc": Barrier.REDUCE_COUNT,
}


@opcode("bar", "barrier")
def barrier(writer: Writer, at: Instruction, modifiers: Modifiers) -> None:
    """`bar.sync a, b` and so on: of the block, and `bar.warp.sync`."""
    if modifiers.flag("warp"):
        modifiers.flag("sync")
        (mask,) = take(at, modifiers, 1)
        exchange(writer, at, Warp.SYNC, mask)
        return
    if modifiers.flag("cluster"):
        raise modifiers.refuse("is a barrier of a cluster, which the emulator does not know")
    modifiers.flag("cta")
    modifiers.flag("aligned")
    what = modifiers.one_of(("sync", "arrive", "red"))
    least, most = {"sync": (1, 2), "arrive": (2, 2), "red": (3, 4)}.get(what, (0, 0))
    if not least <= len(at.operands) <= most:
        raise modifiers.refuse("is no barrier")
    operands = list(at.operands)
    target: Operand = Sink()
    given: Operand = Integer(0)
    kind = Barrier.ARRIVE if what == "arrive" else Barrier.SYNC
    if what == "red":
        kind = _REDUCTIONS[modifiers.one_of(tuple(_REDUCTIONS), "popc")]
        modifiers.type()
        target, given = operands.pop(0), operands.pop()
    code = thread(writer)
    number = code.value(operands[0], "b32", at)
    count = code.value(operands[1] if len(operands) > 1 else Integer(0), "b32", at)
    holds = code.value(given, "pred", at)
    code.store_field("values", str(int(kind)))
    for index, (value, bits) in enumerate(((number, 32), (count, 32), (holds, 1))):
        code.store_field("operands", code.resize(value, bits, 64, False), index=index)
    code.suspend(Op.BARRIER, at)
    type = "b32" if kind == Barrier.REDUCE_COUNT else "pred"
    found = code.resize(code.load_field("values"), 64, 32 if type == "b32" else 1, False)
    code.write(target, type, found, at)


@opcode("fence")
def fence(writer: Writer, at: Instruction, modifiers: Modifiers) -> None:
    """`fence.acq_rel.sys`, `fence.sc.gpu`, `fence.acquire.…`, `fence.release.…`."""
    if modifiers.flag("proxy"):
        raise modifiers.refuse("orders proxies, which the emulator does not know")
    name = modifiers.one_of(("acq_rel", "sc", "acquire", "release"), "acq_rel")
    scope = modifiers.one_of(tuple(SCOPES))
    if not scope:
        raise modifiers.refuse("has no scope")
    order = {
        "acq_rel": Order.ACQUIRE | Order.RELEASE,
        "sc": Order.ACQUIRE | Order.RELEASE | Order.SC,
        "acquire": Order.ACQUIRE,
        "release": Order.RELEASE,
    }[name]
    _fence(writer, at, order, SCOPES[scope])


@opcode("membar")
def membar(writer: Writer, at: Instruction, modifiers: Modifiers) -> None:
    """The old spelling of `fence.sc`."""
    scopes = {"cta": Scope.CTA, "gl": Scope.GPU, "sys": Scope.SYS}
    name = modifiers.one_of(tuple(scopes))
    if not name:
        raise modifiers.refuse("has no level")
    _fence(writer, at, Order.ACQUIRE | Order.RELEASE | Order.SC, scopes[name])


def _fence(writer: Writer, at: Instruction, order: int, scope: int) -> None:
    code = thread(writer)
    code.store_field("values", str(flags(order, scope, 0, 0)))
    code.suspend(Op.FENCE, at)


@opcode("griddepcontrol")
def grid_dependency(writer: Writer, at: Instruction, modifiers: Modifiers) -> None:
    """`launch_dependents` lets the next kernel of the stream begin; `wait` waits for the one before."""
    code = thread(writer)
    what = modifiers.one_of(("launch_dependents", "wait"))
    if not what:
        raise modifiers.refuse("is neither launch_dependents nor wait")
    code.suspend(Op.AWAIT_GRID if what == "wait" else Op.RELEASE_DEPENDENTS, at)


@opcode("nanosleep", "pmevent", "setmaxnreg")
def nothing(writer: Writer, at: Instruction, modifiers: Modifiers) -> None:
    """Nothing that a program can see."""
    modifiers.left.clear()
