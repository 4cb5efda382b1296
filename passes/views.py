"""The changes of layout that send nothing: slices and relaxes from a value to a layout it can be seen in."""

from __future__ import annotations

from xdsl.ir import Operation, SSAValue

from coconet_ir.analysis.dist import Dist, LayoutError, Local, Root
from coconet_ir.dialects.attributes import dist_of
from coconet_ir.dialects.layout import RelaxOp, SliceOp


def view_name(op: Operation, base: str) -> str:
    """What the result of a view of the value named `base` is called: a relax `N_relax`, any other `N_slice`."""
    return f"{base}_relax" if isinstance(op, RelaxOp) else f"{base}_slice"


def views(value: SSAValue, dist: Dist) -> list[Operation]:
    """New operations, the last of which gives `value` the layout `dist`; none if it has it already.

    Raises `LayoutError` when slicing and relaxing replicated axes does not lead there.
    """
    have = dist_of(value.type)
    new = [entry for entry in dist.states if entry not in have.states]
    # A relax of a partial value would change its meaning.
    if any(axis in have.by_axis for axis, _ in new):
        raise LayoutError(f"a value that is {have} cannot be seen as {dist}")
    made: list[Operation] = []
    for cut in dist.cuts:
        old = dist_of(value.type).by_dim.get(cut.dim)
        missing = cut.axes[len(old.axes) if old else 0 :]
        if missing:
            part = SliceOp(value, missing, cut.dim, cut.unit)
            made.append(part)
            value = part.output
    loose = [axis for axis, state in new if isinstance(state, Local)]
    rooted = [(axis, state.coordinate) for axis, state in new if isinstance(state, Root)]
    if loose:
        made.append(RelaxOp(value, loose))
        value = made[-1].results[0]
    if rooted:
        made.append(RelaxOp(value, [axis for axis, _ in rooted], [root for _, root in rooted]))
        value = made[-1].results[0]
    if dist_of(value.type) != dist:
        for op in reversed(made):
            op.erase()
        raise LayoutError(f"a value that is {have} cannot be seen as {dist}")
    return made
