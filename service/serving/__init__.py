"""What an api process answers with: predictions, ranking models, what it keeps in memory."""
