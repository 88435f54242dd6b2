"""Pure arithmetic: no files, sockets, clock or logging.

Internal: import public names from ``hedgerow``. ``online`` learns from every rating; ``batch``,
``labels`` and ``ordinal`` are fitted on whole data sets; ``search`` tunes settings; ``kernels``
holds the compiled loops. The package ``service`` builds the service on top.
"""
