"""The learner, which turns log entries into commits, and the rebuild from histories.

Start at ``learner.py``: it cuts a ``backlog`` of entries into batches. ``batch_learning``,
``deletions`` and ``merges`` turn a batch into an ``outcome``, and the learner commits it. ``state``
is what a partition has in memory; ``following`` judges the rankers by the same events.
"""
