"""Layouts that rules must refuse, each unsound or undefined, and how replicated operands are aligned."""

from __future__ import annotations

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from xdsl.parser import Parser

from coconet_ir.analysis.dist import REPLICATED, Cut, Dist, Kind, Local, Partial, Root, State
from coconet_ir.analysis.inference import accepts, align, propagate, withdraw
from coconet_ir.analysis.notation import Rule, pattern
from coconet_ir.dialects.attributes import DistAttr
from coconet_ir.frontend import make_context
from coconet_ir.schedule.remarks import Reason, Refused

MATMUL = "[m, k] [k, n] -> [m, n], k = reduction(sum), linear(0, 1)"
ADD = "[m, n] [m, n] -> [m, n], joint(sum)"
MUL = "[m, n] [m, n] -> [m, n], joint(prod)"
MAX = "[m, n] [m, n] -> [m, n], joint(max)"
DIV = "[m, n] [m, n] -> [m, n]"
SQRT = "[m, n] -> [m, n]"
NORM = "[m, n] -> [m], n = whole"
MEAN = "[m, n] -> [m], n = whole, joint(sum)"
SUM = "[m, n] -> [m], n = reduction(sum), joint(sum)"
TOP = "[m, n] -> [m], n = reduction(max), joint(max)"
DOT = "[n] [n] -> [], n = reduction(sum), linear(0, 1)"
TRANSPOSE = "[m, n] -> [n, m], joint(sum, prod, max, min)"
SEGMENTS = "[n] [o] -> [t], n = reduction(sum), o = whole, t = whole, linear(0)"
EXTRACT = "[m, n] -> (), m = whole, n = whole"
CONTEXT = make_context()


def layout(text: str) -> Dist:
    """The layout between `<` and `>`, replicated if there is nothing."""
    if not text:
        return REPLICATED
    found = Parser(CONTEXT, f"#layout.dist<{text}>").parse_attribute()
    assert isinstance(found, DistAttr)
    return found.data


def rule(text: str, sizes: dict[str, int] | None = None) -> Rule:
    made = pattern(text)
    return Rule(
        made.operands,
        made.results,
        made.roles,
        made.linear,
        made.joint,
        sizes=tuple((sizes or {}).items()),
    )


def dists(text: str) -> tuple[Dist, ...]:
    """One layout an operand, separated by `;`."""
    return tuple(layout(part.strip()) for part in text.split(";"))


