"""fBGD: matrix factorisation on all pairs, and the search of its settings; start at model.py."""
