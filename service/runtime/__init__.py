"""What an api process is put together from. Start at ``api.py``, the table of contents.

``opened.py`` holds what everything else needs, ``store_access.py`` what reads and writes the store
on request, ``followed.py`` the copies in memory, ``answering.py`` what answers from them.
"""
