"""Items by items: which items suggest which others, from all pairs at once."""
