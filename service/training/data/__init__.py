"""What a training reads: cuts in time, the matrices before and after them, the next events."""
