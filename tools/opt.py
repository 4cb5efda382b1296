"""`coconet-opt`: parse a program, run passes over it, print it."""

from __future__ import annotations

import argparse
import gc
import json
import re
import sys
import time
from collections.abc import Generator, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from importlib.metadata import version

from xdsl.context import Context
from xdsl.dialects.builtin import ModuleOp
from xdsl.passes import ModulePass

from coconet_ir.diagnostics import Diagnostic, IRError, Position, diagnose, internal_error, render
from coconet_ir.files import give_up_output, output_file, require_output
from coconet_ir.frontend import (
    check_after,
    load_python,
    make_context,
    parse_program,
    read_source,
    require_program,
    source_name,
)
from coconet_ir.schedule.remarks import Remark, collect
from coconet_ir.tools import instead
from coconet_ir.tools.expect import expectations, mismatches
from coconet_ir.tools.pipeline import available_passes, list_passes, parse_passes
from coconet_ir.xdsl_compat import print_module

_SEPARATOR = re.compile(r"^// -----[ \t]*(?:\n|\Z)", re.MULTILINE)
_FORMS = {"--remarks": ("text", "json"), "--show-dependences": instead.FORMS}
"""The values of flags that also stand without one."""

_REMARK = re.compile(r"(?:(?P<file>.*?):(?P<line>\d+):(?P<column>\d+)|[^:]*): remark: (?P<text>.*)")


@dataclass
class _Times:
    """Seconds by stage, in the order in which the stages first ran."""

    seconds: dict[str, float] = field(default_factory=dict[str, float])

    @contextmanager
    def stage(self, name: str) -> Generator[None]:
        start = time.perf_counter()
        try:
            yield
        finally:
            self.seconds[name] = self.seconds.get(name, 0.0) + time.perf_counter() - start

    def table(self) -> str:
        width = max(map(len, self.seconds), default=0)
        rows = [f"{name:{width}}  {s * 1e3:10.1f} ms" for name, s in self.seconds.items()]
        return "\n".join([*rows, f"{'total':{width}}  {sum(self.seconds.values()) * 1e3:10.1f} ms"])


@dataclass(frozen=True)
class _Result:
    """What became of one piece of the input: its new text, or why there is none."""

    text: str | None
    errors: list[Diagnostic]
    remarks: list[Remark]


def main(args: Sequence[str] | None = None) -> int:
    """Run the tool; returns 0 for success, 1 for a program or pass that failed, 2 for wrong usage."""
    try:
        options = _arguments(sys.argv[1:] if args is None else args)
    except SystemExit as stop:  # --help and usage errors, already printed
        return stop.code if isinstance(stop.code, int) else 2
    collecting = gc.isenabled()
    gc.disable()  # a module is one large live graph: collections only cost time
    try:
        require_output()
        return _run(options)
    except IRError as error:
        print(error.render(), file=sys.stderr)
        return 1
    except OSError as error:
        return give_up_output(error)
    except KeyboardInterrupt:
        return 130
    finally:
        if collecting:
            gc.enable()


def _arguments(args: Sequence[str]) -> argparse.Namespace:
    parser = _argument_parser()
    for arg in args:  # argparse would not say what there is
        flag, given, form = arg.partition("=")
        if given and flag in _FORMS and form not in _FORMS[flag]:
            listed = ", ".join(_FORMS[flag])
            parser.error(f"argument {flag}: invalid value '{form}' (choose from {listed})")
    options = parser.parse_args(args)
    instead.check_flags(parser, options)
    sources = [options.input, *(one.partition(":")[0] for one in options.schedule)]
    if sources.count("-") > 1:
        parser.error("only one of the program and the schedules can be standard input")
    return options


def _argument_parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(
        prog="coconet-opt",
        description="Parse a program, check it, run passes over it and print it.",
        epilog="exit status: 0 success, 1 the program or a pass failed, 2 wrong usage",
        allow_abbrev=False,
    )
    add = parser.add_argument
    add("input", nargs="?", default="-", metavar="FILE", help="the program; - is standard input")
    add("-p", "--passes", action="append", default=[], metavar="PIPELINE",
        help="as in 'pass{option=value},pass2'; several run one after the other")  # fmt: skip
    add("--schedule", action="append", default=[], metavar="FILE[:NAME]",
        help="apply a schedule after the passes")  # fmt: skip
    add("-o", "--output", default="-", metavar="FILE", help="written only if all went well")
    add("--load", action="append", default=[], metavar="FILE.py", help="declares custom operations")
    add("--list-passes", action="store_true", help="print the passes and their options")
    add("--split-input-file", action="store_true", help="handle parts between '// -----' apart")
    add("--verify-diagnostics", action="store_true", help="match '// expected-error {{...}}'")
    add("--allow-unregistered-dialect", action="store_true", help="accept unknown operations")
    add("--print-op-generic", action="store_true", help="print in MLIR's generic form")
    add("--no-aliases", action="store_true", help="spell out every type")
    add("--print-debuginfo", action="store_true", help="print locations")
    add("--print-between-passes", action="store_true", help="print to stderr between passes")
    add("--time-passes", action="store_true", help="print times to stderr")
    remarks = parser.add_mutually_exclusive_group()
    for flags, value in ((("--remarks", "--remarks=text"), "text"), (("--remarks=json",), "json")):
        help = f"print what passes did or declined to stderr ({value})"
        remarks.add_argument(*flags, action="store_const", dest="remarks", const=value, help=help)
    instead.add_flags(parser)
    add("--version", action="store_true", help="print the version")
    return parser


