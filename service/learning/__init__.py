"""Log entries in, commits out: the learner, and the rebuild from histories.

Start at ``learner.py``: it cuts a ``backlog`` of entries into batches. ``batch_learning``,
``deletions`` and ``merges`` turn each into an ``outcome``, of which the learner makes one commit.
"""
