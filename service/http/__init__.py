"""HTTP without any route of ours: routing, keys, bodies, cursors, errors and the API document.

Where sizes are bounded: a whole body in ``routing.py`` (``bounded``), a line of a stream in
``lines.py`` (a stream itself may be of any length), an array in ``api/feedback/ratings.py``, a
document in ``api/catalogue/schemas.py``, what anybody may send before a route is found in
``connections.py`` and ``admission.py``, all bodies together in ``body_budget.py``. The settings
``max_body_bytes``, ``max_line_bytes``, ``max_array`` and ``limits`` hold the figures.
"""
