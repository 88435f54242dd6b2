"""The routes of Gorse under ``/api``, for programs that were written for it.

``routes.py`` is the table of them, with what differs from Gorse; ``application.py`` is their frame
(keys, errors as plain text, answers). The handlers translate Gorse's objects and call what our own
routes call. A feedback record of Gorse is what ``records.py`` makes of the events of a pair.
"""
