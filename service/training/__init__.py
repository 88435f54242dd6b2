"""The trainer: takes jobs, reads the histories, fits, validates, publishes. One training at a time.

``trainer.py`` is the process that waits for jobs, small and without numerical code. ``work.py``
runs in a process of its own for each job. It reads ``data``, and trains by one of ``recipes`` or,
for an order that names none, by ``all_families``.
"""
