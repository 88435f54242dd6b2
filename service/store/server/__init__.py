"""The Redis server: a private one that we run, and checks of a given one."""
