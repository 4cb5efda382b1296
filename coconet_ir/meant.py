"""What somebody meant who wrote the name of an operation that there is not."""

from __future__ import annotations

from collections.abc import Sequence
from difflib import get_close_matches


def meant(name: str, known: Sequence[str]) -> Sequence[str]:
    """The operation that an unknown name stands for, if there is one that is like it."""
    name = _INSTEAD.get(name, name)
    if name.startswith("transform.") and name not in known:
        step = f"transform.coconet.{name.rpartition('.')[2]}"
        steps = [one for one in known if one.startswith("transform.coconet.")]
        if close := get_close_matches(step, steps, n=1, cutoff=0.9):
            return close
    return [name] if name in known else get_close_matches(name, known, n=1)


_INSTEAD = {
    "transform.match": "transform.coconet.named",
    "transform.coconet.match": "transform.coconet.named",
    "transform.coconet.slice_argument": "transform.coconet.slice",
    "transform.coconet.inline_schedule": "transform.coconet.inline",
    "transform.inline_schedule": "transform.coconet.inline",
}
"""What steps might be called by those who know MLIR, the passes or the calls in Python."""
