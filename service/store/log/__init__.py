"""The log of events: appending, reading, and following the progress of the learners."""
