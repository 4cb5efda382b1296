"""What the threads of a warp do together (PTX ISA, 9.7.9.6 to 9.7.13). None but `bar.warp.sync` orders memory."""

from __future__ import annotations

from coconet_ir.emu.code.control import thread
from coconet_ir.emu.code.kinds import take
from coconet_ir.emu.code.layout import Op, Warp
from coconet_ir.emu.code.table import Modifiers, opcode
from coconet_ir.emu.code.writer import Writer
from coconet_ir.emu.ptx.syntax import Instruction, Integer, Operand, Pair, Sink, width

_SHUFFLES = {
    "up": Warp.SHUFFLE_UP,
    "down": Warp.SHUFFLE_DOWN,
    "bfly": Warp.SHUFFLE_BUTTERFLY,
    "idx": Warp.SHUFFLE_INDEX,
}
_VOTES = {
    "all": Warp.VOTE_ALL,
    "any": Warp.VOTE_ANY,
    "uni": Warp.VOTE_UNIFORM,
    "ballot": Warp.VOTE_BALLOT,
}
_REDUCTIONS = {
    ("add", "u32"): Warp.REDUCE_ADD,
    ("add", "s32"): Warp.REDUCE_ADD,
    ("min", "u32"): Warp.REDUCE_MIN_UNSIGNED,
    ("max", "u32"): Warp.REDUCE_MAX_UNSIGNED,
    ("min", "s32"): Warp.REDUCE_MIN_SIGNED,
    ("max", "s32"): Warp.REDUCE_MAX_SIGNED,
    ("and", "b32"): Warp.REDUCE_AND,
    ("or", "b32"): Warp.REDUCE_OR,
    ("xor", "b32"): Warp.REDUCE_XOR,
}
ALL = Integer(0xFFFFFFFF)


def exchange(
    writer: Writer, at: Instruction, kind: Warp, mask: Operand, *operands: tuple[Operand, str]
) -> tuple[str, str]:
    """Wait for the lanes of `mask`, giving operands of the types; the two results."""
    code = thread(writer)
    values = [code.uncast(code.value(one, type, at), type) for one, type in operands]
    lanes = code.value(mask, "b32", at)
    code.store_field("values", str(int(kind)))
    for number, (value, (_, type)) in enumerate(zip(values, operands, strict=True)):
        code.store_field("operands", code.resize(value, width(type), 64, False), index=1 + number)
    code.store_field("operands", code.resize(lanes, 32, 64, False))
    code.suspend(Op.WARP, at)
    return code.load_field("values"), code.load_field("values", index=1)


def results(operand: Operand) -> tuple[Operand, Operand]:
    """The two results of `d|p`; of `d` alone one that nobody takes."""
    return (operand.first, operand.second) if isinstance(operand, Pair) else (operand, Sink())


def _write(writer: Writer, operand: Operand, type: str, value: str, at: Instruction) -> None:
    writer.write(operand, type, writer.resize(value, 64, width(type), False), at)


@opcode("shfl")
def shuffle(writer: Writer, at: Instruction, modifiers: Modifiers) -> None:
    """`shfl.sync.mode.b32 d|p, a, b, c, membermask`."""
    if not modifiers.flag("sync"):
        raise modifiers.refuse("is not for sm_70 and later: use shfl.sync")
    type, mode = modifiers.type(), modifiers.one_of(tuple(_SHUFFLES))
    if width(type) != 32 or not mode:
        raise modifiers.refuse("is no shuffle of 32 bits")
    target, value, lane, clamp, mask = take(at, modifiers, 5)
    given = ((value, "b32"), (lane, "b32"), (clamp, "b32"))
    first, second = exchange(writer, at, _SHUFFLES[mode], mask, *given)
    found, is_inside = results(target)
    _write(writer, found, "b32", first, at)
    _write(writer, is_inside, "pred", second, at)


@opcode("vote")
def vote(writer: Writer, at: Instruction, modifiers: Modifiers) -> None:
    """`vote.sync.all.pred p, a, membermask` and the like."""
    if not modifiers.flag("sync"):
        raise modifiers.refuse("is not for sm_70 and later: use vote.sync")
    type, mode = modifiers.type(), modifiers.one_of(tuple(_VOTES))
    if (type == "b32") != (mode == "ballot") or not mode:
        raise modifiers.refuse("is no vote")
    target, value, mask = take(at, modifiers, 3)
    first, _ = exchange(writer, at, _VOTES[mode], mask, (value, "pred"))
    _write(writer, target, type, first, at)


@opcode("match")
def match(writer: Writer, at: Instruction, modifiers: Modifiers) -> None:
    """`match.any.sync.b32 d, a, membermask`, `match.all.sync.b32 d|p, a, membermask`."""
    modifiers.flag("sync")
    type, mode = modifiers.type(), modifiers.one_of(("any", "all"))
    if type not in ("b32", "b64") or not mode:
        raise modifiers.refuse("is no match of 32 or 64 bits")
    target, value, mask = take(at, modifiers, 3)
    kind = Warp.MATCH_ANY if mode == "any" else Warp.MATCH_ALL
    first, second = exchange(writer, at, kind, mask, (value, type))
    lanes, all_alike = results(target)
    _write(writer, lanes, "b32", first, at)
    _write(writer, all_alike, "pred", second, at)


@opcode("redux")
def reduce(writer: Writer, at: Instruction, modifiers: Modifiers) -> None:
    """`redux.sync.add.s32 d, a, membermask`, of integers."""
    modifiers.flag("sync")
    type = modifiers.type()
    kind = _REDUCTIONS.get((modifiers.one_of(("add", "min", "max", "and", "or", "xor")), type))
    if kind is None:
        raise modifiers.refuse("is no reduction of integers of 32 bits")
    target, value, mask = take(at, modifiers, 3)
    first, _ = exchange(writer, at, kind, mask, (value, "b32"))
    _write(writer, target, "b32", first, at)


@opcode("elect")
def elect(writer: Writer, at: Instruction, modifiers: Modifiers) -> None:
    """`elect.sync d|p, membermask`: the lowest lane."""
    modifiers.flag("sync")
    target, mask = take(at, modifiers, 2)
    first, second = exchange(writer, at, Warp.ELECT, mask)
    leader, chosen = results(target)
    _write(writer, leader, "b32", first, at)
    _write(writer, chosen, "pred", second, at)


@opcode("activemask")
def active_mask(writer: Writer, at: Instruction, modifiers: Modifiers) -> None:
    """The lanes that stand here together: those of the warp that arrived before one went on."""
    modifiers.type()
    (target,) = take(at, modifiers, 1)
    code = thread(writer)
    code.suspend(Op.ACTIVE, at)
    _write(writer, target, "b32", code.load_field("values"), at)