@pytest.mark.parametrize(
    ("text", "operands", "reason", "message"),
    [
        # A reduction that is still to be done
        (ADD, "a = partial(sum);", Reason.NEEDS_REDUCTION, "with the other operands replicated"),
        (ADD, "a = partial(sum); a = local", Reason.NEEDS_REDUCTION, "reduce it first"),
        (ADD, "a = partial(sum); a = root(0)", Reason.NEEDS_REDUCTION, "reduce it first"),
        (ADD, "a = partial(sum); b = partial(sum)", Reason.NEEDS_REDUCTION, "reduce it first"),
        (ADD, "a = partial(sum); a = partial(max)", Reason.NEEDS_REDUCTION, "reduce it first"),
        (ADD, "a = partial(max); a = partial(max)", Reason.NEEDS_REDUCTION, "layout.relax"),
        (ADD, "a = partial(prod); a = partial(prod)", Reason.NEEDS_REDUCTION, "not linear"),
        (ADD, "a = partial(sum); a = sliced(0)", Reason.LAYOUT_CONFLICT, "sliced does not combine"),
        (MUL, "a = partial(sum); a = partial(sum)", Reason.NEEDS_REDUCTION, "not linear in it"),
        (MUL, "a = partial(sum);", Reason.NEEDS_REDUCTION, "with the other operands replicated"),
        (MUL, "a = partial(prod);", Reason.NEEDS_REDUCTION, "with the other operands replicated"),
        (MAX, "a = partial(sum); a = partial(sum)", Reason.NEEDS_REDUCTION, "not linear in it"),
        (MAX, "a = partial(min); a = partial(min)", Reason.NEEDS_REDUCTION, "not linear in it"),
        (MAX, "a = partial(max);", Reason.NEEDS_REDUCTION, "with the other operands replicated"),
        (DIV, "a = partial(sum);", Reason.NEEDS_REDUCTION, "operand 0 is partial(sum) on axis 'a'"),
        (
            DIV,
            "; a = partial(sum)",
            Reason.NEEDS_REDUCTION,
            "operand 1 is partial(sum) on axis 'a'",
        ),
        (SQRT, "a = partial(sum)", Reason.NEEDS_REDUCTION, "layout.relax … over [a]"),
        (SQRT, "a = partial(max)", Reason.NEEDS_REDUCTION, "not linear in it"),
        (NORM, "a = partial(sum)", Reason.NEEDS_REDUCTION, "not linear in it"),
        (MEAN, "a = partial(max)", Reason.NEEDS_REDUCTION, "not linear in it"),
        (SUM, "a = partial(max)", Reason.NEEDS_REDUCTION, "not linear in it"),
        (TOP, "a = partial(sum)", Reason.NEEDS_REDUCTION, "not linear in it"),
        (MATMUL, "a = partial(sum); a = partial(sum)", Reason.NEEDS_REDUCTION, "not linear in it"),
        (MATMUL, "a = partial(max);", Reason.NEEDS_REDUCTION, "not linear in it"),
        (MATMUL, "a = partial(sum); a = local", Reason.NEEDS_REDUCTION, "reduce it first"),
        (MATMUL, "a = partial(sum); a = sliced(1)", Reason.LAYOUT_CONFLICT, "slices one operand"),
        (SEGMENTS, "; a = partial(sum)", Reason.NEEDS_REDUCTION, "operand 1 is partial(sum)"),
        (SEGMENTS, "a = partial(max);", Reason.NEEDS_REDUCTION, "not linear in it"),
        (EXTRACT, "a = partial(sum)", Reason.NEEDS_REDUCTION, "reduce it first"),
        # Two reductions in one result
        (TOP, "a = sliced(1), b = partial(sum)", Reason.NEEDS_REDUCTION, "not linear in it"),
        # Slices that do not meet
        (MATMUL, "a = sliced(1);", Reason.LAYOUT_CONFLICT, "but not in dimension 0 of operand 1"),
        (MATMUL, "; a = sliced(0)", Reason.LAYOUT_CONFLICT, "but not in dimension 1 of operand 0"),
        (MATMUL, "a = sliced(0); a = sliced(1)", Reason.LAYOUT_CONFLICT, "slices both 'm' and 'n'"),
        (MATMUL, "a = sliced(0); a = sliced(0)", Reason.LAYOUT_CONFLICT, "slices both 'm' and 'k'"),
        (MATMUL, "a = sliced(1); a = sliced(1)", Reason.LAYOUT_CONFLICT, "slices both 'k' and 'n'"),
        (MATMUL, "a = sliced(1); b = sliced(0)", Reason.LAYOUT_CONFLICT, "must be sliced alike"),
        (MATMUL, "a = sliced(1, 2); a = sliced(0)", Reason.LAYOUT_CONFLICT, "in units of 2"),
        (
            MATMUL,
            "[a, b] = sliced(1); [b, a] = sliced(0)",
            Reason.LAYOUT_CONFLICT,
            "is sliced by [a, b] in one operand and by [b, a] in operand 1",
        ),
        (MATMUL, "[a, b] = sliced(1); a = sliced(0)", Reason.LAYOUT_CONFLICT, "slice that one too"),
        (DOT, "a = sliced(0);", Reason.LAYOUT_CONFLICT, "slice that one too (layout.slice)"),
        (ADD, "a = sliced(0); a = sliced(1)", Reason.LAYOUT_CONFLICT, "gather one of the operands"),
        (ADD, "a = sliced(0);", Reason.LAYOUT_CONFLICT, "slice that one too"),
        # Sliced with local or root
        (ADD, "a = sliced(0); a = local", Reason.LAYOUT_CONFLICT, "sliced does not combine"),
        (ADD, "a = sliced(0); a = root(0)", Reason.LAYOUT_CONFLICT, "sliced does not combine"),
        (MATMUL, "a = sliced(0); a = local", Reason.LAYOUT_CONFLICT, "is local in operand 1"),
        (MATMUL, "a = local; a = sliced(1)", Reason.LAYOUT_CONFLICT, "is local in operand 0"),
        (
            ADD,
            "a = local; a = root(0)",
            Reason.LAYOUT_CONFLICT,
            "is local in one operand and root(0)",
        ),
        (ADD, "a = root(0); a = root(1)", Reason.LAYOUT_CONFLICT, "root(1) in operand 1"),
        # Whole dimensions
        (
            NORM,
            "a = sliced(1)",
            Reason.WHOLE_DIMENSION,
            "'n' is needed whole, but is sliced by [a]",
        ),
        (MEAN, "[a, b] = sliced(1)", Reason.WHOLE_DIMENSION, "sliced by [a, b]: gather it first"),
        (SEGMENTS, "; a = sliced(0)", Reason.WHOLE_DIMENSION, "'o' is needed whole"),
        (EXTRACT, "a = sliced(0)", Reason.WHOLE_DIMENSION, "'m' is needed whole"),
        (EXTRACT, "a = local", Reason.SCALAR_RESULT, "scalars are replicated"),
        (EXTRACT, "a = root(0)", Reason.SCALAR_RESULT, "gather or reduce it first"),
    ],
)
def test_refused(text: str, operands: str, reason: Reason, message: str) -> None:
    with pytest.raises(Refused) as refused:
        propagate(rule(text), dists(operands))
    assert refused.value.reason is reason
    assert message in refused.value.message


