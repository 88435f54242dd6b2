"""Events through each client while the api is killed, again and again: each counts once."""

import asyncio
import json
import shutil
import subprocess
import threading
from contextlib import ExitStack
from pathlib import Path
from typing import IO, Any

import pytest

from hedgerow_client import AsyncClient, Batch, Client, Receipt
from service.processes.child import ServiceProcess
from tests.clients.js.node import HERE, needs_node, room_of
from tests.clients.kills import PATIENCE_S, USERS, Killer, check_each_counts_once, event
from tests.service.running import service

pytestmark = pytest.mark.flow
LONG = pytest.param(10_000, 5, marks=pytest.mark.slow)
SIZES = [(200, 1), LONG]
"""How many events, and how often the api is killed meanwhile."""


@pytest.mark.parametrize(("n", "kills"), SIZES)
def test_each_event_of_the_python_client_counts_once(tmp_path: Path, n: int, kills: int) -> None:
    with service(tmp_path, trainer=False) as running, Client(running.url) as client:
        client.wait_until_ready()

        def note(_: Batch) -> None:
            killer.note(stream.receipt.acknowledged)

        # the stream ends first, then the killer
        with ExitStack() as stack:
            killer = stack.enter_context(Killer(running, n, kills))
            stream = stack.enter_context(
                client.stream(rows=n // 100, patience_s=PATIENCE_S, on_batch=note)
            )
            for number in range(n):
                killer.may_go_on(number)
                stream.send(event(number))
        receipt = stream.receipt
        assert (receipt.acknowledged, receipt.refused_total) == (n, 0)
        check_each_counts_once(running.url, n, receipt.sequence)


@pytest.mark.slow
def test_each_event_of_the_async_python_client_counts_once(tmp_path: Path) -> None:
    n, kills = 10_000, 5

    async def send(running: ServiceProcess) -> Receipt:
        async with AsyncClient(running.url) as client:
            await client.wait_until_ready()

            def note(_: Batch) -> None:
                killer.note(stream.receipt.acknowledged)

            with Killer(running, n, kills) as killer:
                how = {"rows": n // 100, "patience_s": PATIENCE_S}
                async with client.stream(**how, on_batch=note) as stream:
                    for number in range(n):
                        if number % killer.part == 0:
                            await asyncio.to_thread(killer.may_go_on, number)
                        await stream.send(event(number))
            return stream.receipt

    with service(tmp_path, trainer=False) as running:
        receipt = asyncio.run(send(running))
        assert (receipt.acknowledged, receipt.refused_total) == (n, 0)
        check_each_counts_once(running.url, n, receipt.sequence)


@needs_node
@pytest.mark.parametrize(("n", "kills"), [LONG])
def test_each_event_of_the_javascript_client_counts_once(
    tmp_path: Path, n: int, kills: int
) -> None:
    room = room_of(tmp_path)
    shutil.copy(HERE / "stream_events.js", room)
    with service(room / "service", trainer=False) as running:
        with Client(running.url) as client:
            client.wait_until_ready()
        words = ["node", "stream_events.js", running.url, str(n), str(USERS), str(n // 100)]
        pipe = subprocess.PIPE
        with (
            Killer(running, n, kills) as killer,
            subprocess.Popen(words, cwd=room, stdin=pipe, stdout=pipe, text=True) as program,
        ):
            receipt = streamed(program, killer, n)
        assert program.returncode == 0
        assert (receipt["acknowledged"], receipt["refusedTotal"]) == (n, 0)
        check_each_counts_once(running.url, n, receipt["sequence"])


def streamed(program: subprocess.Popen[str], killer: Killer, n: int) -> dict[str, Any]:
    """Let the program go on part by part, note what it has sent, and return its receipt."""
    assert program.stdin
    assert program.stdout

    def let_go_on(stdin: IO[str]) -> None:
        for end in [*range(killer.part, n, killer.part), n]:
            stdin.write(f"{end}\n")
            stdin.flush()
            if end < n:
                killer.may_go_on(end)

    thread = threading.Thread(target=let_go_on, args=(program.stdin,))
    thread.start()
    said = ""
    for said in program.stdout:
        if said.strip().isdecimal():
            killer.note(int(said))
    thread.join()
    receipt: dict[str, Any] = json.loads(said)
    return receipt
