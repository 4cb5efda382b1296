"""Constants and constant expressions (PTX ISA, section 4.5)."""

from __future__ import annotations

import operator
import struct
from collections.abc import Callable
from functools import cache

from coconet_ir.emu.ptx.syntax import Float, Integer
from coconet_ir.emu.ptx.tokens import PTXError, Tokens

_WARP_SIZE = 32
_DEEPEST = 64
"""Parentheses and signs in each other; no file needs more, and the stack has an end."""


def _divide(left: int, right: int) -> int:
    quotient = abs(left) // abs(right)
    return quotient if (left < 0) == (right < 0) else -quotient


def _shift_left(left: int, right: int) -> int:
    return left << right if 0 <= right < 64 else 0


def _shift_right(left: int, right: int) -> int:
    return left >> min(right, 64) if right >= 0 else 0


_BINARY: dict[str, tuple[int, Callable[[int, int], int]]] = {
    "||": (1, lambda left, right: int(bool(left) or bool(right))),
    "&&": (2, lambda left, right: int(bool(left) and bool(right))),
    "|": (3, operator.or_),
    "^": (4, operator.xor),
    "&": (5, operator.and_),
    "==": (6, operator.eq),
    "!=": (6, operator.ne),
    "<": (7, operator.lt),
    "<=": (7, operator.le),
    ">": (7, operator.gt),
    ">=": (7, operator.ge),
    "<<": (8, _shift_left),
    ">>": (8, _shift_right),
    "+": (9, operator.add),
    "-": (9, operator.sub),
    "*": (10, operator.mul),
    "/": (10, _divide),
    "%": (10, lambda left, right: left - right * _divide(left, right)),
}
ADDITIVE = 9
"""How tightly `+` binds."""
_UNARY: dict[str, Callable[[int], int]] = {
    "-": operator.neg,
    "+": operator.pos,
    "~": operator.invert,
    "!": lambda value: int(not value),
}
STARTS = frozenset("-+~!(0123456789.")
"""What a constant expression begins with; names can be `WARP_SZ`."""


@cache
def _number(word: str) -> int | Float | None:
    """A literal; None for what is none, or an integer of more than 64 bits."""
    kind = word[:2].lower()
    if kind == "0f":
        return Float(int(word[2:], 16), 32)
    if kind == "0d":
        return Float(int(word[2:], 16), 64)
    if kind != "0x" and any(mark in word for mark in ".eE"):
        (bits,) = struct.unpack("<Q", struct.pack("<d", float(word)))
        return Float(bits, 64)
    digits = word.removesuffix("U")
    if not word or not digits.isalnum() or len(digits) > 70:
        return None
    octal = kind not in ("0x", "0b") and digits.startswith("0")
    try:
        value = int(digits, 8 if octal else 0)
    except ValueError:
        return None
    return value if value < 1 << 64 else None


def _wrapped(value: int) -> int:
    """In 64 bits, with or without a sign."""
    if -(1 << 63) <= value < 1 << 64:
        return value
    return value & (1 << 64) - 1


def constant(tokens: Tokens) -> Integer | Float:
    """Read a constant. Raises `PTXError`."""
    negative = tokens.word == "-"
    word = tokens.words[tokens.at + negative]
    if word[:1].isdigit() or word[:1] == ".":
        number = _number(word)
        if isinstance(number, Float):
            tokens.at += 1 + negative
            return Float(number.bits ^ negative << number.width - 1, number.width)
    return Integer(expression(tokens))


def expression(tokens: Tokens, tightest: int = 0, depth: int = 0) -> int:
    """Read an integer expression of operators that bind tighter than this. Raises `PTXError`."""
    if depth > _DEEPEST:
        raise tokens.error("the expression is too deep")
    left = _operand(tokens, depth)
    while (found := _BINARY.get(tokens.word)) and found[0] > tightest:
        binds, apply = found
        at = tokens.at
        tokens.at += 1
        right = expression(tokens, binds, depth + 1)
        try:
            left = _wrapped(int(apply(left, right)))
        except ZeroDivisionError:
            raise tokens.error("the expression divides by zero", at) from None
    if tightest == 0 and tokens.take("?"):
        yes = expression(tokens, 0, depth + 1)
        tokens.expect(":")
        no = expression(tokens, 0, depth + 1)
        return yes if left else no
    return left


def _operand(tokens: Tokens, depth: int) -> int:
    word = tokens.word
    if apply := _UNARY.get(word):
        tokens.at += 1
        if depth > _DEEPEST:
            raise tokens.error("the expression is too deep")
        return _wrapped(apply(_operand(tokens, depth + 1)))
    if tokens.take("("):
        if tokens.word in (".s64", ".u64"):
            signed = tokens.next() == ".s64"
            tokens.expect(")")
            return _cast(_operand(tokens, depth + 1), signed)
        value = expression(tokens, 0, depth + 1)
        tokens.expect(")")
        return value
    if tokens.take("WARP_SZ"):
        return _WARP_SIZE
    if not word[:1].isdigit():
        raise tokens.expected("a constant")
    number = _number(word)
    if number is None:
        raise tokens.error(f"`{word[:80]}` is no integer of 64 bits")
    if isinstance(number, Float):
        raise tokens.error("an integer is expected, not a floating-point number")
    tokens.at += 1
    return number


def _cast(value: int, signed: bool) -> int:
    low = value & (1 << 64) - 1
    return low - (1 << 64) if signed and low >> 63 else low


def integer(tokens: Tokens, what: str, most: int = (1 << 64) - 1) -> int:
    """Step over a plain integer up to `most`. Raises `PTXError`."""
    word = tokens.word
    number = _number(word) if word[:1].isdigit() else None
    if not isinstance(number, int):
        raise tokens.expected(what)
    if number > most:
        raise tokens.error(f"{what} is at most {most}")
    tokens.at += 1
    return number


__all__ = ["ADDITIVE", "STARTS", "PTXError", "constant", "expression", "integer"]
