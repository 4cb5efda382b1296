"""Let producers and consumers work at once, chunk by chunk (paper, section 3.4)."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from xdsl.context import Context
from xdsl.dialects.builtin import IntegerAttr, ModuleOp, i64
from xdsl.dialects.func import FuncOp
from xdsl.ir import Attribute, Operation
from xdsl.passes import ModulePass

from coconet_ir.analysis.chunks import Chunks, check_overlap
from coconet_ir.analysis.dependences import Dependences
from coconet_ir.diagnostics import IRError
from coconet_ir.dialects.regions import OverlapOp
from coconet_ir.passes.regions import check_convex, enclose, region_name, taken_in
from coconet_ir.schedule.remarks import Refused, Remark
from coconet_ir.schedule.rewriting import applied, declined, rewrite_set, rewrite_set_in
from coconet_ir.schedule.selection import label_of


@dataclass(frozen=True)
class OverlapPass(ModulePass):
    """Put the operations named `ops`, all or none, into one `coll.overlap`. Reads and leaves the distributed level.

    They work at once in `chunks` chunks (left to whoever runs it, if not given) of dimension `dim` of what the first
    stage makes, by default the first dimension that all of them can work along. `between` also takes in what lies on
    paths between them, and splats, constants, broadcasts and views that only they read. `named` is the name of the
    result, by default `overlap_N`, N being the first of them.
    """

    name = "coconet-overlap"

    ops: tuple[str, ...]
    dim: int | None = None
    chunks: int | None = None
    between: bool = False
    named: str | None = None
    func: str | None = None
    require: bool = False

    def apply(self, ctx: Context, op: ModuleOp) -> None:
        rewrite_set(op, self.ops, self.func, self.require, self.rewrite)

    def rewrite(self, func: FuncOp, targets: Sequence[Operation]) -> Remark:
        """Overlap `targets` of `func`. Raises `IRError` for options that do not fit them."""
        dependences = Dependences(func)
        chosen = taken_in(dependences, targets) if self.between else set(targets)
        members = [op for op in dependences.order if op in chosen]
        first = next(op for op in members if op in targets)
        if self.chunks is not None and self.chunks < 1:
            raise IRError(
                f"chunks={self.chunks} is out of range: an overlap has at least 1 chunk", first
            )
        named = region_name(func, self.named, f"overlap_{label_of(first)}", first)
        try:
            check_convex(dependences, chosen)
            chunks = check_overlap(members, self.dim)
        except Refused as refused:
            return declined("overlap", first, refused)
        message = self._summary(chunks)
        properties: dict[str, Attribute] = {"dim": IntegerAttr(chunks.dim, i64)}
        if self.chunks is not None:
            properties["chunks"] = IntegerAttr(self.chunks, i64)
        region = enclose(func, dependences, chosen, OverlapOp, named, properties)
        return applied("overlap", first, message, (region,))

    def _summary(self, chunks: Chunks) -> str:
        labels = [f"'{label_of(op)}'" for op in chunks.stages]
        count = "chunk by chunk" if self.chunks is None else f"in {self.chunks} chunk(s)"
        unit = "" if chunks.unit == 1 else f", cut in units of {chunks.unit}"
        return f"stages {' -> '.join(labels)} work at once, {count} along dimension {chunks.dim} of {labels[0]}{unit}"


def overlap(
    func: FuncOp,
    ops: Sequence[str],
    *,
    dim: int | None = None,
    chunks: int | None = None,
    between: bool = False,
    named: str | None = None,
) -> Remark:
    """Overlap the operations named `ops` of one function, as `coconet-overlap` does."""
    rewrite = OverlapPass(tuple(ops), dim, chunks, between, named).rewrite
    return rewrite_set_in(func, ops, rewrite)
