"""Files of users: opening, reading, sending, writing.

Every reader opens its file with ``opening.opened``; a ``BadFile`` names the file and the line.
"""
