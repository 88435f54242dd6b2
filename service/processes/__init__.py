"""Processes of one machine.

``supervisor`` keeps the roles of `serve` running (each is ``supervised``); ``child`` runs a whole
service for `demo` and `bench`; ``commands`` is our own command line as both call it; ``listening``
is the socket; ``compiling`` compiles the kernels and ``compiled`` knows whether that was done.
"""
