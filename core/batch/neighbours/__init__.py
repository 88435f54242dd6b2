"""Items by items: which items speak for which, from all pairs at once."""
