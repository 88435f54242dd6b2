"""Who ranks, and how ranked items become a slate. Pure: imports core alone."""
