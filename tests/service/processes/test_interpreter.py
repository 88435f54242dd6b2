import subprocess
import sys

PROGRAM = """
import sys
from service.processes.interpreter import take_short_turns
before = sys.getswitchinterval()
take_short_turns()
print(sys.getswitchinterval() / before)
"""


def test_threads_that_compute_take_a_tenth_of_the_usual_turns():
    # in a process of its own: the interval holds for all threads of the tests as well
    done = subprocess.run(
        [sys.executable, "-c", PROGRAM], capture_output=True, text=True, check=True, timeout=180
    )
    assert float(done.stdout) <= 0.11
