"""The log of events: appending, reading, following what was learned."""
