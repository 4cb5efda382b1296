"""What steps of the host compute, against the simulator and NumPy, and whose data each rank of a collective gets."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np
import numpy.typing as npt
import pytest

from coconet_ir.emu.execution import host
from coconet_ir.program import Program
from coconet_ir.runtime.steps import Clear, Collective, CollectiveKind, Copy, Matmul, Place
from coconet_ir.sim.elements import ELEMENTS
from coconet_ir.sim.kernels import undefined

Array = npt.NDArray[Any]


def step_of(
    kind: CollectiveKind, ranks: int, count: int, element: str = "f32", **options: Any
) -> Collective:
    """A collective of the ranks 0, 1, …"""
    return Collective(kind, tuple(range(ranks)), Place(0), Place(1), count, element, **options)


def given_of(step: Collective, seed: int = 0) -> list[Array]:
    """Numbers that each rank gives."""
    rng = np.random.default_rng(seed)
    dtype = ELEMENTS[step.element]
    every = rng.integers(-50, 50, (len(step.ranks), step.count))
    if dtype.kind not in "iu":
        every = every * rng.random(every.shape)
    return list(every.astype(dtype))


def simulated(text: str, mesh: Mapping[str, int], **inputs: Array) -> Array:
    """The result of a program in the simulator."""
    return np.asarray(Program.parse(text).run(mesh, inputs).outputs["result0"].array)


@pytest.mark.parametrize("ranks", [2, 3, 4])
@pytest.mark.parametrize(
    ("kind", "element"),
    [
        *(("sum", element) for element in ("f64", "f32", "f16", "bf16", "f8E5M2", "i32", "i64")),
        *(("avg", element) for element in ("f64", "f32", "f16", "bf16")),
        *((kind, element) for kind in ("max", "min", "prod") for element in ("f32", "bf16", "i32")),
    ],
)
def test_reductions(kind: str, element: str, ranks: int) -> None:
    """The simulator's bits, whoever gets them, also of NaN, zeros with signs and overflow."""
    step = step_of("all_reduce", ranks, 4 * ranks, element, reduction=kind)
    given = given_of(step)
    if ELEMENTS[element].kind not in "iu":
        most = 6e4 if element == "f16" else 3e38
        with np.errstate(over="ignore"):
            given[0][:4] = np.asarray([np.nan, -0.0, most, -most]).astype(given[0].dtype)
            given[1][:4] = np.asarray([1.0, 0.0, most, np.inf]).astype(given[0].dtype)
    wanted = simulated(
        f"""layout.mesh @mesh(dp = 2)
    func.func @f(%x: tensor<?x{element}, #layout.dist<dp = local>>) -> tensor<?x{element}> {{
      %y = coll.all_reduce {kind} %x over [dp] {{accumulate = {element}, order = #coll.order<ranks>}}
        : tensor<?x{element}, #layout.dist<dp = local>> -> tensor<?x{element}>
      func.return %y : tensor<?x{element}>
    }}""",
        {"dp": ranks},
        x=np.stack(given),
    )
    bits = wanted.tobytes()
    assert [array.tobytes() for array in host.collective(step, given)] == [bits] * ranks
    scattered = step_of("reduce_scatter", ranks, 4 * ranks, element, reduction=kind)
    assert b"".join(array.tobytes() for array in host.collective(scattered, given)) == bits
    rooted = step_of("reduce", ranks, 4 * ranks, element, reduction=kind, root=1)
    found = host.collective(rooted, given)
    assert found[1].tobytes() == bits
    nothing = undefined((4 * ranks,), ELEMENTS[element]).tobytes()
    assert [found[rank].tobytes() for rank in range(ranks) if rank != 1] == [nothing] * (ranks - 1)


@pytest.mark.parametrize("ranks", [2, 3, 5])
@pytest.mark.parametrize("element", ["f8E4M3FN", "bf16", "f32", "i64", "i1"])
def test_what_only_moves(element: str, ranks: int) -> None:
    """Blocks by NumPy, of elements of all widths, given as the bytes that they are."""
    count, dtype = 2 * ranks, ELEMENTS[element]
    rng = np.random.default_rng(ranks)
    values = rng.integers(0, 2, (ranks, count)).astype(dtype)
    given = [row.view(np.uint8) for row in values]

    def found(kind: CollectiveKind, **options: Any) -> list[list[float]]:
        step = step_of(kind, ranks, count, element, **options)
        return [array.astype(float).tolist() for array in host.collective(step, given)]

    wide = values.astype(float)
    assert found("all_gather") == [wide.reshape(-1).tolist()] * ranks
    assert found("broadcast", root=1) == [wide[1].tolist()] * ranks
    blocks = wide.reshape(ranks, ranks, 2)
    assert found("all_to_all") == blocks.swapaxes(0, 1).reshape(ranks, -1).tolist()
    cycle = tuple((rank, (rank + 1) % ranks) for rank in range(ranks))
    assert found("permute", pairs=cycle) == np.roll(wide, 1, axis=0).tolist()
    sent = np.zeros_like(wide)
    sent[1], sent[0] = wide[0], wide[ranks - 1]
    assert found("permute", pairs=((0, 1), (ranks - 1, 0))) == sent.tolist()


