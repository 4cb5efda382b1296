"""Custom operations declared in Python (design, section 5): a rule and a reference, by name."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, TypeAlias, cast

from coconet_ir.analysis.notation import Pattern, pattern

if TYPE_CHECKING:  # programs without customs, and coconet-opt, start without NumPy
    from numpy.typing import NDArray

    Array: TypeAlias = NDArray[Any]


@dataclass(frozen=True)
class Custom:
    """A custom operation: how it treats dimensions, and what it computes on one rank's arrays."""

    name: str
    pattern: Pattern
    reference: Callable[..., Array | tuple[Array, ...]]

    def __call__(self, *arrays: Array) -> tuple[Array, ...]:
        """The results for these operands, as a tuple of arrays.

        Raises `TypeError` when the reference returns anything else, and what the reference raises.
        """
        import numpy as np

        found: Any = self.reference(*arrays)
        results: tuple[Any, ...] = (found,)
        if isinstance(found, tuple):
            results = cast(tuple[Any, ...], found)
        for result in results:
            if not isinstance(result, np.ndarray | np.generic):
                raise TypeError(f"it returned {type(result).__name__}, not an array")
        made: tuple[Array, ...] = tuple(map(np.asarray, results))
        for array in made:
            if array.dtype.kind in "OSU":
                raise TypeError(f"it returned an array of {array.dtype}, not of numbers")
        return made


_registered: dict[str, Custom] = {}


def custom(name: str, rule: str, reference: Callable[..., Array | tuple[Array, ...]]) -> Custom:
    """Declare the operation that programs write as `comp.custom @name(…)`.

    `rule` is a dimension rule, `"[m, n] -> [m, n]"`; `reference` takes one rank's NumPy arrays, one an operand,
    and returns the result or a tuple of results. Raises `RuleError` when the rule does not parse and
    `ValueError` when the name is taken by another declaration.
    """
    declared = Custom(name, pattern(rule), reference)
    if (other := _registered.get(name)) is not None and other != declared:
        raise ValueError(f"custom operation '{name}' is declared already")
    _registered[name] = declared
    return declared


def declared(name: str) -> Custom | None:
    """The custom operation that Python declared under this name, or None."""
    return _registered.get(name)


def declared_names() -> list[str]:
    """The names of all custom operations declared in Python."""
    return sorted(_registered)
