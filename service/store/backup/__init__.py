"""Backups of one namespace: taken while it is used, and restored to the same bits.

``container`` is the file, ``pieces`` what stands in it, ``changed_keys`` and ``taking`` the cut,
``chain`` the files that belong together, ``restoring`` the way back.
"""
