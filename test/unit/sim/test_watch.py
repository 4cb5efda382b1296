"""The watch over processes, without MPI: what each prints and that each ends."""

from __future__ import annotations

import signal
import subprocess
import sys
import time
from collections.abc import Callable, Iterator

import pytest

SCRIPT = """
import sys, time
from coconet_ir.sim.watch import Watch, accept_all, connect, listener

rank, count, port, what = (int(sys.argv[1]), int(sys.argv[2]), int(sys.argv[3]), sys.argv[4])
token = b"0123456789abcdef"
if rank == 0:
    with listener("127.0.0.1") as server:
        print(server.getsockname()[1], flush=True)
        watch = Watch(0, accept_all(server, count - 1, token))
else:
    watch = Watch(rank, {0: connect("127.0.0.1", port, rank, token)})
watch.where = lambda: f"step {rank}"
print("ready", flush=True)
sys.stdin.readline()
if what == "close":
    time.sleep(0.2)
    watch.close()
elif what == "fail":
    watch.fail(f"error: {rank} failed")
else:
    time.sleep(600)
"""

Process = subprocess.Popen[str]


def _start(rank: int, count: int, port: int, what: str) -> Process:
    command = [sys.executable, "-c", SCRIPT, str(rank), str(count), str(port), what]
    return subprocess.Popen(command, stdin=-1, stdout=-1, stderr=-1, text=True)


def _line(process: Process) -> str:
    assert process.stdout is not None
    return process.stdout.readline().strip()


@pytest.fixture
def group() -> Iterator[Callable[..., list[Process]]]:
    """Start processes that watch each other; each word says what one of them does when told to go on."""
    started: list[Process] = []

    def start(*doing: str) -> list[Process]:
        started.append(_start(0, len(doing), 0, doing[0]))
        port = int(_line(started[0]))
        started.extend(_start(i, len(doing), port, word) for i, word in enumerate(doing) if i)
        assert [_line(process) for process in started] == ["ready"] * len(doing)
        return started

    yield start
    for process in started:
        process.kill()
        process.communicate()


def _ends(processes: list[Process]) -> list[tuple[int, str]]:
    """Let all go on; exit status and standard error of each."""
    for process in processes:
        if process.poll() is None and process.stdin is not None:
            process.stdin.write("go\n")
            process.stdin.flush()
    ends: list[tuple[int, str]] = []
    for process in processes:
        process.wait(20)
        assert process.stderr is not None
        ends.append((process.returncode, process.stderr.read()))
    return ends


@pytest.mark.parametrize("lost", [0, 2])
def test_a_killed_process_ends_all(group: Callable[..., list[Process]], lost: int) -> None:
    processes = group("wait", "wait", "wait", "wait")
    start = time.monotonic()
    processes[lost].send_signal(signal.SIGKILL)
    ends = _ends(processes)
    assert time.monotonic() - start < 10
    for rank, (status, errors) in enumerate(ends):
        if rank == lost:
            assert status == -signal.SIGKILL
        else:
            assert status == 1
            assert errors == f"error: rank {lost} was lost; rank {rank} was at step {rank}\n"


@pytest.mark.parametrize("doing", [("wait", "fail", "wait"), ("fail", "wait", "wait")])
def test_rank_0_tells_why_one_failed(
    group: Callable[..., list[Process]], doing: tuple[str, ...]
) -> None:
    failed = doing.index("fail")
    ends = _ends(group(*doing))
    assert ends == [(1, f"error: {failed} failed\n"), (1, ""), (1, "")]


def test_one_message_when_all_fail(group: Callable[..., list[Process]]) -> None:
    ends = _ends(group("fail", "fail", "fail"))
    assert [status for status, _ in ends] == [1, 1, 1]
    assert "".join(errors for _, errors in ends).count("failed") == 1


def test_an_orderly_end_is_silent(group: Callable[..., list[Process]]) -> None:
    assert _ends(group("close", "close", "close")) == [(0, "")] * 3