STEPS = [
    *(step_of("all_reduce", n, 4 * n, "f32", reduction="sum") for n in (2, 3)),
    step_of("reduce", 3, 5, "i32", reduction="max", root=2),
    step_of("broadcast", 4, 1, "f16", root=3),
    step_of("all_gather", 3, 2, "f64"),
    step_of("reduce_scatter", 4, 8, "bf16", reduction="sum"),
    step_of("all_to_all", 3, 6, "i64"),
    step_of("permute", 3, 5, "f32", pairs=((0, 1), (1, 2), (2, 0))),
    step_of("permute", 4, 5, "f32", pairs=((2, 2), (0, 3))),
]


@pytest.mark.parametrize("step", STEPS, ids=lambda step: step.kind)
def test_a_rank_waits_for_those_whose_data_it_gets(step: Collective) -> None:
    """What a rank gives shows in what another stores if and only if the edge is there."""
    ranks = range(len(step.ranks))
    given = [np.full(step.count, 1 + rank, ELEMENTS[step.element]) for rank in ranks]
    before = host.collective(step, given)
    for source in ranks:
        other = [array.copy() for array in given]
        other[source] += 100
        after = host.collective(step, other)
        changed = [b.tobytes() != a.tobytes() for b, a in zip(before, after, strict=True)]
        assert changed == [source in host.feeds(step)[rank] for rank in ranks]


@pytest.mark.parametrize("step", STEPS, ids=lambda step: step.kind)
def test_bytes_of_collectives(step: Collective) -> None:
    given = given_of(step)
    assert host.reads(step) == ((Place(0), given[0].nbytes),)
    stored = {array.nbytes for array in host.collective(step, given)}
    assert {host.writes(step)} == {(Place(1), count) for count in stored}


def test_what_is_stored_is_not_what_is_given() -> None:
    """A rank may overwrite what it gave before others take it."""
    for step in STEPS:
        given = given_of(step)
        for array in host.collective(step, given):
            assert not any(np.shares_memory(array, other) for other in given)


@pytest.mark.parametrize(
    ("element", "accumulate", "result"),
    [("f64", "f64", "f64"), ("f32", "f32", "f32"), ("f16", "f32", "f16"), ("bf16", "f32", "f32")],
)
def test_products(element: str, accumulate: str, result: str) -> None:
    """The simulator's bits, of stacks too."""
    rng = np.random.default_rng(5)
    text = f"""
    func.func @f(%a: tensor<?x?x?x{element}>, %b: tensor<?x?x?x{element}>) -> tensor<?x?x?x{result}> {{
      %y = comp.matmul %a, %b {{accumulate = {accumulate}}}
        : (tensor<?x?x?x{element}>, tensor<?x?x?x{element}>) -> tensor<?x?x?x{result}>
      func.return %y : tensor<?x?x?x{result}>
    }}"""
    for stack, m, k, n in ((1, 3, 65, 7), (3, 2, 1, 5), (2, 1, 9, 1)):
        a = rng.standard_normal((stack, m, k)).astype(ELEMENTS[element])
        b = rng.standard_normal((stack, k, n)).astype(ELEMENTS[element])
        places = (Place(0), Place(1), Place(-1, 256))
        step = Matmul(*places, stack, m, n, k, element, accumulate, result)
        found = host.local(step, [a.reshape(-1).view(np.uint8), b.reshape(-1).view(np.uint8)])
        assert found.tobytes() == simulated(text, {}, a=a, b=b).tobytes()
        assert host.reads(step) == ((Place(0), a.nbytes), (Place(1), b.nbytes))
        assert host.writes(step) == (Place(-1, 256), found.nbytes)


def test_copies_and_clears() -> None:
    copy, clear = Copy(Place(0, 3), Place(1, 5), 7), Clear(Place(1, 2), 4)
    assert (host.reads(copy), host.writes(copy)) == (((Place(0, 3), 7),), (Place(1, 5), 7))
    assert (host.reads(clear), host.writes(clear)) == ((), (Place(1, 2), 4))
    given = np.arange(7, dtype=np.uint8)
    found = host.local(copy, [given])
    assert found.tolist() == given.tolist()
    assert not np.shares_memory(found, given)
    assert host.local(clear, []).tobytes() == bytes(4)
