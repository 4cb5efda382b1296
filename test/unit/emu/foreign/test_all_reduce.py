"""All-reduces over peers, by nvcc and by Triton: launches of several sizes, one after the other, on the same memory."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np
import pytest

Array = np.ndarray[Any, Any]
NEAR_THE_END = 0xFFFFFFFD
"""An epoch from which two launches count over the end of 32 bits."""

Launch = Callable[[int, Array], Any]
"""Makes the launch of a rank for a result."""


class Group:
    """Ranks: an input, results for others, flags and epochs of each."""

    def __init__(self, machine: Any, ranks: int, most: int, blocks: int, epoch: int):
        each = range(ranks)
        self.machine = machine
        self.inputs = [machine.empty(most, np.float32) for _ in each]
        self.shares = [machine.empty(most, np.float32) for _ in each]
        self.flags = [np.full(blocks * ranks, epoch, np.uint32) for _ in each]
        self.epochs = [np.full(blocks, epoch, np.uint32) for _ in each]

    def steps(
        self, write: Any, rounds: Sequence[Sequence[Array]], launch: Launch
    ) -> tuple[list[list[Any]], list[Array]]:
        """In each round each rank gets its input, then launches; also the results in that order."""
        steps, outs = [list[Any]() for _ in self.inputs], list[Array]()
        for arrays in rounds:
            for rank, mine in enumerate(arrays):
                outs.append(self.machine.empty(mine.size, np.float32))
                steps[rank] += [write(mine, self.inputs[rank]), launch(rank, outs[-1])]
        return steps, outs

    def check(
        self, write: Any, rounds: Sequence[Sequence[Array]], launch: Launch, seeds: int = 4
    ) -> None:
        """Run, and compare with the sums in the order of ranks."""
        steps, outs = self.steps(write, rounds, launch)
        self.machine.run(*steps, seeds=seeds)
        for arrays in rounds:
            want = arrays[0].copy()
            for one in arrays[1:]:
                want += one
            for _ in arrays:
                np.testing.assert_array_equal(outs.pop(0), want)


def draw(random: np.random.Generator, ranks: int, sizes: Sequence[int]) -> list[list[Array]]:
    """Inputs for each size and rank."""
    return [[random.standard_normal(n).astype(np.float32) for _ in range(ranks)] for n in sizes]


def by_nvcc(
    machine: Any, call: Any, kernel: str, ranks: int, epoch: int = 0
) -> tuple[Group, Launch]:
    """A group, and the launches of a kernel for vectors of four."""
    group = Group(machine, ranks, 4 * 140, 2, epoch)
    arrays = zip(group.inputs, group.shares, group.flags, strict=True)
    peers = tuple((rank, one) for rank, three in enumerate(arrays) for one in three)

    def launch(rank: int, out: Array) -> Any:
        arguments = (peers, rank, ranks, out.size // 4, out, group.epochs[rank])
        return call(kernel, 2, 32, arguments)

    return group, launch


@pytest.mark.parametrize("epoch", [0, NEAR_THE_END])
@pytest.mark.parametrize("ranks", [1, 2, 3, 4])
@pytest.mark.parametrize("kernel", ["one_shot", "two_shot"])
def test_all_reduce_by_nvcc(
    nvcc: Any,
    call: Any,
    write: Any,
    random: np.random.Generator,
    *,
    kernel: str,
    ranks: int,
    epoch: int,
) -> None:
    group, launch = by_nvcc(nvcc("all_reduce"), call, kernel, ranks, epoch)
    group.check(write, draw(random, ranks, (4 * 37, 0, 4 * 140, 4)), launch)


@pytest.mark.parametrize("which", range(4))
@pytest.mark.parametrize("pattern", ["st.release.sys", "ld.acquire.sys"])
def test_the_scope_of_a_device_does_not_reach_peers(
    nvcc: Any, call: Any, write: Any, random: np.random.Generator, pattern: str, which: int
) -> None:
    """Of each signal and each wait of both kernels, launched twice."""
    machine = nvcc("all_reduce")
    machine.edit(pattern, pattern.replace("sys", "gpu"), which)
    group, launch = by_nvcc(machine, call, ("one_shot", "two_shot")[which // 2], 2)
    steps, _ = group.steps(write, draw(random, 2, (4 * 37, 4 * 140)), launch)
    assert machine.first_finding(*steps).kind == "data race"


@pytest.mark.parametrize("epoch", [0, NEAR_THE_END])
def test_all_reduce_by_triton(
    triton: Any, call: Any, write: Any, random: np.random.Generator, epoch: int
) -> None:
    """All threads raise a flag, and all wait for it."""
    ranks = 3
    group = Group(triton("one_shot"), ranks, 128, 2, epoch)
    inputs, flags = tuple(enumerate(group.inputs)), tuple(enumerate(group.flags))

    def launch(rank: int, out: Array) -> Any:
        return call("one_shot", 2, 32, (inputs, flags, out, group.epochs[rank], rank, out.size))

    group.check(write, draw(random, ranks, (67, 0, 128)), launch, seeds=2)
