"""WebSockets without any route of ours: the protocol, and what surrounds every socket."""
