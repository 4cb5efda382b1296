"""From a rule and the operands' layouts to the results' layouts (design, section 5), and back.

`propagate` says what the results are, or raises `Refused`. `align` says how replicated operands would have to be
sliced or relaxed so that `propagate` accepts. Neither knows any operation; verification, inference of un-encoded
programs, slicing and reorder all call these two.
"""

from __future__ import annotations

from collections.abc import Sequence
from functools import lru_cache

from coconet_ir.analysis.dist import (
    REPLICATED,
    Cut,
    Dist,
    Kind,
    LayoutError,
    Local,
    Partial,
    Root,
    State,
)
from coconet_ir.analysis.notation import (
    Broadcastable,
    Cuts,
    Everywhere,
    Gives,
    Loose,
    Reducible,
    Reduction,
    Relaxable,
    Rooted,
    Rule,
    Shape,
    Sliced,
    Takes,
    Whole,
)
from coconet_ir.schedule.remarks import Reason, Refused

NameCut = tuple[tuple[str, ...], int]
"""The axes that cut a name, outer first, and the unit in elements of the name."""


@lru_cache(maxsize=8192)
def propagate(rule: Rule, dists: tuple[Dist, ...]) -> tuple[Dist, ...]:
    """The layouts of the results, given one layout an operand (that of a scalar is ignored).

    Names that stand in results only stay unsliced. Raises `Refused` when the rule does not allow the
    operands' layouts.
    """
    move = rule.transition
    if move is not None:
        source = rule.data[0]
        inner = _take(dists[source], move.axes, move.takes)
        dists = (*dists[:source], inner, *dists[source + 1 :])
    cuts = _cuts_of_names(rule, dists)
    states = _states(rule, dists, {axis for axes, _ in cuts.values() for axis in axes})
    _check_every_operand(rule, dists, cuts)
    results = tuple(_result(rule, shape, cuts, states) for shape in rule.results)
    if move is not None:
        results = tuple(_give(result, move.axes, move.gives) for result in results)
    return results


@lru_cache(maxsize=8192)
def align(rule: Rule, dists: tuple[Dist, ...]) -> tuple[Dist, ...]:
    """The layouts that the operands need: `dists` with replicated operands sliced, or relaxed, to fit the others.

    Raises `Refused` when slicing and relaxing replicated operands is not enough.
    """
    if rule.transition is not None:
        propagate(rule, dists)
        return dists
    cuts = _cuts_of_names(rule, dists)
    wanted = list(dists)
    for index in rule.data:
        for dim, factors in enumerate(rule.operands[index] or ()):
            if factors[0] in cuts:
                axes, unit = cuts[factors[0]]
                have = dists[index].by_dim.get(dim)
                missing = axes[len(have.axes) if have else 0 :]
                if missing:
                    scale = _inner(rule, factors)
                    wanted[index] = _try_cut(wanted[index], missing, dim, unit * scale)
    if rule.uniform:
        states = {a: s for i in rule.data for a, s in dists[i].states if not isinstance(s, Partial)}
        for index in rule.data:
            taken = wanted[index].by_axis
            loose = [(axis, state) for axis, state in states.items() if axis not in taken]
            wanted[index] = wanted[index].with_states(loose)
    propagate(rule, tuple(wanted))
    return tuple(wanted)


@lru_cache(maxsize=8192)
def withdraw(rule: Rule, dists: tuple[Dist, ...], result: Dist) -> tuple[Dist, ...]:
    """The layouts that operands need so that the one result, now less sliced, comes out as `result`.

    Raises `Refused` when slicing replicated operands is not enough.
    """
    if len(rule.results) != 1 or (shape := rule.results[0]) is None:
        raise Refused(
            Reason.SCALAR_RESULT, "only an operation with one tensor as its result is sliced"
        )
    before = propagate(rule, dists)[0]
    wanted = list(dists)
    for cut in result.cuts:
        factors = shape[cut.dim]
        have = before.by_dim.get(cut.dim)
        missing = cut.axes[len(have.axes) if have else 0 :]
        unit, rest = divmod(cut.unit, _inner(rule, factors))
        if rest:
            raise Refused(
                Reason.UNIT_NOT_STATIC,
                f"units of {cut.unit} do not keep whole rows of ({' '.join(factors[1:])})",
            )
        for index in rule.data if missing and factors[0] not in rule.free else ():
            for dim, names in enumerate(rule.operands[index] or ()):
                if names[0] == factors[0]:
                    scale = unit * _inner(rule, names)
                    wanted[index] = _try_cut(wanted[index], missing, dim, scale)
    if accepts(rule, propagate(rule, tuple(wanted)), (result,)) is not None:
        raise Refused(Reason.LAYOUT_CONFLICT, f"its result cannot be made {result}")
    return tuple(wanted)


