"""Programs as jobs, run by a model: kernels in NumPy before they become `llvm`, with the plan of each rank.

Memory that nobody has written is poisoned, and a collective sees only what its rank waits for.
"""

from __future__ import annotations

import importlib
import sys
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt
import pytest
from xdsl.dialects import gpu
from xdsl.dialects.builtin import ModuleOp
from xdsl.dialects.func import FuncOp
from xdsl.ir import Operation

from coconet_ir.diagnostics import IRError, position
from coconet_ir.emu.checks import program as emu_program
from coconet_ir.emu.checks.answers import Ran
from coconet_ir.emu.checks.program import bind_job, expected, job_of, repeated, run
from coconet_ir.emu.code.table import Refused
from coconet_ir.emu.execution import host
from coconet_ir.emu.job import Job
from coconet_ir.emu.ptx.syntax import Location
from coconet_ir.emu.reports.findings import Finding, Where
from coconet_ir.frontend import make_context
from coconet_ir.lowering.lower import LowerPass
from coconet_ir.program import Program
from coconet_ir.runtime.compile import Compiled
from coconet_ir.runtime.plan import Plan
from coconet_ir.runtime.steps import ARENA, Collective, Copy, Launch, Place, Step
from coconet_ir.schedule.selection import argument_names
from coconet_ir.sim.binding import Input, bind_mesh, the_function
from coconet_ir.sim.compare import compare, rounding
from coconet_ir.sim.executor import Outcome
from coconet_ir.sim.inputs import load
from coconet_ir.tools.run import main

Array = npt.NDArray[Any]
Held = list[dict[int, Array]]
EXAMPLES = Path(__file__).parents[4] / "examples"
POISON = 0xA5


