"""The command line: one module a verb, imported when its verb is used. Start at ``main.py``.

``running/`` has the verbs that run the service, ``clients/`` those that ask a running one over
HTTP, ``operators/`` those that open the store themselves, and ``eval/`` measures models on files.
Only this package reads the environment, prints and exits.
"""

import os

# Before numpy is imported: our kernels are the parallel part, and BLAS threads would slow them.
for _name, _value in (
    ("OMP_NUM_THREADS", "1"),
    ("OPENBLAS_NUM_THREADS", "1"),
    ("OMP_WAIT_POLICY", "PASSIVE"),
):
    os.environ.setdefault(_name, _value)
