"""Special registers, in launches of three dimensions."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import replace
from typing import Any

import numpy as np
import pytest

from coconet_ir.runtime.steps import Launch, Step

Run = Callable[..., Any]
NAMES = [
    *(f"%{name}.{axis}" for name in ("tid", "ntid", "ctaid", "nctaid") for axis in "xyz"),
    *(f"%{name}.{axis}" for name in ("clusterid", "nclusterid", "cluster_ctaid", "cluster_nctaid") for axis in "xyz"),
    *(f"%lanemask_{name}" for name in ("eq", "lt", "le", "gt", "ge")),
    *("%laneid", "%warpid", "%nwarpid", "%nsmid", "%cluster_ctarank", "%cluster_nctarank"),
    *("%is_explicit_cluster", "WARP_SZ"),
]  # fmt: skip


@pytest.mark.parametrize(
    ("grid", "block"), [((1, 1, 1), (1, 1, 1)), ((2, 3, 2), (5, 4, 3)), ((1, 1, 3), (64, 1, 2))]
)
def test_who_a_thread_is(run: Run, grid: tuple[int, int, int], block: tuple[int, int, int]) -> None:
    threads, blocks = int(np.prod(block)), int(np.prod(grid))
    stores = "".join(
        f"mov.u32 %r0, {name};\nst.global.u32 [%l0+{4 * n}], %r0;\n" for n, name in enumerate(NAMES)
    )
    body = f"""mov.u32 %r1, %ctaid.z;
mov.u32 %r2, %ctaid.y;
mad.lo.u32 %r1, %r1, {grid[1]}, %r2;
mad.lo.u32 %r1, %r1, {grid[0]}, %block;
mov.u32 %r2, %tid.z;
mov.u32 %r3, %tid.y;
mad.lo.u32 %r2, %r2, {block[1]}, %r3;
mad.lo.u32 %r2, %r2, {block[0]}, %tid;
mad.lo.u32 %r1, %r1, {threads}, %r2;
mul.wide.u32 %l0, %r1, {4 * len(NAMES)};
add.u64 %l0, %x, %l0;
{stores}"""
    size = 4 * len(NAMES) * threads * blocks
    found = run(body, {"x": size}, grid=grid, block=block, sms=9, seed=3).array("x")
    for n, row in enumerate(found.reshape(-1, len(NAMES))):
        b, t = divmod(n, threads)
        lane = t % 32
        tid = (t % block[0], t // block[0] % block[1], t // (block[0] * block[1]))
        ctaid = (b % grid[0], b // grid[0] % grid[1], b // (grid[0] * grid[1]))
        below = (1 << lane) - 1
        want = [
            *(*tid, *block, *ctaid, *grid),
            *(*ctaid, *grid, 0, 0, 0, 1, 1, 1),
            *(1 << lane, below, below * 2 + 1, 2**32 - 2 - 2 * below, 2**32 - 1 - below),
            *(lane, t // 32, -(-threads // 32), 9, 0, 1, 0, 32),
        ]
        assert row.tolist() == want


def test_processors_and_launches(run: Run) -> None:
    """Blocks that are there at once have processors of their own; each launch has a number."""

    def steps(launch: Launch) -> Sequence[Step]:
        return (launch, replace(launch, kernel="m", after=(0,)))

    body = """mov.u32 %r0, %smid;
mov.u64 %l2, %gridid;
cvt.u32.u64 %r1, %l2;
mul.wide.u32 %l0, %block, 8;
add.u64 %l0, %{}, %l0;
st.global.v2.u32 [%l0], {{%r0, %r1}};
red.release.gpu.global.add.u32 [%n], 1;
WAIT:
ld.acquire.gpu.global.u32 %r2, [%n];
setp.lt.u32 %p0, %r2, {};
@%p0 bra WAIT;"""
    bodies = {"k": body.format("x", 4), "m": body.format("y", 8)}
    ran = run(bodies, {"x": 32, "y": 32, "n": np.zeros(1, np.uint32)}, grid=4, sms=4, steps=steps)
    first, second = (ran.array(name).reshape(4, 2) for name in ("x", "y"))
    assert sorted(first[:, 0]) == sorted(second[:, 0]) == [0, 1, 2, 3]
    assert first[0, 1] != second[0, 1]
