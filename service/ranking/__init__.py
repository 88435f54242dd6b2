"""The rankers, and how ranked items become a slate. Pure: it imports only core."""
