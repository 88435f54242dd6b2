"""Routes of models, experts, rankers and trainings."""
