"""PTX as data (PTX ISA, sections 4 to 7). Names are unique in a function: those of inner scopes are renamed."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from typing import Literal, TypeAlias


@dataclass(frozen=True)
class Location:
    """A place in the source that PTX was made from, by `.loc`."""

    file: str
    line: int
    column: int
    within: Location | None = None
    """Where it was inlined."""

    @property
    def outermost(self) -> Location:
        """The call that the user wrote; itself if it was not inlined."""
        return self if self.within is None else self.within.outermost

    def __str__(self) -> str:
        return f"{self.file}:{self.line}:{self.column}"


@dataclass(frozen=True)
class Register:
    """A register of the function, or a special one: `%r1`, `%tid.x`."""

    name: str


@dataclass(frozen=True)
class Integer:
    """An integer constant, of 64 bits; negative ones as they are written."""

    value: int


@dataclass(frozen=True)
class Float:
    """A floating-point constant: `0f3F800000` (32 bits), `0d…` and decimal ones (64 bits)."""

    bits: int
    width: Literal[32, 64]


@dataclass(frozen=True)
class Symbol:
    """The name of a variable, a label or a function, and bytes behind it."""

    name: str
    offset: int = 0
    byte: int | None = None
    """Which byte of the address it is, as an initial value can be: `0xFF00(x)` is the second. None for all."""


@dataclass(frozen=True)
class Address:
    """`[%rd1+8]`, `[name+4]`, `[16]`; of a tensor `[%rd1, {%r1, %r2}]`."""

    base: Register | Symbol | Integer
    offset: int = 0
    coordinates: tuple[Operand, ...] = ()


@dataclass(frozen=True)
class Not:
    """`!%p1`."""

    register: Register


@dataclass(frozen=True)
class Sink:
    """`_`: a result that nobody takes."""


@dataclass(frozen=True)
class Vector:
    """`{%r1, %r2}`; of a call `(a, b)`."""

    items: tuple[Operand, ...]


@dataclass(frozen=True)
class Pair:
    """`%r1|%p1`: two results."""

    first: Register | Sink
    second: Register | Sink


Operand: TypeAlias = Register | Integer | Float | Symbol | Address | Not | Sink | Vector | Pair


def scalars(operand: Operand) -> Iterator[Operand]:
    """The operands that vectors and pairs are made of."""
    match operand:
        case Vector(items):
            for item in items:
                yield from scalars(item)
        case Pair(first, second):
            yield from (first, second)
        case _:
            yield operand


@dataclass(frozen=True)
class Guard:
    """`@%p1` or `@!%p1`: the predicate that decides whether an instruction is executed."""

    register: Register
    negated: bool


@dataclass(frozen=True)
class Instruction:
    """An instruction. `ld.global.v4.b32` is the opcode `ld` with the modifiers `global`, `v4`, `b32`."""

    opcode: str
    modifiers: tuple[str, ...]
    operands: tuple[Operand, ...]
    guard: Guard | None
    line: int
    """The line of the PTX text, from 1."""
    text: str
    """As it is written, without the guard and the semicolon."""
    location: Location | None = None


@dataclass(frozen=True)
class Label:
    """A place to branch to."""

    name: str
    line: int


@dataclass(frozen=True)
class Targets:
    """`name: .branchtargets a, b;`: what `brx.idx` chooses from."""

    name: str
    labels: tuple[str, ...]
    """Of `.calltargets` functions."""


@dataclass(frozen=True)
class Prototype:
    """`name: .callprototype (.param .b32 _) _ (.param .b64 _);`: what an indirect call passes and gives back."""

    name: str
    parameters: tuple[Variable, ...]
    results: tuple[Variable, ...]


Space: TypeAlias = Literal["reg", "param", "shared", "local", "global", "const"]


@dataclass(frozen=True)
class Variable:
    """A variable, or a parameter. `count` is 0 for an array without a size (`.extern .shared .b8 s[]`). Parameters
    of functions that are registers have the space `reg`."""

    name: str
    space: Space
    type: str
    count: int = 1
    align: int = 0
    """In bytes; 0 for the natural one."""
    initial: tuple[Integer | Float | Symbol, ...] = ()
    """The first elements; the others are zero. `generic(x)` and `x+4` are symbols. Floats have the type's width."""
    external: bool = False

    @property
    def bytes(self) -> int:
        """How many bytes it has."""
        return width(self.type) // 8 * self.count


@dataclass(frozen=True)
class Function:
    """A kernel (`.entry`) or a device function (`.func`)."""

    name: str
    kernel: bool
    parameters: tuple[Variable, ...]
    results: tuple[Variable, ...]
    registers: Mapping[str, str]
    """The types of registers by name, `%r1` to `b32`, also those of ranges `%r<5>`."""
    variables: tuple[Variable, ...]
    """Of the body: shared, local, and the parameters of calls."""
    body: tuple[Instruction | Label | Targets | Prototype, ...]
    directives: Mapping[str, tuple[int, ...]] = field(default_factory=dict[str, tuple[int, ...]])
    """`maxntid`, `reqntid`, `minnctapersm` and so on, without their dots."""
    line: int = 0
    declared: bool = False
    """It has no body here."""


@dataclass(frozen=True)
class Module:
    """A PTX file."""

    version: str
    target: str
    functions: Mapping[str, Function]
    variables: Mapping[str, Variable]


def width(type: str) -> int:
    """The bits of a type: `f16x2` has 32, `pred` 1. Raises `KeyError` for what is no type."""
    return _WIDTHS[type]


_WIDTHS = {
    "pred": 1,
    **{f"{kind}{bits}": bits for kind in "bsu" for bits in (8, 16, 32, 64)},
    **{"b128": 128, "f16": 16, "bf16": 16, "f32": 32, "f64": 64, "tf32": 32},
    **{"f16x2": 32, "bf16x2": 32, "u16x2": 32, "s16x2": 32, "f32x2": 64},
    **{"e4m3": 8, "e5m2": 8, "e4m3x2": 16, "e5m2x2": 16},
}
