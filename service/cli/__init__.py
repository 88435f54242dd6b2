"""The command line: one module for each verb, imported only when its verb is used. Start at ``main.py``.

Only this package reads the environment, prints and exits.
"""
