"""Calls of device functions, replaced by what the functions do (PTX ISA, sections 7.1 and 9.7.12, `call`).

The parameters and results of a call are `.param` variables of the caller: the body that is put in reads and writes
those. What is passed in registers or as constants is moved first.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, replace

from coconet_ir.emu.code.table import Refused
from coconet_ir.emu.ptx.syntax import (
    Address,
    Function,
    Guard,
    Instruction,
    Integer,
    Label,
    Location,
    Module,
    Not,
    Operand,
    Pair,
    Prototype,
    Register,
    Sink,
    Symbol,
    Targets,
    Variable,
    Vector,
    width,
)

_DEEPEST = 64
"""Functions in each other: each is copied into its caller."""
_LONGEST = 1 << 16
"""Statements of a function with what it calls; a tree of calls can be wider than memory."""
_PRINT, _ASSERT = "vprintf", "__assertfail"


def inline_calls(function: Function, module: Module) -> Function:
    """The function without calls. Raises `Refused` for recursion, calls through pointers and functions without a body.

    Two functions that CUDA's library provides are known: `__assertfail` becomes a `trap`, and `vprintf` prints nothing
    and gives back 0.
    """
    if not any(isinstance(item, Instruction) and item.opcode == "call" for item in function.body):
        return function
    hidden = {  # by names of the function, and seen by those that it calls
        variable.name: f"{variable.name}.in.{function.name}"
        for variable in (*function.parameters, *function.variables)
        if variable.name in module.variables
    }
    parameters, variables = (
        [replace(variable, name=hidden.get(variable.name, variable.name)) for variable in found]
        for found in (function.parameters, function.variables)
    )
    inliner = _Inliner(module, (*parameters, *variables), function.registers)
    inliner.copy(_Frame(function, hidden, (function.name,)))
    return replace(
        function,
        parameters=tuple(parameters),
        registers=inliner.registers,
        variables=tuple(inliner.variables.values())[len(parameters) :],
        body=tuple(inliner.body),
    )


@dataclass(frozen=True)
class _Frame:
    """A body that is copied: what its names become, who called it, and where."""

    function: Function
    names: Mapping[str, str]
    active: tuple[str, ...]
    end: str | None = None
    """The label behind the copy, where `ret` goes."""
    call: Location | None = None


@dataclass(frozen=True)
class _Call:
    """The parts of a call."""

    at: Instruction
    callee: str
    results: tuple[Operand, ...]
    arguments: tuple[Operand, ...]

    def part(self, opcode: str, modifiers: tuple[str, ...], *operands: Operand) -> Instruction:
        """An instruction that does a part of it."""
        return replace(self.at, opcode=opcode, modifiers=modifiers, operands=operands, guard=None)

    def move(self, type: str, target: Operand, source: Operand) -> Iterator[Instruction]:
        """What moves a value between registers and `.param` variables."""
        if isinstance(target, Symbol):
            yield self.part("st", ("param", type), Address(target), source)
        elif isinstance(target, Register) and isinstance(source, Symbol):
            yield self.part("ld", ("param", type), target, Address(source))
        elif isinstance(target, Register):
            yield self.part("mov", (type,), target, source)


class _Inliner:
    def __init__(self, module: Module, variables: Iterable[Variable], registers: Mapping[str, str]):
        self.module = module
        self.registers = dict(registers)
        self.variables = {variable.name: variable for variable in variables}
        """Those of the kernel with its parameters, and of copies."""
        self.body: list[Instruction | Label | Targets | Prototype] = []
        self._count = 0

    def copy(self, frame: _Frame) -> None:
        """Write a body. Raises `Refused`."""
        names = frame.names
        for item in frame.function.body:
            if len(self.body) > _LONGEST:
                what = f"`{frame.active[0]}` is too long with the functions that it calls"
                raise Refused(what, frame.function.line)
            match item:
                case Instruction():
                    self._instruction(item, frame)
                case Label(name, line):
                    self.body.append(Label(names.get(name, name), line))
                case Targets(name, labels):
                    new = tuple(names.get(label, label) for label in labels)
                    self.body.append(Targets(names.get(name, name), new))
                case Prototype(name):
                    self.body.append(replace(item, name=names.get(name, name)))

    def _instruction(self, item: Instruction, frame: _Frame) -> None:
        guard = item.guard
        item = replace(
            item,
            operands=tuple(_renamed(operand, frame.names) for operand in item.operands),
            guard=guard and Guard(_register(guard.register, frame.names), guard.negated),
            location=_inside(item.location, frame.call),
        )
        if item.opcode == "call":
            self._call(_parts(item), frame)
        elif item.opcode == "ret" and frame.end is not None:
            self.body.append(replace(item, opcode="bra", operands=(Symbol(frame.end),)))
        else:
            self.body.append(item)

    def _call(self, call: _Call, frame: _Frame) -> None:
        self._count += 1
        skip = f"call{self._count}.skip"
        guard = call.at.guard
        if guard is not None:
            over = call.part("bra", (), Symbol(skip))
            self.body.append(replace(over, guard=Guard(guard.register, not guard.negated)))
        function = self.module.functions.get(call.callee)
        if function is None or function.declared:
            self._library(call)
        else:
            self._defined(call, function, frame)
        if guard is not None:
            self.body.append(Label(skip, call.at.line))

    def _library(self, call: _Call) -> None:
        """A call of what the file does not define."""
        if call.callee == _ASSERT:
            self.body.append(call.part("trap", ()))
        elif call.callee == _PRINT:
            for result in call.results:
                self.body += call.move("b32", result, Integer(0))
        else:
            raise Refused(f"`{call.callee}` is called and has no body in this file", call.at.line)

    def _defined(self, call: _Call, function: Function, frame: _Frame) -> None:
        line, name = call.at.line, function.name
        if name in frame.active:
            raise Refused(f"`{name}` calls itself: recursion is not supported", line)
        if len(frame.active) > _DEEPEST:
            raise Refused(f"`{name}` is called through more than {_DEEPEST} functions", line)
        if function.kernel:
            raise Refused(f"`{name}` is a kernel, which cannot be called", line)
        given, wanted = len(call.arguments), len(function.parameters)
        back, results = len(call.results), len(function.results)
        if (given, back) != (wanted, results):
            what = f"`{name}` has {wanted} parameters and {results} results"
            raise Refused(f"{what}, and is called with {given} and {back}", line)
        names = self._names(function)
        for formal, actual in zip(function.parameters, call.arguments, strict=True):
            if place := self._place(call, formal, actual, names):
                self.body += call.move(formal.type, place, actual)
        after: list[Instruction] = []
        for formal, actual in zip(function.results, call.results, strict=True):
            uses = (*call.arguments, *call.results).count(actual)
            if isinstance(actual, Symbol) and uses > 1:
                raise Refused(f"`{call.at.text}` uses a variable for two things", line)
            if place := self._place(call, formal, actual, names):
                after += call.move(formal.type, actual, place)
        end = f"call{self._count}.end"
        self.copy(_Frame(function, names, (*frame.active, name), end, call.at.location))
        self.body += (Label(end, line), *after)

    def _place(
        self, call: _Call, formal: Variable, actual: Operand, names: dict[str, str]
    ) -> Register | Symbol | None:
        """Where the copy has a parameter; None if it is the caller's variable. Raises `Refused`."""
        if formal.space == "reg":
            return Register(names[formal.name])
        name = formal.name
        variable = None
        if isinstance(actual, Symbol):
            variable = self.variables.get(actual.name)
            if variable is None or variable.space != "param" or actual.offset:
                raise Refused(f"`{actual.name}` is no parameter of a call", call.at.line)
        have = variable.bytes if variable else width(formal.type) // 8
        if formal.bytes != have and not isinstance(actual, Sink):
            what = f"`{name}` of `{call.callee}` has {formal.bytes} bytes, and {have} are passed"
            raise Refused(what, call.at.line)
        if variable:
            names[name] = variable.name
            return None
        names[name] = new = f"{name}.call{self._count}"
        self.variables[new] = replace(formal, name=new)
        return Symbol(new)

    def _names(self, function: Function) -> dict[str, str]:
        """Enter the registers and variables of a copy of a function; what its names become."""
        suffix = f".call{self._count}"
        names = {name: name + suffix for name in function.registers}
        self.registers.update((names[name], type) for name, type in function.registers.items())
        for variable in function.variables:
            # What threads share is one for all calls.
            own = variable.space in ("local", "param")
            new = variable.name + (suffix if own else f".in.{function.name}")
            names[variable.name] = new
            self.variables[new] = replace(variable, name=new)
        for item in function.body:
            if not isinstance(item, Instruction):
                names[item.name] = item.name + suffix
        return names


