"""The trainer: takes jobs, reads the histories, fits, validates, publishes. One training at a time.

``trainer.py`` is the process that waits for jobs, small and without numerical code. ``work.py``
runs in a process of its own for each job.
"""