def _run(options: argparse.Namespace) -> int:
    if options.version:
        print(f"coconet-opt {version('coconet-ir')} (xDSL {version('xdsl')})")
        return 0
    available = available_passes()
    if options.list_passes:
        sys.stdout.write(list_passes(available))
        return 0
    passes = [one for pipeline in options.passes for one in parse_passes(pipeline, available)]
    if options.schedule:
        from coconet_ir.passes.schedule import SchedulePass

        passes += tuple(map(SchedulePass, options.schedule))
    for path in options.load:
        load_python(path)
    text = read_source(options.input)
    name = source_name(options.input)
    instead.prepare(options)
    times = _Times()
    failed = False
    outputs: list[str] = []
    for chunk in _chunks(text) if options.split_input_file else [text]:
        ctx = make_context(allow_unregistered=options.allow_unregistered_dialect)
        result = _process(ctx, chunk, name, passes, options, times)
        reported = result.errors
        if options.verify_diagnostics:
            found = [*(map(_as_diagnostic, result.remarks) if options.remarks else ()), *reported]
            reported = mismatches(expectations(chunk, name), found)
        else:
            _print_remarks(result.remarks, options.remarks)
        if reported:
            failed = True
            print(render(reported), file=sys.stderr)
        if result.text is not None:
            outputs.append(result.text)
    if options.time_passes:
        print(times.table(), file=sys.stderr)
    if failed:
        return 1
    _write(options.output, "// -----\n".join(outputs))
    return 0


def _chunks(text: str) -> Iterator[str]:
    """The parts between separators, each behind as many empty lines as stand before it."""
    start = 0
    for end, resume in [*(m.span() for m in _SEPARATOR.finditer(text)), (len(text), 0)]:
        yield "\n" * text.count("\n", 0, start) + text[start:end]
        start = resume


def _process(
    ctx: Context,
    text: str,
    name: str,
    passes: Sequence[ModulePass],
    options: argparse.Namespace,
    times: _Times,
) -> _Result:
    module: ModuleOp | None = None
    with collect() as remarks:
        try:
            with times.stage("parse and verify"):
                module = parse_program(ctx, text, name)
            if passes:
                require_program(module)
            for i, one in enumerate(passes):
                with times.stage(one.name):
                    one.apply(ctx, module)
                with times.stage("verify"):
                    check_after(one, module)
                if options.print_between_passes and i + 1 < len(passes):
                    print(f"// after {one}", _text(module, options), sep="\n", file=sys.stderr)
            with times.stage("translate" if options.translate else "print"):
                shown = instead.printed(ctx, module, options)
                if shown is None:
                    shown = _text(module, options)
                return _Result(shown, [], remarks)
        except Exception as error:
            errors = diagnose(error, module) or [internal_error(error)]
            return _Result(None, errors, remarks)


def _text(module: ModuleOp, options: argparse.Namespace) -> str:
    return print_module(
        module,
        generic=options.print_op_generic,
        aliases=not options.no_aliases,
        debuginfo=options.print_debuginfo,
    )


def _as_diagnostic(remark: Remark) -> Diagnostic:
    match = _REMARK.match(remark.render())
    if match is None or match["file"] is None:
        return Diagnostic("remark", match["text"] if match else remark.render())
    at = Position(match["file"], int(match["line"]), int(match["column"]))
    return Diagnostic("remark", match["text"], at)


def _print_remarks(remarks: Sequence[Remark], form: str | None) -> None:
    for remark in remarks if form else ():
        line = json.dumps(remark.to_json()) if form == "json" else remark.render()
        print(line, file=sys.stderr)


def _write(path: str, text: str) -> None:
    """Write standard output, or a file that is replaced in one step."""
    if path == "-":
        sys.stdout.write(text)
        sys.stdout.flush()
        return
    with output_file(path) as file:
        file.write(text.encode())


if __name__ == "__main__":
    sys.exit(main())
