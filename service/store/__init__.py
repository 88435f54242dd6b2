"""The only package that knows Redis. ``keys`` is the data dictionary, ``codec`` the binary formats."""
