"""Routes that answer with items, users or predictions."""
