"""The notation of dimension rules: text and back, ranks filled in, and what each bad rule is told."""

from __future__ import annotations

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from coconet_ir.analysis.dist import Kind
from coconet_ir.analysis.notation import (
    REDUCTIONS,
    Dim,
    Pattern,
    Reduction,
    Role,
    Rule,
    RuleError,
    Shape,
    Whole,
    pattern,
)

NAMES = ("m", "n", "k", "h2", "linear", "joint", "whole", "reduction", "sum")


@st.composite
def shapes(draw: st.DrawFn, names: list[str], star: bool) -> Shape:
    """Dimensions with each name at most once, some of them products, at most one `*`."""
    here = draw(st.lists(st.sampled_from(names), unique=True))
    dims = list[Dim]()
    while here:
        count = draw(st.sampled_from([1, 1, 1, 2, 3]))
        dims.append(tuple(here[:count]))
        here = here[count:]
    if star and draw(st.booleans()):
        dims.insert(draw(st.integers(0, len(dims))), ("*b",))
    return tuple(dims)


@st.composite
def patterns(draw: st.DrawFn) -> Pattern:
    """Any rule that means something."""
    operand = st.none() | shapes(list(NAMES), True)
    operands = draw(st.lists(operand, max_size=3))
    bound = sorted({name for shape in operands for dim in shape or () for name in dim})
    starred = "*b" in bound
    result = st.none() | shapes(list(NAMES), starred)
    results = draw(st.lists(result, min_size=1, max_size=2))
    given = {name for shape in results for dim in shape or () for name in dim}
    roles: dict[str, Role] = {name: Whole() for name in sorted(given.difference(bound, {"*b"}))}
    choices: list[Role] = [Whole(), *map(Reduction, REDUCTIONS)]
    fixed = list[Shape | None]()
    for shape in results:
        have = {name for dim in shape or () for name in dim}
        if starred and "*b" not in have:
            shape = (*(shape or ()), ("*b",))
        fixed.append(shape)
        for name in bound:
            if name not in have and name != "*b":
                roles[name] = draw(st.sampled_from(choices))
    tensors = [index for index, shape in enumerate(operands) if shape is not None]
    linear = draw(st.sets(st.sampled_from(tensors))) if tensors else set[int]()
    joint = draw(st.sets(st.sampled_from(REDUCTIONS)))
    return Pattern(
        tuple(operands), tuple(fixed), tuple(roles.items()), frozenset(linear), frozenset(joint)
    )


@settings(deadline=None)
@given(patterns())
def test_print_and_parse(rule: Pattern) -> None:
    assert pattern(str(rule)) == rule
    assert str(pattern(str(rule))) == str(rule)


@pytest.mark.parametrize(
    "text",
    [
        "[m, n] -> [m, n]",
        "[*b, m, k] [k, n] -> [*b, m, n], k = reduction(sum), linear(0, 1)",
        "[b, s, (h d)] -> [b, s, h, d]",
        "() [] -> () []",
        "[n] [n] -> [n], joint(sum, prod, max, min)",
        "[n] [o] -> [t], n = reduction(max), o = whole, t = whole, linear(0)",
        "[linear] -> [linear], linear = whole, linear(0)",
        "-> [n], n = whole",
        "[t] -> [t, e], e = whole",
        "[n, n] -> [n, n], n = whole",
    ],
)
def test_text_stays(text: str) -> None:
    assert str(pattern(text)) == text


