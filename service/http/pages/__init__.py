"""Pages that anybody may read: the routes, the error codes, and what programs should know."""