def accepts(rule: Rule, expected: Sequence[Dist], actual: Sequence[Dist]) -> int | None:
    """The index of the first result whose actual layout is not one that `propagate`'s answer allows, or None.

    Beyond the expected layout, dimensions whose names stand in results only may be cut by axes that
    replicate the result, and the result of an operation that reads no tensor may be local or on a root: every
    rank can make its own part.
    """
    for index, shape in enumerate(rule.results):
        if shape is None or expected[index] == actual[index]:
            continue
        kept = tuple(cut for cut in actual[index].cuts if shape[cut.dim][0] not in rule.free)
        if not rule.data and not kept and not actual[index].has(Partial):
            continue
        if Dist(kept, actual[index].states) != expected[index]:
            return index
    return None


def _cuts_of_names(rule: Rule, dists: Sequence[Dist]) -> dict[str, NameCut]:
    """How each sliced name is cut: the longest list of axes that an operand has for it."""
    cuts: dict[str, NameCut] = {}
    owner: dict[str, str] = {}
    for index in rule.data:
        shape = rule.operands[index] or ()
        for cut in dists[index].cuts:
            factors = shape[cut.dim]
            name, inner = factors[0], _inner(rule, factors)
            if cut.unit % inner:
                raise Refused(
                    Reason.UNIT_NOT_STATIC,
                    f"dimension {cut.dim} of operand {index} is the product ({' '.join(factors)}) and is "
                    f"sliced in units of {cut.unit}; only multiples of {inner} keep whole rows of "
                    f"({' '.join(factors[1:])}): slice it with unit {inner}",
                )
            here = (cut.axes, cut.unit // inner)
            there = cuts.setdefault(name, here)
            if here[1] != there[1] or not _prefix(here[0], there[0]):
                raise Refused(
                    Reason.LAYOUT_CONFLICT,
                    f"dimension '{name}' is sliced by {_by(there)} in one operand and by {_by(here)} in "
                    f"operand {index}; every operand that has it must be sliced alike",
                )
            cuts[name] = max(here, there, key=lambda entry: len(entry[0]))
            for axis in cut.axes:
                if owner.setdefault(axis, name) != name:
                    raise Refused(
                        Reason.LAYOUT_CONFLICT,
                        f"axis '{axis}' slices both '{owner[axis]}' and '{name}'; an axis can slice one "
                        "dimension of an operation: gather one of the operands first",
                    )
    for name in cuts:
        if isinstance(rule.role.get(name), Whole):
            raise Refused(
                Reason.WHOLE_DIMENSION,
                f"dimension '{name}' is needed whole, but is sliced by {_by(cuts[name])}: gather it first",
            )
    return cuts


def _prefix(one: tuple[str, ...], other: tuple[str, ...]) -> bool:
    short = min(len(one), len(other))
    return one[:short] == other[:short]


def _by(cut: NameCut) -> str:
    axes, unit = cut
    return f"[{', '.join(axes)}]" + (f" in units of {unit}" if unit != 1 else "")


def _inner(rule: Rule, factors: tuple[str, ...]) -> int:
    if (inner := rule.inner_size(factors)) is None:
        raise Refused(
            Reason.UNIT_NOT_STATIC,
            f"the product ({' '.join(factors)}) is sliced, but the sizes of ({' '.join(factors[1:])}) are "
            "not all static: only static ones can be sliced through",
        )
    return inner


def _check_every_operand(rule: Rule, dists: Sequence[Dist], cuts: dict[str, NameCut]) -> None:
    """Every operand that has a sliced name must be sliced alike."""
    for index in rule.data:
        for dim, factors in enumerate(rule.operands[index] or ()):
            for place, name in enumerate(factors):
                if name not in cuts:
                    continue
                if place:
                    raise Refused(
                        Reason.NOT_FIRST_FACTOR,
                        f"dimension {dim} of operand {index} is the product ({' '.join(factors)}); of a "
                        f"product only the first factor can be sliced, not '{name}'",
                    )
                have = dists[index].by_dim.get(dim)
                if have is None or have.axes != cuts[name][0]:
                    raise Refused(
                        Reason.LAYOUT_CONFLICT,
                        f"dimension '{name}' is sliced by {_by(cuts[name])} in one operand, but not in "
                        f"dimension {dim} of operand {index}: slice that one too (layout.slice), or gather",
                    )


def _states(rule: Rule, dists: Sequence[Dist], cut_axes: set[str]) -> dict[str, State]:
    """The local, partial or root state that each axis gives to every result."""
    found: dict[str, State] = {}
    for index in rule.data:
        for axis, state in dists[index].states:
            if axis in cut_axes:
                reduce = ", or reduce_scatter this one" if isinstance(state, Partial) else ""
                raise Refused(
                    Reason.LAYOUT_CONFLICT,
                    f"axis '{axis}' slices one operand and is {state} in operand {index}; sliced does not "
                    f"combine with local, partial or root: gather the sliced one first{reduce}",
                )
            other = found.setdefault(axis, state)
            if other != state:
                raise Refused(
                    Reason.NEEDS_REDUCTION
                    if isinstance(state, Partial) or isinstance(other, Partial)
                    else Reason.LAYOUT_CONFLICT,
                    f"axis '{axis}' is {other} in one operand and {state} in operand {index}"
                    + _lift(axis, state, other),
                )
    for axis, state in found.items():
        if isinstance(state, Partial):
            _check_partial(rule, dists, axis, state.kind)
    return found


def _lift(axis: str, *states: State) -> str:
    if any(isinstance(state, Partial) for state in states):
        return f": reduce it first, or say that the unreduced values are meant (layout.relax … over [{axis}])"
    return ""


def _check_partial(rule: Rule, dists: Sequence[Dist], axis: str, kind: Kind) -> None:
    """An axis may be partial where the rule is linear in it."""
    holders = [i for i in rule.data if axis in dists[i].by_axis]
    if kind in rule.joint and len(holders) == len(rule.data):
        return
    if kind is Kind.SUM and len(holders) == 1 and holders[0] in rule.linear:
        return
    rest = "" if len(holders) == len(rule.data) else " with the other operands replicated"
    raise Refused(
        Reason.NEEDS_REDUCTION,
        f"operand {holders[0]} is partial({kind}) on axis '{axis}', and the operation is not linear in "
        f"it{rest}{_lift(axis, Partial(kind))}",
    )


def _result(
    rule: Rule, shape: Shape | None, cuts: dict[str, NameCut], states: dict[str, State]
) -> Dist:
    if shape is None:
        if cuts or states:
            raise Refused(
                Reason.SCALAR_RESULT,
                "scalars are replicated, so the tensor must be replicated on every axis: gather or reduce "
                "it first",
            )
        return REPLICATED
    entries: list[Cut] = []
    partial = dict(states)
    for name, (axes, unit) in cuts.items():
        for dim, factors in enumerate(shape):
            if factors[0] == name:
                entries.append(Cut(axes, dim, unit * _inner(rule, factors)))
                break
            if name in factors:
                raise Refused(
                    Reason.NOT_FIRST_FACTOR,
                    f"'{name}' is sliced and would be an inner factor of the product "
                    f"({' '.join(factors)}) in the result: gather it first",
                )
        else:
            role = rule.role.get(name)
            if not isinstance(role, Reduction):
                raise Refused(
                    Reason.WHOLE_DIMENSION, f"dimension '{name}' is needed whole: gather it first"
                )
            partial.update((axis, Partial(role.kind)) for axis in axes)
    try:
        return Dist.of(entries, partial.items())
    except LayoutError as error:
        raise Refused(Reason.NEEDS_REDUCTION, f"the result's layout cannot be: {error}") from error


def _try_cut(dist: Dist, axes: Sequence[str], dim: int, unit: int) -> Dist:
    try:
        return dist.append_cut(axes, dim, unit)
    except LayoutError as error:
        raise Refused(Reason.LAYOUT_CONFLICT, str(error)) from error


def _take(dist: Dist, axes: tuple[str, ...], takes: Takes) -> Dist:
    """The operand's layout on the other axes, once its states on `axes` are seen to be what is taken."""
    if isinstance(takes, Sliced):
        try:
            return dist.drop_cut(axes, takes.dim)[0]
        except LayoutError as error:
            raise Refused(Reason.LAYOUT_CONFLICT, str(error)) from error
    for place, axis in enumerate(axes):
        entry = dist.by_axis.get(axis)
        if not _fits(takes, entry, place):
            have = (
                "replicated" if entry is None else entry.state if isinstance(entry, Cut) else entry
            )
            raise Refused(
                Reason.OWN_AXES,
                f"axis '{axis}' is {have} in the operand, but {_needs(takes, place)}: {_fix(takes, entry)}",
            )
    return dist.without(axes)


def _fits(takes: Takes, entry: Cut | State | None, place: int) -> bool:
    match takes:
        case Reducible(kind):
            if isinstance(entry, Local):
                return True
            return isinstance(entry, Partial) and entry.kind is kind and kind is not Kind.AVG
        case Everywhere():
            return entry is None
        case Loose():
            return isinstance(entry, Local)
        case Relaxable(to_local):
            return entry is None or (to_local and isinstance(entry, Partial))
        case Broadcastable(coordinates):
            return isinstance(entry, Local) or entry == Root(coordinates[place])
        case Sliced():
            return False


def _needs(takes: Takes, place: int) -> str:
    match takes:
        case Reducible(Kind.AVG):
            return "an avg over it needs local"
        case Reducible(kind):
            return f"a {kind} over it needs local or partial({kind})"
        case Everywhere():
            return "it must be replicated there"
        case Loose():
            return "it must be local there"
        case Relaxable(True):
            return "only a replicated or partial value can be relaxed to local"
        case Relaxable(_):
            return "only a replicated value can be relaxed to root"
        case Broadcastable(coordinates):
            return f"a broadcast needs local or root({coordinates[place]})"
        case Sliced():
            return "it must be sliced there"


def _fix(takes: Takes, entry: Cut | State | None) -> str:
    """What would make an operand that is `entry` along an axis one that is taken."""
    match entry:
        case None if isinstance(takes, Broadcastable):
            return "every rank has it already"
        case None if isinstance(takes, Reducible):
            return "every rank has the same, which would count once a rank (layout.relax, if that is meant)"
        case None:
            return "use layout.relax first"
        case Cut():
            return "gather it first"
        case Partial(kind) if isinstance(takes, Everywhere | Relaxable):
            return f"reduce it by {kind} first"
        case Root(coordinate):
            return f"broadcast it from {coordinate} first"
        case Partial(kind):
            return (
                f"reduce it by {kind} first, or use layout.relax if the unreduced values are meant"
            )
        case Local():
            return "reduce it or broadcast it first"


def _give(dist: Dist, axes: tuple[str, ...], gives: Gives) -> Dist:
    """The result's layout: `dist` on the other axes, and what is given on `axes`."""
    try:
        match gives:
            case Everywhere():
                return dist
            case Loose():
                return dist.with_states((axis, Local()) for axis in axes)
            case Rooted(coordinates):
                return dist.with_states(zip(axes, map(Root, coordinates), strict=True))
            case Cuts(dim, unit):
                return dist.append_cut(axes, dim, unit)
    except LayoutError as error:
        raise Refused(Reason.UNIT_CONFLICT, str(error)) from error
