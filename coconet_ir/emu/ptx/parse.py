"""From PTX text to a tree (PTX ISA, sections 4, 5 and 11)."""

from __future__ import annotations

from dataclasses import replace

from coconet_ir.emu.ptx.body import Body
from coconet_ir.emu.ptx.declarations import (
    SPACES,
    directives,
    file,
    parameters,
    pragma,
    section,
    variables,
)
from coconet_ir.emu.ptx.syntax import Function, Module, Variable
from coconet_ir.emu.ptx.tokens import PTXError, Tokens

_LINKAGE = frozenset((".visible", ".extern", ".weak", ".common"))


def parse_ptx(text: str, name: str = "<ptx>") -> Module:
    """Read a PTX file, which errors call by its name. Raises `PTXError`."""
    return _Parser(text, name).read()


class _Parser:
    def __init__(self, text: str, name: str):
        self.tokens = Tokens(text, name)
        self.tokens.check()
        self.version = self.target = ""
        self.functions: dict[str, Function] = {}
        self.variables: dict[str, Variable] = {}
        self.unknown: dict[str, int] = {}
        """Names that functions use and do not declare, and the tokens where they are used first."""
        self.files = self._all_files()

    def _all_files(self) -> dict[int, str]:
        """Those of the whole text: `.loc` can stand before its `.file`."""
        tokens = self.tokens
        files: dict[int, str] = {}
        for at, word in enumerate(tokens.words):
            if word == ".file":
                tokens.at = at
                number, name = file(tokens)
                if number in files:
                    raise tokens.error(f"`.file {number}` is there twice", at)
                files[number] = name
        tokens.at = 0
        return files

    def read(self) -> Module:
        tokens = self.tokens
        self._header()
        while word := tokens.peek():
            if word == ".file":
                file(tokens)
            elif word == ".section":
                section(tokens)
            elif word == ".pragma":
                pragma(tokens)
            elif word == ".alias":
                self._alias()
            else:
                self._declaration()
        for name, at in self.unknown.items():
            if name not in self.functions and name not in self.variables:
                raise tokens.error(f"nothing is called `{name}`", at)
        return Module(self.version, self.target, self.functions, self.variables)

    def _header(self) -> None:
        """`.version 9.0`, `.target sm_90, debug`, `.address_size 64`."""
        tokens = self.tokens
        tokens.expect(".version")
        self.version = tokens.next()
        major, _, minor = self.version.partition(".")
        if not (major.isdigit() and minor.isdigit()):
            tokens.at -= 1
            raise tokens.expected("a version such as 8.0")
        tokens.expect(".target")
        self.target = tokens.name("a target such as sm_90")
        while tokens.take(","):
            tokens.name("an option of the target")
        if tokens.take(".address_size"):
            if tokens.peek() != "64":
                raise tokens.error("only addresses of 64 bits are supported")
            tokens.at += 1

    def _alias(self) -> None:
        """`.alias name, function;`."""
        tokens = self.tokens
        tokens.at += 1
        name = tokens.name("the name of a function")
        tokens.expect(",")
        at = tokens.at
        function = self.functions.get(tokens.name("the name of a function"))
        if function is None:
            raise tokens.error("there is no function of this name", at)
        tokens.expect(";")
        self.functions[name] = replace(function, name=name)

    def _declaration(self) -> None:
        tokens = self.tokens
        external = False
        while tokens.peek() in _LINKAGE:
            external |= tokens.next() == ".extern"
        word = tokens.peek()
        if word in (".entry", ".func"):
            self._function()
        elif word in SPACES and word not in (".param", ".local"):
            at = tokens.at
            for variable in variables(tokens, external):
                self._add_variable(variable, at)
        else:
            raise tokens.expected("a function or a variable")

    def _add_variable(self, variable: Variable, at: int) -> None:
        known = self.variables.get(variable.name)
        if variable.name in self.functions or (known and not (known.external or variable.external)):
            raise self.tokens.error(f"`{variable.name}` is declared twice", at)
        if known is None or known.external:
            self.variables[variable.name] = variable

    def _function(self) -> None:
        tokens = self.tokens
        at = tokens.at
        kernel = tokens.next() == ".entry"
        before = directives(tokens)
        results = () if kernel else parameters(tokens)
        name_at = tokens.at
        name = tokens.name("the name of a function")
        given = parameters(tokens)
        limits = before | directives(tokens)
        body = Body(tokens, self.files)
        declared = tokens.take(";")
        if not declared:
            for variable in (*results, *given):
                if variable.space == "reg":
                    body.declare_register(variable.name, variable.type, name_at)
                else:
                    body.declare_symbol(variable.name, name_at)
            body.read()
        for unknown, where in body.unknown.items():
            self.unknown.setdefault(unknown, where)
        known = self.functions.get(name)
        if name in self.variables or (known and not (known.declared or declared)):
            raise tokens.error(f"`{name}` is declared twice", name_at)
        if known is None or known.declared:
            self.functions[name] = Function(
                name,
                kernel,
                given,
                results,
                body.registers,
                tuple(body.variables),
                tuple(body.body),
                limits,
                tokens.line(at),
                declared,
            )


__all__ = ["PTXError", "parse_ptx"]
