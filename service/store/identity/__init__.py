"""Which store this is, and how far it is; every script that writes checks it.

``identity`` names a namespace and its era, ``known`` is what a process has seen, ``survey`` reads
how far the store is. What is done about a difference is in ``recovery``.
"""
