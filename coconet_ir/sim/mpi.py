"""The simulator with each rank a process of its own, over MPI (mpi4py).

mpirun -n 4 coconet-run --backend mpi prog.mlir
"""

from __future__ import annotations

import hashlib
import secrets
import signal
import socket
import sys
from collections.abc import Mapping, Sequence
from typing import Any, NoReturn

from xdsl.ir import Operation

from coconet_ir.diagnostics import IRError, op_name, position
from coconet_ir.sim.compare import canonical
from coconet_ir.sim.elements import Array
from coconet_ir.sim.exchange import Group, differing
from coconet_ir.sim.mesh import Mesh
from coconet_ir.sim.watch import Watch, accept_all, connect, listener


class Session:
    """This process's place among the processes that MPI started, watched from start to `close`."""

    def __init__(self) -> None:
        """Meet the others. Raises `IRError` when mpi4py or an MPI library is missing."""
        try:
            from mpi4py import MPI
        except (ImportError, RuntimeError) as error:
            raise IRError(f"the mpi backend needs mpi4py and an MPI library: {error}") from None
        # MPICH's launcher signals the others when a process dies; the watch is to say so first.
        if signal.getsignal(signal.SIGUSR1) is signal.SIG_DFL:
            signal.signal(signal.SIGUSR1, signal.SIG_IGN)
        self.world: Any = MPI.COMM_WORLD
        self.rank: int = self.world.Get_rank()
        self.size: int = self.world.Get_size()
        names: list[str] = self.world.allgather(MPI.Get_processor_name())
        try:
            self._watch = Watch(self.rank, self._connections(len(set(names)) == 1))
        except OSError as error:
            print(
                f"error: rank {self.rank} cannot be watched: {error}", file=sys.stderr, flush=True
            )
            self.world.Abort(1)
            raise

    def _connections(self, one_machine: bool) -> dict[int, socket.socket]:
        if self.rank == 0:
            host = "127.0.0.1" if one_machine else socket.gethostbyname(socket.gethostname())
            token = secrets.token_bytes(16)
            with listener(host) as server:
                self.world.bcast((host, server.getsockname()[1], token))
                return accept_all(server, self.size - 1, token)
        host, port, token = self.world.bcast(None)
        return {0: connect(host, port, self.rank, token)}

    def exchange(self, mesh: Mesh) -> MpiExchange:
        """How the ranks of this mesh meet, one a process. Raises `IRError` when the counts differ."""
        if mesh.ranks != self.size:
            raise IRError(
                f"the mesh ({mesh}) has {mesh.ranks} rank(s), but MPI started {self.size} process(es): "
                "give sizes that fit with --mesh, or start as many processes"
            )
        return MpiExchange(self.world, self._watch)

    def fail(self, message: str) -> NoReturn:
        """End all processes with exit status 1; rank 0 prints the message."""
        self._watch.fail(message)

    def close(self) -> None:
        """Wait for the others and end the watch."""
        self.world.Barrier()
        self._watch.close()


class MpiExchange:
    """One rank here, the others in processes of their own."""

    def __init__(self, world: Any, watch: Watch):
        self.ranks: Sequence[int] = (world.Get_rank(),)
        self._world = world
        self._operation: Operation | None = None
        self._communicators: dict[Group, Any] = {}
        self._seen: list[tuple[Operation, Sequence[Group]]] = []
        self._digests: list[bytes] = []
        watch.where = self._where

    def enter(self, op: Operation) -> None:
        """Remember the operation for the message that tells of a lost rank."""
        self._operation = op

    def _where(self) -> str:
        if self._operation is None:
            return "the start of the program"
        place = position(self._operation)
        return f"'{op_name(self._operation)}'" + (f" ({place})" if place is not None else "")

    def gather(self, group: Group, held: Mapping[int, Array]) -> list[Array]:
        """All arrays of the group, sent over its communicator."""
        (rank,) = self.ranks
        if len(group) == 1:
            return [held[rank]]
        if group not in self._communicators:
            members = self._world.Get_group().Incl(list(group))
            self._communicators[group] = self._world.Create_group(members)
        return self._communicators[group].allgather(held[rank])

    def require_equal(
        self, op: Operation, groups: Sequence[Group], held: Mapping[int, Array]
    ) -> None:
        """Note a digest of this rank's bits; `finish` compares them with the others'."""
        if groups:
            (array,) = held.values()
            bits = canonical(array)
            header = f"{bits.dtype} {bits.shape}".encode()
            self._seen.append((op, groups))
            self._digests.append(hashlib.blake2b(header + bits.tobytes(), digest_size=8).digest())

    def finish(self) -> None:
        """Compare the digests of all ranks, in program order."""
        everyone: list[list[bytes]] = self._world.allgather(self._digests)
        for index, (op, groups) in enumerate(self._seen):
            for group in groups:
                first = everyone[group[0]][index]
                wrong = [rank for rank in group[1:] if everyone[rank][index] != first]
                if wrong:
                    raise differing(op, group[0], wrong)
