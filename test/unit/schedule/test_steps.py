"""Steps have the options of their passes, in the schedule's text and in Python."""

from __future__ import annotations

import inspect
from dataclasses import fields
from typing import get_args, get_type_hints

import pytest
from xdsl.dialects.builtin import (
    StringAttr,
)

from coconet_ir.dialects.transform import (
    STEPS,
    CombineOp,
    InlineOp,
    NamedOp,
    RegionStep,
    SliceOp,
    SliceStateOp,
    SplitOp,
    Step,
    option_attribute,
    option_value,
)
from coconet_ir.passes import get_all_passes
from coconet_ir.program import Schedule

REWRITES = [step for step in STEPS if step is not NamedOp]


def pass_of(step: type[Step]) -> type:
    word = step.name.rpartition(".")[2].replace("_", "-")
    return get_all_passes()[f"coconet-{'inline-schedule' if step is InlineOp else word}"]()


@pytest.mark.parametrize("step", REWRITES, ids=lambda step: step.name)
def test_the_text_has_the_options_of_the_pass(step: type[Step]) -> None:
    options = {field.name for field in fields(pass_of(step))} - {"require"}
    options -= {"ops"} if issubclass(step, RegionStep) else {"op"}  # handles say this,
    if step not in (SliceOp, SliceStateOp, CombineOp, InlineOp):  # and this too, but on the program
        options -= {"func"}
    assert step.get_irdl_definition().properties.keys() == options


def test_the_words_of_an_option_are_those_of_the_pass() -> None:
    constraint = SplitOp.get_irdl_definition().properties["into"].constr
    words = get_args(get_type_hints(pass_of(SplitOp))["into"])
    assert all(constraint.verifies(StringAttr(word)) for word in words)
    assert len(words) == 2
    assert not constraint.verifies(StringAttr("ring"))


@pytest.mark.parametrize("step", REWRITES, ids=lambda step: step.name)
def test_python_has_the_options_of_the_text(step: type[Step]) -> None:
    word = step.name.rpartition(".")[2]
    methods = [getattr(Schedule, word)]
    if step is SliceOp:
        methods.append(Schedule.slice_argument)
    taken = {name for method in methods for name in inspect.signature(method).parameters}
    handles = {"ops"} if issubclass(step, RegionStep) else {"op"}
    assert taken - {"self"} == {*step.get_irdl_definition().properties} | (
        handles if step is not SliceStateOp else set()
    )


@pytest.mark.parametrize("value", [0, -3, 2**62, "x", "", True, (1, 2), ("x",), ()])
def test_options_go_to_the_text_and_back(value: object) -> None:
    assert option_value(option_attribute(value)) == value


def test_what_no_option_takes() -> None:
    with pytest.raises(TypeError, match=r"numbers, texts, lists of these or True, not 1\.5"):
        option_attribute(1.5)
