"""What is known of users and items: histories, rows, counters, in one commit a batch."""
