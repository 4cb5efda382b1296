"""A process that answers messages: whole messages, what it prints, how it ends, and who has it."""

from __future__ import annotations

import signal
from concurrent.futures import ThreadPoolExecutor
from io import BytesIO

import pytest

from coconet_ir.process import Ended, Service, TimedOut, Worker, read_message, write_message

SERVE = "import os, signal, sys, time; from coconet_ir.process import serve; serve({})"


def test_messages() -> None:
    stream = BytesIO()
    sent = [b"one\n", b"", bytes(1000)]
    for message in sent:
        write_message(stream, message)
    stream.seek(0)
    assert [read_message(stream) for _ in range(4)] == [*sent, None]
    assert read_message(BytesIO(stream.getvalue()[:5])) is None
    assert read_message(BytesIO((9).to_bytes(8) + b"short")) is None


def test_answers() -> None:
    worker = Worker("-c", SERVE.format("lambda request: print(request) or request[::-1]"))
    assert [worker.ask(one, 60) for one in (b"abc", b"", b"x" * 100_000)] == [
        b"cba",
        b"",
        b"x" * 100_000,
    ]
    worker.close()
    assert not worker.usable


def test_an_end_is_told_with_what_was_said() -> None:
    worker = Worker("-c", SERVE.format("lambda request: sys.exit('said ' + request.decode())"))
    with pytest.raises(Ended, match="status 1") as raised:
        worker.ask(b"what", 60)
    assert (raised.value.status, raised.value.said) == (1, "said what\n")
    killed = Worker("-c", SERVE.format("lambda request: os.kill(os.getpid(), signal.SIGKILL)"))
    with pytest.raises(Ended, match="signal SIGKILL") as raised:
        killed.ask(b"", 60)
    assert raised.value.status == -signal.SIGKILL


def test_time_is_limited() -> None:
    worker = Worker("-c", SERVE.format("lambda request: time.sleep(60)"))
    with pytest.raises(TimedOut):
        worker.ask(b"", 0.2)
    assert not worker.usable


def test_a_service_has_one_worker_for_all_threads() -> None:
    service = Service("-c", SERVE.format("lambda request: str(os.getpid()).encode() + request"))

    def ask(number: int) -> tuple[bytes, bytes]:
        with service.worker() as worker:
            answer = worker.ask(b":%d" % number, 60)
        pid, _, found = answer.partition(b":")
        return pid, found

    with ThreadPoolExecutor(4) as pool:
        answers = list(pool.map(ask, range(20)))
    assert len({pid for pid, _ in answers}) == 1
    assert [found for _, found in answers] == [b"%d" % number for number in range(20)]
    with service.worker() as worker:
        worker.close()
    assert ask(0)[0] != answers[0][0]
    service.stop()