@pytest.fixture(autouse=True)
def own_cache(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A cache that is empty and no user's."""
    monkeypatch.setenv("COCONET_CACHE", str(tmp_path))


@pytest.fixture(scope="session")
def machine() -> Any:
    """The module that executes kernels, of the tests of the lowering."""
    sys.path.insert(0, str(Path(__file__).parents[2] / "lowering"))
    try:
        return importlib.import_module("machine")
    finally:
        del sys.path[0]


class Model:
    """A function on ranks that are NumPy arrays."""

    def __init__(self, machine: Any, func: FuncOp):
        parent = func.parent_op()
        assert isinstance(parent, ModuleOp)
        self.machine, self.func, self.module = machine, func, parent.clone()
        for stage in LowerPass("sm_90a").stages()[:-1]:
            stage.apply(make_context(), self.module)
        kernels = [op for op in self.module.walk() if isinstance(op, gpu.FuncOp)]
        self.kernels: Mapping[str, Operation] = {op.sym_name.data: op for op in kernels}
        plan = Plan(func, the_function(self.module, None))
        self.compiled = Compiled(plan, "", "sm_90a")

    def run(self, mesh: Mapping[str, int], inputs: Mapping[str, Input], repeat: int = 1) -> Outcome:
        """The outputs of so many calls."""
        bound = bind_job(self.compiled, mesh, inputs, repeat)
        memory = self.memory(bound.job)
        self.go(bound.job, memory)
        return bound.outcome(as_bytes(memory))

    def memory(self, job: Job) -> Held:
        """What the ranks hold before a run."""
        found: Held = []
        for rank in job.ranks:
            held = {n: np.full(one.bytes, POISON, np.uint8) for n, one in rank.memory.items()}
            for number, one in rank.memory.items():
                if one.content is not None:
                    held[number][:] = np.frombuffer(one.content, np.uint8)
            found.append(held)
        return found

    def go(self, job: Job, memory: Held) -> None:
        """Run every rank as far as it comes, until all are done."""
        given: dict[tuple[tuple[int, ...], int], dict[int, Array]] = {}
        places = [0] * len(job.ranks)
        while any(n < len(r.steps) for n, r in zip(places, job.ranks, strict=True)):
            before = list(places)
            for rank, held in enumerate(memory):
                steps = job.ranks[rank].steps
                while places[rank] < len(steps):
                    if not self.step(rank, steps, places[rank], held, given):
                        break
                    places[rank] += 1
            assert places != before, "all ranks wait"

    def step(
        self,
        rank: int,
        steps: Sequence[Step],
        number: int,
        held: dict[int, Array],
        given: dict[tuple[tuple[int, ...], int], dict[int, Array]],
    ) -> bool:
        """Do a step of a rank; whether it could be done."""
        step = steps[number]
        if isinstance(step, Launch):
            self.machine.run_launch(self.module, self.kernels[step.kernel], step, held)
            return True
        read = [_span(held, span).copy() for span in host.reads(step)]
        if isinstance(step, Collective):
            earlier = [one for one in steps[:number] if isinstance(one, Collective)]
            times = sum(one.ranks == step.ranks for one in earlier)
            arrived = given.setdefault((step.ranks, times), {})
            arrived.setdefault(rank, *read)
            place = step.ranks.index(rank)
            feeds = {step.ranks[one] for one in host.feeds(step)[place]}
            if not feeds <= arrived.keys():
                return False
            nothing = np.full(len(read[0]), POISON, np.uint8)
            seen = [arrived[one] if one in feeds else nothing for one in step.ranks]
            found = host.collective(step, seen)[place]
        else:
            found = host.local(step, read)
        _span(held, host.writes(step))[:] = np.ascontiguousarray(found).reshape(-1).view(np.uint8)
        return True


def _span(held: Mapping[int, Array], span: host.Span) -> Array:
    place, count = span
    found = held[place.owner][place.offset : place.offset + count]
    assert len(found) == count
    return found


def as_bytes(memory: Held) -> list[dict[int, bytes]]:
    """Memory as a run of the emulator gives it."""
    return [{number: array.tobytes() for number, array in held.items()} for held in memory]


def agree(wanted: Outcome, found: Outcome) -> None:
    """Assert that outputs are equal but for the rounding of their types."""
    rows = compare(wanted, found)
    assert [row.name for row in rows] == list(wanted.outputs)
    for row in rows:
        assert row.within(rounding(wanted.outputs[row.name].array.dtype)), row


OPEN = 0
SHAPES: Mapping[str, Mapping[str, Sequence[int | None]]] = {
    **{
        name: {"w": (OPEN,)}
        for name in ("sgd", "adam", "adam_f32", "lamb", "lamb_segments", "clip", "hierarchical")
    },
    **{
        name: {"residual": (2, OPEN, 3)}
        for name in ("attention", "attention_full", "mlp", "pipeline")
    },
    "two_axes": {"w": (OPEN, 5)},
    "rmsnorm": {"stream": (2, OPEN, 5)},
    "moe": {"x": (OPEN, 3, 2), "w_up": (OPEN, None, 3)},
    "buckets": {"up": (OPEN, 3), "bias": (OPEN,), "down": (5, OPEN)},
}
"""The shape of arguments of each example, `OPEN` where it takes each size."""


@pytest.mark.parametrize("name", SHAPES)
def test_examples(machine: Any, name: str) -> None:
    """On 1 to 4 ranks, at an even, an odd and no size; the second time they see what they updated."""
    func = Program.load(str(EXAMPLES / f"{name}.mlir")).infer().function()
    model = Model(machine, func)
    axes = bind_mesh(func, {}).axes
    for counts, size, repeat in (((4, 1), 8, 1), ((2, 2), 7, 2), ((1, 3), 5, 1), ((3, 1), 0, 1)):
        sizes = counts[: len(axes)] if len(axes) > 1 else (max(counts),)
        mesh = dict(zip(axes, sizes, strict=True))
        shapes = {
            argument: tuple(size if extent == OPEN else extent for extent in shape)
            for argument, shape in SHAPES[name].items()
        }
        inputs = Program.load(str(EXAMPLES / f"{name}.mlir")).generate(mesh, {}, shapes, size)
        agree(expected(func, mesh, inputs, repeat), model.run(mesh, inputs, repeat))


LAYOUTS = """
layout.mesh @mesh(a = 2, b = 2)
!own = tensor<?xf32, #layout.dist<a = local, b = sliced(0)>>
!sum = tensor<f32, #layout.dist<a = local, b = partial(sum)>>
!cut = tensor<?xf32, #layout.dist<a = local>>
!root = tensor<?xf32, #layout.dist<a = local, b = root(1)>>
func.func @f(%x: !own, %r: !root, %s: f32, %w: tensor<?xf32>) -> (!cut, !root, f32, f32, !sum, !own) {
  %g = coll.all_gather %x over [b] : !own -> !cut
  %q = comp.scale %r by %s : !root
  %t = arith.addf %s, %s : f32
  %c = arith.constant 0 : index
  %e = tensor.extract %w[%c] : tensor<?xf32>
  %p = comp.reduce sum %x dims [0] : !own -> !sum
  %y = comp.update %x, %x : !own
  func.return %g, %q, %t, %e, %p, %y : !cut, !root, f32, f32, !sum, !own
}"""
MESH = {"a": 3, "b": 2}


def layouts(machine: Any) -> tuple[Model, dict[str, Input]]:
    """A program with values of all layouts, and inputs for it."""
    program = Program.parse(LAYOUTS)
    inputs = program.generate(MESH, {}, {"x": (5,), "r": (3,), "w": (4,)}, 1)
    return Model(machine, program.function()), inputs


def test_outputs_of_all_layouts(machine: Any) -> None:
    """Local, partial and sliced ones, on a root, and scalars of the host and of the device."""
    model, inputs = layouts(machine)
    agree(expected(model.func, MESH, inputs), model.run(MESH, inputs))


def test_what_each_rank_holds(machine: Any) -> None:
    """Blocks of arguments, what stands for undefined values off the root, and results that nobody has written."""
    model, inputs = layouts(machine)
    job = bind_job(model.compiled, MESH, inputs).job
    x, r, w = (np.asarray(inputs[name]) for name in "xrw")
    for number, rank in enumerate(job.ranks):
        a, b = divmod(number, 2)
        held = {one.name: one for one in rank.memory.values()}
        assert held["%x"].content == x[a, 3 * b : 3 * b + 3].tobytes()
        assert held["%w"].content == w.tobytes()
        root = held["%r"].content
        assert root is not None
        assert root == r[a].tobytes() if b == 1 else np.isnan(np.frombuffer(root, np.float32)).all()
        results = {name: one for name, one in held.items() if name.startswith("result")}
        assert {name: (one.bytes, one.content) for name, one in results.items()} == {
            "result0": (20, None),
            "result1": (12, None),
            "result3": (4, None),
            "result4": (4, None),
            "result5": (12 - 4 * b, None),
        }
        assert held["arena"] is rank.memory[ARENA]
        assert held["arena"].content is None


def test_ranks_that_should_agree_and_do_not(machine: Any) -> None:
    """What is replicated has the same bits everywhere; where nobody has a value any bits will do."""
    model, inputs = layouts(machine)
    bound = bind_job(model.compiled, MESH, inputs)
    memory = model.memory(bound.job)
    model.go(bound.job, memory)
    numbers = {one.name: number for number, one in bound.job.ranks[0].memory.items()}
    memory[2][numbers["result1"]][0] ^= 1
    agree(expected(model.func, MESH, inputs), bound.outcome(as_bytes(memory)))
    memory[3][numbers["result0"]][0] ^= 1
    with pytest.raises(IRError, match=r"different bits .*: rank\(s\) 3 differ from rank 2"):
        bound.outcome(as_bytes(memory))


def test_calls_in_a_row() -> None:
    """A launch waits for the launches of the call before, and for those of its own call as it did."""

    def launch(*after: int) -> Launch:
        return Launch("k", (1, 1, 1), (32, 1, 1), (), after)

    copy = Copy(Place(0), Place(1), 4)
    steps = (launch(), launch(0), copy, launch())
    assert repeated(steps, 1) == steps
    again = (launch(0, 1, 3), launch(0, 1, 3, 4), copy, launch(0, 1, 3))
    third = (launch(4, 5, 7), launch(4, 5, 7, 8), copy, launch(4, 5, 7))
    assert repeated(steps, 3) == (*steps, *again, *third)


def test_a_job_has_kernels_with_lines() -> None:
    """From a function that is checked; the lines are those of its text."""
    program = Program.load(str(EXAMPLES / "sgd.mlir")).infer()
    inputs = program.generate({"dp": 2}, {}, {"w": (5,)}, 0)
    job = job_of(program.function(), {"dp": 2}, inputs).job
    kernels = {step.kernel for step in job.ranks[0].steps if isinstance(step, Launch)}
    assert kernels
    assert all(f".entry {name}(" in job.ptx for name in kernels)
    assert "sgd.mlir" in job.ptx
    assert ".loc" in job.ptx


def test_inputs_that_do_not_fit() -> None:
    """The simulator's words."""
    func = Program.load(str(EXAMPLES / "sgd.mlir")).infer().function()
    compiled = Compiled(Plan(func, func), "", "sm_90a")
    for inputs, said in (
        ({}, "has no input for argument"),
        (dict.fromkeys(argument_names(func), np.zeros((3, 4), np.float32)), "needs 2x"),
    ):
        with pytest.raises(IRError, match=said):
            bind_job(compiled, {"dp": 2}, inputs)


SGD = str(EXAMPLES / "sgd.mlir")


def run_that_gives(monkeypatch: pytest.MonkeyPatch, answer: Ran | Exception) -> str:
    """What is said of a run of SGD that gives this answer."""
    program = Program.load(SGD).infer()
    inputs = program.generate({"dp": 2}, {}, {"w": (5,)}, 0)

    def run_once(job: Job) -> Ran:
        if isinstance(answer, Exception):
            raise answer
        return answer

    monkeypatch.setattr(emu_program, "run_once", run_once)
    with pytest.raises(IRError) as caught:
        run(program.function(), {"dp": 2}, inputs)
    return caught.value.render()


def test_a_finding_is_an_error_at_its_operation(monkeypatch: pytest.MonkeyPatch) -> None:
    """With both accesses, at the lines of the program that they come from."""
    func = Program.load(SGD).infer().function()
    one, other = [op for op in func.walk() if op.name == "comp.update"]
    at = [position(one), position(other)]
    assert at[0] is not None
    assert at[1] is not None
    first, second = (Location(p.file, p.line, p.column) for p in at if p is not None)
    race = Finding(
        "data race",
        "two threads store to one place",
        (
            Where(1, "move", 2, (3, 0, 0), (4, 0, 0), 17, "st.global.b32 [%rd1], %r1;", first),
            Where(0, "move", 2, (5, 0, 0), (6, 0, 0), 19, "st.global.b32 [%rd2], %r2;", second),
            Where(0, text="all_reduce"),
        ),
        "%w of rank 1",
        8,
        ("no barrier orders them",),
    )
    said = run_that_gives(monkeypatch, Ran((race,), ({}, {}), 0.0)).splitlines()
    assert said[0] == (
        f"{at[0]}: error: '{one.name}' op has a data race: two threads store to one place (%w of rank 1, byte 8)"
    )
    assert said[1] == (
        f"{at[0]}: note: rank 1, kernel 'move', block (3, 0, 0), thread (4, 0, 0): st.global.b32 [%rd1], %r1;"
    )
    assert said[2].startswith(f"{at[1]}: note: rank 0, kernel 'move', block (5, 0, 0)")
    assert said[3] == f"{position(func)}: note: rank 0: all_reduce"
    assert said[4] == f"{at[0]}: note: no barrier orders them"


def test_a_finding_without_places(monkeypatch: pytest.MonkeyPatch) -> None:
    said = run_that_gives(monkeypatch, Ran((Finding("hang", "nobody can go on"),), (), 0.0))
    assert said.endswith("error: 'func.func' op has a hang: nobody can go on")


def test_kernels_that_are_not_emulated(monkeypatch: pytest.MonkeyPatch) -> None:
    said = run_that_gives(monkeypatch, Refused("`foo.b32` is unknown", 7))
    assert "'func.func' op has kernels that are not emulated: line 7: `foo.b32` is unknown" in said


def test_the_tool_runs_programs(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """The table of the simulator, and what both gave beside each other."""
    command = [SGD, "--mesh", "dp=3", "--shape", "w=13"]
    paths = [str(tmp_path / name) for name in ("emu.npz", "sim.npz")]
    assert main([*command, "--backend", "emu", "--against", "sim", "--outputs", paths[0]]) == 0
    found = capsys.readouterr().out
    assert main([*command, "--outputs", paths[1]]) == 0
    assert found.startswith(capsys.readouterr().out)
    assert "compared with simulated ranks" in found
    assert found.count("same") == 2
    emu, sim = (load(path) for path in paths)
    assert {name: array.tobytes() for name, array in emu.items()} == {
        name: array.tobytes() for name, array in sim.items()
    }


def test_a_program_without_kernels(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """Calls of the library alone, and scalars of the host."""
    path = tmp_path / "calls.mlir"
    path.write_text("""layout.mesh @mesh(dp = 2)
!x = tensor<3xf16, #layout.dist<dp = local>>
func.func @f(%x: !x, %n: i32) -> (!x, i32) {
  %s = coll.permute %x over [dp] shift 1 : !x -> !x
  func.return %s, %n : !x, i32
}""")
    command = [str(path), "--set", "n=-3", "--backend", "emu", "--against", "sim"]
    for ranks in (1, 3):
        assert main([*command, "--mesh", f"dp={ranks}"]) == 0
        assert capsys.readouterr().out.count("same") == 2
