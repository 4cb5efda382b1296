"""Whether an operation computes what its dimension rule says, found out by running it on small tensors (design, 5).

`violations` tries whatever the rule lets one axis do to the operands: slice a name, or leave one operand or all of
them to be reduced. It runs the operation on each rank's part, puts the results together as the rule says, and
compares with the operation on the whole tensors. What a rule forbids is not tried: it may be stricter than it need.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Literal

import numpy as np

from coconet_ir.analysis.dist import (
    REPLICATED,
    Cut,
    Dist,
    Kind,
    LayoutError,
    Partial,
    block_bounds,
)
from coconet_ir.analysis.inference import accepts, propagate
from coconet_ir.analysis.notation import REDUCTIONS, Dim, Reduction, Rule
from coconet_ir.analysis.notation import Shape as NamedShape
from coconet_ir.schedule.remarks import Refused
from coconet_ir.sim.elements import I1, Array, DType, float_limits, is_float, same_bits
from coconet_ir.sim.mesh import Region, Shape, slices

AXIS = "a"
RANKS = (2, 3)
TELLING_SIZES = (5, 6, 1, 0, 3, 4)
"""Sizes of the name that is sliced: uneven, even, less than the ranks, none; with the last all names have one size."""

OTHER_SIZES = (3, 2, 4)
"""Sizes of the other names, in turn, so that neighbours differ."""

Style = Literal["reals", "integers", "positive"]
"""Random operands: any numbers, small ones that add exactly, small ones of one sign."""


class CannotEvaluate(Exception):
    """The operation has no result for these operands; the message says why."""


@dataclass(frozen=True)
class Part:
    """What one evaluation is about: regions of the whole tensors, None for what is no tensor.

    The region of a result is None too where only the data tells its size.
    """

    shapes: tuple[Shape | None, ...]
    """The whole shapes of the operands."""
    operands: tuple[Region | None, ...]
    results: tuple[Region | None, ...]


Evaluate = Callable[[Sequence[Array], Part], Sequence[Array]]
"""The results of one rank; raises `CannotEvaluate`."""


@dataclass(frozen=True)
class Subject:
    """A rule and the operation that it is about."""

    rule: Rule
    dtypes: tuple[DType, ...]
    """The element type of each operand."""
    evaluate: Evaluate
    sizes: Mapping[str, int] = field(default_factory=dict[str, int])
    """Names that have one size only."""
    bit_equal: bool = True
    """Whether slicing a parallel name must not change a bit; else a few roundings are forgiven."""
    budget: int = 1 << 30
    """How many evaluations may be spent beyond one try of each claim."""


@dataclass(frozen=True)
class Violation:
    """Something that a rule claims and the operation does not do."""

    claim: str
    """`m`, a name; or `linear(0)`, `joint(sum)`."""
    message: str


@dataclass(frozen=True)
class _Claim:
    """Layouts over one axis that the rule accepts. Those of operands say what the ranks are given."""

    label: str
    text: str
    name: str | None
    operands: tuple[Dist, ...]
    results: tuple[Dist, ...]

    @property
    def exact(self) -> bool:
        """Whether nothing is added in another order, so that no bit may change."""
        return not any(dist.states for dist in (*self.operands, *self.results))


@dataclass(frozen=True)
class _Trial:
    """One way to put a claim to the test."""

    claim: _Claim
    sizes: Mapping[str, int]
    ranks: int
    style: Style
    seed: int


def violations(subject: Subject) -> list[Violation]:
    """What the operation does otherwise than its rule says, one violation a claim at most.

    Raises `CannotEvaluate` when the operation has a result for none of the operands tried.
    """
    claims = list(_claims(subject.rule))
    found: dict[str, Violation] = {}
    problem: CannotEvaluate | None = None
    worked, spent = False, 0
    for number, trials in enumerate(
        zip(*(_trials(subject, claim) for claim in claims), strict=True)
    ):
        if number and spent >= subject.budget:
            break
        for trial in trials:
            if trial.claim.label in found:
                continue
            spent += 1 + trial.ranks
            try:
                message = _try(subject, trial)
            except CannotEvaluate as error:
                problem = problem or error
                continue
            worked = True
            if message is not None:
                found[trial.claim.label] = Violation(trial.claim.label, message)
    if claims and not worked and problem is not None:
        raise problem
    return list(found.values())


def _claims(rule: Rule) -> Iterator[_Claim]:
    """Whatever the rule accepts along one axis, whose operands are otherwise replicated."""
    dims = [factors for i in rule.data for factors in rule.operands[i] or ()]
    products = {
        n for shape in (*rule.operands, *rule.results) for f in shape or () if len(f) > 1 for n in f
    }
    for name in dict.fromkeys(name for factors in dims for name in factors):
        for unit in (1, 2) if name in products else (1,):
            operands = tuple(_sliced(rule, shape, name, unit) for shape in rule.operands)
            if not any(operands[i] for i in rule.data):
                continue
            text = _role_text(rule, name) + (f" in units of {unit}" if unit > 1 else "")
            yield from _accepted(rule, name, text, operands, name)
    for name in sorted(rule.free):
        results = tuple(_sliced(rule, shape, name, 1) for shape in rule.results)
        if accepts(rule, (REPLICATED,) * len(results), results) is None:
            whole = (REPLICATED,) * len(rule.operands)
            yield _Claim(name, f"'{name}' is not parallel", name, whole, results)
    for kind in REDUCTIONS:
        partial = Dist.of((), [(AXIS, Partial(kind))])
        if len(rule.data) > 1:
            dists = tuple(
                partial if i in rule.data else REPLICATED for i in range(len(rule.operands))
            )
            text = f"the operation is not jointly linear for {kind}"
            yield from _accepted(rule, f"joint({kind})", text, dists, None)
        for index in rule.data:
            dists = tuple(partial if i == index else REPLICATED for i in range(len(rule.operands)))
            label = f"linear({index})" if len(rule.data) > 1 else f"joint({kind})"
            text = f"the operation is not linear for {kind} in operand {index}"
            yield from _accepted(rule, label, text, dists, None)


def _accepted(
    rule: Rule, label: str, text: str, operands: tuple[Dist, ...], name: str | None
) -> Iterator[_Claim]:
    try:
        yield _Claim(label, text, name, operands, propagate(rule, operands))
    except Refused:
        return


def _role_text(rule: Rule, name: str) -> str:
    role = rule.role.get(name)
    if isinstance(role, Reduction):
        return f"'{name}' is no reduction({role.kind})"
    return f"'{name}' is not parallel"


def _sliced(rule: Rule, shape: NamedShape | None, name: str, unit: int) -> Dist:
    """The layout of a tensor whose dimensions that start with `name` are cut."""
    cuts: list[Cut] = []
    for dim, factors in enumerate(shape or ()):
        if factors[0] == name and (inner := rule.inner_size(factors)) is not None:
            cuts.append(Cut((AXIS,), dim, unit * inner))
    try:
        return Dist.of(cuts)
    except LayoutError:  # the name stands twice in one tensor, where it cannot be sliced
        return REPLICATED


def _trials(subject: Subject, claim: _Claim) -> Iterator[_Trial]:
    """Tests of a claim, the most telling first; as many for each claim."""
    names = _names(subject.rule)
    styles: tuple[Style, Style] = ("reals", "positive") if claim.exact else ("integers", "positive")
    for number, size in enumerate(TELLING_SIZES):
        sizes = {n: OTHER_SIZES[(i + number) % len(OTHER_SIZES)] for i, n in enumerate(names)}
        if claim.name is not None:
            sizes[claim.name] = size
        if number == len(TELLING_SIZES) - 1:
            sizes = dict.fromkeys(sizes, size)
        sizes |= {name: found for name, found in subject.rule.sizes if name != claim.name}
        sizes |= subject.sizes
        for turn, ranks in enumerate(RANKS):
            yield _Trial(claim, sizes, ranks, styles[(number + turn) % 2], number)


def _names(rule: Rule) -> list[str]:
    """The names whose size can be chosen: those of operands, and result-only ones that ranks may slice."""
    found = {n: None for shape in rule.operands for factors in shape or () for n in factors}
    return [*found, *sorted(rule.free - found.keys())]


def _shape(named: NamedShape | None, sizes: Mapping[str, int]) -> Shape | None:
    """The shape of a tensor, None for a scalar and when a size is not known."""
    if named is None or any(name not in sizes for factors in named for name in factors):
        return None
    return tuple(_product(factors, sizes) for factors in named)


def _product(factors: Dim, sizes: Mapping[str, int]) -> int:
    product = 1
    for name in factors:
        product *= sizes[name]
    return product


def _try(subject: Subject, trial: _Trial) -> str | None:
    """Run one trial; the violation that it shows, or None. Raises `CannotEvaluate` if there is nothing to compare."""
    rule, claim = subject.rule, trial.claim
    rng = np.random.default_rng(trial.seed)
    shapes = tuple(_shape(named, trial.sizes) for named in rule.operands)
    given = [
        _given(rng, dtype, shape or (), dist, trial)
        for dtype, shape, dist in zip(subject.dtypes, shapes, claim.operands, strict=True)
    ]
    wholes = [
        terms[0] if len(terms) == 1 else _reduced(_kind(claim.operands), terms) for terms in given
    ]
    named = tuple(_shape(result, trial.sizes) for result in rule.results)
    whole = subject.evaluate(wholes, Part(shapes, _all_of(shapes), _all_of(named)))
    for index, (array, wanted) in enumerate(zip(whole, named, strict=True)):
        if wanted is not None and array.shape != wanted:
            return (
                f"result {index} has the wrong shape: with operands {_shapes_text(shapes)} it is "
                f"{_shape_text(array.shape)}, where the names of its dimensions make it {_shape_text(wanted)}"
            )
    where = f"with operands {_shapes_text(shapes)} on {trial.ranks} ranks"
    rows: list[Sequence[Array]] = []
    for rank in range(trial.ranks):
        part = _part(claim, shapes, [array.shape for array in whole], named, trial.ranks, rank)
        arrays = [
            np.asarray(terms[rank % len(terms)][slices(region or ())])
            for terms, region in zip(given, part.operands, strict=True)
        ]
        try:
            rows.append(subject.evaluate(arrays, part))
        except CannotEvaluate as error:
            return f"{claim.text}: {where}, rank {rank} cannot work on its part: {error}"
    for index, want in enumerate(whole):
        parts = [row[index] for row in rows]
        problem = _compare(claim.results[index], parts, want, subject.bit_equal and claim.exact)
        if problem is not None:
            result = f"result {index}" if len(whole) > 1 else "the result"
            return f"{claim.text}: {where}, {problem.replace('the result', result)}"
    return None


def _kind(dists: Sequence[Dist]) -> Kind:
    """The reduction for which operands are partial."""
    return next(kind for dist in dists if (kind := dist.partial_kind) is not None)


def _given(
    rng: np.random.Generator, dtype: DType, shape: Shape, dist: Dist, trial: _Trial
) -> list[Array]:
    """One random array, or one a rank whose reduction is meant."""
    count = trial.ranks if dist.has(Partial) else 1
    return [_values(rng, dtype, shape, trial.style) for _ in range(count)]


def _values(rng: np.random.Generator, dtype: DType, shape: Shape, style: Style) -> Array:
    if dtype == I1:
        return rng.integers(0, 2, shape).astype(I1)
    if style == "reals" and is_float(dtype):
        return (3 * rng.standard_normal(shape)).astype(dtype)
    numbers = rng.integers(1, 4, shape)
    if style != "positive":
        numbers *= rng.choice((-1, 1), shape)
    return numbers.astype(dtype)


def _all_of(shapes: Sequence[Shape | None]) -> tuple[Region | None, ...]:
    return tuple(None if shape is None else tuple((0, size) for size in shape) for shape in shapes)


def _part(
    claim: _Claim,
    shapes: tuple[Shape | None, ...],
    results: Sequence[Shape],
    named: Sequence[Shape | None],
    ranks: int,
    rank: int,
) -> Part:
    """What one rank works on."""
    return Part(
        shapes,
        tuple(
            None if shape is None else _region(dist, shape, ranks, rank)
            for dist, shape in zip(claim.operands, shapes, strict=True)
        ),
        tuple(
            None if known is None else _region(dist, shape, ranks, rank)
            for dist, shape, known in zip(claim.results, results, named, strict=True)
        ),
    )


def _region(dist: Dist, shape: Shape, ranks: int, rank: int) -> Region:
    region = [(0, size) for size in shape]
    for cut in dist.cuts:
        region[cut.dim] = block_bounds(shape[cut.dim], [ranks], [rank], cut.unit)
    return tuple(region)


def _compare(dist: Dist, parts: Sequence[Array], want: Array, exact: bool) -> str | None:
    """How the ranks' results, which lie as `dist` says, differ from the whole result, or None."""
    regions = [_region(dist, want.shape, len(parts), rank) for rank in range(len(parts))]
    for rank, (part, region) in enumerate(zip(parts, regions, strict=True)):
        extents = tuple(stop - start for start, stop in region)
        if part.shape != extents:
            return (
                f"rank {rank} makes {_shape_text(part.shape)} of the result, where its block is "
                f"{_shape_text(extents)}"
            )
    if (kind := dist.partial_kind) is not None:
        scale = max((_size(part) for part in parts), default=0.0)
        return _difference(
            _reduced(kind, parts), want, exact, scale, f"the {kind} of the ranks' results"
        )
    if not dist.cuts:
        for rank, part in enumerate(parts):
            if problem := _difference(
                part, want, exact, 0.0, f"what rank {rank} makes of the result"
            ):
                return problem
        return None
    if sum(part.size for part in parts) != want.size:
        return (
            f"the ranks make {sum(p.size for p in parts)} of the {want.size} elements of the result"
        )
    together = np.empty(want.shape, want.dtype)
    for part, region in zip(parts, regions, strict=True):
        together[slices(region)] = part
    return _difference(together, want, exact, 0.0, "the result put together from the ranks' blocks")


