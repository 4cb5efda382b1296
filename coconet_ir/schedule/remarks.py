"""What a rewrite did or declined to do, and why: the one list of reason codes (design, section 6)."""

from __future__ import annotations

from collections.abc import Generator, Iterable
from contextlib import contextmanager
from contextvars import ContextVar
from dataclasses import dataclass, field
from enum import StrEnum

from xdsl.ir import Operation

from coconet_ir.diagnostics import Place, position


class Reason(StrEnum):
    """Why a rewrite declined. Each occurs in a test under `test/filecheck/passes`."""

    ZERO_DIMENSIONAL = "zero-dimensional"
    """The tensor has no dimension to cut."""
    NO_FREE_DIMENSION = "no-free-dimension"
    """Every dimension is cut already, and no dimension was named."""
    UNIT_CONFLICT = "unit-conflict"
    """The dimension is cut already in another unit."""
    ORDERED_BY_RANK = "ordered-by-rank"
    """`order = ranks` fixes the order of the additions; cutting the axes apart would change it."""
    NOT_REPLICATED = "not-replicated"
    """The value is not replicated on the axes."""
    NO_RULE = "no-rule"
    """The operation states no dimension rule, so it never moves."""
    WHOLE_DIMENSION = "whole-dimension"
    """The operation needs the dimension whole."""
    NOT_FIRST_FACTOR = "not-first-factor"
    """Of a product of dimensions only the first factor can be sliced."""
    UNIT_NOT_STATIC = "unit-not-static"
    """The inner factors of a product are not static, or the slice does not fall on their boundary."""
    LAYOUT_CONFLICT = "layout-conflict"
    """Operands would have to lie in two ways, or the result could not be gathered again."""
    NEEDS_REDUCTION = "needs-reduction"
    """A partial value stands where the operation needs the whole one."""
    OWN_AXES = "own-axes"
    """The operation itself changes the layout along the axes of the collective that moves."""
    NOTHING_TO_MOVE = "nothing-to-move"
    """No operation that reads the gathered value can run on slices."""
    MORE_BYTES = "more-bytes"
    """The rewrite is not known to send at most as many bytes for every size and number of ranks."""
    UPDATE_ORDER = "update-order"
    """The operation would read an argument's memory after the argument's update."""
    SCALAR_RESULT = "scalar-result"
    """The operation makes a scalar, and scalars are replicated."""
    READ_WHOLE = "read-whole"
    """Somebody needs the argument whole, so it cannot be kept in slices."""
    STORED_WHOLE = "stored-whole"
    """The update of the argument does not store a gathered slice."""
    SEVERAL_LAYOUTS = "several-layouts"
    """The argument is read in slices of more than one layout."""
    NOT_SLICED = "not-sliced"
    """The argument is neither read in slices nor stored from a gather."""
    NOT_CONVEX = "not-convex"
    """A path leaves the operations and enters them again, so they cannot run as one."""
    NESTED_REGION = "nested-region"
    """The region may not hold this region, or the operation stands in a region already."""
    SEVERAL_AXES = "several-axes"
    """Collectives over different axes, or in another order of them, in one fused operation."""
    NOT_FUSABLE = "not-fusable"
    """The operation is a kernel or a call of its own."""
    COLLECTIVE_ORDER = "collective-order"
    """A collective at a place of the fused operation where it cannot be run."""
    IN_PLACE = "in-place"
    """An argument would be overwritten while somebody still reads it."""
    NO_CHAIN = "no-chain"
    """The stages are not producers and consumers, each of the next."""
    CHUNKED_DIMENSION = "chunked-dimension"
    """A stage cannot work on chunks of the dimension."""
    NOT_ALIKE = "not-alike"
    """The collectives are of different kinds, axes, precision or element types."""
    DEPENDENT = "dependent"
    """One of the collectives waits for another."""
    NOTHING_TO_COMBINE = "nothing-to-combine"
    """No two collectives of the function are alike and independent."""


class Refused(Exception):
    """A rewrite or a layout that is not possible, with its reason code and a sentence for the user."""

    def __init__(self, reason: Reason, message: str):
        super().__init__(message)
        self.reason = reason
        self.message = message


@dataclass(frozen=True)
class Remark:
    """One application of a rewrite: applied, or declined with a reason and what would lift it."""

    rewrite: str
    operation: str
    location: str
    message: str
    reason: Reason | None = None
    made: tuple[Operation, ...] = field(default=(), repr=False, compare=False)
    """What a schedule can go on with: the operations made in place of the ones named."""
    removed: tuple[str, ...] = field(default=(), repr=False, compare=False)
    """The names that select nothing any more."""

    @property
    def applied(self) -> bool:
        """Whether the rewrite was applied."""
        return self.reason is None

    def render(self) -> str:
        """One line: `file:line:col: remark: split 'avg': applied: …`."""
        verdict = "applied" if self.reason is None else f"declined [{self.reason}]"
        return (
            f"{self.location}: remark: {self.rewrite} '{self.operation}': {verdict}: {self.message}"
        )

    def to_json(self) -> dict[str, str | bool | None]:
        """The remark as one JSON object."""
        return {
            "rewrite": self.rewrite,
            "operation": self.operation,
            "location": self.location,
            "applied": self.applied,
            "reason": self.reason,
            "message": self.message,
        }


_sink: ContextVar[list[Remark] | None] = ContextVar("coconet remarks", default=None)


@contextmanager
def collect(earlier: Iterable[Remark] = ()) -> Generator[list[Remark]]:
    """Gather every remark emitted inside the block, behind those of the same run that were emitted earlier."""
    remarks = list(earlier)
    token = _sink.set(remarks)
    try:
        yield remarks
    finally:
        _sink.reset(token)


def emit(remark: Remark) -> None:
    """Hand a remark to whoever collects."""
    if (remarks := _sink.get()) is not None:
        remarks.append(remark)


def remover(name: str) -> Remark | None:
    """The last rewrite, of those whose remarks are being collected, that removed an operation of this name."""
    remarks = _sink.get() or ()
    return next((remark for remark in reversed(remarks) if name in remark.removed), None)


def location_of(place: Place) -> str:
    """`file:line:col` of an operation or value, or `-` when neither it nor a parent has one."""
    found = position(place)
    return "-" if found is None else str(found)
