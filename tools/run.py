"""`coconet-run`: run a distributed program and show, save or compare what it gives."""

from __future__ import annotations

import argparse
import sys
from collections.abc import Callable, Mapping, Sequence
from functools import partial
from typing import TYPE_CHECKING

from coconet_ir.diagnostics import (
    Diagnostic,
    Unavailable,
    diagnose,
    internal_error,
    render,
)
from coconet_ir.dialects.attributes import dist_of
from coconet_ir.files import give_up_output, require_output
from coconet_ir.frontend import load_python, source_name
from coconet_ir.tools.bar import Bar
from coconet_ir.tools.program import add_options, load_function, make_inputs, seed

if TYPE_CHECKING:
    from xdsl.dialects.func import FuncOp

    from coconet_ir.sim.binding import Input
    from coconet_ir.sim.executor import Outcome
    from coconet_ir.sim.mpi import Session

    Executor = Callable[[FuncOp, Mapping[str, int], Mapping[str, Input]], Outcome]

_COMPILED = ("emu", "cuda")
"""The back ends that run kernels."""


def main(args: Sequence[str] | None = None) -> int:
    """Run the tool; returns 0 for success, 1 for an error or outputs that differ, 2 for wrong usage or no device."""
    try:
        options = _arguments(args)
    except SystemExit as stop:  # --help and usage errors, already printed
        return stop.code if isinstance(stop.code, int) else 2
    session: Session | None = None
    try:
        if options.backend == "mpi":
            from coconet_ir.sim.mpi import Session

            session = Session()
        require_output()
        status = _run(options, session)
        sys.stdout.flush()
        if session is not None:
            session.close()
        return status
    except OSError as error:
        if session is not None:
            session.fail(str(error))
        return give_up_output(error)
    except KeyboardInterrupt:
        if session is not None:
            session.fail("interrupted")
        return 130
    except Exception as error:
        message = render(_diagnostics(error))
        if session is not None:
            session.fail(message)
        print(message, file=sys.stderr)
        return 2 if isinstance(error, Unavailable) else 1


def _arguments(args: Sequence[str] | None) -> argparse.Namespace:
    parser = _argument_parser()
    options = parser.parse_args(args)
    schedules = (reference.partition(":")[0] for reference in options.schedule)
    if [options.program, options.compare, *schedules].count("-") > 1:
        parser.error("only one of the programs and schedules can be standard input")
    if options.backend in _COMPILED and options.exact:
        parser.error("--exact is for simulated ranks: kernels compute in the program's own types")
    if options.backend not in _COMPILED and options.against is not None:
        parser.error("--against compares a run of kernels: it needs --backend emu or cuda")
    return options


def _argument_parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(
        prog="coconet-run",
        description="Run a distributed program on simulated or emulated ranks, or on one GPU.",
        epilog="exit status: 0 success, 1 an error or outputs that differ, 2 wrong usage, or no GPU to run on",
        allow_abbrev=False,
    )
    add = parser.add_argument
    add("program", metavar="PROG.mlir", help="the program; - is standard input")
    add("--backend", choices=("sim", "mpi", "emu", "cuda"), default="sim", help="sim: all ranks in this "
        "process; mpi: one rank a process, started by mpirun; emu: compiled, all ranks on an emulator of PTX; cuda: "
        "compiled, one rank on a GPU")  # fmt: skip
    add_options(parser)
    add("--seed", type=seed, default=0, metavar="N", help="for the inputs that are not given")
    add("--outputs", metavar="FILE.npz", help="where to write updated arguments and results")
    add(
        "--compare",
        metavar="B.mlir",
        help="also run B.mlir, to which no schedule is applied, on the same inputs: exit 1 if it differs",
    )
    add("--against", choices=("sim",), help="with --backend emu or cuda, also run the program on simulated ranks: "
        "exit 1 if it differs by more than rounding")  # fmt: skip
    add("--exact", action="store_true", help="compute in f64 everywhere; --compare allows 1e-12")
    add("--version", action="version", version="coconet-run 0.1.0")
    return parser


def _run(options: argparse.Namespace, session: Session | None) -> int:
    from coconet_ir.sim.inputs import save

    execute = _executor(options, session)
    for path in options.load:
        load_python(path)
    func = load_function(options.program, options.func, options.schedule)
    compared: str | None = options.compare
    other = None if compared is None else load_function(compared, options.func)
    mesh = _find_mesh(func, options, session)
    values = make_inputs(func, mesh, options, options.seed)
    outcome = execute(func, mesh, values)
    others: list[tuple[str, Outcome]] = []
    if compared is not None and other is not None:
        others.append((source_name(compared), execute(other, mesh, values)))
    if options.against is not None:
        what = "a simulated rank" if outcome.mesh.ranks == 1 else "simulated ranks"
        others.append((what, _simulate(func, mesh, values)))
    if session is not None and session.rank:
        return 0
    if options.outputs is not None:
        save(options.outputs, {name: out.array for name, out in outcome.outputs.items()})
    title = " + ".join(map(source_name, (options.program, *options.schedule)))
    print(_outputs(title, func, outcome))
    verdicts = [_compare(options, outcome, name, second) for name, second in others]
    return 0 if all(verdicts) else 1