SPLIT, MERGE = "[b, (h d)] -> [b, h, d]", "[b, h, d] -> [b, (h d)]"


@pytest.mark.parametrize(
    ("text", "sizes", "operands", "reason", "message"),
    [
        (
            MERGE,
            {"d": 4},
            "a = sliced(2)",
            Reason.NOT_FIRST_FACTOR,
            "'d' is sliced and would be an",
        ),
        (SPLIT, {"d": 4}, "a = sliced(1)", Reason.UNIT_NOT_STATIC, "slice it with unit 4"),
        (SPLIT, {"d": 4}, "a = sliced(1, 6)", Reason.UNIT_NOT_STATIC, "only multiples of 4"),
        (SPLIT, {}, "a = sliced(1)", Reason.UNIT_NOT_STATIC, "the sizes of (d) are not all static"),
        (MERGE, {}, "a = sliced(1)", Reason.UNIT_NOT_STATIC, "are not all static"),
        (
            "[a] [(b a)] -> [a, b]",
            {"a": 2},
            "x = sliced(0);",
            Reason.NOT_FIRST_FACTOR,
            "of a product only the first factor can be sliced, not 'a'",
        ),
    ],
)
def test_products_refused(
    text: str, sizes: dict[str, int], operands: str, reason: Reason, message: str
) -> None:
    with pytest.raises(Refused) as refused:
        propagate(rule(text, sizes), dists(operands))
    assert refused.value.reason is reason
    assert message in refused.value.message


@pytest.mark.parametrize(
    ("text", "operands", "results"),
    [
        (MATMUL, "a = sliced(1); a = sliced(0)", "a = partial(sum)"),
        (MATMUL, "a = sliced(1), b = sliced(0); a = sliced(0)", "a = partial(sum), b = sliced(0)"),
        (MATMUL, "[a, b] = sliced(0); c = sliced(1)", "[a, b] = sliced(0), c = sliced(1)"),
        (MATMUL, "a = partial(sum); b = sliced(1)", "a = partial(sum), b = sliced(1)"),
        (MATMUL, "a = partial(sum); b = partial(sum)", "a = partial(sum), b = partial(sum)"),
        (MATMUL, "a = local;", "a = local"),
        (MATMUL, "; a = root(2)", "a = root(2)"),
        (ADD, "a = partial(sum), b = local; a = partial(sum)", "a = partial(sum), b = local"),
        (ADD, "a = sliced(1, 8); a = sliced(1, 8)", "a = sliced(1, 8)"),
        (MUL, "a = partial(prod); a = partial(prod)", "a = partial(prod)"),
        (MAX, "a = partial(max); a = partial(max)", "a = partial(max)"),
        (SUM, "a = sliced(1), b = partial(sum)", "a = partial(sum), b = partial(sum)"),
        (TOP, "[a, b] = sliced(1)", "a = partial(max), b = partial(max)"),
        (MEAN, "a = partial(sum), b = sliced(0)", "a = partial(sum), b = sliced(0)"),
        (TRANSPOSE, "a = sliced(0, 4), b = partial(min)", "a = sliced(1, 4), b = partial(min)"),
        (SEGMENTS, "a = sliced(0), b = partial(sum);", "a = partial(sum), b = partial(sum)"),
    ],
)
def test_accepted(text: str, operands: str, results: str) -> None:
    assert propagate(rule(text), dists(operands)) == dists(results)


