"""The only package that knows Redis, and the owner of every stored format.

``keys`` is the data dictionary, ``log`` holds what was acknowledged, ``profiles`` what was learned,
``models`` what was trained. Roles meet here and nowhere else.
"""
