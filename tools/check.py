"""`coconet-check`: run kernels on n emulated ranks under PTX's memory model, and report what is wrong with them."""

from __future__ import annotations

import argparse
import json
import re
import sys
from collections.abc import Sequence
from importlib.metadata import version
from pathlib import Path
from typing import TYPE_CHECKING

from coconet_ir.diagnostics import diagnose, internal_error, render
from coconet_ir.emu.checks.check import MOST_FINDINGS, SCHEDULES, check
from coconet_ir.emu.checks.plan import read_plan
from coconet_ir.emu.code.table import Refused
from coconet_ir.emu.ptx.parse import PTXError
from coconet_ir.files import give_up_output, output_file, require_output
from coconet_ir.frontend import load_python, read_source, source_name
from coconet_ir.tools.bar import Bar
from coconet_ir.tools.program import add_options, load_function, make_inputs

if TYPE_CHECKING:
    from coconet_ir.emu.checks.check import Case
    from coconet_ir.emu.schedules.schedule import Name

_OF_PROGRAMS = ("func", "schedule", "mesh", "shape", "set", "inputs", "load", "repeat")
"""Options that say nothing of a PTX file."""


def main(args: Sequence[str] | None = None) -> int:
    """Run the tool; returns 0 if nothing is wrong, 1 for findings, 2 where there is no verdict."""
    ptx = "<ptx>"
    try:
        require_output()
        options = _arguments(args)
        ptx = _ptx_name(options)
        return _run(options)
    except SystemExit as stop:  # --help and usage errors, already printed
        return stop.code if isinstance(stop.code, int) else 2
    except OSError as error:
        give_up_output(error)
    except KeyboardInterrupt:
        return 130
    except Exception as error:
        print(_message(error, ptx), file=sys.stderr)
    return 2


class _ListOpcodes(argparse.Action):
    """Prints the opcodes that are run, and ends."""

    def __call__(self, parser: argparse.ArgumentParser, *_: object) -> None:
        from coconet_ir.emu.code import entries
        from coconet_ir.emu.code.table import TABLE

        assert entries.__all__  # it fills the table
        print("\n".join(sorted(TABLE)), flush=True)
        parser.exit()


def _arguments(args: Sequence[str] | None) -> argparse.Namespace:
    parser = _argument_parser()
    options = parser.parse_args(args)
    if options.exhaustive and options.seed != 0:
        parser.error("--exhaustive runs all schedules, so there is no --seed")
    if options.plan is not None:
        for name in _OF_PROGRAMS:
            if getattr(options, name) != parser.get_default(name):
                parser.error(f"--{name} is for programs: the plan says how a PTX file is run")
        if options.input == options.plan == "-":
            parser.error("only one of the PTX file and the plan can be standard input")
    elif options.input.endswith(".ptx"):
        parser.error("a PTX file needs --plan: what there is in memory, and what is launched")
    return options


def _argument_parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(
        prog="coconet-check",
        description="Run the kernels of a program, or of a PTX file, on n emulated ranks in many schedules, and report "
        "data races, hangs, bad accesses and wrong values.",
        epilog="exit status: 0 nothing found, 1 something is wrong, 2 no verdict: wrong usage, an input that is "
        "refused, or an internal error",
        allow_abbrev=False,
    )
    add = parser.add_argument
    add(
        "input",
        metavar="PROG.mlir|FILE.ptx",
        help="a program, or with --plan PTX; - is standard input",
    )
    add("--plan", metavar="PLAN.json", help="how the kernels of a PTX file are run")
    add(
        "--schedules",
        type=_count,
        default=SCHEDULES,
        metavar="N",
        help=f"how many are run (default {SCHEDULES})",
    )
    add(
        "--seed",
        type=_name,
        default=0,
        metavar="N",
        help="of the first schedule (default 0), or as a finding has it",
    )
    add("--exhaustive", action="store_true",
        help="run all schedules that may differ, at most N of --schedules")  # fmt: skip
    add("--max-findings", type=_count, default=MOST_FINDINGS, metavar="N",
        help=f"stop at so many different ones (default {MOST_FINDINGS})")  # fmt: skip
    add("--format", choices=("text", "json"), default="text", help="of the report")
    add("-o", "--output", default="-", metavar="FILE", help="where to write the report")
    add("--list-opcodes", action=_ListOpcodes, nargs=0, help="print the PTX opcodes that are run")
    add("--version", action="version", version=f"coconet-check {version('coconet-ir')}")
    add_options(parser)
    add("--repeat", type=_count, default=None, metavar="N", help="calls in a row (default 3)")
    return parser


def _name(text: str) -> Name:
    """The name of a schedule."""
    if re.fullmatch(r"x(\d+=\d+(,\d+=\d+)*)?", text):
        return text
    if not text.isdecimal():
        what = "a number of at least 0, or what a finding of --exhaustive has, such as x3=1,"
        raise argparse.ArgumentTypeError(f"expected {what} not '{text}'")
    return int(text)


def _count(text: str) -> int:
    number = int(text) if text.isdecimal() else 0
    if number < 1:
        raise argparse.ArgumentTypeError(f"expected a number of at least 1, not '{text}'")
    return number


def _run(options: argparse.Namespace) -> int:
    case = _program(options) if options.plan is None else _plan(options)
    bar = Bar(sys.stderr, "schedules") if sys.stderr.isatty() else None
    try:
        report = check(
            case,
            schedules=options.schedules,
            seed=options.seed,
            exhaustive=options.exhaustive,
            most_findings=options.max_findings,
            progress=None if bar is None else bar.show,
        )
    finally:
        if bar is not None:
            bar.clear()
    if options.format == "json":
        text = json.dumps(report.to_json())
    else:
        text = report.render(_ptx_name(options))
    if options.output == "-":
        print(text, flush=True)
    else:
        with output_file(options.output) as file:
            file.write(f"{text}\n".encode())
    return 0 if report.clean else 1


def _plan(options: argparse.Namespace) -> Case:
    """The kernels of a PTX file."""
    ptx, text = read_source(options.input), read_source(options.plan)
    folder = "." if options.plan == "-" else str(Path(options.plan).parent)
    return read_plan(text, ptx, source_name(options.plan), folder)


def _program(options: argparse.Namespace) -> Case:
    """The kernels of a program."""
    from coconet_ir.emu.checks.case import REPEAT, program_case

    for path in options.load:
        load_python(path)
    func = load_function(options.input, options.func, options.schedule)
    inputs = make_inputs(func, options.mesh, options, 0)
    return program_case(func, options.mesh, inputs, options.repeat or REPEAT)


def _ptx_name(options: argparse.Namespace) -> str:
    """What messages call the PTX."""
    return "<ptx>" if options.plan is None else source_name(options.input)


def _message(error: Exception, ptx: str) -> str:
    """What is said of an error."""
    match error:
        case Refused():
            place = f"{ptx}:{error.line}" if error.line else ptx
            return f"{place}: error: {error.what}"
        case PTXError():
            return f"{ptx}:{error.line}:{error.column}: error: {error.message}"
        case _:
            return render(diagnose(error) or [internal_error(error)])


if __name__ == "__main__":
    sys.exit(main())
