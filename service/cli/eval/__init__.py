"""``hedgerow eval``: one module per subcommand. Start at ``main.py``."""
