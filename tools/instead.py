"""What coconet-opt can print instead of the program: explanations, the dependence graph, totals, PTX."""

from __future__ import annotations

import argparse
from collections.abc import Callable
from typing import Literal, cast

from xdsl.context import Context
from xdsl.dialects.builtin import ModuleOp

from coconet_ir.frontend import require_program
from coconet_ir.lowering.targets import FORMS as TRANSLATIONS
from coconet_ir.lowering.targets import TARGETS, translate

FORMS = ("dot", "svg")
"""The values of `--show-dependences`."""

_OF_PROGRAMS = ("print_op_generic", "no_aliases", "print_debuginfo")
"""Flags about how a program is printed."""


def add_flags(parser: argparse.ArgumentParser) -> None:
    """Add the flags, each of which may be given alone."""
    add = parser.add_mutually_exclusive_group().add_argument
    help = "print instead what the kernels of a lowered module become"
    add("-t", "--translate", choices=TRANSLATIONS, help=help)
    # No further thing to print, so no member of the group.
    help = "with --translate: the device, where the kernels do not state one"
    parser.add_argument("--target", choices=tuple(TARGETS), help=help)
    help = "print instead what each rewrite would do with an operation or argument"
    add("--explain", type=_selector, metavar="op=NAME|arg=NAME", help=help)
    parser.add_argument(
        "--steps",
        action="store_true",
        help="with --explain: those that apply, as steps of a schedule",
    )
    help = "print instead the dependence graph, in Graphviz's language"
    names = ("--show-dependences", "--show-dependences=dot")
    add(*names, action="store_const", dest="show_dependences", const="dot", help=help)
    help = "the same as a drawing, which Graphviz's dot makes"
    name = "--show-dependences=svg"
    add(name, action="store_const", dest="show_dependences", const="svg", help=help)
    help = "print instead what a rank sends and keeps, and the launches, of each function"
    add("--totals", action="store_const", const=True, help=help)


def _selector(text: str) -> tuple[str, str]:
    option, _, name = text.partition("=")
    if option not in ("op", "arg") or not name:
        raise argparse.ArgumentTypeError(f"expected op=NAME or arg=NAME, not '{text}'")
    return option, name


def check_flags(parser: argparse.ArgumentParser, options: argparse.Namespace) -> None:
    """Refuse flags that have no effect on what is printed instead."""
    if options.steps and options.explain is None:
        parser.error("argument --steps: goes with --explain")
    if options.target and not options.translate:
        parser.error("argument --target: goes with --translate")
    given = next((f for f in _PRINTED if getattr(options, f) is not None), None)
    if given is None:
        return
    idle = () if options.print_between_passes else _OF_PROGRAMS
    if options.show_dependences == "svg":
        idle = (*idle, "split_input_file")  # one file holds one drawing
    for flag in idle:
        if getattr(options, flag):
            one, other = (f"--{name.replace('_', '-')}" for name in (flag, given))
            parser.error(f"argument {one}: not allowed with argument {other}")


def prepare(options: argparse.Namespace) -> None:
    """Start what takes its time to start, while the program is read and lowered."""
    if options.translate == "ptx":
        from coconet_ir.lowering.ptx import start

        start()


def printed(ctx: Context, module: ModuleOp, options: argparse.Namespace) -> str | None:
    """What a flag asks for, or None where the program itself is to be printed. Raises `IRError`."""
    for flag, make in _PRINTED.items():
        if (value := getattr(options, flag)) is not None:
            if flag != "translate":
                require_program(module)
            return make(ctx, module, value, options)
    return None


# What these need is imported when it is asked for.


def _explained(
    ctx: Context, module: ModuleOp, selector: tuple[str, str], options: argparse.Namespace
) -> str:
    from coconet_ir.schedule.explain import explain

    option, name = selector
    option = cast(Literal["op", "arg"], option)
    return explain(ctx, module, option, name, steps=options.steps)


def _drawn(ctx: Context, module: ModuleOp, form: str, options: argparse.Namespace) -> str:
    from coconet_ir.analysis.graphviz import to_dot, to_svg

    dot = to_dot(module)
    return to_svg(dot) if form == "svg" else dot


def _totals(ctx: Context, module: ModuleOp, flag: bool, options: argparse.Namespace) -> str:
    from coconet_ir.analysis.totals import totals
    from coconet_ir.schedule.rewriting import check_ready
    from coconet_ir.schedule.selection import functions

    lines: list[str] = []
    for func in functions(module, None):
        check_ready(func)
        lines.append(f"@{func.sym_name.data}")
        lines += [f"  {word:18} {text}" for word, text in totals(func).rows()]
    return "".join(f"{line}\n" for line in lines)


def _translated(ctx: Context, module: ModuleOp, form: str, options: argparse.Namespace) -> str:
    return translate(module, form, options.target)


_PRINTED: dict[str, Callable[..., str]] = {
    "translate": _translated,
    "explain": _explained,
    "show_dependences": _drawn,
    "totals": _totals,
}
