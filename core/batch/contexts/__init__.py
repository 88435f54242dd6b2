"""Models that may use a user's previous item: mf, svdfeature, pitf, cp; start at ranker.py."""
