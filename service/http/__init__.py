"""HTTP without any route of ours: routing, keys, bodies, cursors, errors and the API document."""
