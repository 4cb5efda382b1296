"""Real PTX with random mistakes: it runs, or is refused with a message; nothing breaks."""

from __future__ import annotations

import random
import re
from collections.abc import Sequence
from pathlib import Path

import pytest

from coconet_ir.emu.checks import check as check_module
from coconet_ir.emu.checks.check import CheckFailed, run_once
from coconet_ir.emu.code.table import TABLE, Refused
from coconet_ir.emu.job import Job, Memory, Rank
from coconet_ir.emu.ptx.parse import PTXError, parse_ptx
from coconet_ir.runtime.steps import Launch, Place

FOLDER = Path(__file__).parents[1]
FILES = sorted([*FOLDER.glob("foreign/ptx/*.ptx"), *FOLDER.glob("protocols/*.ptx")])
TYPES = (
    "pred b8 b16 b32 b64 b128 u8 u16 u32 u64 s8 s16 s32 s64 f16 bf16 f16x2 f32 f64 e4m3x2".split()
)
MODIFIERS = (
    "v2 v4 v8 sync aligned relaxed acquire volatile gpu sys global shared local param nc rn ftz sat hi wide "
    "to approx uni add min cas exch inc and all any ballot up bfly idx arrive red warp popc x2"
).split()
OPERANDS = (
    "0 -1 33 0x80000000 0xffffffffffffffff -9223372036854775808 0f7FC00000 1.5 _ [%rd1+4] [0] {%r1,%r2} "
    "{%r1,%r2,%r3} !%p1 %tid.x %clock64 %r1|%p1 %r1 %rd1 %f1 %p1 %nothing nothing"
).split()
REGISTER = re.compile(r"%[a-z]+\d+")
OPERAND = re.compile(r"(?<=[\s,])(%[a-z]+\d+|-?\d+|0[xfd]\w+|\[[^\]]*\]|\{[^}]*\})")


def replaced(line: str, pattern: str, choices: Sequence[str], pick: random.Random) -> str:
    """A line where one of the matches is something else."""
    places = list(re.finditer(pattern, line))
    if not places:
        return line
    place = pick.choice(places)
    return line[: place.start()] + pick.choice(choices) + line[place.end() :]


def mistaken(text: str, pick: random.Random) -> str:
    """A text with one to three mistakes in its instructions."""
    lines = text.split("\n")
    code = [n for n, line in enumerate(lines) if re.match(r"\s+[@a-z].*;$", line)]
    for _ in range(pick.choice((1, 1, 2, 3))):
        n = pick.choice(code)
        line = lines[n]
        match pick.randrange(8):
            case 0:
                lines[n] = ""
            case 1:
                lines[n] = line + lines[pick.choice(code)]
            case 2:
                lines[n] = replaced(line, REGISTER.pattern, REGISTER.findall(text), pick)
            case 3:
                lines[n] = replaced(
                    line, rf"\.({'|'.join(TYPES)})\b", [f".{t}" for t in TYPES], pick
                )
            case 4:
                lines[n] = replaced(line, r"\.[a-z]\w*", ["", *(f".{m}" for m in MODIFIERS)], pick)
            case 5:
                lines[n] = replaced(line, OPERAND.pattern, OPERANDS, pick)
            case 6:
                lines[n] = replaced(line, r"\b[a-z]+(?=[.\s])", list(TABLE), pick)
            case _:
                lines[n] = replaced(line, r",[^,;]*(?=[,;])", ["", ", %r1, %r2"], pick)
    return "\n".join(lines)


def job(text: str, pick: random.Random) -> Job:
    """A launch of one of the kernels, whose addresses are those of two buffers. Raises `PTXError`."""
    kernels = [f for f in parse_ptx(text).functions.values() if f.kernel]
    kernel = pick.choice(kernels)
    arguments = tuple(
        Place(pick.randrange(2)) if p.bytes == 8 else bytes([pick.choice((0, 1, 5, 64))]).ljust(p.bytes, b"\0")
        for p in kernel.parameters
    )  # fmt: skip
    block = kernel.directives.get("reqntid", (pick.choice((1, 32, 40)),))
    x, y, z = (*block, 1, 1)[:3]
    launch = Launch(kernel.name, (2, 1, 1), (x, y, z), arguments, shared=1024)
    memory = {n: Memory("xy"[n], 1 << 14, bytes(1 << 14)) for n in (0, 1)}
    return Job(text, (Rank(memory, (launch,)),))


def outcome(text: str, pick: random.Random) -> str:
    """What a text gives: what was found, or why there is no verdict."""
    try:
        found = run_once(job(text, pick), pick.randrange(3)).findings
    except (Refused, PTXError, CheckFailed) as error:
        return f"{type(error).__name__}: {error}"
    return found[0].message if found else "clean"


@pytest.mark.parametrize("seed", range(8))
def test_mistakes(seed: int, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(check_module, "TIME_LIMIT", 10.0)
    pick = random.Random(seed)
    outcomes = [outcome(mistaken(pick.choice(FILES).read_text(), pick), pick) for _ in range(6)]
    assert all(outcomes)
    assert not [one for one in outcomes if "internal error" in one]
    assert len(set(outcomes)) > 2
