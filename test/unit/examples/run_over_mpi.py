"""Run every case of a plan on the processes that MPI started, and write the outputs of case i to DIR/i.npz.

    mpirun -n 3 python run_over_mpi.py PLAN.json DIR

A case names a program, the sizes of its axes and shapes of its arguments; inputs are made from seed 1.
"""

from __future__ import annotations

import json
import sys
from functools import cache
from pathlib import Path

from xdsl.dialects.func import FuncOp

from coconet_ir.frontend import make_context, parse_program
from coconet_ir.sim.binding import bind_mesh, the_function
from coconet_ir.sim.executor import run
from coconet_ir.sim.inputs import generate, save
from coconet_ir.sim.mpi import Session


@cache
def function(path: str) -> FuncOp:
    return the_function(parse_program(make_context(), Path(path).read_text(), path), None)


def main(plan: str, folder: str) -> None:
    session = Session()
    for index, case in enumerate(json.loads(Path(plan).read_text())):
        func = function(case["program"])
        inputs = generate(func, bind_mesh(func, case["mesh"]), {}, case["shapes"], 1)
        outcome = run(func, case["mesh"], inputs, exchange=session.exchange)
        if session.rank == 0:
            arrays = {name: output.array for name, output in outcome.outputs.items()}
            save(str(Path(folder) / f"{index}.npz"), arrays)
    session.close()


if __name__ == "__main__":
    main(*sys.argv[1:])
