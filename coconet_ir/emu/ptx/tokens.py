"""The words of a PTX text and where they stand (PTX ISA, section 4)."""

from __future__ import annotations

import re
from bisect import bisect_right

_COMMENT = r"//[^\n]*+|/\*(?s:.)*?\*/"
_TOKEN = re.compile(
    rf"(?:\s++|{_COMMENT})*+"
    r"(?P<token>"
    r"[A-Za-z_$%][\w$]*+(?:(?:\.|::)\w++)*+"  # names, opcodes with modifiers
    r"|\.[A-Za-z_]\w*+(?:::\w++)*+"  # directives, types
    r"|(?:\d++\.\d*+|\.\d++|\d++(?=[eE]))(?:[eE][+-]?\d++)?|\d\w*+"
    r'|"(?:[^"\\\n]|\\.)*+"'
    r"|<<|>>|[<>=!]=|&&|\|\|"
    r"|/\*(?s:.)*+"  # without an end
    r"|(?s:.)|\Z)",
    re.ASCII,
)
_COMMENTS = re.compile(_COMMENT)
_NAME = re.compile(r"[A-Za-z_$%][\w$]*", re.ASCII)
_MARKS = frozenset("-+*/%&|^~!<>?:(){}[],;@=_$")


class PTXError(Exception):
    """A text that is not PTX, or PTX that this does not read: why, and where."""

    def __init__(self, message: str, line: int, column: int, name: str = "<ptx>"):
        super().__init__(f"{name}:{line}:{column}: {message}")
        self.message, self.line, self.column = message, line, column


class Tokens:
    """The tokens of a text, read from left to right. The last is empty, and nothing steps over it."""

    def __init__(self, text: str, name: str):
        self.text, self._name = text, name
        self.at = 0
        """The number of the next token."""
        self._lines = [0, *(match.end() for match in re.finditer("\n", text))]
        self.words: list[str] = []
        self.starts: list[int] = []
        for match in _TOKEN.finditer(text):
            self.words.append(match["token"])
            self.starts.append(match.start("token"))

    def check(self) -> None:
        """Raise `PTXError` for what is no PTX file, and for what is no token."""
        if self.words[0] != ".version":
            error = self.expected("`.version`")
            raise self.error(f"{error.message}: this is no PTX; `nvcc -ptx` makes PTX of CUDA")
        for word in dict.fromkeys(self.words):
            self._check(word)

    def _check(self, word: str) -> None:
        """Raise `PTXError` for what is no token."""
        if word.startswith("/*"):
            raise self.error("the comment has no end", self.words.index(word))
        if len(word) == 1 and word not in _MARKS and not (word.isascii() and word.isalnum()):
            why = "the string has no end" if word == '"' else f"{word!r} is no token of PTX"
            raise self.error(why, self.words.index(word))

    # Places

    def line(self, at: int) -> int:
        """The line of a token, from 1."""
        return bisect_right(self._lines, self.starts[at])

    def error(self, message: str, at: int | None = None) -> PTXError:
        """An error at a token; at the next one if none is given."""
        at = self.at if at is None else at
        line = self.line(at)
        column = self.starts[at] - self._lines[line - 1] + 1
        return PTXError(message, line, column, self._name)

    def expected(self, what: str) -> PTXError:
        """An error about the next token."""
        found = self.words[self.at]
        if len(found) > 80:
            found = found[:80] + "…"
        return self.error(f"{what} is expected, not " + (f"`{found}`" if found else "the end"))

    def between(self, begin: int, end: int) -> str:
        """The text from a token up to another, on one line and without comments."""
        raw = self.text[self.starts[begin] : self.starts[end]]
        return " ".join((_COMMENTS.sub(" ", raw) if "/" in raw else raw).split())

    # Reading

    def peek(self) -> str:
        """The next token."""
        return self.words[self.at]

    def next(self) -> str:
        """Step over a token."""
        word = self.words[self.at]
        if word:
            self.at += 1
        return word

    def take(self, word: str) -> bool:
        """Step over this token if it is the next one."""
        if self.words[self.at] != word:
            return False
        self.at += 1
        return True

    def expect(self, word: str) -> None:
        """Step over this token. Raises `PTXError`."""
        if self.words[self.at] != word:
            raise self.expected(f"`{word}`")
        self.at += 1

    def is_name(self) -> bool:
        """Whether the next token is a name; `%tid.x` is one."""
        word = self.words[self.at]
        return word[:1].isalpha() or (word[:1] in ("%", "_", "$") and word != "%" and word != "")

    def name(self, what: str) -> str:
        """Step over an identifier. Raises `PTXError`."""
        word = self.words[self.at]
        if word == "%" or not _NAME.fullmatch(word):
            raise self.expected(what)
        self.at += 1
        return word

    def opcode(self) -> list[str]:
        """Step over `ld.global.b32`, the modifiers of which can stand apart; its parts. Raises `PTXError`."""
        word = self.words[self.at]
        if not word[:1].isalpha():
            raise self.expected("an instruction")
        self.at += 1
        parts = word.split(".")
        while (word := self.words[self.at]).startswith(".") and word[1:2].isalpha():
            parts.append(word[1:])
            self.at += 1
        return parts

    def string(self) -> str:
        """Step over a string. Raises `PTXError`."""
        if not self.peek().startswith('"'):
            raise self.expected("a string")
        return self.next()[1:-1]

    def skip(self, opening: str, closing: str) -> None:
        """Step over brackets of this kind with what is in them. Raises `PTXError`."""
        begin = self.at
        self.expect(opening)
        depth = 1
        while depth:
            word = self.next()
            if not word:
                raise self.error(f"this `{opening}` is not closed", begin)
            depth += (word == opening) - (word == closing)
