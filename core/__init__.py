"""Arithmetic and nothing else: no files, sockets, clock or logging.

``online`` learns from every rating, ``kernels`` holds its compiled loops, ``evaluate`` measures.
The service around it lives in the package ``service``.
"""
