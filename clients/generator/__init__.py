"""Writes the parts of the clients that follow from the OpenAPI document: `make clients`.

``document.py`` reads the operations and the types, ``python.py`` and ``javascript.py`` write them.
"""