@pytest.mark.parametrize(
    ("text", "printed"),
    [
        ("[m,n]->[n,m]", "[m, n] -> [n, m]"),
        ("[n] -> [n], joint(min), joint(sum)", "[n] -> [n], joint(sum, min)"),
        ("[n] [n] -> [n], linear(1), linear(0)", "[n] [n] -> [n], linear(0, 1)"),
        ("[n] -> [n], linear(0), n = whole", "[n] -> [n], n = whole, linear(0)"),
        ("[(n)] -> [n]", "[n] -> [n]"),
    ],
)
def test_text_is_made_regular(text: str, printed: str) -> None:
    assert str(pattern(text)) == printed


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("", "Expected '->' between the operands and results of a rule"),
        ("[m] [n]", "Expected '->' between the operands and results of a rule"),
        ("[m] ->", "a rule needs at least one result"),
        ("[m -> [m]", "']' expected"),
        ("[3] -> [3]", "identifier expected"),
        ("[()] -> []", "identifier expected"),
        ("(m) -> [m]", "a scalar is written ()"),
        ("[m] -> [m] m = whole", "something follows the rule"),
        ("[m] -> [m] -> [m]", "something follows the rule"),
        ("[m] -> [m], m whole", "Expected '=' after a name of the rule"),
        ("[m] -> [m], m = parallel", "expected `whole` or `reduction(sum|prod|max|min)`"),
        ("[m] -> [], m = reduction(avg)", "expected a reduction: sum, prod, max or min"),
        ("[m] -> [], m = reduction sum", "Expected '('"),
        ("[m] -> [m], joint(avg)", "expected a reduction: sum, prod, max or min"),
        ("[m] -> [m], joint()", "expected a reduction: sum, prod, max or min"),
        ("[m] -> [m], linear()", "Expected integer literal"),
        ("[m] -> [m], linear(-1)", "Expected integer literal"),
        ("[m] -> [], m = whole, m = whole", "'m' has a role already"),
        ("[m] -> [m], k = whole", "'k' has a role but names no dimension"),
        ("[*m] -> [*m], m = whole", "'m' has a role but names no dimension"),
        ("[m] -> []", "'m' is missing in a result: it must be a reduction or whole"),
        ("[m, n] -> [m] [n]", "is missing in a result: it must be a reduction or whole"),
        ("[*b, m] -> [m]", "'*b' is missing in a result: `*` dimensions stand in every result"),
        ("[m] -> [*b, m]", "'*b' stands in a result only: its number of dimensions is unknown"),
        ("[*a, *b] -> [*a, *b]", "a shape has at most one `*` name"),
        ("[m] [()] -> [m]", "identifier expected"),
        ("[m] () -> [m], linear(1)", "linear(1) names no tensor operand"),
        ("[m] -> [m], linear(1)", "linear(1) names no tensor operand"),
        ("[m] -> [m, n]", "'n' stands in a result only: it must be whole"),
        ("[m] -> [m, n], n = reduction(sum)", "'n' stands in a result only: it must be whole"),
        ("[m] -> [m, m]", "'m' names two dimensions of one tensor"),
        ("[m, m] -> [m]", "'m' names two dimensions of one tensor"),
        ("[(m m)] -> [m]", "'m' names two dimensions of one tensor"),
        ("[*b, b.0] -> [*b, b.0]", "'b.0' is no name: letters, digits and _ only"),
        ("[m$] -> [m$]", "'m$' is no name: letters, digits and _ only"),
    ],
)
def test_bad_rules(text: str, message: str) -> None:
    with pytest.raises(RuleError) as error:
        pattern(text)
    assert message in str(error.value)


def instance(text: str, *ranks: int | None) -> Rule:
    return pattern(text).instantiate(ranks)


def test_stars_are_filled_in() -> None:
    matmul = "[*b, m, k] [k, n] -> [*b, m, n], k = reduction(sum), linear(0, 1)"
    rule = instance(matmul, 4, 2)
    assert str(rule) == (
        "[b.0, b.1, m, k] [k, n] -> [b.0, b.1, m, n], k = reduction(sum), linear(0, 1)"
    )
    assert instance(matmul, 2, 2).operands[0] == (("m",), ("k",))
    assert instance("[m, *b] () -> [*b] [m, *b], m = whole", 3, None).results == (
        (("b.0",), ("b.1",)),
        (("m",), ("b.0",), ("b.1",)),
    )
    assert instance(matmul, 4, 2) is instance(matmul, 4, 2)


@pytest.mark.parametrize(
    ("text", "ranks", "message"),
    [
        ("[m] -> [m]", (1, 1), "its rule [m] -> [m] has 1 operand(s), but the operation 2"),
        ("[m] -> [m]", (2,), "operand 0 must have the dimensions [m], but it has 2"),
        ("[m] -> [m]", (None,), "operand 0 must be a tensor"),
        ("[m] () -> [m]", (1, 1), "operand 1 must be a scalar"),
        (
            "[*b, m, k] -> [*b, m, k]",
            (1,),
            "operand 0 must have the dimensions [*b, m, k], but it has 1",
        ),
        (
            "[*b, m] [*b, m] -> [*b]",
            (3, 2),
            "operand 1 must have the dimensions [*b, m], but it has 2",
        ),
    ],
)
def test_ranks_that_do_not_fit(text: str, ranks: tuple[int | None, ...], message: str) -> None:
    if text.endswith("[*b]"):
        text += ", m = whole"
    with pytest.raises(RuleError) as error:
        instance(text, *ranks)
    assert message in str(error.value)


# What a rule says about itself


def test_data_and_free_names() -> None:
    like = pattern("[t] [o] [n] -> [n, t], o = whole").instantiate((1, 1, 1), frozenset((2,)))
    assert like.data == (0, 1)
    assert like.free == {"n"}
    broadcast = Rule(((("t",),), None), ((("n",), ("t",), ("j",)),), (("j", Whole()),))
    assert broadcast.data == (0,)
    assert broadcast.free == {"n"}
    assert instance("() -> []", None).data == ()


def test_uniform() -> None:
    assert instance("[*b] [*b] -> [*b]", 2, 2).uniform
    assert instance("[*b] () [*b] -> [*b]", 2, None, 2).uniform
    assert not instance("[*b] -> [*b]", 2).uniform
    assert not instance("[m, k] [k, m] -> [m, k]", 2, 2).uniform


def test_roles_and_sizes() -> None:
    rule = instance("[m, k] -> [m], k = reduction(max)", 2)
    assert rule.role == {"k": Reduction(Kind.MAX)}
    sized = Rule((), (), sizes=(("d", 4), ("e", 3), ("zero", 0)))
    assert sized.inner_size(("h",)) == 1
    assert sized.inner_size(("h", "d")) == 4
    assert sized.inner_size(("h", "d", "e")) == 12
    assert sized.inner_size(("h", "d", "other")) is None
    assert sized.inner_size(("h", "zero")) == 1
