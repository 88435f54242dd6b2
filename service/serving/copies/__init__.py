"""What an api process keeps of the store in memory, made current by polls and changes."""
