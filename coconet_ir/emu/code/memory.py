"""Loads, stores and addresses (PTX ISA, 9.7.9)."""

from __future__ import annotations

from coconet_ir.emu.code import layout
from coconet_ir.emu.code.control import thread
from coconet_ir.emu.code.kinds import FLOATS, HALVES, take
from coconet_ir.emu.code.layout import Op, Order, Scope
from coconet_ir.emu.code.native import WIDTHS
from coconet_ir.emu.code.table import Modifiers, opcode
from coconet_ir.emu.code.thread import ThreadWriter
from coconet_ir.emu.code.writer import Writer
from coconet_ir.emu.memory.atomics import OPERATIONS
from coconet_ir.emu.ptx.syntax import (
    Address,
    Instruction,
    Operand,
    Sink,
    Symbol,
    Vector,
    width,
)

SPACES = ("param", "shared", "local", "global", "const")
SCOPES = {"cta": Scope.CTA, "cluster": Scope.CTA, "gpu": Scope.GPU, "sys": Scope.SYS}
_CACHES = ("ca", "cg", "cs", "lu", "cv", "wb", "wt")
_HINTS = ("L1::", "L2::", "level::")


def take_space(modifiers: Modifiers) -> str:
    """The space of an access; `` for a generic address. Clusters are one block: `shared::cluster` is `shared`."""
    for name in ("shared::cta", "shared::cluster"):
        if modifiers.flag(name):
            return "shared"
    if modifiers.flag("param::entry"):
        return "param"
    return modifiers.one_of(SPACES)


def take_hints(modifiers: Modifiers) -> int:
    """Take what only says how caches are used; how many operands come with it."""
    modifiers.one_of(_CACHES)
    for name in [name for name in modifiers.left if name.startswith(_HINTS)]:
        modifiers.flag(name)
    return int("L2::cache_hint" in modifiers.instruction.modifiers)


def to_offset(code: ThreadWriter, address: str, space: str, bytes: int) -> str:
    """Where bytes at an address of a space are in the emulator's memory; -1 if they are nowhere."""
    match space:
        case "global" | "const":
            return code.let(f"sub i64 {address}, {layout.GLOBAL}")
        case "shared":
            return _within(code, address, "shared", code.load_field("shared_bytes"), bytes)
        case "local":
            return _within(code, address, "local", str(code.local.bytes), bytes)
        case _:
            return _generic(code, address, bytes)


def _within(code: ThreadWriter, address: str, base: str, size: str, bytes: int) -> str:
    """Bytes at an address of a window that has `size` bytes."""
    starts = code.let(f"icmp ult i64 {address}, {size}")
    ends = code.let(f"icmp ult i64 {code.let(f'add i64 {address}, {bytes - 1}')}, {size}")
    inside = code.let(f"and i1 {starts}, {ends}")
    at = code.let(f"add i64 {code.load_field(base)}, {address}")
    return code.let(f"select i1 {inside}, i64 {at}, i64 -1")


def _generic(code: ThreadWriter, address: str, bytes: int) -> str:
    found = code.let(f"sub i64 {address}, {layout.GLOBAL}")
    for window, space in ((layout.SHARED, "shared"), (layout.LOCAL, "local")):
        at = to_offset(code, code.let(f"sub i64 {address}, {window}"), space, bytes)
        is_there = code.let(f"icmp ne i64 {at}, -1")
        found = code.let(f"select i1 {is_there}, i64 {at}, i64 {found}")
    return found


