"""The routes and their schemas: a handler parses, calls one method and formats the answer."""