def _executor(options: argparse.Namespace, session: Session | None) -> Executor:
    """What runs a function. Raises `Unavailable`."""
    if options.backend == "emu":
        from coconet_ir.emu.checks.program import run as emulate

        return emulate
    if options.backend != "cuda":
        return partial(_simulate, exact=options.exact, session=session)
    from coconet_ir.runtime.cuda import find_driver
    from coconet_ir.runtime.run import run

    find_driver()  # without one all else is in vain
    return run


def _find_mesh(
    func: FuncOp, options: argparse.Namespace, session: Session | None
) -> Mapping[str, int]:
    """The sizes of axes that are not the program's own. Raises `IRError` for more ranks than there can be."""
    from coconet_ir.sim.binding import bind_mesh

    mesh: dict[str, int] = options.mesh
    if session is not None and not mesh:
        declared = bind_mesh(func, {})
        if len(declared.axes) == 1:  # as many ranks as processes
            return {declared.axes[0]: session.size}
    if options.backend == "cuda":
        from coconet_ir.runtime.entry import one_rank

        one_rank(func, mesh)
    return mesh


def _simulate(
    func: FuncOp,
    mesh: Mapping[str, int],
    inputs: Mapping[str, Input],
    exact: bool = False,
    session: Session | None = None,
) -> Outcome:
    from coconet_ir.sim.executor import run

    silent = session is not None and session.rank != 0
    bar = Bar(sys.stderr, "operations") if sys.stderr.isatty() and not silent else None
    try:
        return run(
            func,
            mesh,
            inputs,
            exact=exact,
            exchange=None if session is None else session.exchange,
            progress=None if bar is None else bar.show,
        )
    finally:
        if bar is not None:
            bar.clear()


def _outputs(title: str, func: FuncOp, outcome: Outcome) -> str:
    """What came out, as a table."""
    from coconet_ir.sim.compare import checksum, extremes
    from coconet_ir.sim.elements import element_name

    mesh = outcome.mesh
    rows = [["output", "shape", "type", "layout", "min", "max", "checksum"]]
    for name, out in outcome.outputs.items():
        least, greatest = extremes(out.array) or ("-", "-")
        shape = "x".join(map(str, out.array.shape)) or "scalar"
        layout = str(dist_of(out.type)).strip("<>")
        ends = [end if isinstance(end, str) else f"{end:.6g}" for end in (least, greatest)]
        rows.append(
            [name, shape, element_name(out.array.dtype), layout, *ends, checksum(out.array)]
        )
    title += f": @{func.sym_name.data} on {mesh.ranks} rank(s)"
    title += f" ({mesh})" if mesh.axes else ""
    return f"{title}\n{_table(rows)}" if outcome.outputs else f"{title}: no outputs"


def _compare(options: argparse.Namespace, first: Outcome, name: str, second: Outcome) -> bool:
    """Show how two runs differ; whether they are the same, as far as the options ask for it."""
    from coconet_ir.sim.compare import EXACT_TOLERANCE, compare, rounding

    rows = [["output", "bits", "max abs error", "relative", "verdict"]]
    same = True
    for d in compare(first, second):
        tolerance = EXACT_TOLERANCE if options.exact else None
        if options.backend in _COMPILED and d.problem is None:
            tolerance = rounding(first.outputs[d.name].array.dtype)
        same &= (within := d.within(tolerance))
        verdict = "same" if within else (d.problem or "DIFFERS")
        bits = "equal" if d.equal else "differ"
        rows.append([d.name, bits, f"{d.absolute:.3g}", f"{d.relative:.3g}", verdict])
    print(f"\ncompared with {name}\n{_table(rows)}")
    if not same:
        if options.exact:
            hint = f" by more than {EXACT_TOLERANCE} of their largest magnitude"
        elif options.backend in _COMPILED:
            hint = " by more than the rounding of their type"
        else:
            hint = "; --exact tells rounding from a wrong result"
        print(f"outputs differ{hint}", file=sys.stderr)
    return same


def _table(rows: Sequence[Sequence[str]]) -> str:
    """The rows in columns, the first underlined."""
    widths = [max(map(len, column)) for column in zip(*rows, strict=True)]
    lines = ["  ".join(map(str.ljust, row, widths)).rstrip() for row in rows]
    return "\n".join([lines[0], "  ".join("-" * width for width in widths), *lines[1:]])


def _diagnostics(error: Exception) -> list[Diagnostic]:
    if isinstance(error, MemoryError):
        return [Diagnostic("error", f"the run needs more memory than there is: {error}")]
    return diagnose(error) or [internal_error(error)]


if __name__ == "__main__":
    sys.exit(main())
