"""A strict reader of JSON: what is not known is refused, and every error says where it stands and what would fit."""

from __future__ import annotations

import json
from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, NoReturn, cast

from coconet_ir.diagnostics import IRError

_SHOWN = 60
"""The longest value that a message quotes."""


@dataclass(frozen=True)
class Node:
    """A value, and how one gets to it from the whole: `plan.json: steps[2].grid`."""

    value: object
    file: str
    path: str = ""

    def fail(self, message: str) -> NoReturn:
        """Raise `IRError` about this value."""
        raise IRError(
            f"{self.file}: {self.path}: {message}" if self.path else f"{self.file}: {message}"
        )

    def expected(self, what: str) -> NoReturn:
        """Raise `IRError` because it is not what it should be."""
        text = json.dumps(self.value, default=repr, skipkeys=True)
        self.fail(f"expected {what}, not {text if len(text) <= _SHOWN else f'{text[:_SHOWN]}...'}")

    def object(
        self, required: Collection[str] = (), optional: Collection[str] = ()
    ) -> dict[str, Node]:
        """Its members, which are all of `required`, and of `optional` those that are there."""
        members = self.members()
        known = (*required, *optional)
        for name in members:
            if name not in known:
                self.fail(f"'{name}' is not known here; what is: {', '.join(known)}")
        for name in required:
            if name not in members:
                self.fail(f"needs '{name}'")
        return members

    def members(self) -> dict[str, Node]:
        """The members of an object, by any names."""
        if not self.is_object:
            self.expected("an object")
        members = cast(Mapping[object, object], self.value)
        for name in members:
            if not isinstance(name, str):
                self.fail(f"names are strings, not {name!r}")
        prefix = f"{self.path}." if self.path else ""
        return {str(name): Node(one, self.file, f"{prefix}{name}") for name, one in members.items()}

    def items(self) -> list[Node]:
        """The items of a list."""
        if not self.is_list:
            self.expected("a list")
        items = cast(Sequence[object], self.value)
        return [Node(one, self.file, f"{self.path}[{i}]") for i, one in enumerate(items)]

    def has(self, name: str) -> bool:
        """Whether it is an object with a member of this name."""
        return self.is_object and name in cast(Mapping[object, object], self.value)

    @property
    def is_object(self) -> bool:
        """Whether it is an object."""
        return isinstance(self.value, Mapping)

    @property
    def is_list(self) -> bool:
        """Whether it is a list."""
        return isinstance(self.value, list | tuple)

    @property
    def is_text(self) -> bool:
        """Whether it is a string."""
        return isinstance(self.value, str)

    def text(self, what: str = "a string") -> str:
        """A string."""
        if not isinstance(self.value, str):
            self.expected(what)
        return self.value

    def one_of(self, names: Collection[str], what: str) -> str:
        """A string that is one of these."""
        text = self.text(what)
        if text not in names:
            self.fail(f"'{text}' is not {what}; there are: {', '.join(names) or 'none'}")
        return text

    def flag(self) -> bool:
        """True or false."""
        if not isinstance(self.value, bool):
            self.expected("true or false")
        return self.value

    def integer(self, least: int, most: int = 2**63 - 1) -> int:
        """An integer in a range."""
        value = self.value
        if isinstance(value, bool) or not isinstance(value, int) or not least <= value <= most:
            limit = f"of at least {least}" if most == 2**63 - 1 else f"from {least} to {most}"
            self.expected(f"an integer {limit}")
        return value

    def number(self) -> int | float:
        """A number that a double can hold, rounded."""
        value = self.value
        if isinstance(value, bool) or not isinstance(value, int | float):
            self.expected("a number")
        if isinstance(value, int) and abs(value) >> 1023:
            self.fail("is too large")
        return value


def parse(text: str, file: str) -> Node:
    """The JSON that a text is. Raises `IRError`, also for a name that an object has twice."""
    try:
        return Node(json.loads(text, object_pairs_hook=lambda pairs: _once(pairs, file)), file)
    except json.JSONDecodeError as error:
        at = f"{file}: line {error.lineno}, column {error.colno}"
        raise IRError(f"{at}: this is not JSON: {error.msg}") from None
    except ValueError as error:
        raise IRError(f"{file}: {error}") from None
    except RecursionError:
        raise IRError(f"{file}: is too deeply nested") from None


def _once(pairs: Sequence[tuple[str, Any]], file: str) -> dict[str, Any]:
    found: dict[str, Any] = {}
    for name, value in pairs:
        if name in found:
            raise IRError(f"{file}: an object has '{name}' twice")
        found[name] = value
    return found
