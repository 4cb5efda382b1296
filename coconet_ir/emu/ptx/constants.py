"""Constants and constant expressions (PTX ISA, section 4.5)."""

from __future__ import annotations

import re
import struct
from collections.abc import Callable
from functools import lru_cache

import numpy as np

from coconet_ir.emu.ptx.syntax import Float, Integer
from coconet_ir.emu.ptx.tokens import Tokens

_WARP_SIZE = 32
_DEEPEST = 64
"""Parentheses and operators in each other; Python's stack has an end."""


def _divide(left: int, right: int) -> int:
    quotient = abs(left) // abs(right)
    return quotient if (left < 0) == (right < 0) else -quotient


_BINARY: dict[str, tuple[int, Callable[[int, int], int]]] = {
    "||": (1, lambda left, right: left != 0 or right != 0),
    "&&": (2, lambda left, right: left != 0 and right != 0),
    "|": (3, lambda left, right: left | right),
    "^": (4, lambda left, right: left ^ right),
    "&": (5, lambda left, right: left & right),
    "==": (6, lambda left, right: left == right),
    "!=": (6, lambda left, right: left != right),
    "<": (7, lambda left, right: left < right),
    "<=": (7, lambda left, right: left <= right),
    ">": (7, lambda left, right: left > right),
    ">=": (7, lambda left, right: left >= right),
    "<<": (8, lambda left, right: left << right if 0 <= right < 64 else 0),
    ">>": (8, lambda left, right: left >> min(right, 64) if right >= 0 else 0),
    "+": (9, lambda left, right: left + right),
    "-": (9, lambda left, right: left - right),
    "*": (10, lambda left, right: left * right),
    "/": (10, _divide),
    "%": (10, lambda left, right: left - right * _divide(left, right)),
}
"""How tightly operators bind, and what they do."""
_UNARY: dict[str, Callable[[int], int]] = {
    "-": lambda value: -value,
    "+": lambda value: value,
    "~": lambda value: ~value,
    "!": lambda value: value == 0,
}
STARTS = frozenset("-+~!(0123456789.")
"""What a constant begins with; the only name is `WARP_SZ`."""
_LITERAL = re.compile(
    r"0[fF](?P<single>[\da-fA-F]{8})|0[dD](?P<double>[\da-fA-F]{16})"
    r"|(?P<decimal>(?:\d+\.\d*|\.\d+)(?:[eE][+-]?\d+)?|\d+[eE][+-]?\d+)"
    r"|(?:0[xX](?P<base16>[\da-fA-F]+)|0[bB](?P<base2>[01]+)|(?P<base8>0[0-7]*)|(?P<base10>[1-9]\d*))U?",
    re.ASCII,
)
_LONGEST = 70
"""Characters of a literal: `0b`, 64 digits, `U`, and Python's own limit is far."""


@lru_cache(1 << 16)
def _literal(word: str) -> int | Float | None:
    """The value of a literal; None for what is none, or an integer of more than 64 bits."""
    match = _LITERAL.fullmatch(word) if len(word) <= _LONGEST else None
    if match is None:
        return None
    kind = str(match.lastgroup)
    digits = match[kind]
    if kind == "single":
        return Float(int(digits, 16), 32)
    if kind == "double":
        return Float(int(digits, 16), 64)
    if kind == "decimal":
        return Float(*struct.unpack("<Q", struct.pack("<d", float(digits))), 64)
    value = int(digits, int(kind.removeprefix("base")))
    return value if value < 1 << 64 else None


def _wrapped(value: int) -> int:
    """In 64 bits, with or without a sign."""
    return value if -(1 << 63) <= value < 1 << 64 else value & (1 << 64) - 1


def constant(tokens: Tokens) -> Integer | Float:
    """Read a constant. Raises `PTXError`."""
    negative = tokens.peek() == "-"
    value = _literal(tokens.words[tokens.at + negative])
    if not isinstance(value, Float):
        return Integer(expression(tokens))
    if negative and value.width == 32:
        raise tokens.error("a number in the form 0f has no sign in front")
    tokens.at += 1 + negative
    return Float(value.bits ^ negative << value.width - 1, value.width)


def single(bits: int) -> int:
    """The bits of the number of 32 bits that is next to one of 64 bits."""
    (value,) = struct.unpack("<d", struct.pack("<Q", bits))
    with np.errstate(over="ignore"):
        return int(np.float32(value).view(np.uint32))


def expression(tokens: Tokens, looser: int = 0, depth: int = 0) -> int:
    """Read an integer expression up to the first operator that binds as `looser` or looser. Raises `PTXError`."""
    if depth > _DEEPEST:
        raise tokens.error("the expression is too deep")
    left = _operand(tokens, depth)
    while (found := _BINARY.get(tokens.peek())) and found[0] > looser:
        binds, apply = found
        at = tokens.at
        tokens.at += 1
        right = expression(tokens, binds, depth + 1)
        if not right and apply in (_BINARY["/"][1], _BINARY["%"][1]):
            raise tokens.error("the expression divides by zero", at)
        left = _wrapped(int(apply(left, right)))
    if looser == 0 and tokens.take("?"):
        yes = expression(tokens, 0, depth + 1)
        tokens.expect(":")
        no = expression(tokens, 0, depth + 1)
        return yes if left else no
    return left


def _operand(tokens: Tokens, depth: int) -> int:
    word = tokens.peek()
    if depth > _DEEPEST:
        raise tokens.error("the expression is too deep")
    if apply := _UNARY.get(word):
        tokens.at += 1
        return _wrapped(int(apply(_operand(tokens, depth + 1))))
    if tokens.take("("):
        cast = tokens.peek()
        if cast in (".s64", ".u64"):
            tokens.at += 1
            tokens.expect(")")
            low = _operand(tokens, depth + 1) & (1 << 64) - 1
            return low - (1 << 64) if cast == ".s64" and low >> 63 else low
        value = expression(tokens, 0, depth + 1)
        tokens.expect(")")
        return value
    if tokens.take("WARP_SZ"):
        return _WARP_SIZE
    return integer(tokens, "an integer")


def integer(tokens: Tokens, what: str, most: int = (1 << 64) - 1) -> int:
    """Read an integer literal up to `most`. Raises `PTXError`."""
    number = _literal(tokens.peek())
    if not isinstance(number, int):
        wrong = number is None and tokens.peek()[:1].isdigit()
        raise tokens.expected(f"{what} of 64 bits" if wrong else what)
    if number > most:
        raise tokens.error(f"{what} is at most {most}")
    tokens.at += 1
    return number


def offset(tokens: Tokens) -> int:
    """Read `+4`, `+-8` or nothing. Raises `PTXError`."""
    return expression(tokens) if tokens.take("+") else 0
