"""One line of a kernel by nvcc gone, or weaker: the emulator says what is wrong, and where in the source."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest


def softmax(machine: Any, call: Any) -> Any:
    x = np.ones((1, 64), np.float32)
    return [call("softmax", 1, 64, (64, x, machine.empty(x.shape, x.dtype)), shared=256)]


def total(machine: Any, call: Any) -> Any:
    partial, out = machine.empty(3, np.float64), machine.empty(1, np.float64)
    x, done = np.ones(200, np.float32), np.zeros(1, np.uint32)
    return [call("sum", 3, 64, (200, x, partial, done, out))]


def scan(machine: Any, call: Any) -> Any:
    out, totals = machine.empty(128, np.int64), machine.empty(4, np.int64)
    x, words = np.ones(128, np.int32), (np.zeros(1, np.uint32), np.zeros(4, np.uint32))
    return [call("scan", 4, 32, (128, x, out, words[0], totals, words[1]))]


def pipeline(machine: Any, call: Any) -> Any:
    x, out = np.ones((5, 32), np.int32), machine.empty((2, 32), np.int32)
    return [call("pipeline", 1, 96, (160, x, out))]


def ring(machine: Any, call: Any) -> Any:
    a, b, counter = np.ones(200, np.int32), np.ones(200, np.int32), np.zeros(1, np.uint32)
    return [call("ring", 3, 64, (200, 3, a, b, counter), cooperative=True)]


def lock(machine: Any, call: Any) -> Any:
    return [call("locked", 3, 1, (np.zeros(1, np.uint32), 2, np.zeros(2, np.int64)))]


BARRIER, FENCE, ARRIVE = r"bar\.sync[^;]*;", r"membar\.gl;", r"bar\.arrive[^;]*;"


@pytest.mark.parametrize(
    ("file", "steps", "line", "which", "instead", "kind", "lines"),
    [
        # What the first reduction left is written again while others read it.
        ("rows", softmax, BARRIER, 1, "", "data race", {28, 34}),
        # The fence before the counter, and the one after it, which many such kernels lack.
        ("reductions", total, FENCE, 0, "", "data race", {26, 34}),
        ("reductions", total, FENCE, 1, "", "data race", {26, 34}),
        ("reductions", scan, r"ld\.acquire", 0, "ld.relaxed", "data race", {88, 90}),
        # Nobody says that a part is full, or that it is free.
        ("memory", pipeline, ARRIVE, 0, "", "hang", {87, 91}),
        ("memory", pipeline, ARRIVE, 2, "", "hang", {87, 91}),
        ("memory", ring, FENCE, 1, "", "data race", {131}),
        ("atomics", lock, r"st\.release", 0, "st.relaxed", "data race", {54}),
    ],
)
def test_a_line(
    nvcc: Any,
    call: Any,
    *,
    file: str,
    steps: Any,
    line: str,
    which: int,
    instead: str,
    kind: str,
    lines: set[int],
) -> None:
    machine = nvcc(file)
    machine.edit(line, instead, which)
    found = machine.first_finding(steps(machine, call))
    assert found.kind == kind
    assert {place.location.line for place in found.places} == lines