@pytest.mark.parametrize(
    ("text", "sizes", "operands", "result"),
    [
        (SPLIT, {"d": 4}, "a = sliced(1, 4)", "a = sliced(1)"),
        (SPLIT, {"d": 4}, "[a, b] = sliced(1, 12)", "[a, b] = sliced(1, 3)"),
        (MERGE, {"d": 4}, "a = sliced(1, 3)", "a = sliced(1, 12)"),
        (MERGE, {"d": 0}, "a = sliced(1)", "a = sliced(1)"),
        (SPLIT, {}, "a = sliced(0)", "a = sliced(0)"),
    ],
)
def test_products_accepted(text: str, sizes: dict[str, int], operands: str, result: str) -> None:
    assert propagate(rule(text, sizes), dists(operands)) == dists(result)


# What results may have beyond that

BROADCAST = "[n] [m, n] -> [m, n]"


@pytest.mark.parametrize(
    ("operands", "actual", "accepted"),
    [
        ("", "", True),
        ("", "a = sliced(0)", True),
        ("", "[a, b] = sliced(0, 4)", True),
        ("", "a = sliced(1)", False),
        ("", "a = local", False),
        ("a = sliced(0)", "a = sliced(1), b = sliced(0)", True),
        ("a = sliced(0)", "b = sliced(0)", False),
        ("a = partial(sum)", "a = sliced(0)", False),
        ("a = local", "a = local, b = sliced(0)", True),
    ],
)
def test_new_dimensions_may_be_sliced(operands: str, actual: str, accepted: bool) -> None:
    made = pattern(BROADCAST).instantiate((1, 2), frozenset((1,)))
    made = Rule(
        made.operands,
        made.results,
        joint=frozenset((Kind.SUM,)),
        shape_only=frozenset((1,)),
    )
    expected = propagate(made, (layout(operands), REPLICATED))
    assert accepts(made, expected, dists(actual)) == (None if accepted else 0)


@pytest.mark.parametrize(
    ("actual", "accepted"),
    [("", True), ("a = sliced(0)", True), ("a = local", True), ("a = root(1)", True)]
    + [(f"a = partial({kind})", False) for kind in ("sum", "prod", "max", "min")],
)
def test_what_reads_no_tensor_has_any_layout_but_a_partial_one(actual: str, accepted: bool) -> None:
    splat = Rule((None,), ((("m",),),))
    assert accepts(splat, propagate(splat, (REPLICATED,)), dists(actual)) == (
        None if accepted else 0
    )


def test_a_whole_dimension_is_never_made_in_parts() -> None:
    made = pattern("() -> [n], n = whole").instantiate((None,))
    expected = propagate(made, (REPLICATED,))
    assert accepts(made, expected, dists("a = local")) is None
    assert accepts(made, expected, dists("a = sliced(0)")) == 0


# Alignment


@pytest.mark.parametrize(
    ("text", "operands", "aligned"),
    [
        (MATMUL, "a = sliced(1);", "a = sliced(1); a = sliced(0)"),
        (MATMUL, "; a = sliced(0, 4)", "a = sliced(1, 4); a = sliced(0, 4)"),
        (MATMUL, "a = sliced(0);", "a = sliced(0);"),
        (MATMUL, "[a, b] = sliced(1); a = sliced(0)", "[a, b] = sliced(1); [a, b] = sliced(0)"),
        (MATMUL, "a = local;", "a = local;"),
        (ADD, "a = local;", "a = local; a = local"),
        (ADD, "; a = root(3)", "a = root(3); a = root(3)"),
        (ADD, "a = local; b = sliced(0)", "a = local, b = sliced(0); a = local, b = sliced(0)"),
        (ADD, "a = sliced(0); b = sliced(1)", "a = sliced(0), b = sliced(1);" * 2),
    ],
)
def test_aligned(text: str, operands: str, aligned: str) -> None:
    expected = dists(aligned.removesuffix(";") if aligned.count(";") > 1 else aligned)
    assert align(rule(text), dists(operands)) == expected


@pytest.mark.parametrize(
    ("text", "operands"),
    [
        (ADD, "a = partial(sum);"),
        (ADD, "a = local; a = sliced(0)"),
        (ADD, "a = sliced(0); a = sliced(1)"),
        (MATMUL, "a = sliced(1); a = partial(sum)"),
        (MATMUL, "a = sliced(0); a = sliced(1)"),
        (NORM, "a = sliced(1)"),
        (SQRT, "a = partial(sum)"),
    ],
)
def test_not_aligned(text: str, operands: str) -> None:
    with pytest.raises(Refused):
        align(rule(text), dists(operands))


