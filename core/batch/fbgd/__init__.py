"""fBGD: matrix factorisation on all pairs, and the search for its settings; start at model.py."""
