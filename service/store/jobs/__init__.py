"""Jobs of the trainer: their records, the queue that carries their ids, and the schedule."""