def check(
    code: ThreadWriter,
    kind: str,
    address: str,
    offset: str,
    bytes: int,
    at: Instruction,
    space: str,
) -> str:
    """Write the check of a weak access; where the bytes are. Local memory has no shadow: nobody else has it."""
    go, shadowed, local, bad = (code.fresh()[1:] for _ in range(4))
    inside = code.let(f"sub i64 {offset}, {code.load_field('local')}")
    is_local = code.let(
        f"icmp ult i64 {inside}, {code.local.bytes if space in ('local', '') else 0}"
    )
    code.emit(f"br i1 {is_local}, label %{local}, label %{shadowed}")
    code.emit(f"{local}:")
    low = code.let(f"and i64 {address}, {bytes - 1}")
    aligned = code.let(f"icmp eq i64 {low}, 0")
    code.emit(f"br i1 {aligned}, label %{go}, label %{bad}")
    code.emit(f"{bad}:")
    store = int(kind == "store")
    where = f"ptr %me, i64 {address}, i64 -1, i64 {bytes}, i64 {code.site(at)}"
    code.let(f"call i1 @ask({where}, i64 {store})")
    code.emit("br label %fault")
    code.emit(f"{shadowed}:")
    where = f"ptr %me, i64 {address}, i64 {offset}, i64 {code.site(at)}"
    good = code.let(f"call i1 @check_{kind}_{bytes}({where})")
    code.emit(f"br i1 {good}, label %{go}, label %fault")
    code.emit(f"{go}:")
    base = code.load_field("space", "ptr")
    return code.let(f"getelementptr i8, ptr {base}, i64 {offset}")


def take_items(modifiers: Modifiers, operand: Operand, type: str) -> tuple[Operand, ...]:
    """The registers of an operand: of a vector each, as many as `.v2` and so on says. Raises `Refused`."""
    found = operand.items if isinstance(operand, Vector) else (operand,)
    if modifiers.one_of(("v2", "v4", "v8"), "v1") != f"v{len(found)}":
        raise modifiers.refuse(f"has a vector of {len(found)}, and says otherwise")
    if type == "pred" or len(found) * width(type) // 8 not in WIDTHS:
        raise modifiers.refuse(f"has {len(found)} x .{type}, which no access has")
    return found


def take_order(modifiers: Modifiers) -> tuple[int, int] | None:
    """The order and the scope of a strong access; None for a weak one."""
    if modifiers.flag("volatile"):
        return Order.RELAXED, Scope.SYS
    if modifiers.flag("mmio"):
        modifiers.flag("relaxed")
        modifiers.flag("sys")
        return Order.RELAXED, Scope.SYS
    name = modifiers.one_of(("relaxed", "acquire", "release", "weak"))
    scope = modifiers.one_of(tuple(SCOPES))
    if name in ("", "weak"):
        if scope:
            raise modifiers.refuse(f"has the scope .{scope} but is weak")
        return None
    if not scope:
        raise modifiers.refuse("has no scope")
    order = {"relaxed": Order.RELAXED, "acquire": Order.ACQUIRE, "release": Order.RELEASE}[name]
    return order, SCOPES[scope]


def flags(order: int, scope: int, bytes: int, count: int = 1) -> int:
    """What a strong access of `count` scalars, or a fence of none, is: one word, which `Requests.peek` takes apart."""
    return order | scope << 4 | bytes << 8 | count << 16


@opcode("ld", "ldu")
def load(writer: Writer, at: Instruction, modifiers: Modifiers) -> None:
    """A load. `.nc` must find what was there at the kernel's start."""
    code = thread(writer)
    type, strong, space = modifiers.type(), take_order(modifiers), take_space(modifiers)
    constant = modifiers.flag("nc")
    target, source = take(at, modifiers, 2 + take_hints(modifiers))[:2]
    modifiers.flag("unified")
    registers = take_items(modifiers, target, type)
    size = width(type) // 8
    if space == "param":
        return _load_parameter(code, registers, source, type, at)
    address = code.address(source, at)
    offset = to_offset(code, address, space, size * len(registers))
    if strong is not None and space != "local":
        _check_strong(modifiers, size)
        return _load_strong(
            code, registers, address, offset, type, flags(*strong, size, count=len(registers)), at
        )
    kind = "constant" if constant else "load"
    base = check(code, kind, address, offset, size * len(registers), at, space)
    for number, register in enumerate(registers):
        if isinstance(register, Sink):
            continue
        where = code.let(f"getelementptr i8, ptr {base}, i64 {number * size}")
        bits = code.let(f"load i{8 * size}, ptr {where}, align {size}")
        code.write(register, type, code.cast(bits, type), at)


