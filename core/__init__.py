"""Arithmetic and nothing else: no files, sockets, clock or logging.

Internal: import from ``hedgerow``. The folder ``online`` learns from every rating; ``batch``,
``labels`` and ``ordinal`` are fitted on all histories; ``search`` finds settings; ``kernels`` holds
the compiled loops. The service around all this is the package ``service``.
"""