def _parts(call: Instruction) -> _Call:
    """The results, the function and the arguments of a call. Raises `Refused` for calls through a pointer."""
    rest = list(call.operands)
    results = _list(rest)
    target = rest.pop(0) if rest else None
    arguments = _list(rest)
    if not isinstance(target, Symbol) or rest:
        raise Refused(
            f"`{call.text}` calls a function by a pointer: this is not supported", call.line
        )
    return _Call(call, target.name, results, arguments)


def _list(rest: list[Operand]) -> tuple[Operand, ...]:
    """Take what stands in parentheses, if it is next."""
    if not rest or not isinstance(rest[0], Vector):
        return ()
    items = rest[0].items
    del rest[0]
    return items


def _register(register: Register, names: Mapping[str, str]) -> Register:
    return Register(names.get(register.name, register.name))


def _renamed(operand: Operand, names: Mapping[str, str]) -> Operand:
    """The operand with other names."""
    match operand:
        case Register():
            return _register(operand, names)
        case Symbol(name, offset):
            return Symbol(names.get(name, name), offset)
        case Address(base, offset, coordinates):
            new = base if isinstance(base, Integer) else type(base)(names.get(base.name, base.name))
            inner = tuple(_renamed(item, names) for item in coordinates)
            return Address(new, offset, inner)
        case Not(register):
            return Not(_register(register, names))
        case Vector(items):
            return Vector(tuple(_renamed(item, names) for item in items))
        case Pair(first, second):
            return Pair(
                first if isinstance(first, Sink) else _register(first, names),
                second if isinstance(second, Sink) else _register(second, names),
            )
        case _:
            return operand


def _inside(location: Location | None, call: Location | None) -> Location | None:
    """A place in a function, with the place of its call behind those where it was inlined before."""
    if location is None or call is None:
        return location
    return replace(location, within=_inside(location.within, call) or call)