def _difference(found: Array, want: Array, exact: bool, scale: float, what: str) -> str | None:
    if same_bits(found, want):
        return None
    if exact or not is_float(want.dtype):
        wrong = ~_equal(found, want)
    else:
        eps = float(float_limits(want.dtype).eps)
        # Many roundings in wide types; in narrow ones so few that wrong rules still show.
        error = max(8 * eps, min(256 * eps, 1e-3)) * max(scale, _size(want))
        with np.errstate(all="ignore"):
            near = np.abs(found.astype(np.float64) - want.astype(np.float64)) <= error
        # Infinite parts of opposite signs add to no number, whatever the whole is.
        wrong = ~(near | _equal(found, want) | np.isnan(found))
    if not wrong.any():
        return None
    place = tuple(int(i) for i in np.argwhere(wrong)[0])
    at = f" at {list(place)}" if place else ""
    return f"{what} is {found[place]}{at}, but the whole operation gives {want[place]}"


def _equal(one: Array, other: Array) -> Array:
    if not is_float(one.dtype):
        return one == other
    return (one == other) & (np.signbit(one) == np.signbit(other)) | np.isnan(one) & np.isnan(other)


def _size(array: Array) -> float:
    """The largest finite magnitude in an array."""
    values = np.abs(array.astype(np.float64))
    return float(np.max(values, where=np.isfinite(values), initial=0.0))


def _reduced(kind: Kind, terms: Sequence[Array]) -> Array:
    functions = {
        Kind.SUM: np.add,
        Kind.PROD: np.multiply,
        Kind.MAX: np.maximum,
        Kind.MIN: np.minimum,
    }
    total = terms[0]
    with np.errstate(all="ignore"):
        for term in terms[1:]:
            total = np.asarray(functions[kind](total, term)).astype(term.dtype, copy=False)
    return total


def _shape_text(shape: Shape) -> str:
    return "x".join(map(str, shape)) or "0-d"


def _shapes_text(shapes: Sequence[Shape | None]) -> str:
    return (
        ", ".join("scalar" if shape is None else _shape_text(shape) for shape in shapes) or "none"
    )
