"""Label embeddings (ExMLDS): points and labels as vectors, learned from who shares labels with whom; start at exmlds.py."""
