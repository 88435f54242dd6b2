"""Item numbers and documents of items and users."""
