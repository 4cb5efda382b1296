"""The bodies of functions (PTX ISA, sections 4.2, 5.4, 6 and 11.5)."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field, replace

from coconet_ir.emu.ptx.constants import STARTS, constant, expression, integer, offset
from coconet_ir.emu.ptx.declarations import (
    MOST_REGISTERS,
    SPACES,
    directives,
    file,
    parameters,
    pragma,
    registers,
    section,
    variables,
)
from coconet_ir.emu.ptx.syntax import (
    Address,
    Guard,
    Instruction,
    Integer,
    Label,
    Location,
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
)
from coconet_ir.emu.ptx.tokens import Tokens

_DEEPEST = 64
"""Scopes in each other."""
_END = frozenset((",", ";", "]", "}", ")"))


@dataclass
class _Scope:
    """Braces: the names that they declare, and what those are called in the function."""

    suffix: str
    begin: int
    names: dict[str, Operand]
    declared: set[str] = field(default_factory=set[str])


class Body:
    """Reads one body. What inner scopes declare gets a suffix, `%r1` of the second `%r1.2`: names are unique."""

    def __init__(self, tokens: Tokens, files: Mapping[int, str]):
        self.tokens = tokens
        self.registers: dict[str, str] = {}
        self.variables: list[Variable] = []
        self.body: list[Instruction | Label | Targets | Prototype] = []
        self.unknown: dict[str, int] = {}
        """Names that the function does not declare, and the tokens where they are used first."""
        self._files = files
        self._location: Location | None = None
        self._locations: dict[tuple[int, int, int], Location] = {}
        self._scope_count = 0
        self._lists = False
        """Whether operands can be lists in parentheses: they can of `call`."""
        names: dict[str, Operand] = {"_": Sink(), "WARP_SZ": Integer(32)}
        self._scopes = [_Scope("", tokens.at, names)]

    # Names

    def _declare(self, name: str, at: int) -> _Scope:
        scope = self._scopes[-1]
        if name in scope.declared:
            raise self.tokens.error(f"`{name}` is declared twice", at)
        scope.declared.add(name)
        return scope

    def declare_register(self, name: str, type: str, at: int) -> None:
        """Enter a register into the scope. Raises `PTXError`."""
        scope = self._declare(name, at)
        scope.names[name] = Register(name + scope.suffix)
        self.registers[name + scope.suffix] = type
        if len(self.registers) > MOST_REGISTERS:
            raise self.tokens.error(f"a function has at most {MOST_REGISTERS} registers", at)

    def declare_symbol(self, name: str, at: int) -> str:
        """Enter a variable or a label into the scope; its name in the function. Raises `PTXError`."""
        scope = self._declare(name, at)
        scope.names[name] = Symbol(name + scope.suffix)
        return name + scope.suffix

    def _name(self) -> Operand:
        """Read a name. Labels can be used before they stand somewhere."""
        at = self.tokens.at
        word = self.tokens.words[at]
        self.tokens.at += 1
        for scope in reversed(self._scopes):
            if known := scope.names.get(word):
                return known
        if word.startswith("%"):
            found = Register(word)
        else:
            found = Symbol(word)
            self.unknown[word] = at
        self._scopes[0].names[word] = found
        return found

    # Statements

    def read(self) -> None:
        """Read `{ … }`. Raises `PTXError`."""
        tokens = self.tokens
        tokens.expect("{")
        while self._scopes:
            word = tokens.words[tokens.at]
            first = word[:1]
            if first == "@" or first.isalpha() or first in ("_", "$", "%"):
                if tokens.words[tokens.at + 1] == ":":
                    self._labelled()
                else:
                    self._instruction()
            elif first == ".":
                self._directive()
            elif first == "{":
                self._open()
            elif first == "}":
                tokens.at += 1
                self._scopes.pop()
            elif not word:
                raise tokens.error("this scope is not closed", self._scopes[-1].begin)
            else:
                raise tokens.expected("an instruction")

    def _open(self) -> None:
        """Enter a scope. Its labels are known from its beginning."""
        tokens = self.tokens
        if len(self._scopes) > _DEEPEST:
            raise tokens.error("there are too many scopes in each other")
        self._scope_count += 1
        scope = _Scope(f".{self._scope_count}", tokens.at, {})
        self._scopes.append(scope)
        tokens.at += 1
        depth, at, words = 1, tokens.at, tokens.words
        while depth and (word := words[at]):
            if word == ":" and depth == 1:
                name = words[at - 1]
                scope.names[name] = Symbol(name + scope.suffix)
            depth += (word == "{") - (word == "}")
            at += 1

    def _labelled(self) -> None:
        tokens = self.tokens
        at = tokens.at
        word = tokens.name("the name of a label")
        name = self.declare_symbol(word, at)
        self.unknown.pop(name, None)
        tokens.at += 1
        if tokens.take(".branchtargets") or tokens.take(".calltargets"):
            self.body.append(Targets(name, self._symbols()))
        elif tokens.take(".callprototype"):
            results = parameters(tokens)
            tokens.name("`_`")
            given = parameters(tokens)
            directives(tokens)
            tokens.expect(";")
            self.body.append(Prototype(name, given, results))
        else:
            self.body.append(Label(name, tokens.line(at)))

    def _symbols(self) -> tuple[str, ...]:
        """Read names of labels or functions up to the semicolon."""
        tokens = self.tokens
        names: list[str] = []
        while True:
            at = tokens.at
            found = self._name() if tokens.is_name() else None
            if not isinstance(found, Symbol):
                raise tokens.error("the name of a label or a function is expected", at)
            names.append(found.name)
            if not tokens.take(","):
                tokens.expect(";")
                return tuple(names)

    def _directive(self) -> None:
        tokens = self.tokens
        at, word = tokens.at, tokens.peek()
        if word == ".loc":
            self._loc()
        elif word == ".reg":
            for name, type in registers(tokens).items():
                self.declare_register(name, type, at)
        elif word == ".extern" and tokens.words[at + 1] in SPACES:
            tokens.at += 1
            self._variables(at, True)
        elif word in SPACES:
            self._variables(at, False)
        elif word == ".pragma":
            pragma(tokens)
        elif word == ".file":
            file(tokens)
        elif word == ".section":
            section(tokens)
        else:
            raise tokens.error(f"the directive {word} is not known here")

    def _variables(self, at: int, external: bool) -> None:
        for variable in variables(self.tokens, external):
            name = self.declare_symbol(variable.name, at)
            self.variables.append(replace(variable, name=name))

    def _loc(self) -> None:
        """`.loc file line column[, function_name symbol[+offset], inlined_at file line column]`."""
        tokens = self.tokens
        tokens.at += 1
        place = self._place()
        within = None
        if tokens.take(","):
            if not tokens.take("function_name"):
                raise tokens.expected("`function_name`")
            tokens.name("the name of a string")
            offset(tokens)
            tokens.expect(",")
            if not tokens.take("inlined_at"):
                raise tokens.expected("`inlined_at`")
            call = self._place()
            within = self._locations.get(call) or self._where(call, None)
        self._location = self._locations[place] = self._where(place, within)

    def _place(self) -> tuple[int, int, int]:
        tokens = self.tokens
        return (
            integer(tokens, "the number of a file"),
            integer(tokens, "a line"),
            integer(tokens, "a column"),
        )

    def _where(self, place: tuple[int, int, int], within: Location | None) -> Location:
        number, line, column = place
        return Location(self._files.get(number, f"file {number}"), line, column, within)

    # Instructions

    def _instruction(self) -> None:
        tokens = self.tokens
        words = tokens.words
        guard = self._guard() if words[tokens.at] == "@" else None
        begin = tokens.at
        opcode, *modifiers = tokens.opcode()
        self._lists = opcode == "call"
        operands: list[Operand] = []
        if words[tokens.at] != ";":
            operands.append(self._operand())
            while words[tokens.at] == ",":
                tokens.at += 1
                operands.append(self._operand())
        tokens.expect(";")
        self.body.append(
            Instruction(
                opcode,
                tuple(modifiers),
                tuple(operands),
                guard,
                tokens.line(begin),
                tokens.between(begin, tokens.at - 1),
                self._location,
            )
        )

    def _guard(self) -> Guard:
        tokens = self.tokens
        tokens.at += 1
        negated = tokens.take("!")
        return Guard(self._register("a predicate"), negated)

    def _register(self, what: str) -> Register:
        tokens = self.tokens
        at = tokens.at
        if tokens.is_name() and isinstance(found := self._name(), Register):
            return found
        tokens.at = at
        raise tokens.expected(what)

    def _operand(self) -> Operand:
        tokens = self.tokens
        word = tokens.words[tokens.at]
        if word == "[":
            return self._address()
        if word == "{":
            return self._vector("}")
        if word == "(" and self._lists:
            return self._vector(")")
        if word == "!" and not tokens.words[tokens.at + 1][:1].isdigit():
            tokens.at += 1
            return Not(self._register("a predicate"))
        return self._simple()

    def _simple(self) -> Operand:
        """Read a name with an offset, a pair or a constant."""
        tokens = self.tokens
        word = tokens.words[tokens.at]
        if word[:1] in STARTS or word == "WARP_SZ":
            return constant(tokens)
        if not tokens.is_name():
            raise tokens.expected("an operand")
        first = self._name()
        after = tokens.words[tokens.at]
        if after in _END:
            return first
        if after == "|":
            tokens.at += 1
            second = self._name() if tokens.is_name() else None
            if isinstance(first, Register | Sink) and isinstance(second, Register | Sink):
                return Pair(first, second)
            raise tokens.expected("a register on both sides of `|`")
        if after == "+" and isinstance(first, Symbol):
            return Symbol(first.name, offset(tokens))
        if after == "[":
            raise tokens.error("an element of an array as an operand is not supported")
        raise tokens.expected("`,` or `;`")

    def _vector(self, end: str) -> Vector:
        tokens = self.tokens
        tokens.at += 1
        items: list[Operand] = []
        if end == ")" and tokens.take(end):
            return Vector(())
        while True:
            items.append(self._simple())
            if not tokens.take(","):
                tokens.expect(end)
                return Vector(tuple(items))

    def _address(self) -> Address:
        tokens = self.tokens
        tokens.at += 1
        word = tokens.words[tokens.at]
        if word[:1] in STARTS:
            base = Integer(expression(tokens))
        elif tokens.is_name():
            at = tokens.at
            base = self._name()
            if not isinstance(base, Register | Symbol):
                raise tokens.error("this is no address", at)
        else:
            raise tokens.expected("an address")
        far = offset(tokens)
        coordinates: tuple[Operand, ...] = ()
        if tokens.take(","):
            if tokens.peek() != "{":
                raise tokens.expected("coordinates in braces")
            coordinates = self._vector("}").items
        tokens.expect("]")
        return Address(base, far, coordinates)
