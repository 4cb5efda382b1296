"""Constants: literals against values written out and NumPy's floats, expressions against C's rules."""

from __future__ import annotations

from collections.abc import Callable
from typing import cast

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from coconet_ir.emu.ptx.constants import constant
from coconet_ir.emu.ptx.syntax import Float, Function, Instruction, Integer
from coconet_ir.emu.ptx.tokens import Tokens

Body = Callable[..., Function]


def value(body: Body, text: str) -> object:
    return cast(Instruction, body(f"mov.b64 %rd1, {text};").body[0]).operands[1]


@pytest.mark.parametrize(
    ("text", "number"),
    [
        ("0", 0),
        ("00", 0),
        ("42U", 42),
        ("0x1fE", 510),
        ("0XFFFFFFFFFFFFFFFFU", 2**64 - 1),
        ("18446744073709551615", 2**64 - 1),
        ("-9223372036854775808", -(2**63)),
        ("0b1011", 11),
        ("0B" + "1" * 64 + "U", 2**64 - 1),
        ("017", 15),
        ("01777777777777777777777", 2**64 - 1),
        ("1+2*3", 7),
        ("(1+2)*3", 9),
        ("10-4-3", 3),
        ("-7/2", -3),
        ("-7 % 3", -1),
        ("1<<4|1", 17),
        ("6&3^1", 3),
        ("-16>>2", -4),
        ("1<<64", 0),
        ("1>>70", 0),
        ("-1>>70", -1),
        ("~0", -1),
        ("!5 + !0", 1),
        ("3 < 4 == 1", 1),
        ("2 >= 3 || 1 != 1 && 1", 0),
        ("1 ? 2 : 3", 2),
        ("0 ? 2 : 0 ? 4 : 5", 5),
        ("(.u64)-1", 2**64 - 1),
        ("(.s64)0xFFFFFFFFFFFFFFFF", -1),
        ("0xFFFFFFFFFFFFFFFF + 1", 0),
        ("0x8000000000000000 * 2", 0),
        ("WARP_SZ / 2 - 1", 15),
        ("- - 3", 3),
    ],
)
def test_integers(body: Body, text: str, number: int) -> None:
    assert value(body, text) == Integer(number)


@pytest.mark.parametrize(
    ("text", "bits", "width"),
    [
        ("0f3F800000", 0x3F800000, 32),
        ("0FfF800001", 0xFF800001, 32),
        ("0d400921FB54442D18", 0x400921FB54442D18, 64),
        ("0DFFF0000000000000", 0xFFF0000000000000, 64),
        ("-0d3FF0000000000000", 0xBFF0000000000000, 64),
    ],
)
def test_floats_by_their_bits(body: Body, text: str, bits: int, width: int) -> None:
    found = value(body, text)
    assert isinstance(found, Float)
    assert (found.bits, found.width) == (bits, width)


@pytest.mark.parametrize(
    "text", ["1.0", "5.", ".5", "1e3", "1E+3", "2.5e-3", "-1.5", "-0.0", "010.5"]
)
def test_decimal_floats(body: Body, text: str) -> None:
    found = value(body, text)
    assert isinstance(found, Float)
    assert (found.bits, found.width) == (int(np.float64(text).view(np.uint64)), 64)


@given(st.floats(allow_nan=False, allow_infinity=False))
def test_every_decimal_float(number: float) -> None:
    assert constant(Tokens(repr(number), "")) == Float(int(np.float64(number).view(np.uint64)), 64)


TERMS = st.tuples(st.sampled_from(["", "-", "~", "- ~"]), st.integers(0, 999)).map(
    lambda t: f"{t[0]}{t[1]}"
)


@given(TERMS, st.lists(st.tuples(st.sampled_from("+-*&^|"), TERMS), max_size=5), st.data())
def test_expressions(first: str, rest: list[tuple[str, str]], data: st.DataObject) -> None:
    """Against Python, whose operators on numbers bind like C's: no value here has more than 64 bits."""
    words = [first, *(word for pair in rest for word in pair)]
    begin = 2 * data.draw(st.integers(0, len(rest)))
    end = 2 * data.draw(st.integers(begin // 2, len(rest)))
    words[begin] = "(" + words[begin]
    words[end] += ")"
    text = " ".join(words)
    assert constant(Tokens(text, "")) == Integer(eval(text))
