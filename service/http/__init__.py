"""HTTP without any route of ours: routing, keys, bodies, cursors, errors and the API document.

Where sizes are bounded: a whole body in ``routing.py`` (``bounded``), a line of a stream in
``lines.py`` (a stream itself may be of any length), an array in ``api/feedback/ratings.py``, a
document in ``api/catalogue/schemas.py``. Headers have no bound of ours, and uvicorn with httptools
sets none either; only ``Idempotency-Key`` has one (``api/feedback/ratings.py``). The settings
``max_body_bytes``, ``max_line_bytes`` and ``max_array`` hold the figures.
"""
