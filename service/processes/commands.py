"""Our own command line as a child process: how it is called, and what its exit codes mean."""

import os
import signal
import subprocess
import sys

from service.processes.compiled import is_compiled
from service.settings import without_hedgerow

COMMAND = (sys.executable, "-P", "-m", "service.cli")
"""The command line of this interpreter; -P because a folder ``service`` may lie in the working directory."""
ONE_THREAD = {"OMP_NUM_THREADS": "1", "OPENBLAS_NUM_THREADS": "1", "OMP_WAIT_POLICY": "PASSIVE"}
"""Environment of processes that leave the processors to our own kernels."""
SUPERSEDED = 75
"""Exit code of a learner that another one replaced: it comes back as a standby, nothing is wrong."""
REFUSED = 2
"""Exit code of a process whose settings do not fit: starting it again would not help."""


def compile_kernels() -> None:
    """Compile the kernels for this machine if that was not done yet, before several processes need them."""
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
    """Say what an exit code means.

    >>> how_it_ended(-9), how_it_ended(3)
    ('ended by SIGKILL', 'ended by itself')
    """
    if code >= 0:
        return "ended by itself"
    # a real-time signal has no name
    known = {number.value: number.name for number in signal.Signals}
    return f"ended by {known.get(-code, f'signal {-code}')}"
