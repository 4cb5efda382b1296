"""What a command line says of a program: which function, on which mesh, with which inputs."""

from __future__ import annotations

import argparse
from collections.abc import Callable, Iterable, Mapping, Sequence
from math import isinf
from typing import TYPE_CHECKING, Any

from coconet_ir.diagnostics import IRError
from coconet_ir.frontend import (
    check,
    make_context,
    parse_program,
    read_source,
    require_program,
    source_name,
)

if TYPE_CHECKING:
    from xdsl.dialects.builtin import ModuleOp
    from xdsl.dialects.func import FuncOp

    from coconet_ir.sim.binding import Input


def add_options(parser: argparse.ArgumentParser) -> None:
    """Add the options of a program."""
    add = parser.add_argument
    add("--func", metavar="NAME", help="the function, if the module has several")
    add("--schedule", action="append", default=[], metavar="FILE[:NAME]",
        help="apply a schedule to the program first")  # fmt: skip
    add("--mesh", type=_mesh, action=_Once, default={}, metavar="dp=8,tp=2", help="sizes of axes")
    add("--shape", type=_shape, action=_Once, default={}, metavar="w=1000x3",
        help="the global shape of an argument; ? leaves a dimension open")  # fmt: skip
    add("--set", type=_scalar, action=_Once, default={}, metavar="lr=0.1", help="a scalar")
    add("--inputs", metavar="FILE.npz", help="inputs by name; others are random")
    add("--load", action="append", default=[], metavar="FILE.py", help="declares custom operations")


class _Once(argparse.Action):
    """Adds what an option gives by name; one name cannot be given twice."""

    def __call__(
        self,
        parser: argparse.ArgumentParser,
        namespace: argparse.Namespace,
        values: Any,
        option_string: str | None = None,
    ) -> None:
        held: dict[str, Any] = getattr(namespace, self.dest)
        for name in values:
            if name in held:
                raise argparse.ArgumentError(self, f"'{name}' is given twice")
        setattr(namespace, self.dest, {**held, **values})


def _mesh(text: str) -> dict[str, int]:
    sizes: dict[str, int] = {}
    for part in text.split(","):
        axis, size = _pair(part)
        if axis in sizes:
            raise argparse.ArgumentTypeError(f"axis '{axis}' is given twice")
        sizes[axis] = _number(int, size, f"the size of '{axis}'")
    return sizes


def seed(text: str) -> int:
    """A seed, as an argument."""
    if (seed := _number(int, text, "the seed")) < 0:
        raise argparse.ArgumentTypeError(f"the seed must be at least 0, not {seed}")
    return seed


def _shape(text: str) -> dict[str, tuple[int | None, ...]]:
    name, sizes = _pair(text)
    parts = sizes.split("x") if sizes else []
    return {
        name: tuple(
            None if part == "?" else _number(int, part, f"a size of '{name}'") for part in parts
        )
    }


def _scalar(text: str) -> dict[str, int | float]:
    name, value = _pair(text)
    if value in ("true", "false"):
        return {name: value == "true"}
    try:
        return {name: int(value)}
    except ValueError:
        number: float = _number(float, value, f"the value of '{name}'")
    if isinf(number) and any(c.isdigit() for c in value):
        raise argparse.ArgumentTypeError(f"the value of '{name}' is out of range for every type")
    return {name: number}


def _pair(text: str) -> tuple[str, str]:
    name, equals, value = text.partition("=")
    if not name or not equals:
        raise argparse.ArgumentTypeError(f"expected NAME=VALUE, not '{text}'")
    return name.removeprefix("%"), value


def _number(kind: Callable[[str], Any], text: str, what: str) -> Any:
    try:
        return kind(text)
    except ValueError:
        raise argparse.ArgumentTypeError(f"{what} must be a number, not '{text}'") from None


def make_inputs(
    func: FuncOp, mesh: Mapping[str, int], options: argparse.Namespace, seed: int
) -> dict[str, Input]:
    """The inputs that the options give, the others made from a seed. Raises `IRError`."""
    from coconet_ir.sim.binding import bind_mesh
    from coconet_ir.sim.inputs import generate, load

    given = {} if options.inputs is None else load(options.inputs)
    _check_scalars(func, options.set)
    return generate(func, bind_mesh(func, mesh), {**given, **options.set}, options.shape, seed)


def _check_scalars(func: FuncOp, names: Iterable[str]) -> None:
    """Raise `IRError` when one of the names is that of a tensor with dimensions."""
    from coconet_ir.analysis.rules import rank_of
    from coconet_ir.schedule.selection import argument_names

    arguments = argument_names(func)
    for name in names:
        if name in arguments and rank_of(arguments[name].type):
            raise IRError(
                f"takes %{name} as a tensor, and --set is for scalars: give its elements with --inputs, or "
                "only its shape with --shape",
                func,
            )


def load_function(path: str, name: str | None, schedules: Sequence[str] = ()) -> FuncOp:
    """The function to run, checked, inferred if its layouts still stand as `layout.of`, and scheduled."""
    from coconet_ir.analysis.rules import is_uninferred
    from coconet_ir.analysis.verifier import require_distributed
    from coconet_ir.passes.infer import infer
    from coconet_ir.sim.binding import the_function

    module = parse_program(make_context(), read_source(path), source_name(path))
    require_program(module)
    require_distributed(module)
    if schedules:
        _schedule(module, schedules)
    func = the_function(module, name)
    if is_uninferred(func):
        infer(func)
        check(module)
    return func


def _schedule(module: ModuleOp, references: Sequence[str]) -> None:
    """Infer the program's layouts and apply schedules."""
    from coconet_ir.passes.infer import InferPass
    from coconet_ir.passes.schedule import SchedulePass
    from coconet_ir.schedule.remarks import collect

    ctx = make_context()
    with collect():  # an error can say which rewrite removed what a step names
        for one in (InferPass(), *map(SchedulePass, references)):
            one.apply(ctx, module)
