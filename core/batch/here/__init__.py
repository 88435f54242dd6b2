"""What is liked in a context (device, page, ...) more than elsewhere; start at model.py."""
