"""The only package that knows Redis, and the owner of every stored format.

``keys`` is the data dictionary, ``log`` holds acknowledged events, ``profiles`` the histories and
learned rows, ``models`` the trained models. Roles meet here and nowhere else.
"""
