"""How fast kernels are on one GPU, beside a copy of as many bytes in the same run and beside torch.

    python benchmarks/kernels.py [--only adam_f32,lamb,small,graph,sweep] [--runs 20] [--json FILE]

First every program is compared with NumPy in f64 at two sizes, its outputs poisoned. Then the sections: programs by
name (all unless some are named), LAMB's two large kernels apart with it; `small`: 4 KiB and 64 KiB, `REPEATS` calls in
one graph, ours and torch's; `graph`: five kernels in one graph against graphs of each; `sweep`, only if named: other
launch shapes. Times are medians of events around each call, all candidates in turn, after two calls to warm up.
"""

from __future__ import annotations

import argparse
import json
import sys
from collections.abc import Callable, Iterable, Mapping
from contextlib import ExitStack
from importlib import import_module
from itertools import product
from pathlib import Path
from statistics import median
from types import SimpleNamespace
from typing import Any
from unittest.mock import patch

import numpy as np
from kernel_cases import ADAM, CASES, CHAIN, TOLERANCES, Case, error

from coconet_ir.api import Program
from coconet_ir.lowering.kernels import geometry

REPEATS = 100
"""Calls in a graph of small kernels."""

AHEAD = 1_500_000
"""Cycles for which the device is kept busy at the start of a round, so that it never waits for the host."""

CHECKED = ({"n": 1 << 20, "r": 64, "c": 8192}, {"n": 100_003, "r": 37, "c": 1031})
SMALL = {
    "4KiB": {"n": 1024, "r": 2, "c": 1024},
    "64KiB": {"n": 16_384, "r": 32, "c": 1024},
}
LAMB_PHASES = {0: ("moments and norms", 28), 2: ("step", 12)}
"""The large kernels of LAMB by their number, and the bytes that they move for an element."""

EDGE_US, START_US = 1.0, 3.0
"""What a graph of kernels may take beyond them: for each dependence, and once."""

ALL = 1 << 30
"""More bytes than a thread loads: it has as many vectors as the launch table says."""

NOISE = 1.02
"""Up to which ratio two times count as equal."""

POINTWISE_SHAPES = tuple(product((128, 256, 512), (1, 2, 4)))
ROW_SHAPES = ((128, 32), (256, 16), (256, 32), (512, 16), (512, 32))

Action = Callable[[], object]


