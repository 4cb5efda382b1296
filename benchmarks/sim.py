"""How long the simulator takes for one step of Adam on all ranks, and the memory it needs.

    python benchmarks/sim.py [--elements 1000000] [--ranks 8] [--repeat 3]

The baseline is the same arithmetic in plain NumPy, once for each rank; the bound is 2 s. Peak memory is that of this
process, inputs included.
"""

from __future__ import annotations

import argparse
import resource
import sys
import time
from collections.abc import Callable
from pathlib import Path

import numpy as np
import numpy.typing as npt

from coconet_ir.api import Program

ADAM = Path(__file__).parent.parent / "examples" / "adam.mlir"
BOUND_SECONDS = 2.0
SCALARS = {
    "lr": 1e-3,
    "beta1": 0.9,
    "beta2": 0.999,
    "eps": 1e-8,
    "decay": 0.01,
    "inv_scale": 0.5,
    "step": 3.0,
}

Array = npt.NDArray[np.float32]
F32 = np.float32


def numpy_step(average: Array, w: Array, m: Array, v: Array) -> Array:
    """One step of Adam on one rank, the averaged gradient given."""
    g = (average * F32(0.5)).astype(F32)
    m_new = (m * F32(0.9) + g * F32(0.1)).astype(F32)
    v_new = (v * F32(0.999) + g * g * F32(0.001)).astype(F32)
    direction = (m_new / F32(0.271)) / (np.sqrt(v_new / F32(0.003)) + F32(1e-8))
    w_new = (w - (direction + w * F32(0.01)) * F32(1e-3)).astype(F32)
    return w_new.astype(np.float16).astype(F32)


def main() -> int:
    arguments = argparse.ArgumentParser(description=__doc__)
    arguments.add_argument("--elements", type=int, default=1_000_000)
    arguments.add_argument("--ranks", type=int, default=8)
    arguments.add_argument("--repeat", type=int, default=3)
    options = arguments.parse_args()
    adam = Program.load(str(ADAM))
    rng = np.random.default_rng(0)
    size: int = options.elements
    w: Array = rng.random(size).astype(F32)
    m: Array = rng.random(size).astype(F32)
    v: Array = rng.random(size).astype(F32)
    grad = rng.standard_normal((options.ranks, size)).astype(np.float16)
    inputs = {"grad": grad, "p": w.astype(np.float16), "w": w, "m": m, "v": v, **SCALARS}

    def simulate() -> None:
        adam.run({"dp": options.ranks}, inputs)

    def baseline() -> None:
        average = grad.astype(np.float32).mean(axis=0).astype(np.float16).astype(np.float32)
        for _ in range(options.ranks):
            numpy_step(average, w, m, v)

    def best(step: Callable[[], None]) -> float:
        seconds: list[float] = []
        for _ in range(options.repeat):
            start = time.perf_counter()
            step()
            seconds.append(time.perf_counter() - start)
        return min(seconds)

    ours, reference = best(simulate), best(baseline)
    peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024
    print(f"Adam, {size} elements, {options.ranks} ranks")
    print(f"simulator {ours:.2f} s, plain NumPy {reference:.2f} s, bound {BOUND_SECONDS} s")
    print(f"figure: sim_adam = {ours:.2f} s (bound {BOUND_SECONDS})")
    print(f"figure: sim_adam_over_numpy = {ours / reference:.2f} x")
    print(f"figure: sim_adam_peak_memory = {peak:.0f} MiB")
    return 0


if __name__ == "__main__":
    sys.exit(main())