@st.composite
def layouts(draw: st.DrawFn) -> Dist:
    """Any layout of a matrix."""
    found = REPLICATED
    states: list[State] = [Local(), Root(0), Partial(Kind.SUM)]
    for axis in draw(st.permutations(["a", "b"])):
        what = draw(st.sampled_from(["cut", "state", "none", "none"]))
        if what == "cut":
            found = found.append_cut([axis], draw(st.integers(0, 1)))
        elif what == "state":
            found = found.with_states([(axis, draw(st.sampled_from(states)))])
    return found


@settings(deadline=None, max_examples=300)
@given(st.sampled_from([ADD, MATMUL, MUL, DIV]), layouts(), layouts())
def test_alignment_only_slices_and_relaxes(text: str, one: Dist, other: Dist) -> None:
    made = rule(text)
    try:
        aligned = align(made, (one, other))
    except Refused:
        with pytest.raises(Refused):
            propagate(made, (one, other))
        return
    propagate(made, aligned)
    for before, after in zip((one, other), aligned, strict=True):
        assert set(before.states) <= set(after.states)
        for axis, state in set(after.states) - set(before.states):
            assert axis not in before.by_axis
            assert not isinstance(state, Partial)
        for cut in before.cuts:
            assert after.by_dim[cut.dim] == Cut(
                (*cut.axes, *after.by_dim[cut.dim].axes[len(cut.axes) :]), cut.dim, cut.unit
            )
        assert after.partial_kind == before.partial_kind
    assert align(made, aligned) == aligned


# From the result back to the operands


@pytest.mark.parametrize(
    ("text", "operands", "result", "wanted"),
    [
        (MATMUL, ";", "a = sliced(0)", "a = sliced(0);"),
        (MATMUL, ";", "a = sliced(1, 4)", "; a = sliced(1, 4)"),
        (MATMUL, "a = sliced(0);", "[a, b] = sliced(0)", "[a, b] = sliced(0);"),
        (MATMUL, "a = local;", "a = local, b = sliced(1)", "a = local; b = sliced(1)"),
        (ADD, ";", "a = sliced(0), b = sliced(1)", "a = sliced(0), b = sliced(1);" * 2),
        (TRANSPOSE, "", "a = sliced(0)", "a = sliced(1)"),
        (SUM, "a = sliced(1)", "a = partial(sum), b = sliced(0)", "a = sliced(1), b = sliced(0)"),
    ],
)
def test_withdrawn(text: str, operands: str, result: str, wanted: str) -> None:
    expected = dists(wanted.removesuffix(";") if wanted.count(";") > 1 else wanted)
    assert withdraw(rule(text), dists(operands), layout(result)) == expected


@pytest.mark.parametrize(
    ("text", "operands", "result", "reason"),
    [
        (EXTRACT, "", "", Reason.SCALAR_RESULT),
        (MATMUL, ";", "a = partial(sum)", Reason.LAYOUT_CONFLICT),
        (MATMUL, ";", "a = local", Reason.LAYOUT_CONFLICT),
        (MATMUL, "a = local;", "a = sliced(0)", Reason.LAYOUT_CONFLICT),
        (ADD, "a = sliced(0); a = sliced(0)", "a = sliced(1)", Reason.LAYOUT_CONFLICT),
        (ADD, "a = sliced(0); a = sliced(0)", "[b, a] = sliced(0)", Reason.LAYOUT_CONFLICT),
    ],
)
def test_not_withdrawn(text: str, operands: str, result: str, reason: Reason) -> None:
    with pytest.raises(Refused) as refused:
        withdraw(rule(text), dists(operands), layout(result))
    assert refused.value.reason is reason


def test_products_are_withdrawn_in_units() -> None:
    made = rule("[b, h, d] -> [b, (h d)]", {"d": 4})
    assert withdraw(made, dists(""), layout("a = sliced(1, 8)")) == dists("a = sliced(1, 2)")
    with pytest.raises(Refused, match="units of 6 do not keep whole rows of"):
        withdraw(made, dists(""), layout("a = sliced(1, 6)"))


@settings(deadline=None, max_examples=300)
@given(st.sampled_from([ADD, MATMUL, MUL, DIV]), layouts(), layouts(), layouts())
def test_withdrawing_only_slices(text: str, one: Dist, other: Dist, result: Dist) -> None:
    made = rule(text)
    try:
        wanted = withdraw(made, (one, other), result)
    except Refused:
        return
    assert accepts(made, propagate(made, wanted), (result,)) is None
    for before, after in zip((one, other), wanted, strict=True):
        assert before.states == after.states
        for cut in before.cuts:
            assert after.by_dim[cut.dim].axes[: len(cut.axes)] == cut.axes
