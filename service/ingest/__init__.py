"""Events out of a message broker: each message goes to the service by the socket of its api.

A message is acknowledged to the broker once the service has stored it. Its place in the broker's
stream is its id, so a message that the broker delivers again counts once.
"""
