"""Finding the settings of a model by validation, within a budget; start at search.py."""
