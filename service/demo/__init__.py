"""The work of `hedgerow demo`: the ratings that it streams and the view that it shows."""
