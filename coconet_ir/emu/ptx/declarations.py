"""Variables, parameters and registers (PTX ISA, section 5)."""

from __future__ import annotations

from dataclasses import dataclass
from typing import cast

from coconet_ir.emu.ptx.constants import ADDITIVE, constant, expression, integer
from coconet_ir.emu.ptx.syntax import Float, Integer, Space, Symbol, Variable, width
from coconet_ir.emu.ptx.tokens import Tokens

SPACES = frozenset((".param", ".shared", ".local", ".global", ".const"))
_MOST_REGISTERS = 1 << 20
_MOST_ELEMENTS = 1 << 24
"""Of an initialiser: it is kept in memory."""
_DEEPEST = 16
_OPAQUE = (".texref", ".samplerref", ".surfref")
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
    while (word := tokens.word).startswith("."):
        if word == ".align":
            tokens.at += 1
            head.align = alignment(tokens)
        elif word in (".v2", ".v4"):
            tokens.at += 1
            head.lanes = int(word[2])
        elif word == ".attribute":
            tokens.at += 1
            skip_parentheses(tokens)
        elif word == ".ptr" and head.type:
            tokens.at += 1
            if tokens.word in SPACES:
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
    word = tokens.word
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


def skip_parentheses(tokens: Tokens) -> None:
    """Step over `( … )`. Raises `PTXError`."""
    begin = tokens.at
    tokens.expect("(")
    depth = 1
    while depth:
        word = tokens.next()
        if not word:
            raise tokens.error("this parenthesis is not closed", begin)
        depth += (word == "(") - (word == ")")


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
        initial = _initial(tokens, shape, 0)
        if sizes and not sizes[0]:
            rest = _product(shape[1:])
            sizes = (-(-len(initial) // rest), *sizes[1:])
    count = _product(sizes) * head.lanes
    if len(initial) > count:
        raise tokens.error(f"`{name}` has {count} elements, and its initial value has more", at)
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


def _initial(tokens: Tokens, shape: tuple[int, ...], depth: int) -> _Initial:
    """Read an initial value of this shape, flat. What braces leave out is zero, at the end nothing."""
    if depth > _DEEPEST:
        raise tokens.error("the initial value is too deep")
    if not tokens.take("{"):
        return (_element(tokens),)
    inner = _product(shape[1:])
    found: list[Integer | Float | Symbol] = []
    while not tokens.take("}"):
        if tokens.word == "{":
            at = tokens.at
            if -len(found) % max(inner, 1) or inner > _MOST_ELEMENTS:
                raise tokens.error("the braces do not match the shape of the array", at)
            part = _initial(tokens, shape[1:], depth + 1)
            if len(part) > inner:
                raise tokens.error("the braces hold more than the shape of the array", at)
            if not tokens.word == "}":
                part += (Integer(0),) * (inner - len(part))
            found += part
        else:
            found.append(_element(tokens))
        if len(found) > _MOST_ELEMENTS:
            raise tokens.error(f"the initial value has more than {_MOST_ELEMENTS} elements")
        if tokens.word != "}":
            tokens.expect(",")
    return tuple(found)


def _element(tokens: Tokens) -> Integer | Float | Symbol:
    word = tokens.word
    if word == "generic":
        tokens.at += 1
        tokens.expect("(")
        name = tokens.name("the name of a variable")
        tokens.expect(")")
        return Symbol(name, offset(tokens))
    if word[:1].isalpha() or word[:1] in ("_", "$"):
        if word != "WARP_SZ":
            return Symbol(tokens.name("a constant"), offset(tokens))
    value = constant(tokens)
    if tokens.word == "(":
        raise tokens.error("a mask on an address, as in `0xFF(x)`, is not supported")
    return value


def offset(tokens: Tokens) -> int:
    """Read `+4`, `-8`, `+4+8` or nothing."""
    total = 0
    while (sign := tokens.word) in ("+", "-"):
        tokens.at += 1
        value = expression(tokens, ADDITIVE)
        total += value if sign == "+" else -value
    return total


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
            count = integer(tokens, "the number of registers", _MOST_REGISTERS)
            tokens.expect(">")
            names = [f"{name}{i}" for i in range(count)]
        else:
            names = [name]
        if not found.keys().isdisjoint(names) or len(found) + len(names) > _MOST_REGISTERS:
            raise tokens.error(f"`{name}` is declared twice, or there are too many registers", at)
        found.update(dict.fromkeys(names, head.type))
        if not tokens.take(","):
            tokens.expect(";")
            return found


def parameters(tokens: Tokens) -> tuple[Variable, ...]:
    """Read `(.param .u64 a, .param .b8 b[4])`. Raises `PTXError`."""
    tokens.expect("(")
    found: list[Variable] = []
    if tokens.take(")"):
        return ()
    while True:
        if tokens.word not in (".param", ".reg"):
            raise tokens.expected("`.param`")
        space = cast(Space, tokens.next()[1:])
        found.append(_variable(tokens, space, _head(tokens), False))
        if not tokens.take(","):
            tokens.expect(")")
            return tuple(found)
