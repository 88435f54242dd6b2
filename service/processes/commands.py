"""Our own command line as a child process: how to call it, and what its exit codes mean."""

import os
import signal
import subprocess
import sys

from service.processes.compiled import is_compiled
from service.settings_loading import without_hedgerow

COMMAND = (sys.executable, "-P", "-m", "service.cli")
"""The command line; -P because the working directory may contain a folder ``service``."""
ONE_THREAD = {"OMP_NUM_THREADS": "1", "OPENBLAS_NUM_THREADS": "1", "OMP_WAIT_POLICY": "PASSIVE"}
"""Environment that limits BLAS and OpenMP to one thread: our kernels are the parallel part."""
SUPERSEDED = 75
"""Exit code of a learner or trainer that another one replaced; it is restarted as a standby."""
STORE_LOST = 74
"""Exit code of an api process that finds another store than the known one; it is started again,
because the processes that run serve on, and the store may come back."""
PLANNED = frozenset({SUPERSEDED, STORE_LOST})
"""Exit codes of processes that end on purpose and are started again."""
REFUSED = 2
"""Exit code of a process with wrong settings: starting it again would not help."""


def compile_kernels() -> None:
    """Compile the kernels for this machine, once, before several processes need them."""
    if not is_compiled():
        command = [*COMMAND, "doctor", "--compile"]
        # our own program with fixed arguments; what it says goes to stderr
        subprocess.run(  # noqa: S603
            command,
            check=True,
            stdout=sys.stderr,
            env=without_hedgerow(os.environ) | ONE_THREAD,
        )


def how_it_ended(code: int) -> str:
    """Return what an exit code means.

    >>> how_it_ended(-9), how_it_ended(3)
    ('ended by SIGKILL', 'ended by itself')
    """
    if code >= 0:
        return "ended by itself"
    # a real-time signal has no name
    known = {number.value: number.name for number in signal.Signals}
    return f"ended by {known.get(-code, f'signal {-code}')}"
