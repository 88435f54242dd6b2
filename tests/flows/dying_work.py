"""What a trainer runs in the tests of its death: the real work, whose process is killed as a stage begins."""

import importlib
import os
import signal
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

from service.cli.trainer import work


def _die_in(name: str) -> None:
    reporter = importlib.import_module("service.training.work").Reporter
    real = reporter.stage

    @contextmanager
    def stage(self: Any, begun: str, **more: Any) -> Iterator[None]:
        with real(self, begun, **more):
            if begun == name:
                os.kill(os.getpid(), signal.SIGKILL)
            yield

    reporter.stage = stage


def __getattr__(name: str) -> Any:
    """``in_reading``, ``in_searching``, ...: the work that dies in that stage."""
    _, is_stage, stage = name.partition("in_")
    if not is_stage:
        raise AttributeError(name)

    def dying(job: str) -> None:
        _die_in(stage)
        work(job)

    return dying
