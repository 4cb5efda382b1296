"""How a schedule names operations (design, section 6, names)."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence

from xdsl.dialects.builtin import ModuleOp, StringAttr
from xdsl.dialects.func import FuncOp
from xdsl.ir import BlockArgument, Operation, OpResult, SSAValue

from coconet_ir.diagnostics import IRError
from coconet_ir.schedule.remarks import remover

NAME = "coconet.name"
"""The attribute that names an operation; without it, the name of its first result does."""

_REWRITTEN = re.compile(r"_[0-9]+$")

_VALUE_NAME = re.compile(r"[A-Za-z_$.-][A-Za-z0-9_$.-]*")
"""What the text of a program takes as the name of a value."""


def name_of(op: Operation) -> str | None:
    """The name by which a schedule finds the operation, or None."""
    if op.attributes and isinstance(given := op.attributes.get(NAME), StringAttr):
        return given.data
    return op.results[0].name_hint if op.results else None


def label_of(op: Operation) -> str:
    """The operation's name, or what it is, for messages."""
    return name_of(op) or op.name


def functions(module: ModuleOp, func: str | None) -> list[FuncOp]:
    """The functions with a body, or only the one named `func`. Raises `IRError` when there is none of that name."""
    found = [op for op in module.ops if isinstance(op, FuncOp) and op.body.blocks]
    if func is None:
        return found
    chosen = [op for op in found if op.sym_name.data == func]
    if not chosen:
        names = ", ".join(op.sym_name.data for op in found) or "none"
        raise IRError(f"has no function named '{func}'; there are: {names}", module)
    return chosen


def selectable(func: FuncOp) -> Iterator[Operation]:
    """The operations a selector can name: those of the function's block, not those inside regions."""
    return iter(func.body.block.ops)


def is_rewritten(name: str) -> bool:
    """Whether printing would change the name: xDSL takes `_` and digits at the end off."""
    return _REWRITTEN.search(name) is not None


def name_problem(name: str) -> str | None:
    """Why an operation cannot have this name, or None: what is lowered from it gives values names made from it."""
    if _VALUE_NAME.fullmatch(name) is not None:
        return None
    return "cannot be a name: it takes letters, digits, _, $, . and -, and begins with no digit"


def by_name(func: FuncOp) -> dict[str, list[Operation]]:
    """The selectable operations by name, in order."""
    found: dict[str, list[Operation]] = {}
    for op in selectable(func):
        if (name := name_of(op)) is not None:
            found.setdefault(name, []).append(op)
    return found


def names_in(func: FuncOp) -> list[str]:
    """The names of the selectable operations, in order, each as often as it occurs."""
    return [name for op in selectable(func) if (name := name_of(op)) is not None]


def find(
    func: FuncOp, name: str, named: dict[str, list[Operation]] | None = None
) -> Operation | None:
    """The operation of this name in the function, or None. `named` is `by_name` of it, where that is at hand.

    Raises `IRError` for a selector that two operations match, or that printing would rewrite.
    """
    if is_rewritten(name):
        raise IRError(
            f"'{name}' cannot select an operation: a name that ends in _ and digits is rewritten when the "
            f"text is printed; name the operation with the attribute {NAME}",
            func,
        )
    if named is None:
        matches = [op for op in selectable(func) if name_of(op) == name]
    else:
        matches = named.get(name, [])
    if len(matches) > 1:
        raise IRError(
            f"is one of {len(matches)} operations named '{name}'; give it a name of its own with the "
            f"attribute {NAME}",
            matches[1],
            [("another one is here", matches[0])],
        )
    return matches[0] if matches else None


def no_such(where: Operation, option: str, name: str, available: list[str]) -> IRError:
    """The error for a selector that matches nothing: it lists what there is."""
    for op in where.walk():
        if name_of(op) == name and not isinstance(op.parent_op(), FuncOp | ModuleOp):
            return IRError(
                "stands in a region, whose operations are not targets: inline it first", op
            )
    listed = ", ".join(sorted(set(available))) or "none"
    if (last := remover(name)) is not None:
        return IRError(
            f"has no operation named '{name}' ({option}={name}) any more: {last.rewrite} "
            f"'{last.operation}' removed it; there are: {listed}",
            where,
        )
    functions = (op for op in where.walk() if isinstance(op, FuncOp) and op.body.blocks)
    if any(name in argument_names(func) for func in functions):
        return IRError(
            f"has '{name}' ({option}={name}) as an argument, not as an operation: coconet-slice takes it as "
            f"arg={name}, coconet-slice-state as args={name}; there are: {listed}",
            where,
        )
    return IRError(f"has no operation named '{name}' ({option}={name}); there are: {listed}", where)


def argument_names(func: FuncOp) -> dict[str, BlockArgument]:
    """The arguments by the name that the program's text gives them, `argN` for one without."""
    named: dict[str, BlockArgument] = {}
    for index, arg in enumerate(func.body.block.args):
        base = arg.name_hint or f"arg{index}"
        name, count = base, 0
        while name in named:
            count += 1
            name = f"{base}_{count}"
        named[name] = arg
    return named


def argument_name(func: FuncOp, argument: BlockArgument) -> str:
    """The name of an argument of the function."""
    return next(name for name, arg in argument_names(func).items() if arg is argument)


def find_arguments(
    where: Operation, candidates: Sequence[FuncOp], option: str, names: Sequence[str]
) -> list[tuple[FuncOp, BlockArgument]]:
    """The arguments of these names in every function that has them, function by function.

    Raises `IRError` at `where` for a name that no function has, or that is given twice.
    """
    named = [(func, argument_names(func)) for func in candidates]
    for index, name in enumerate(names):
        if name in names[:index]:
            raise IRError(f"is given '{name}' twice ({option}={','.join(names)})", where)
        if not any(name in arguments for _, arguments in named):
            listed = sorted({arg for _, arguments in named for arg in arguments})
            kind = "no argument named '{}' ({}={})"
            if any(name in by_name(func) for func in candidates):
                kind = "'{}' ({}={}) as an operation, not as an argument"
            raise IRError(
                f"has {kind.format(name, option, name)}; there are: {', '.join(listed) or 'none'}",
                where,
            )
    return [(func, args[name]) for func, args in named for name in names if name in args]


class Names:
    """The names taken in a function, and fresh ones made from them."""

    def __init__(self, func: FuncOp):
        self._taken: set[str] = set()
        for arg in func.body.block.args:
            if arg.name_hint is not None:
                self._taken.add(arg.name_hint)
        for op in func.walk():
            if (name := name_of(op)) is not None:
                self._taken.add(name)
            self._taken.update(r.name_hint for r in op.results if r.name_hint is not None)

    def fresh(self, wanted: str) -> str:
        """`wanted` if it is free, else `wanted2`, `wanted3`, …; it is taken from now on."""
        name, count = wanted, 1
        while name in self._taken:
            count += 1
            name = f"{wanted}{count}"
        self._taken.add(name)
        return name


def called(value: SSAValue) -> str:
    """The name of a value for making others from it; `value` if it has none."""
    named = name_of(value.op) if isinstance(value, OpResult) and value.index == 0 else None
    return named or value.name_hint or "value"