def _load_parameter(
    code: ThreadWriter, registers: tuple[Operand, ...], source: Operand, type: str, at: Instruction
) -> None:
    size = width(type) // 8
    base = parameter(code, source, at, size * len(registers))
    for number, register in enumerate(registers):
        where = code.let(f"getelementptr i8, ptr {base}, i64 {number * size}")
        bits = code.let(f"load i{8 * size}, ptr {where}, align 1")
        code.write(register, type, code.cast(bits, type), at)


def parameter(code: ThreadWriter, operand: Operand, at: Instruction, bytes: int) -> str:
    """Where bytes of a parameter are, of the kernel or of a call. Raises `Refused`."""
    base = operand.base if isinstance(operand, Address) else None
    if not isinstance(operand, Address) or not isinstance(base, Symbol):
        raise Modifiers(at).refuse("takes a parameter by an address that is computed")
    offset = base.offset + operand.offset
    variable = code.passed.get(base.name) or code.own_parameters.get(base.name)
    if variable is None:
        raise Modifiers(at).refuse(f"names {base.name}, which is no parameter")
    if not 0 <= offset <= variable.bytes - bytes:
        raise Modifiers(at).refuse(
            f"is not inside of {base.name}, which has {variable.bytes} bytes"
        )
    if base.name in code.passed:
        return code.let(f"getelementptr i8, ptr %p.{base.name}, i64 {offset}")
    start = code.load_field("parameters", "ptr")
    return code.let(
        f"getelementptr i8, ptr {start}, i64 {code.parameters.places[base.name] + offset}"
    )


def _check_strong(modifiers: Modifiers, bytes: int) -> None:
    if bytes > 8:
        raise modifiers.refuse(
            f"is a strong access of {bytes} bytes, which the emulator does not know"
        )


def _load_strong(
    code: ThreadWriter,
    registers: tuple[Operand, ...],
    address: str,
    offset: str,
    type: str,
    word: int,
    at: Instruction,
) -> None:
    code.store_field("values", str(word))
    code.suspend(Op.LOAD, at, offset=offset, address=address)
    for number, register in enumerate(registers):
        value = code.load_field("values", index=number)
        bits = code.resize(value, 64, width(type), False)
        code.write(register, type, code.cast(bits, type), at)


@opcode("st")
def store(writer: Writer, at: Instruction, modifiers: Modifiers) -> None:
    """A store."""
    code = thread(writer)
    type, strong, space = modifiers.type(), take_order(modifiers), take_space(modifiers)
    target, source = take(at, modifiers, 2 + take_hints(modifiers))[:2]
    items = take_items(modifiers, source, type)
    values = [code.uncast(code.value(item, type, at), type) for item in items]
    size = width(type) // 8
    if space == "param":
        base = parameter(code, target, at, size * len(values))
    else:
        address = code.address(target, at)
        offset = to_offset(code, address, space, size * len(values))
        if strong is not None and space != "local":
            _check_strong(modifiers, size)
            word = flags(*strong, size, count=len(values))
            code.store_field("values", str(word))
            for number, value in enumerate(values):
                wide = code.resize(value, 8 * size, 64, False)
                code.store_field("operands", wide, index=number)
            return code.suspend(Op.STORE, at, offset=offset, address=address)
        base = check(code, "store", address, offset, size * len(values), at, space)
    for number, value in enumerate(values):
        where = code.let(f"getelementptr i8, ptr {base}, i64 {number * size}")
        code.emit(f"store i{8 * size} {value}, ptr {where}, align 1")


_BITS = ("b32", "b64")
_ORDERED = ("u32", "u64", "s32", "s64")
_TYPES = {
    **dict.fromkeys(("and", "or", "xor", "exch"), _BITS),
    "cas": ("b16", *_BITS),
    "add": ("u32", "u64", "s32", *HALVES, *FLOATS),
    **dict.fromkeys(("inc", "dec"), ("u32",)),
    **dict.fromkeys(("min", "max"), _ORDERED),
}


