"""Routes of items and users."""
