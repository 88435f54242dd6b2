"""Label embeddings (ExMLDS): vectors of points and labels, learned from shared labels.

Start at ``exmlds.py``; ``items.py`` treats items as the labels of users.
"""