@opcode("atom", "red")
def atomic(writer: Writer, at: Instruction, modifiers: Modifiers) -> None:
    """A read-modify-write operation; relaxed and of gpu scope unless it says else."""
    code = thread(writer)
    type = modifiers.type()
    name = modifiers.one_of(("relaxed", "acquire", "release", "acq_rel"), "relaxed")
    scope = SCOPES[modifiers.one_of(tuple(SCOPES), "gpu")]
    space = take_space(modifiers)
    operation = modifiers.one_of(OPERATIONS)
    modifiers.flag("noftz")
    hints = take_hints(modifiers)
    if type not in _TYPES.get(operation, ()) or space in ("local", "const", "param"):
        raise modifiers.refuse("is an atomic operation that the emulator does not know")
    order = Order.RELAXED
    if name in ("acquire", "acq_rel"):
        order |= Order.ACQUIRE
    if name in ("release", "acq_rel"):
        order |= Order.RELEASE
    count = (at.opcode == "atom") + 2 + (operation == "cas")
    operands = list(take(at, modifiers, count + hints)[:count])
    result = operands.pop(0) if at.opcode == "atom" else Sink()
    address = code.address(operands.pop(0), at)
    offset = to_offset(code, address, space, width(type) // 8)
    values = [code.uncast(code.value(operand, type, at), type) for operand in operands]
    word = flags(order, scope, width(type) // 8) | OPERATIONS.index(operation) << 24
    code.store_field("values", str(word))
    for number, value in enumerate(values):
        code.store_field("operands", code.resize(value, width(type), 64, False), index=number)
    code.suspend(Op.ATOMIC, at, offset=offset, address=address)
    found = code.resize(code.load_field("values"), 64, width(type), False)
    code.write(result, type, code.cast(found, type), at)


@opcode("cvta")
def convert_address(writer: Writer, at: Instruction, modifiers: Modifiers) -> None:
    """`cvta.shared`: a generic address from one of a space, and `cvta.to.shared` back."""
    code = thread(writer)
    type, back = modifiers.type(), modifiers.flag("to")
    space = take_space(modifiers)
    window = {"shared": layout.SHARED, "local": layout.LOCAL}.get(space, 0)
    if space == "param":
        raise modifiers.refuse("takes the address of a parameter")
    target, source = take(at, modifiers, 2)
    value = code.value(source, type, at)
    code.write(
        target, type, code.let(f"{'sub' if back else 'add'} i{width(type)} {value}, {window}"), at
    )


@opcode("isspacep")
def is_space(writer: Writer, at: Instruction, modifiers: Modifiers) -> None:
    """Whether a generic address lies in a space. Constants have no window: they lie in global memory here."""
    code = thread(writer)
    space = take_space(modifiers)
    if space not in ("global", "shared", "local"):
        raise modifiers.refuse("asks for a space that has no window of its own here")
    target, source = take(at, modifiers, 2)
    value = code.value(source, "b64", at)
    start, size = {
        "shared": (layout.SHARED, layout.WINDOW),
        "local": (layout.LOCAL, layout.WINDOW),
        "global": (layout.GLOBAL, layout.GLOBAL),
    }[space]
    inside = code.let(f"sub i64 {value}, {start}")
    code.write(target, "pred", code.let(f"icmp ult i64 {inside}, {size}"), at)


@opcode("prefetch", "prefetchu", "applypriority", "discard")
def prefetch(writer: Writer, at: Instruction, modifiers: Modifiers) -> None:
    """Nothing: caches are not modelled. `discard` is refused, as it destroys what is there."""
    if at.opcode == "discard":
        raise modifiers.refuse("is not modelled")
    take_space(modifiers)
    modifiers.one_of(("L1", "L2"))
    take_hints(modifiers)
    modifiers.one_of(("tensormap",))


@opcode("createpolicy")
def create_policy(writer: Writer, at: Instruction, modifiers: Modifiers) -> None:
    """Nothing but a register that is written: caches are not modelled."""
    modifiers.left.clear()
    target, *_ = at.operands or (Sink(),)
    writer.write(target, "b64", "0", at)
