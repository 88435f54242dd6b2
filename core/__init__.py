"""Arithmetic and nothing else: no files, sockets, clock or logging.

``online`` learns from every rating; ``batch``, ``labels`` and ``ordinal`` are fitted on all histories; ``kernels`` holds
the compiled loops, ``evaluate`` measures.
The service around it lives in the package ``service``.
"""
