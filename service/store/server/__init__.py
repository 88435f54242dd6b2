"""The server program: the private one, and what a given one promises."""
