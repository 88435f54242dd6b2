"""What a trainer runs in the tests of its death: the real work, whose process is killed or hangs as a stage begins."""

import importlib
import os
import signal
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any

from service.cli.trainer import work


def _kill() -> None:
    os.kill(os.getpid(), signal.SIGKILL)


def _hang() -> None:
    threading.Event().wait()


def _stop_in(name: str, stop: Callable[[], None]) -> None:
    reporter = importlib.import_module("service.training.work").Reporter
    real = reporter.stage

    @contextmanager
    def stage(self: Any, begun: str, **more: Any) -> Iterator[None]:
        with real(self, begun, **more):
            if begun == name:
                stop()
            yield

    reporter.stage = stage


def __getattr__(name: str) -> Any:
    """``in_reading``, ``in_searching``, ...: the work that dies in that stage; ``hung_in_...``: that stays there."""
    hangs, is_stage, stage = name.partition("in_")
    if not is_stage:
        raise AttributeError(name)

    def dying(job: str) -> None:
        _stop_in(stage, _hang if hangs else _kill)
        work(job)

    return dying
