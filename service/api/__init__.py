"""The routes and their schemas: a handler parses, calls one method and shapes the answer."""
