"""Variables, parameters and registers (PTX ISA, section 5)."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import cast

from coconet_ir.emu.ptx.constants import constant, expression, integer, offset, single
from coconet_ir.emu.ptx.syntax import Float, Integer, Space, Symbol, Variable, width
from coconet_ir.emu.ptx.tokens import Tokens

SPACES = frozenset((".param", ".shared", ".local", ".global", ".const"))
MOST_REGISTERS = 1 << 17
"""Of a function."""
_MOST_DIMENSIONS = 16
_MOST_ELEMENTS = 1 << 22
"""Of an initialiser: it is kept in memory."""
_LIMITS = frozenset(
    (
        ".maxntid",
        ".reqntid",
        ".minnctapersm",
        ".maxnctapersm",
        ".maxnreg",
        ".reqnctapercluster",
        ".maxclusterrank",
        ".abi_preserve",
        ".abi_preserve_control",
    )
)
_FLAGS = frozenset((".noreturn", ".explicitcluster", ".blocksareclusters"))
_OPAQUE = (".texref", ".samplerref", ".surfref")
_BYTES = [Integer(0xFF << 8 * byte) for byte in range(8)]
"""What picks a byte of an address."""
_Initial = tuple[Integer | Float | Symbol, ...]


@dataclass
class _Head:
    """What stands before the names of a declaration."""

    align: int = 0
    lanes: int = 1
    type: str = ""


def _head(tokens: Tokens) -> _Head:
    """Read the alignment, `.v2` or `.v4`, what a pointer points to, and the type."""
    head = _Head()
    while (word := tokens.peek()).startswith("."):
        if word == ".align":
            tokens.at += 1
            head.align = alignment(tokens)
        elif word in (".v2", ".v4"):
            tokens.at += 1
            head.lanes = int(word[2])
        elif word == ".attribute":
            tokens.at += 1
            tokens.skip("(", ")")
        elif word == ".ptr" and head.type:
            tokens.at += 1
            if tokens.peek() in SPACES:
                tokens.at += 1
            if tokens.take(".align"):
                alignment(tokens)
        elif head.type:
            break
        else:
            head.type = type_name(tokens)
    if not head.type:
        raise tokens.expected("a type")
    return head


def alignment(tokens: Tokens) -> int:
    """Read a power of two. Raises `PTXError`."""
    at = tokens.at
    value = integer(tokens, "an alignment")
    if value.bit_count() != 1:
        raise tokens.error("an alignment is a power of two", at)
    return value


def type_name(tokens: Tokens) -> str:
    """Read a type, without its dot. Raises `PTXError`."""
    word = tokens.peek()
    if word in _OPAQUE:
        raise tokens.error(f"textures, samplers and surfaces ({word}) are not supported")
    try:
        if not word.startswith("."):
            raise KeyError
        width(word[1:])
    except KeyError:
        raise tokens.expected("a type") from None
    tokens.at += 1
    return word[1:]


def variables(tokens: Tokens, external: bool) -> list[Variable]:
    """Read `.shared .align 4 .b8 s[16], t[4];` from the space to the semicolon. Raises `PTXError`."""
    space = cast(Space, tokens.next()[1:])
    head = _head(tokens)
    found = [_variable(tokens, space, head, external)]
    while tokens.take(","):
        found.append(_variable(tokens, space, head, external))
    tokens.expect(";")
    return found


def _variable(tokens: Tokens, space: Space, head: _Head, external: bool) -> Variable:
    at = tokens.at
    name = tokens.name("the name of a variable")
    sizes = _sizes(tokens)
    initial: _Initial = ()
    if tokens.take("="):
        if space not in ("global", "const"):
            raise tokens.error(f"a variable in .{space} has no initial value", at)
        shape = (*sizes, head.lanes) if head.lanes > 1 else sizes
        if _product(shape[1:]) > _MOST_ELEMENTS:
            raise tokens.error(f"an initial value has at most {_MOST_ELEMENTS} elements", at)
        initial = _initial(tokens, head.type, shape)
        if sizes and not sizes[0]:
            sizes = (-(-len(initial) // max(1, _product(shape[1:]))), *sizes[1:])
    count = _product(sizes) * head.lanes
    align = head.align or (head.lanes * width(head.type) // 8 if head.lanes > 1 else 0)
    return Variable(name, space, head.type, count, align, initial, external)


def _sizes(tokens: Tokens) -> tuple[int, ...]:
    """Read `[2][3]`; the first can be empty, which is 0."""
    sizes: list[int] = []
    while tokens.take("["):
        if not sizes and tokens.take("]"):
            sizes.append(0)
            continue
        at = tokens.at
        if len(sizes) == _MOST_DIMENSIONS:
            raise tokens.error(f"an array has at most {_MOST_DIMENSIONS} dimensions")
        size = expression(tokens)
        if size < 0:
            raise tokens.error("the size of an array is not negative", at)
        sizes.append(size)
        tokens.expect("]")
    return tuple(sizes)


def _product(sizes: tuple[int, ...]) -> int:
    count = 1
    for size in sizes:
        count *= size
    return count


def _initial(tokens: Tokens, type: str, shape: tuple[int, ...]) -> _Initial:
    """Read an initial value of this shape, flat. What braces leave out is zero, at the end nothing."""
    if not shape:
        return (_element(tokens, type),)
    begin = tokens.at
    tokens.expect("{")
    inner = _product(shape[1:])
    found: list[Integer | Float | Symbol] = []
    if tokens.take("}"):
        return ()
    while True:
        part = _initial(tokens, type, shape[1:])
        found += part
        if len(found) > _MOST_ELEMENTS:
            raise tokens.error(f"an initial value has at most {_MOST_ELEMENTS} elements", begin)
        if tokens.take("}"):
            break
        tokens.expect(",")
        found += (Integer(0),) * (inner - len(part))
    if shape[0] and len(found) > shape[0] * inner:
        raise tokens.error(f"there are more than {shape[0]} elements in these braces", begin)
    return tuple(found)


def _element(tokens: Tokens, type: str) -> Integer | Float | Symbol:
    if tokens.is_name() and tokens.peek() != "WARP_SZ":
        return _symbol(tokens)
    at = tokens.at
    value = constant(tokens)
    if tokens.take("("):
        symbol = _symbol(tokens)
        tokens.expect(")")
        if value not in _BYTES:
            raise tokens.error("a mask is 0xFF, 0xFF00 and so on", at)
        return replace(symbol, byte=_BYTES.index(value))
    if isinstance(value, Float):
        if type == "f32" and value.width == 64:
            return Float(single(value.bits), 32)
        if type not in (f"f{value.width}", f"b{value.width}"):
            raise tokens.error(f"this number has the type .f{value.width}, not .{type}", at)
    return value


def _symbol(tokens: Tokens) -> Symbol:
    """Read `x`, `x+4` or `generic(x)+4`."""
    generic = tokens.peek() == "generic" and tokens.words[tokens.at + 1] == "("
    tokens.at += 2 * generic
    name = tokens.name("the name of a variable")
    if generic:
        tokens.expect(")")
    return Symbol(name, offset(tokens))


def registers(tokens: Tokens) -> dict[str, str]:
    """Read `.reg .b32 %r<4>, %x;` from `.reg` to the semicolon: types by name. Raises `PTXError`."""
    tokens.expect(".reg")
    head = _head(tokens)
    if head.lanes > 1:
        raise tokens.error("registers that are vectors are not supported: declare each element")
    found: dict[str, str] = {}
    while True:
        at = tokens.at
        name = tokens.name("the name of a register")
        if tokens.take("<"):
            count = integer(tokens, "the number of registers", MOST_REGISTERS)
            tokens.expect(">")
            names = [f"{name}{i}" for i in range(count)]
        else:
            names = [name]
        if not found.keys().isdisjoint(names):
            raise tokens.error(f"`{name}` is declared twice", at)
        found.update(dict.fromkeys(names, head.type))
        if len(found) > MOST_REGISTERS:
            raise tokens.error(f"a function has at most {MOST_REGISTERS} registers", at)
        if not tokens.take(","):
            tokens.expect(";")
            return found


def parameters(tokens: Tokens) -> tuple[Variable, ...]:
    """Read `(.param .u64 a, .param .b8 b[4])` or nothing. Raises `PTXError`."""
    found: list[Variable] = []
    if not tokens.take("(") or tokens.take(")"):
        return ()
    while True:
        if tokens.peek() not in (".param", ".reg"):
            raise tokens.expected("`.param`")
        space = cast(Space, tokens.next()[1:])
        found.append(_variable(tokens, space, _head(tokens), False))
        if not tokens.take(","):
            tokens.expect(")")
            return tuple(found)


def directives(tokens: Tokens) -> dict[str, tuple[int, ...]]:
    """Read what stands between the head of a function and its body: numbers by name. Raises `PTXError`."""
    found: dict[str, tuple[int, ...]] = {}
    while (word := tokens.peek()).startswith("."):
        if word == ".pragma":
            pragma(tokens)
            continue
        tokens.at += 1
        if word in _LIMITS:
            numbers = [integer(tokens, "a number", (1 << 31) - 1)]
            while tokens.take(","):
                numbers.append(integer(tokens, "a number", (1 << 31) - 1))
            found[word[1:]] = tuple(numbers)
        elif word in _FLAGS:
            found[word[1:]] = ()
        elif word == ".attribute":
            tokens.skip("(", ")")
        else:
            tokens.at -= 1
            raise tokens.error(f"the directive {word} is not known here")
    return found


def pragma(tokens: Tokens) -> None:
    """Step over `.pragma "…", "…";`. Raises `PTXError`."""
    tokens.expect(".pragma")
    tokens.string()
    while tokens.take(","):
        tokens.string()
    tokens.expect(";")


def file(tokens: Tokens) -> tuple[int, str]:
    """Read `.file 1 "name"` with a time and a size: its number and name. Raises `PTXError`."""
    tokens.expect(".file")
    number = integer(tokens, "the number of a file")
    name = tokens.string()
    while tokens.take(","):
        integer(tokens, "a time or a size")
    return number, name


def section(tokens: Tokens) -> None:
    """Step over `.section name { … }`: data of debuggers. Raises `PTXError`."""
    tokens.expect(".section")
    tokens.next()
    tokens.skip("{", "}")