class Bench:
    """A GPU, torch on it, and the figures found so far."""

    def __init__(self, runs: int):
        self.torch: Any = import_module("torch")
        self.runs = runs
        self.figures: dict[str, tuple[float, str]] = {}
        self.missed: list[str] = []
        self._loaded: dict[str, Any] = {}

    def figure(self, name: str, value: float, unit: str, met: bool | None = None) -> None:
        """Print a figure, and whether its bound is met."""
        self.figures[name] = (value, unit)
        mark = {None: "", True: "  ok", False: "  MISSED"}[met]
        if met is False:
            self.missed.append(name)
        print(f"figure: {name} = {value:.4g} {unit}{mark}", flush=True)

    # Calls

    def load(self, case: Case) -> Any:
        """Our program on the device, compiled anew for the launch shapes of now."""
        compiled: Any = Program.load(case.path).compile("sm_90a", cache=False)
        return compiled.load(0)

    def executable(self, case: Case) -> Any:
        """Our program on the device, as users have it."""
        if case.name not in self._loaded:
            self._loaded[case.name] = self.load(case)
        return self._loaded[case.name]

    def call(self, case: Case, x: SimpleNamespace, executable: Any = None) -> Any:
        """Our program, bound to tensors."""
        tensors = {name: getattr(x, name) for name in case.arrays(case.shape) if name != "out"}
        return (executable or self.executable(case)).prepare(**tensors, **case.scalars)

    def tensors(self, case: Case, shape: Mapping[str, int]) -> SimpleNamespace:
        """Random arguments, a result for torch, and what torch needs beside them."""
        torch, x = self.torch, SimpleNamespace()
        types = {"f32": torch.float32, "bf16": torch.bfloat16}
        for name, (dims, type, positive) in case.arrays(shape).items():
            tensor = torch.randn(dims, device="cuda", dtype=types[type])
            setattr(x, name, tensor.abs_() if positive else tensor)
        x.step = torch.full((), ADAM["step"], device="cuda")
        if hasattr(x, "grad"):
            x.g = torch.empty_like(x.w)
        return x

    def ours(self, call: Any) -> Action:
        """One call on torch's current stream."""
        return lambda: call.launch(self.torch.cuda.current_stream().cuda_stream)

    def one(self, call: Any, number: int) -> Action:
        """One launch of a call, on torch's current stream."""
        step, executable = call.bound.steps[number], call.executable
        function, driver = executable.function(step.kernel), executable.device.driver

        def run() -> None:
            stream = executable.device.stream(self.torch.cuda.current_stream().cuda_stream)
            pointer = call.packed[number].pointer
            (code,) = driver.cuLaunchKernel(
                function, *step.grid, *step.block, 0, stream, pointer, 0
            )
            assert code == driver.CUresult.CUDA_SUCCESS, code

        return run

    def baselines(self, case: Case, x: SimpleNamespace) -> dict[str, Action]:
        """What torch does."""
        return {
            name: lambda run=run: run(self.torch, x, case.scalars)
            for name, run in case.baselines.items()
        }

    def copy(self, count: int) -> Action:
        """A copy that moves so many bytes, half of them read."""
        size = max(1, count // 8)
        source = self.torch.randn(size, device="cuda")
        target = self.torch.empty_like(source)
        return lambda: target.copy_(source)

    # Times

    def medians(self, actions: Mapping[str, Action]) -> dict[str, float]:
        """Microseconds of each, one after the other in every round."""
        torch = self.torch
        for action in [*actions.values()] * 2:
            action()
        torch.cuda.synchronize()
        spans: list[tuple[str, Any, Any]] = []
        for _ in range(self.runs):
            torch.cuda._sleep(AHEAD)
            for name, action in actions.items():
                start, stop = (torch.cuda.Event(enable_timing=True) for _ in range(2))
                start.record()
                action()
                stop.record()
                spans.append((name, start, stop))
        torch.cuda.synchronize()
        times: dict[str, list[float]] = {name: [] for name in actions}
        for name, start, stop in spans:
            times[name].append(1e3 * start.elapsed_time(stop))
        return {name: median(found) for name, found in times.items()}

    def graph(self, action: Action, repeats: int) -> Action:
        """The replay of a graph of so many calls, captured from a stream."""
        torch = self.torch
        side = torch.cuda.Stream()
        side.wait_stream(torch.cuda.current_stream())
        with torch.cuda.stream(side):
            for _ in range(3):
                action()
        torch.cuda.current_stream().wait_stream(side)
        torch.cuda.synchronize()
        graph = torch.cuda.CUDAGraph()
        with torch.cuda.graph(graph):
            for _ in range(repeats):
                action()
        return graph.replay

    def release(self) -> None:
        """Give back what torch holds of what is gone."""
        self.torch.cuda.synchronize()
        self.torch.cuda.empty_cache()


def check(bench: Bench, case: Case) -> None:
    """Compare a program with its reference. Raises `SystemExit` where it is wrong."""
    executable = bench.executable(case)
    scalars = {**case.scalars, "inv_scale": 0.5} if "inv_scale" in case.scalars else case.scalars
    for seed, shape in enumerate(CHECKED):
        arrays = case.draw(shape, seed)
        on_device = {name: to_torch(bench.torch, array) for name, array in arrays.items()}
        call = executable.prepare(**on_device, **scalars)
        call.poison()
        call.launch()
        for name, want in case.reference(arrays, scalars).items():
            found = (call.results[0] if name == "out" else call.arguments[name]).numpy()
            wrong = error(found, np.asarray(want))
            tolerance = TOLERANCES[case.arrays(shape)[name][1]]
            if not wrong <= tolerance:
                raise SystemExit(
                    f"{case.name} at {shape}: %{name} is {wrong:.3g} from the reference"
                )


def to_torch(torch: Any, array: Any) -> Any:
    """An array on the device; torch reads no bf16 of NumPy."""
    if array.dtype.itemsize == 2:
        return torch.from_numpy(array.view(np.int16)).view(torch.bfloat16).cuda()
    return torch.from_numpy(array).cuda()


def table(bench: Bench, cases: Iterable[Case]) -> None:
    """Programs at their sizes."""
    print(
        f"{'program':24} {'MB':>8} {'us':>9} {'GB/s':>7} {'of copy':>8} {'bound':>6}  torch: us, times ours"
    )
    for case in cases:
        count, x = case.bytes(case.shape), bench.tensors(case, case.shape)
        call = bench.call(case, x)
        baselines = bench.baselines(case, x)
        times = bench.medians({"copy": bench.copy(count), "ours": bench.ours(call), **baselines})
        mine = times["ours"]
        share = times["copy"] / mine
        torch = ", ".join(
            f"{name} {times[name]:.1f}, {times[name] / mine:.2f}" for name in baselines
        )
        print(
            f"{case.name:24} {count / 1e6:8.0f} {mine:9.1f} {count / mine / 1e3:7.0f} {share:8.3f} "
            f"{case.bound or 0:6.2f}  {torch}"
        )
        met = None if case.bound is None else share >= case.bound
        bench.figure(f"kernel_{case.name}_of_copy", share, "", met)
        ratio = times[next(iter(baselines))] / mine
        met = None if case.ratio is None else ratio >= case.ratio
        bench.figure(f"kernel_{case.name}_over_torch", ratio, "x", met)
        if case.name == "lamb":
            phases(bench, case, call)
        del x, call, baselines
        bench.release()


def phases(bench: Bench, case: Case, call: Any) -> None:
    """LAMB's two large kernels, each beside a copy of what it moves."""
    assert len(call.bound.steps) == 3
    for number, (name, each) in LAMB_PHASES.items():
        count = each * case.shape["n"]
        times = bench.medians({"copy": bench.copy(count), "ours": bench.one(call, number)})
        share = times["copy"] / times["ours"]
        print(f"  {name:22} {count / 1e6:8.0f} {times['ours']:9.1f}")
        bench.figure(f"kernel_lamb_phase{number}_of_copy", share, "", share >= (case.bound or 0))


def small(bench: Bench, cases: Iterable[Case]) -> None:
    """Small sizes in a graph, ours and torch's."""
    for (size, shape), case in product(SMALL.items(), cases):
        x = bench.tensors(case, shape)
        call = bench.call(case, x)
        actions = {"ours": bench.ours(call), **bench.baselines(case, x)}
        graphs = {name: bench.graph(action, REPEATS) for name, action in actions.items()}
        times = {name: time / REPEATS for name, time in bench.medians(graphs).items()}
        mine, best = times.pop("ours"), min(times.values())
        print(f"{case.name:24} {size:6} ours {mine:7.2f} us, torch {best:7.2f} us")
        name = f"kernel_{case.name}_{size}_over_torch"
        bench.figure(name, best / mine, "x", best * NOISE >= mine)


def graph(bench: Bench) -> None:
    """Five kernels in one graph, against a graph of each."""
    for size, count in (("4KiB", 1024), ("64Mi", 1 << 26)):
        x = bench.tensors(CHAIN, {"n": count})
        call = bench.call(CHAIN, x)
        numbers = range(len(call.bound.steps))
        together = call.capture()
        alone = {str(i): bench.graph(bench.one(call, i), 1) for i in numbers}
        torch = bench.graph(bench.baselines(CHAIN, x)["eager"], 1)
        times = bench.medians({"all": together.replay, "torch": torch, **alone})
        total = sum(times[name] for name in alone)
        bound = total + EDGE_US * (len(numbers) - 1) + START_US
        print(
            f"{len(numbers)} kernels of {size}: {times['all']:.2f} us in one graph, {total:.2f} us in graphs of one, "
            f"bound {bound:.2f} us, torch in one graph {times['torch']:.2f} us"
        )
        bench.figure(f"graph_{size}", times["all"], "us", times["all"] <= bound)
        bench.figure(f"graph_{size}_bound", bound, "us")
        del x, call, together
        bench.release()


def sweep(bench: Bench) -> None:
    """Other launch shapes, by threads and vectors a thread, or by threads and elements kept a thread."""
    named = {case.name: case for case in CASES}
    for case, names, shapes in (
        (named["adam_f32"], ("POINTWISE_THREADS", "POINTWISE_VECTORS"), POINTWISE_SHAPES),
        (
            named["bias_dropout_residual"],
            ("POINTWISE_THREADS", "POINTWISE_VECTORS"),
            POINTWISE_SHAPES,
        ),
        (named["rmsnorm"], ("ROW_THREADS", "ROW_KEPT"), ROW_SHAPES),
    ):
        x = bench.tensors(case, case.shape)
        actions: dict[str, Action] = {"copy": bench.copy(case.bytes(case.shape))}
        for shape in shapes:
            with ExitStack() as stack:
                stack.enter_context(patch.object(geometry, "POINTWISE_LOADED", ALL))
                for name, value in zip(names, shape, strict=True):
                    stack.enter_context(patch.object(geometry, name, value))
                call = bench.call(case, x, bench.load(case))
            actions["x".join(map(str, shape))] = bench.ours(call)
        times = bench.medians(actions)
        for name in list(actions)[1:]:
            bench.figure(f"sweep_{case.name}_{name}_of_copy", times["copy"] / times[name], "")
        del x, actions
        bench.release()


def main() -> int:
    sections = ("small", "graph", "sweep")
    names = [case.name for case in CASES]
    arguments = argparse.ArgumentParser(description=__doc__)
    arguments.add_argument("--only", default=",".join([*names, "small", "graph"]))
    arguments.add_argument("--runs", type=int, default=20, help="rounds that a median is taken of")
    arguments.add_argument("--json", type=Path, help="where to write the figures too")
    options = arguments.parse_args()
    only = options.only.split(",")
    if unknown := set(only) - {*names, *sections}:
        arguments.error(
            f"no section {', '.join(sorted(unknown))}; there are {', '.join((*names, *sections))}"
        )
    bench = Bench(options.runs)
    device = bench.torch.cuda.get_device_name()
    print(f"{device}, torch {bench.torch.__version__}")
    cases = [case for case in CASES if case.name in only]
    for case in (*cases, *([CHAIN] if "graph" in only else ())):
        check(bench, case)
    table(bench, cases)
    if "small" in only:
        small(bench, cases or CASES)
    if "graph" in only:
        graph(bench)
    if "sweep" in only:
        sweep(bench)
    print(f"missed: {', '.join(bench.missed) or 'nothing'}")
    if options.json is not None:
        options.json.write_text(json.dumps({"device": device, "figures": bench.figures}, indent=1))
    return 0


if __name__ == "__main__":
    sys.exit(main())
