"""Models that rank, fitted on all histories at once; every unlabelled pair counts, nothing is sampled."""
