"""From PTX text to a tree (PTX ISA, sections 4, 5 and 11)."""

from __future__ import annotations

from coconet_ir.emu.ptx.body import Body, file, pragma, section
from coconet_ir.emu.ptx.constants import integer
from coconet_ir.emu.ptx.declarations import SPACES, parameters, skip_parentheses, variables
from coconet_ir.emu.ptx.syntax import Function, Module, Variable
from coconet_ir.emu.ptx.tokens import PTXError, Tokens

_LINKAGE = frozenset((".visible", ".extern", ".weak", ".common"))
_FLAGS = frozenset((".noreturn", ".explicitcluster", ".blocksareclusters"))
_LIMITS = frozenset(
    (
        ".maxntid",
        ".reqntid",
        ".minnctapersm",
        ".maxnctapersm",
        ".maxnreg",
        ".reqnctapercluster",
        ".maxclusterrank",
        ".abi_preserve",
        ".abi_preserve_control",
    )
)


def parse_ptx(text: str, name: str = "<ptx>") -> Module:
    """Read a PTX file, which errors call by its name. Raises `PTXError`."""
    return _Parser(text, name).read()


class _Parser:
    def __init__(self, text: str, name: str):
        self.tokens = Tokens(text, name)
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
                files[number] = name
        tokens.at = 0
        return files

    def read(self) -> Module:
        tokens = self.tokens
        self._header()
        while word := tokens.word:
            if word == ".file":
                file(tokens)
            elif word == ".section":
                section(tokens)
            elif word == ".pragma":
                pragma(tokens)
            elif word == ".alias":
                raise tokens.error("another name for a function (.alias) is not supported")
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
            if tokens.word != "64":
                raise tokens.error("only addresses of 64 bits are supported")
            tokens.at += 1

    def _declaration(self) -> None:
        tokens = self.tokens
        external = False
        while tokens.word in _LINKAGE:
            external |= tokens.next() == ".extern"
        word = tokens.word
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
        directives: dict[str, tuple[int, ...]] = {}
        self._directives(directives)
        results = parameters(tokens) if not kernel and tokens.word == "(" else ()
        name_at = tokens.at
        name = tokens.name("the name of a function")
        given = parameters(tokens) if tokens.word == "(" else ()
        self._directives(directives)
        body = Body(tokens, self.files)
        for variable in (*results, *given):
            if variable.space == "reg":
                body.declare_register(variable.name, variable.type, name_at)
            else:
                body.declare_symbol(variable.name, name_at)
        declared = tokens.take(";")
        if not declared:
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
                directives,
                tokens.line(at),
                declared,
            )

    def _directives(self, found: dict[str, tuple[int, ...]]) -> None:
        """Read what stands between the head of a function and its body."""
        tokens = self.tokens
        while (word := tokens.word).startswith("."):
            if word in _LIMITS:
                tokens.at += 1
                numbers = [integer(tokens, "a number", (1 << 31) - 1)]
                while tokens.take(","):
                    numbers.append(integer(tokens, "a number", (1 << 31) - 1))
                found[word[1:]] = tuple(numbers)
            elif word in _FLAGS:
                tokens.at += 1
                found[word[1:]] = ()
            elif word == ".pragma":
                pragma(tokens)
            elif word == ".attribute":
                tokens.at += 1
                skip_parentheses(tokens)
            else:
                raise tokens.error(f"the directive {word} is not known here")


__all__ = ["PTXError", "parse_ptx"]
