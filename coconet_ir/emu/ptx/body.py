"""The bodies of functions (PTX ISA, sections 4.2, 5.4, 6 and 11.5)."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field, replace

from coconet_ir.emu.ptx.constants import STARTS, constant, expression, integer
from coconet_ir.emu.ptx.declarations import SPACES, offset, parameters, registers, variables
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
        self._addresses: dict[tuple[str, str, str], Address] = {}
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

    def declare_symbol(self, name: str, at: int) -> str:
        """Enter a variable or a label into the scope; its name in the function. Raises `PTXError`."""
        scope = self._declare(name, at)
        scope.names[name] = Symbol(name + scope.suffix)
        return name + scope.suffix

    def _name(self) -> Operand:
        """Read a name."""
        word = self.tokens.words[self.tokens.at]
        self.tokens.at += 1
        for scope in reversed(self._scopes):
            if known := scope.names.get(word):
                return known
        if word.startswith("%"):
            found = Register(word)
        else:
            found = Symbol(word)
            self.unknown[word] = self.tokens.at - 1
        self._scopes[0].names[word] = found
        return found

    def _label(self, name: str) -> str:
        """What a label that is named by a directive is called in the function."""
        for scope in reversed(self._scopes):
            if isinstance(known := scope.names.get(name), Symbol):
                return known.name
        return name

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
            elif first == ";":
                tokens.at += 1
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
        self.unknown.pop(word, None)
        tokens.at += 1
        match tokens.word:
            case ".branchtargets":
                self.body.append(Targets(name, tuple(map(self._label, self._list()))))
            case ".calltargets":
                self.body.append(Targets(name, self._list()))
            case ".callprototype":
                tokens.at += 1
                results = parameters(tokens) if tokens.word == "(" else ()
                tokens.name("`_`")
                given = parameters(tokens) if tokens.word == "(" else ()
                if tokens.take(".noreturn"):
                    pass
                tokens.expect(";")
                self.body.append(Prototype(name, given, results))
            case _:
                self.body.append(Label(name, tokens.line(at)))

    def _list(self) -> tuple[str, ...]:
        """Step over a directive, and read names up to the semicolon."""
        tokens = self.tokens
        tokens.at += 1
        names = [tokens.name("a name")]
        while tokens.take(","):
            names.append(tokens.name("a name"))
        tokens.expect(";")
        return tuple(names)

    def _directive(self) -> None:
        tokens = self.tokens
        at, word = tokens.at, tokens.word
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
        place, at = self._place(), tokens.at
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
            within = self._locations.get(call) or self._where(call, None, at)
        self._location = self._locations[place] = self._where(place, within, at)

    def _place(self) -> tuple[int, int, int]:
        tokens = self.tokens
        return (
            integer(tokens, "the number of a file"),
            integer(tokens, "a line"),
            integer(tokens, "a column"),
        )

    def _where(self, place: tuple[int, int, int], within: Location | None, at: int) -> Location:
        number, line, column = place
        if number not in self._files:
            raise self.tokens.error(f"there is no `.file {number}`", at - 1)
        return Location(self._files[number], line, column, within)

    # Instructions

    def _instruction(self) -> None:
        tokens = self.tokens
        words = tokens.words
        guard = self._guard() if words[tokens.at] == "@" else None
        begin = tokens.at
        if words[begin] == "{" or words[begin][:1] in ("%", "."):
            raise tokens.expected("an opcode")
        opcode, *modifiers = tokens.name_with_modifiers("an opcode")
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

    def _is_name(self) -> bool:
        first = self.tokens.words[self.tokens.at][:1]
        return first.isalpha() or (first in ("_", "$", "%") and self.tokens.word != "%")

    def _register(self, what: str) -> Register:
        at = self.tokens.at
        if self._is_name() and isinstance(found := self._name(), Register):
            return found
        self.tokens.at = at
        raise self.tokens.expected(what)

    def _operand(self) -> Operand:
        tokens = self.tokens
        word = tokens.words[tokens.at]
        if word == "[":
            return self._address()
        if word == "{":
            return self._vector("}")
        if word == "(" and self._in_call():
            return self._vector(")")
        if word == "!" and not tokens.words[tokens.at + 1][:1].isdigit():
            tokens.at += 1
            return Not(self._register("a predicate"))
        return self._simple()

    def _in_call(self) -> bool:
        """Whether a parenthesis begins a list: it does after the opcode `call` or the comma behind the function."""
        at = self.tokens.at - 1
        words = self.tokens.words
        return words[at].startswith("call") or (words[at] == "," and self._call_before(at))

    def _call_before(self, at: int) -> bool:
        words = self.tokens.words
        while words[at] not in (";", "{", "}", ":"):
            if words[at].split(".")[0] == "call":
                return True
            at -= 1
        return False

    def _simple(self) -> Operand:
        """Read a name with an offset, a pair or a constant."""
        tokens = self.tokens
        word = tokens.words[tokens.at]
        if word[:1] in STARTS or word == "WARP_SZ":
            return constant(tokens)
        if not self._is_name():
            raise tokens.expected("an operand")
        first = self._name()
        after = tokens.words[tokens.at]
        if after in _END:
            return first
        if after == "|":
            tokens.at += 1
            second = self._name() if self._is_name() else None
            if isinstance(first, Register | Sink) and isinstance(second, Register | Sink):
                return Pair(first, second)
            raise tokens.expected("a register on both sides of `|`")
        if after in ("+", "-") and isinstance(first, Symbol):
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
        elif self._is_name():
            at = tokens.at
            base = self._name()
            if not isinstance(base, Register | Symbol):
                raise tokens.error("this is no address", at)
        else:
            raise tokens.expected("an address")
        far = offset(tokens) if tokens.words[tokens.at] in ("+", "-") else 0
        coordinates: tuple[Operand, ...] = ()
        if tokens.take(","):
            inner = self._vector("}") if tokens.word == "{" else None
            if inner is None:
                raise tokens.expected("coordinates in braces")
            coordinates = inner.items
        tokens.expect("]")
        return Address(base, far, coordinates)


def pragma(tokens: Tokens) -> None:
    """Step over `.pragma "…", "…";`. Raises `PTXError`."""
    tokens.at += 1
    tokens.string()
    while tokens.take(","):
        tokens.string()
    tokens.expect(";")


def file(tokens: Tokens) -> tuple[int, str]:
    """Read `.file 1 "name"` and what may follow: its number and name. Raises `PTXError`."""
    tokens.at += 1
    number = integer(tokens, "the number of a file")
    name = tokens.string()
    if tokens.word.startswith('"'):  # DWARF 5: directory and name
        name = f"{name}/{tokens.string()}"
    while tokens.take(","):
        integer(tokens, "a time or a size")
    return number, name


def section(tokens: Tokens) -> None:
    """Step over `.section name { … }`. Raises `PTXError`."""
    tokens.at += 1
    tokens.next()
    tokens.skip_block()
