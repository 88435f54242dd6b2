"""Processes of one machine: the supervisor of `serve`, a service as a child, the socket, compiled kernels."""
