"""Content: vectors of items made of what is said of them, in the space of a trained model.

So an item has a place before anybody took it. Start at ``places.py``.
"""
