"""One-class matrix factorisation with features and a graph of users; start at model.py."""
