"""The language of dimension rules (design, section 5): what an operation does to the dimensions of its tensors.

A rule names the dimensions of operands and results, `[*b, m, k] [k, n] -> [*b, m, n], k = reduction(sum),
linear(0, 1)`. A `Pattern` is a rule as written, with `*b` for any number of leading dimensions; `instantiate`
makes the `Rule` of one operation. Everything that asks how an operation may be sliced reads a `Rule`.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from functools import cached_property, lru_cache
from typing import Literal

from xdsl.context import Context
from xdsl.parser import AttrParser, Parser
from xdsl.utils.exceptions import ParseError

from coconet_ir.analysis.dist import Kind

Dim = tuple[str, ...]
"""The names whose product a dimension is, slowest first; mostly one."""

Shape = tuple[Dim, ...]
"""The dimensions of one tensor."""

REDUCTIONS = (Kind.SUM, Kind.PROD, Kind.MAX, Kind.MIN)
ANY_REDUCTION = frozenset(REDUCTIONS)


class RuleError(Exception):
    """A rule that cannot be: bad notation, or an attribute of the operation out of range."""


@dataclass(frozen=True)
class Whole:
    """Each rank needs the whole dimension."""


@dataclass(frozen=True)
class Reduction:
    """Results that lack the name are reduced over it; a slice of it gives `partial(kind)`."""

    kind: Kind


Role = Whole | Reduction
"""What a name is, when it is not parallel."""


@dataclass(frozen=True)
class Reducible:
    """A reducing collective takes, on each of its axes, `local` or `partial(kind)`; avg takes `local`."""

    kind: Kind


@dataclass(frozen=True)
class Sliced:
    """The operand is sliced by the axes, innermost, on `dim` (None: whichever dimension they cut)."""

    dim: int | None = None


@dataclass(frozen=True)
class Cuts:
    """The result is sliced by the axes, innermost, on `dim`, in units of `unit` elements."""

    dim: int
    unit: int = 1


@dataclass(frozen=True)
class Everywhere:
    """The axes replicate the tensor."""


@dataclass(frozen=True)
class Loose:
    """The tensor is `local` on the axes."""


@dataclass(frozen=True)
class Rooted:
    """The tensor is on these coordinates of the axes."""

    coordinates: tuple[int, ...]


@dataclass(frozen=True)
class Relaxable:
    """What `layout.relax` takes: replicated, or partial if it goes to local."""

    to_local: bool


@dataclass(frozen=True)
class Broadcastable:
    """What a broadcast takes: local, or the value on these coordinates."""

    coordinates: tuple[int, ...]


Takes = Reducible | Sliced | Everywhere | Loose | Relaxable | Broadcastable
Gives = Cuts | Everywhere | Loose | Rooted


@dataclass(frozen=True)
class Transition:
    """What an operation does to the layout along its own axes; its names say what holds for all others."""

    axes: tuple[str, ...]
    takes: Takes
    gives: Gives


@dataclass(frozen=True, eq=False)
class Rule:
    """How one operation treats the dimensions of its operands and results.

    `operands` and `results` have one entry a value, None for what is no tensor. Names without a role are
    parallel. `linear` operands may each be partial(sum) with the others replicated; for `joint` reductions
    all tensor operands may be partial together. Operands in `shape_only` give sizes, not data. `sizes` holds
    the static sizes of names that stand in products. A rule is compared by identity; patterns memoise.
    """

    operands: tuple[Shape | None, ...]
    results: tuple[Shape | None, ...]
    roles: tuple[tuple[str, Role], ...] = ()
    linear: frozenset[int] = frozenset()
    joint: frozenset[Kind] = frozenset()
    shape_only: frozenset[int] = frozenset()
    sizes: tuple[tuple[str, int], ...] = ()
    transition: Transition | None = None

    @cached_property
    def role(self) -> dict[str, Role]:
        """The role of each name that is not parallel."""
        return dict(self.roles)

    @cached_property
    def size(self) -> dict[str, int]:
        """The static size of each name in a product, where known."""
        return dict(self.sizes)

    @cached_property
    def data(self) -> tuple[int, ...]:
        """The operands that are tensors whose data is read."""
        shapes = enumerate(self.operands)
        return tuple(i for i, shape in shapes if shape is not None and i not in self.shape_only)

    @cached_property
    def free(self) -> frozenset[str]:
        """Names that stand only in results and may be sliced without needing anything of an operand."""
        bound = {name for i in self.data for factors in self.operands[i] or () for name in factors}
        free = {n for shape in self.results for factors in shape or () for n in factors}
        return frozenset(free - bound - self.role.keys())

    @cached_property
    def uniform(self) -> bool:
        """Whether all tensors have the same dimensions, as for operations on operands of equal type."""
        shapes = {self.operands[i] for i in self.data} | set(self.results)
        return len(self.data) > 1 and len(shapes) == 1

    def inner_size(self, factors: Dim) -> int | None:
        """The product of all factors but the first, in which a cut is made, or None when one is not static."""
        product = 1
        for name in factors[1:]:
            if (size := self.size.get(name)) is None:
                return None
            product *= max(size, 1)  # an empty product may be cut anywhere
        return product

    def __str__(self) -> str:
        return _text(self)


@dataclass(frozen=True)
class Pattern:
    """A rule as written, before the number of dimensions behind `*` is known. Prints as it parses."""

    operands: tuple[Shape | None, ...]
    results: tuple[Shape | None, ...]
    roles: tuple[tuple[str, Role], ...] = ()
    linear: frozenset[int] = field(default=frozenset())
    joint: frozenset[Kind] = field(default=frozenset())

    def __str__(self) -> str:
        return _text(self)

    def instantiate(
        self, ranks: tuple[int | None, ...], shape_only: frozenset[int] = frozenset()
    ) -> Rule:
        """The rule of an operation whose operands have these ranks (None: no tensor).

        Raises `RuleError` when the ranks do not fit the pattern.
        """
        return _instantiate(self, ranks, shape_only)


@lru_cache(maxsize=4096)
def _instantiate(
    pattern: Pattern, ranks: tuple[int | None, ...], shape_only: frozenset[int]
) -> Rule:
    if len(ranks) != len(pattern.operands):
        raise RuleError(
            f"its rule {pattern} has {len(pattern.operands)} operand(s), but the operation {len(ranks)}"
        )
    stars: dict[str, int] = {}
    for index, (shape, rank) in enumerate(zip(pattern.operands, ranks, strict=True)):
        if (shape is None) != (rank is None):
            what = "a scalar" if shape is None else "a tensor"
            raise RuleError(f"operand {index} must be {what}")
        if shape is None or rank is None:
            continue
        star = next((factors[0] for factors in shape if factors[0].startswith("*")), None)
        count = rank - len(shape) + (star is not None)
        if (
            count < 0
            or (star is None and count != 0)
            or stars.setdefault(star or "", count) != count
        ):
            raise RuleError(
                f"operand {index} must have the dimensions {_shape_text(shape)}, but it has {rank}"
            )

    def expand(shape: Shape | None) -> Shape | None:
        if shape is None:
            return None
        dims: list[Dim] = []
        for factors in shape:
            if factors[0].startswith("*"):
                dims += [(f"{factors[0][1:]}.{i}",) for i in range(stars[factors[0]])]
            else:
                dims.append(factors)
        return tuple(dims)

    return Rule(
        tuple(map(expand, pattern.operands)),
        tuple(map(expand, pattern.results)),
        pattern.roles,
        pattern.linear,
        pattern.joint,
        shape_only,
    )


def _text(rule: Rule | Pattern) -> str:
    shapes = (*map(_shape_text, rule.operands), "->", *map(_shape_text, rule.results))
    return f"{' '.join(shapes)}{_clauses(rule)}"


def _shape_text(shape: Shape | None) -> str:
    if shape is None:
        return "()"
    dims = (factors[0] if len(factors) == 1 else f"({' '.join(factors)})" for factors in shape)
    return f"[{', '.join(dims)}]"


def _clauses(rule: Rule | Pattern) -> str:
    rows = [
        f"{name} = {'whole' if isinstance(role, Whole) else f'reduction({role.kind})'}"
        for name, role in rule.roles
    ]
    if rule.linear:
        rows.append(f"linear({', '.join(map(str, sorted(rule.linear)))})")
    if rule.joint:
        rows.append(f"joint({', '.join(k for k in REDUCTIONS if k in rule.joint)})")
    return "".join(f", {row}" for row in rows)


@lru_cache(maxsize=1024)
def pattern(text: str) -> Pattern:
    """The rule that `text` states. Raises `RuleError` with what is wrong in it."""
    parser = Parser(Context(), text)
    try:
        found = parse_pattern(parser)
        if parser.pos < len(text.rstrip()):
            raise RuleError(f"something follows the rule in '{text}': '{text[parser.pos :]}'")
    except ParseError as error:
        raise RuleError(f"'{text}' is not a rule: {error.msg}") from error
    return found


def parse_pattern(parser: AttrParser) -> Pattern:
    """Parse `[..] [..] -> [..], name = role, linear(..), joint(..)`. Parse errors carry their position."""
    position = parser.pos
    operands: list[Shape | None] = []
    while (shape := _parse_shape(parser)) is not False:
        operands.append(shape)
    parser.parse_punctuation("->", " between the operands and results of a rule")
    results: list[Shape | None] = []
    while (shape := _parse_shape(parser)) is not False:
        results.append(shape)
    roles: dict[str, Role] = {}
    linear: set[int] = set()
    joint: set[Kind] = set()
    while parser.parse_optional_punctuation(",") is not None:
        _parse_clause(parser, roles, linear, joint)
    found = Pattern(
        tuple(operands), tuple(results), tuple(roles.items()), frozenset(linear), frozenset(joint)
    )
    if (problem := _problem(found)) is not None:
        parser.raise_error(problem, position)
    return found


def _parse_shape(parser: AttrParser) -> Shape | Literal[False] | None:
    if parser.parse_optional_punctuation("(") is not None:
        parser.parse_punctuation(")", " after ( : a scalar is written ()")
        return None
    dims = parser.parse_optional_comma_separated_list(
        parser.Delimiter.SQUARE, lambda: _parse_dim(parser)
    )
    return False if dims is None else tuple(dims)


def _parse_dim(parser: AttrParser) -> Dim:
    if parser.parse_optional_punctuation("*") is not None:
        return (f"*{_parse_name(parser)}",)
    if parser.parse_optional_punctuation("(") is None:
        return (_parse_name(parser),)
    names = [_parse_name(parser)]
    while parser.parse_optional_punctuation(")") is None:
        names.append(_parse_name(parser))
    return tuple(names)


def _parse_name(parser: AttrParser) -> str:
    position = parser.pos
    name = parser.parse_identifier()
    if "." in name or "$" in name:  # `*b` becomes b.0, b.1, …
        parser.raise_error(f"'{name}' is no name: letters, digits and _ only", position)
    return name


def _parse_clause(
    parser: AttrParser, roles: dict[str, Role], linear: set[int], joint: set[Kind]
) -> None:
    word = parser.parse_identifier()
    if word in ("linear", "joint") and parser.parse_optional_punctuation("(") is not None:
        if word == "linear":
            linear.add(parser.parse_integer(allow_boolean=False, allow_negative=False))
            while parser.parse_optional_punctuation(",") is not None:
                linear.add(parser.parse_integer(allow_boolean=False, allow_negative=False))
        else:
            joint.add(_parse_reduction(parser))
            while parser.parse_optional_punctuation(",") is not None:
                joint.add(_parse_reduction(parser))
        parser.parse_punctuation(")")
        return
    parser.parse_punctuation("=", " after a name of the rule")
    if word in roles:
        parser.raise_error(f"'{word}' has a role already")
    if parser.parse_optional_keyword("whole") is not None:
        roles[word] = Whole()
    elif parser.parse_optional_keyword("reduction") is not None:
        parser.parse_punctuation("(")
        roles[word] = Reduction(_parse_reduction(parser))
        parser.parse_punctuation(")")
    else:
        parser.raise_error("expected `whole` or `reduction(sum|prod|max|min)`")


def _parse_reduction(parser: AttrParser) -> Kind:
    for kind in REDUCTIONS:
        if parser.parse_optional_keyword(kind) is not None:
            return kind
    parser.raise_error("expected a reduction: sum, prod, max or min")


def _problem(found: Pattern) -> str | None:
    """What makes a pattern meaningless, or None."""
    if not found.results:
        return "a rule needs at least one result"
    roles = dict(found.roles)
    bound = {n for shape in found.operands for factors in shape or () for n in factors}
    given = {n for shape in found.results for factors in shape or () for n in factors}
    for name in roles:
        if name not in bound | given:
            return f"'{name}' has a role but names no dimension"
    for shape in (*found.operands, *found.results):
        here = [name for factors in shape or () for name in factors]
        if sum(name.startswith("*") for name in here) > 1:
            return "a shape has at most one `*` name"
        for name in here:
            if here.count(name) > 1 and not isinstance(roles.get(name), Whole):
                return f"'{name}' names two dimensions of one tensor: only a whole one may"
    for shape in found.results:
        here = {name for factors in shape or () for name in factors}
        for name in sorted(bound - here):
            if name.startswith("*"):
                return f"'{name}' is missing in a result: `*` dimensions stand in every result"
            if name not in roles:
                return f"'{name}' is missing in a result: it must be a reduction or whole"
    for name in sorted(given - bound):
        if name.startswith("*"):
            return f"'{name}' stands in a result only: its number of dimensions is unknown"
        if not isinstance(roles.get(name), Whole):
            return f"'{name}' stands in a result only: it must be whole, or no rank knows how much it has"
    for index in sorted(found.linear):
        if index >= len(found.operands) or found.operands[index] is None:
            return f"linear({index}) names no tensor operand"
    return None
