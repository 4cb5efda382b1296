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
    r"|(?:0[fF][\da-fA-F]{8}|0[dD][\da-fA-F]{16}|0[xX][\da-fA-F]++U?|0[bB][01]++U?"
    r"|(?:\d++\.\d*+|\.\d++)(?:[eE][+-]?\d++)?|\d++[eE][+-]?\d++|\d++U?)(?![\w.])"
    r'|"(?:[^"\\\n]|\\.)*+"'
    r"|<<|>>|[<>=!]=|&&|\|\||[-+*/%&|^~!<>?:(){}\[\],;@=]"
    r"|\Z)",
    re.ASCII,
)
_COMMENTS = re.compile(_COMMENT)
_NAME = re.compile(r"[A-Za-z_$%][\w$]*", re.ASCII)


class PTXError(Exception):
    """A text that is not PTX: why, and where."""

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
        at = 0
        for match in _TOKEN.finditer(text):
            if match.start() != at:
                break
            at = match.end()
            self.words.append(match["token"])
            self.starts.append(match.start("token"))
        if not self.words or self.words[-1]:
            raise self._not_a_token(at)

    def _not_a_token(self, at: int) -> PTXError:
        while True:  # blanks and comments stand before it
            rest = self.text[at:]
            if rest[0].isspace():
                at += 1
            elif comment := _COMMENTS.match(rest):
                at += comment.end()
            else:
                break
        self.starts.append(at)
        if rest.startswith("/*"):
            return self.error("the comment has no end", len(self.starts) - 1)
        if rest.startswith('"'):
            return self.error("the string has no end", len(self.starts) - 1)
        word = re.match(r"[\w.]+|.", rest)
        assert word
        return self.error(f"`{word[0][:40]}` is no token of PTX", len(self.starts) - 1)

    # Places

    def line(self, at: int) -> int:
        """The line of a token, from 1."""
        return bisect_right(self._lines, self.starts[at])

    def error(self, message: str, at: int | None = None) -> PTXError:
        """An error at a token; at the next one if none is given."""
        at = self.at if at is None else at
        line = self.line(at)
        return PTXError(message, line, self.starts[at] - self._lines[line - 1] + 1, self._name)

    def expected(self, what: str) -> PTXError:
        """An error about the next token."""
        found = self.words[self.at]
        return self.error(f"{what} is expected, not " + (f"`{found}`" if found else "the end"))

    def between(self, begin: int, end: int) -> str:
        """The text from a token up to another, on one line and without comments."""
        raw = self.text[self.starts[begin] : self.starts[end]]
        return " ".join((_COMMENTS.sub(" ", raw) if "/" in raw else raw).split())

    # Reading

    @property
    def word(self) -> str:
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

    def name(self, what: str) -> str:
        """Step over an identifier. Raises `PTXError`."""
        word = self.words[self.at]
        if not _NAME.fullmatch(word):
            raise self.expected(what)
        self.at += 1
        return word

    def name_with_modifiers(self, what: str) -> list[str]:
        """Step over `ld.global.b32`, its parts also apart. Raises `PTXError`."""
        word = self.words[self.at]
        if not word[:1].isalpha():
            raise self.expected(what)
        self.at += 1
        parts = word.split(".")
        while (word := self.words[self.at]).startswith(".") and word[1:2].isalpha():
            parts.append(word[1:])
            self.at += 1
        return parts

    def string(self) -> str:
        """Step over a string. Raises `PTXError`."""
        if not self.word.startswith('"'):
            raise self.expected("a string")
        return self.next()[1:-1]

    def skip_block(self) -> None:
        """Step over `{ … }` with what is in it. Raises `PTXError`."""
        begin = self.at
        self.expect("{")
        depth = 1
        while depth:
            word = self.next()
            if not word:
                raise self.error("this brace is not closed", begin)
            depth += (word == "{") - (word == "}")
