"""Search for a model's settings by validation, within a time budget; start at search.py."""
