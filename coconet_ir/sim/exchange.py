"""How the ranks of a run exchange arrays: the only thing that differs between one process and many."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Protocol

from xdsl.ir import Operation

from coconet_ir.diagnostics import IRError
from coconet_ir.sim.elements import Array, same_bits

Group = tuple[int, ...]
"""Ranks of the mesh, in the order in which a collective counts them."""


class Exchange(Protocol):
    """The ranks whose values this process holds, and how it meets the others."""

    @property
    def ranks(self) -> Sequence[int]:
        """The ranks held here, in increasing order."""
        ...

    def enter(self, op: Operation) -> None:
        """All ranks come to this operation next."""
        ...

    def gather(self, group: Group, held: Mapping[int, Array]) -> list[Array]:
        """The arrays of all ranks of the group, in its order; `held` are those of this process.

        All processes that hold a rank of the group call this together.
        """
        ...

    def require_equal(
        self, op: Operation, groups: Sequence[Group], held: Mapping[int, Array]
    ) -> None:
        """Raise `IRError` at `op`, now or in `finish`, unless each group's arrays have the same bits."""
        ...

    def finish(self) -> None:
        """All operations are done. Raises `IRError` for what `require_equal` found."""
        ...


class InProcess:
    """All ranks in this process."""

    def __init__(self, ranks: int):
        self.ranks = range(ranks)

    def enter(self, op: Operation) -> None:
        """Nothing to do."""

    def gather(self, group: Group, held: Mapping[int, Array]) -> list[Array]:
        """The arrays, which are all here."""
        return [held[rank] for rank in group]

    def require_equal(
        self, op: Operation, groups: Sequence[Group], held: Mapping[int, Array]
    ) -> None:
        """Compare every rank of a group with its first."""
        for group in groups:
            first = held[group[0]]
            wrong = [rank for rank in group[1:] if not same_bits(first, held[rank])]
            if wrong:
                raise differing(op, group[0], wrong)

    def finish(self) -> None:
        """Nothing to do."""


def differing(op: Operation, rank: int, others: Sequence[int]) -> IRError:
    """The error for a replicated value that is not: `others` differ from `rank`."""
    ranks = ", ".join(map(str, others))
    return IRError(
        f"gives different bits on ranks that must agree: rank(s) {ranks} differ from rank {rank}",
        op,
    )
