"""Log entries in, commits out: the learner, and the rebuild that repeats its work from the histories.

Start at ``learner.py``. A ``backlog`` of entries is cut into batches, ``teaching`` runs the model over ``rows``.
"""
