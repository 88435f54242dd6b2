"""Models that may know the item a user had before: mf, svdfeature, pitf, cp; start at ranker.py."""
